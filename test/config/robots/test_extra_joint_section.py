# SPDX-License-Identifier: Apache-2.0
"""Extra joints of a robot file: the URDF turns them where the file says; a mistake is refused at its line."""

import math
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from ruamel.yaml import YAML
from support.robots.head import PATH, SECTION, TEXT, head

from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots.robot_file import from_text, load
from hexapod_control.config.robots.urdf import EXTRA_CONTROLLER, HARDWARE, controllers, urdf
from hexapod_control.config.robots.urdf_import.reading.urdf_tree import parse_tree

BAD = {  # text, what it is replaced by, the sentence behind the key `extra_joints`
    "a range is missing": (
        "    upper_deg: 90\n",
        "",
        ".pan.upper_deg: is missing, must be in [-180, 180] deg, every key is required",
    ),
    "a range upside down": (
        "lower_deg: 5\n",
        "lower_deg: 65\n",
        ".tilt.lower_deg: is 65, upper_deg is 60, must be at least 10 deg below upper_deg, "
        "are the two swapped, or in radians?",
    ),
    "an axis without direction": (
        "axis: [0, 0, 1]",
        "axis: [0, 0, 0.01]",
        ".pan.axis: is [0, 0, 0.01], must be a direction, e.g. [0, 0, 1] for a joint that pans",
    ),
    "a parent that is no joint": (
        "parent: pan",
        "parent: pen",
        ".tilt.parent: is pen, must be base_link or pan, did you mean pan?",
    ),
    "a parent that is part of a leg": (
        "parent: pan",
        "parent: left_front_tibia",
        ".tilt.parent: is left_front_tibia, must be base_link or pan, "
        "parents stand above their children; nothing can be mounted to a leg",
    ),
    "millimetres": (
        "position: [0.09,",
        "position: [90,",
        ".pan.position[0]: must be in [-2, 2] m, is 90, metres, not millimetres?",
    ),
    "the name of a joint of a leg": (
        "  pan:",
        "  left_front_coxa:",
        ".left_front_coxa: would be called left_front_coxa_joint, which exists, must be another name, e.g. pan",
    ),
    "the name of another link": (
        "  pan:",
        "  imu:",
        ".imu: would be called imu_joint, which exists, must be another name, e.g. pan",
    ),
    "an unknown key": (
        "mass: 0.03",
        "weight: 0.03",
        ".pan.weight: is unknown, known here: parent, position, rpy_deg, axis, lower_deg, upper_deg, size, center, "
        "mass, servo, remove it",
    ),
    "an unknown key of the servo": (
        "{stall_torque: 0.8}",
        "{stall_torqe: 0.8}",
        ".tilt.servo.stall_torqe: is unknown, known here: model, no_load_speed, stall_torque, stiffness, source, "
        "voltage, did you mean stall_torque?",
    ),
    "more than the body": (
        "mass: 0.04",
        "mass: 1.06",
        ": has masses of 1.09 kg together, must be below body.mass, 1.08 kg, body.mass contains them",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_joint_is_refused_with_line_key_value_bound_and_remedy(case):
    old, new, sentence = BAD[case]
    assert old in SECTION
    with pytest.raises(RobotFileError) as refused:
        from_text(PATH, TEXT.replace(SECTION, SECTION.replace(old, new, 1)))
    place, _, rest = str(refused.value).partition(": extra_joints")
    assert rest == sentence
    assert place.startswith(f"{PATH}:") and int(place.rpartition(":")[2]) > TEXT.partition(SECTION)[0].count("\n")


def test_a_joint_has_the_servo_of_the_legs_except_for_what_it_gives_itself():
    robot = head().robot
    pan, tilt = robot.extra_joints
    usual = robot.legs[0].coxa_joint
    assert (pan.joint.stall_torque, pan.joint.no_load_speed) == (usual.stall_torque, usual.no_load_speed)
    assert (tilt.joint.stall_torque, tilt.joint.stiffness) == (0.8, usual.stiffness)
    assert (pan.joint.lower, tilt.rest) == (-math.pi / 2, pytest.approx(math.radians(5.0)))


def rotated(axis, angle, vector):
    """A vector turned by an angle [rad] about a unit axis (Rodrigues)."""
    axis, vector = np.array(axis), np.array(vector)
    across = np.cross(axis, vector)
    return vector * math.cos(angle) + across * math.sin(angle) + axis * (axis @ vector) * (1.0 - math.cos(angle))


def in_base(robot, angles):
    """Where the middle of the box of each extra joint is in base_link [m], worked out from the numbers of the file."""
    by_link = {f"{extra.name}_link": (extra, angle) for extra, angle in zip(robot.extra_joints, angles, strict=True)}
    found = []
    for extra, angle in by_link.values():
        point, link = np.array(extra.center), extra
        while True:
            point = rotated(link.axis, angle, point)
            for axis, turn in zip(np.eye(3), link.rpy, strict=True):  # fixed axes: roll, then pitch, then yaw
                point = rotated(axis, turn, point)
            point = point + link.position
            if link.parent == "base_link":
                break
            link, angle = by_link[link.parent]
        found.append(point)
    return np.array(found)


def test_the_urdf_puts_what_the_joints_turn_where_the_file_does_at_every_angle():
    file = head()
    tree = parse_tree(PATH, urdf(file))
    rng = np.random.default_rng(1)
    for _ in range(20):
        angles = [rng.uniform(extra.joint.lower, extra.joint.upper) for extra in file.robot.extra_joints]
        poses = tree.placements(
            {f"{extra.name}_joint": q for extra, q in zip(file.robot.extra_joints, angles, strict=True)}
        )
        points = [(poses[f"{e.name}_link"] @ (*e.center, 1.0))[:3] for e in file.robot.extra_joints]
        assert np.allclose(points, in_base(file.robot, angles), atol=1e-9)
    for extra in file.robot.extra_joints:
        joint = tree.joints[f"{extra.name}_joint"]
        assert (joint.lower, joint.upper) == (extra.joint.lower, extra.joint.upper)
        assert (joint.effort, joint.velocity) == (extra.joint.stall_torque, extra.joint.no_load_speed)


def test_body_mass_contains_them_so_that_mass_and_center_of_mass_at_rest_are_those_without_extra_joints():
    file, plain = head(), load("phantomx")
    assert file.robot.mass == plain.robot.mass
    links = parse_tree(PATH, urdf(file)).links
    parts = [links["base_link"], links["pan_link"], links["tilt_link"]]
    masses = np.array([part.mass for part in parts])
    points = np.vstack([parts[0].center, in_base(file.robot, [extra.rest for extra in file.robot.extra_joints])])
    assert masses.sum() == pytest.approx(plain.robot.body.mass)
    assert masses @ points / masses.sum() == pytest.approx(plain.robot.body.center_of_mass, abs=1e-12)


@pytest.mark.parametrize("hardware", HARDWARE)
def test_ros2_control_has_a_component_and_a_controller_of_their_own_for_them(hardware):
    """While gait_planner walks, theirs is the only one."""
    file = head()
    names = ["pan_joint", "tilt_joint"]
    systems = ET.fromstring(urdf(file, ros2_control=hardware)).findall("ros2_control")
    (alone,) = ET.fromstring(urdf(file, ros2_control=hardware, walking=True)).findall("ros2_control")
    assert len(systems) == 2 and len({each.get("name") for each in systems}) == 2
    assert {each.findtext("hardware/plugin") for each in (*systems, alone)} == {HARDWARE[hardware]}
    for system in (systems[1], alone):
        assert [joint.get("name") for joint in system.findall("joint")] == names
    topics = [each.findtext("hardware/param[@name='joint_commands_topic']") for each in systems]
    assert topics == (["joint_targets", "extra_joint_targets"] if hardware == "topics" else [None, None])
    parameters = YAML(typ="safe").load(controllers(file.robot, hardware))
    assert parameters[f"/**/{EXTRA_CONTROLLER}"]["ros__parameters"]["joints"] == names
    assert EXTRA_CONTROLLER in parameters["/**/controller_manager"]["ros__parameters"]
    assert names[0] not in parameters["/**/joint_trajectory_controller"]["ros__parameters"]["joints"]
