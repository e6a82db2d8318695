# SPDX-License-Identifier: Apache-2.0
"""The step dots of the calibration: feet are put on printed dots, by hand or by jogging."""

import functools
import math

import numpy as np
import pytest
from support.kits.calibrating_user import User, row_of
from support.kits.memory_wire import Kit
from support.phantomx import LEGS, robot

from hexapod_control.servos.calibration.foot_dots import dots, femur_axis_height, joints_on
from hexapod_control.servos.calibration.guide import CalibrationGuide

ZERO = math.radians(2.0)  # one sigma
HELD_WRONG = math.radians(6.0)
GOOD = 0.9  # [deg] rms
NAMES = {"A": 0, "B": 1}


@functools.cache
def sheet():
    """Ball centers on the dots of phantomx."""
    return dots(robot())


def rms(angles):
    """In degrees."""
    return math.degrees(math.sqrt(float(np.square(angles).mean())))


class DotUser(User):
    """Puts feet on dots with a hand as good as `error` [m]; `slips` are dots at which a femur is held wrong once."""

    def __init__(self, kit, answers=(), error=1e-3, scale=1.0, higher=0.0, slips=()):
        super().__init__(kit, [("dots_printed", "y"), *answers])
        self.random = np.random.default_rng(5)
        self.error, self.slips = error, list(slips)
        self.feet = sheet() * (scale, scale, 1.0) - (0.0, 0.0, higher)

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
