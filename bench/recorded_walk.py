# SPDX-License-Identifier: Apache-2.0
"""A bag of the walk of a robot with hidden errors, as the recorder writes it: messages arrive early and late."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import numpy as np

from hexapod_control.bags import bag_file
from hexapod_control.bags.ring_buffer import RecordedMessage
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.se2 import Pose, Twist
from hexapod_control.core.names import joint_names
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.reality import Reality
from hexapod_control.core.sensing.odometry import Odometry
from hexapod_control.evaluation.lockstep import CONTROL_PERIOD_S, Lockstep, planar_pose
from hexapod_control.sim.simulation import InertialReading, Simulation
from hexapod_control.sim.start_poses import sitting_pose
from hexapod_control.sim.world_settings import WorldSettings

SECOND = 1_000_000_000
START = 1_800_000_000 * SECOND  # [ns]
KINDS = {
    "joint_targets": "sensor_msgs/msg/JointState",
    "joint_states": "sensor_msgs/msg/JointState",
    "cmd_vel": "geometry_msgs/msg/Twist",
    "odom": "nav_msgs/msg/Odometry",
    "simulator/floating_base_state": "nav_msgs/msg/Odometry",
    "imu/data": "sensor_msgs/msg/Imu",
    "robot_description": "std_msgs/msg/String",
}
FORWARDS = Twist(0.1, 0.0, 0.0)
JITTER_S = 0.002
TYPES: Any = bag_file.TYPES.types

Message = dict[str, Any]
"""Fields of a message."""


class RecordedLockstep(Lockstep):
    """A walk whose targets and readings are recorded."""

    def __init__(self, simulation: Simulation, planner: Planner, without: Collection[str]) -> None:
        super().__init__(simulation, planner)
        self.names = joint_names(simulation.robot.leg_names)
        self.messages: list[RecordedMessage] = []
        self.odometry = Odometry(simulation.robot)
        self.rng = np.random.default_rng(1)
        self.twist = Twist(0.0, 0.0, 0.0)
        self._without = without

    def follow(self, targets: Array, observe: Callable[[Simulation], None] | None) -> None:
        """Simulates one control period, and records it."""
        simulation = self.simulation
        self.add("joint_targets", simulation.time, joints(self.names, targets))
        self.add("cmd_vel", simulation.time, twist(self.twist))
        super().follow(targets, observe)
        reading = simulation.reading()
        self.odometry.update(reading.joints, reading.foot_forces.tolist(), CONTROL_PERIOD_S)
        now = simulation.time
        self.add("joint_states", now, joints(self.names, reading.joints))
        self.add("odom", now, odometry(self.odometry.pose, self.odometry.twist))
        self.add("simulator/floating_base_state", now, odometry(planar_pose(simulation), Twist(0.0, 0.0, 0.0)))
        self.add("imu/data", now, imu(simulation.inertial()))

    def add(self, topic: str, time: float, fields: Message) -> None:
        """Records a message of a time [s], which arrives up to JITTER_S later."""
        if topic not in self._without:
            at = time + JITTER_S * self.rng.random()
            raw = bytes(bag_file.TYPES.serialize_cdr(TYPES[KINDS[topic]](**fields), KINDS[topic]))
            self.messages.append(RecordedMessage(round(at * SECOND), f"/{topic}", raw))


def record(
    path: Path,
    errors: Reality | None,
    seconds: float = 6.0,
    commanded: Twist = FORWARDS,
    name: str = "phantomx",
    without: Collection[str] = (),
    gap: tuple[float, float] = (0.0, 0.0),
) -> Path:
    """Writes the bag of a robot that stands up and walks; messages between the times `gap` [s] are lost."""
    robot_file = load(name)
    robot = robot_file.robot
    simulation = Simulation(robot, urdf(robot_file), WorldSettings(), errors)
    simulation.reset(sitting_pose(robot))
    lockstep = RecordedLockstep(simulation, Planner(robot), without)
    lockstep.add("robot_description", 0.0, {"data": urdf(robot_file)})
    lockstep.stand()
    lockstep.planner.command(commanded)
    lockstep.twist = commanded
    for _ in range(round(seconds / CONTROL_PERIOD_S)):
        lockstep.tick()
    first, last = gap
    messages = sorted(m for m in lockstep.messages if not first < m.at / SECOND < last)
    channels = [bag_file.BagChannel(f"/{topic}", kind) for topic, kind in KINDS.items() if topic not in without]
    bag_file.write(path, channels, messages, START)
    return path


def header() -> Any:
    """The header of every message."""
    return TYPES["std_msgs/msg/Header"](stamp=TYPES["builtin_interfaces/msg/Time"](sec=1, nanosec=0), frame_id="odom")


def joints(names: Collection[str], angles: Array) -> Message:
    """Of joint_targets and joint_states."""
    none = np.zeros(0)
    return {"header": header(), "name": list(names), "position": angles.ravel(), "velocity": none, "effort": none}


def vector(x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Any:
    """A Vector3."""
    return TYPES["geometry_msgs/msg/Vector3"](x=x, y=y, z=z)


def twist(value: Twist) -> Message:
    """Of cmd_vel."""
    return {"linear": vector(value.vx, value.vy), "angular": vector(z=value.wz)}


def quaternion(x: float, y: float, z: float, w: float) -> Any:
    """A Quaternion."""
    return TYPES["geometry_msgs/msg/Quaternion"](x=x, y=y, z=z, w=w)


def odometry(pose: Pose, executed: Twist) -> Message:
    """Of odom and the ground truth."""
    turn = quaternion(0.0, 0.0, math.sin(pose.yaw / 2), math.cos(pose.yaw / 2))
    place = TYPES["geometry_msgs/msg/Pose"](
        position=TYPES["geometry_msgs/msg/Point"](x=pose.x, y=pose.y, z=0.0), orientation=turn
    )
    moving = TYPES["geometry_msgs/msg/Twist"](**twist(executed))
    zeros = np.zeros(36)
    return {
        "header": header(),
        "child_frame_id": "base",
        "pose": TYPES["geometry_msgs/msg/PoseWithCovariance"](pose=place, covariance=zeros),
        "twist": TYPES["geometry_msgs/msg/TwistWithCovariance"](twist=moving, covariance=zeros),
    }


def imu(reading: InertialReading) -> Message:
    """Of imu/data."""
    zeros = np.zeros(9)
    return {
        "header": header(),
        "orientation": quaternion(*reading.orientation),
        "orientation_covariance": zeros,
        "angular_velocity": vector(*reading.angular_velocity.tolist()),
        "angular_velocity_covariance": zeros,
        "linear_acceleration": vector(*reading.acceleration.tolist()),
        "linear_acceleration_covariance": zeros,
    }
