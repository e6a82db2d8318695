# SPDX-License-Identifier: Apache-2.0
"""`hexapod urdf`: the summary has the values of the robot file, and the options exclude each other."""

import math
import re
import xml.etree.ElementTree as ET

import pytest

from hexapod_control.cli.main import main
from hexapod_control.config.robots.robot_file import known_robots, load
from hexapod_control.config.robots.urdf import controllers


def tables(text):
    """The tables of a summary without their heads: for every table the cells of its rows by leg names."""
    found = []
    for block in text.split("\n\n")[1:]:
        _, *rows = (re.split(r"  +", line) for line in block.splitlines())
        found.append({leg: cells for heads, *cells in rows for leg in heads.split(", ")})
    return found


def numbers(*cells):
    return [float(number) for cell in cells for number in re.findall(r"-?[\d.]+", cell)]


@pytest.mark.parametrize("name", known_robots())
def test_the_summary_has_the_values_of_every_leg(name, capsys):
    assert main(["urdf", "--robot", name, "--summary"]) == 0
    text, file = capsys.readouterr().out, load(name)
    robot = file.robot
    whole = dict(re.split(r"  +", line, maxsplit=1) for line in text.split("\n\n")[0].splitlines())
    assert whole["robot"] == f"{robot.name} ({file.path})"
    assert numbers(whole["mass"]) == pytest.approx(
        [robot.mass, robot.body.mass, robot.mass - robot.body.mass], abs=5e-4
    )
    assert numbers(whole["height"]) == pytest.approx([1e3 * robot.walk.height], abs=0.05)
    assert numbers(whole["feet"]) == pytest.approx([1e3 * robot.foot_radius], abs=0.05)
    for leg, model in zip(robot.legs, file.models, strict=True):
        place, segments, limits, (servo, *figures) = (rows.get("all") or rows[leg.name] for rows in tables(text))
        millimetres = [1e3 * value for value in (*leg.hip, robot.walk.height + leg.hip[2])]
        stance = [1e3 * value for value in leg.foothold]
        wanted = [*millimetres, math.degrees(leg.hip_yaw), *stance]
        assert numbers(*place) == pytest.approx(wanted, abs=0.0501)
        parts = (leg.coxa, leg.femur, leg.tibia)
        lengths, masses = ([1e3 * getattr(part, what) for part in parts] for what in ("length", "mass"))
        assert numbers(*segments) == pytest.approx([*lengths, *masses], abs=0.0501)
        degrees = [math.degrees(limit) for joint in leg.joints for limit in (joint.lower, joint.upper)]
        assert numbers(*limits) == pytest.approx(degrees, abs=0.01)
        joint = leg.femur_joint
        assert servo == model
        assert numbers(*figures) == pytest.approx([joint.no_load_speed, joint.stall_torque, joint.stiffness], rel=1e-3)


def test_each_option_prints_one_text_and_two_are_refused(capsys):
    assert main(["urdf", "--ros2-control"]) == 0
    assert ET.fromstring(capsys.readouterr().out).find("ros2_control") is not None
    assert main(["urdf", "--robot", "octopod", "--controllers"]) == 0
    assert capsys.readouterr().out == controllers(load("octopod").robot)
    assert main(["urdf", "--summary", "--ros2-control"]) == 2
    assert "not allowed with" in capsys.readouterr().err
