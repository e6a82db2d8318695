"""The text of `motion_state` is built and parsed in one place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexapod_control.core.motions.motion_state import MAX_NAME_LENGTH, MotionState, as_word, in_steps, without_motion
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
def test_what_the_robot_does_by_itself_is_no_motion(state):
    found = without_motion(state, "tripod", 40)
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
    assert in_steps(progress, 2) == percent
