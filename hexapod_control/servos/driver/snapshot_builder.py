"""Snapshots of the driver for the rest of the program."""

from __future__ import annotations

import math

import numpy as np

from hexapod_control.core.kinematics.arrays import Array, read_only
from hexapod_control.servos.driver.servo_group import ServoGroup
from hexapod_control.servos.driver.servo_health import ServoHealth
from hexapod_control.servos.driver.telemetry import Diagnosis, PlannerRequest, Snapshot, TorqueState
from hexapod_control.servos.settings.servo_section import ServoSettings

RATE_WINDOW = 1.0  # [s] over which the rate is counted
ECHO = "the line gives back what is sent: it is dropped, but takes time: switch the local echo of the adapter off"
MAX_EXTRAPOLATION = (
    0.1  # [s] for which a joint is taken to go on at its speed: where servos are read in turn, all have another age
)
DIAGNOSIS_PERIOD = 0.1  # [s] between two looks at what is wrong


class SnapshotBuilder:
    """Counts, and puts together what is known."""

    def __init__(self, settings: ServoSettings) -> None:
        self.overruns = self.reconnections = 0
        self._settings = settings
        self._cycles, self._counted, self._rate = 0, math.nan, 0.0
        self._diagnoses: tuple[Diagnosis, ...] = ()
        self._words_due, self._words_of = -math.inf, TorqueState.UNPLUGGED
        self._row: Array | None = None  # last estimate
        self._then = math.nan

    def snapshot(
        self,
        group: ServoGroup | None,
        health: ServoHealth,
        power: TorqueState,
        row: Array | None,
        gone: str,
        now: float,
    ) -> Snapshot:
        """The present; `row` (n, 3) [rad] is what was commanded, None without torque."""
        self._count(now)
        self._look(group, health, power, gone, now)
        if group is None:
            self._row = None
            return Snapshot(
                power=power,
                time=now,
                rate=self._rate,
                overruns=self.overruns,
                reconnections=self.reconnections,
                diagnoses=self._diagnoses,
            )
        joints, velocities = self._pose(group, health, row, now)
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
            voltage=health.voltage,
            current=group.board[1],
            rate=self._rate,
            overruns=self.overruns,
            reconnections=self.reconnections,
            counters=group.bus.counters,
            diagnoses=self._diagnoses,
            planner_request=health.planner_request if power is TorqueState.ON else PlannerRequest.NOTHING,
            speed_share=health.speed_share,
        )

    def _count(self, now: float) -> None:
        if math.isnan(self._counted):
            self._counted = now
        self._cycles += 1
        if now - self._counted >= RATE_WINDOW:
            self._rate = self._cycles / (now - self._counted)
            self._cycles, self._counted = 0, now

    def _look(self, group: ServoGroup | None, health: ServoHealth, power: TorqueState, gone: str, now: float) -> None:
        if now < self._words_due and power is self._words_of:
            return
        self._words_due, self._words_of = now + DIAGNOSIS_PERIOD, power
        if group is None:
            self._diagnoses = (Diagnosis("port", True, f"{gone}; torque counts as off, the port is tried again"),)
            return
        found = list(health.diagnoses(group, now))
        if group.budget.sentence:
            found.append(Diagnosis("budget", False, group.budget.sentence))
        if group.bus.counters.echoes:
            found.append(Diagnosis("echo", False, ECHO))
        self._diagnoses = tuple(found)

    def _pose(
        self, group: ServoGroup, health: ServoHealth, row: Array | None, now: float
    ) -> tuple[Array | None, Array | None]:
        """Joints and speeds: measured, or the estimate that servos are where they were told to be."""
        if group.reads:
            known = None if health.brown_out else group.joints()
            if known is None:
                return None, None
            speeds, ages = np.nan_to_num(group.as_rows(group.speeds)), now - group.as_rows(group.times)
            return read_only(known + speeds * np.where(ages < MAX_EXTRAPOLATION, ages, 0.0)), read_only(speeds)
        before, dt = self._row, now - self._then
        self._row, self._then = row, now
        if row is None:
            return None, None
        if before is None or not dt > 0.0:
            return row, read_only(np.zeros_like(row))
        return row, read_only((row - before) / dt)


def _known(group: ServoGroup, values: list[float]) -> Array | None:
    return None if all(map(math.isnan, values)) else group.as_rows(values)
