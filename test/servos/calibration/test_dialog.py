# SPDX-License-Identifier: Apache-2.0
"""Answers of the guided calibration, its dialog with clients in other threads, and its progress file."""

import json
import math
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.phantomx import robot

from hexapod_control.config.sentence import Sentence
from hexapod_control.servos.calibration import dialog
from hexapod_control.servos.calibration.dialog import Abandoned, Choice, Prompt, agreed, yes_or_no
from hexapod_control.servos.calibration.progress_file import CalibrationProgress, ProgressFile
from hexapod_control.servos.calibration.remote_dialog import DialogState, RemoteDialog
from hexapod_control.servos.settings.servo_section import standard

ANY = Sentence("any", "any?")
WHICH = Prompt(Sentence("which", "which?"))
SETTINGS = standard(robot(), "feetech_st", "/dev/ttyUSB0")


@pytest.mark.parametrize(
    ("answer", "units"),
    [("+", 10), ("-", -10), ("++", 50), ("--", -50), ("+7", 7), ("-120", -120), ("3", 3), ("+-", None), ("far", None)],
)
def test_a_jog_is_a_sign_two_signs_or_a_number(answer, units):
    assert dialog.jog(answer) == units


def test_only_an_answer_that_begins_with_y_agrees_and_an_empty_one_takes_the_default_that_is_shown():
    yes, no = (yes_or_no(ANY, default) for default in (True, False))
    answers = ("y", "Yes", "yep", "n", "", "ok")
    assert [agreed(no.read(answer)) for answer in answers] == [True, True, True, False, False, False]
    assert agreed(yes.read("")) and not agreed(yes.read("no")) and not agreed(yes.read("ok"))
    assert (yes.line, no.line) == ("any? [Y/n] ", "any? [y/N] ")


def test_a_button_types_a_word_that_is_its_choice_and_the_first_one_is_that_of_enter():
    choices = (dialog.DONE, dialog.SKIP, dialog.YES, dialog.NO, dialog.AGAIN, dialog.THERE, *dialog.JOGS)
    for choice in choices:
        prompt = Prompt(ANY, (choice, Choice(("other",), ANY)))
        assert prompt.read(choice.word) is choice is prompt.read("")
        for command in (dialog.BACK, dialog.QUIT, dialog.HELP):
            assert [prompt.read(word.upper()) for word in command.words] == [command] * len(command.words)


def test_every_button_of_a_jog_is_a_step_in_its_direction():
    steps = [dialog.jog(each.word) for each in dialog.JOGS]
    assert steps == [-10, 10, -50, 50]


def test_the_picture_of_a_prompt_is_that_of_its_joint_or_leg():
    pictures = [Prompt(ANY, joint=joint).picture for joint in ((), ("left_rear",), ("left_rear", "tibia"))]
    assert pictures == ["", "leg", "turn tibia"]


def test_angles_of_the_rest_pose_have_names_and_others_are_in_degrees():
    names = [dialog.describe_angle(column, math.radians(degrees)) for column, degrees in ((0, 0), (1, 0), (2, -90))]
    assert [name.kind for name in names] == ["straight_out", "level", "straight_down"]
    assert str(dialog.describe_angle(2, 0.0)) == "at +0 deg"
    assert str(dialog.describe_angle(0, math.radians(-12.34))) == "at -12.3 deg"


# --- clients in other threads ---------------------------------------------------------------------------------


@pytest.fixture
def asker():
    """The thread that asks."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        yield pool


def open_question(remote, number):
    """Waits until a question is open."""
    seen = threading.Event()
    for _ in range(500):
        if remote.state.number == number and remote.state.prompt:
            return remote.state
        seen.wait(0.01)
    raise AssertionError(f"question {number} was not asked")


def test_a_question_stays_open_until_it_is_answered_once(asker):
    remote = RemoteDialog()
    hello, again, thanks = (Sentence.of(word) for word in ("hello", "again", "thanks"))
    assert remote.answer("early").kind == "no_question"
    remote.say(hello)
    remote.say(again)
    answer = asker.submit(remote.ask, WHICH)
    assert open_question(remote, 1) == DialogState(1, WHICH, (hello, again))
    assert remote.answer(" this one ") is None
    assert answer.result(5.0) == "this one"
    assert remote.state == DialogState(1)
    remote.say(thanks)
    assert remote.state == DialogState(1, None, (thanks,))
    assert remote.answer("late").kind == "no_question"
    second = asker.submit(remote.ask, WHICH)
    assert open_question(remote, 2).said == (thanks,)
    assert remote.answer("") is None and second.result(5.0) == ""


def test_a_callback_runs_while_a_question_is_open(asker):
    remote, called = RemoteDialog(), threading.Event()
    answer = asker.submit(remote.ask, WHICH, None, called.set)
    assert called.wait(5.0)
    open_question(remote, 1)
    remote.answer("x")
    assert answer.result(5.0) == "x"


@pytest.mark.parametrize("before", [True, False])
def test_after_a_cancellation_the_open_question_and_all_others_are_abandoned(asker, before):
    remote = RemoteDialog()
    if before:
        remote.cancel()
    answer = asker.submit(remote.ask, WHICH)
    if not before:
        open_question(remote, 1)
        remote.cancel()
    with pytest.raises(Abandoned):
        answer.result(5.0)
    with pytest.raises(Abandoned):
        remote.ask(WHICH)


# --- the file of an unfinished calibration ----------------------------------------------------------------------


@pytest.fixture
def progress_file(tmp_path):
    return ProgressFile(tmp_path / "mine.yaml", SETTINGS)


def test_an_unfinished_calibration_is_read_as_it_was_written_until_it_is_deleted(progress_file, tmp_path):
    progress = CalibrationProgress(("wiggle", "rest"), "rest", 2, SETTINGS.joints)
    assert progress_file.read() is None
    progress_file.write(progress)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.yaml.calibration"]
    assert progress_file.read() == progress
    progress_file.delete()
    progress_file.delete()
    assert progress_file.read() is None


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document.update(protocol="lx16a"),
        lambda document: document["joints"].pop(),
        lambda document: document["limits"][0].__setitem__(1, -0.1),
        lambda document: document["limits"][0].__setitem__(2, 0.1),
        lambda document: document["joints"][0].update(joint="tail"),
        lambda document: document["joints"][0].pop("center"),
        lambda document: document.pop("done"),
        lambda document: document.update(done="some"),
    ],
)
def test_broken_progress_and_progress_of_another_robot_are_ignored(progress_file, change):
    progress_file.write(CalibrationProgress(("wiggle",), "wiggle", 3, SETTINGS.joints))
    document = json.loads(progress_file.path.read_text())
    change(document)
    progress_file.path.write_text(json.dumps(document))
    assert progress_file.read() is None


def test_a_folder_that_cannot_be_written_does_not_end_the_calibration(tmp_path):
    file = ProgressFile(tmp_path / "missing" / "mine.yaml", SETTINGS)
    file.write(CalibrationProgress(("wiggle",), "wiggle", 3, SETTINGS.joints))
    assert file.read() is None
