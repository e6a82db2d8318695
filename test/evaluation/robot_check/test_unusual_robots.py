# SPDX-License-Identifier: Apache-2.0
"""Robots of an unusual build: they pass the check, at most with one value that a human confirms, and walk true."""

import re

import pytest
from support.paths import DATA
from support.suite.soak import cases
from walk_quality import Course, walk

from hexapod_control.cli.main import main
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.world_settings import WorldSettings

CONFIRMED = {  # the key that the file confirms
    "long_femur_6": "leg.femur.length",  # femurs longer than the tibias
    "sideways_6": "legs.left_front.yaw_deg",  # hips to the sides, feet of all four corners set out
    "one_sided_6": "",  # coxae that turn only outwards
}
AXES = (Twist(1.0, 0.0, 0.0), Twist(0.0, 1.0, 0.0), Twist(0.0, 0.0, 1.0))


def path_of(name):
    return DATA / "robots" / f"{name}.yaml"


@pytest.mark.parametrize("name", CONFIRMED)
def test_the_check_passes_and_without_its_confirmation_names_one_value(name, tmp_path, capsys):
    assert main(["check", str(path_of(name)), "--values"]) == 0
    _, *notes = capsys.readouterr().out.splitlines()
    key = CONFIRMED[name]
    assert [key in note and "; confirmed: " in note for note in notes] == [True] * bool(key)
    bare = tmp_path / "robot.yaml"
    bare.write_text(re.sub(r"confirmed:\n.*", "", path_of(name).read_text(), flags=re.DOTALL))
    assert main(["check", str(bare), "--values"]) == bool(key)
    assert [key in line for line in capsys.readouterr().out.splitlines()[1:]] == [True] * bool(key)


@pytest.mark.parametrize(("name", "axis"), cases(CONFIRMED, AXES))
def test_soak_of_unusual_robots_that_walk_true_in_physics(name, axis):
    file = load(path_of(name))
    gait = file.robot.walk.gait
    twist = Capabilities.of(file.robot).fastest(axis, [gait]).scaled(0.7)
    quality = walk(Simulation(file.robot, urdf(file), WorldSettings()), Course(gait, twist, 1))
    assert quality.ratios == pytest.approx((1.0,), abs=0.05)
    assert quality.slip <= 0.01 and not quality.unwanted_contacts and not quality.unreachable
