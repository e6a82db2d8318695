"""The texts of `motion` and `motion_state` are built and parsed in one place each."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexapod_control.core.motions.motion_request import MAX_REQUEST_LENGTH, MAX_TEXT_LENGTH, MotionRequest
from hexapod_control.core.motions.motion_state import (
    MAX_NAME_LENGTH,
    MotionState,
    as_word,
    own_activity,
    percent_in_steps,
)
from hexapod_control.core.motions.motion_steps import MotionError
from hexapod_control.core.planner.tick_plan import RobotState

WORDS = st.text(st.characters(blacklist_categories=("Z", "C")), min_size=1, max_size=20)


@given(WORDS, WORDS, st.integers(0, 100), st.sampled_from(["", "bow.yaml:3: pose: out of reach"]))
def test_parsing_the_text_returns_the_state(name, phase, percent, reason):
    state = MotionState(name, phase, percent, reason)
    assert MotionState.parse(state.text) == state


@pytest.mark.parametrize("text", ["", "bow", "bow pose", "bow pose many"])
def test_missing_parts_are_empty_or_zero(text):
    assert MotionState.parse(text).percent == 0


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
    assert word and len(word) <= MAX_NAME_LENGTH and word.isprintable() and len(word.split()) == 1


@pytest.mark.parametrize(("progress", "percent"), [(0.0, 0), (0.199, 18), (0.2, 20), (1.0, 100)])
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
