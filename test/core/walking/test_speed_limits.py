# SPDX-License-Identifier: Apache-2.0
"""Accelerations, highest speeds and swing times of a walk, with and without limits from the settings."""

from itertools import pairwise

import pytest
from support.drives import robot

from hexapod_control.core.gait.gait_table import AUTO
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.walking.speed_control import SpeedConditions, SpeedControl
from hexapod_control.core.walking.walk_settings import WalkSettings
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.swing_limits import SWING_TIME_SCALES
from hexapod_control.core.workspace.twist_limits import AxisLimits, TwistLimits

CAPABILITIES = Capabilities.of(robot("phantomx"))
HEIGHT, NOMINAL = robot("phantomx").walk.height, robot("phantomx").walk.swing_time
SELECTION = CAPABILITIES.selection("tripod")
NONE = TwistLimits()
SWING_TIME = 0.5  # [s]


def conditions(gait, share=1.0):
    return SpeedConditions(CAPABILITIES.gaits[gait], HEIGHT, share)


def speed_control(limits=NONE):
    control = SpeedControl(CAPABILITIES)
    control.swing_time = SWING_TIME
    control.change_settings(WalkSettings(SELECTION, limits))
    return control


@pytest.mark.parametrize("name", CAPABILITIES.gaits)
def test_a_walk_stops_in_a_swing_and_starts_so_that_no_stride_is_longer_than_a_steady_one(name):
    control, gait = speed_control(), CAPABILITIES.gaits[name]
    most = control.maxima(conditions(name))
    up, down = control.accelerations(conditions(name), 1.0)
    last = max(gait.until_lift_off(leg, 0.0) for leg in range(len(gait.lift_off))) * SWING_TIME
    stance = gait.stance_time * SWING_TIME
    for v, faster, slower in zip(most, up, down, strict=True):
        assert slower == pytest.approx(v / SWING_TIME)
        # Full speed takes a stance, or longer if the last leg were farther than half a stride at its lift-off.
        first_stride, half = 0.5 * faster * last**2, 0.5 * v * stance
        assert first_stride <= half * (1.0 + 1e-9) and faster * stance <= v * (1.0 + 1e-9)
        assert first_stride == pytest.approx(half) or faster * stance == pytest.approx(v)
    rough = control.accelerations(conditions(name), 3.0)
    assert rough == (pytest.approx(up.scaled(3.0)), down)


def test_settings_replace_the_acceleration_and_bound_the_speed_of_their_axis_only():
    usual = conditions("tripod")
    most, (up, down) = speed_control().maxima(usual), speed_control().accelerations(usual, 1.0)
    limits = TwistLimits(
        AxisLimits(0.01), AxisLimits(max_acceleration=0.2, max_deceleration=0.3), AxisLimits(10.0, max_deceleration=0.4)
    )
    assert speed_control(limits).maxima(usual) == (0.01, most.vy, most.wz)
    assert speed_control(limits).accelerations(usual, 2.0) == (
        pytest.approx((2.0 * up.vx, 0.2, 2.0 * up.wz)),
        pytest.approx((down.vx, 0.3, 0.4)),
    )


def test_a_new_limit_is_computed_whenever_anything_that_it_depends_on_changes():
    control, command = speed_control(), Twist(1.0, 0.0, 0.0)

    def limited(control, command, conditions, next_gaits, limits, tempo):
        control.change_settings(WalkSettings(SELECTION, limits, tempo=tempo))
        control.drive(command)
        return control.limit(conditions, conditions, next_gaits, 1.0)

    cases = [
        (command, conditions("tripod"), (), NONE, 1.0),
        (command.scaled(0.01), conditions("tripod"), (), NONE, 1.0),
        (command, conditions("wave"), (), NONE, 1.0),
        (command, conditions("tripod", 0.4), (), NONE, 1.0),
        (command, conditions("tripod"), (CAPABILITIES.gaits["ripple"],), NONE, 1.0),
        (command, conditions("tripod"), (), TwistLimits(AxisLimits(0.05)), 1.0),
        (command.scaled(0.01), conditions("tripod"), (), NONE, 2.0),
    ]
    found = [limited(control, *case) for case in cases]
    assert found == [limited(speed_control(), *case) for case in cases] and len(set(found)) == len(found)
    assert found[5].twist == Twist(0.05, 0.0, 0.0)
    assert control.maxima(conditions("wave")) != control.maxima(conditions("tripod"))


@pytest.mark.parametrize("tempo", [0.5, 0.8, 0.94, 0.96, 1.0, 1.3, 1.7, 2.0, 3.0])
def test_a_slow_walk_has_the_swing_time_of_the_table_that_is_nearest_to_the_tempo(tempo):
    """From 0.8 to 2 times that of the robot, as the parameter tempo."""
    envelope, slow = CAPABILITIES.envelope, Twist(0.01, 0.0, 0.0)
    found = envelope.limit(CAPABILITIES.gaits["tripod"], HEIGHT, 1.0, slow, tempo)
    scale = found.swing_time / NOMINAL
    assert found.twist == slow and 0.8 - 1e-9 <= scale <= 2.0 + 1e-9
    assert abs(scale - tempo) == pytest.approx(min(abs(each - tempo) for each in SWING_TIME_SCALES))
    assert SWING_TIME_SCALES[0] == 0.8 and SWING_TIME_SCALES[-1] == 2.0 and 1.0 in SWING_TIME_SCALES
    assert all(1.05 < after / before < 1.2 for before, after in pairwise(SWING_TIME_SCALES))


def test_at_rest_nothing_limits_and_the_fastest_of_all_gaits_is_the_selection_of_auto():
    envelope, fastest = CAPABILITIES.envelope, CAPABILITIES.selection(AUTO).fastest
    assert envelope.limit(fastest, HEIGHT, 1.0, ZERO).twist == ZERO
    speeds = {name: envelope.maxima(gait, HEIGHT, 1.0).vx for name, gait in CAPABILITIES.gaits.items()}
    assert speeds[fastest.name] == max(speeds.values())
