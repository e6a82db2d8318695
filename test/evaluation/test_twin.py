# SPDX-License-Identifier: Apache-2.0
"""The twin of a hidden robot repeats its run; what differs is named, and a run that cannot be repeated is refused."""

import math
from dataclasses import replace

import numpy as np
import pytest
from recorded_walk import record

from hexapod_control.bags.recorded_run import load_run
from hexapod_control.cli.main import main
from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.reality import reality
from hexapod_control.evaluation.twin import Twin, outliers, way_difference
from hexapod_control.evaluation.twin_refinement import refine

FILE = load("phantomx")
HIDDEN = reality(FILE.robot, "typical", 1)
TIBIA = (2, 2)  # of the last leg on the left


@pytest.fixture(scope="module")
def bag(tmp_path_factory):
    """The walk of a typical robot."""
    return record(tmp_path_factory.mktemp("bags") / "walk", HIDDEN)


@pytest.fixture(scope="module")
def twin(bag):
    return Twin(FILE, load_run(bag))


def test_a_twin_with_the_errors_of_the_robot_repeats_its_run(twin):
    comparison = twin.compare(HIDDEN)
    joints = comparison.joint_differences()
    way, apart = way_difference(comparison)
    assert len(joints) == 18
    assert max(joint.rms for joint in joints) < math.radians(1.5)
    assert all(abs(joint.delay) <= 0.01 for joint in joints if math.isfinite(joint.delay))
    assert way > 0.3 and apart < 0.03 * way
    assert np.degrees(np.abs(comparison.tilt_difference)).mean() < 0.5


def test_a_joint_that_is_worn_is_named_with_the_delay_and_the_difference_of_the_others(twin):
    changed = HIDDEN.latency.copy()
    changed[TIBIA] += 0.1
    joints = twin.compare(replace(HIDDEN, latency=changed)).joint_differences()
    late = max(joints, key=lambda joint: joint.rms)
    (sentence,) = outliers(joints)
    name = f"{FILE.robot.leg_names[TIBIA[0]]} tibia"
    assert late.delay == pytest.approx(0.1, abs=0.015)
    assert sentence.startswith(f"{name} differs by ") and "the others by at most 0." in sentence
    assert sentence.endswith("the twin is later by 100 ms.")


def test_the_command_prints_joints_body_and_outliers_and_draws_both_runs(bag, tmp_path, capsys):
    picture = tmp_path / "twin.png"
    words = ["--reality", "typical", "--reality-seed", "1", "--plot", str(picture)]
    assert main(["twin", str(bag), *words]) == 0
    out = capsys.readouterr().out
    assert out.startswith("joint ") and "twin later by ms" in out.splitlines()[0]
    assert "true path distance at end m" in out and "roll difference rms deg" in out
    assert "mm beside the robot, " in out and "No joint stands out" in out
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_bag_to_refine_by_that_does_not_exist_is_refused(bag, tmp_path, capsys):
    assert main(["twin", str(bag), "--refine", str(tmp_path / "none")]) == 2
    assert "there is no such bag" in capsys.readouterr().err


def test_the_errors_of_a_robot_are_found_from_one_run_and_predict_another_one(tmp_path):
    known = reality(FILE.robot, "measured")
    latency = known.latency.copy()
    latency[TIBIA] += 0.02
    hidden = replace(known, latency=latency)
    run = load_run(record(tmp_path / "walk", hidden, seconds=1.5))
    blind = Twin(FILE, replace(run, truth=run.truth[:0]))
    twin = Twin(FILE, load_run(record(tmp_path / "arc", hidden, 1.5, Twist(0.08, 0.0, 0.3))))
    progress = []
    found = refine(blind, known, progress.append, passes=1)
    before, after = (
        max(joint.rms for joint in twin.compare(errors).joint_differences()) for errors in (known, found.errors)
    )
    change = found.errors.latency - known.latency
    assert after < 0.6 * before
    assert np.unravel_index(np.argmax(change), change.shape) == TIBIA
    assert change[TIBIA] == pytest.approx(0.02, abs=0.008)
    assert (found.deviations > 0.0).all()
    assert len(found.table(twin.names)) == 19 and len(progress) == 1


def test_a_robot_that_was_not_measured_has_the_errors_in_the_middle_of_the_typical_ones():
    found = reality(FILE.robot, "measured")
    drawn = [reality(FILE.robot, "typical", seed) for seed in range(20)]
    assert not found.zero_offset.any() and not found.length.any()
    assert found.latency == pytest.approx(np.median([each.latency for each in drawn], axis=0), rel=0.15)


@pytest.mark.parametrize(
    ("change", "words", "sentence"),
    [
        ({"without": ("joint_targets",)}, [], "has no joint_targets: record all topics"),
        ({"without": ("joint_states",)}, [], "has no joint_states: record all topics"),
        ({"gap": (3.0, 4.0)}, [], "what the robot did then is not known, record the run again"),
        ({}, ["--robot", "article"], "is of another robot, whose "),
        ({}, ["--robot", "octopod"], "is of another robot, only one of both has the joint "),
    ],
)
def test_a_run_that_cannot_be_repeated_is_refused_in_one_sentence(change, words, sentence, tmp_path, capsys):
    path = record(tmp_path / "walk", None, seconds=3.0, **change)
    assert main(["twin", str(path), *words]) == 2
    errors = capsys.readouterr().err
    assert sentence in errors and errors.count("hexapod: ") == 1  # a slow computer also says what it computes


def test_a_bag_that_does_not_exist_is_refused(tmp_path, capsys):
    assert main(["twin", str(tmp_path / "none")]) == 2
    assert "there is no such bag" in capsys.readouterr().err
