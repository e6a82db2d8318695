"""Robots of other builds than the shipped ones, from test/data/robots: they reach their top speeds on every axis."""

import math
import os

import pytest
from support.drives import DT, robot, standing_planner
from support.paths import DATA

from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.workspace.capabilities import Capabilities

FILES = {path.stem: path for path in sorted((DATA / "robots").glob("*.yaml"))}
CHECKED = FILES if os.environ.get("HEXAPOD_SOAK") else ("rows_12", "wide_6")  # two that blocked themselves before
AXES = (Twist(1.0, 0.0, 0.0), Twist(0.0, 1.0, 0.0), Twist(0.0, 0.0, 1.0))
SECONDS = 8.0  # for a change from one top speed to the next


@pytest.mark.parametrize("name", CHECKED)
def test_soak_of_builds_whose_legs_keep_apart_at_the_top_speed_along_each_axis_and_between_them(name):
    machine = robot(str(FILES[name]))
    gait = Capabilities.of(machine).strides.gait.name
    planner = standing_planner(machine, gait)
    tops = [planner.capabilities.fastest(axis, [gait]) for axis in AXES]
    for goal in (*tops, *(top.scaled(-1.0) for top in tops), ZERO):
        planner.command(goal)
        plans = [planner.step(DT) for _ in range(round(SECONDS / DT))]
        assert not [plan for plan in plans if plan.blocked is not None]
        fastest = max(math.dist(plan.twist, ZERO) for plan in plans[len(plans) // 2 :])
        assert fastest == pytest.approx(math.dist(goal, ZERO), rel=0.03, abs=1e-9)
    assert all(plans[-1].planted)
