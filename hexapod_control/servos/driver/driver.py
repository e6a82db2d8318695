# SPDX-License-Identifier: Apache-2.0
"""The servo driver: one thread owns the port, sends commands and reads servos; other threads send it requests.

Only the newest joint targets are used; an emergency stop is served before all other requests.

A lost port is reopened. Servos that were silent, or whose port was lost, are asked for their torque when they answer
again: the robot goes on where it is, unless most have lost it.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.refusal import Refusal, Statement
from hexapod_control.core.robot import Robot
from hexapod_control.servos.bus.bus_interface import Bus, BusError, PortGoneError, ServoFault
from hexapod_control.servos.driver.bus_connection import BusConnection
from hexapod_control.servos.driver.bus_lease import BusLease
from hexapod_control.servos.driver.bus_thread import ANSWER_TIMEOUT_S, Answer, BusRequest, BusThread
from hexapod_control.servos.driver.extra_joint_follower import ExtraJointFollower
from hexapod_control.servos.driver.servo_group import ServoGroup
from hexapod_control.servos.driver.servo_health import LOST_TORQUE, ServoHealth
from hexapod_control.servos.driver.servo_readings import BROWN_OUT_SHARE, as_rows
from hexapod_control.servos.driver.snapshot_builder import SnapshotBuilder
from hexapod_control.servos.driver.target_follower import MAX_STEP_S, SILENCE_QUESTION, Interpolation, TargetFollower
from hexapod_control.servos.driver.telemetry import Diagnosis, Snapshot, TorqueState
from hexapod_control.servos.driver.torque_switch import ESTOP_LATCHED, EmergencyStop, TorqueSwitch
from hexapod_control.servos.driver.watches import RestartWatch, TorqueWatch
from hexapod_control.servos.i2c.supply_sensor import SupplySensor
from hexapod_control.servos.settings.servo_section import OnSilence, ServoSettings

GOAL_CYCLES = 1.25  # duration of a goal in cycles: servos do not stop before the next goal, even if cycles jitter
READ_SHARE = 0.8  # of a cycle, after which no transaction is started
MAX_EVENTS = 64
DISARMED = Refusal("disarmed", "disarmed")
NO_ANSWER = Refusal("thread_silent", "the driver's thread does not answer: restart the driver")


class JointTargets(NamedTuple):
    """Targets of all joints of the legs."""

    joints: Array  # (n, 3) [rad]
    velocities: Array | None  # (n, 3) [rad/s]
    arrival: float  # [s] steady time


def flat(joints: Array, extra: Array) -> Array:
    """Values (k,) of all servos: those of the legs (n, 3), then those of the extra joints (m,)."""
    return np.concatenate([np.ravel(joints), extra])


class DriverCycle:
    """Runs the servos of one robot, cycle by cycle: requests, setpoints, reads, faults, lost and reopened ports.

    One thread calls everything except `take`. All exceptions of the bus are handled here.
    """

    def __init__(
        self,
        settings: ServoSettings,
        connection: BusConnection,
        torque: TorqueSwitch,
        follower: TargetFollower,
        extra: ExtraJointFollower,
        health: ServoHealth,
        clock: Callable[[], float],
    ) -> None:
        self.events: deque[Diagnosis] = deque(maxlen=MAX_EVENTS)  # to be reported once
        self._settings = settings
        self._clock = clock
        self._connection = connection
        self._torque = torque
        self._follower = follower
        self._extra = extra
        self._health = health
        self._restarts = RestartWatch()
        self._torque_watch = TorqueWatch()
        self._targets: JointTargets | None = None
        self._last = clock()  # [s] steady time of the last cycle

    def take(self, targets: JointTargets) -> None:
        """Sets new targets, from any thread; they replace unused ones."""
        self._targets = targets

    def run(self, requests: deque[BusRequest]) -> None:
        """One cycle."""
        try:
            if self._connection.group is None and self._connection.reopen(off=self._torque.ordered_off):
                self._return(self._connection.group)
            self._connection.allow_waits()
            while requests:
                requests.popleft().serve()
            if self._connection.group is not None:
                self._drive(self._connection.group)
        except PortGoneError as error:
            self._lose(Refusal.of(error))
        except BusError as error:
            self._abort_arming(Refusal.of(error))
        except Exception as error:  # a bug: the robot holds and does not continue
            text = "the driver failed with {name}: {error}; report it"
            reason = Refusal("driver_failed", text, name=type(error).__name__, error=error)
            self._torque.forget(reason)
            self._lose(reason)

    def _abort_arming(self, reason: Refusal) -> None:
        """Reports a bus error and cancels an unfinished arming."""
        self.note("bus", reason)
        if self._torque.state is TorqueState.ARMING:
            try:
                self._torque.undo_arming(reason)
            except PortGoneError as error:
                self._lose(Refusal.of(error))

    def _lose(self, reason: Refusal) -> None:
        """Closes the bus. Torque that is on counts as unknown: the servos hold without the port."""
        if self._torque.state.holds:
            self._torque.doubt()
        else:
            self._torque.forget(reason)
        self._connection.lose(reason)

    def _return(self, group: ServoGroup | None) -> None:
        """Reports that the port is back. Servos that may hold are asked for their torque before any goal."""
        if self._torque.state is TorqueState.UNKNOWN and group is not None and group.reveals_restarts:
            self._restarts.suspect(group)
            state = Statement("back_asked", "the servos are asked whether they have kept their torque")
        elif self._torque.ordered_off:
            state = Statement("torque_is_off_arm", "torque is off: run hexapod arm")
        else:
            self._torque.forget(Refusal("port_lost", "the port was lost"))
            state = Statement("back_as_they_are", "its servos are left as they are: run hexapod arm")
        port = self._settings.port or self._settings.protocol
        self.note("port", Statement("port_back", "{port} is back, {state}", port=port, state=state))

    def _drive(self, group: ServoGroup) -> None:
        now = self._clock()
        dt = min(now - self._last, MAX_STEP_S)
        self._last = now
        self._take_targets(now)
        watched = 0.0  # [s] for registers
        if self._torque.state is TorqueState.ARMING:
            self._arm(group, now)
        elif self._torque.state.holds and self._restarts.update(group, many_silent=self._health.silent_many):
            self._torque.doubt()
            self._check_restarts(group)
        elif self._torque.state is TorqueState.ON:
            group.send(*self._command(dt), GOAL_CYCLES * max(self._connection.period, dt))
            if self._health.line.noise:
                group.goal_check.repair()
            begin = self._clock()
            if self._health.check_registers(group, begin):
                self._restarts.suspect(group)
            watched = self._clock() - begin
        elif self._torque.ordered_off:
            self._keep_off(group)
        for index in group.poll(now + READ_SHARE * self._connection.period, watched):
            holds = self._torque.state is TorqueState.ON and not self._health.brown_out
            if holds and not self._restarts.may_have_restarted(index):
                self._resume(group, index)
        self._supervise(group, group.servo_clock())

    def _command(self, dt: float) -> tuple[Array, Array]:
        """The command of all servos (k,) [rad] `dt` [s] after the last one, and their permitted excess over limits."""
        share = self._health.speed_share
        command = self._follower.step(dt, share)
        slack = self._follower.slack
        if self._extra.count:
            return flat(command, self._extra.step(dt, share)), flat(slack, self._extra.slack)
        return command.ravel(), slack.ravel()

    def _keep_off(self, group: ServoGroup) -> None:
        """Switches the torque off again if something else has switched it on."""
        index = self._torque_watch.check(group)
        if index is not None:
            self._torque.off(Refusal("torque_came_on", "a servo has switched its torque on"))
            text = "{servo} has torque although it was switched off: switched off again; end other programs that use "
            text += "the bus, check its cables"
            self.note("torque", Statement("torque_again", text, servo=group.describe([index])))

    def _check_restarts(self, group: ServoGroup) -> None:
        """Resumes at the servos' positions once all that answer have reported; fewer than half may lack torque."""
        without_torque = [i for i in self._restarts.check(group) if not self._health.explains(group, i)]
        if len(without_torque) >= BROWN_OUT_SHARE * len(group.ids):
            self._health.brown_out = Refusal("brown_out", "the servos have restarted without torque")
        elif not self._restarts.update(group, many_silent=self._health.silent_many):
            self._resume_all(group, without_torque)
            self._restarts.forget()
            self._torque.confirm()

    def _resume_all(self, group: ServoGroup, without_torque: list[int]) -> None:
        """Goes on from where the servos are; the few without torque get it again, unread ones once they answer a ping.

        Servos that do not report their position are where they were sent last.
        """
        if without_torque:
            names = group.describe(without_torque)
            text = "{servos} had lost the torque: it is switched on again; check cables and plugs"
            self.note("restart", Statement("torque_restored", text, servos=names))
        if not group.reports_position:
            self._follower.hold()
            self._extra.hold()
            group.stage(group.goals(flat(self._follower.command, self._extra.command)))
            group.torque_on(range(len(group.ids)))
            return
        unread = group.read_all()
        angles = group.readings.angles()
        if angles is not None:
            self._start(group, angles)
        for index in without_torque:
            if index in unread:
                group.presence.quarantine(index, group.servo_clock())
            elif self._health.allow_restart(index, group.servo_clock(), LOST_TORQUE):
                self._resume(group, index, was_off=True)

    def _resume(self, group: ServoGroup, index: int, *, was_off: bool = False) -> None:
        """Switches the torque of a servo on again, at its present position; `was_off` as in ServoGroup.resume."""
        angle = group.readings.angle(index)
        if index < group.leg_servos:
            self._follower.rejoin(index, angle)
        else:
            self._extra.rejoin(index - group.leg_servos, angle)
        group.resume(index, was_off=was_off)

    def _start(self, group: ServoGroup, angles: Array) -> None:
        """Commands these angles (k,) [rad] of all servos."""
        self._follower.start(as_rows(angles[: group.leg_servos]))
        self._extra.start(angles[group.leg_servos :])

    def _take_targets(self, now: float) -> None:
        targets = self._targets
        self._targets = None
        if not self._torque.state.holds:
            return
        if targets is not None:
            warning = self._follower.take(targets.joints, targets.velocities, targets.arrival)
            if warning:
                self.note("targets", warning)
        if (silent := self._follower.watch(now)) is not None:
            self.note("silence", silent, SILENCE_QUESTION)
        timeout = self._settings.silence_time
        if self._settings.on_silence is OnSilence.OFF and self._follower.held_for(now) >= timeout:
            text = "no joint_targets for {seconds:g} s: torque off; run hexapod arm"
            self.note("silence", Statement("silence_off", text, seconds=timeout))
            self._torque.off(Refusal("silence", "the torque was switched off"))

    def _arm(self, group: ServoGroup, now: float) -> None:
        angles = self._torque.continue_arming(now)
        if angles is not None:
            self._targets = None
            self._restarts.forget()
            self._health.registers.accept(group.problems)
            self._start(group, angles)

    def _supervise(self, group: ServoGroup, now: float) -> None:
        engaged = self._torque.engaged
        self._health.update(group, engaged, now)
        for index in group.readings.reporting(ServoFault.OVERLOAD):
            if engaged and self._health.allow_restart(index, now):
                text = "{servo} was overloaded: restarted"
                self.note("overload", Statement("overloaded", text, servo=group.describe([index])))
                group.clear_fault(index)
        reason = self._health.off_reason or self._health.brown_out
        if self._torque.engaged and reason is not None:
            self._restarts.forget()
            if self._health.brown_out:
                self.note("brown-out", self._health.brown_out_text)
            self._torque.off(reason)

    def recalibrate(self, settings: ServoSettings) -> Refusal | None:
        """Uses new calibrations of the same servos."""
        if self._torque.engaged:
            return Refusal("servos_hold_on", "the servos hold: restart the driver")
        self._settings = settings
        self._connection.recalibrate(settings)
        return None

    def note(self, kind: str, said: str | Statement, question: str = "") -> None:
        """Adds an event."""
        self.events.append(Diagnosis(kind, False, said, question))


UNPLUGGED_ANSWER_TIMEOUT_S = 0.5  # while the thread may be opening a port, which takes up to 6 s with some boards
MIN_LINEAR_RATE_HZ = 60.0  # of the driver; at higher rates setpoints are interpolated between targets


class Driver:
    """Drives the servos of one robot. Life cycle: `connect`, `start`, … `close`; any thread may call."""

    def __init__(
        self,
        robot: Robot,
        settings: ServoSettings,
        open_bus: Callable[[], Bus],
        assumed: Array,
        clock: Callable[[], float] = time.monotonic,
        battery: SupplySensor | None = None,
    ) -> None:
        """`assumed` (n, 3) [rad] is the pose of servos that report none.

        `battery` measures the supply in place of the bus.
        """
        interpolation = Interpolation.LINEAR if settings.rate >= MIN_LINEAR_RATE_HZ else Interpolation.HOLD
        self._clock = clock
        self._follower = TargetFollower(robot, assumed, interpolation)
        self._extra = ExtraJointFollower(robot.extra_servos)
        self.take_extra = self._extra.take  # may be called from any thread
        self._estop = EmergencyStop()
        self._connection = BusConnection(settings, open_bus, clock, battery)
        self._torque = TorqueSwitch(self._connection, self._estop, flat(assumed, self._extra.command))
        self._health = ServoHealth(settings)
        self.note_legs_folded = self._health.note_legs_folded  # may be called from any thread
        followers = self._follower, self._extra
        self._cycle = DriverCycle(settings, self._connection, self._torque, *followers, self._health, clock)
        self._builder = SnapshotBuilder(self._connection, self._health, robot.extra_servos)
        self._snapshot = Snapshot()
        self._thread = BusThread(
            lambda: self.cycle(), lambda: self._connection.period, clock, self._cycle.note, self._connection.end_waits
        )

    # --- from any thread ----------------------------------------------------------------------------

    @property
    def armed(self) -> bool:
        """Whether the torque is on, as far as is known."""
        return self._torque.state.holds

    @property
    def snapshot(self) -> Snapshot:
        """The newest snapshot."""
        return self._snapshot

    @property
    def events(self) -> deque[Diagnosis]:
        """Events to be reported once; pop from the left."""
        return self._cycle.events

    @property
    def latched(self) -> bool:
        """Whether an emergency stop is latched."""
        return self._estop.latched

    @property
    def holding(self) -> bool:
        """Whether targets stopped arriving while the robot moved."""
        return self._follower.holding

    def take(self, target: Array, velocity: Array | None, now: float) -> None:
        """Sets targets (n, 3) [rad] with their speeds [rad/s] at a steady time [s]; only the newest are used."""
        self._cycle.take(JointTargets(target, velocity, now))

    def press_estop(self) -> Refusal | None:
        """Latches the emergency stop, and switches the torque off before anything else is sent.

        Returns why torque-off could not be sent.
        """
        self._estop.press()
        torque_off = BusRequest(lambda request: self._torque.switch_off(ESTOP_LATCHED), urgent=True)
        return self._ask(torque_off, first=True)

    def release_estop(self) -> None:
        """Releases the button; the latch stays."""
        self._estop.release()

    def reset_fault(self) -> Refusal | None:
        """Clears the latch and past faults. Returns a fault that persists."""
        return self._ask(BusRequest(lambda request: self._estop.reset() or self._health.reset(self._connection.group)))

    def arm(self) -> Refusal | None:
        """Switches the torque on at the present joint angles. Returns why it is not on."""
        begun = threading.Event()

        def begin(request: BusRequest) -> Refusal | Answer | None:
            if not self._torque.engaged:
                begun.set()
            return self._torque.begin_arming(request, self._health.begin_arming())

        def give_up() -> None:
            if begun.is_set() and self._torque.engaged:
                self._torque.undo_arming(Refusal("arming_too_slow", "arming took too long"))

        request = BusRequest(begin)
        refusal = self._ask(request)
        if not request.done.is_set():  # no torque after the caller has given up
            self._thread.withdraw(request)
            self._thread.post(give_up)
        return refusal

    def disarm(self) -> Refusal | None:
        """Switches the torque off. Returns why torque-off could not be sent."""
        return self._ask(BusRequest(lambda request: self._torque.switch_off(DISARMED), urgent=True))

    def hold(self) -> None:
        """Holds the present angles until the next targets."""
        self._thread.post(self._follower.hold)
        self._thread.post(self._extra.hold)

    def note_seated(self) -> None:
        """Records that the planner reports the robot sitting."""
        self._thread.post(self._health.note_seated)

    def lend(self) -> BusLease:
        """The bus on lease while the torque is off; return it with `give_back`. Raises BusError if refused."""
        lent: list[BusLease] = []

        refusal = self._ask(BusRequest(lambda request: lent.append(self._torque.lend(self._ask))))
        if not lent:
            raise BusError(refusal)
        return lent[0]

    def give_back(self, lease: BusLease) -> None:
        """Ends a lease."""
        self._thread.post(lambda: self._torque.give_back(lease))

    def recalibrate(self, settings: ServoSettings) -> Refusal | None:
        """Uses new calibrations of the same servos."""
        return self._ask(BusRequest(lambda request: self._cycle.recalibrate(settings)))

    def _ask(self, request: BusRequest, *, first: bool = False) -> Refusal | None:
        """Makes the bus thread serve a request. Returns its refusal, or why there is no answer."""
        timeout_s = UNPLUGGED_ANSWER_TIMEOUT_S if self._connection.refusal else ANSWER_TIMEOUT_S
        if self._thread.ask(request, timeout_s, first=first):
            return request.refusal
        return self._connection.refusal or NO_ANSWER

    def call_after_cycle(self, after_cycle: Callable[[], None]) -> None:
        """Sets a callback of the bus thread after each cycle, when there is a new snapshot."""
        self._thread.after_cycle = after_cycle

    # --- the thread ---------------------------------------------------------------------------------

    def connect(self) -> None:
        """Opens the bus and checks that all servos answer; the torque counts as off until `arm`.

        Raises PortGoneError or BusError.
        """
        self._connection.open()
        self._torque.forget(Refusal("port_reopened", "the port was reopened"))
        self._report()

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def cycle(self) -> None:
        """One cycle, for callers without a thread."""
        self._cycle.run(self._thread.requests)
        self._report()

    def _report(self) -> None:
        on = self._torque.state is TorqueState.ON
        command = flat(self._follower.command, self._extra.command) if on else None
        self._snapshot = self._builder.build(self._torque.state, command, self._clock(), self._thread.overruns)

    def close(self, torque_off: bool) -> Refusal | None:
        """Stops the thread and closes the port, torque off or unchanged. Returns why the torque is still on."""
        self._thread.stop()
        bus = self._connection.bus
        try:
            if torque_off and bus is not None:
                bus.relax()
        except PortGoneError as error:
            return Refusal("torque_stays", "the torque could not be switched off: {error}", error=error)
        finally:
            self._connection.close()
        return None
