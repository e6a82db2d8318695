"""The servo driver: one thread owns the port, sends commands and reads servos; other threads send it requests.

Only the newest joint targets are used; an emergency stop is served before all other requests.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.robot import Robot
from hexapod_control.servos.bus.bus_interface import Bus, BusError, PortGoneError
from hexapod_control.servos.driver.bus_connection import BusConnection
from hexapod_control.servos.driver.bus_lease import BusLease
from hexapod_control.servos.driver.bus_thread import ANSWER_TIMEOUT_S, BusRequest, BusThread
from hexapod_control.servos.driver.driver_cycle import DriverCycle, JointTargets
from hexapod_control.servos.driver.health.servo_health import ServoHealth
from hexapod_control.servos.driver.setpoints.setpoint_generator import Interpolation
from hexapod_control.servos.driver.setpoints.target_follower import TargetFollower
from hexapod_control.servos.driver.snapshot_builder import SnapshotBuilder
from hexapod_control.servos.driver.telemetry import Diagnosis, Snapshot, TorqueState
from hexapod_control.servos.driver.torque_switch import ESTOP_LATCHED, EmergencyStop, TorqueSwitch
from hexapod_control.servos.i2c.supply_sensor import SupplySensor
from hexapod_control.servos.settings.servo_section import ServoSettings

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
        self._estop = EmergencyStop()
        self._connection = BusConnection(settings, open_bus, clock, battery)
        self._torque = TorqueSwitch(self._connection, self._estop, assumed)
        self._health = ServoHealth(settings)
        self.note_legs_folded = self._health.note_legs_folded  # may be called from any thread
        self._cycle = DriverCycle(settings, self._connection, self._torque, self._follower, self._health, clock)
        self._builder = SnapshotBuilder(self._connection, self._health)
        self._snapshot = Snapshot()
        self._thread = BusThread(
            lambda: self.cycle(), lambda: self._connection.period, clock, self._cycle.note, self._connection.hurry
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

    def press_estop(self) -> str:
        """Latches the emergency stop, and switches the torque off before anything else is sent.

        Returns why torque-off could not be sent, or an empty text.
        """
        self._estop.press()
        torque_off = BusRequest(lambda request: self._torque.switch_off(request, ESTOP_LATCHED), urgent=True)
        return self._ask(torque_off, first=True)

    def release_estop(self) -> None:
        """Releases the button; the latch stays."""
        self._estop.release()

    def reset_fault(self) -> str:
        """Clears the latch and past faults. Returns a fault that persists, or an empty text."""
        return self._ask(BusRequest(self._reset))

    def _reset(self, request: BusRequest) -> None:
        request.finish(self._estop.reset() or self._health.reset(self._connection.group))

    def arm(self) -> str:
        """Switches the torque on at the present joint angles. Returns why it is not on, or an empty text."""
        begun = threading.Event()

        def begin(request: BusRequest) -> None:
            if not self._torque.engaged:
                begun.set()
            self._torque.begin_arming(request, self._health.begin_arming())

        def give_up(request: BusRequest) -> None:
            if begun.is_set() and self._torque.engaged:
                self._torque.undo_arming("arming took too long")

        request = BusRequest(begin)
        answer = self._ask(request)
        if not request.done.is_set():  # no torque after the caller has given up
            self._thread.withdraw(request)
            self._thread.post(BusRequest(give_up))
        return answer

    def disarm(self) -> str:
        """Switches the torque off. Returns why torque-off could not be sent, or an empty text."""
        return self._ask(BusRequest(lambda request: self._torque.switch_off(request, "disarmed"), urgent=True))

    def hold(self) -> None:
        """Holds the present joint angles until the next targets."""
        self._thread.post(BusRequest(lambda request: self._follower.hold()))

    def note_seated(self) -> None:
        """Records that the planner reports the robot sitting."""
        self._thread.post(BusRequest(lambda request: self._health.note_seated()))

    def lend(self) -> BusLease:
        """The bus on lease while the torque is off; return it with `give_back`. Raises BusError if refused."""
        lent: list[BusLease] = []

        def lend(request: BusRequest) -> None:
            lease = self._torque.lend(self._ask, request)
            lent.extend([lease] if lease else [])

        answer = self._ask(BusRequest(lend))
        if not lent:
            raise BusError(answer)
        return lent[0]

    def give_back(self, lease: BusLease) -> None:
        """Ends a lease."""
        self._thread.post(BusRequest(lambda request: self._torque.give_back(lease)))

    def recalibrate(self, settings: ServoSettings) -> str:
        """Uses new calibrations of the same servos. Returns why they were refused, or an empty text."""
        return self._ask(BusRequest(lambda request: self._cycle.recalibrate(settings, request)))

    def _ask(self, request: BusRequest, *, first: bool = False) -> str:
        """Makes the bus thread serve a request. Returns its answer, or why there is none."""
        timeout_s = UNPLUGGED_ANSWER_TIMEOUT_S if self._connection.refusal else ANSWER_TIMEOUT_S
        if self._thread.ask(request, timeout_s, first=first):
            return request.answer
        return self._connection.refusal or "the driver's thread does not answer: restart the driver"

    def call_after_cycle(self, after_cycle: Callable[[], None]) -> None:
        """Sets a callback of the bus thread after each cycle, when there is a new snapshot."""
        self._thread.after_cycle = after_cycle

    # --- the thread ---------------------------------------------------------------------------------

    def connect(self) -> None:
        """Opens the bus and checks that all servos answer; the torque counts as off until `arm`.

        Raises PortGoneError or BusError.
        """
        self._connection.open()
        self._torque.forget("the port was reopened")
        self._report()

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def cycle(self) -> None:
        """One cycle, for callers without a thread."""
        self._cycle.run(self._thread.requests)
        self._report()

    def _report(self) -> None:
        command = self._follower.command if self._torque.state is TorqueState.ON else None
        self._snapshot = self._builder.build(self._torque.state, command, self._clock(), self._thread.overruns)

    def close(self, torque_off: bool) -> str:
        """Stops the thread and closes the port, torque off or unchanged. Returns what failed, or an empty text."""
        self._thread.stop()
        bus = self._connection.bus
        try:
            if torque_off and bus is not None:
                bus.relax()
        except PortGoneError as error:
            return f"the torque could not be switched off: {error}"
        finally:
            self._connection.close()
        return ""
