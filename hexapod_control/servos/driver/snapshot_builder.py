# SPDX-License-Identifier: Apache-2.0
"""Builds a snapshot of the driver after each cycle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from hexapod_control.core.kinematics.arrays import Array, read_only
from hexapod_control.core.refusal import Statement
from hexapod_control.core.robot import ExtraJoint, ExtraJointState
from hexapod_control.servos.driver.bus_connection import BusConnection
from hexapod_control.servos.driver.servo_group import ServoGroup
from hexapod_control.servos.driver.servo_health import ServoHealth
from hexapod_control.servos.driver.servo_readings import as_known_rows, as_rows
from hexapod_control.servos.driver.telemetry import Diagnosis, PlannerRequest, Snapshot, TorqueState

RATE_WINDOW_S = 1.0  # over which cycles are counted
ECHO = "the line echoes what is sent, which takes time: switch the local echo of the adapter off"
MAX_EXTRAPOLATION_S = 0.04  # by its speed, from the last position of a servo; ages differ where they are read in turn
MAX_COMMANDED_S = 0.5  # by its command: 24 servos on a slow line are read every 0.3 s
DIAGNOSIS_PERIOD_S = 0.1


class CycleRate:
    """Measures the rate of the driver's cycles."""

    def __init__(self) -> None:
        self.rate = 0.0  # [Hz] over the last RATE_WINDOW_S
        self._cycles = 0
        self._since = math.nan

    def count(self, now: float) -> None:
        """Counts a cycle at a steady time [s]."""
        if math.isnan(self._since):
            self._since = now
        self._cycles += 1
        if now - self._since >= RATE_WINDOW_S:
            self.rate = self._cycles / (now - self._since)
            self._cycles = 0
            self._since = now


class CommandsOfReadings(NamedTuple):
    """The last readings of all servos, and what was commanded since; arrays (k,)."""

    times: Array  # [s]
    at_reading: Array  # [rad] commanded then
    latest: Array  # [rad] commanded up to MAX_COMMANDED_S later


class SnapshotBuilder:
    """Builds snapshots from connection and health. Life cycle: `build` once per cycle."""

    def __init__(self, connection: BusConnection, health: ServoHealth, extra: Sequence[ExtraJoint] = ()) -> None:
        self._full_torques = [joint.joint.stall_torque for joint in extra]  # [N m]
        self._connection = connection
        self._health = health
        self._rate = CycleRate()
        self._diagnoses: tuple[Diagnosis, ...] = ()
        self._diagnosis_due = -math.inf
        self._diagnosed = (TorqueState.UNPLUGGED, PlannerRequest.NOTHING)
        self._last_command: Array | None = None
        self._last_time = math.nan  # [s] of the last command
        self._commanded: CommandsOfReadings | None = None

    def build(self, state: TorqueState, command: Array | None, now: float, overruns: int) -> Snapshot:
        """The snapshot at a steady time [s]; `command` (k,) [rad] of all servos is None without torque."""
        self._rate.count(now)
        group = self._connection.group
        health = self._health
        request = PlannerRequest.STOP if state is TorqueState.UNKNOWN else PlannerRequest.NOTHING
        if state is TorqueState.ON and group is not None:
            request = health.planner_request
        self._diagnose(state, request, now)
        snapshot = partial(
            Snapshot,
            torque=state,
            time=now,
            rate=self._rate.rate,
            overruns=overruns,
            reconnections=self._connection.reconnections,
            diagnoses=self._diagnoses,
            planner_request=request,
        )
        if group is None:
            self._last_command = None
            return snapshot()
        angles, velocities = self._pose(group, command, now)
        readings = group.readings
        legs = slice(group.leg_servos)
        return snapshot(
            joints=None if angles is None else as_rows(angles[legs]),
            velocities=None if velocities is None else as_rows(velocities[legs]),
            extra=self._extra(group, angles, velocities),
            measured=group.reports_position,
            voltage=health.voltage,
            battery_limits=health.battery_limits,
            lost_leg=health.lost_leg,
            speed_share=health.speed_share,
            loads=as_known_rows(readings.loads[legs]),
            times=as_known_rows(readings.times[legs]) if group.moves_evenly else None,
            temperatures=as_known_rows(readings.temperatures[legs]),
            misses=tuple(group.presence.total),
            clamps=group.clamps,
            current=group.board_current,
            input_levels=group.board_watch.input_levels,
            counters=group.counters,
        )

    def _extra(self, group: ServoGroup, angles: Array | None, velocities: Array | None) -> ExtraJointState | None:
        """The state of the extra joints, of angles (k,) [rad] of all servos and their speeds [rad/s]."""
        if angles is None or velocities is None:
            return None
        first = group.leg_servos
        loads = (0.0 if math.isnan(load) else load for load in group.readings.loads[first:])
        torques = (load * full for load, full in zip(loads, self._full_torques, strict=True))
        return ExtraJointState(tuple(angles[first:].tolist()), tuple(velocities[first:].tolist()), tuple(torques))

    def _diagnose(self, state: TorqueState, request: PlannerRequest, now: float) -> None:
        """Renews the diagnoses every DIAGNOSIS_PERIOD_S, and at once with the torque state or the planner's request."""
        if now < self._diagnosis_due and (state, request) == self._diagnosed:
            return
        self._diagnosis_due = now + DIAGNOSIS_PERIOD_S
        self._diagnosed = (state, request)
        group = self._connection.group
        if group is None:
            kind, torque = (
                ("port_away", "whether the servos have torque is unknown")
                if state is TorqueState.UNKNOWN
                else ("port_away_off", "torque counts as off")
            )
            said = Statement(kind, f"{{reason}}; {torque}; reopening the port", reason=self._connection.lost_reason)
            self._diagnoses = (Diagnosis("port", True, said),)
            return
        found = list(self._health.diagnoses(group, group.servo_clock()))
        if group.battery is not None and group.battery.error:
            found.append(Diagnosis("battery sensor", False, group.battery.error))
        if group.budget.limitation:
            found.append(Diagnosis("budget", False, group.budget.limitation))
        found.extend(Diagnosis("preflight", False, text) for text in group.warnings)
        if group.model_warning:
            found.append(Diagnosis("model", False, group.model_warning))
        if group.counters.echoes:
            found.append(Diagnosis("echo", False, ECHO))
        self._diagnoses = tuple(found)

    def _pose(self, group: ServoGroup, command: Array | None, now: float) -> tuple[Array | None, Array | None]:
        """Angles (k,) [rad] of all servos and their speeds [rad/s]: measured, or else the commanded ones."""
        if group.reports_position:
            return self._measured_pose(group, command, now)
        before = self._last_command
        dt = now - self._last_time
        self._last_command = command
        self._last_time = now
        if command is None:
            return None, None
        if before is None or not dt > 0.0:
            return command, read_only(np.zeros_like(command))
        return command, read_only((command - before) / dt)

    def _measured_pose(self, group: ServoGroup, command: Array | None, now: float) -> tuple[Array | None, Array | None]:
        """The last positions, and how far the joints have moved since: by a new speed, or else as commanded.

        The speed of a servo without a speed register is a mean until its last position, so it is never new.
        """
        unknown = self._health.brown_out or self._health.silent_many
        measured = None if unknown else group.readings.angles()
        if measured is None:
            self._commanded = None
            return None, None
        speeds = read_only([0.0 if math.isnan(speed) else speed for speed in group.readings.speeds])
        times = np.array(group.readings.times)
        ages = now - times
        by_command = self._moved_by_command(times, ages, command)
        new = group.reports_speed & (ages < MAX_EXTRAPOLATION_S)
        away = [group.presence.quarantined(index) for index in range(len(group.ids))]  # gets no commands
        return read_only(measured + np.where(new, speeds * ages, np.where(away, 0.0, by_command))), speeds

    def _moved_by_command(self, times: Array, ages: Array, command: Array | None) -> Array:
        """How far the command (k,) [rad] has moved since positions that were read at `times` (k,) [s]."""
        if command is None:
            self._commanded = None
            return np.zeros_like(times)
        before = self._commanded or CommandsOfReadings(times, command, command)
        at_reading = np.where(times > before.times, command, before.at_reading)
        latest = np.where(ages < MAX_COMMANDED_S, command, before.latest)
        self._commanded = CommandsOfReadings(times, at_reading, latest)
        moved: Array = latest - at_reading
        return moved
