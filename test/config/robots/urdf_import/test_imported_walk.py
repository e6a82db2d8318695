"""An imported robot walks in physics as fast as commanded."""

import math
from dataclasses import replace

import pytest
from support.robots.urdf_robots import LIMIT, UrdfPeculiarity, urdf_text
from walk_quality import Course, walk

from hexapod_control.config.robots.draft.robot_text import robot_text
from hexapod_control.config.robots.robot_file import implausible, load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.config.robots.urdf_import.importer import ImportRequest, import_urdf
from hexapod_control.config.robots.urdf_import.writing.joint_names import import_notes
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.workspace.capabilities import Capabilities
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
SPEED_SHARE = 0.7  # of the top speed
CYCLES = 2


def imported(tmp_path, row):
    (tmp_path / "robot.urdf").write_text(urdf_text(row))
    robot = import_urdf(ImportRequest(tmp_path / "robot.urdf"))
    (tmp_path / "robot.yaml").write_text(robot_text(robot, import_notes(robot)))
    return load(tmp_path / "robot.yaml")


@pytest.mark.physics
@pytest.mark.parametrize(
    ("row", "slow"),
    [(OFFSET, True), (INLINE, False)],
    ids=["offset legs with slow servos", "inline hips on steep axes"],
)
def test_a_robot_with_tilted_hips_walks_as_commanded_in_the_swing_time_of_its_servos(row, slow, tmp_path):
    file = imported(tmp_path, row)
    assert (file.robot.walk.swing_time > 3.0 * USUAL_SWING_S) == slow
    assert not implausible(file)
    top = Capabilities.of(file.robot).fastest(Twist(1.0, 0.0, 0.0), ["tripod"])
    course = replace(Course("tripod", Twist(SPEED_SHARE * top.vx, 0.0, 0.0)), cycles=CYCLES)
    quality = walk(Simulation(file.robot, urdf(file), WorldSettings()), course)
    (ratio,) = quality.ratios
    assert 0.95 <= ratio <= 1.05 and quality.slip <= 0.01 and not quality.unwanted_contacts
