# SPDX-License-Identifier: Apache-2.0
"""The URDF of a robot, and the controllers of config/ros2_control.yaml for its joints."""

from __future__ import annotations

import io
import tempfile
from dataclasses import asdict, replace
from functools import lru_cache
from typing import Any

import numpy as np
import xacro
from ruamel.yaml import YAML

from hexapod_control.config.bounded_yaml import parse, parser, read_text
from hexapod_control.config.robots.draft.rotations import rotation_about, rotation_from_angles
from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.config.shipped_files import share
from hexapod_control.core.names import extra_joint_name, extra_link_name, joint_names
from hexapod_control.core.posture.stand_up import lying_joints
from hexapod_control.core.robot import Body, ExtraJoint, Robot

TOPICS = "topics"
HARDWARE = {
    TOPICS: "joint_state_topic_hardware_interface/JointStateTopicSystem",
    "mock": "mock_components/GenericSystem",
    "mujoco": "mujoco_ros2_control/MujocoSystemInterface",
    "gazebo": "gz_ros2_control/GazeboSimSystem",
}
"""Plugins through which ros2_control moves the joints; those of TOPICS are moved by servo_driver or mujoco_sim."""


LEG_CONTROLLER = "joint_trajectory_controller"
EXTRA_CONTROLLER = "extra_joint_trajectory_controller"
POSITION_CONTROLLER = "position_controller"
GAZEBO_RATE = 200  # [Hz] of the controllers in Gazebo: a joint follows its target within some periods
_OF_CONTROLLER = ("command_interfaces", "state_interfaces", "allow_partial_joints_goal")


def urdf(
    robot_file: RobotFile, *, ros2_control: str = "", walking: bool = False, parameters: str = "controllers.yaml"
) -> str:
    """Generates the URDF of a validated robot file with xacro, which gets the numbers of the robot.

    `ros2_control`, one of HARDWARE, adds the tags of ros2_control (docs/ros2-control.md); `walking`: those of the extra
    joints only, as gait_planner moves the legs. `parameters` is the file of the controllers that Gazebo loads.
    """
    return _expanded(robot_file.robot, HARDWARE[ros2_control] if ros2_control else "", parameters, not walking)


def walking_urdf(robot_file: RobotFile) -> str:
    """The URDF that a robot publishes while gait_planner moves its legs: a controller may move its extra joints."""
    return urdf(robot_file, ros2_control=TOPICS if robot_file.robot.extra_joints else "", walking=True)


@lru_cache(maxsize=16)  # xacro takes a tenth of a second, and several parts of a program need the same URDF
def _expanded(robot: Robot, plugin: str, parameters: str, with_legs: bool) -> str:
    template = share("urdf", "hexapod.urdf.xacro")
    numbers = asdict(robot)
    numbers["trunk"] = asdict(_trunk(robot))
    for leg, joints in zip(numbers["legs"], lying_joints(robot), strict=True):
        leg["start"] = list(joints)
    for extra, joint in zip(numbers["extra_joints"], robot.extra_joints, strict=True):
        lower, upper = joint.limits
        extra["joint"] |= {"lower": lower, "upper": upper}
        extra["joint"] |= {"no_load_speed": joint.top_speed, "stall_torque": joint.top_effort}
        extra["start"] = joint.at(joint.rest)
        extra["mimic"] = _mimic(robot, joint) if joint.mimics else {}
    numbers["controlled_legs"] = numbers["legs"] if with_legs else []
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
        YAML(typ="safe").dump(numbers, file)
        file.flush()
        arguments = {"robot": file.name, "ros2_control": plugin, "controllers": parameters}
        document = xacro.process_file(str(template), mappings=arguments)
    document.documentElement.setAttribute("name", robot.name)
    return str(document.toprettyxml(indent="  "))


def _mimic(robot: Robot, joint: ExtraJoint) -> dict[str, object]:
    """The attributes of the tag <mimic>: position = multiplier * that of the other joint + offset."""
    [other] = (servo for servo in robot.extra_servos if servo.name == joint.mimics)
    multiplier, offset = joint.following(other)
    return {"joint": extra_joint_name(other.name), "multiplier": multiplier, "offset": offset}


def _trunk(robot: Robot) -> Body:
    """The body without what its extra joints turn; with them at rest it has mass and center of mass of the body."""
    body = robot.body
    mass = body.mass
    moment = body.mass * np.array(body.center_of_mass)
    poses = {"base_link": np.eye(4)}
    for extra in robot.extra_joints:
        axis = np.array(extra.axis)
        value = extra.at(extra.rest)
        moved = np.eye(4)
        local = np.eye(4)
        local[:3, :3] = rotation_from_angles(*extra.rpy)
        local[:3, 3] = extra.position
        if extra.slides:
            moved[:3, 3] = value * axis
        else:
            moved[:3, :3] = rotation_about(axis, value)
        local = local @ moved
        poses[extra_link_name(extra.name)] = pose = poses[extra.parent] @ local
        mass -= extra.mass
        moment -= extra.mass * (pose @ (*extra.center, 1.0))[:3]
    if not robot.extra_joints:
        return body
    x, y, z = (moment / mass).tolist()
    return replace(body, mass=mass, center_of_mass=(x, y, z))


def controllers(robot: Robot, hardware: str = TOPICS) -> str:
    """The parameter file of ros2_control for this robot; comments and all other values are preserved.

    Other hardware than TOPICS needs the broadcaster's joint_states. Extra joints have a controller of their own.
    """
    yaml = parser()
    yaml.width = 120
    yaml.indent(mapping=2, sequence=4, offset=2)
    document = parse(read_text(share("config", "ros2_control.yaml")), yaml)
    controller = document[f"/**/{LEG_CONTROLLER}"]["ros__parameters"]
    controller["joints"][:] = joint_names(robot.leg_names)
    document["/**/joint_state_broadcaster"]["ros__parameters"]["use_local_topics"] = hardware == TOPICS
    if HARDWARE[hardware].startswith("gz"):
        _add_position_controller(document, robot)
    if robot.extra_joints:
        known = document["/**/controller_manager"]["ros__parameters"]
        known[EXTRA_CONTROLLER] = known[LEG_CONTROLLER]
        extra = {"joints": [extra_joint_name(joint.name) for joint in robot.extra_servos]}
        own = extra | {key: controller[key] for key in _OF_CONTROLLER}
        document[f"/**/{EXTRA_CONTROLLER}"] = {"ros__parameters": own}
    stream = io.StringIO()
    yaml.dump(document, stream)
    return stream.getvalue()


def _add_position_controller(document: Any, robot: Robot) -> None:
    """Adds the controller through which gazebo_driver moves all joints, at the rate of Gazebo's controllers."""
    manager = document["/**/controller_manager"]["ros__parameters"]
    document["/**/joint_state_broadcaster"]["ros__parameters"]["update_rate"] = manager["update_rate"]
    manager["update_rate"] = GAZEBO_RATE
    manager[POSITION_CONTROLLER] = {"type": "forward_command_controller/ForwardCommandController"}
    joints = [*joint_names(robot.leg_names), *(extra_joint_name(joint.name) for joint in robot.extra_servos)]
    document[f"/**/{POSITION_CONTROLLER}"] = {"ros__parameters": {"joints": joints, "interface_name": "position"}}
