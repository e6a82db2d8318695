# SPDX-License-Identifier: Apache-2.0
"""Answers to the questions of `hexapod new` that describe a robot of the gallery."""

from __future__ import annotations

import math

from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.config.robots.servo_table import version_for
from hexapod_control.core.robot import Leg, Robot

NOMINAL_VOLTAGES = (4.8, 6.0, 7.4, 11.1, 12.0)


def mirrored(robot: Robot) -> bool:
    hips = {leg.name: (*leg.hip, leg.hip_yaw) for leg in robot.legs}
    pairs = [(name, name.replace("left", "right")) for name in hips if "left" in name]
    return all(math.dist(hips[left][:2], (hips[right][0], -hips[right][1])) < 1e-9 for left, right in pairs)


def answers_of(file: RobotFile) -> dict[str, str]:
    """Answers by key of the question, in mm, deg, g and V."""
    robot = file.robot
    leg = robot.legs[0]
    rise = leg.hip[2] - robot.body.center[2]
    limits = [math.degrees(end) for joint in leg.joints for end in (joint.lower, joint.upper)]
    one_leg = leg.coxa.mass + leg.femur.mass + leg.tibia.mass
    voltage = next(each for each in NOMINAL_VOLTAGES if version_for(file.servo_model, each))
    shape = "rows" if mirrored(robot) else "free"
    return {
        "legs": f"{len(robot.legs)} {shape}",
        "body": _millimetres(*robot.body.size),
        **{f"hip {each.name}": _hip(each) for each in robot.legs if shape == "free" or "left" in each.name},
        "lengths": _millimetres(leg.coxa.length, leg.femur.length, leg.tibia.length),
        "offsets": "yes" if any((rise, leg.femur_lateral, leg.femur_vertical)) else "no",
        "offset sizes": _millimetres(rise, leg.femur_lateral, leg.femur_vertical),
        "servo": file.servo_model,
        "voltage": f"{voltage:g} V",
        "limits": " ".join(f"{end:g}" for end in limits),
        "masses": f"{1000.0 * robot.mass:g} {1000.0 * one_leg:g}",
        "height": _millimetres(robot.walk.height + leg.hip[2]),
    }


def _hip(leg: Leg) -> str:
    return f"{_millimetres(*leg.hip[:2])} {math.degrees(leg.hip_yaw):g}"


def _millimetres(*lengths: float) -> str:
    return " ".join(f"{1000.0 * length:.6g}" for length in lengths)
