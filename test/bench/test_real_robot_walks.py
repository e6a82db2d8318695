# SPDX-License-Identifier: Apache-2.0
"""What errors of a real robot do to its walk: phantomx, tripod, straight ahead, without any correction."""

import dataclasses
import math

import numpy as np
import pytest
import real_robots

from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.reality import reality

FILE = load("phantomx")
IDEAL = reality(FILE.robot, "ideal")

pytestmark = pytest.mark.physics


def walked(**errors):
    return real_robots.measured(FILE, dataclasses.replace(IDEAL, **errors))


def test_one_degree_of_play_costs_two_or_three_percent_of_the_way_and_latency_nothing():
    assert walked(backlash=math.radians(1.0)).ratio == pytest.approx(0.973, abs=0.01)
    assert walked(latency=0.04).ratio == pytest.approx(1.0, abs=0.005)


def test_wrong_zeros_turn_the_robot_and_take_the_load_off_feet():
    crooked = walked(zero_offset=reality(FILE.robot, "typical", 1).zero_offset)
    assert abs(crooked.turn) > 2.0 and crooked.roll > 0.2 and crooked.three_feet < 0.9
    assert "(0." in real_robots.line("zeros", [crooked])


def test_the_seed_decides_which_robot_walks():
    ways = {np.round(real_robots.measured(FILE, reality(FILE.robot, "typical", seed)).turn, 3) for seed in (1, 1, 2)}
    assert len(ways) == 2
