# SPDX-License-Identifier: Apache-2.0
"""The torque of all servos: one explicit state, and the emergency stop that latches it off.

    UNPLUGGED <-> OFF -> ARMING -> ON <-> UNKNOWN        `off` returns to OFF from any state

Torque is switched off only by an order, or on evidence that the servos have lost it. Silence and a lost port are none:
torque that was on is UNKNOWN then, also while the port is closed, until the servos have been asked.
An emergency stop switches the torque off and latches. Releasing the button, resetting the fault and arming are three
separate steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.names import enumerated
from hexapod_control.core.refusal import Refusal, Statement
from hexapod_control.servos.bus.bus_interface import BusError
from hexapod_control.servos.driver.bus_connection import BusConnection
from hexapod_control.servos.driver.bus_lease import GIVEN_BACK, BusLease
from hexapod_control.servos.driver.bus_thread import Answer, BusRequest
from hexapod_control.servos.driver.servo_group import ServoGroup
from hexapod_control.servos.driver.telemetry import TorqueState
from hexapod_control.servos.settings.joint_calibration import SERVOS_PER_LEG

HOLDING_LEG_PAUSE_S = 0.05  # between legs whose servos hold their position
MOVING_LEG_PAUSE_S = 0.2  # between legs whose servos move to the assumed pose


class Arming:
    """One arming sequence, leg by leg, then the extra joints, to limit the inrush current: torque without a jump.

    Servos that report their position hold it. Those that do not are assumed to be in a given pose: each leg moves there
    when its torque is switched on. Life cycle: `step` every cycle until `done`; with a `refusal` no torque comes on.
    """

    def __init__(self, group: ServoGroup, assumed: Array) -> None:
        """`assumed` (k,) [rad] are the angles of servos that do not report their position."""
        self._group = group
        self._first = 0  # index of the next leg's first servo
        self._due = -math.inf  # [s] steady time
        self.angles: Array = assumed  # (k,) [rad] present angles
        self.held_before: set[int] = set()  # indices of servos that report torque already
        self.refusal: Refusal | None = group.preflight()
        if self.refusal:
            return
        self.held_before = {i for i, on in group.torques(range(len(group.ids))).items() if on}
        if group.reports_position:
            self._read_pose()
        else:
            self._goals = group.goals(assumed)

    @property
    def done(self) -> bool:
        """Whether all legs have torque."""
        return self._first >= len(self._group.ids)

    def release(self) -> None:
        """Switches the torque of the servos off that this arming has switched on."""
        self._group.torque_off([i for i in range(self._first) if i not in self.held_before])

    def _read_pose(self) -> None:
        missing = self._group.read_all()
        measured = self._group.readings.angles()
        if missing or measured is None:
            text = "no answer from {servos}: check its cable and power, then arm again"
            self.refusal = Refusal("no_answer", text, servos=self._group.describe(missing))
            return
        self.angles = measured
        self._goals = self._group.readings.goals_in_place(range(len(self._group.ids)))

    def step(self, now: float) -> None:
        """Switches the torque of the next leg on when it is due, at a steady time [s].

        Raises BusError if a board is lost meanwhile.
        """
        if self._group.board_loss.lost:
            text = "the {boards} does not answer: check its power and its cable, then arm again"
            raise BusError(Refusal("board_silent", text, boards=enumerated(self._group.board_loss.lost)))
        if self.done or self.refusal or now < self._due:
            return
        group = self._group
        indices = range(self._first, min(self._first + SERVOS_PER_LEG, len(group.ids)))
        if group.reports_position:
            group.stage({group.ids[i]: self._goals[group.ids[i]] for i in indices})
        elif self._first == 0:
            group.stage(self._goals)
        group.torque_on(indices)
        self._first += SERVOS_PER_LEG
        self._due = now + (HOLDING_LEG_PAUSE_S if group.reports_position else MOVING_LEG_PAUSE_S)


HOW_TO_ARM = "run hexapod reset, then hexapod arm"  # after an emergency stop
EMERGENCY_STOP = Statement("emergency_stop", f"emergency stop: {HOW_TO_ARM}")
TORQUE_IS_OFF = Statement("torque_is_off_arm", "torque is off: run hexapod arm")
ESTOP_LATCHED = Refusal("estop_latched", f"the emergency stop is latched: {HOW_TO_ARM}")
ESTOP_PRESSED = Refusal("estop_pressed", "the emergency stop is still pressed: run hexapod reset")
STILL_UNKNOWN = Refusal(
    "torque_unknown",
    "the servos do not answer, so whether they have torque is unknown: check power and the line, then arm",
)
BUS_LENT = Refusal("bus_lent", "a calibration is running: finish or cancel it, then arm")
SERVOS_HOLD = Refusal("servos_hold", "the servos hold: let the robot sit down, then run hexapod disarm")
ARMED_BY_ANOTHER = Refusal("armed_by_another", "armed by another call")


class EStopState(Enum):
    """State of an emergency stop."""

    READY = "ready"  # not latched
    PRESSED = "pressed"
    RELEASED = "released"  # still latched, until it is reset


class EmergencyStop:
    """Latch of the emergency stop. Life cycle: `press`, `release`, `reset`. Any thread may press."""

    def __init__(self) -> None:
        self._state = EStopState.READY

    @property
    def latched(self) -> bool:
        """Whether it was pressed and not reset since."""
        return self._state is not EStopState.READY

    def press(self) -> None:
        """Latches."""
        self._state = EStopState.PRESSED

    def release(self) -> None:
        """Releases the button; the latch stays until `reset`."""
        if self._state is EStopState.PRESSED:
            self._state = EStopState.RELEASED

    def reset(self) -> Refusal | None:
        """Clears the latch."""
        if self._state is EStopState.PRESSED:
            return ESTOP_PRESSED
        self._state = EStopState.READY
        return None


class TorqueSwitch:
    """Switches the torque of all servos, and lends the bus to a calibration while the torque is off.

    The bus thread calls all methods; `state` may be read from any thread.
    """

    def __init__(self, connection: BusConnection, estop: EmergencyStop, assumed: Array) -> None:
        """`assumed` (k,) [rad] are the angles of servos that do not report their position."""
        self._connection = connection
        self._estop = estop
        self._assumed = assumed
        self.ordered_off = False  # torque-off was ordered or sent, and all had no torque since
        self._state = TorqueState.OFF
        self._arming: Arming | None = None
        self._waiting: BusRequest | None = None  # answered when the arming ends
        self._lease: BusLease | None = None  # while the bus is lent

    @property
    def state(self) -> TorqueState:
        """State of the torque; UNPLUGGED while the bus is closed, unless the servos may hold."""
        closed = self._connection.bus is None and self._state is not TorqueState.UNKNOWN
        return TorqueState.UNPLUGGED if closed else self._state

    @property
    def engaged(self) -> bool:
        """Whether any servos may have torque: all, or some legs during arming."""
        return self.state.holds or self.state is TorqueState.ARMING

    # --- unknown ------------------------------------------------------------------------------------

    def doubt(self) -> None:
        """Counts torque that is on as unknown."""
        if self._state is TorqueState.ON:
            self._state = TorqueState.UNKNOWN

    def confirm(self) -> None:
        """Counts unknown torque as on: the servos have reported it, or got it again."""
        if self._state is TorqueState.UNKNOWN:
            self._state = TorqueState.ON

    # --- off ----------------------------------------------------------------------------------------

    def switch_off(self, reason: Refusal) -> Refusal | None:
        """Switches the torque off at once. Returns why torque-off could not be sent."""
        self.off(reason)
        return self._connection.refusal

    def off(self, reason: Refusal) -> None:
        """Switches the torque off at once; an arming and a lease end with the reason. Raises PortGoneError."""
        self.forget(reason)
        self.ordered_off = True
        self._connection.relax()

    def forget(self, reason: Refusal) -> None:
        """Counts the torque as off without sending anything: an arming and a lease end with the reason."""
        if self._lease is not None:
            self._lease.end(reason)
            self._lease = None
        self._end_arming(TorqueState.OFF, reason)

    # --- on -----------------------------------------------------------------------------------------

    def begin_arming(self, request: BusRequest, fault: Refusal | None) -> Refusal | Answer | None:
        """Starts to switch the torque on at the present joint angles; the answer follows when it is on.

        Returns a refusal at once, such as `fault`, or None if the torque is on already.
        """
        refusal = self._refusal() or fault
        if self.state is TorqueState.UNKNOWN:
            refusal = refusal or STILL_UNKNOWN
        if refusal or self.state is TorqueState.ON or self._connection.group is None:
            return refusal
        if self._waiting is not None:
            self._waiting.finish(ARMED_BY_ANOTHER)
        self._waiting = request
        self._state = TorqueState.ARMING
        self._arming = Arming(self._connection.group, self._assumed)
        return Answer.LATER

    def _refusal(self) -> Refusal | None:
        if self._estop.latched:
            return ESTOP_LATCHED
        return self._connection.refusal or (BUS_LENT if self._lease else None)

    def continue_arming(self, now: float) -> Array | None:
        """Switches the next leg on when it is due. Returns the angles (k,) [rad] once all have torque."""
        if self._arming is None:
            return None
        arming = self._arming
        arming.step(now)
        if arming.refusal:
            self._end_arming(TorqueState.OFF, ESTOP_LATCHED if self._estop.latched else arming.refusal)
        elif arming.done and self._estop.latched:
            self.off(ESTOP_LATCHED)
        elif arming.done:
            self.ordered_off = False
            self._end_arming(TorqueState.ON, None)
            return arming.angles
        return None

    def undo_arming(self, reason: Refusal) -> None:
        """Ends an arming that failed: servos without torque before it are without torque again. Raises PortGoneError.

        A robot that stood on torque from before, as after a restart of the driver, keeps standing.
        """
        arming = self._arming
        self.forget(reason)
        if arming is not None and arming.held_before:
            arming.release()
        else:
            self.off(reason)

    def _end_arming(self, state: TorqueState, refusal: Refusal | None) -> None:
        self._arming = None
        self._state = state
        if self._waiting is not None:
            self._waiting.finish(refusal)
            self._waiting = None

    # --- the bus on lease ---------------------------------------------------------------------------

    def lend(self, ask: Callable[[BusRequest], Refusal | None]) -> BusLease:
        """Lends the bus while the torque is off; arming is then refused. Raises BusError if it cannot be lent.

        `ask` makes the bus thread serve a request and returns its refusal.
        """
        refusal = self._connection.refusal or (SERVOS_HOLD if self.engaged else self._refusal())
        bus = self._connection.bus
        if refusal or bus is None:
            raise BusError(refusal)
        self.ordered_off = False  # a calibration may leave torque on
        self._lease = BusLease(bus, ask)
        return self._lease

    def give_back(self, lease: BusLease) -> None:
        """Ends a lease that its borrower returns; it may be over already."""
        lease.end(GIVEN_BACK)
        if self._lease is lease:
            self._lease = None
