# SPDX-License-Identifier: Apache-2.0
"""Channels of boards with hobby servos: what is typed, what is proposed, and how often it is asked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.kits.operator import Operator

from hexapod_control.servos.calibration.dialog import Back
from hexapod_control.servos.commissioning.board_channels import ChannelsError, ask_channels, channels, listed, spread


@given(st.sets(st.integers(0, 15), min_size=1))
def test_channels_are_read_as_they_are_listed(found):
    assert channels(listed(sorted(found)), 16) == sorted(found)


@pytest.mark.parametrize("text", ["", "x", "16", "3-1", "0-16", "-1", "1.5", "0--3", "0-3-5"])
def test_a_text_that_names_no_channels_is_refused(text):
    with pytest.raises(ChannelsError):
        channels(text, 16)


@pytest.mark.parametrize("text", ["0-3,5", "0 - 3, 5", "5 0-3", "0;1;2;3;5"])
def test_channels_may_be_written_with_commas_and_spaces(text):
    assert channels(text, 16) == [0, 1, 2, 3, 5]


@pytest.mark.parametrize(("joints", "boards"), [(12, 1), (18, 2), (24, 2), (24, 4), (18, 3), (15, 1)])
def test_whole_legs_are_shared_out_between_the_boards(joints, boards):
    found = spread(joints, boards, 16)
    assert len(found) == joints == len(set(found))
    counts = [sum(servo // 16 == board for servo in found) for board in range(boards)]
    assert sum(counts) == joints and max(counts) - min(counts) in (0, 3) and all(count % 3 == 0 for count in counts)


def test_enter_takes_the_proposal_and_a_wrong_number_of_channels_is_asked_again_with_what_was_said():
    user = Operator([("channels_of_board 0x41", "0-7"), ("channels_of_board 0x41", "0-8")])
    assert ask_channels(user, ["0x40", "0x41"], 16, 18) == (*range(9), *range(16, 25))
    assert user.shown("channel_count 17 18")
    assert [prompt.choices[0].word for prompt in user.prompts] == ["0-8", "0-8", "0-8", "0-7"]


def test_a_board_without_servos_and_back_to_the_board_before():
    answers = [("channels_of_board 0x40", "0-11"), ("channels_of_board 0x50", "back")]
    user = Operator([*answers, ("channels_of_board 0x40", "none"), ("channels_of_board 0x50", "4-15")])
    assert ask_channels(user, ["0x40", "0x50"], 16, 12) == tuple(range(20, 32))
    with pytest.raises(Back):
        ask_channels(Operator([("channels_of_board", "back")]), ["0x40"], 16, 12)
