# SPDX-License-Identifier: Apache-2.0
"""An imported robot walks in physics as fast as commanded."""

import math
from dataclasses import replace

import pytest
from support.robots.urdf_robots import LIMIT, MASS, UrdfPeculiarity, scaled, urdf_text
from walk_quality import Course, walk

from hexapod_control.config.robots.draft.robot_text import robot_text
from hexapod_control.config.robots.robot_file import implausible, load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.config.robots.urdf_import.importer import ImportRequest, import_urdf
from hexapod_control.config.robots.urdf_import.writing.joint_names import import_notes
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.robot_gaits import neutral_center
from hexapod_control.core.workspace.stride_stability import MIN_STRIDE_MARGIN, stride_margin
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.world_settings import WorldSettings

SLOW_RAD_S, USUAL_SWING_S = 2.5, 0.45  # servos too slow to lift a foot in the usual swing time
OFFSET = UrdfPeculiarity(
    coxa_sign=-1,
    zero=(0.6, -1.9),
    lateral=(0.01, -0.004, 0.012),
    tilt=(0.05, 0.0),
    body=(0.0, 0.0, 0.0, math.pi / 2),
    limit=LIMIT.replace('velocity="6"', f'velocity="{SLOW_RAD_S}"'),
)
INLINE = UrdfPeculiarity(coxa=0.0, tilt=(0.0, -0.35))
FAST = LIMIT.replace('effort="1.5" velocity="6"', 'effort="4" velocity="15"')  # strides as long as the regions allow
BATTERY = (
    f'<link name="battery">{MASS.format(4.0)}</link><joint name="holder" type="fixed"><parent link="base_link"/>'
    '<child link="battery"/><origin xyz="-0.12 0 0"/></joint>'
)
SHELL = (
    '<link name="shell"><visual><geometry><box size="0.5 0.5 0.05"/></geometry></visual></link><joint name="screws" '
    'type="fixed"><parent link="base_link"/><child link="shell"/></joint>'
)
ACROSS = {"lf": (0.12, 0.05, 90), "lm": (0.0, 0.14, 90), "lr": (-0.12, 0.05, 90)}
NARROW_AND_SLOW = '<limit lower="-0.5" upper="0.5" effort="1.5" velocity="0.8"/>'
STRONG = LIMIT.replace('effort="1.5" velocity="6"', 'effort="2" velocity="12"')  # fast, and soft for the weight
TEXTS = {
    "a battery at the rear": urdf_text(UrdfPeculiarity(others=BATTERY, limit=FAST)),
    "a fourth joint that is frozen": urdf_text(
        UrdfPeculiarity(parts=("coxa", "femur", "tibia", "tarsus"), zero=(0.4, -1.2))
    ),
    "femurs below the body, slow servos": urdf_text(UrdfPeculiarity(zero=(0.5, -2.2), limit=NARROW_AND_SLOW)),
    "a heavy robot that sways": urdf_text(UrdfPeculiarity(mass=MASS.replace("{0}", "0.3"), limit=STRONG)),
    "a shell over the hips of the front legs": urdf_text(UrdfPeculiarity(places=ACROSS, others=SHELL)),
    "long tibias that do not fold onto the belly": scaled(urdf_text(UrdfPeculiarity()), 2.8, "_foot_joint"),
}
AXES = (Twist(1.0, 0.0, 0.0), Twist(0.0, 1.0, 0.0), Twist(0.0, 0.0, 1.0))
SPEED_SHARE = 0.7  # of the top speed
CYCLES = 2


def imported(tmp_path, text):
    (tmp_path / "robot.urdf").write_text(text)
    frozen = {"*_tarsus_joint": -0.3} if "tarsus" in text else {}
    robot = import_urdf(ImportRequest(tmp_path / "robot.urdf", frozen=frozen))
    (tmp_path / "robot.yaml").write_text(robot_text(robot, import_notes(robot)))
    return load(tmp_path / "robot.yaml")


@pytest.mark.physics
@pytest.mark.parametrize(
    ("row", "slow"),
    [(OFFSET, True), (INLINE, False)],
    ids=["offset legs with slow servos", "inline hips on steep axes"],
)
def test_a_robot_with_tilted_hips_walks_as_commanded_in_the_swing_time_of_its_servos(row, slow, tmp_path):
    file = imported(tmp_path, urdf_text(row))
    assert (file.robot.walk.swing_time > 3.0 * USUAL_SWING_S) == slow
    assert not implausible(file)
    top = Capabilities.of(file.robot).fastest(Twist(1.0, 0.0, 0.0), ["tripod"])
    course = replace(Course("tripod", Twist(SPEED_SHARE * top.vx, 0.0, 0.0)), cycles=CYCLES)
    quality = walk(Simulation(file.robot, urdf(file), WorldSettings()), course)
    (ratio,) = quality.ratios
    assert 0.95 <= ratio <= 1.05 and quality.slip <= 0.01 and not quality.unwanted_contacts


@pytest.mark.physics
@pytest.mark.parametrize("name", TEXTS)
def test_an_imported_robot_walks_as_commanded_at_seventy_percent_of_its_limits_on_all_axes(name, tmp_path):
    file = imported(tmp_path, TEXTS[name])
    assert not implausible(file)
    capabilities = Capabilities.of(file.robot)
    gait = file.robot.walk.gait
    stance, center = capabilities.neutral_stance, neutral_center(file.robot)
    assert stride_margin((capabilities.gaits[gait],), stance, center, 1.0) >= MIN_STRIDE_MARGIN
    for axis in AXES:
        twist = capabilities.fastest(axis, [gait]).scaled(SPEED_SHARE)
        quality = walk(Simulation(file.robot, urdf(file), WorldSettings()), Course(gait, twist, 1))
        assert 0.95 <= quality.ratio <= 1.05 and quality.slip <= 0.01 and not quality.unwanted_contacts
