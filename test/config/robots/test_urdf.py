# SPDX-License-Identifier: Apache-2.0
"""The URDF has the kinematics and masses of the robot file, and a physics engine loads it.

The forward kinematics here is worked out from the XML alone.
"""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray
from ruamel.yaml import YAML
from support.suite.soak import some

from hexapod_control.cli.main import main
from hexapod_control.config.robots.robot_file import RobotFile, known_robots, load
from hexapod_control.config.robots.urdf import HARDWARE, controllers, urdf
from hexapod_control.config.shipped_files import share
from hexapod_control.core import names as names
from hexapod_control.core.kinematics.leg_kinematics import forward, inverse
from hexapod_control.core.robot import Robot

Matrix = NDArray[np.float64]
FEW_ROBOTS = ("article_offset", "phantomx")  # with offsets in its legs, and without
ASYMMETRIC = {  # text of phantomx.yaml -> text of a robot with a bent hip, a long tibia and offsets
    "lateral_offset: 0.0 ": "lateral_offset: 0.007 ",
    "vertical_offset: 0.0 ": "vertical_offset: -0.004 ",
    "left_middle: {hip: [0.0, 0.1034, 0.0], yaw_deg: 90.0,": (
        "left_middle: {tibia: {length: 0.141, mass: 0.07}, hip: [0.01, 0.11, 0.003], yaw_deg: 84.3,"
    ),
    "right_rear: {hip": (
        "right_rear: {femur: {lateral_offset: -1.1e-2}, coxa: {length: 6e-2},"
        " joints: {tibia: {upper_deg: 1e-1}}, servo: {stall_torque: 2.5}, hip"
    ),
}


def asymmetric(folder: Path) -> Path:
    """A robot whose legs differ, edited from phantomx."""
    text = share("config", "robots", "phantomx.yaml").read_text()
    for old, new in ASYMMETRIC.items():
        assert old in text
        text = text.replace(old, new)
    path = folder / "asymmetric.yaml"
    path.write_text(text)
    return path


def four_legs(folder: Path) -> Path:
    """A robot with four legs that have other names."""
    lines = share("config", "robots", "phantomx.yaml").read_text().splitlines()
    text = "\n".join(line for line in lines if "_middle:" not in line)
    path = folder / "four_legs.yaml"
    path.write_text(text.replace("gait: tripod", "gait: crawl").replace("  left_front:", "  bow_a:"))
    return path


@pytest.fixture(
    scope="module",
    params=[*some(known_robots(), *FEW_ROBOTS), asymmetric, four_legs],
    ids=lambda p: getattr(p, "__name__", p),
)
def robot_file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> RobotFile:
    """Every robot of the package and two robots of this test."""
    source: str | Callable[[Path], Path] = request.param
    return load(source if isinstance(source, str) else source(tmp_path_factory.mktemp("robot")))


@pytest.fixture(scope="module")
def text(robot_file: RobotFile) -> str:
    """The URDF."""
    return urdf(robot_file)


@pytest.fixture(scope="module")
def tagged(robot_file: RobotFile) -> str:
    """The URDF with ros2_control tags."""
    return urdf(robot_file, ros2_control="topics")


@pytest.fixture(scope="module")
def tree(text: str) -> ET.Element:
    """The parsed URDF; the tests do not change it."""
    return ET.fromstring(text)


def numbers(element: ET.Element | None, attribute: str) -> Matrix:
    """The numbers of an attribute, zeros if it is absent."""
    text = None if element is None else element.get(attribute)
    return np.array([float(part) for part in (text or "0 0 0").split()])


def rotation(axis: Matrix, angle: Matrix | float) -> Matrix:
    """Rotation matrices (..., 3, 3) for angles (...) [rad], by Rodrigues' formula."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    angle = np.asarray(angle)[..., None, None]
    return np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross


def placed(matrix: Matrix, xyz: Matrix) -> Matrix:
    """Homogeneous transforms (..., 4, 4) of rotations (..., 3, 3) and a translation."""
    transform = np.zeros((*matrix.shape[:-2], 4, 4))
    transform[..., :3, :3], transform[..., :3, 3], transform[..., 3, 3] = matrix, xyz, 1.0
    return transform


def link_pose(tree: ET.Element, link: str, angles: dict[str, Matrix]) -> Matrix:
    """Poses (..., 4, 4) of a link in base_link for joint angles (...) [rad], by the chain of joints up to the root."""
    pose = np.eye(4)
    parents = {joint.find("child").get("link"): joint for joint in tree.findall("joint")}
    while link in parents:
        joint = parents[link]
        origin, axis = joint.find("origin"), joint.find("axis")
        roll, pitch, yaw = numbers(origin, "rpy")
        fixed = rotation(np.array([0.0, 0.0, 1.0]), yaw) @ rotation(np.array([0.0, 1.0, 0.0]), pitch)
        fixed = fixed @ rotation(np.array([1.0, 0.0, 0.0]), roll)
        turn = np.eye(3) if axis is None else rotation(numbers(axis, "xyz"), angles[joint.get("name")])
        pose = placed(fixed @ turn, numbers(origin, "xyz")) @ pose
        link = joint.find("parent").get("link")
    return pose


def random_joints(robot: Robot, seed: int, rows: int) -> Matrix:
    """Joint angles (rows, n, 3) [rad] anywhere within the limits."""
    lower = np.array([[joint.lower for joint in leg.joints] for leg in robot.legs])
    upper = np.array([[joint.upper for joint in leg.joints] for leg in robot.legs])
    return np.random.default_rng(seed).uniform(lower, upper, (rows, len(robot.legs), 3))


def test_urdf_feet_match_the_forward_kinematics_at_random_angles(robot_file: RobotFile, tree: ET.Element) -> None:
    robot = robot_file.robot
    joint_names = names.joint_names(robot.leg_names)
    rows = random_joints(robot, seed=7, rows=200)
    angles = dict(zip(joint_names, rows.reshape(len(rows), -1).T, strict=True))
    feet = np.stack([link_pose(tree, names.foot_name(leg), angles)[:, :3, 3] for leg in robot.leg_names], axis=1)
    np.testing.assert_allclose(feet, [forward(robot, joints) for joints in rows], rtol=0.0, atol=1e-12)


def test_urdf_joints_have_the_limits_and_the_servo_of_their_leg(robot_file: RobotFile, tree: ET.Element) -> None:
    limits = {joint.get("name"): joint.find("limit") for joint in tree.findall("joint")}
    for leg in robot_file.robot.legs:
        for part, joint in zip(names.JOINTS, leg.joints, strict=True):
            limit = limits[names.joint_name(leg.name, part)]
            read = [float(limit.get(key)) for key in ("lower", "upper", "effort", "velocity")]
            assert read == [joint.lower, joint.upper, joint.stall_torque, joint.no_load_speed]


def test_masses_add_up_and_lie_halfway_along_each_segment(robot_file: RobotFile, tree: ET.Element) -> None:
    robot = robot_file.robot
    inertials = {link.get("name"): link.find("inertial") for link in tree.findall("link")}
    mass = {name: 0.0 if i is None else float(i.find("mass").get("value")) for name, i in inertials.items()}
    x = {name: 0.0 if i is None else numbers(i.find("origin"), "xyz")[0] for name, i in inertials.items()}
    assert sum(mass.values()) == pytest.approx(robot.mass, rel=1e-12)
    for leg in robot.legs:
        for part, segment in (("coxa", leg.coxa), ("femur", leg.femur)):
            assert mass[f"{leg.name}_{part}"] == pytest.approx(segment.mass, rel=1e-12)
            assert x[f"{leg.name}_{part}"] == pytest.approx(segment.length / 2, rel=1e-12)
        tibia, foot = f"{leg.name}_tibia", names.foot_name(leg.name)
        assert mass[tibia] + mass[foot] == pytest.approx(leg.tibia.mass, rel=1e-12)
        moment = mass[tibia] * x[tibia] + mass[foot] * leg.tibia.length
        assert moment / leg.tibia.mass == pytest.approx(leg.tibia.length / 2, rel=1e-12)


def test_inertias_are_positive_definite_and_physical(tree: ET.Element) -> None:
    for inertia in tree.iter("inertia"):
        xx, yy, zz = (float(inertia.get(key)) for key in ("ixx", "iyy", "izz"))
        assert min(xx, yy, zz) > 0.0
        assert xx <= yy + zz and yy <= xx + zz and zz <= xx + yy


def test_mujoco_loads_the_urdf_with_all_links_and_the_same_mass(robot_file: RobotFile, text: str) -> None:
    spec = mujoco.MjSpec.from_string(text)
    spec.compiler.fusestatic = False
    spec.body("base_link").add_freejoint()
    model = spec.compile()
    robot = robot_file.robot
    assert model.body_mass.sum() == pytest.approx(robot.mass, rel=1e-9)
    assert model.njnt == 1 + 3 * len(robot.legs)
    for name in ("base_link", "imu_link", *map(names.foot_name, robot.leg_names)):
        assert model.body(name).id > 0


def test_in_the_neutral_stance_nothing_but_the_balls_is_within_reach_of_the_ground(
    robot_file: RobotFile, text: str
) -> None:
    spec = mujoco.MjSpec.from_string(text)
    spec.compiler.fusestatic = False
    spec.body("base_link").add_freejoint()
    spec.worldbody.add_geom(name="ground", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[2.0, 2.0, 0.1])
    model = spec.compile()
    data = mujoco.MjData(model)
    robot = robot_file.robot
    data.qpos[2] = robot.walk.height - 1e-4  # pressed 0.1 mm into the ground, so that touching shows
    for leg, row in zip(robot.legs, neutral_joints(robot), strict=True):
        for part, angle in zip(names.JOINTS, row, strict=True):
            data.joint(names.joint_name(leg.name, part)).qpos[0] = angle
    mujoco.mj_forward(model, data)
    pairs = {tuple(sorted(model.body(model.geom_bodyid[g]).name for g in c.geom)) for c in data.contact}
    assert pairs == {tuple(sorted(("world", names.foot_name(leg)))) for leg in robot.leg_names}


def neutral_joints(robot: Robot) -> Matrix:
    """Joints (n, 3) [rad] of the neutral stance."""
    feet = np.array([[*leg.foothold, robot.foot_radius - robot.walk.height] for leg in robot.legs])
    return inverse(robot, feet, np.zeros((len(robot.legs), 3))).joints


def test_the_template_gets_the_checked_numbers_and_not_the_text_of_the_file(tmp_path: Path) -> None:
    text = share("config", "robots", "phantomx.yaml").read_text()
    changes = {"lateral_offset: 0.0 ": "lateral_offset: 1e-300 ", "yaw_deg: 45.0,": "yaw_deg: -315.0,"}
    for old, new in {**changes, "length: 0.052 ": "length: 0 "}.items():
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "phantomx.yaml"
    path.write_text(text)
    tree = ET.fromstring(urdf(load(path)))
    turned = numbers(tree.find("joint[@name='left_front_coxa_joint']/origin"), "rpy")
    assert turned == pytest.approx([0.0, 0.0, np.pi / 4])
    assert numbers(tree.find("joint[@name='left_front_femur_joint']/origin"), "xyz") == pytest.approx([1e-7, 0.0, 0.0])


def test_the_tags_of_ros2_control_name_every_joint_once_with_the_limits_of_the_file(
    robot_file: RobotFile, tagged: str
) -> None:
    (system,) = ET.fromstring(tagged).findall("ros2_control")
    parameters = {param.get("name"): param.text for param in system.find("hardware").findall("param")}
    assert (parameters["joint_commands_topic"], parameters["joint_states_topic"]) == ("joint_targets", "joint_states")
    joints = [joint for leg in robot_file.robot.legs for joint in leg.joints]
    tags = system.findall("joint")
    assert [tag.get("name") for tag in tags] == list(names.joint_names(robot_file.robot.leg_names))
    for tag, joint in zip(tags, joints, strict=True):
        (command,) = tag.findall("command_interface")
        limits = {param.get("name"): float(param.text) for param in command.findall("param")}
        assert command.get("name") == "position" and limits == {"min": joint.lower, "max": joint.upper}
        assert [state.get("name") for state in tag.findall("state_interface")] == ["position", "velocity"]


@pytest.mark.parametrize(("hardware", "plugin"), HARDWARE.items())
def test_other_hardware_has_its_plugin_the_same_joints_and_joint_states_from_the_broadcaster(
    robot_file: RobotFile, tagged: str, hardware: str, plugin: str
) -> None:
    tree = ET.fromstring(urdf(robot_file, ros2_control=hardware))
    (system,) = tree.findall("ros2_control")
    assert system.findtext("hardware/plugin") == plugin
    same = ET.fromstring(tagged).findall("ros2_control/joint")
    starts = system.findall("joint/state_interface/param")  # Gazebo has to know where the robot lies
    assert len(starts) == (3 * len(robot_file.robot.legs) if hardware == "gazebo" else 0)
    for state in system.findall("joint/state_interface"):
        state.clear()
    for state in (states := [each for joint in same for each in joint.findall("state_interface")]):
        state.clear()
    assert len(states) == len(system.findall("joint/state_interface"))
    assert list(map(ET.tostring, system.findall("joint"))) == list(map(ET.tostring, same))
    assert (tree.find("gazebo/plugin/parameters") is not None) == (hardware == "gazebo")
    parameters = YAML(typ="safe").load(controllers(robot_file.robot, hardware))["/**/joint_state_broadcaster"]
    assert parameters["ros__parameters"]["use_local_topics"] is (hardware == "topics")


def test_the_tags_of_ros2_control_change_nothing_else(text: str, tagged: str) -> None:
    without, count = re.subn(r"  <ros2_control .*?</ros2_control>\n", "", tagged, flags=re.DOTALL)
    assert count == 1 and without == text
    model, same = (mujoco.MjSpec.from_string(each).to_xml() for each in (tagged, text))
    assert model == same


def test_the_controllers_are_those_of_the_shipped_file_with_the_joints_of_the_robot(robot_file: RobotFile) -> None:
    shipped = share("config", "ros2_control.yaml").read_text(encoding="utf-8")
    assert controllers(load("phantomx").robot) == shipped
    found, others = (YAML(typ="safe").load(text) for text in (controllers(robot_file.robot), shipped))
    joints = found["/**/joint_trajectory_controller"]["ros__parameters"].pop("joints")
    assert joints == list(names.joint_names(robot_file.robot.leg_names))
    del others["/**/joint_trajectory_controller"]["ros__parameters"]["joints"]
    assert found == others


@pytest.mark.process
def test_the_command_prints_the_urdf_and_nothing_else() -> None:
    words = [sys.executable, "-m", "hexapod_control.cli.main", "urdf", "--robot", "phantomx"]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ET.fromstring(ended.stdout).get("name") == "phantomx"


def test_the_command_refuses_a_bad_file_with_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("name: [")
    assert main(["urdf", "--robot", str(bad)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"{bad}:") and printed.err.count("\n") == 1
