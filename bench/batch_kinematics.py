# SPDX-License-Identifier: Apache-2.0
"""Legs per second on one core: kinematics over arrays, compared with single legs."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import numpy as np

from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.core.kinematics.leg_batch import forward_over_arrays, inverse_over_arrays
from hexapod_control.core.kinematics.leg_kinematics import BENT_LEG, LegJoints, hip_to_base, leg_forward, solve_leg

# per measurement
BATCH_LEGS = 200_000
SINGLE_LEGS = 2000
REPEATS = 21  # interleaved, each short enough to run undisturbed on a busy machine


def measure(robot_file: RobotFile, progress: Callable[[str], None]) -> dict[str, object]:
    """Returns `kinematics`: legs per second of `inverse` and `forward` for random joints within their limits."""
    progress("kinematics")
    leg = robot_file.robot.legs[0]
    limits = np.array([(joint.lower, joint.upper) for joint in leg.joints])
    joints = np.random.default_rng(0).uniform(limits[:, :1], limits[:, 1:], (3, BATCH_LEGS))
    angles = joints[0], joints[1], joints[2]
    rows: list[LegJoints] = list(zip(*(axis[:SINGLE_LEGS].tolist() for axis in angles), strict=True))
    feet = forward_over_arrays(leg, angles)
    single_feet = [hip_to_base(leg, leg_forward(leg, row)[1]) for row in rows]
    inverse = _compared(
        lambda: inverse_over_arrays(leg, feet), lambda: [solve_leg(leg, foot, BENT_LEG) for foot in single_feet]
    )
    forward = _compared(lambda: forward_over_arrays(leg, angles), lambda: [leg_forward(leg, row) for row in rows])
    return {"kinematics": {"inverse": inverse, "forward": forward}}


def _compared(batch: Callable[[], object], single: Callable[[], object]) -> dict[str, float]:
    """Legs per second of both functions, medians of interleaved measurements, and their ratio."""
    pairs = [(BATCH_LEGS / _seconds(batch), SINGLE_LEGS / _seconds(single)) for _ in range(REPEATS)]
    many, one = (median(column) for column in zip(*pairs, strict=True))
    return {"legs_per_second": round(many), "single_legs_per_second": round(one), "ratio": round(many / one, 1)}


def _seconds(work: Callable[[], object]) -> float:
    """CPU time; other load on the machine does not count."""
    begin = time.thread_time()
    work()
    return time.thread_time() - begin
