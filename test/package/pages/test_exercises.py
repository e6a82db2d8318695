# SPDX-License-Identifier: Apache-2.0
"""The answers of docs/exercises.md are what the code computes."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from support.paths import ROOT
from support.phantomx import robot

from hexapod_control.cli.robot_files.walk import walk
from hexapod_control.core.kinematics.se2 import Twist, exp
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.evaluation.robot_check.steady_walk import standing_start

PAGE = (ROOT / "docs" / "exercises.md").read_text(encoding="utf-8")
SWING = robot().walk.swing_time
NAMED = ("tripod", "ripple", "wave")
MIDDLE, CORNER = 1, 0  # rows of left_middle and left_front


def answer(number):
    """The answer of an exercise, in one line."""
    section = re.search(rf"^## {number}\. .*?\n(.*?)(?=^## |\Z)", PAGE, re.S | re.M)[1]
    return " ".join(section.partition("*Answer:*")[2].split())


def test_the_cycle_times_follow_from_the_duty_factors():
    gaits = Capabilities.of(robot()).gaits
    for name in NAMED:
        assert f"{gaits[name].cycle * SWING:.2f} s" in answer(1)
    assert f"; {Fraction(1 - SWING / 1.8).limit_denominator(12)}" in answer(1)


def test_the_strides_and_the_speeds_of_the_swing_follow_from_the_top_speeds():
    able = Capabilities.of(robot())
    for name in NAMED:
        gait = able.gaits[name]
        speed = round(able.envelope.maxima(gait, robot().walk.height, able.region_share(gait))[0], 3)  # as printed
        stride = round(1e3 * speed * gait.duty_factor * gait.cycle * SWING)
        assert f"{stride} mm" in answer(2)
        assert f"{1e-3 * stride / SWING:.2f}" in answer(2)


def test_a_step_of_euler_leads_a_planted_foot_away_and_the_exponential_does_not():
    twist, foot, dt = Twist(0.1, 0.0, 0.4), np.array([0.20, 0.15]), 0.02
    ticks = round(2.0 * math.pi / (twist.wz * dt))
    euler, exact = foot, tuple(foot)
    for _ in range(ticks):
        x, y = euler
        euler = euler - dt * np.array([twist.vx - twist.wz * y, twist.vy + twist.wz * x])
        exact = exp(twist, dt).inverse().apply(*exact)
    assert f"about {1e3 * math.dist(euler, exact):.0f} mm" in answer(3)
    assert exact == pytest.approx(exp(twist, ticks * dt).inverse().apply(*foot), abs=1e-12)


@pytest.mark.parametrize(
    ("twist", "words"), [((0.1, 0.0, 0.0), "{} and {} rad, only"), ((0.0, 0.0, 0.4), "{} and {} rad:")]
)
def test_the_coxas_swing_by_the_angles_of_the_answer(twist, words):
    planner, start = standing_start(robot())
    rows = np.array([joints for _, joints in walk(planner, start, Twist(*twist), 5.0, 50.0)])
    turns = np.ptp(rows[-100:, :, 0], axis=0)  # of the coxas over two cycles
    assert words.format(f"{turns[MIDDLE]:.2f}", f"{turns[CORNER]:.2f}") in answer(4)


def test_the_gait_with_rests_has_the_duty_factor_of_the_answer():
    swing = Fraction(2, 3) / 3
    assert f"duty factor {1 - swing}" in answer(5)
    assert f"{SWING / float(swing):.1f} s" in answer(5)
    assert f"{Capabilities.of(robot()).gaits['tetrapod'].cycle * SWING:.2f} s" in answer(5)
