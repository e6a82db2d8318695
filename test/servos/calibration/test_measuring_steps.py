# SPDX-License-Identifier: Apache-2.0
"""The steps of the calibration that measure: rest pose, scale and limits."""

import math
from dataclasses import replace

import pytest
from support.kits.calibrating_user import User, row_of, run
from support.kits.memory_wire import Kit
from support.phantomx import LEGS

from hexapod_control.core.names import JOINTS
from hexapod_control.servos.calibration.calibration_state import LIMIT_CLEARANCE, REST_POSE

MARGIN, STOPS = math.radians(3.0), (-0.7, 0.9)  # [rad] from the centers


class Measurer(User):
    """Turns joints to the requested marks and stops."""

    def on_hold_pose(self, prompt, meanwhile):
        self.turn_to(row_of(prompt), math.radians(prompt.text.values["pose"].values["degrees"]))

    def on_turn_to_stops(self, prompt, meanwhile):
        center = self.kit.mounted[row_of(prompt)].q_center
        for stop in STOPS:
            self.turn_to(row_of(prompt), center + stop)
            meanwhile()
        self.turn_to(row_of(prompt), center + sum(STOPS) / 2.0)

    def turn_to(self, row, angle):
        self.kit.turn(row, angle - self.kit.angle(row))


# --- the rest pose ------------------------------------------------------------------------------------------


def test_the_positions_in_the_rest_pose_are_the_centers_at_its_angles():
    kit = Kit(changes=[(7, {"center": 2100.0}), (11, {"direction": -1})])
    rest = [
        min(max(REST_POSE[row % 3], j.lower + LIMIT_CLEARANCE), j.upper - LIMIT_CLEARANCE)
        for row, j in enumerate(kit.mounted)
    ]
    for row, angle in enumerate(rest):
        kit.turn(row, angle - kit.angle(row))
    joints = run(kit, User(kit), ["rest"], [replace(joint, trim=0.2) for joint in kit.settings.joints])
    assert [(j.q_center, j.trim) for j in joints] == [(pytest.approx(angle), 0.0) for angle in rest]
    centers = [joint.raw(angle) for joint, angle in zip(kit.mounted, rest, strict=True)]
    assert [joint.center for joint in joints] == pytest.approx(centers, abs=0.51)


# --- scale --------------------------------------------------------------------------------------------------


def test_marks_on_both_sides_give_the_scale_of_each_side_and_mirrored_legs_copy_it():
    changes = [(row, {"units_per_rad": 700.0, "units_per_rad_neg": 600.0}) for row in (0, 1)]
    kit = Kit(changes=changes)
    user = Measurer(kit, [("measure_scale left_front", "y")])
    joints = run(kit, user, ["marks"])
    assert user.shown("measure_scale left_front") and not user.shown("joint_at_angle left_middle_coxa")
    for row in (0, 1):
        assert joints[row].units_per_rad == pytest.approx(700.0, abs=2.0)
        assert joints[row].units_per_rad_neg == pytest.approx(600.0, abs=2.0)
    for row, joint in enumerate(joints):
        found = joints[row % 3]
        assert (joint.units_per_rad, joint.units_per_rad_neg) == (found.units_per_rad, found.units_per_rad_neg)


def test_a_mark_that_fits_no_scale_is_asked_for_again_and_one_without_motion_changes_nothing():
    kit = Kit(changes=[(0, {"units_per_rad": 700.0})])
    answers = [
        ("measure_scale left_front", "y"),
        ("hold_pose left_front_coxa", lambda: kit.turn(0, -0.3) or ""),  # in the wrong direction
        ("hold_pose left_front_femur", ""),
        ("hold_pose left_front_femur", ""),
    ]
    user = Measurer(kit, answers)
    kit.turn(1, kit.mounted[1].q_center - kit.angle(1))
    joints = run(kit, user, ["marks"])
    assert len(user.shown("hold_pose left_front_coxa")) == 3
    assert len(user.shown("unusual_scale")) == 1
    assert joints[0].units_per_rad == pytest.approx(700.0, abs=2.0)
    assert len(user.shown("scale_kept left_front_femur")) == 2
    assert joints[1].units_per_rad == joints[1].units_per_rad_neg == kit.settings.joints[1].units_per_rad


def test_a_joint_with_room_on_one_side_has_one_mark_on_the_grid_for_the_scale_of_both():
    kit = Kit(changes=[(0, {"units_per_rad": 700.0, "units_per_rad_neg": 700.0})])
    joints = list(kit.settings.joints)
    joints[0] = replace(joints[0], lower=-math.radians(19.9), upper=math.radians(36.0))  # 5 of them are clearance
    user = Measurer(kit, [("measure_scale left_front", "y")])
    found = run(kit, user, ["marks"], joints)
    (mark,) = user.shown("hold_pose left_front_coxa")
    assert mark.values["pose"].values["degrees"] == pytest.approx(30.0)
    assert found[0].units_per_rad == found[0].units_per_rad_neg == pytest.approx(700.0, abs=2.0)


# --- limits -------------------------------------------------------------------------------------------------


def test_goals_stay_three_degrees_from_the_stops_and_other_legs_copy_them_by_angle():
    joints = [replace(j, center=2000.0 + 5 * row, direction=(-1) ** row) for row, j in enumerate(Kit().settings.joints)]
    changes = [(row, {"center": j.center, "direction": j.direction}) for row, j in enumerate(joints)]
    kit = Kit(changes=changes, start=[joint.q_center for joint in joints])
    user = Measurer(kit, [("measure_limits left_front", "y")])
    found = run(kit, user, ["limits"], joints)
    for row, joint in enumerate(found):
        low, high = sorted(joint.raw(joint.q_center + stop) for stop in (STOPS[0] + MARGIN, STOPS[1] - MARGIN))
        inside = 1.51 if row < 3 else 2.51  # [ticks] positions are rounded, then limits, then their copies
        assert low - 0.51 <= joint.low <= low + inside
        assert high - inside <= joint.high <= high + 0.51
    assert len(user.shown("copy_leg")) == 5
    assert len(user.shown("turn_to_stops")) == 3  # only of the first leg


def test_limits_of_hobby_servos_lie_inside_of_the_ends_to_which_the_operator_jogs_them():
    kit = Kit("ssc32")
    jogs = (("one", "-300"), ("one", ""), ("other", "+700"), ("other", ""))
    answers = [(f"jog left_front_{joint} {end}_end", jog) for joint in JOINTS for end, jog in jogs]
    user = Measurer(kit, [("measure_limits left_front", "y"), *answers])
    found = run(kit, user, ["limits"])
    assert not user.answers
    for joint in found[:3]:
        begin, margin = kit.bus().scale.center, MARGIN * joint.units_per_rad
        assert joint.low == pytest.approx(begin - 300.0 + margin, abs=1.01)
        assert joint.high == pytest.approx(begin + 400.0 - margin, abs=1.01)
        assert kit.world.goals[kit.index(joint.id)] == pytest.approx(begin, abs=1.01)  # back where it was


def test_limits_that_leave_out_the_rest_pose_are_not_used_and_nothing_is_copied_without_consent(monkeypatch):
    kit = Kit(start=[joint.q_center + 0.5 for joint in Kit().settings.joints])
    monkeypatch.setitem(globals(), "STOPS", (0.35, 0.9))
    copies = [(f"copy_leg {LEGS[0]}", "n")]
    user = Measurer(kit, [("measure_limits left_front", "y"), *copies])
    assert run(kit, user, ["limits"]) == kit.settings.joints
    assert len(user.shown("limits_not_used")) == 3
