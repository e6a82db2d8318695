# SPDX-License-Identifier: Apache-2.0
"""The dialog of the self-calibration: what it asks, shows, writes and puts back."""

import json
import math

import numpy as np
import pytest
from support.kits.hidden_robot import HiddenRobot, holding
from support.kits.operator import Operator

from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots.robot_file import load, resolve
from hexapod_control.core.kinematics.whole_body import standing_joints
from hexapod_control.core.statics.leg_compliance import foot_jacobian
from hexapod_control.servos.calibration import self_calibration
from hexapod_control.servos.calibration.dialog import Abandoned
from hexapod_control.servos.calibration.self_calibration import NotCalibratedError, SelfCalibration, undo
from hexapod_control.servos.settings.servo_section import servo_settings

TICK_S = 0.05
SHOVED_S = 12.0
IMU = "io: {imu: {chip: mpu6050, address: 0x68, mounting_deg: [0, 0, 90]}}\n"


@pytest.fixture
def own(tmp_path, monkeypatch):
    for name, value in (
        ("SHORT_TOURS", 1),
        ("POSES", 14),
        ("USUAL_TOURS", 2),
        ("MAX_TOURS", 3),
    ):  # fewer than for good figures
        monkeypatch.setattr(self_calibration, name, value)
    path = tmp_path / "mine.yaml"
    path.write_text(resolve("phantomx").read_text() + IMU)
    return path


class Owner:
    """A robot whose joints differ from its file, and a person who answers.

    `wrong` changes its IMU; a foot is shoved in the tours `shoved`, and one hangs in the air in the first tours.
    """

    def __init__(self, path, answers=(), protocol="feetech_st", seed=0, wrong=lambda tilt: tilt, shoved=(), hanging=0):
        self.path, self.user, self.protocol, self.wrong = path, Operator(answers), protocol, wrong
        noise = {"angle": math.radians(0.05), "slip": 0.0003, "tilt": math.radians(0.1)}
        self.hidden = HiddenRobot(load(path).robot, seed, **noise)
        self.shoved, self.hanging = list(shoved), hanging
        self.tours = []

    def settings(self):
        return servo_settings(load(self.path), self.protocol, "/dev/hexapod")

    def record(self, path, settings, tour):
        """Stands in for the nodes: the servos report what the calibration in `path` makes of their true angles."""
        trims = np.array([joint.trim for joint in settings.joints]).reshape(-1, 3)
        self.tours.append((load(path).robot, trims))
        self.hidden.places = np.array(self.hidden.robot.footholds)
        last, joints, tilt, time = None, None, None, 0.0
        while time < tour.duration + TICK_S:
            if tour.goal(time) != last:
                last = tour.goal(time)
                self.hidden.slip()
                joints, tilt = self.hidden.joints(last) + trims, self.wrong(self.hidden.tilt(last))
            if time > SHOVED_S and len(self.tours) in self.shoved:
                self.hidden.places[1] += (0.025, 0.0)
                self.shoved.remove(len(self.tours))
            tour.take(time, joints, tilt, self.torques(joints - trims))
            time += TICK_S

    def torques(self, joints):
        """Those of feet that bear an even share each, except one that hangs in the air in the first tours."""
        if not self.hanging:
            return None
        loads = np.ones(6)
        loads[4] = len(self.tours) > self.hanging
        return holding(self.hidden.robot, joints, loads)

    def run(self):
        return SelfCalibration(lambda: load(self.path), self.settings, self.record, self.user).run()


def test_a_robot_measures_itself_and_its_file_has_zeros_lengths_and_mounting_and_can_be_put_back(own):
    before = own.read_text()
    owner = Owner(own)
    result = owner.run()
    assert result.kind == "self_calibrated"
    trims = np.array([joint.trim for joint in owner.settings().joints]).reshape(-1, 3)
    off = owner.hidden.degrees_off(trims)
    assert math.sqrt(np.mean(off**2)) < 0.6 and np.abs(off).max() < 1.5  # by ten poses
    lengths = np.array([(leg.coxa.length, leg.femur.length, leg.tibia.length) for leg in load(own).robot.legs])
    plan = [(leg.coxa.length, leg.femur.length, leg.tibia.length) for leg in owner.hidden.true.legs]
    assert math.sqrt(np.mean((lengths - plan) ** 2)) < 0.0013
    (first, none), (second, applied) = owner.tours[:2]
    assert first == owner.hidden.robot != second and not none.any()
    assert np.abs(owner.hidden.degrees_off(applied)).max() < 2.0  # the second tour begins with what is known
    (shown,) = owner.user.shown("self_feet")
    assert all(leg in str(shown) for leg in first.leg_names)
    (backup,) = own.parent.glob("mine.yaml.*.bak")
    assert backup.read_text() == before
    assert undo(own, owner.user).kind == "self_undone" and own.read_text() == before
    with pytest.raises(RobotFileError, match="has no self-calibration that could be undone"):
        undo(own, owner.user)


def test_nothing_is_written_without_a_yes_and_after_an_edit_undo_asks(own):
    before = own.read_text()
    assert Owner(own, [("self_save", "n")]).run().kind == "self_nothing_written"
    assert own.read_text() == before and not list(own.parent.glob("*.bak"))
    Owner(own).run()
    own.write_text(own.read_text() + "# edited\n")
    edited = own.read_text()
    assert undo(own, Operator([("self_edited_since", "n")])).kind == "self_nothing_written"
    assert own.read_text() == edited
    assert undo(own, Operator([("self_edited_since", "y")])).kind == "self_undone" and own.read_text() == before


def test_an_implausible_zero_needs_a_yes_of_its_own(own):
    before = own.read_text()
    owner = Owner(own, [("self_large_zero", "")])
    owner.hidden.zeros[4, 1] = math.radians(12.0)
    assert owner.run().kind == "self_nothing_written" and own.read_text() == before
    (asked,) = [each for each in owner.user.asked if each.kind == "self_large_zero"]
    assert asked.values["degrees"] == pytest.approx(12.0, abs=1.5) and "right_middle_femur" in str(asked)


def test_a_finding_ends_it_after_the_first_tour_with_the_file_as_it_was(own):
    before = own.read_text()
    owner = Owner(own, wrong=lambda tilt: (math.pi - tilt[0], tilt[1]))
    with pytest.raises(NotCalibratedError, match="the IMU is upside down"):
        owner.run()
    assert len(owner.tours) == 1 and own.read_text() == before


@pytest.mark.parametrize(("shoved", "tours"), [((1,), 2), ((1, 2), 3), ((1, 2, 3), 3)])
def test_a_slip_is_forgiven_until_the_last_tour_and_then_nothing_is_written(own, shoved, tours):
    before = own.read_text()
    owner = Owner(own, shoved=shoved)
    if tours in shoved:
        with pytest.raises(NotCalibratedError, match="the foot of left_middle slipped"):
            owner.run()
    else:
        assert owner.run().kind == "self_calibrated"
    assert len(owner.tours) == tours and (own.read_text() == before) == (tours in shoved)


def test_a_foot_that_hangs_in_the_air_reaches_lower_in_the_next_tour_and_if_it_never_stands_nothing_is_written(own):
    before = own.read_text()
    owner = Owner(own, hanging=3)
    with pytest.raises(NotCalibratedError, match=r"the zero of right_middle_.* is known only to 3.0 deg"):
        owner.run()
    assert len(owner.tours) == 3 and own.read_text() == before
    leg, angles = owner.hidden.robot.legs[4], standing_joints(owner.hidden.robot)[4]
    assert 0.003 < foot_jacobian(leg, angles)[2] @ owner.tours[1][1][4] < 0.02  # believed to be higher


def test_an_interrupted_self_calibration_continues_after_its_finished_tours_unless_the_file_has_changed(own):
    def interruption(tilt):
        if len(interrupted.tours) > 1:
            raise Abandoned
        return tilt

    interrupted = Owner(own, wrong=interruption)
    with pytest.raises(Abandoned):
        interrupted.run()
    (kept,) = own.parent.glob("*.tours")
    text = kept.read_text()
    again = Owner(own, [("self_save", "n")])
    assert again.run().kind == "self_nothing_written" and again.tours[0][1].any()
    assert again.user.shown("self_continue") and not kept.exists()
    own.write_text(own.read_text() + "# edited\n")
    broken = json.dumps({**json.loads(text), "robot": own.read_text(), "poses": [[[1]]]})
    for other in (text, "{", broken):
        kept.write_text(other)
        owner = Owner(own, wrong=lambda tilt: (math.pi - tilt[0], tilt[1]))
        with pytest.raises(NotCalibratedError, match="the IMU is upside down"):
            owner.run()
        assert not owner.user.shown("self_continue")


def test_servos_that_report_no_angles_are_sent_to_the_printed_dots_before_anything_moves(own):
    owner = Owner(own, protocol="ssc32")
    with pytest.raises(NotCalibratedError, match=r"report no angles.*hexapod calibrate --steps dots"):
        owner.run()
    assert not owner.tours
