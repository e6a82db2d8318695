"""servo_driver: joint targets to the servos, joint states back. What the servos are is the robot file's `servos`.

Nothing is published on joint_states while the pose is unknown; `armed` says whether the servos hold.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState

from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.whole_body import joints_at_offset
from hexapod_control.core.posture import stand_up
from hexapod_control.core.robot import Robot
from hexapod_control.nodes.servo_driver.calibration_services import CalibrationServices
from hexapod_control.nodes.servo_driver.driver_output import DriverOutput
from hexapod_control.nodes.servo_driver.planner_requests import PlannerRequests
from hexapod_control.nodes.servo_driver.settings import DriverSettings
from hexapod_control.nodes.torque_services import TorqueServices
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.node_process import run
from hexapod_control.ros.parameters import ParameterError, declare
from hexapod_control.ros.qos import COMMAND
from hexapod_control.servos.bus.bus_interface import Bus, BusError, PortGone
from hexapod_control.servos.bus.serial_port import SerialPort, latency
from hexapod_control.servos.bus.transaction import ReplyTiming
from hexapod_control.servos.driver.driver_thread import Driver
from hexapod_control.servos.driver.setpoint_generator import SPEED_MARGIN, SetpointGenerator
from hexapod_control.servos.driver.telemetry import PlannerRequest, Snapshot, TorqueState
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.protocols.loopback import LoopbackBus
from hexapod_control.servos.settings.servo_section import LOOPBACK, OnExit, ServoSettings, servo_settings

SILENT = 0.25  # [s] without targets: nobody moves the robot any more
BRISK = 0.001  # [s] an adapter may hold bytes back
SWITCH = 0.001  # [s] after which the thread of the bus gets its turn
EARLY = 0.7  # of a period between two rows of joint_states: cycles are not that even
LINEAR = 60.0  # [Hz] from this rate on setpoints go evenly from one row of targets to the next


class ServoDriver(GuardedNode):
    """The node."""

    def __init__(self, start: Array | None = None, **options: Any) -> None:
        """`start` (n, 3) [rad] is where servos without a wire are found; default: the robot on its belly.

        Raises RobotFileError or ParameterError for input it cannot work with, and servos that cannot be reached.
        """
        super().__init__("servo_driver", **options)
        settings = declare(self, DriverSettings)
        file = load(settings.robot)
        self._servos = servo_settings(file, settings.protocol, settings.port)
        assumed = lying(file.robot) if start is None else start
        setpoints = SetpointGenerator(file.robot, assumed, "linear" if self._servos.rate >= LINEAR else "hold")
        opener = bus_opener(self._servos, file.robot, assumed, settings.reply_margin)
        self.driver = Driver(file.robot, self._servos, setpoints, opener, assumed)
        self._arms_late = not self._connect(settings) and settings.arm_on_start
        held = latency(self._servos.port) if self._servos.port else None
        if held is not None and held > BRISK:
            text = (
                f"{self._servos.port} holds bytes back for {1000.0 * held:.0f} ms: install the udev rule, plug it anew"
            )
            self.report("latency", ReportLevel.WARNING, text)
        self._heard, self._told = time.monotonic(), self.driver.snapshot
        self._ending = False
        self._layout = messages.JointLayout(file.robot)
        self._output = DriverOutput(self, file.robot, feet=settings.publish_foot_states)
        self._wishes = PlannerRequests(self, self.driver.seated)
        self.create_subscription(JointState, "joint_targets", self.on_joint_targets, COMMAND)
        TorqueServices(self, self.driver, lambda: assumed, _nothing, _nothing)
        self._calibration = CalibrationServices(self, self.driver, settings)
        self._woken = False  # is a tick on its way
        self.driver.after_cycle = self._wake
        self.driver.start()
        self._assume_lying = settings.assume_lying
        if settings.arm_on_start and not self._arms_late:
            self._arm_on_start()
        self._least_pause = EARLY / settings.control_rate  # [s]
        self.create_timer(1.0 / settings.control_rate, self.tick, clock=self.steady)

    def _connect(self, settings: DriverSettings) -> bool:
        """Finds the servos, or leaves that to the driver's thread if the port may come later."""
        try:
            self.driver.connect()
        except (PortGone, BusError, ValueError) as error:
            if not (settings.wait_for_port and isinstance(error, PortGone)):
                raise ParameterError(f"servos: {error}") from None
            self.report("start", ReportLevel.OK, f"waits for {self._servos.port}")
            return False
        return True

    def _arm_on_start(self) -> None:
        if not self.driver.snapshot.measured and not self._assume_lying:
            text = "these servos cannot tell where they are: put the robot on its belly, feet beside it, then call arm"
            self.report("start", ReportLevel.WARNING, text)
            return
        refusal = self.driver.arm()
        if refusal:
            self.report("start", ReportLevel.ERROR, f"not armed: {refusal}")

    def on_joint_targets(self, message: Any) -> None:
        """A row of targets."""
        self._heard = time.monotonic()
        row, velocities = self._layout.joints(message), self._layout.velocities(message)
        self.driver.take(row, velocities, self._heard)

    def _wake(self) -> None:
        """From the thread of the bus: what it has read is not to wait for a timer."""
        if not self._woken:
            self._woken = True
            self.run_in_executor(self.tick)

    def tick(self) -> None:
        """Says what is new."""
        self._woken = False
        snapshot, stamp = self.driver.snapshot, self.get_clock().now().to_msg()
        if self._arms_late and snapshot.power is TorqueState.OFF:
            self._arms_late = False
            self._arm_on_start()
        self._output.latched(snapshot)
        if snapshot.time - self._told.time > self._least_pause:
            self._output.state(snapshot, stamp)
            if snapshot.diagnoses != self._told.diagnoses:
                self._say_troubles(snapshot)
            self._told = snapshot
        events = self.driver.events
        while events:
            event = events.popleft()
            self.report(event.kind, ReportLevel.WARNING, event.text)
        self._wishes.tell(PlannerRequest.SIT if self._sits else snapshot.planner_request)
        self._calibration.tick()

    def _say_troubles(self, snapshot: Snapshot) -> None:
        for trouble in snapshot.diagnoses if not self._arms_late else ():
            self.report(trouble.kind, ReportLevel.ERROR if trouble.serious else ReportLevel.WARNING, trouble.text)

    def every_second(self) -> None:
        """The battery, and what is still wrong."""
        snapshot = self.driver.snapshot
        self._output.battery(snapshot, self.get_clock().now().to_msg())
        self._say_troubles(snapshot)
        if self.driver.latched:
            self.report(
                "torque", ReportLevel.ERROR, "emergency stop: call estop with false, then reset_fault, then arm"
            )
        elif snapshot.power is TorqueState.OFF:
            self.report("torque", ReportLevel.WARNING, "torque is off: call arm")

    def safe_stop(self, callback: str) -> None:
        """Holds the joints where they are."""
        self.driver.hold()

    def status(self) -> Mapping[str, object]:
        """Values for /diagnostics."""
        snapshot, counters = self.driver.snapshot, self.driver.snapshot.counters
        return {
            "bus": " ".join(filter(None, (self._servos.protocol, self._servos.port))),
            "feedback": "measured" if snapshot.measured else "estimated",
            "torque": snapshot.power is TorqueState.ON,
            "power": snapshot.power.value,
            "emergency stop": "latched" if self.driver.latched else "no",
            "loop Hz": f"{snapshot.rate:.1f}",
            "overruns": snapshot.overruns,
            "bus errors": f"{counters.bad} bad frames, {counters.timeouts} timeouts of {counters.sent} sent",
            "reconnections": snapshot.reconnections,
            "voltage [V]": _spelt(snapshot.voltage),
            "current [A]": _spelt(snapshot.current),
            "misses": self._by_joint(snapshot.misses),
            "clamps": self._by_joint(snapshot.clamps),
            "temperatures [degC]": self._row(snapshot.temperatures),
            "loads": self._row(snapshot.loads),
            "feet": self._output.feet(snapshot),
        }

    def _by_joint(self, counts: Sequence[int]) -> str:
        found = [f"{name} {count}" for name, count in zip(self._layout.names, counts, strict=False) if count]
        return ", ".join(found) or "none"

    def _row(self, values: Array | None) -> str:
        return "unknown" if values is None else " ".join(f"{v:.2g}" for v in np.ravel(values).tolist())

    # --- the end --------------------------------------------------------------------------------------------

    def request_stop(self) -> None:
        """Targets are followed as long as they come, and the planner is asked to sit down."""
        self._ending = True

    @property
    def _sits(self) -> bool:
        """Whether the robot shall be down before the torque goes."""
        return self._ending and self._servos.on_exit is OnExit.SIT and self.driver.armed

    def stopped(self) -> bool:
        """True when the robot is down, or nobody moves it any more, or nobody has to wait for that."""
        if not self._sits:
            return True
        if self._wishes.planner_is_there:  # silence of a moment is no end
            return self._wishes.down > SILENT
        return time.monotonic() - self._heard > SILENT

    def publish_final_state(self) -> None:
        """Torque off, unless the robot file wants it held; the planner must know, as it may live on."""
        self._close()
        if self._servos.on_exit is not OnExit.HOLD:
            self._output.armed(False)

    def destroy_node(self) -> None:
        """Ends the thread first."""
        self._close()
        super().destroy_node()

    def _close(self) -> None:
        self._calibration.close()
        failure = self.driver.close(self._servos.on_exit is not OnExit.HOLD)
        if failure:
            self.report("exit", ReportLevel.ERROR, failure)


def bus_opener(settings: ServoSettings, robot: Robot, start: Array, margin: float) -> Callable[[], Bus]:
    """What opens the bus of these settings. Servos without a wire start at `start` (n, 3) [rad].

    Replies may be late by `margin` [s], where servos reply.
    """
    if settings.protocol == LOOPBACK:
        angles = np.ravel(start).tolist()
        positions = {joint.id: joint.raw(q) for joint, q in zip(settings.joints, angles, strict=True)}
        fastest = SPEED_MARGIN * max(joint.no_load_speed for leg in robot.legs for joint in leg.joints)
        return lambda: LoopbackBus(settings.ids, positions=positions, speed=2.0 * fastest)
    protocol = PROTOCOLS[settings.protocol]
    options: dict[str, Any] = dict(settings.options)
    if "wait" in protocol.options:
        options["wait"] = ReplyTiming(margin=margin)
    return lambda: protocol.open(SerialPort(settings.port, settings.baud), settings.ids, **options)


def _nothing() -> None:
    """The driver switches the torque itself."""


def _spelt(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2f}"


def lying(robot: Robot) -> Array:
    """Joints (n, 3) [rad] of the robot on its belly, feet about its neutral footholds."""
    home = [leg.foothold for leg in robot.legs]
    row = joints_at_offset(robot, home, stand_up.lying_offset(robot, home))
    assert row is not None  # lying_offset gives offsets in reach
    return np.array(row)


def main(args: Sequence[str] | None = None) -> int:
    """Runs the node; returns the exit code."""
    sys.setswitchinterval(SWITCH)
    return run(ServoDriver, args)


if __name__ == "__main__":
    sys.exit(main())
