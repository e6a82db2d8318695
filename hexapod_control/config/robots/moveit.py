# SPDX-License-Identifier: Apache-2.0
"""The package of MoveIt for a robot: SRDF, kinematics, limits, controllers, from the robot file alone.

Groups: one per leg, from base_link to its foot; `legs`, all of them; `extra_joints`; one per foot, its end effector.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
from ruamel.yaml import YAML

from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.config.robots.urdf import EXTRA_CONTROLLER, LEG_CONTROLLER, TOPICS, urdf
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.leg_clearance import LegCapsule, capsules
from hexapod_control.core.kinematics.leg_kinematics import LegJoints
from hexapod_control.core.kinematics.whole_body import standing_joints
from hexapod_control.core.names import JOINTS, extra_joint_name, extra_link_name, foot_name, joint_name, joint_names
from hexapod_control.core.posture.stand_up import lying_joints
from hexapod_control.core.robot import Leg, Robot

BASE = "base_link"
LEGS = "legs"
EXTRA = "extra_joints"
ODOM_JOINT = "odom_joint"
ACCELERATION_TIME_S = 0.2  # from rest to the no-load speed: data sheets of servos have no acceleration
GRID = 25, 13  # angles of the coxa and distances from its axis at which the room of a link is sampled
BODY_POINTS = 9  # along a link
Element = ElementTree.Element


def moveit_files(file: RobotFile) -> dict[str, str]:
    """The files of the package, by their paths in it. It needs the joints of ros2_control.launch.py."""
    name = file.robot.name
    package = f"{name}_moveit_config"
    return {
        "package.xml": _PACKAGE.format(package=package, name=name),
        "CMakeLists.txt": _CMAKE.format(package=package),
        "launch/move_group.launch.py": _LAUNCH.format(package=package, name=name),
        f"config/{name}.urdf": urdf(file, ros2_control=TOPICS),
        f"config/{name}.srdf": srdf(file.robot),
        "config/kinematics.yaml": _yaml(kinematics(file.robot)),
        "config/joint_limits.yaml": _yaml(joint_limits(file.robot)),
        "config/moveit_controllers.yaml": _yaml(moveit_controllers(file.robot)),
    }


def kinematics(robot: Robot) -> dict[str, object]:
    """The solver of each leg: with three joints a foot has a position, and no orientation of its own."""
    solver = {
        "kinematics_solver": "kdl_kinematics_plugin/KDLKinematicsPlugin",
        "kinematics_solver_search_resolution": 0.005,
        "kinematics_solver_timeout": 0.05,
        "position_only_ik": True,
    }
    return {leg.name: dict(solver) for leg in robot.legs}


def joint_limits(robot: Robot) -> dict[str, object]:
    """Speeds and accelerations [rad/s, rad/s^2], of joints that slide [m/s, m/s^2]; ranges are those of the URDF."""
    return {
        "default_velocity_scaling_factor": 0.5,
        "default_acceleration_scaling_factor": 0.5,
        "joint_limits": {
            name: {
                "has_velocity_limits": True,
                "max_velocity": speed,
                "has_acceleration_limits": True,
                "max_acceleration": speed / ACCELERATION_TIME_S,
            }
            for name, speed in _top_speeds(robot)
        },
    }


def moveit_controllers(robot: Robot) -> dict[str, object]:
    """The controllers of ros2_control.launch.py."""
    rows = {LEG_CONTROLLER: list(joint_names(robot.leg_names))}
    if robot.extra_joints:
        rows[EXTRA_CONTROLLER] = [extra_joint_name(extra.name) for extra in robot.extra_servos]
    kind = {"type": "FollowJointTrajectory", "action_ns": "follow_joint_trajectory", "default": True}
    return {
        "moveit_controller_manager": "moveit_simple_controller_manager/MoveItSimpleControllerManager",
        "moveit_simple_controller_manager": {
            "controller_names": list(rows),
            **{name: {**kind, "joints": joints} for name, joints in rows.items()},
        },
    }


def _top_speeds(robot: Robot) -> Iterator[tuple[str, float]]:
    for leg in robot.legs:
        for key, joint in zip(JOINTS, leg.joints, strict=True):
            yield joint_name(leg.name, key), joint.no_load_speed
    yield from ((extra_joint_name(extra.name), extra.top_speed) for extra in robot.extra_servos)


def srdf(robot: Robot) -> str:
    """The semantic description of the URDF."""
    root = Element("robot", name=robot.name)
    for leg in robot.legs:
        _add(_add(root, "group", name=leg.name), "chain", base_link=BASE, tip_link=foot_name(leg.name))
    for leg in robot.legs:
        _add(_add(root, "group", name=foot_name(leg.name)), "link", name=foot_name(leg.name))
    everything = _add(root, "group", name=LEGS)
    for leg in robot.legs:
        _add(everything, "group", name=leg.name)
    if robot.extra_joints:
        group = _add(root, "group", name=EXTRA)
        for extra in robot.extra_joints:
            _add(group, "joint", name=extra_joint_name(extra.name))
    for pose, joints in (("standing", standing_joints(robot)), ("lying", lying_joints(robot))):
        state = _add(root, "group_state", name=pose, group=LEGS)
        for name, angle in zip(joint_names(robot.leg_names), np.ravel(joints).tolist(), strict=True):
            _add(state, "joint", name=name, value=f"{angle:.6f}")
    for leg in robot.legs:
        foot = foot_name(leg.name)
        _add(root, "end_effector", name=foot, parent_link=foot, group=foot, parent_group=leg.name)
    _add(root, "virtual_joint", name=ODOM_JOINT, type="floating", parent_frame="odom", child_link=BASE)
    for (first, second), reason in sorted(disabled_collisions(robot).items()):
        _add(root, "disable_collisions", link1=first, link2=second, reason=reason)
    ElementTree.indent(root)
    return f'<?xml version="1.0"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _add(parent: Element, tag: str, **attributes: str) -> Element:
    return ElementTree.SubElement(parent, tag, attributes)


def disabled_collisions(robot: Robot) -> dict[tuple[str, str], str]:
    """Pairs of links that MoveIt need not check, and why.

    Adjacent: joined. Default: a leg that touches the box of the body in a posture of every day: its shape is simpler
    than the real one. Never: the rooms in which two links move do not overlap, seen from above.
    """
    found: dict[tuple[str, str], str] = {}
    for leg in robot.legs:
        chain = [BASE, *(f"{leg.name}_{link}" for link in JOINTS), foot_name(leg.name)]
        found |= dict.fromkeys(pairwise(chain), "Adjacent")
        # a coxa has no shape: the femur turns where it joins the body
        found[BASE, f"{leg.name}_femur"] = "Adjacent"
    found |= {(extra.parent, extra_link_name(extra.name)): "Adjacent" for extra in robot.extra_joints}
    for joints in (standing_joints(robot), lying_joints(robot)):
        found |= {pair: "Default" for pair in _touching_body(robot, joints) if pair not in found}
    rooms = [(leg.name, room) for leg in robot.legs for room in _rooms(robot, leg)]
    for (one, first), (other, second) in combinations(rooms, 2):
        if one != other and first.apart(second):
            found[first.link, second.link] = "Never"
    return {(min(pair), max(pair)): reason for pair, reason in found.items()}


def _touching_body(robot: Robot, joints: Sequence[LegJoints]) -> Iterator[tuple[str, str]]:
    for row, leg in enumerate(robot.legs):
        for link, part in zip(("tibia", "femur"), capsules(robot, row, joints[row]), strict=True):
            if _depth(robot, part) < 0.0:
                yield BASE, f"{leg.name}_{link}"


def _depth(robot: Robot, part: LegCapsule) -> float:
    """Distance [m] of a capsule from the box of the body; negative where it is inside."""
    points = np.linspace(part.start, part.end, BODY_POINTS)
    beyond = np.abs(points - robot.body.center) - np.array(robot.body.size) / 2.0
    outside = np.linalg.norm(np.maximum(beyond, 0.0), axis=-1) + np.minimum(beyond.max(-1), 0.0)
    return float(outside.min()) - part.radius


class _Room(NamedTuple):
    """Where a link can be, seen from above: every point of its axis is within `cover` of one of the points."""

    link: str
    points: Array  # (k, 2) [m] in base_link
    cover: float  # [m]
    radius: float  # [m] of the link about its axis

    def apart(self, other: _Room) -> bool:
        """Whether the two never overlap."""
        between = np.linalg.norm(self.points[:, None] - other.points, axis=-1).min()
        return bool(between > self.cover + self.radius + other.cover + other.radius)


def _rooms(robot: Robot, leg: Leg) -> Iterator[_Room]:
    """The rooms of femur, tibia and foot.

    With an upright coxa axis a link stays in a plane through that axis, or beside it by the lateral offset, at
    distances from it that follow from the ranges of femur and tibia. With a tilted one it is within its reach.
    """
    femur, tibia = leg.femur_joint, leg.tibia_joint
    first = _cosines(femur.lower, femur.upper)
    second = _cosines(femur.lower + tibia.lower, femur.upper + tibia.upper)
    knee = [leg.coxa.length + leg.femur.length * c for c in first]
    foot = [near + leg.tibia.length * c for near, c in zip(knee, second, strict=True)]
    spans = {
        f"{leg.name}_femur": (min(leg.coxa.length, knee[0]), max(leg.coxa.length, knee[1]), leg.femur.radius),
        f"{leg.name}_tibia": (min(knee[0], foot[0]), max(knee[1], foot[1]), leg.tibia.radius),
        foot_name(leg.name): (foot[0], foot[1], robot.foot_radius),
    }
    turn = leg.coxa_joint.lower, leg.coxa_joint.upper
    lateral = leg.femur_lateral
    if leg.rotation is not None:
        reach = leg.length + abs(leg.femur_lateral) + abs(leg.femur_vertical)
        spans = {link: (0.0, reach, radius) for link, (*_, radius) in spans.items()}
        turn = (-math.pi, math.pi)
        lateral = 0.0
    for link, (near, far, radius) in spans.items():
        angles, angle_step = np.linspace(*turn, GRID[0], retstep=True)
        distances, distance_step = np.linspace(near, far, GRID[1], retstep=True)
        r, yaw = (grid.ravel() for grid in np.meshgrid(distances, angles + leg.hip_yaw))
        x = leg.hip[0] + r * np.cos(yaw) - lateral * np.sin(yaw)
        y = leg.hip[1] + r * np.sin(yaw) + lateral * np.cos(yaw)
        widest = math.hypot(max(abs(near), abs(far)), lateral)
        cover = (float(distance_step) + widest * float(angle_step)) / 2.0
        yield _Room(link, np.column_stack([x, y]), cover, radius)


def _cosines(lower: float, upper: float) -> tuple[float, float]:
    """Smallest and greatest cosine of the angles [rad] of an interval."""
    ends = math.cos(lower), math.cos(upper)
    turns = [math.ceil(lower / math.pi) + k for k in range(8) if (math.ceil(lower / math.pi) + k) * math.pi <= upper]
    inside = [1.0 if k % 2 == 0 else -1.0 for k in turns]
    return min(*ends, *inside), max(*ends, *inside)


def _yaml(values: Mapping[str, object]) -> str:
    stream = io.StringIO()
    YAML().dump(dict(values), stream)
    return stream.getvalue()


_PACKAGE = """<?xml version="1.0"?>
<package format="3">
  <name>{package}</name>
  <version>0.0.1</version>
  <description>MoveIt for {name}, generated by hexapod urdf --moveit</description>
  <maintainer email="you@example.org">you</maintainer>
  <license>Apache-2.0</license>
  <buildtool_depend>ament_cmake</buildtool_depend>
  <exec_depend>hexapod_control</exec_depend>
  <exec_depend>moveit_configs_utils</exec_depend>
  <exec_depend>moveit_kinematics</exec_depend>
  <exec_depend>moveit_planners</exec_depend>
  <exec_depend>moveit_ros_move_group</exec_depend>
  <exec_depend>moveit_simple_controller_manager</exec_depend>
  <export>
    <build_type>ament_cmake</build_type>
  </export>
</package>
"""
_CMAKE = """cmake_minimum_required(VERSION 3.22)
project({package})
find_package(ament_cmake REQUIRED)
ament_package()
install(DIRECTORY config launch DESTINATION share/${{PROJECT_NAME}})
"""
_LAUNCH = '''"""Launches MoveIt for the joints that ros2_control.launch.py of hexapod_control brings up."""

from moveit_configs_utils import MoveItConfigsBuilder
from moveit_configs_utils.launches import generate_move_group_launch


def generate_launch_description():
    return generate_move_group_launch(MoveItConfigsBuilder("{name}", package_name="{package}").to_moveit_configs())
'''
