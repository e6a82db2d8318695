# SPDX-License-Identifier: Apache-2.0
"""A robot that selects its gait by speed follows the commanded speed in physics, from slow to fast and back."""

import math

import pytest
from support.drives import ROBOTS, robot_and_urdf
from support.suite.soak import SOAK, some

from hexapod_control.core.gait.gait_table import AUTO
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.evaluation.lockstep import CONTROL_PERIOD_S, planar_pose, standing_lockstep
from hexapod_control.sim.world_settings import WorldSettings

SLOW_SHARE, FAST_SHARE = 0.45, 0.85  # of the highest speed of the most stable gait, of the fastest one
SWEEP_S = 20.0 if SOAK else 15.0  # from slow to fast
MAX_DEVIATION = 0.02  # of the distance from the commanded one


@pytest.mark.physics
@pytest.mark.parametrize("name", some(ROBOTS, "article"))
def test_a_sweep_up_and_down_is_walked_at_its_speed_through_every_gait(name):
    lockstep = standing_lockstep(*robot_and_urdf(name), WorldSettings())
    planner, able = lockstep.planner, lockstep.planner.capabilities
    assert planner.change_gait(AUTO) is None
    gaits = [gait.name for gait in able.selection(AUTO).gaits]
    ahead = Twist(1.0, 0.0, 0.0)
    slow, fast = SLOW_SHARE * able.fastest(ahead, [gaits[0]]).vx, FAST_SHARE * able.fastest(ahead, [gaits[-1]]).vx
    lockstep.reach(Twist(slow, 0.0, 0.0))
    seen, ratios = [planner.view.active_gait], []
    start, commanded = planar_pose(lockstep.simulation).x, 0.0
    ticks = round(SWEEP_S / CONTROL_PERIOD_S)
    for tick in range(2 * ticks):
        speed = slow * (fast / slow) ** (1.0 - abs(tick / ticks - 1.0))
        planner.command(Twist(speed, 0.0, 0.0))
        plan = lockstep.tick()
        commanded += speed * CONTROL_PERIOD_S
        assert plan.margin > 0.0
        if planner.view.active_gait != seen[-1]:
            seen.append(planner.view.active_gait)
        if (tick + 1) % ticks == 0:
            now = planar_pose(lockstep.simulation).x
            ratios.append((now - start) / commanded)
            start, commanded = now, 0.0
    assert seen == [*gaits, *reversed(gaits[:-1])]
    assert all(math.isclose(ratio, 1.0, abs_tol=MAX_DEVIATION) for ratio in ratios)
    assert lockstep.unreachable == 0
