# SPDX-License-Identifier: Apache-2.0
"""Unseen builds, from `hexapod new` to a walk on its feet, over a pseudo terminal and with real nodes.

The builder makes three mistakes in each.
"""

import sys

import pytest
from support.kits.builder import SERVOS, WiredBuild, wired_evening, worst_error
from support.suite.soak import SOAK

from hexapod_control.servos.commissioning.stages import STAGES

MAX_ERROR_DEG = 0.5  # of a servo with 1024 ticks, and of a pulse in whole microseconds
SWITCH_INTERVAL_S = 0.0005  # between threads, so that the emulated bus replies in time


@pytest.mark.process
@pytest.mark.soak
@pytest.mark.skipif(not SOAK, reason="takes two minutes for each kind of servo")
@pytest.mark.parametrize("protocol", SERVOS)
def test_a_builder_with_three_mistakes_gets_from_the_box_to_a_robot_that_walks(protocol, tmp_path, monkeypatch):
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    try:
        with WiredBuild(sum(protocol.encode()), tmp_path, protocol=protocol) as build:
            builder, machine = wired_evening(build)
            assert not build.world.torques.any()
    finally:
        sys.setswitchinterval(before)
    assert machine.current is None and len(machine.progress.done) == len(STAGES), builder.told()
    assert worst_error(build) < MAX_ERROR_DEG
    assert build.stepped == set(range(len(build.robot.legs)))
    assert not builder.shown("correct_file")
