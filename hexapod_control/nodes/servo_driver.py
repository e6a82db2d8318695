"""servo_driver: joint targets to the servos, joint states back.

So far the bus is a loopback: servos that follow their targets at their greatest speed and are always there.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState

from hexapod_control.core import posture
from hexapod_control.core.kinematics import Array
from hexapod_control.core.robot import Robot
from hexapod_control.nodes import messages
from hexapod_control.nodes.base import COMMAND, GuardedNode, Level
from hexapod_control.nodes.joint_driver import JointDriver
from hexapod_control.nodes.parameters import DriverSettings, declare
from hexapod_control.nodes.runner import run
from hexapod_control.nodes.torque import TorqueServices
from hexapod_control.robots.load import load

SILENT = 0.25  # [s] without targets: nobody moves the robot any more
LONGEST = 0.1  # [s] a step may count


class LoopbackBus:
    """Servos that are where they were told to be: no noise, no load, no lag."""

    def __init__(self, joints: Array) -> None:
        """Starts with the joints (n, 3) [rad] there."""
        self.joints = joints
        self.velocities = np.zeros_like(joints)  # [rad/s]
        self.torque = True

    def exchange(self, goals: Array, dt: float) -> None:
        """Sends goals (n, 3) [rad] and reads where the joints are `dt` [s] later."""
        moved = goals if self.torque else self.joints
        self.velocities = (moved - self.joints) / dt
        self.joints = moved


class ServoDriver(GuardedNode):
    """The node."""

    def __init__(self, **options: Any) -> None:
        """Raises RobotFileError or ParameterError for input it cannot work with."""
        super().__init__("servo_driver", **options)
        settings = declare(self, DriverSettings)
        robot = load(settings.robot).robot
        self._bus = LoopbackBus(_lying(robot))
        self._driver = JointDriver(robot, self._bus.joints)
        if not settings.arm_on_start:
            self._release()
            self._driver.disarm()
        self._states = messages.JointLayout(robot)
        self._targets = messages.JointLayout(robot)
        self._last = self._heard = time.monotonic()
        self._publisher = self.create_publisher(JointState, "joint_states", COMMAND)
        self.create_subscription(JointState, "joint_targets", self.on_joint_targets, COMMAND)
        self._torque = TorqueServices(self, self._driver, lambda: self._bus.joints, self._engage, self._release)
        self.create_timer(1.0 / settings.control_rate, self.tick, clock=self.steady)

    def _engage(self) -> None:
        self._bus.torque = True

    def _release(self) -> None:
        self._bus.torque = False

    def on_joint_targets(self, message: Any) -> None:
        """A row of targets."""
        self._heard = time.monotonic()
        row, velocities = self._targets.joints(message), self._targets.velocities(message)
        complaint = self._driver.take(row, velocities, self._heard)
        if complaint:
            self.say("targets", Level.WARNING, complaint)

    def tick(self) -> None:
        """One exchange with the bus."""
        now = time.monotonic()
        dt, self._last = min(now - self._last, LONGEST), now
        sentence = self._driver.watch(now)
        if sentence:
            self.say("silence", Level.WARNING, sentence)
        if dt > 0.0:
            self._bus.exchange(self._driver.step(dt), dt)
        stamp = self.get_clock().now().to_msg()
        self._publisher.publish(self._states.message(self._bus.joints, self._bus.velocities, stamp))

    def safe_stop(self, callback: str) -> None:
        """Holds the joints where they are."""
        self._driver.hold()

    def status(self) -> Mapping[str, object]:
        """Values for /diagnostics."""
        return {
            "bus": "loopback",
            "feedback": "estimated",
            "torque": self._driver.armed,
            "emergency stop": "latched" if self._driver.latched else "no",
        }

    def stopped(self) -> bool:
        """True when no targets come any more."""
        return time.monotonic() - self._heard > SILENT


def _lying(robot: Robot) -> Array:
    """Joints (n, 3) [rad] of the robot on its belly, feet about its neutral footholds."""
    home = [leg.foothold for leg in robot.legs]
    row = posture.row_at(robot, home, posture.lying_offset(robot, home))
    assert row is not None  # lying_offset gives offsets in reach
    return np.array(row)


def main(args: Sequence[str] | None = None) -> int:
    """Runs the node; returns the exit code."""
    return run(ServoDriver, args)


if __name__ == "__main__":
    sys.exit(main())
