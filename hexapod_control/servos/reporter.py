"""Snapshots of the driver for the rest of the program."""

from __future__ import annotations

import math

import numpy as np

from hexapod_control.core.kinematics import Array, read_only
from hexapod_control.servos.group import ServoGroup
from hexapod_control.servos.judge import Judge
from hexapod_control.servos.settings import ServoSettings
from hexapod_control.servos.telemetry import Power, Snapshot, Trouble, Wish

WINDOW = 1.0  # [s] over which the rate is counted
ECHO = "the line gives back what is sent: it is dropped, but takes time: switch the local echo of the adapter off"
FRESH = 0.1  # [s] for which a joint is taken to go on at its speed: where servos are read in turn, all have another age
WORDS = 0.1  # [s] between two looks at what is wrong


class Reporter:
    """Counts, and puts together what is known."""

    def __init__(self, settings: ServoSettings) -> None:
        self.overruns = self.reconnections = 0
        self._settings = settings
        self._cycles, self._counted, self._rate = 0, math.nan, 0.0
        self._troubles: tuple[Trouble, ...] = ()
        self._words_due, self._words_of = -math.inf, Power.UNPLUGGED
        self._row: Array | None = None  # last estimate
        self._then = math.nan

    def snapshot(
        self, group: ServoGroup | None, judge: Judge, power: Power, row: Array | None, gone: str, now: float
    ) -> Snapshot:
        """The present; `row` (n, 3) [rad] is what was commanded, None without torque."""
        self._count(now)
        self._look(group, judge, power, gone, now)
        if group is None:
            self._row = None
            return Snapshot(
                power=power,
                time=now,
                rate=self._rate,
                overruns=self.overruns,
                reconnections=self.reconnections,
                troubles=self._troubles,
            )
        joints, velocities = self._pose(group, judge, row, now)
        return Snapshot(
            power=power,
            time=now,
            joints=joints,
            velocities=velocities,
            loads=_known(group, group.loads),
            times=_known(group, group.times) if group.regular else None,
            measured=group.reads,
            temperatures=_known(group, group.temperatures),
            misses=tuple(group.presence.total),
            clamps=tuple(group.converter.clamps),
            voltage=judge.voltage,
            current=group.board[1],
            rate=self._rate,
            overruns=self.overruns,
            reconnections=self.reconnections,
            counters=group.bus.counters,
            troubles=self._troubles,
            wish=judge.wish if power is Power.ON else Wish.NOTHING,
            share=judge.share,
        )

    def _count(self, now: float) -> None:
        if math.isnan(self._counted):
            self._counted = now
        self._cycles += 1
        if now - self._counted >= WINDOW:
            self._rate = self._cycles / (now - self._counted)
            self._cycles, self._counted = 0, now

    def _look(self, group: ServoGroup | None, judge: Judge, power: Power, gone: str, now: float) -> None:
        if now < self._words_due and power is self._words_of:
            return
        self._words_due, self._words_of = now + WORDS, power
        if group is None:
            self._troubles = (Trouble("port", True, f"{gone}; torque counts as off, the port is tried again"),)
            return
        found = list(judge.troubles(group, now))
        if group.budget.sentence:
            found.append(Trouble("budget", False, group.budget.sentence))
        if group.bus.counters.echoes:
            found.append(Trouble("echo", False, ECHO))
        self._troubles = tuple(found)

    def _pose(
        self, group: ServoGroup, judge: Judge, row: Array | None, now: float
    ) -> tuple[Array | None, Array | None]:
        """Joints and speeds: measured, or the estimate that servos are where they were told to be."""
        if group.reads:
            known = None if judge.brown_out else group.joints()
            if known is None:
                return None, None
            speeds, ages = np.nan_to_num(group.table(group.speeds)), now - group.table(group.times)
            return read_only(known + speeds * np.where(ages < FRESH, ages, 0.0)), read_only(speeds)
        before, dt = self._row, now - self._then
        self._row, self._then = row, now
        if row is None:
            return None, None
        if before is None or not dt > 0.0:
            return row, read_only(np.zeros_like(row))
        return row, read_only((row - before) / dt)


def _known(group: ServoGroup, values: list[float]) -> Array | None:
    return None if all(map(math.isnan, values)) else group.table(values)
