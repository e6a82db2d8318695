# SPDX-License-Identifier: Apache-2.0
"""Joints are understood as people write them; what is unclear is refused with the names that exist."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexapod_control.core.names import JOINTS, STANDARD
from hexapod_control.servos.settings.joint_section import (
    JointWordsError,
    initials,
    joint_and_sign,
    joint_row,
    leg_row,
)

FOUR = ("left_front", "left_rear", "right_front", "right_rear")


@pytest.mark.parametrize(
    ("text", "leg", "joint", "sign"),
    [
        ("lf coxa +", "left_front", "coxa", 1),
        ("LF COXA +", "left_front", "coxa", 1),
        ("left front coxa +", "left_front", "coxa", 1),
        ("Front Left Coxa plus", "left_front", "coxa", 1),
        ("left-front coxa-", "left_front", "coxa", -1),
        ("left_front_coxa_joint +", "left_front", "coxa", 1),
        ("rr t \u2212", "right_rear", "tibia", -1),
        ("right back tibia minus", "right_rear", "tibia", -1),
        ("the femur of the right middle leg +", "right_middle", "femur", 1),
        ("l m f -", "left_middle", "femur", -1),
        ("fl c+", "left_front", "coxa", 1),
    ],
)
def test_a_joint_and_its_direction_are_understood_in_the_usual_spellings(text, leg, joint, sign):
    assert joint_and_sign(text, STANDARD) == (3 * STANDARD.index(leg) + JOINTS.index(joint), sign)


@given(st.sampled_from(range(18)), st.booleans(), st.randoms(use_true_random=False))
def test_every_joint_is_found_by_its_words_in_any_order_and_case(row, short, random):
    leg = STANDARD[row // 3]
    words = [initials(leg)] if short else leg.split("_")
    words.append(JOINTS[row % 3])
    random.shuffle(words)
    assert joint_row(" ".join(random.choice((word, word.upper())) for word in words), STANDARD) == row


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "names no joint"),
        ("coxa +", "names no joint"),
        ("left coxa +", "names no joint"),
        ("lf knee +", "names no joint"),
        ("lf coxa", "has no direction: add [+] or -"),
        ("l coxa +", "legs: left_front .lf., "),
    ],
)
def test_ambiguous_joint_names_are_refused_with_the_remedy(text, reason):
    with pytest.raises(JointWordsError, match=reason):
        joint_and_sign(text, STANDARD)


def test_legs_are_those_of_the_robot():
    assert [leg_row(text, FOUR) for text in ("lf", "rear right", "left back", "lm", "left")] == [0, 3, 1, None, None]
