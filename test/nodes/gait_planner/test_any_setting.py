# SPDX-License-Identifier: Apache-2.0
"""Laws over all floats: every number of a parameter is used within its bounds, or refused in a sentence."""

import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.drives import DT, standing_planner

from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.workspace.twist_limits import AxisLimits, TwistLimits
from hexapod_control.nodes.gait_planner.settings import PlannerSettings
from hexapod_control.nodes.gamepad.settings import GamepadSettings
from hexapod_control.nodes.imu_driver.settings import ImuDriverSettings
from hexapod_control.nodes.mujoco_sim.settings import SimulatorSettings
from hexapod_control.nodes.odometry.settings import OdometrySettings
from hexapod_control.nodes.servo_driver.settings import DriverSettings
from hexapod_control.nodes.teleop.settings import TeleopSettings
from hexapod_control.nodes.web.settings import WebSettings
from hexapod_control.ros.parameters import ParameterError, build, table

ALL_SETTINGS = (
    PlannerSettings,
    DriverSettings,
    SimulatorSettings,
    TeleopSettings,
    WebSettings,
    OdometrySettings,
    GamepadSettings,
    ImuDriverSettings,
)
NUMBERS = [(kind, row) for kind in ALL_SETTINGS for row in table(kind) if type(row.default) is float]
SPECIAL = (0.0, -0.0, 5e-324, -5e-324, 2.2e-308, 1e-200, 1e-12, 1e-7, -1e-7, 9.9e-4, 1e-3, -1e-3, 1e308, -1e308)
WALKING = standing_planner("phantomx")
WALKING.command(Twist(0.05, 0.02, 0.1))
MAX_JUMP_RAD = 0.4  # of a joint in a tick of DT


def around(row):
    """Floats at, next to and beyond the bounds of a parameter, and special ones."""
    bounds = row.quantity.lower, row.quantity.upper
    near = [math.nextafter(float(value), way) for value in bounds for way in (-math.inf, math.inf)]
    return (*SPECIAL, *bounds, *near, math.inf, -math.inf, math.nan, sys.float_info.max)


def accepted(kind, row, value):
    """The settings with this value; None if it is refused in one line."""
    try:
        return build(kind, {each.name: each.default for each in table(kind)} | {row.name: row.value(value)})
    except ParameterError as error:
        assert row.name in str(error) and str(error).isprintable() and len(str(error)) < 300
        assert any(part in str(error) for part in (" must be in ", " must be 0 or at least "))
        return None


def walks(planner, ticks):
    """Ticks with finite targets that follow each other without a jump."""
    joints = planner.view.joint_angles
    for _ in range(ticks):
        plan = planner.step(DT)
        assert all(map(math.isfinite, plan.twist)) and abs(plan.joint_angles - joints).max() < MAX_JUMP_RAD
        joints = plan.joint_angles


@pytest.mark.parametrize(("kind", "row"), NUMBERS, ids=[f"{kind.__name__} {row.name}" for kind, row in NUMBERS])
def test_every_number_at_the_bounds_of_a_parameter_is_used_or_refused(kind, row):
    for value in around(row):
        settings = accepted(kind, row, float(value))
        if settings is None:
            continue
        used = row.value(float(value))
        assert math.isnan(used) or used == 0.0 or abs(used) >= 1e-9
        if kind is PlannerSettings and row.live:
            planner = WALKING.copy()
            planner.change_settings(
                limits=settings.limits,
                lift=settings.lift_scale,
                tempo=1.0 if math.isnan(settings.swing_time_scale) else settings.swing_time_scale,
                margin=settings.stability_margin_min,
            )
            walks(planner, 4)


SPEEDS = st.one_of(st.floats(0.0, 10.0), st.floats(0.0, 1e-300), st.just(math.nan))
AXES = st.builds(AxisLimits, SPEEDS, SPEEDS.map(lambda speed: -speed))


@given(AXES, AXES, AXES, st.one_of(st.floats(0.0, 1.0), st.floats(0.0, 1e-300)))
def test_any_velocity_limits_of_the_core_are_walked_within(x, y, z, share):
    planner = WALKING.copy()
    planner.change_settings(limits=TwistLimits(x, y, z), speed_share=share)
    walks(planner, 4)
