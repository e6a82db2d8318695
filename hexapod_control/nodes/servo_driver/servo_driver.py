# SPDX-License-Identifier: Apache-2.0
"""Node servo_driver: moves the servos to joint_targets and publishes joint_states.

The robot file describes the servos. Nothing is published on joint_states while the pose is unknown.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState

from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.posture.stand_up import lying_joints
from hexapod_control.core.refusal import Statement
from hexapod_control.core.robot import Robot
from hexapod_control.nodes.announcements.graph_presence import create_exclusive_node
from hexapod_control.nodes.announcements.robot_file_reports import report_implausible_values
from hexapod_control.nodes.servo_driver.calibration_services import CalibrationServices
from hexapod_control.nodes.servo_driver.driver_output import DriverOutput, SwitchedFeet
from hexapod_control.nodes.servo_driver.extra_joint_targets import subscribe_extra_targets
from hexapod_control.nodes.servo_driver.planner_requests import PlannerRequests
from hexapod_control.nodes.servo_driver.settings import DriverSettings
from hexapod_control.nodes.servo_driver.torque_services import TorqueServices
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.monitoring.graph_identity import Phase
from hexapod_control.ros.node_process import run
from hexapod_control.ros.parameters import ParameterError, declare
from hexapod_control.ros.qos import COMMAND
from hexapod_control.ros.row_messages import JointLayout
from hexapod_control.ros.started_files import started_mapping, started_robot
from hexapod_control.servos.bus.bus_interface import Bus, BusError, PortGoneError
from hexapod_control.servos.bus.serial_port import adapter_id, latency, slow_adapter
from hexapod_control.servos.bus.transaction import ReplyTiming
from hexapod_control.servos.driver.driver import Driver
from hexapod_control.servos.driver.target_follower import SPEED_MARGIN
from hexapod_control.servos.driver.telemetry import PlannerRequest, Snapshot, TorqueState
from hexapod_control.servos.driver.torque_switch import EMERGENCY_STOP, TORQUE_IS_OFF
from hexapod_control.servos.i2c.supply_sensor import SupplySensor
from hexapod_control.servos.line_search import with_findings
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.protocols.loopback import LoopbackBus
from hexapod_control.servos.settings.io_section import io_settings
from hexapod_control.servos.settings.servo_section import LOOPBACK, OnExit, ServoSettings, servo_settings
from hexapod_control.servos.settings.unused_settings import unused_settings

LOOPBACK_SPEED_FACTOR = 2.0  # of the fastest command: loopback servos follow without lag


def bus_opener(
    settings: ServoSettings, robot: Robot, start: Array, margin: float, force_model: bool, *, touch: bool = False
) -> Callable[[], Bus]:
    """A function that opens the bus of these settings. Loopback servos start at `start` (n, 3) [rad].

    Replies may be late by `margin` [s], where servos reply. `force_model` accepts any model. `touch`: the
    touch inputs of the board are read.
    """
    if settings.protocol == LOOPBACK:
        angles = np.ravel(start).tolist()
        angles += [extra.rest for extra in robot.extra_servos]
        positions = {joint.id: joint.raw(q) for joint, q in zip(settings.servos, angles, strict=True)}
        fastest = SPEED_MARGIN * max(joint.no_load_speed for leg in robot.legs for joint in leg.joints)
        return lambda: LoopbackBus(settings.ids, positions=positions, speed=LOOPBACK_SPEED_FACTOR * fastest)
    protocol = PROTOCOLS[settings.protocol]
    options: dict[str, Any] = dict(settings.options)  # keyword arguments of `open`, different ones for each protocol
    if "wait" in protocol.options:
        options["wait"] = ReplyTiming(margin=margin)
    if "force_model" in protocol.options:
        options["force_model"] = force_model
    if "touch" in protocol.options:
        options["touch"] = touch
    return lambda: protocol.open(protocol.connect(settings.port, settings.baud), settings.ids, **options)


TARGET_SILENCE_S = 0.25  # time without targets after which the robot counts as at rest
THREAD_SWITCH_S = 0.001  # Python's switch interval: short, so that the bus thread runs in time
UNARMED_S = 10  # from which on it is reported that the torque is off: a program that starts the driver arms it by then
WATCH_PERIOD_S = 0.1  # of ticks while the bus thread does not announce its cycles, as when it opens a port
MIN_PERIOD_SHARE = 0.7  # share of the period after which the next joint_states is published: cycles jitter


class ServoDriverNode(GuardedNode):
    """Connects the servo driver, whose own thread runs the bus, with ROS."""

    def __init__(self, start: Array | None = None, **options: Any) -> None:
        """`start` (n, 3) [rad] is the initial pose of loopback servos; default: the robot on its belly.

        `options` are those of rclpy's Node. Raises RobotFileError or ParameterError for unusable input, and for servos
        that cannot be reached.
        """
        super().__init__("servo_driver", **options)
        settings = declare(self, DriverSettings)
        file = started_robot(settings.robot)
        report_implausible_values(self, file)
        self._servos = servo_settings(file, settings.protocol, settings.port)
        self._report_unused(file)
        assumed = np.array(lying_joints(file.robot)) if start is None else start
        io = io_settings(file)
        margin, force = settings.reply_margin, settings.force_model
        opener = bus_opener(self._servos, file.robot, assumed, margin, force, touch=io.touch)
        battery = SupplySensor(io.battery, settings.i2c_bus or io.bus) if io.battery else None
        self.driver = Driver(file.robot, self._servos, opener, assumed, battery=battery)
        self._arm_when_connected = not self._connect(settings) and settings.arm_on_start
        self._check_latency()
        self._last_targets = time.monotonic()
        self._published = self.driver.snapshot
        self._diagnoses = self._published.diagnoses  # that were reported last
        self._unarmed = 0  # [s] the torque has been off
        self._ending = False
        self._closed = False
        self._tick_requested = False
        mapping = started_mapping(settings.joint_mapping, file.robot)
        self._layout = JointLayout(file.robot, mapping)
        self._switched = SwitchedFeet(file.robot, io.feet, settings.i2c_bus or io.bus) if io.feet else None
        feet = settings.publish_foot_states
        self._output = DriverOutput(self, file.robot, mapping, feet=feet, switched=self._switched)
        legs = file.robot.leg_names
        self._planner = PlannerRequests(self, legs, self.driver.note_seated, self.driver.note_legs_folded)
        self.create_subscription(JointState, "joint_targets", self.on_joint_targets, COMMAND)
        subscribe_extra_targets(self, file.robot, self.driver.take_extra)
        TorqueServices(self, self.driver)
        self._calibration = CalibrationServices(self, self.driver, settings)
        self.closing.callback(self._close)
        self.driver.call_after_cycle(self._request_tick)
        sys.setswitchinterval(THREAD_SWITCH_S)
        self.driver.start()
        self._assume_lying = settings.assume_lying
        if settings.arm_on_start and not self._arm_when_connected:
            self._arm_on_start()
        self._min_period = MIN_PERIOD_SHARE / settings.control_rate  # [s]
        self.create_timer(WATCH_PERIOD_S, self.tick, clock=self.steady)

    # --- start ----------------------------------------------------------------------------------------------

    def _report_unused(self, file: RobotFile) -> None:
        """Reports the keys of the robot file that have no effect, unless other servos than the file's are used."""
        if self._servos.protocol == servo_settings(file).protocol:
            for text in unused_settings(file):
                self.report(text, ReportLevel.WARNING, text, every=math.inf)

    def _connect(self, settings: DriverSettings) -> bool:
        """Connects to the servos. Returns False if the driver's thread has to wait for the port."""
        try:
            self.driver.connect()
        except (PortGoneError, BusError, ValueError) as error:
            if not (settings.wait_for_port and isinstance(error, PortGoneError)):
                reason = self._cause(error) if isinstance(error, BusError) else error
                raise ParameterError(f"servos: {reason}") from None
            self.report("start", ReportLevel.OK, f"waits for {self._servos.port}")
            return False
        return True

    def _cause(self, error: BusError) -> str:
        servos = self._servos
        return with_findings(error, servos.protocol, servos.port, servos.baud, servos.ids)

    def _check_latency(self) -> None:
        port = self._servos.port
        if text := slow_adapter(port, latency(port)):
            self.report("latency", ReportLevel.WARNING, text)

    def _arm_on_start(self) -> None:
        if not self.driver.snapshot.measured and not self._assume_lying:
            text = "these servos report no positions: put the robot on its belly, feet beside it, then run hexapod arm"
            self.report("start", ReportLevel.WARNING, text)
            return
        refusal = self.driver.arm()
        if refusal:
            self.report("start", ReportLevel.ERROR, Statement("not_armed", "not armed: {refusal}", refusal=refusal))

    # --- running --------------------------------------------------------------------------------------------

    def on_joint_targets(self, message: JointState) -> None:
        """Passes joint targets to the driver."""
        self._last_targets = time.monotonic()
        joints, velocities = self._layout.joints(message), self._layout.velocities(message)
        self.driver.take(joints, velocities, self._last_targets)

    def _request_tick(self) -> None:
        """Called by the bus thread after every cycle: readings are published at once, without a timer."""
        if not self._tick_requested:
            self._tick_requested = True
            self.run_in_executor(self.tick)

    def tick(self) -> None:
        """Publishes new readings, and passes the driver's requests to the planner."""
        self._tick_requested = False
        if self._closed:  # the last snapshot is older than the final state
            return
        snapshot = self.driver.snapshot
        stamp = self.get_clock().now().to_msg()
        if self._arm_when_connected and snapshot.torque is TorqueState.OFF:
            self._arm_when_connected = False
            self._arm_on_start()
        if snapshot.diagnoses != self._diagnoses:
            self._diagnoses = snapshot.diagnoses
            self._report_diagnoses(snapshot)
        self._output.latched(snapshot)
        if snapshot.time - self._published.time > self._min_period:
            self._output.state(snapshot, stamp)
            self._published = snapshot
        events = self.driver.events
        while events:
            event = events.popleft()
            cause = self.clock_monitor.cause(event.question, time.monotonic()) if event.question else ""
            caused = Statement("with_cause", "{said}; {cause}", said=event.said, cause=cause)
            self.report(event.kind, ReportLevel.WARNING, caused if cause else event.said)
        reason = next((each.text for each in snapshot.diagnoses if each.serious), "")
        self._planner.request(self._request(snapshot), snapshot.lost_leg, reason)
        self._calibration.tick()

    def _report_diagnoses(self, snapshot: Snapshot) -> None:
        for diagnosis in snapshot.diagnoses if not self._arm_when_connected else ():
            level = ReportLevel.ERROR if diagnosis.serious else ReportLevel.WARNING
            self.report(diagnosis.kind, level, diagnosis.said)

    def every_second(self) -> None:
        """Publishes the battery, and repeats reports of present faults."""
        snapshot = self.driver.snapshot
        self._output.battery(snapshot, self.get_clock().now().to_msg())
        self._report_diagnoses(snapshot)
        if self._switched is not None and self._switched.error:
            self.report("feet", ReportLevel.WARNING, self._switched.error)
        if self.driver.latched:
            self.report("torque", ReportLevel.ERROR, EMERGENCY_STOP)
        self._unarmed = self._unarmed + 1 if snapshot.torque is TorqueState.OFF else 0
        if self._unarmed > UNARMED_S and not self.driver.latched:
            self.report("torque", ReportLevel.WARNING, TORQUE_IS_OFF)

    def safe_stop(self, callback: str) -> None:
        """Holds the present joint angles."""
        self.driver.hold()

    def status(self) -> Mapping[str, object]:
        """Values for /diagnostics."""
        snapshot = self.driver.snapshot
        counters = snapshot.counters
        return {
            "bus": " ".join(filter(None, (self._servos.protocol, self._servos.port))),
            "feedback": "measured" if snapshot.measured else "estimated",
            "torque": "unknown" if snapshot.torque is TorqueState.UNKNOWN else snapshot.torque is TorqueState.ON,
            "power": snapshot.torque.value,
            "emergency stop": "latched" if self.driver.latched else "no",
            "reset": "needed" if any(each.reset for each in snapshot.diagnoses) else "no",
            "calibration": "running" if self._calibration.runs else "no",
            "loop Hz": f"{snapshot.rate:.1f}",
            "overruns": snapshot.overruns,
            "bus errors": f"{counters.bad} bad frames, {counters.timeouts} lost replies, {counters.sent} frames sent",
            "late replies": counters.late,
            "wrong goals": counters.wrong_goals,
            "reconnections": snapshot.reconnections,
            "voltage [V]": _number(snapshot.voltage),
            "battery limits [V]": " ".join(f"{volts:.1f}" for volts in snapshot.battery_limits or ()) or "unknown",
            "current [A]": _number(snapshot.current),
            "misses": self._by_joint(snapshot.misses),
            "clamps": self._by_joint(snapshot.clamps),
            "temperatures [degC]": _numbers(snapshot.temperatures),
            "loads": _numbers(snapshot.loads),
            "feet": self._output.foot_contact_status(snapshot),
        }

    @property
    def hardware_id(self) -> str:
        """The adapter of the servo bus, by its serial number, or else the robot."""
        return adapter_id(self._servos.port) or super().hardware_id

    def _by_joint(self, counts: Sequence[int]) -> str:
        names = (joint.joint for joint in self._servos.servos)
        texts = [f"{name} {count}" for name, count in zip(names, counts, strict=False) if count]
        return ", ".join(texts) or "none"

    # --- the end --------------------------------------------------------------------------------------------

    def request_stop(self) -> None:
        """Asks the planner to sit down; targets are followed as long as they arrive."""
        self._ending = True

    def _request(self, snapshot: Snapshot) -> PlannerRequest:
        if self._sits_down:  # beside another graph its planner would sit down, too; the own one is asked to end as well
            return PlannerRequest.SIT if self.phase is Phase.DRIVING else PlannerRequest.NOTHING
        return snapshot.planner_request

    @property
    def _sits_down(self) -> bool:
        """Whether the robot has to sit down before the torque is switched off."""
        return self._ending and self._servos.on_exit is OnExit.SIT and self.driver.armed

    def stopped(self) -> bool:
        """Whether the robot sits, or targets have stopped arriving, or it does not have to sit down."""
        if not self._sits_down:
            return True
        if self._planner.reachable:  # a short pause of the targets does not count
            return self._planner.down_time > TARGET_SILENCE_S
        return time.monotonic() - self._last_targets > TARGET_SILENCE_S

    def publish_final_state(self) -> None:
        """Switches the torque off, unless the robot file keeps it on, and publishes that: the planner may still run."""
        self._closed = True
        self._close()
        if self._servos.on_exit is not OnExit.HOLD:
            self._output.armed(False)

    def _close(self) -> None:
        self._calibration.close()
        failure = self.driver.close(self._servos.on_exit is not OnExit.HOLD)
        if failure:
            self.report("exit", ReportLevel.ERROR, str(failure))


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2f}"


def _numbers(values: Array | None) -> str:
    return "unknown" if values is None else " ".join(f"{value:.2g}" for value in np.ravel(values).tolist())


def main(args: Sequence[str] | None = None) -> int:
    """Runs the node. Returns the exit code."""
    return run(lambda: create_exclusive_node("servo_driver", ServoDriverNode), args)


if __name__ == "__main__":
    sys.exit(main())
