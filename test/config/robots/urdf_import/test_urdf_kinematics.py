# SPDX-License-Identifier: Apache-2.0
"""The forward kinematics of an imported robot matches its URDF, whatever the structure of the URDF."""

import math
from functools import cache

import mujoco
import numpy as np
import pytest
from support.robots.urdf_robots import LIMIT, MASS, OCTOPOD, QUADRUPED, UrdfPeculiarity, urdf_text

from hexapod_control.config.robots.draft.robot_text import robot_text
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf_import.importer import ImportRequest, import_urdf
from hexapod_control.config.robots.urdf_import.joint_mapping import load_mapping
from hexapod_control.config.robots.urdf_import.writing.joint_names import import_notes, mapping_text, transform_command
from hexapod_control.core.kinematics.leg_kinematics import forward, inverse

EXACT_M = 1e-6
POSES = 8
NO_MASS = MASS.replace("{0}", "1e-5")
HEAD = (
    '<link name="head"/><link name="antenna"><inertial><mass value="0.01"/>'
    '<inertia ixx="1e-6" iyy="1e-6" izz="1e-6" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    '<joint name="neck" type="fixed"><parent link="base_link"/><child link="head"/><origin xyz="0.15 0 0"/></joint>'
    f'<joint name="antenna_joint" type="revolute"><parent link="head"/><child link="antenna"/><axis xyz="0 0 1"/>'
    f"{LIMIT.format(0.2, 1.0)}</joint>"
)
FOOTPRINT = (
    '<link name="base_footprint"/><joint name="stand" type="fixed"><parent link="base_footprint"/>'
    '<child link="base_link"/><origin xyz="0 0 0.1"/></joint>'
)
ROWS = {
    "plain": UrdfPeculiarity(),
    "axes down": UrdfPeculiarity(coxa_sign=-1, pitch_sign=-1),
    "base link at a corner, body along y": UrdfPeculiarity(body=(0.2, 0.15, 0.03, math.pi / 2)),
    "body along y": UrdfPeculiarity(body=(0.0, 0.0, 0.0, math.pi / 2)),
    "body backwards": UrdfPeculiarity(body=(0.01, -0.3, 0.1, math.pi)),
    "bent at zero": UrdfPeculiarity(zero=(0.6, -1.9)),
    "folded at zero": UrdfPeculiarity(zero=(2.0, -2.6), pitch_sign=-1),
    "continuous joints": UrdfPeculiarity(kind="continuous", limit=""),
    "limits 0 0, effort 0, velocity 0": UrdfPeculiarity(limit='<limit lower="0" upper="0" effort="0" velocity="0"/>'),
    "prefixes": UrdfPeculiarity(joint="bot/{leg}/{part}", link="bot/{leg}_{part}", base="bot/base"),
    "names that tell nothing": UrdfPeculiarity(joint="Rev_{leg[1]}{leg[0]}q{part}"),
    "head and antenna": UrdfPeculiarity(others=HEAD),
    "feet on springs": UrdfPeculiarity(foot="prismatic"),
    "feet by a sphere": UrdfPeculiarity(foot="sphere"),
    "feet by the collision shape": UrdfPeculiarity(foot="collision", zero=(0.3, -1.2)),
    "feet by the visual shape": UrdfPeculiarity(foot="visual"),
    "offsets out of the plane": UrdfPeculiarity(lateral=(0.01, -0.004, 0.012), vertical=-0.02),
    "frames turned at random": UrdfPeculiarity(skew=True, zero=(0.5, -1.4), lateral=(0.003, 0.0, -0.01)),
    "tilted coxa axes": UrdfPeculiarity(tilt=(0.05, -0.08)),
    "coxa axes far from the vertical": UrdfPeculiarity(tilt=(0.25, -0.6), skew=True),
    "nearly upright coxa axes": UrdfPeculiarity(tilt=(8.9e-5, 0.0), skew=True),
    "inline hips": UrdfPeculiarity(coxa=0.0),
    "root on the ground": UrdfPeculiarity(above=FOOTPRINT),
    "no masses": UrdfPeculiarity(mass=NO_MASS),
    "four legs": UrdfPeculiarity(places=QUADRUPED),
    "eight legs": UrdfPeculiarity(places=OCTOPOD),
    "a fourth joint": UrdfPeculiarity(parts=("coxa", "femur", "tibia", "tarsus"), zero=(0.4, -1.2)),
}  # fmt: skip


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    """Imports a row once: the imported robot, the robot of its file, and the mapping and the folder of its files."""

    @cache
    def result(name):
        row, folder = ROWS[name], tmp_path_factory.mktemp("imported")
        path = folder / "robot.urdf"
        path.write_text(urdf_text(row))
        frozen = {"*_tarsus_joint": -0.3} if len(row.parts) == 4 else {}
        found = import_urdf(ImportRequest(path, frozen=frozen))
        (folder / "robot.yaml").write_text(robot_text(found, import_notes(found)))
        (folder / "robot.joints.yaml").write_text(mapping_text(found))
        robot = load(folder / "robot.yaml").robot
        return found, robot, load_mapping(str(folder / "robot.joints.yaml"), robot), folder

    return result


@pytest.mark.parametrize("name", ROWS)
def test_forward_kinematics_matches_the_urdf(name, imported):
    found, robot, mapping, _ = imported(name)
    model = mujoco.MjModel.from_xml_string(urdf_text(ROWS[name]))
    data, random = mujoco.MjData(model), np.random.default_rng(1)
    base = found.frame.pose
    for _ in range(POSES):
        ours = random.uniform(-1.2, 1.2, (len(robot.legs), 3))
        originals = dict(zip(mapping.names, np.ravel(mapping.signs * ours + mapping.offsets), strict=True))
        for joint, angle in {**originals, **mapping.fixed}.items():
            data.qpos[model.joint(joint).qposadr[0]] = angle
        mujoco.mj_kinematics(model, data)
        in_base = np.linalg.inv(_base_pose(model, data, found.chains.base) @ base)
        feet = [in_base @ np.append(_tip(model, data, found.tips[leg]), 1.0) for leg in robot.leg_names]
        np.testing.assert_allclose(forward(robot, ours), np.array(feet)[:, :3], rtol=0.0, atol=EXACT_M)


def _base_pose(model, data, link):
    pose = np.eye(4)
    if mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, link) >= 0:
        pose[:3, :3], pose[:3, 3] = data.body(link).xmat.reshape(3, 3), data.body(link).xpos
    return pose


def _tip(model, data, tip):
    body = data.body(tip.link)
    return body.xmat.reshape(3, 3) @ tip.point + body.xpos


@pytest.mark.parametrize("name", ["plain", "body along y", "body backwards", "axes down", "frames turned at random"])
def test_legs_are_named_by_their_position(name, imported):
    _, robot, mapping, _ = imported(name)
    assert robot.leg_names == ("left_front", "left_middle", "left_rear", "right_front", "right_middle", "right_rear")
    assert [name[:2] for name in mapping.names[::3]] == ["lf", "lm", "lr", "rf", "rm", "rr"]
    np.testing.assert_allclose([leg.hip[0] for leg in robot.legs][:3], [0.12, 0.0, -0.12], atol=0.011)


def test_lengths_limits_servo_and_masses_are_read(imported):
    _, robot, *_ = imported("bent at zero")
    leg = robot.legs[0]
    assert (leg.coxa.length, leg.femur.length, leg.tibia.length) == pytest.approx((0.052, 0.066, 0.133), abs=1e-7)
    limits = [(joint.lower, joint.upper) for joint in leg.joints]
    np.testing.assert_allclose(limits, [(-1.2, 1.2), (-1.6, 1.9), (-2.7, 0.2)], atol=1e-5)
    assert (leg.femur_joint.stall_torque, leg.femur_joint.no_load_speed) == (1.5, 6.0)
    assert robot.body.mass == pytest.approx(1.0) and leg.tibia.mass == pytest.approx(0.06)


def test_inverse_kinematics_of_a_tilted_leg_undoes_its_forward_kinematics(imported):
    _, robot, *_ = imported("tilted coxa axes")
    ours = np.random.default_rng(2).uniform((-0.8, -0.2, -2.2), (0.8, 1.0, -0.6), (6, 3))
    assert robot.legs[0].tilt == pytest.approx((0.05, -0.08))
    np.testing.assert_allclose(inverse(robot, forward(robot, ours), ours).joints, ours, atol=1e-9)


def test_a_moved_base_link_comes_with_the_transform_that_places_the_urdf(imported):
    """The corner of the URDF seen from the middle of the hips: its place turned back by the quarter turn."""
    found, *_, folder = imported("base link at a corner, body along y")
    words = transform_command(found).split()
    values = {name: float(words[words.index(f"--{name}") + 1]) for name in ("x", "y", "z", "yaw")}
    assert values == pytest.approx({"x": -0.15, "y": 0.2, "z": -0.03, "yaw": -math.pi / 2}, abs=1e-5)
    assert transform_command(found) in (folder / "robot.yaml").read_text()
