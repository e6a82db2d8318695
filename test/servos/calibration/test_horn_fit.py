# SPDX-License-Identifier: Apache-2.0
"""Joints whose servos do not reach their limits: told once for all, with the teeth to move, or narrowed."""

import math
from dataclasses import replace

import pytest
from support.kits.calibrating_user import User
from support.kits.memory_wire import Kit
from support.phantomx import robot

from hexapod_control.config.errors import RobotFileError
from hexapod_control.servos.calibration.calibration_state import REST_POSE, CalibrationState
from hexapod_control.servos.calibration.steps.horn_fit import TOOTH, fit_horns, teeth_to_move

TURN = math.pi  # of the servos
HALF = math.radians(80.0)  # of the limits


def mounted(row, shift=0.0, half=HALF):
    """A joint whose servo is in its middle in the rest pose, but for a shift of its horn."""
    scale = Kit("ssc32").world.scale
    rest = REST_POSE[row % 3]
    return replace(
        Kit("ssc32").settings.joints[row],
        **{"center": float(scale.center), "q_center": rest + shift, "lower": rest - half, "upper": rest + half},
        units_per_rad=scale.per_rad,
        units_per_rad_neg=scale.per_rad,
    )


def fitted(shifts, answers, accept=lambda joints: None):
    """The state and its user after the fit of horns that are shifted by angles [rad], by row."""
    kit = Kit("ssc32")
    user = User(kit, answers)
    joints = [mounted(row, shifts.get(row, 0.0)) for row in range(18)]
    state = CalibrationState(robot(), joints, kit.jogger(kit.bus()), user, accept)
    again = []

    def measure_again(rows):
        again.append(list(rows))
        for row in rows:
            state.joints[row] = mounted(row)

    fit_horns(state, measure_again)
    return state, user, again


def test_joints_that_do_not_reach_their_limits_are_asked_about_once_and_narrowed_in_the_file():
    state, user, again = fitted({4: 3.0 * TOOTH, 11: -TOOTH}, [])
    assert len(user.shown("fit_limits 2")) == 1 and not again
    assert user.shown("narrow_reach_horn left_middle_femur 3 foot_down")
    assert user.shown("narrow_reach_horn right_front_tibia one_tooth foot_up_and_out")
    limits = [math.degrees(end) for row in (4, 11) for end in (state.joints[row].lower, state.joints[row].upper)]
    assert limits == pytest.approx([-90.0 + 43.2, 80.0, -170.0, -90.0 + 90.0 - 14.4], abs=0.01)
    assert [k for k in range(18) if state.joints[k] != mounted(k)] == [4, 11]


def test_a_horn_that_is_put_on_again_is_measured_again_and_keeps_the_limits():
    state, user, again = fitted({4: 3.0 * TOOTH}, [("fit_limits", "h")])
    assert again == [[4]] and state.joints[4] == mounted(4)
    assert len(user.shown("fit_limits")) == 1


def test_limits_with_which_the_robot_could_not_walk_are_refused_until_the_horn_is_put_on_again():
    def accept(joints):
        raise RobotFileError("mine.yaml", None, "", "cannot stand")

    _, user, again = fitted({4: 3.0 * TOOTH}, [("fit_limits", ""), ("fit_limits", "horns")], accept)
    assert user.shown("aside limits_refused") and again == [[4]]


@pytest.mark.parametrize("count", [-4, -1, 0, 1, 4])
def test_the_teeth_to_move_are_those_that_the_horn_is_off(count):
    assert teeth_to_move(mounted(1, count * TOOTH)) == -count


def test_a_joint_that_asks_for_more_than_its_servo_turns_gains_nothing_by_its_horn():
    assert teeth_to_move(mounted(1, 0.0, half=TURN)) == 0
