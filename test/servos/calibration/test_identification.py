# SPDX-License-Identifier: Apache-2.0
"""The robot on its stand measures its servos, over an emulated line in simulated time."""

import math
from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest
from support.kits.held_robot import HeldRobot
from support.kits.operator import Operator
from support.suite.soak import some

from hexapod_control.config.robots.robot_file import load, resolve
from hexapod_control.core.calibration.joint_identification import JointEstimate, Measured, identify
from hexapod_control.core.reality import reality
from hexapod_control.servos.calibration import identification
from hexapod_control.servos.calibration.identification import (
    IdentificationDialog,
    NotIdentifiedError,
    outliers,
    require_reported,
)
from hexapod_control.servos.calibration.self_calibration import undo
from hexapod_control.servos.commissioning import stage_actions
from hexapod_control.servos.commissioning.stages import CommissioningProgress
from hexapod_control.servos.settings.servo_section import standard


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(resolve("phantomx").read_text())
    return path


@pytest.mark.parametrize("seed", some(range(20), 5))
def test_hidden_play_latency_and_stiffness_are_found_with_honest_deviations(simulated_time, seed):
    held = HeldRobot.drawn(simulated_time, seed)
    recorder = held.recorder()
    recorder.run()
    recorder.close()
    line = held.bus.timing(len(held.robot.legs)).write  # to the servos, which belongs to the latency
    pulls = []
    for index, found in enumerate(identify(recorder.recordings, held.joints)):
        latency = held.errors.latency.flat[index] + line
        stiffness = held.joints[index].stiffness * held.errors.stiffness.flat[index]
        backlash = held.errors.backlash.flat[index]
        assert abs(found.latency.value - latency) < 0.1 * latency
        assert abs(math.degrees(found.backlash.value - backlash)) < 0.1
        assert (found.stiffness is None) == (index % 3 == 0)
        assert found.stiffness is None or abs(found.stiffness.value - stiffness) < 0.12 * stiffness
        pairs = ((found.latency, latency), (found.backlash, backlash), (found.stiffness, stiffness))
        pulls.append([np.nan if each is None else (each.value - true) / each.deviation for each, true in pairs])
    assert np.sqrt(np.nanmean(np.square(pulls), axis=0)).max() < 2.0


def test_a_robot_measures_itself_and_its_file_has_the_values_until_they_are_taken_back(
    simulated_time, own, monkeypatch
):
    monkeypatch.setattr(identification, "SWEEP_SPEED", math.radians(45.0))
    held = HeldRobot.drawn(simulated_time, 0)
    before = own.read_text()
    user = Operator()
    result = IdentificationDialog(load(own), held.settings, held.recorder(), user).run()
    assert result.kind == "identify_written" and result.values["count"] == 18
    assert held.is_off
    found = reality(load(own).robot, "measured")
    assert np.abs(np.degrees(found.backlash - held.errors.backlash)).max() < 0.2
    assert found.stiffness[:, 0] == pytest.approx(1.0)  # of the coxas nothing is known
    assert undo(own, user).kind == "self_undone" and own.read_text() == before


def test_a_servo_that_does_not_move_is_named_and_the_legs_go_back(simulated_time, own):
    held = HeldRobot(simulated_time)
    start = held.world.positions.copy()
    held.world.goal, moves = lambda index, raw, duration: index == 3 or moves(index, raw, duration), held.world.goal
    before = own.read_text()
    with pytest.raises(NotIdentifiedError, match="does not move: check its horn") as error:
        IdentificationDialog(load(own), held.settings, held.recorder(), Operator()).run()
    assert error.value.args[0].values["id"] == held.settings.joints[3].id
    assert own.read_text() == before and held.is_off
    assert held.world.positions == pytest.approx(start, abs=30)


def test_a_robot_that_is_not_on_its_stand_is_refused(simulated_time, own, monkeypatch):
    held = HeldRobot(simulated_time)
    monkeypatch.setattr(identification, "stand_poses", lambda robot, bounds: [(0.0, 0.3, -1.9)])
    held.world.is_held = False
    with pytest.raises(NotIdentifiedError, match="is the robot on its stand, with all feet free"):
        IdentificationDialog(load(own), held.settings, held.recorder(), Operator()).run()
    assert held.is_off


def test_servos_without_angles_are_refused_with_what_cannot_be_known(simulated_time):
    with pytest.raises(NotIdentifiedError, match="cannot be measured by the robot"):
        require_reported(standard(load("phantomx").robot, "ssc32", "/dev/hexapod"))


class Stand:
    """The hardware of `hexapod first` with one robot on its stand."""

    def __init__(self, held):
        self.open = lambda settings: nullcontext(held.bus)


def test_a_stage_of_the_first_evening_measures_the_servos_and_passes_over_those_that_report_nothing(
    simulated_time, own, monkeypatch
):
    monkeypatch.setattr(identification, "SWEEP_SPEED", math.radians(45.0))
    recorder = partial(identification.StandRecorder, clock=simulated_time.monotonic)
    monkeypatch.setattr(stage_actions, "StandRecorder", recorder)
    held = HeldRobot.drawn(simulated_time, 0)

    def measured(protocol):
        wire = protocol, "/dev/hexapod", 0
        acts = (Stand(held), Operator([("identify_save", "n")]), 1.0, simulated_time.sleep)
        return stage_actions.StageActions(lambda: load(own), wire, CommissioningProgress(), *acts).identify().kind

    assert measured("ssc32") == "identify_unreported" and held.is_off
    assert measured("feetech_st") == "self_nothing_written" and held.is_off


def test_a_joint_with_far_more_play_than_the_others_is_an_outlier():
    def joint(degrees):
        return JointEstimate(Measured(0.02, 0.0), Measured(math.radians(degrees), 0.0), None, None, None, 0.001, 0.0)

    plays = [0.4, 0.5, 0.4, 1.8, 0.3, 0.5]
    ((index, others),) = outliers([joint(play) for play in plays])
    assert index == 3 and math.degrees(others) == pytest.approx(0.4)
