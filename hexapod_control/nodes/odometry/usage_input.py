"""Usage counters (hours, distance, joint cycles), stored across restarts if `keep_usage` is set."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping

from sensor_msgs.msg import BatteryState

from hexapod_control.core.kinematics.se2 import Pose
from hexapod_control.core.names import joint_names
from hexapod_control.core.robot import Robot
from hexapod_control.core.sensing.usage import UsageMeter
from hexapod_control.nodes.joint_state_input import MeasuredSample
from hexapod_control.nodes.odometry.usage_memory import UsageMemory
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.qos import SAMPLES

MAX_AGE_S = 3.0  # of a battery reading
STEP_S = 0.1  # between two counted samples: joints reverse less often


class UsageInput:
    """Counts the usage of one robot from joint samples and battery readings; lives as long as its node."""

    def __init__(self, node: GuardedNode, robot: Robot, *, keep: bool) -> None:
        """`keep`: continue the counts stored in the robot's file, and write them."""
        self._node, self._mass = node, robot.mass
        self._names = joint_names(robot.leg_names)
        self._memory = UsageMemory(f"{node.get_namespace()}{robot.name}") if keep else None
        self._meter = UsageMeter(robot, self._memory.recall() if self._memory else None)
        self._power: float | None = None  # [W]
        self._measured_at = -math.inf  # [s] steady time
        self._last: tuple[float, Pose] | None = None  # [s] stamp
        node.create_subscription(BatteryState, "battery_state", self.on_battery_state, SAMPLES)

    def on_battery_state(self, message: BatteryState) -> None:
        """Stores voltage and power of the supply; an unknown current is NaN."""
        if not (message.present and math.isfinite(message.voltage) and message.voltage > 0.0):
            return
        self._meter.voltage(message.voltage)
        power = abs(message.voltage * message.current)
        self._power, self._measured_at = (power if math.isfinite(power) else None), time.monotonic()

    def count(self, sample: MeasuredSample, now: float, pose: Pose) -> None:
        """Counts a joint sample with the stamp `now` [s] and the pose of the odometry."""
        if self._last is not None and 0.0 <= now - self._last[0] < STEP_S:
            return
        before, self._last = self._last, (now, pose)
        if before is None:
            return
        moved = math.dist(before[1][:2], pose[:2])
        power = self._power if time.monotonic() - self._measured_at <= MAX_AGE_S else None
        self._meter.step(now - before[0], sample.joints, moved, power, sample.torques)

    def keep(self) -> None:
        """Saves the counters when it is time."""
        if self._memory is not None:
            self._memory.keep(self._meter.usage)
            self._report_failure(self._memory)

    def close(self) -> None:
        """Saves the counters a last time."""
        if self._memory is not None:
            self._memory.close(self._meter.usage)
            self._report_failure(self._memory)

    def _report_failure(self, memory: UsageMemory) -> None:
        if memory.failure:
            self._node.report("usage", ReportLevel.WARNING, memory.failure)

    def status(self) -> Mapping[str, object]:
        """Values for /diagnostics."""
        return self._meter.usage.status(self._mass, self._names)
