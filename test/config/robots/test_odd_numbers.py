# SPDX-License-Identifier: Apache-2.0
"""Every number of a robot file is refused with a sentence or leads to a robot that walks, whatever number it is."""

import random
import re

import numpy as np
from support.suite.soak import SOAK

from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots.robot_file import load, resolve
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.posture.stand_up import lying_joints

TEXT = resolve("phantomx").read_text(encoding="utf-8")
NUMBER = re.compile(r"(?<=[:\[,] )-?\d+(\.\d+)?(?=\s|,|\]|\}|$)")
PLACES = [found.span() for found in NUMBER.finditer(TEXT)]
ODD = ("5.0e-324", "-5.0e-324", "2.3e-308", "-0.0", "1.0e-10", "1.0e+308", "-1.0e+308", ".nan", ".inf", "1" * 400)
TICKS, DT = 150, 0.02
WALKED = 40 if SOAK else 6  # files that are accepted, of which as many are walked


def test_any_number_in_a_robot_file_is_refused_by_its_place_or_gives_a_robot_that_moves_without_leaps(tmp_path):
    rng, path, accepted = random.Random(9), tmp_path / "robot.yaml", []
    assert len(PLACES) > 50
    for number, (begin, end) in enumerate(PLACES):
        for odd in ODD if SOAK else rng.sample(ODD, 3):
            path.write_text(TEXT[:begin] + odd + TEXT[end:], encoding="utf-8")
            try:
                accepted.append((number, odd, load(str(path)).robot))
            except RobotFileError as error:
                assert str(error).startswith(f"{path}:") and len(str(error)) < 1000, (number, odd)
    for number, odd, robot in rng.sample(accepted, min(WALKED, len(accepted))):
        walk(robot, f"number {number} as {odd}")


def walk(robot, what):
    planner = Planner(robot)
    planner.set_measured_joints(np.array(lying_joints(robot)))
    planner.stand()
    last = None
    for tick in range(TICKS):
        if tick > TICKS // 2:
            planner.command(Twist(0.05, 0.0, 0.1))
        joints = planner.step(DT).joint_angles
        if joints is not None:
            assert np.isfinite(joints).all(), what
            if last is not None:
                speeds = np.array([[joint.no_load_speed for joint in leg.joints] for leg in robot.legs])
                assert (np.abs(joints - last) <= 1.05 * speeds * DT).all(), what
        last = joints
