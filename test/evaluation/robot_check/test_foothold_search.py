# SPDX-License-Identifier: Apache-2.0
"""The foothold search: its result keeps the limits of the planner, and a slightly larger one would not."""

import json
import math
import random
from itertools import pairwise

import footholds
import measure
import numpy as np
import pytest
from support.drives import ROBOTS, robot

from hexapod_control.core.gait.swing_trajectory import lift, smooth_travel
from hexapod_control.core.kinematics.body_pose import NEUTRAL, Placement
from hexapod_control.core.kinematics.leg_kinematics import BENT_LEG
from hexapod_control.core.kinematics.se2 import exp
from hexapod_control.core.kinematics.whole_body import ball_center_and_joints
from hexapod_control.core.planner.tick_limiter import MIN_LEG_GAP_M
from hexapod_control.core.statics.static_stability import static_margin
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.strides.steady_cycle import SteadyCycle, polygon_margins
from hexapod_control.core.workspace.swing_limits import SPEED_SHARE
from hexapod_control.evaluation.robot_check import foothold_search
from hexapod_control.evaluation.robot_check.foothold_search import (
    fastest_stride,
    max_speeds,
    mirror_groups,
    search_margin,
)
from hexapod_control.evaluation.robot_check.subject import AXES


@pytest.fixture
def coarse(monkeypatch):
    monkeypatch.setattr(foothold_search, "CELLS_PER_LEG", 8)
    monkeypatch.setattr(foothold_search, "POPULATION", 256)
    monkeypatch.setattr(foothold_search, "PARENTS", 32)
    monkeypatch.setattr(foothold_search, "REFINEMENTS", 1)
    monkeypatch.setattr(foothold_search, "SWING_TIME_SCALES", (0.9, 1.1))


def joint_use(machine, leg, twist, swing_time, stance, center) -> float:
    """Greatest joint speed over its limit in a cycle about a stride center; infinite where the foot is out of reach."""
    start, ahead = exp(twist, -0.5 * stance * swing_time).apply(*center), exp(twist, (1.0 + 0.5 * stance) * swing_time)
    aim, worst, rows = ahead.apply(*center), 0.0, []
    times = [k / 20 for k in range(21)] + [1.0 + stance * k / 10 for k in range(1, 11)]
    for u in times:
        s = smooth_travel(u)
        world = [a + s * (b - a) for a, b in zip(start, aim, strict=True)]
        contact = exp(twist, -u * swing_time).apply(*world)
        z, placement = lift(u, machine.walk.lift_height), Placement(NEUTRAL, machine.walk.height)
        rows.append(ball_center_and_joints(leg, contact, z, placement, machine.foot_radius, BENT_LEG)[1])
    if any(reason for _, reason, _ in rows):
        return math.inf
    for (t, (before, _, _)), (after_t, (after, _, _)) in pairwise(zip(times, rows, strict=True)):
        for a, b, joint in zip(before, after, leg.joints, strict=True):
            limit = SPEED_SHARE * joint.no_load_speed
            worst = max(worst, abs(b - a) / ((after_t - t) * swing_time) / limit)
    return worst


@pytest.mark.parametrize("axis", AXES)
def test_a_leg_keeps_its_limits_up_to_the_maximum_speed_and_not_beyond(axis):
    rng = random.Random(1)
    for name in ROBOTS:
        machine = robot(name)
        for stance in (1.0, 5.0):
            leg, time = rng.choice(machine.legs), machine.walk.swing_time * rng.uniform(0.8, 1.5)
            center = tuple(value + rng.uniform(-0.02, 0.02) for value in leg.foothold)
            centers, times = np.array([complex(*center)]), np.array([time])
            speed = float(max_speeds(machine, leg, AXES[axis], stance, times, centers)[0, 0])
            assert speed > 0.0
            assert joint_use(machine, leg, AXES[axis].scaled(speed), time, stance, center) <= 1.0 + 1e-6
            assert joint_use(machine, leg, AXES[axis].scaled(1.05 * speed), time, stance, center) > 1.0


def test_margins_over_arrays_are_the_static_margins_of_single_polygons():
    rng = np.random.default_rng(2)
    for count in (2, 3, 4, 7):
        feet = rng.uniform(-1.0, 1.0, (200, count)) + 1j * rng.uniform(-1.0, 1.0, (200, count))
        expected = [static_margin([(p.real, p.imag) for p in row], (0.0, 0.0)) for row in feet.tolist()]
        if count == 2:
            assert set(expected) == {-math.inf}
        else:
            assert polygon_margins(feet) == pytest.approx(np.array(expected), abs=1e-9)


@pytest.mark.parametrize("anywhere", [False, True])
def test_the_fastest_stride_keeps_margin_and_gap_and_the_search_finds_it_again(anywhere, coarse):
    machine = robot("phantomx")
    gaits, axis = Capabilities.of(machine).gaits, AXES["forward"]
    moved = fastest_stride(machine, [gaits["tripod"]], axis)
    found = fastest_stride(machine, [gaits["tripod"]], axis, moved) if anywhere else moved
    limits = SteadyCycle(machine, gaits["tripod"], axis).limits(
        found.speed * found.swing_time, np.array(found.centers), 1.0
    )
    assert limits.margin >= search_margin(machine) and limits.gap >= MIN_LEG_GAP_M
    for leg, center in zip(machine.legs, found.centers, strict=True):
        assert (
            joint_use(machine, leg, axis.scaled(found.speed), found.swing_time, 1.0, (center.real, center.imag)) <= 1.0
        )
    assert [found.centers[b] for _, b in mirror_groups(machine.legs)] == [
        found.centers[a].conjugate() for a, _ in mirror_groups(machine.legs)
    ]
    assert fastest_stride(machine, [gaits["tripod"]], axis, moved if anywhere else None) == found


@pytest.mark.physics
def test_bench_prints_the_speeds_of_own_moved_and_free_footholds(coarse, monkeypatch, capsys):
    monkeypatch.setattr(footholds, "AXES", {"forward": AXES["forward"]})
    assert measure.main(["footholds"]) == 0
    found = json.loads(capsys.readouterr().out)["footholds"]["forward"]
    assert 0.1 < found["moved"]["speed"] < found["free"]["speed"] < 0.4
    assert 0.8 * found["free"]["speed"] < found["own"] < found["free"]["speed"]
    assert found["ratio"] == pytest.approx(found["own"] / found["free"]["speed"], abs=2e-3)
    assert found["achieved"] == pytest.approx(found["own"], rel=0.02)
    assert set(found["free"]["footholds"]) == set(robot("phantomx").leg_names)


def test_four_legs_are_compared_with_a_free_choice_of_footholds_and_sway(monkeypatch):
    monkeypatch.setattr(foothold_search, "SWAYING_STEPS", (0.1,))
    machine = robot("quadruped")
    capabilities = Capabilities.of(machine)
    own = capabilities.fastest(AXES["forward"], ["crawl"]).vx
    neutral = fastest_stride(machine, capabilities.gaits.values(), AXES["forward"])
    free = fastest_stride(machine, capabilities.gaits.values(), AXES["forward"], neutral)
    assert (neutral.gait, free.gait) == ("crawl", "crawl") and neutral.centers != free.centers
    assert 0.5 * free.speed < own < 1.05 * free.speed and neutral.speed < free.speed
