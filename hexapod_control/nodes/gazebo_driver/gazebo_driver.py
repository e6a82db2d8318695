# SPDX-License-Identifier: Apache-2.0
"""Node gazebo_driver: a robot that Gazebo simulates, in place of servo_driver.

Gazebo has a controller of positions for all joints, publishes joint_states, and measures the force on each foot. This
node sends the controller the commands for joint_targets and extra_joint_targets, and makes foot_states of the forces.
It runs on simulated time. Gazebo's joints hold their positions for ever: there is no torque to be switched.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState, MultiDOFJointState
from std_msgs.msg import Float64MultiArray

from hexapod_control.config.robots.urdf import POSITION_CONTROLLER
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.names import foot_name
from hexapod_control.core.quantity import choice, number
from hexapod_control.core.robot import Leg, Vector
from hexapod_control.nodes.announcements.graph_presence import create_exclusive_node
from hexapod_control.nodes.joint_state_input import JointStateInput, MeasuredSample
from hexapod_control.nodes.servo_driver.extra_joint_targets import subscribe_extra_targets
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.node_process import run
from hexapod_control.ros.parameters import declare
from hexapod_control.ros.qos import COMMAND, EVENTS
from hexapod_control.ros.row_messages import FootStates, JointLayout, xyz
from hexapod_control.ros.started_files import started_robot
from hexapod_control.servos.driver.extra_joint_follower import ExtraJointFollower
from hexapod_control.servos.driver.target_follower import TargetFollower


@dataclass(frozen=True, slots=True)
class GazeboSettings:
    """Parameters of gazebo_driver."""

    robot: str = choice("phantomx", "name of a robot that comes with the package, or path of a robot file")
    control_rate: float = number(50.0, "Hz", 10.0, 200.0, "commands to the controller of Gazebo")


def vertical_force(leg: Leg, joints: Sequence[float], force: Vector) -> float:
    """The part [N] along z of base_link of a force [N] in the frame of the foot, for joint angles [rad] of its leg."""
    coxa, femur, tibia = joints
    cosine, sine = math.cos(femur + tibia), math.sin(femur + tibia)
    along = cosine * force[0] - sine * force[2]
    up = sine * force[0] + cosine * force[2]
    if leg.rotation is None:
        return up
    x = math.cos(coxa) * along - math.sin(coxa) * force[1]
    y = math.sin(coxa) * along + math.cos(coxa) * force[1]
    row = leg.rotation[2]
    return row[0] * x + row[1] * y + row[2] * up


class GazeboDriverNode(GuardedNode):
    """Connects the controller and the sensors of one robot in Gazebo with the topics of a hardware node."""

    def __init__(self, **options: Any) -> None:
        """Raises RobotFileError or ParameterError for unusable input."""
        super().__init__("gazebo_driver", **options)
        settings = declare(self, GazeboSettings)
        self._robot = robot = started_robot(settings.robot).robot
        self._layout = JointLayout(robot)
        self._feet = FootStates(robot)
        self._follower: TargetFollower | None = None  # from the first measured joints on
        self._extra = ExtraJointFollower(robot.extra_servos)
        self._forces: dict[int, Vector] = {}  # [N] in the frame of the foot, by leg
        self._period = 1.0 / settings.control_rate
        self._stepped_at = math.nan  # [s] of the control clock
        self._commands = self.create_publisher(Float64MultiArray, f"{POSITION_CONTROLLER}/commands", COMMAND)
        self._foot_states = self.create_publisher(MultiDOFJointState, "foot_states", COMMAND)
        self.create_subscription(JointState, "joint_targets", self._take_targets, COMMAND)
        subscribe_extra_targets(self, robot, self._extra.take)
        for row, leg in enumerate(robot.legs):
            topic = f"{foot_name(leg.name)}/wrench"
            self.create_subscription(WrenchStamped, topic, partial(self._take_force, row), COMMAND)
        self._input = JointStateInput(self, robot)
        self._input.subscribe(self._take_measured, EVENTS)
        self.create_timer(self._period, self._step)

    def _take_targets(self, message: JointState) -> None:
        if self._follower is None:
            return
        joints, velocities = self._layout.joints(message), self._layout.velocities(message)
        if warning := self._follower.take(joints, velocities, self.control_time):
            self.report("targets", ReportLevel.WARNING, warning)

    def _take_force(self, row: int, message: WrenchStamped) -> None:
        force = xyz(message.wrench.force)
        if all(map(math.isfinite, force)):
            self._forces[row] = force

    def _take_measured(self, sample: MeasuredSample) -> None:
        if self._follower is None:
            self._follower = TargetFollower(self._robot, sample.joints)
            self._follower.start(sample.joints)
        if len(self._forces) == len(self._robot.legs):
            self._feet.update(sample.joints, messages.nanoseconds(sample.stamp) / messages.NANOSECONDS)
            self._foot_states.publish(self._feet.message(self._vertical(sample.joints), sample.stamp))

    def _vertical(self, joints: Array) -> Array:
        """Contact forces of all feet [N]; a foot in the air only has the weight of its ball, which is below 0."""
        rows = zip(self._robot.legs, joints.tolist(), strict=True)
        forces = [vertical_force(leg, angles, self._forces[row]) for row, (leg, angles) in enumerate(rows)]
        return np.maximum(forces, 0.0)

    def _step(self) -> None:
        """Sends the commands of all joints, legs before extra joints."""
        follower, now = self._follower, self.control_time
        dt = min(max(now - self._stepped_at, 0.0), 2.0 * self._period)
        if follower is None or math.isnan(self._stepped_at):
            self._stepped_at = now
            return
        self._stepped_at = now
        if warning := follower.watch(now):
            self.report("silence", ReportLevel.WARNING, warning)
        extra = zip(self._robot.extra_servos, self._extra.step(dt).tolist(), strict=True)
        command = np.append(follower.step(dt), [joint.at(angle) for joint, angle in extra])
        self._commands.publish(Float64MultiArray(data=command.tolist()))

    def safe_stop(self, callback: str) -> None:
        """Holds the present angles."""
        self._extra.hold()
        if self._follower is not None:
            self._follower.hold()

    def status(self) -> Mapping[str, object]:
        """Values for /diagnostics."""
        return {
            "feedback": "measured",
            "feet": f"{len(self._forces)} of {len(self._robot.legs)} report a force",
        }


def main(args: Sequence[str] | None = None) -> int:
    """Runs the node. Returns the exit code."""
    return run(lambda: create_exclusive_node("gazebo_driver", GazeboDriverNode), args)


if __name__ == "__main__":
    sys.exit(main())
