# SPDX-License-Identifier: Apache-2.0
"""Which motions need no second rehearsal."""

from dataclasses import replace

from hexapod_control.core.motions.motion_player import RehearsedMotion
from hexapod_control.core.motions.motion_steps import Choreography, WaitStep
from hexapod_control.nodes.gait_planner.motion_input import MAX_REHEARSED, RehearsedMotions


def motion(number):
    return RehearsedMotion(Choreography(f"motion {number}", "", (WaitStep(1.0),)), 1.0)


def stored(known, count):
    return [number for number in range(count) if known.find(motion(number).motion)]


def test_recent_rehearsals_are_found_and_a_new_one_replaces_the_oldest():
    known = RehearsedMotions()
    for number in range(MAX_REHEARSED):
        known.add(motion(number))
    assert stored(known, MAX_REHEARSED) == [*range(MAX_REHEARSED)]
    known.add(motion(0))
    known.add(motion(MAX_REHEARSED))
    assert stored(known, MAX_REHEARSED + 1) == [0, *range(2, MAX_REHEARSED + 1)]


def test_a_motion_with_other_steps_is_rehearsed_again():
    known, before = RehearsedMotions(), motion(1)
    known.add(before)
    assert known.find(before.motion) is before
    changed = replace(before.motion, steps=(WaitStep(2.0),))
    assert known.find(changed) is None
    known.add(RehearsedMotion(changed, 2.0))
    assert known.find(before.motion) is None
