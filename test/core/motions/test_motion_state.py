# SPDX-License-Identifier: Apache-2.0
"""The texts of `motion` and `motion_state` are built and parsed in one place each."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexapod_control.core.motions.motion_steps import MotionError
from hexapod_control.core.motions.motion_topics import (
    MotionRequest,
    MotionState,
    as_word,
    own_activity,
    percent_in_steps,
)
from hexapod_control.core.planner.tick_plan import RobotState

MAX_TEXT_LENGTH, MAX_REQUEST_LENGTH = 64_000, 128_000  # characters
WORDS = st.text(st.characters(blacklist_categories=("Z", "C")), min_size=1, max_size=20)


@given(WORDS, WORDS, st.integers(0, 100), st.sampled_from(["", "bow.yaml:3: pose: out of reach"]))
def test_parsing_the_text_returns_the_state(name, phase, percent, reason):
    state = MotionState(name, phase, percent, reason)
    assert MotionState.parse(state.text) == state


@pytest.mark.parametrize("text", ["", "bow", "bow pose", "bow pose many"])
def test_missing_parts_are_empty_or_zero(text):
    assert MotionState.parse(text).percent == 0


def test_the_parts_of_a_text_are_name_phase_percent_and_reason():
    assert MotionState.parse("bow pose 40") == MotionState("bow", "pose", 40)
    assert MotionState.parse("bow refused 7 bow.yaml:3: too far") == MotionState(
        "bow", "refused", 7, "bow.yaml:3: too far"
    )
    assert MotionState.parse("bow pose many") == MotionState("bow", "pose", 0)
    assert MotionState.parse("bow") == MotionState("bow", "")
    assert MotionState("bow", "pose").text == "bow pose 0"
    assert not MotionState("", "").has_motion and not MotionState("none", "").has_motion


def test_the_activities_of_a_robot_without_a_motion_have_names():
    names = {state: own_activity(state, "x", 1).name for state in RobotState}
    assert {state.value: name for state, name in names.items() if name != "none"} == {
        "rising": "stand_up",
        "sinking": "sit_down",
        "walking": "walk",
        "moving": "move",
    }


@pytest.mark.parametrize("state", RobotState)
def test_activities_without_a_request_are_not_motions(state):
    found = own_activity(state, "tripod", 40)
    assert not found.has_motion
    assert found.text.endswith(" tripod 40")


def test_a_motion_has_ended_when_it_is_done_cancelled_or_refused():
    ended = [phase for phase in ("rehearse", "pose", "done", "cancelled", "refused") if MotionState("bow", phase).ended]
    assert ended == ["done", "cancelled", "refused"]
    assert MotionState("bow", "pose").has_motion


@given(st.text())
def test_any_name_becomes_one_printable_word(name):
    word = as_word(name)
    assert word and len(word) <= 60 and word.isprintable() and len(word.split()) == 1


def test_a_long_name_is_cut_and_blanks_become_underscores():
    assert as_word(" a  b\n\x00c ") == "a_bc" and as_word("\n") == as_word("") == "motion"
    assert as_word("y" * 61) == "y" * 60
    assert as_word(" " * 239 + "x" + "y" * 9) == "x" and as_word(" " * 240 + "x") == "motion"


@pytest.mark.parametrize(
    ("progress", "percent"), [(0.999, 98), (0.02, 2), (0.0199, 0), (0.0, 0), (0.199, 18), (0.2, 20), (1.0, 100)]
)
def test_percent_counts_in_whole_steps(progress, percent):
    assert percent_in_steps(progress, 2) == percent


FILES = st.text(st.characters(blacklist_categories=("C", "Z")), min_size=1, max_size=300)


@given(FILES, st.text(min_size=1, max_size=2000))
def test_parsing_a_request_returns_file_and_content(file, text):
    asked = MotionRequest(file=file, text=text)
    assert MotionRequest.parse(asked.data) == asked


@given(st.one_of(st.text(max_size=100), st.text('{}[]":,\\filetxt0', max_size=40)))
def test_any_text_is_a_request_or_is_refused_in_one_short_line(data):
    try:
        asked = MotionRequest.parse(data)
        assert len(asked.name) <= 60 and asked.name.isprintable()
    except MotionError as error:
        assert len(str(error)) < 800 and str(error).isprintable()


@pytest.mark.parametrize(
    "data",
    [
        "x" * (MAX_REQUEST_LENGTH + 1),
        MotionRequest(file="a", text="x" * (MAX_TEXT_LENGTH + 1)).data,
        "{" * MAX_REQUEST_LENGTH,
        '{"file": "a", "text": ""}',
        '{"file": "a", "text": 1}',
        '{"file": "a", "text": "b", "path": "c"}',
        "x" * 61,
        "a\nb",
    ],
)
def test_a_request_that_is_too_long_or_has_another_form_is_refused(data):
    with pytest.raises(MotionError):
        MotionRequest.parse(data)


def test_requests_up_to_their_longest_are_accepted():
    assert MotionRequest.parse("x" * 60).name == "x" * 60
    longest = MotionRequest(file="a", text="x" * MAX_TEXT_LENGTH)
    assert MotionRequest.parse(longest.data) == longest
    escaped = '{"file": "a", "text": "' + "\\n" * (MAX_TEXT_LENGTH - 16) + '"}'
    assert len(escaped) < MAX_REQUEST_LENGTH and len(MotionRequest.parse(escaped).text) == MAX_TEXT_LENGTH - 16


def test_a_file_name_keeps_its_last_300_printable_characters():
    def named(file):
        return MotionRequest.parse(MotionRequest(file=file, text="t").data).file

    assert named("a" + "b" * 300) == "b" * 300 and named("a" + "b" * 299) == "a" + "b" * 299
    assert named("a\nb") == "ab" and named("\n") == named("") == "motion"


def test_the_title_of_a_request_is_its_name_or_that_of_its_file():
    titles = [MotionRequest(name="bow").title] + [
        MotionRequest(file=file, text="t").title for file in ("/a.b/my.bow.yaml", "bow", "a/.yaml")
    ]
    assert titles == ["bow", "my.bow", "bow", ".yaml"]
    assert MotionRequest(name="bow").data == "bow" and MotionRequest.parse("bow") == MotionRequest(name="bow")
