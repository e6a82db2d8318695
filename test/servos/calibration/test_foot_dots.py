"""Feet on printed dots: the zeros of the joints follow, and a leg that was not on its dots is named."""

import functools
import math

import numpy as np
import pytest
from support.kits.calibrating_user import User, row_of
from support.kits.memory_wire import Kit
from support.phantomx import LEGS, robot

from hexapod_control.config.robots.robot_file import load
from hexapod_control.servos.calibration.foot_dots import (
    BODY_ERROR,
    dots,
    femur_axis_height,
    fit_zeros,
    joints_on,
    misplaced_leg,
)
from hexapod_control.servos.calibration.guide import CalibrationGuide

DEGREE = math.pi / 180.0
ZERO = 2.0 * DEGREE  # one sigma
HELD_WRONG = 6.0 * DEGREE
GOOD = 0.9  # [deg] rms
NAMES = {"A": 0, "B": 1}


def rms(angles):
    """In degrees."""
    return math.sqrt(float(np.square(angles).mean())) / DEGREE


@functools.cache
def sheet(name):
    """A robot and its dots."""
    tried = load(name).robot
    return tried, dots(tried)


class Builder:
    """Puts the feet of a robot on its dots by hand; the servos have hidden zeros, and the body lies a little off."""

    def __init__(self, seed, error, name="phantomx"):
        random = np.random.default_rng(seed)
        self.robot, self.feet = sheet(name)
        self.zeros = random.normal(0.0, ZERO, self.feet.shape[1:])
        shift, turn = np.split(random.normal(0.0, BODY_ERROR), 2)
        put = self.feet + random.normal(0.0, (error, error, error / 2.0), self.feet.shape)
        seen = [each + shift + np.cross(turn, each) for each in put]
        self.true = np.array([joints_on(self.robot, each) for each in seen])

    @property
    def read(self):
        return self.true - self.zeros

    def found(self):
        return fit_zeros(self.robot, self.feet, self.read)

    def named(self):
        return misplaced_leg(self.robot, self.feet, self.read)


def test_both_dots_are_in_reach_of_all_legs_inside_their_limits():
    for name in ("phantomx", "freenove", "quadruped", "octopod", "chica", "inline"):
        tried, places = sheet(name)
        limits = np.array([[(joint.lower, joint.upper) for joint in leg.joints] for leg in tried.legs])
        for feet in places:
            joints = joints_on(tried, feet)
            assert (joints > limits[..., 0]).all() and (joints < limits[..., 1]).all(), name


@pytest.mark.parametrize("name", ["phantomx", "freenove", "octopod"])
def test_feet_a_millimetre_off_their_dots_find_the_zeros_to_less_than_a_degree(name):
    builders = [Builder(seed, 1e-3, name) for seed in range(30)]
    fits = [builder.found() for builder in builders]
    errors = [fit.zeros - builder.zeros for fit, builder in zip(fits, builders, strict=True)]
    assert rms(errors) <= GOOD
    assert rms([fit.deviations for fit in fits]) == pytest.approx(rms(errors), rel=0.25)


def test_no_leg_is_named_by_mistake_in_two_hundred_trials():
    assert [builder.named() for builder in (Builder(seed, 1e-3 + 5e-6 * seed) for seed in range(200))] == [None] * 200


@pytest.mark.parametrize("joint", range(3))
def test_a_leg_held_six_degrees_wrong_on_one_of_its_dots_is_named(joint):
    for seed in range(24):
        builder = Builder(seed, 1e-3)
        leg = seed % 6
        builder.true[seed % 2, leg, joint] += HELD_WRONG * (-1) ** (seed // 2)
        assert builder.named()[0] == leg


def test_one_dot_a_leg_gives_zeros_with_a_larger_deviation_and_names_no_leg():
    builder = Builder(1, 1e-3)
    one = fit_zeros(builder.robot, builder.feet[0], builder.read[0])
    assert rms(one.deviations) > rms(builder.found().deviations)
    assert not one.misses.any()
    assert misplaced_leg(builder.robot, builder.feet[0], builder.read[0]) is None


# --- the dialog --------------------------------------------------------------------------------------


class DotUser(User):
    """Puts feet on dots with a hand as good as `error` [m]; `slips` are dots at which a femur is held wrong once."""

    def __init__(self, kit, answers=(), error=1e-3, scale=1.0, higher=0.0, slips=()):
        super().__init__(kit, [("dots_printed", "y"), *answers])
        self.random = np.random.default_rng(5)
        self.error, self.slips = error, list(slips)
        self.feet = sheet("phantomx")[1] * (scale, scale, 1.0) - (0.0, 0.0, higher)

    def pose(self, dot):
        leg = int(dot[1:]) - 1
        put = self.feet[NAMES[dot[0]]] + self.random.normal(0.0, (self.error, self.error, self.error / 2.0))
        joints = np.array(joints_on(robot(), put)[leg])
        if dot in self.slips:
            self.slips.remove(dot)
            joints[1] += HELD_WRONG
        return leg, joints

    def on_put_foot_on_dot(self, prompt, meanwhile):
        leg, joints = self.pose(prompt.text.values["dot"])
        for row, angle in enumerate(joints, 3 * leg):
            self.kit.turn(row, angle - self.kit.angle(row))

    def on_leg_goes_to_dot(self, prompt, meanwhile):
        self.wanted = self.pose(prompt.text.values["dot"])[1]

    def on_jog(self, prompt, meanwhile):
        row = row_of(prompt)
        step = round(self.kit.mounted[row].raw(self.wanted[row % 3]) - prompt.text.values["position"])
        return f"{step:+d}" if step else ""


def calibrated(user):
    """Errors [rad] (18,) of the calibration after the dots."""
    kit = user.kit
    guide = CalibrationGuide(robot(), kit.settings.joints, kit.jogger(kit.bus()), user)
    guide.run(kit.settings.ids, ["dots"])
    return np.array([new.angle(true.raw(0.0)) for new, true in zip(guide.joints, kit.mounted, strict=True)])


def crooked(protocol):
    zeros = np.random.default_rng(3).normal(0.0, ZERO, 18)
    return Kit(protocol, changes=[(row, {"trim": float(zero)}) for row, zero in enumerate(zeros)])


@pytest.mark.parametrize("protocol", ["feetech_st", "ssc32"])
def test_dots_calibrate_servos_that_report_positions_and_those_that_do_not(protocol):
    user = DotUser(crooked(protocol))
    assert rms(calibrated(user)) <= GOOD
    assert not user.shown("leg_beside_dots")
    assert len(user.shown("use_zeros")) == 1


def test_a_sheet_printed_too_small_and_a_body_propped_higher_are_measured():
    height = f"{1e3 * femur_axis_height(robot()) + 8.0:.0f} mm"
    answers = [("ruler_on_sheet", "1 m"), ("ruler_on_sheet", "97"), ("femur_above_sheet", height)]
    user = DotUser(crooked("feetech_st"), answers, scale=0.97, higher=0.008)
    assert rms(calibrated(user)) <= GOOD
    assert len(user.shown("no_length")) == 1


def test_a_leg_beside_its_dot_is_named_and_measured_again():
    user = DotUser(crooked("feetech_st"), slips=["B5"])
    assert rms(calibrated(user)) <= GOOD
    assert [each.values["leg"].kind for each in user.shown("leg_beside_dots")] == [LEGS[4]]
    assert len(user.shown("put_foot_on_dot B5")) == len(user.shown("put_foot_on_dot A5")) == 2
    assert len(user.shown("put_foot_on_dot B4")) == 1


def test_a_leg_that_is_not_measured_again_keeps_its_calibration():
    user = DotUser(crooked("feetech_st"), [("leg_beside_dots", "n")], slips=["A1"])
    before = np.array([joint.trim for joint in user.kit.mounted])
    assert calibrated(user)[:3] == pytest.approx(-before[:3], abs=1e-9)


def test_a_joint_that_the_eye_has_held_wrong_is_named():
    kit = Kit(changes=[(10, {"trim": HELD_WRONG})])
    user = DotUser(kit)
    assert rms(calibrated(user)) <= GOOD
    assert [each.values["joint"].kind for each in user.shown("joint_was_off")] == [f"{LEGS[3]}_femur"]


def test_a_zero_of_two_teeth_is_doubted_and_enter_leaves_the_calibration_as_it_is():
    user = DotUser(Kit(changes=[(7, {"trim": math.radians(28.8)})]))
    assert calibrated(user)[7] == pytest.approx(-math.radians(28.8))
    assert [each.values["joint"].kind for each in user.shown("zero_too_far")] == [f"{LEGS[2]}_femur"]


def test_without_a_printed_sheet_enter_leaves_the_calibration_as_it_is():
    user = User(crooked("feetech_st"))
    calibrated(user)
    assert len(user.asked) == 1
