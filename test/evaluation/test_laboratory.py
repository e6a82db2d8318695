# SPDX-License-Identifier: Apache-2.0
"""The gait laboratory: cycles as the planner walks them, refusals as of a robot file, and gaits that are saved."""

import json
import math
import os
import shutil
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import hexapod_control.web
from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.planner.planner import Planner
from hexapod_control.evaluation.laboratory import Laboratory, serve
from hexapod_control.evaluation.robot_check.steady_walk import stand, steady_cycle

STATIC = Path(hexapod_control.web.__file__).parent / "static"
MAX_CPU_S = 0.3  # of an answer about a gait: five times what it takes
REFUSED = {key.removeprefix("lab_refused_") for key in json.loads((STATIC / "texts" / "lab_de.json").read_text())}
MAX_WAIT_S = 120.0  # for a search, which has a low priority
PAGE, OTHER = 7, 8
AMBLE = """
gaits:
  amble:  # for the stairs
    duty_factor: 0.75
    lift_off: {left_front: 0.6, left_middle: 0.3, left_rear: 0, right_front: 0.1, right_middle: 0.8, right_rear: 0.5}
"""


class Student:
    """Moves the sliders of a laboratory."""

    def __init__(self, robot):
        self.laboratory = Laboratory(str(robot))
        self.known = self.laboratory.opened()
        self.start = {control["key"]: control["value"] for control in self.known["controls"]}

    def request(self, gait="tripod", axis="forward", own=False, **changes):
        """The request with the values of the robot besides `changes`; `own`: the gait is sent by its numbers."""
        values = {**self.start, **self.known["gaits"][gait]}
        if not own:
            values = {key: value for key, value in values.items() if not key.startswith(("duty_factor", "lift_off"))}
        values |= {key.replace("__", "."): value for key, value in changes.items()}
        return {"act": "plan", "gait": "" if own else gait, "axis": axis, "values": values}

    def asks(self, *args, **changes):
        return self.laboratory.answer(self.request(*args, **changes))

    def saves(self, name, **changes):
        values = self.request(own=True, **changes)["values"]
        return self.laboratory.answer({"act": "save", "name": name, "values": values})


@pytest.fixture(scope="module")
def student():
    return Student("phantomx")


@pytest.fixture
def own(tmp_path):
    """A student with a robot file of their own."""
    path = tmp_path / "mine.yaml"
    shutil.copy(load("phantomx").path, path)
    with path.open("a") as file:
        file.write(AMBLE)
    return Student(path)


@pytest.mark.parametrize("robot", ["phantomx", "quadruped"])
def test_the_cycle_of_a_gait_is_that_of_the_planners_own_walk(robot):
    """Also of gaits that are answered without a stride search, which only the fastest one needs."""
    student = Student(robot)
    for gait in student.known["gaits"]:
        answer = student.asks(gait)
        planner = Planner(load(robot).robot, gait)
        stand(planner)
        assert answer["final"]
        assert answer["top"] == planner.view.maxima()
        plans = steady_cycle(planner, Twist(*answer["twist"]), answer["period"] / len(answer["frames"]))
        walked = [plan.joint_angles.ravel() for plan in plans]
        np.testing.assert_allclose([frame["joints"] for frame in answer["frames"]], walked, atol=1e-4)
        assert answer["margin"] == min(plan.margin for plan in plans)


@pytest.mark.parametrize("axis", ["forward", "left", "turn"])
def test_a_cycle_ends_where_it_began(student, axis):
    joints = np.array([frame["joints"] for frame in student.asks("ripple", axis)["frames"]])
    steps = np.abs(np.diff(joints, axis=0)).max()
    assert np.abs(joints[-1] - joints[0]).max() <= 1.5 * steps


def test_a_gait_by_its_numbers_walks_like_the_same_gait_by_its_name(student):
    named, numbered = student.asks("ripple"), student.asks("ripple", own=True)
    assert numbered["frames"] == named["frames"]
    assert numbered["top"] == named["top"]


def test_an_answer_about_a_gait_takes_little_computing_time(student):
    student.asks("ripple", own=True)
    for change in ({"lift_off__left_front": 0.7}, {"duty_factor": 0.7}):
        before = time.process_time()
        assert student.asks("ripple", own=True, **change)["final"]
        assert time.process_time() - before < MAX_CPU_S


@pytest.mark.parametrize(
    ("change", "key", "text"),
    [
        ({"duty_factor": 0.3}, "duty_factor", "must be in [0.5, 0.95], is 0.3, share of the cycle"),
        ({"lift_off__left_rear": 1.5}, "lift_off.left_rear", "must be in [0, 1], is 1.5"),
        ({"walk__lift_height": 5.0}, "walk.lift_height", "must be in [0.001, 1] m, is 5, metres, not millimetres?"),
        ({"leg__femur__length": 66.0}, "leg.femur.length", "must be in [0.001, 1] m, is 66, metres, not millimetres?"),
        ({"outward": 3.0}, "outward", "must be in [-0.3, 0.3] m, is 3, metres, not millimetres?"),
        ({"pose__roll": 90.0}, "pose.roll", "must be in [-60, 60] deg, is 90, degrees"),
        ({"speed": math.nan}, "speed", "must be in [0.05, 1], is nan"),
        ({"outward": 0.2}, "legs.left_front.foothold", "must be in reach of leg left_front"),
        ({"lift_off__left_front": 0.5}, "", "left_front, left_middle, right_front and right_rear in the air"),
        ({"pose__roll": 45.0}, "", "out of reach"),
    ],
)
def test_a_bad_value_is_refused_with_its_key_as_in_a_robot_file(student, change, key, text):
    refusal = student.asks(own=True, **change)
    assert set(refusal) == {"key", "refusal"}
    assert refusal["key"] == key
    assert text in refusal["refusal"]["text"]
    assert refusal["refusal"]["kind"] in REFUSED  # which the page says in its language


def test_a_saved_gait_is_in_the_file_with_its_comments_and_a_backup(own):
    path, before = own.laboratory.file.path, own.laboratory.file.path.read_text()
    answer = own.saves("stroll", gait="tetrapod", duty_factor=0.7)
    assert answer["path"] == str(path)
    assert path.read_text().startswith(before.rstrip())
    assert path.with_name(answer["backup"]).read_text() == before
    amble, stroll = load(path).robot.gaits
    assert (amble.name, stroll.name, stroll.duty_factor) == ("amble", "stroll", 0.7)
    assert stroll.lift_off == pytest.approx(tuple(own.known["gaits"]["tetrapod"].values())[1:], abs=1e-4)
    known = own.laboratory.opened()
    assert {"amble", "stroll"} <= set(known["gaits"])
    assert known["own"] == ["amble", "stroll"]


@pytest.mark.parametrize(
    ("name", "change", "text"),
    [
        ("tripod", {}, "is a gait already, must be another name, e.g. my_tripod"),
        ("My gait", {}, "is not a valid gait name"),
        ("tippy", {"lift_off__left_front": 0.5}, "the static margin is none"),
    ],
)
def test_a_gait_that_the_file_would_refuse_is_not_written(own, name, change, text):
    before = own.laboratory.file.path.read_text()
    assert text in own.saves(name, **change)["refusal"]["text"]
    assert own.laboratory.file.path.read_text() == before


def test_a_gait_of_a_robot_of_the_package_is_saved_in_a_copy(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = Student("phantomx").saves("stroll", gait="tetrapod")
    assert (answer["copied"], answer["path"]) == ("stroll", str(tmp_path / "my_phantomx.yaml"))
    assert [row.name for row in load(tmp_path / "my_phantomx.yaml").robot.gaits] == ["stroll"]


class Served:
    """A laboratory that serves requests of pages by its pipes, in a thread."""

    def __init__(self, capsys):
        self._source, self.requests = os.pipe()
        self._capsys, self.answers = capsys, []
        self._thread = threading.Thread(target=serve, args=(Laboratory("phantomx"), self._source))
        self._thread.start()

    def ask(self, *requests):
        os.write(self.requests, b"".join(json.dumps(each).encode() + b"\n" for each in requests))

    def wait(self, condition):
        end = time.monotonic() + MAX_WAIT_S
        while not condition(self.answers):
            assert time.monotonic() < end, [(page, answer.get("final")) for page, answer in self.answers]
            time.sleep(0.01)
            pairs = (line.partition(" ") for line in self._capsys.readouterr().out.splitlines())
            self.answers += [(int(page), json.loads(answer)) for page, _, answer in pairs]

    def close(self):
        os.close(self.requests)
        self._thread.join(MAX_WAIT_S)
        os.close(self._source)


@pytest.fixture
def served(capsys):
    made = Served(capsys)
    yield made
    made.close()


def test_the_newest_request_of_a_page_is_answered_at_once_and_then_with_the_stride_search(served, student):
    lengths = [0.001 * millimetres for millimetres in range(60, 73)]
    many = [{"page": PAGE, **student.request(leg__femur__length=length)} for length in lengths]
    served.ask(*many, {"page": OTHER, **student.request("wave")})
    served.wait(lambda answers: any(page == PAGE and answer["final"] for page, answer in answers))
    *_, first, last = mine = [answer for page, answer in served.answers if page == PAGE]
    assert len(mine) < len(many)
    assert (first["final"], last["final"]) == (False, True)
    assert {leg["femur"] for leg in (*first["shape"]["legs"], *last["shape"]["legs"])} == {lengths[-1]}
    assert last["top"][0] > first["top"][0]
    assert [answer["final"] for page, answer in served.answers if page == OTHER] == [True]
