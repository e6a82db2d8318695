"""The servo driver: one thread owns the port, sends setpoints and reads what is due, whatever happens to the wire.

Targets come through a mailbox in which the newest wins; an emergency stop goes before everything else.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.robot import Robot
from hexapod_control.servos.bus.bus_interface import Bus, BusError, PortGone
from hexapod_control.servos.driver.bus_lease import BusLease, BusRequest
from hexapod_control.servos.driver.command_limiter import Setpoints
from hexapod_control.servos.driver.driver_cycle import DriverCycle, DriverRequests
from hexapod_control.servos.driver.telemetry import Diagnosis, Snapshot, TorqueState
from hexapod_control.servos.settings.servo_section import ServoSettings

ANSWER_TIMEOUT = 5.0  # [s] a caller waits for the thread at most
UNPLUGGED_ANSWER_TIMEOUT = 0.5  # [s] while it may be busy with opening the port, which takes a board up to 6 s


class Driver:
    """Drives the servos of one robot. `connect`, `start`, … `close`; everything else from any thread."""

    def __init__(
        self,
        robot: Robot,
        settings: ServoSettings,
        setpoints: Setpoints,
        open_bus: Callable[[], Bus],
        assumed: Array,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`assumed` (n, 3) [rad] is where servos that cannot tell are taken to be before they are armed."""
        self._setpoints, self._clock = setpoints, clock
        self._control = DriverCycle(robot, settings, setpoints, open_bus, assumed, clock)
        self._requests: deque[BusRequest] = deque()
        self._condition = threading.Condition()
        self._ending = False
        self._thread: threading.Thread | None = None
        self.after_cycle: Callable[[], None] = _nothing  # called by the thread when there is a new snapshot

    # --- from any thread ----------------------------------------------------------------------------

    @property
    def armed(self) -> bool:
        """Whether the servos hold."""
        return self._control.power is TorqueState.ON

    @property
    def snapshot(self) -> Snapshot:
        """The present."""
        return self._control.snapshot

    @property
    def events(self) -> deque[Diagnosis]:
        """What happened, to be said once; take from the left."""
        return self._control.events

    @property
    def latched(self) -> bool:
        """Whether an emergency stop was not reset."""
        return self._setpoints.latched

    @property
    def holding(self) -> bool:
        """Whether targets stopped coming while the robot moved."""
        return self._setpoints.holding

    def take(self, target: Array, velocity: Array | None, now: float) -> None:
        """Puts targets into the mailbox; the newest wins."""
        self._control.mail = DriverRequests(target, velocity, now)

    def press_estop(self) -> None:
        """Takes all torque before anything else is sent, and latches."""
        self._setpoints.press_estop()
        self._ask(BusRequest(self._stop), first=True)

    def _stop(self, request: BusRequest) -> None:
        self._control.let_go("the emergency stop is latched")
        request.finish()

    def release_estop(self) -> None:
        """Lets go of the button."""
        self._setpoints.release_estop()

    def reset_fault(self) -> str:
        """Clears what is over. Returns what is not, or nothing."""
        return self._ask(BusRequest(self._reset))

    def _reset(self, request: BusRequest) -> None:
        request.finish(self._setpoints.reset_fault() or self._control.health.reset(self._control.group))

    def arm(self, measured: object = None) -> str:
        """Switches the torque on where the joints are. Returns why not, or nothing when it is on."""
        request = BusRequest(self._control.begin_arming)
        answer = self._ask(request)
        if not request.done.is_set():
            with contextlib.suppress(ValueError):  # it has begun
                self._requests.remove(request)  # nobody waits for torque any more
        return answer

    def disarm(self) -> None:
        """Switches the torque off."""
        self._ask(BusRequest(self._control.disarm))

    def hold(self) -> None:
        """Stays where it is until the next targets."""
        self._requests.append(BusRequest(lambda request: self._setpoints.hold()))

    def seated(self) -> None:
        """The planner says that the robot sits."""
        self._requests.append(BusRequest(lambda request: self._control.health.seated()))

    def lend(self) -> BusLease:
        """The bus, while the servos are let go; give it back. Raises BusError with the reason if that cannot be."""
        lent: list[BusLease] = []

        def lend(request: BusRequest) -> None:
            loan = self._control.lend(self._ask, request)
            lent.extend([loan] if loan else [])

        answer = self._ask(BusRequest(lend))
        if not lent:
            raise BusError(answer)
        return lent[0]

    def give_back(self, loan: BusLease) -> None:
        """Ends a loan."""
        self._requests.append(BusRequest(lambda request: self._control.lending.give_back(loan)))

    def adopt(self, settings: ServoSettings) -> str:
        """Takes other calibrations of the same servos. Returns why not, or nothing."""
        return self._ask(BusRequest(lambda request: self._control.adopt(settings, request)))

    def _ask(self, request: BusRequest, *, first: bool = False) -> str:
        (self._requests.appendleft if first else self._requests.append)(request)
        while self._thread is None and not request.done.is_set():
            self.cycle()
        with self._condition:
            self._condition.notify()
        unplugged = self._control.power is TorqueState.UNPLUGGED
        if request.done.wait(UNPLUGGED_ANSWER_TIMEOUT if unplugged else ANSWER_TIMEOUT):
            return request.answer
        return self._control.absence or "the driver's thread does not answer: restart the driver"

    # --- the thread ---------------------------------------------------------------------------------

    def connect(self) -> None:
        """Opens the bus and finds all servos; no torque is touched. Raises PortGone or BusError."""
        self._control.connect()

    def start(self) -> None:
        """Starts the thread."""
        self._thread = threading.Thread(target=self._run, name="servos", daemon=True)
        self._thread.start()

    def cycle(self) -> None:
        """One round."""
        self._control.cycle(self._requests)

    def close(self, torque_off: bool) -> str:
        """Ends the thread and closes the port, with the torque off or as it is. Returns what failed, or nothing."""
        self._ending = True
        if self._thread is not None:
            with self._condition:
                self._condition.notify()
            self._thread.join(ANSWER_TIMEOUT)
        group, self._control.group = self._control.group, None
        if group is None:
            return ""
        try:
            if torque_off:
                group.bus.relax()
        except PortGone as error:
            return f"the torque could not be switched off: {error}"
        finally:
            group.bus.close()
        return ""

    def _run(self) -> None:
        due = self._clock()
        while not self._ending:
            self.cycle()
            self._tell()
            due += self._control.period
            now = self._clock()
            due = min(due, now + self._control.period)  # cycles for requests come between the others
            if now > due + 0.5 * self._control.period:
                self._control.builder.overruns += 1
                due = now
            self._rest(due)

    def _tell(self) -> None:
        """Says that there is a new snapshot. Whoever fails at it is not asked again: the servos go first."""
        try:
            self.after_cycle()
        except Exception as error:
            self.after_cycle = _nothing
            text = f"new rows wait for a timer from now on: {type(error).__name__}: {error}; report it"
            self.events.append(Diagnosis("wake", False, text))

    def _rest(self, due: float) -> None:
        """Sleeps to a steady time [s], unless somebody wants something."""
        with self._condition:
            while not (self._ending or self._requests):
                wait = due - self._clock()
                if wait <= 0.0:
                    return
                self._condition.wait(wait)


def _nothing() -> None:
    """Nobody waits for snapshots."""
