# SPDX-License-Identifier: Apache-2.0
"""The margin of full strides is the least of all phases, and costs little time for many body poses."""

import random
import time

import pytest
from support.drives import ROBOTS, robot

from hexapod_control.core.gait.gait_table import TOUCH_DOWN_PHASE_STEP
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.stance_regions import DIRECTIONS
from hexapod_control.core.workspace.stride_stability import margin_at, stride_margin


def one_by_one(gaits, stance, center, share):
    """The least margin [m] of all phases and directions, computed one by one."""
    return min(
        margin_at(gait, phase, stance, center, share, direction)
        for gait in gaits
        for lift_off in gait.lift_off
        for phase in (lift_off, lift_off + 1.0 - gait.duty_factor - TOUCH_DOWN_PHASE_STEP)
        for direction in DIRECTIONS[::2]
    )


def cost(call, *arguments):
    """Least computing time [s] of a call."""
    times = []
    for _ in range(5):
        begin = time.process_time()
        call(*arguments)
        times.append(time.process_time() - begin)
    return min(times)


@pytest.mark.parametrize("name", ROBOTS)
def test_the_margin_is_the_least_of_all_phases_and_costs_little_for_another_pose_or_share(name):
    capabilities, rng = Capabilities.of(robot(name)), random.Random(1)
    gaits = tuple(capabilities.gaits.values())
    for _ in range(6):
        stance = capabilities.stances.at(rng.uniform(capabilities.stances.lowest, capabilities.stances.highest))
        share, center = rng.uniform(0.1, 1.0), (rng.uniform(-0.1, 0.1), rng.uniform(-0.1, 0.1))
        assert stride_margin(gaits, stance, center, share) == pytest.approx(
            one_by_one(gaits, stance, center, share), abs=1e-12
        )
    longest = cost(one_by_one, gaits, stance, center, share)
    assert cost(stride_margin, gaits, stance, center, share) < 0.1 * longest
    assert cost(lambda: stride_margin(gaits, stance, center, rng.uniform(0.1, 1.0))) < 0.5 * longest
