# SPDX-License-Identifier: Apache-2.0
"""With `economy: true` in its file a robot takes less power, and keeps speeds, margins and the values of its owner."""

from dataclasses import replace

import pytest

from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots.robot_file import changed, load
from hexapod_control.core.workspace.capabilities import FORWARD, Capabilities
from hexapod_control.core.workspace.stride_stability import MIN_STRIDE_MARGIN
from hexapod_control.evaluation.robot_check.checks import walking_power
from hexapod_control.evaluation.robot_check.steady_walk import steady_walk

NAMES = ("article", "big_hex", "octopod", "phantomx")


@pytest.mark.parametrize("name", NAMES)
def test_at_equal_speed_economy_takes_no_more_power_and_keeps_the_margin_of_strides(name):
    usual, economical = (changed(load(name), {"economy": economy}).robot for economy in (False, True))
    gait = Capabilities.of(usual).selection().fastest.name
    top = Capabilities.of(usual).fastest(FORWARD, [gait])
    assert Capabilities.of(economical).fastest(FORWARD, [gait]) == top
    for share in (0.2, 0.5, 0.9):
        walk = steady_walk(usual, gait, top.scaled(share))
        slow = steady_walk(economical, gait, top.scaled(share))
        assert walking_power(economical, walk) <= 1.01 * walking_power(usual, walk)
        assert slow.margin >= min(walk.margin, MIN_STRIDE_MARGIN)
        for leg, low, high in zip(usual.legs, slow.joints.min(axis=0), slow.joints.max(axis=0), strict=True):
            assert all(j.lower <= a and b <= j.upper for j, a, b in zip(leg.joints, low, high, strict=True))


def test_economy_leaves_every_value_of_the_file_as_it_is():
    file = load("phantomx")
    economical = changed(file, {"economy": True}).robot
    assert economical.walk.tempo > 1.0
    assert replace(economical, walk=replace(economical.walk, tempo=1.0)) == file.robot


def test_economy_that_is_neither_true_nor_false_is_refused():
    with pytest.raises(RobotFileError, match=r"economy.*must be true or false"):
        changed(load("phantomx"), {"economy": "yes, please"})
