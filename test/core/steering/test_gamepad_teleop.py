# SPDX-License-Identifier: Apache-2.0
"""Gamepad states and the resulting commands, without ROS."""

import importlib.util
import math
import random
from xml.sax.saxutils import escape

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.drives import drive, standing_planner, walk_of
from support.paths import ROOT

from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.robot import LIFT_RANGE
from hexapod_control.core.steering.command_priorities import (
    ANNOUNCEMENT_PERIOD_S,
    ANNOUNCEMENT_TIMEOUT_S,
    SOURCES,
    CommandSource,
    highest_priority,
)
from hexapod_control.core.steering.gamepad_map import AXES, BUTTONS, GamepadMap, GamepadState
from hexapod_control.core.steering.gamepad_teleop import (
    GamepadScaling,
    GamepadTeleop,
    RobotStatus,
)

L1, R1, A, B, X, Y, BACK, START = 9, 10, 0, 1, 2, 3, 4, 6
UP, DOWN, LEFT, RIGHT = 11, 12, 13, 14
LX, LY, RX, RY, LT, RT = range(6)
TOP = Twist(0.2, 0.1, 1.0)
GAITS = ("tripod", "ripple", "wave")
MAX_POSE = BodyPose(0.03, 0.03, 0.06, 0.2, 0.2, 0.3)


def pad(*buttons, **axes):
    names = dict(zip(("lx", "ly", "rx", "ry", "lt", "rt"), range(6), strict=True))
    values = [0.0] * 6
    for name, value in axes.items():
        values[names[name]] = value
    return GamepadState(values, [int(k in buttons) for k in range(21)])


def person(scaling=None, **seen):
    """A teleoperation with a gamepad at rest."""
    known = {"maxima": TOP, "gaits": GAITS, "gait": "tripod", "state": "standing", "upright": True, **seen}
    teleop = GamepadTeleop(scaling=scaling or GamepadScaling(), robot=RobotStatus(**known))
    assert teleop.update(pad())[1:] == (None, "", "", None, "", False)
    return teleop


def press(teleop, *buttons, **axes):
    """The commands after buttons are pressed and released while the dead-man button is held."""
    teleop.update(pad(L1))
    commands = teleop.update(pad(L1, *buttons, **axes))
    teleop.update(pad(L1))
    return commands


ANY = st.one_of(st.floats(), st.floats(-1.0, 1.0))


@given(
    st.lists(st.tuples(st.lists(ANY, max_size=8), st.lists(st.integers(-(2**31), 2**31), max_size=16)), max_size=6),
    st.lists(st.floats(0.0, 100.0), min_size=3, max_size=3),
    st.floats(allow_nan=False, allow_infinity=False),
)
@example([([0.0] * 65, [])], [1.0, 1.0, 1.0], 0.0)
def test_for_any_gamepad_input_speeds_and_poses_stay_inside_their_limits(states, maxima, height):
    teleop = person(maxima=Twist(*maxima), pose=NEUTRAL._replace(z=height))
    for axes, buttons in states:
        try:
            commands = teleop.update(GamepadState(axes, [*buttons, *[1] * (12 - len(buttons))]))
        except ValueError as error:
            assert not all(map(math.isfinite, axes)) or len(axes) > 64
            assert " is not finite" in str(error) or " of each are accepted" in str(error)
            assert len(str(error)) < 400
            continue
        assert all(abs(v) <= limit for v, limit in zip(commands.twist or ZERO, maxima, strict=True))
        assert all(abs(v) <= limit for v, limit in zip(commands.pose or NEUTRAL, MAX_POSE, strict=True))
        assert commands.lift is None or LIFT_RANGE[0] <= commands.lift <= LIFT_RANGE[1]


# --- driving --------------------------------------------------------------------------------------------------


def test_sticks_alone_move_nothing():
    teleop = person()
    for value in (-1.0, 0.3, 1.0):
        assert teleop.update(pad(ly=value, lx=value, rx=value)).twist is None
    assert not teleop.driving


def test_with_the_dead_man_full_deflection_is_a_share_of_what_the_robot_can_do_and_turbo_all_of_it():
    teleop = person()
    assert teleop.update(pad(L1, ly=1.0)).twist == pytest.approx((0.5 * TOP.vx, 0.0, 0.0))
    assert teleop.update(pad(L1, R1, ly=-1.0)).twist == pytest.approx((-TOP.vx, 0.0, 0.0))
    assert teleop.update(pad(L1, R1, lx=1.0, rx=-1.0)).twist == pytest.approx((0.0, TOP.vy, -TOP.wz))
    assert teleop.driving


def test_turbo_alone_is_no_dead_man():
    assert person().update(pad(R1, ly=1.0)).twist is None


def test_nothing_moves_until_the_limits_are_known():
    teleop = person(maxima=ZERO, state="")
    commands = teleop.update(pad(L1, ly=1.0))
    assert commands.twist == ZERO
    assert commands.hint == "no gait_state yet"
    assert teleop.update(pad(L1)).hint == ""
    assert person().update(pad(L1, ly=1.0)).hint == ""


def test_an_explicit_scale_overrides_the_limits_of_the_robot():
    teleop = person(GamepadScaling(normal=Twist(0.05, math.nan, math.nan), turbo=Twist(0.15, math.nan, math.nan)))
    assert teleop.update(pad(L1, ly=1.0, lx=1.0)).twist == pytest.approx((0.05, 0.5 * TOP.vy, 0.0))
    assert teleop.update(pad(L1, R1, ly=1.0)).twist == pytest.approx((0.15, 0.0, 0.0))


def test_the_release_of_the_dead_man_sends_one_zero_and_then_nothing():
    teleop = person()
    teleop.update(pad(L1, ly=1.0))
    assert teleop.update(pad(ly=1.0)).twist == ZERO
    assert teleop.update(pad(ly=1.0)).twist is None


@pytest.mark.parametrize("expo", [0.0, 0.5, 1.0])
def test_sticks_are_odd_and_monotone_and_reach_the_ends(expo):
    teleop = person(GamepadScaling(expo=expo))
    values = [k / 20 for k in range(-20, 21)]
    speeds = [teleop.update(pad(L1, R1, ly=value)).twist.vx for value in values]
    assert speeds == sorted(speeds)
    assert speeds == pytest.approx([-speed for speed in reversed(speeds)])
    assert speeds[-1] == pytest.approx(TOP.vx)
    assert abs(speeds[25]) <= 0.25 * TOP.vx + 1e-12


def test_without_a_dead_man_the_sticks_drive_at_once():
    teleop = person(GamepadScaling(dead_man=False))
    assert teleop.update(pad(ly=1.0)).twist.vx > 0.0
    teleop.update(pad(B, ly=1.0))
    assert teleop.update(pad(ly=1.0)).twist is None
    teleop.update(pad())
    assert teleop.update(pad(ly=1.0)).twist.vx > 0.0


# --- stop and loss --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("held", [(), (L1,), (L1, R1)])
def test_stop_works_whether_the_dead_man_is_held_or_not(held):
    teleop = person()
    teleop.update(pad(*held))
    commands = teleop.update(pad(*held, B))
    assert (commands.call, commands.twist) == ("stop", ZERO)


def test_stop_works_in_the_very_first_state():
    assert GamepadTeleop().update(pad(B)).call == "stop"


def test_after_a_stop_the_dead_man_must_be_released_first():
    teleop = person()
    teleop.update(pad(L1, ly=1.0))
    teleop.update(pad(L1, B, ly=1.0))
    for _ in range(5):
        assert teleop.update(pad(L1, ly=1.0)).twist is None
    teleop.update(pad())
    assert teleop.update(pad(L1, ly=1.0)).twist.vx > 0.0


def test_a_lost_gamepad_stops_the_robot_and_one_that_returns_with_the_dead_man_pressed_moves_nothing():
    teleop = person()
    teleop.update(pad(L1, ly=1.0))
    assert teleop.lost().twist == ZERO
    assert teleop.lost().twist is None
    for _ in range(5):
        commands = teleop.update(pad(L1, A, START, UP, RIGHT, ly=1.0))
        assert commands[:5] == (None, None, "", "", None)
    teleop.update(pad())
    assert teleop.update(pad(L1, ly=1.0)).twist.vx > 0.0


def test_a_dead_man_held_from_the_start_must_be_released_first():
    teleop = GamepadTeleop(robot=RobotStatus(maxima=TOP))
    assert teleop.update(pad(L1, ly=1.0)).twist is None


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_an_axis_that_is_not_finite_is_refused(value):
    with pytest.raises(ValueError, match="not finite"):
        person().update(pad(L1, ly=value))


def test_missing_axes_and_buttons_of_a_gamepad_count_as_at_rest_and_are_reported():
    teleop = person()
    small = GamepadState([0.0, 1.0], [0] * 10)
    twist = teleop.update(small._replace(buttons=[0] * 9 + [1])).twist
    assert twist == pytest.approx((0.5 * TOP.vx, 0.0, 0.0))
    message = " ".join(GamepadMap().missing(small))
    assert "axis_angular.yaw 2 (it has 2 axes)" in message
    assert "next_gait_button 14 (it has 10 buttons)" in message
    assert "enable_button" not in message


# --- axes that do not rest at zero ----------------------------------------------------------------------------


def seen(axes, *buttons, at=0.0):
    return GamepadState(axes, [int(k in buttons) for k in range(21)], at)


def commands_over(teleop, seconds, axes, *buttons, start=0.0):
    """The commands while a driver repeats a state."""
    return [teleop.update(seen(axes, *buttons, at=start + 0.05 * k)) for k in range(round(20 * seconds))]


@given(st.lists(st.floats(-1.0, 1.0), min_size=2, max_size=8), st.booleans(), st.booleans())
def test_wherever_the_axes_rest_the_dead_man_alone_moves_nothing(rest, pose, turbo):
    teleop = GamepadTeleop(robot=RobotStatus(maxima=TOP, gaits=GAITS, gait="tripod", state="standing", upright=True))
    held = (L1, R1) if turbo else (L1,)
    commands_over(teleop, 0.2, rest)
    teleop.update(seen(rest, *held, *((Y,) if pose else ()), at=0.2))
    for commands in commands_over(teleop, 0.5, rest, *held, start=0.25):
        assert (commands.twist or ZERO).is_zero and (commands.pose or NEUTRAL) == NEUTRAL
        assert commands.lift is None


@pytest.mark.parametrize("rest", [1.0, -1.0])
@pytest.mark.parametrize("held", [(), (L1,)], ids=["without", "with_dead_man"])
def test_a_trigger_on_the_axis_of_a_stick_turns_nothing_before_during_and_after_a_pull(rest, held):
    teleop = GamepadTeleop(robot=RobotStatus(maxima=TOP))
    commands_over(teleop, 0.5, [0.0, 0.0, rest])
    pull = [rest * (1.0 - 2.0 * k / 10) for k in range(11)]
    for k, value in enumerate((*pull, *reversed(pull), rest)):
        assert (teleop.update(seen([0.0, 0.0, value], *held, at=0.5 + 0.02 * k)).twist or ZERO).is_zero
    for commands in commands_over(teleop, 0.5, [0.0, 0.0, rest], L1, start=1.0):
        assert commands.twist.is_zero
    assert "axis 2 (axis_angular.yaw) is at" in teleop.ignored and "let it return to its center" in teleop.ignored
    assert teleop.update(seen([0.0, 1.0, rest], L1, at=2.0)).twist == pytest.approx((0.5 * TOP.vx, 0.0, 0.0))


@pytest.mark.parametrize("held", [(), (L1,)], ids=["without", "with_dead_man"])
def test_a_stick_that_was_held_at_the_start_counts_once_it_rested_at_its_center(held):
    teleop = GamepadTeleop(robot=RobotStatus(maxima=TOP))
    commands_over(teleop, 0.5, [0.0, 0.0, 0.7])
    assert teleop.update(seen([0.0, 0.0, 0.7], L1, at=0.5)).twist.is_zero
    commands_over(teleop, 0.5, [0.0, 0.0, 0.02], *held, start=0.6)
    assert teleop.update(seen([0.0, 0.0, 1.0], L1, at=1.2)).twist == pytest.approx((0.0, 0.0, 0.5 * TOP.wz))
    assert teleop.ignored == ""


def test_a_stick_that_drifts_is_centered_a_little_away_from_zero_and_ignored_farther_away():
    teleop = person()
    assert teleop.update(pad(L1, rx=0.09)).twist.is_zero and teleop.ignored == ""
    commands_over(teleop, 2.5, [0.0, 0.0, 0.3], start=1.0)
    assert teleop.update(seen([0.0, 0.0, 0.3], L1, at=4.0)).twist.is_zero and "axis 2" in teleop.ignored


def test_without_a_dead_man_a_trigger_on_the_axis_of_a_stick_neither_drives_nor_blocks_the_other_sticks():
    teleop = GamepadTeleop(scaling=GamepadScaling(dead_man=False), robot=RobotStatus(maxima=TOP))
    commands_over(teleop, 0.5, [0.0, 0.0, 1.0])
    assert teleop.update(seen([0.0, 1.0, 1.0], at=1.0)).twist == pytest.approx((0.5 * TOP.vx, 0.0, 0.0))


# --- the rest of the map --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("upright", "call"), [(False, "stand"), (True, "sit")])
def test_start_stands_up_or_sits_down_with_a_zero(upright, call):
    teleop = person(upright=upright)
    commands = press(teleop, START, ly=1.0)
    assert (commands.call, commands.twist) == (call, ZERO)


def test_x_plays_the_motion_of_the_gamepad_once_while_the_dead_man_is_held():
    teleop = person()
    assert press(teleop, X).motion and not teleop.update(pad(L1)).motion
    assert not teleop.update(pad(X)).motion


@pytest.mark.parametrize("button", [A, X, Y, START, BACK, UP, DOWN, LEFT, RIGHT])
def test_without_the_dead_man_button_other_buttons_only_give_a_hint(button):
    commands = person().update(pad(button))
    assert commands[:5] == (None, None, "", "", None)
    assert "dead-man" in commands.hint


def test_in_pose_mode_both_sticks_move_the_body_and_the_walk_ends_with_one_zero():
    teleop = person(GamepadScaling(pose=BodyPose(0.03, 0.02, 0.05, 0.1, 0.2, 0.3)))
    teleop.update(pad(L1, ly=1.0))
    commands = teleop.update(pad(L1, Y, ly=1.0, lx=-1.0, rx=1.0, ry=1.0))
    assert commands.twist == ZERO
    assert commands.pose == pytest.approx(BodyPose(0.03, -0.02, 0.0, 0.0, 0.2, 0.3))
    commands = teleop.update(pad(L1, R1, rx=1.0))
    assert commands.twist is None
    assert commands.pose == pytest.approx(BodyPose(roll=-0.1, yaw=0.3))  # to the left is left side down
    assert not teleop.driving


def test_the_pose_stays_when_the_dead_man_is_released_and_walking_continues():
    teleop = person()
    teleop.update(pad(L1, Y, ly=1.0))
    assert teleop.update(pad()).pose is None
    commands = teleop.update(pad(L1, A, ly=1.0))
    assert commands.pose is None
    assert commands.twist.vx > 0.0


def test_the_same_pose_is_sent_once():
    teleop = person()
    press(teleop, Y)
    assert teleop.update(pad(L1, ly=0.5)).pose is not None
    assert teleop.update(pad(L1, ly=0.5)).pose is None


def test_back_requests_the_neutral_pose_every_time():
    teleop = person()
    press(teleop, UP)
    assert press(teleop, BACK).pose == NEUTRAL
    assert press(teleop, BACK).pose == NEUTRAL


def test_the_height_changes_by_steps_within_bounds_and_goes_back_from_where_the_robot_is():
    feel = GamepadScaling(height_step=0.01, pose=BodyPose(0.03, 0.03, 0.025, 0.2, 0.2, 0.3))
    teleop = person(feel)
    heights = [press(teleop, UP).pose.z for _ in range(2)]
    assert heights == pytest.approx([0.01, 0.02])
    teleop.robot.pose = BodyPose(z=0.012)  # it could not follow any further
    assert press(teleop, UP).pose.z == pytest.approx(0.025)
    assert press(teleop, UP).pose is None
    assert press(teleop, DOWN).pose.z == pytest.approx(0.002)


def test_by_default_the_height_changes_by_5_mm_and_the_body_leans_within_the_limits_of_pose_mode():
    teleop = person()
    assert press(teleop, UP).pose.z == pytest.approx(0.005)
    assert press(teleop, DOWN).pose.z == pytest.approx(-0.005)  # from where the robot is: it has not moved yet
    assert press(teleop, BACK).pose == NEUTRAL
    assert [press(teleop, DOWN).pose.z for _ in range(3)] == pytest.approx([-0.005, -0.01, -0.015])
    assert press(teleop, BACK).pose == NEUTRAL
    press(teleop, Y)
    teleop.update(pad(L1, ly=1.0, lx=1.0, rx=-1.0, ry=-1.0))
    found = teleop.update(pad(L1, R1, ly=1.0, lx=1.0, rx=-1.0, ry=-1.0)).pose
    assert found == pytest.approx(BodyPose(0.03, 0.03, 0.0, 0.2, -0.2, -0.3))


def test_the_neutral_pose_is_requested_in_pose_mode_as_well_whatever_the_sticks_show():
    teleop = person()
    teleop.update(pad(L1, Y, ly=1.0))
    assert teleop.update(pad(L1, BACK, ly=1.0)).pose == NEUTRAL
    assert teleop.update(pad(L1, ly=1.0)).pose == pytest.approx(BodyPose(x=0.03))


def test_gaits_are_cycled_through_even_faster_than_the_robot_changes():
    teleop = person()
    assert [press(teleop, RIGHT).gait for _ in range(4)] == ["ripple", "wave", "tripod", "ripple"]
    assert press(teleop, LEFT).gait == "tripod"
    teleop.robot.gait = "wave"  # changed from elsewhere
    assert press(teleop, LEFT).gait == "ripple"


def test_without_known_gaits_no_gait_is_requested():
    assert press(person(gaits=()), RIGHT).gait == ""


@pytest.mark.parametrize("rest", [0.0, 1.0])
def test_triggers_change_the_step_height_once_per_pull_within_bounds(rest):
    teleop = GamepadTeleop(robot=RobotStatus(maxima=TOP))
    teleop.update(pad(lt=rest, rt=rest))

    def pull(**axes):
        teleop.update(pad(L1, lt=rest, rt=rest))
        values = {"lt": rest, "rt": rest, **axes}
        first, second = teleop.update(pad(L1, **values)).lift, teleop.update(pad(L1, **values)).lift
        assert second is None
        return first

    assert pull(rt=-1.0) == 1.0
    assert [pull(lt=-1.0) for _ in range(10)] == [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.1]
    assert pull(rt=-1.0) == 0.2
    assert pull(rt=-0.49) is None and pull(rt=-0.5) == 0.3


def test_for_any_states_nothing_moves_without_a_fresh_dead_man_or_beyond_the_limits():
    rng = random.Random(5)
    teleop = GamepadTeleop(robot=RobotStatus(maxima=TOP, gaits=GAITS, gait="tripod", state="standing", upright=True))
    released = False
    for _ in range(5000):
        if rng.random() < 0.02:
            teleop.lost()
            released = False
        buttons = [int(rng.random() < (0.7 if k == L1 else 0.1)) for k in range(rng.choice((0, 8, 21)))]
        axes = [rng.choice((-1.5, -1.0, rng.uniform(-1.0, 1.0), 0.0, 1.0, 1e30)) for _ in range(rng.choice((0, 3, 6)))]
        state = GamepadState(axes, buttons)
        commands = teleop.update(state)
        held = state.button(L1)
        released = (released and commands.call == "") or not held
        if commands.twist is not None and not commands.twist.is_zero:
            assert held
            assert released
            assert all(abs(value) <= most + 1e-12 for value, most in zip(commands.twist, TOP, strict=True))
        if not held:
            assert commands.call in ("", "stop")
            assert (commands.pose, commands.gait, commands.lift) == (None, "", None)
        if commands.call:
            released = False


def test_the_numbers_of_the_controls_are_those_of_the_game_controller_node():
    assert {name: row.number for name, row in BUTTONS.items()} == {
        "enable_button": 9,
        "enable_turbo_button": 10,
        "stop_button": 1,
        "walk_button": 0,
        "pose_button": 3,
        "stand_button": 6,
        "reset_pose_button": 4,
        "motion_button": 2,
        "raise_button": 11,
        "lower_button": 12,
        "previous_gait_button": 13,
        "next_gait_button": 14,
    }
    assert {name: row.number for name, row in AXES.items()} == {
        "axis_linear.x": 1,
        "axis_linear.y": 0,
        "axis_angular.yaw": 2,
        "axis_pose.x": 1,
        "axis_pose.y": 0,
        "axis_pose.roll": 2,
        "axis_pose.pitch": 3,
        "axis_pose.yaw": 2,
        "axis_lift_less": 4,
        "axis_lift_more": 5,
    }
    live = [name for name, row in {**BUTTONS, **AXES}.items() if not row.dead_man]
    assert live == ["enable_button", "stop_button"]
    assert GamepadMap().buttons == {name: row.number for name, row in BUTTONS.items()}
    assert GamepadMap().axes == {name: row.number for name, row in AXES.items()}


def test_a_pad_has_the_controls_up_to_its_last_one_and_axes_end_at_one():
    state = GamepadState([0.5, -3.0, 3.0], [0, 1])
    assert [state.axis(k) for k in range(-2, 4)] == [0.0, 0.0, 0.5, -1.0, 1.0, 0.0]
    assert [state.button(k) for k in range(-2, 3)] == [False, False, False, True, False]
    rows = list(GamepadMap({"a": 1, "b": 2}, {"c": 2, "d": 3}).missing(state))
    assert rows == ["b 2 (it has 2 buttons)", "d 3 (it has 3 axes)"]


def test_a_state_may_have_64_axes_and_64_buttons():
    person().update(GamepadState([0.0] * 64, [0] * 64))
    for axes, buttons in ((65, 0), (0, 65)):
        with pytest.raises(
            ValueError, match=f"it has {axes} axes and {buttons} buttons, at most 64 of each are accepted"
        ):
            person().update(GamepadState([0.0] * axes, [0] * buttons))
    with pytest.raises(ValueError, match="axis 1 is not finite"):
        person().update(GamepadState([0.0, math.nan, 0.0, math.inf], []))


def test_every_control_has_its_own_button_and_a_sentence():
    numbers = [row.number for row in BUTTONS.values()]
    assert len(set(numbers)) == len(numbers)
    assert all(row.action and row.label for row in (*BUTTONS.values(), *AXES.values()))


# --- several sources ------------------------------------------------------------------------------------------


def test_the_active_source_has_the_highest_priority_and_table_order_breaks_ties():
    assert highest_priority(["navigation", "keyboard"]) == "keyboard"
    assert highest_priority(["tablet", "keyboard", "joystick"]) == "joystick"
    assert highest_priority(["unknown", "navigation"]) == "navigation"
    assert highest_priority(["b", "a"]) == "a"
    assert highest_priority([]) == ""


def test_a_source_announces_itself_four_times_per_second_and_for_one_second():
    assert (ANNOUNCEMENT_PERIOD_S, ANNOUNCEMENT_TIMEOUT_S) == (0.25, 1.0)


def test_every_source_stops_within_half_a_second_of_silence():
    assert {source.timeout for source in SOURCES.values()} == {0.5}
    for timeout in (0.0, 10.1, math.inf, math.nan):
        with pytest.raises(ValueError, match="timeout must be in"):
            CommandSource("x", "x_vel", 1, timeout)
    for priority in (-1, 256):
        with pytest.raises(ValueError, match="priority must be in"):
            CommandSource("x", "x_vel", priority, 1.0)
    for priority, timeout in ((0, 0.001), (255, 10.0)):
        assert CommandSource("x", "x_vel", priority, timeout).timeout == timeout


# --- step height ----------------------------------------------------------------------------------------------


def tops(planner, share, seconds=1.8):
    """Highest point above the ground [m] of each foot's swings after a change of the step height, speeds checked."""
    planner.change_settings(lift=share)
    highest, before = [0.0] * 6, None
    for plan in drive(planner, Twist(0.08, 0.0, 0.0), seconds):
        heights = [foot.z for foot in walk_of(planner).motion.feet]
        highest = [max(a, b) for a, b in zip(highest, heights, strict=True)]
        if before is not None:
            assert (
                max(abs(a - b) for a, b in zip(heights, before, strict=True)) <= 0.25 * planner.robot.walk.lift_height
            )
        before = heights
        assert plan.unreached is None
    return highest


def test_a_lower_step_height_applies_from_the_next_swing_without_a_jump():
    planner = standing_planner("phantomx")
    walk = planner.robot.walk
    for share in (1.0, 0.4, 0.7):
        tops(planner, share, 0.37)  # swings already under way do not change
        assert tops(planner, share) == pytest.approx([share * walk.lift_height + walk.preload] * 6, rel=0.03)


def test_the_twist_mux_file_agrees_with_the_table():
    from ruamel.yaml import YAML

    from hexapod_control.config.shipped_files import share

    values = YAML(typ="safe").load(share("config", "twist_mux.yaml"))["/**/twist_mux"]["ros__parameters"]
    assert values["use_stamped"] is False
    rows = [(name, row["topic"], row["priority"], row["timeout"]) for name, row in values["topics"].items()]
    assert rows == [(row.name, row.topic, row.priority, row.timeout) for row in SOURCES.values()]


def test_the_drawing_of_the_gamepad_map_agrees_with_the_table():
    path = ROOT / "docs" / "figures" / "drawings" / "gamepad.py"
    spec = importlib.util.spec_from_file_location("gamepad_picture", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    text = script.PICTURE.read_text(encoding="utf-8")
    assert text == script.picture(), "python docs/figures/drawings/gamepad.py writes docs/images/gamepad.svg anew"
    assert all(escape(row.action) in text for row in (*BUTTONS.values(), *AXES.values()))


def test_the_table_of_the_documentation_agrees_with_the_code():
    rows = [
        line.split("|")[2:6] for line in (ROOT / "docs" / "teleop.md").read_text().splitlines() if "_vel` |" in line
    ]
    documented = [tuple(cell.strip(" `s") if k < 3 else cell.strip(" s") for k, cell in enumerate(row)) for row in rows]
    assert documented == [(row.name, row.topic, str(row.priority), str(row.timeout)) for row in SOURCES.values()]
