# SPDX-License-Identifier: Apache-2.0
"""Extra joints of a robot file: the URDF turns them where the file says; a mistake is refused at its line."""

import math
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from ruamel.yaml import YAML
from support.robots.head import GRIPPER, PATH, PLAIN, SECTION, TEXT, gripper, head

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
        ".pan.weight: is unknown, known here: parent, position, rpy_deg, type, mimic, axis, size, center, mass, "
        "lower_deg, upper_deg, servo, remove it",
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


BAD_GRIPPER = {
    "degrees of a joint that slides": (
        "    lower: 0.002\n",
        "    lower_deg: 0\n",
        ".left_finger.lower_deg: is unknown, known here: parent, position, rpy_deg, type, mimic, axis, size, center, "
        "mass, lower, upper, travel_per_turn, servo, did you mean lower?",
    ),
    "no travel": (
        "    travel_per_turn: 0.05\n",
        "",
        ".left_finger.travel_per_turn: is missing, must be in [0.0001, 2] m, every key is required",
    ),
    "a range beyond that of a servo": (
        "travel_per_turn: 0.05",
        "travel_per_turn: 0.02",
        ".left_finger.travel_per_turn: needs 36 to 360 deg of the servo for its range, must be reached within 180 deg "
        "to either side, its way in metres per turn of the servo",
    ),
    "a slide upside down": (
        "lower: 0.002",
        "lower: 0.03",
        ".left_finger.lower: is 0.03, upper is 0.02, must be at least 0.00138889 m below upper, are the two swapped?",
    ),
    "a master that does not exist": (
        "mimic: left_finger\n    multiplier: -1.5",
        "mimic: left_fingr\n    multiplier: -1.5",
        ".right_finger.mimic: is left_fingr, must be wrist or left_finger, did you mean left_finger?",
    ),
    "a master without a servo": (
        "mimic: left_finger\n    multiplier: 20",
        "mimic: right_finger\n    multiplier: 20",
        ".tip.mimic: is right_finger, must be wrist or left_finger, did you mean left_finger?",
    ),
    "a mimic joint that stands still": (
        "multiplier: 20",
        "multiplier: 0",
        ".tip.multiplier: is 0, must not be 0, -1 moves it the other way",
    ),
    "a mimic joint with a servo": (
        "    offset: -0.001",
        "    servo: {stall_torque: 1.0}",
        ".right_finger.servo: is unknown, known here: parent, position, rpy_deg, type, mimic, axis, size, center, "
        "mass, multiplier, offset, remove it",
    ),
    "another type": (
        "type: prismatic\n    parent",
        "type: linear\n    parent",
        '.left_finger.type: is "linear", must be one of revolute, prismatic, as in a URDF',
    ),
}


@pytest.mark.parametrize("case", BAD_GRIPPER)
def test_a_bad_joint_that_slides_or_mimics_is_refused(case):
    old, new, sentence = BAD_GRIPPER[case]
    assert old in GRIPPER
    with pytest.raises(RobotFileError) as refused:
        from_text(PATH, PLAIN + GRIPPER.replace(old, new, 1))
    assert str(refused.value).partition(": extra_joints")[2] == sentence


def rotated(axis, angle, vector):
    """A vector turned by an angle [rad] about a unit axis (Rodrigues)."""
    axis, vector = np.array(axis), np.array(vector)
    across = np.cross(axis, vector)
    return vector * math.cos(angle) + across * math.sin(angle) + axis * (axis @ vector) * (1.0 - math.cos(angle))


def in_base(robot, at):
    """Where the middle of the box of each extra joint is in base_link [m], worked out from the numbers of the file.

    `at`: joint positions [rad] or [m] by name.
    """
    by_link = {f"{extra.name}_link": extra for extra in robot.extra_joints}
    found = []
    for extra in by_link.values():
        point, link = np.array(extra.center), extra
        while True:
            value = at[link.name]
            point = point + value * np.array(link.axis) if link.slides else rotated(link.axis, value, point)
            for axis, turn in zip(np.eye(3), link.rpy, strict=True):  # fixed axes: roll, then pitch, then yaw
                point = rotated(axis, turn, point)
            point = point + link.position
            if link.parent == "base_link":
                break
            link = by_link[link.parent]
        found.append(point)
    return np.array(found)


def with_followers(robot, at):
    """The positions of all extra joints, of those with a servo: by the words of the file."""
    if any(extra.name == "tip" for extra in robot.extra_joints):
        finger = at["left_finger"]
        at = {**at, "right_finger": -1.5 * finger - 0.001, "tip": 20.0 * finger + math.radians(5.0)}
    return at


def at_rest(robot):
    return with_followers(robot, {extra.name: extra.at(extra.rest) for extra in robot.extra_servos})


@pytest.mark.parametrize("make", [head, gripper])
def test_the_urdf_puts_what_the_joints_move_where_the_file_does_at_every_angle(make):
    file = make()
    tree = parse_tree(PATH, urdf(file))
    rng = np.random.default_rng(1)
    for _ in range(20):
        at = {extra.name: rng.uniform(*extra.limits) for extra in file.robot.extra_servos}
        poses = tree.placements({f"{name}_joint": value for name, value in at.items()})
        points = [(poses[f"{e.name}_link"] @ (*e.center, 1.0))[:3] for e in file.robot.extra_joints]
        full = with_followers(file.robot, at)
        assert np.allclose(points, in_base(file.robot, full), atol=1e-9)
        for extra in file.robot.extra_joints:
            joint = tree.joints[f"{extra.name}_joint"]
            assert joint.lower - 1e-9 <= full[extra.name] <= joint.upper + 1e-9
    for extra in file.robot.extra_servos:
        joint = tree.joints[f"{extra.name}_joint"]
        assert joint.effort * joint.velocity == pytest.approx(extra.joint.stall_torque * extra.joint.no_load_speed)


def test_a_finger_has_the_limits_of_the_file_and_the_force_and_speed_of_its_servo_on_the_rack():
    joints = parse_tree(PATH, urdf(gripper())).joints
    finger, radius = joints["left_finger_joint"], 0.05 / (2.0 * math.pi)
    servo = load("phantomx").robot.legs[0].coxa_joint
    assert (finger.kind, finger.lower, finger.upper) == ("prismatic", pytest.approx(0.002), pytest.approx(0.02))
    assert finger.effort == pytest.approx(servo.stall_torque / radius)
    assert finger.velocity == pytest.approx(servo.no_load_speed * radius)
    assert joints["right_finger_joint"].lower == pytest.approx(-1.5 * 0.02 - 0.001)
    assert joints["tip_joint"].mimic == "left_finger_joint" and joints["tip_joint"].kind == "revolute"


@pytest.mark.parametrize("make", [head, gripper])
def test_body_mass_contains_them_so_that_mass_and_center_of_mass_at_rest_are_those_without_extra_joints(make):
    file, plain = make(), load("phantomx")
    assert file.robot.mass == plain.robot.mass
    links = parse_tree(PATH, urdf(file)).links
    parts = [links["base_link"], *(links[f"{extra.name}_link"] for extra in file.robot.extra_joints)]
    masses = np.array([part.mass for part in parts])
    points = np.vstack([parts[0].center, in_base(file.robot, at_rest(file.robot))])
    assert masses.sum() == pytest.approx(plain.robot.body.mass)
    assert masses @ points / masses.sum() == pytest.approx(plain.robot.body.center_of_mass, abs=1e-12)


@pytest.mark.parametrize("hardware", HARDWARE)
def test_a_joint_that_mimics_has_states_in_ros2_control_but_no_command(hardware):
    file = gripper()
    *_, system = ET.fromstring(urdf(file, ros2_control=hardware)).findall("ros2_control")
    commanded = {j.get("name"): len(j.findall("command_interface")) for j in system.findall("joint")}
    assert commanded == {"wrist_joint": 1, "left_finger_joint": 1, "right_finger_joint": 0, "tip_joint": 0}
    assert all(len(joint.findall("state_interface")) == 2 for joint in system.findall("joint"))
    parameters = YAML(typ="safe").load(controllers(file.robot, hardware))
    assert parameters[f"/**/{EXTRA_CONTROLLER}"]["ros__parameters"]["joints"] == ["wrist_joint", "left_finger_joint"]


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
