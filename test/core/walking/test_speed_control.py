# SPDX-License-Identifier: Apache-2.0
"""The speed of a walk: it stops within its braking time, and swings are stretched as far as strides allow."""

import math
import random

import pytest
from support.drives import DT, neutral_strides, robot

from hexapod_control.core.gait.gait_table import GaitSelection
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.walking.speed_control import SpeedConditions, SpeedControl, stretched_swing_time
from hexapod_control.core.walking.walk_settings import WalkSettings
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.robot_gaits import gaits
from hexapod_control.core.workspace.twist_limits import AxisLimits, TwistLimits

CATCH_UP_SHARE, MAX_LOST_S = 0.1, 1.0
ROUGH_STRIDE_SHARE, STRIDE_SHARE = 0.85, 0.95

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
        strides = neutral_strides(regions)._replace(share=share)
        found = stretched_swing_time(0.45, stretch, twist, gait, strides)
        fits = min(
            2.0
            * ROUGH_STRIDE_SHARE
            * STRIDE_SHARE
            * share
            * radius
            / (gait.stance_time * math.dist((twist.vx, twist.vy), (twist.wz * y, -twist.wz * x)))
            for (x, y), radius in zip(regions.footholds, regions.radii, strict=True)
        )
        assert found == pytest.approx(max(0.45, min(0.45 * stretch, fits)))
        kinds.add((found == 0.45, found == pytest.approx(0.45 * stretch)))
    assert len(kinds) > 1
    assert stretched_swing_time(0.45, 1.5, ZERO, gait, neutral_strides(regions)) == pytest.approx(0.675)


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
    control.note_slowed(1.0, 0.0)  # by its joints, but on flat ground
    assert possible() == pytest.approx(command.vx)
    control.note_slowed(0.05, 1.0)
    assert possible() == pytest.approx(1.05 * command.vx)
    for _ in range(100):
        control.note_lost_time(0.02, 1.0)
    assert possible() == pytest.approx((1.0 + CATCH_UP_SHARE) * command.vx)
    control.twist = command.scaled(1.0 + CATCH_UP_SHARE)
    for _ in range(round(MAX_LOST_S / CATCH_UP_SHARE / 0.02) + 2):
        control.note_lost_time(0.02, 1.0)
    assert possible() == pytest.approx(command.vx)


TRIPOD = SpeedConditions(GAITS["tripod"], HEIGHT, 1.0)


def test_a_command_is_followed_without_its_tiny_axes_until_a_halt():
    control = SpeedControl(Capabilities.of(MACHINE))
    assert (control.command, control.twist, control.halted) == (ZERO, ZERO, False)
    assert control.swing_time == MACHINE.walk.swing_time
    control.halt()
    assert (control.command, control.halted) == (ZERO, True)
    control.drive(Twist(5e-8, 0.1, -5e-8))
    assert (control.command, control.halted) == (Twist(0.0, 0.1, 0.0), False)
    control.halt()
    assert (control.command, control.halted) == (ZERO, True)


def test_the_swing_time_follows_at_half_a_second_per_second_and_a_slow_down_is_immediate():
    control, nominal = SpeedControl(Capabilities.of(MACHINE)), MACHINE.walk.swing_time
    control.change_swing(0.1, nominal + 1.0, 1.0)
    assert control.swing_time == pytest.approx(nominal + 0.05)
    control.change_swing(0.1, nominal + 0.06, 1.0)
    assert control.swing_time == pytest.approx(nominal + 0.06)
    control.change_swing(0.04, nominal, 1.0)
    assert control.swing_time == pytest.approx(nominal + 0.04)
    control.twist = Twist(0.1, -0.2, 0.3)
    for share, expected in ((1.0, 1.0), (0.5, 0.5), (0.5, 0.25)):
        control.slow_down(share)
        assert control.twist == pytest.approx(Twist(0.1, -0.2, 0.3).scaled(expected))
    control.stop_at_once()
    assert control.twist == ZERO


def test_the_lift_becomes_lower_at_once_and_higher_by_its_height_in_a_second():
    control, swing_time = SpeedControl(Capabilities.of(MACHINE)), MACHINE.walk.swing_time
    assert control.lift_share == 1.0
    for goal, expected in ((0.75, 0.75), (1.0, 0.85), (0.9, 0.9), (0.8, 0.8), (1.0, 0.9), (1.0, 1.0), (1.0, 1.0)):
        control.change_swing(0.1, swing_time, goal)
        assert control.lift_share == pytest.approx(expected)


@pytest.mark.parametrize("roughness", [0.0, 0.5, 1.0])
def test_a_walk_speeds_up_faster_on_rough_ground_and_brakes_as_on_flat_ground(roughness):
    flat, rough = (SpeedControl(Capabilities.of(MACHINE)) for _ in range(2))
    goal = Twist(0.2, 0.0, 0.0)
    flat.ramp(DT, goal, TRIPOD, 0.0)
    rough.ramp(DT, goal, TRIPOD, roughness)
    assert rough.twist.vx == pytest.approx(flat.twist.vx * (1.0 + 2.0 * roughness)) and 0.0 < rough.twist.vx < goal.vx
    flat.twist = rough.twist = goal
    flat.ramp(DT, ZERO, TRIPOD, 0.0)
    rough.ramp(DT, ZERO, TRIPOD, roughness)
    assert rough.twist == pytest.approx(flat.twist) and 0.0 < flat.twist.vx < goal.vx


def test_the_settings_limit_the_speed_as_a_share_of_the_fastest_of_the_selected_gaits():
    control, wave = SpeedControl(Capabilities.of(MACHINE)), SpeedConditions(GAITS["wave"], HEIGHT, 1.0)
    most, selection = control.maxima(TRIPOD), GaitSelection.of(GAITS["tripod"])
    control.drive(Twist(9.0, 0.0, 0.0))
    assert control.limit(TRIPOD, TRIPOD, (), 1.0).twist.vx == pytest.approx(most.vx)
    assert control.goal(TRIPOD, 0.5).vx == 4.5
    control.change_settings(WalkSettings(selection, speed_share=0.5, tempo=2.0))
    assert control.maxima(TRIPOD) == pytest.approx(most.scaled(0.5))
    assert control.goal(TRIPOD, 1.0).vx == pytest.approx(0.5 * most.vx)
    assert control.limit(TRIPOD, TRIPOD, (), 1.0).twist.vx == pytest.approx(0.5 * most.vx)
    assert control.limit(wave, TRIPOD, (), 1.0).twist.vx < 0.5 * most.vx  # what the wave allows is less
    control.drive(Twist(0.02, 0.0, 0.0))
    found = control.limit(TRIPOD, TRIPOD, (), 0.5)
    assert found.twist.vx == pytest.approx(0.01) and found.swing_time == pytest.approx(2.0 * MACHINE.walk.swing_time)
    control.change_settings(WalkSettings(selection, TwistLimits(AxisLimits(0.015))))
    assert control.goal(TRIPOD, 1.0).vx == control.limit(TRIPOD, TRIPOD, (), 1.0).twist.vx == 0.015


def test_an_axis_that_the_settings_do_not_let_brake_does_not_count_for_the_braking_time():
    control, selection = SpeedControl(Capabilities.of(MACHINE)), GaitSelection.of(GAITS["tripod"])
    control.twist = Twist(0.05, 0.03, 0.1)
    braking = TwistLimits(
        AxisLimits(max_deceleration=0.2), AxisLimits(max_deceleration=0.0), AxisLimits(max_deceleration=0.8)
    )
    control.change_settings(WalkSettings(selection, braking))
    assert control.braking_time(TRIPOD) == pytest.approx(0.25)
