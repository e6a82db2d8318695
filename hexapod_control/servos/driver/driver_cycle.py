"""One cycle of the driver, without threads: requests, setpoints, reads, faults, and a port that comes and goes.

No exception of a bus leaves this file: a lost port is opened again, with the torque off until `arm`.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.servos.bus.bus_interface import BoardSilent, BusError, PortGone, ServoFault
from hexapod_control.servos.driver.bus_connection import BusConnection
from hexapod_control.servos.driver.bus_request import BusRequest
from hexapod_control.servos.driver.group.servo_group import ServoGroup
from hexapod_control.servos.driver.health.servo_health import ServoHealth
from hexapod_control.servos.driver.setpoints.command_limiter import MAX_STEP_S
from hexapod_control.servos.driver.setpoints.target_follower import TargetFollower
from hexapod_control.servos.driver.telemetry import Diagnosis, TorqueState
from hexapod_control.servos.driver.torque_switch import TorqueSwitch
from hexapod_control.servos.settings.servo_section import OnSilence, ServoSettings

GOAL_CYCLES = 1.25  # cycles a goal takes: the next one comes before the servos stop, uneven as cycles are
READ_SHARE = 0.8  # share of a cycle after which no more transactions are begun
MAX_EVENTS = 64


class JointTargets(NamedTuple):
    """One row of targets."""

    joints: Array  # (n, 3) [rad]
    velocities: Array | None  # (n, 3) [rad/s]
    arrival: float  # [s] steady time


class DriverCycle:
    """What happens every cycle to the servos of one robot. One thread calls everything but `take`."""

    def __init__(
        self,
        settings: ServoSettings,
        connection: BusConnection,
        torque: TorqueSwitch,
        follower: TargetFollower,
        health: ServoHealth,
        clock: Callable[[], float],
    ) -> None:
        self.events: deque[Diagnosis] = deque(maxlen=MAX_EVENTS)  # to be reported once
        self._settings, self._clock = settings, clock
        self._connection, self._torque, self._follower, self._health = connection, torque, follower, health
        self._targets: JointTargets | None = None
        self._last = clock()  # [s] steady time of the last cycle

    def take(self, targets: JointTargets) -> None:
        """Hands in targets, from any thread; the newest replace those that were not used yet."""
        self._targets = targets

    def run(self, requests: deque[BusRequest]) -> None:
        """One cycle."""
        try:
            if self._connection.group is None and self._connection.reopen():
                name = self._settings.port or self._settings.protocol
                self.note("port", f"{name} is back, torque is off: call arm")
            while requests:
                requests.popleft().serve()
            if self._connection.group is not None:
                self._drive(self._connection.group)
        except BoardSilent as error:
            with contextlib.suppress(PortGone):
                self._torque.off(str(error))  # it may still receive, though it sends nothing
            self._lose(str(error))
        except PortGone as error:
            self._lose(str(error))
        except BusError as error:
            self._abort_arming(str(error))
        except Exception as error:  # a defect: the robot must not go on with it
            self._lose(f"the driver failed with {type(error).__name__}: {error}; report it")

    def _abort_arming(self, reason: str) -> None:
        """Reports a bus that does not do what it is asked; an arming is not left half done."""
        self.note("bus", reason)
        if self._torque.state is TorqueState.ARMING:
            try:
                self._torque.off(reason)
            except PortGone as error:
                self._lose(str(error))

    def _lose(self, reason: str) -> None:
        self._connection.lose(reason)
        self._torque.forget(reason)

    def _drive(self, group: ServoGroup) -> None:
        now = self._clock()
        dt, self._last = min(now - self._last, MAX_STEP_S), now
        self._take_targets(now)
        if self._torque.state is TorqueState.ARMING:
            self._arm(now)
        elif self._torque.state is TorqueState.ON:
            command = self._follower.step(dt, self._health.speed_share)
            group.send(command, self._follower.slack, GOAL_CYCLES * self._connection.period)
        for index in group.poll(now + READ_SHARE * self._connection.period):
            if self._torque.state is TorqueState.ON:  # a servo is back: it starts where it is
                self._follower.rejoin(index, group.readings.angle(index))
                group.resume(index)
        self._supervise(group, self._clock())

    def _take_targets(self, now: float) -> None:
        targets, self._targets = self._targets, None
        if self._torque.state is not TorqueState.ON:
            return
        if targets is not None:
            complaint = self._follower.take(targets.joints, targets.velocities, targets.arrival)
            if complaint:
                self.note("targets", complaint)
        warning = self._follower.watch(now)
        if warning:
            self.note("silence", warning)
        patience = self._settings.silence_time
        if self._settings.on_silence is OnSilence.OFF and self._follower.held_for(now) >= patience:
            self.note("silence", f"no joint_targets for {patience:g} s: torque off; call arm")
            self._torque.off("")

    def _arm(self, now: float) -> None:
        joints = self._torque.continue_arming(now)
        if joints is not None:
            self._targets = None
            self._follower.start(joints)

    def _supervise(self, group: ServoGroup, now: float) -> None:
        engaged = self._torque.engaged
        self._health.update(group, engaged, now)
        for index, fault in enumerate(group.readings.faults):
            if fault & ServoFault.OVERLOAD and engaged and self._health.allow_restart(index, now):
                self.note("overload", f"{group.describe([index])} was overloaded: started again")
                group.clear_fault(index)
        if engaged and (self._health.brown_out or self._health.off_reason):
            self._torque.off(self._health.off_reason or "the servos fell silent")

    def recalibrate(self, settings: ServoSettings, request: BusRequest) -> None:
        """Uses other calibrations of the same servos, while the torque is off. The answer says why that cannot be."""
        if self._torque.engaged:
            request.finish("the servos hold: restart the driver")
            return
        self._settings = settings
        self._connection.recalibrate(settings)
        request.finish()

    def note(self, kind: str, text: str) -> None:
        """Adds an event."""
        self.events.append(Diagnosis(kind, False, text))
