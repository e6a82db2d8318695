# SPDX-License-Identifier: Apache-2.0
"""The package of MoveIt: its SRDF names what the URDF has, and no disabled pair of links ever collides."""

import ast
import xml.etree.ElementTree as ET
from pathlib import Path

import mujoco
import numpy as np
import pytest
from ruamel.yaml import YAML
from support.robots.head import gripper, head
from support.suite.soak import some

from hexapod_control.cli.main import main
from hexapod_control.config.robots.moveit import BASE, ODOM_JOINT, disabled_collisions, moveit_files, srdf
from hexapod_control.config.robots.robot_file import from_text, known_robots, load
from hexapod_control.config.robots.urdf import controllers, urdf
from hexapod_control.config.robots.urdf_import.reading.urdf_tree import parse_tree
from hexapod_control.config.shipped_files import share
from hexapod_control.core.names import foot_name, joint_names

SAMPLES = 400
SECTION_ENDS = ("group", "group_state", "end_effector", "virtual_joint", "disable_collisions")
TILTED = (
    share("config", "robots", "phantomx.yaml")
    .read_text()
    .replace("yaw_deg: 45.0,", "yaw_deg: 45.0, tilt_deg: [12, -20],")
)


def tilted():
    return from_text(Path("/tilted.yaml"), TILTED)


@pytest.fixture(
    scope="module",
    params=[*some(known_robots(), "phantomx", "quadruped", "octopod"), head, gripper, tilted],
    ids=lambda p: getattr(p, "__name__", p),
)
def file(request):
    return request.param() if callable(request.param) else load(request.param)


@pytest.fixture(scope="module")
def tree(file):
    return parse_tree(file.path, urdf(file))


@pytest.fixture(scope="module")
def semantics(file):
    return ET.fromstring(srdf(file.robot))


def groups(semantics):
    return {group.get("name"): group for group in semantics.findall("group")}


def test_every_name_is_one_of_the_urdf_and_the_robot_is_the_same(file, tree, semantics):
    assert semantics.get("name") == ET.fromstring(urdf(file)).get("name")
    assert {each.tag for each in semantics} <= set(SECTION_ENDS)
    links = [
        each.get(key) for each in semantics.iter() for key in ("base_link", "tip_link", "link1", "link2", "child_link")
    ]
    links += [each.get("name") for each in semantics.iter("link")]
    links += [each.get("parent_link") for each in semantics.iter("end_effector")]
    assert set(filter(None, links)) <= set(tree.links)
    assert {each.get("name") for each in semantics.iter("joint")} <= set(tree.joints)
    assert semantics.find("virtual_joint").get("name") == ODOM_JOINT not in tree.joints
    assert semantics.find("virtual_joint").get("child_link") == tree.root


def test_the_chain_of_each_leg_goes_from_the_body_over_its_three_joints_to_its_foot(file, tree, semantics):
    by_child = {joint.child: joint for joint in tree.joints.values()}
    for leg in file.robot.legs:
        chain = groups(semantics)[leg.name].find("chain")
        link, driven = chain.get("tip_link"), []
        assert link == foot_name(leg.name)
        while link != chain.get("base_link"):
            joint = by_child[link]
            driven += [joint.name] if joint.turns else []
            link = joint.parent
        assert link == BASE and driven == list(reversed(joint_names([leg.name])))
    together = {each.get("name") for each in groups(semantics)["legs"]}
    assert together == set(file.robot.leg_names)


def test_the_end_effector_of_each_leg_is_its_foot_at_the_end_of_its_group(file, semantics):
    found = {each.get("name"): each for each in semantics.findall("end_effector")}
    assert set(found) == {foot_name(leg) for leg in file.robot.leg_names}
    for leg in file.robot.leg_names:
        each = found[foot_name(leg)]
        group = groups(semantics)[each.get("group")]
        assert (each.get("parent_group"), each.get("parent_link")) == (leg, foot_name(leg))
        assert [link.get("name") for link in group] == [foot_name(leg)] and each.get("group") != leg


def test_every_posture_has_all_joints_of_the_legs_within_their_limits(file, tree, semantics):
    names = set(joint_names(file.robot.leg_names))
    for state in semantics.findall("group_state"):
        values = {joint.get("name"): float(joint.get("value")) for joint in state}
        assert set(values) == names
        for name, value in values.items():
            assert tree.joints[name].lower - 1e-5 <= value <= tree.joints[name].upper + 1e-5


def test_joined_links_are_not_checked_and_each_pair_is_there_once(file, tree, semantics):
    pairs = [frozenset((each.get("link1"), each.get("link2"))) for each in semantics.findall("disable_collisions")]
    assert len(pairs) == len(set(pairs)) and all(len(pair) == 2 for pair in pairs)
    moving = {joint.child for joint in tree.joints.values() if tree.links[joint.child].mass}
    assert {
        frozenset((tree.joints[j].parent, tree.joints[j].child)) for j in tree.joints if tree.joints[j].child in moving
    } <= set(pairs)


def test_no_pair_that_never_collides_does_at_any_angles(file):
    """A physics engine judges, from the shapes of the URDF: far more angles than a person would try."""
    model = mujoco.MjModel.from_xml_string(urdf(file))
    spec = mujoco.MjSpec.from_string(urdf(file))
    spec.compiler.fusestatic = False
    model = spec.compile()
    data = mujoco.MjData(model)
    never = {pair for pair, reason in disabled_collisions(file.robot).items() if reason == "Never"}
    rng = np.random.default_rng(7)
    ends = model.jnt_range.T
    for sample in range(SAMPLES):
        share_of_range = rng.random(model.njnt) if sample % 2 else rng.integers(0, 2, model.njnt)  # also the corners
        data.qpos[:] = ends[0] + share_of_range * (ends[1] - ends[0])
        mujoco.mj_forward(model, data)
        touching = {
            tuple(sorted(model.body(body).name for body in model.geom_bodyid[contact.geom])) for contact in data.contact
        }
        assert not touching & never
    assert len(never) > 0 or len(file.robot.legs) > 6


def test_the_files_agree_with_each_other_with_the_urdf_and_with_the_controllers(file, tree):
    files = moveit_files(file)
    yaml = YAML(typ="safe")
    read = {
        name: yaml.load(files[f"config/{name}.yaml"]) for name in ("kinematics", "joint_limits", "moveit_controllers")
    }
    driven = {joint.name for joint in tree.joints.values() if joint.kind != "fixed" and joint.mimic is None}
    assert set(read["kinematics"]) == set(file.robot.leg_names)
    assert all(solver["position_only_ik"] for solver in read["kinematics"].values())
    assert set(read["joint_limits"]["joint_limits"]) == driven
    for name, limits in read["joint_limits"]["joint_limits"].items():
        assert limits["max_velocity"] == tree.joints[name].velocity and limits["max_acceleration"] > 0.0
    known = yaml.load(controllers(file.robot))
    manager = read["moveit_controllers"]["moveit_simple_controller_manager"]
    moved = []
    for name in manager["controller_names"]:
        assert manager[name]["joints"] == known[f"/**/{name}"]["ros__parameters"]["joints"]
        assert known["/**/controller_manager"]["ros__parameters"][name]["type"].endswith("JointTrajectoryController")
        moved += manager[name]["joints"]
    assert set(moved) == driven and len(moved) == len(driven)
    package = f"{file.robot.name}_moveit_config"
    assert ET.fromstring(files["package.xml"]).findtext("name") == package
    assert f"project({package})" in files["CMakeLists.txt"]
    launch = ast.parse(files["launch/move_group.launch.py"])
    assert {package, file.robot.name} <= {n.value for n in ast.walk(launch) if isinstance(n, ast.Constant)}


def test_the_command_writes_the_package_once_and_prints_the_srdf(tmp_path, capsys):
    assert main(["urdf", "--robot", "phantomx", "--moveit", str(tmp_path)]) == 0
    package = tmp_path / "phantomx_moveit_config"
    for path, text in moveit_files(load("phantomx")).items():
        assert (package / path).read_text() == text
    assert main(["urdf", "--robot", "phantomx", "--moveit", str(tmp_path)]) == 2
    assert f"{package} exists: remove it, or give another folder" in capsys.readouterr().err
    assert main(["urdf", "--robot", "phantomx", "--srdf"]) == 0
    assert capsys.readouterr().out == srdf(load("phantomx").robot)
