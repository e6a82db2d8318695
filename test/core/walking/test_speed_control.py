"""The speed of a walk: it stops within its braking time, and swings are stretched as far as strides allow."""

import math
import random

import pytest
from support.drives import DT, robot

from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.walking.speed_control import (
    CATCH_UP_SHARE,
    MOST_LOST_S,
    ROUGH_STRIDE_SHARE,
    SpeedControl,
    stretched_swing_time,
)
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.robot_gaits import gaits
from hexapod_control.core.workspace.speed_limiter import SpeedConditions
from hexapod_control.core.workspace.strides.stride_regions import Strides
from hexapod_control.core.workspace.swing_limits import STRIDE_SHARE

MACHINE = robot("phantomx")
HEIGHT = MACHINE.walk.height
GAITS = gaits(MACHINE)


@pytest.mark.parametrize("name", GAITS)
def test_a_stretched_swing_lasts_as_long_as_requested_or_as_the_longest_stride_allows(name):
    regions, gait, rng = Capabilities.of(MACHINE).stances.at(HEIGHT), GAITS[name], random.Random(1)
    kinds = set()
    for _ in range(100):
        twist = Twist(*(rng.uniform(-1.0, 1.0) * a for a in (0.15, 0.15, 0.6))).scaled(rng.random())
        share, stretch = rng.uniform(0.4, 1.0), rng.uniform(1.0, 1.6)
        strides = Strides.about_neutral(regions)._replace(share=share)
        found = stretched_swing_time(0.45, stretch, twist, gait, strides)
        fits = min(
            2.0
            * ROUGH_STRIDE_SHARE
            * STRIDE_SHARE
            * share
            * radius
            / (gait.stance * math.dist((twist.vx, twist.vy), (twist.wz * y, -twist.wz * x)))
            for (x, y), radius in zip(regions.footholds, regions.radii, strict=True)
        )
        assert found == pytest.approx(max(0.45, min(0.45 * stretch, fits)))
        kinds.add((found == 0.45, found == pytest.approx(0.45 * stretch)))
    assert len(kinds) > 1
    assert stretched_swing_time(0.45, 1.5, ZERO, gait, Strides.about_neutral(regions)) == pytest.approx(0.675)


def test_a_walk_stops_within_its_braking_time_and_keeps_its_direction():
    conditions = SpeedConditions(GAITS["tripod"], HEIGHT, 1.0)
    speed = SpeedControl(Capabilities.of(MACHINE))
    speed.drive(Twist(0.1, 0.05, 0.2))
    goal = speed.limit(conditions, conditions, [], 1.0).twist
    for _ in range(500):
        speed.ramp(DT, goal, conditions, 0.0)
    assert speed.twist == goal
    expected, time = speed.braking_time(conditions), 0.0
    while not speed.twist.is_zero:
        speed.ramp(DT, ZERO, conditions, 0.0)
        time += DT
        assert speed.twist.vx * goal.vy == pytest.approx(speed.twist.vy * goal.vx)
    assert expected - 1e-9 <= time <= expected + DT + 1e-9 and speed.braking_time(conditions) == 0.0


def test_time_lost_on_rough_ground_is_regained_within_its_bound_and_none_on_flat_ground():
    control, conditions = SpeedControl(Capabilities.of(MACHINE)), SpeedConditions(GAITS["tripod"], HEIGHT, 1.0)
    command = Twist(0.04, 0.0, 0.0)
    control.drive(command)

    def possible():
        return control.limit(conditions, conditions, (), 1.0).twist.vx

    for _ in range(50):
        control.note_lost_time(0.02, 0.0)  # it stands still, but on flat ground
    assert possible() == pytest.approx(command.vx)
    for _ in range(100):
        control.note_lost_time(0.02, 1.0)
    assert possible() == pytest.approx((1.0 + CATCH_UP_SHARE) * command.vx)
    control.twist = command.scaled(1.0 + CATCH_UP_SHARE)
    for _ in range(round(MOST_LOST_S / CATCH_UP_SHARE / 0.02) + 2):
        control.note_lost_time(0.02, 1.0)
    assert possible() == pytest.approx(command.vx)
