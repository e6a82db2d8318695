# SPDX-License-Identifier: Apache-2.0
"""The last two fallbacks of the tick limiter, when no part of a tick is feasible."""

import math
from itertools import pairwise

import pytest
from support.drives import DT, robot, standing_planner

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.kinematics.body_pose import NEUTRAL, Placement
from hexapod_control.core.kinematics.leg_kinematics import UnreachableReason
from hexapod_control.core.kinematics.whole_body import UnreachableFoot, WholeBodyPose
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_limiter import TickLimiter
from hexapod_control.core.posture.straight_moves import JointMove
from hexapod_control.core.workspace.swing_limits import SPEED_SHARE

MACHINE = robot("phantomx")
MIN_GAP_M = 0.003  # between neighbouring legs
SPIN_UP_TIME_S = 1.0 / 30.0  # from rest to no-load speed
UNREACHED = UnreachableFoot("left_front", next(iter(UnreachableReason)), 0.01)


def pose(joints, unreached=None):
    contacts = [(leg.foothold[0], leg.foothold[1]) for leg in MACHINE.legs]
    placement = Placement(NEUTRAL, MACHINE.walk.height)
    return WholeBodyPose(joints, None, contacts, [True] * len(contacts), placement, unreached)


class OutOfReach(Copyable):
    """A motion whose feet are never in reach, though its joints move.

    It retreats at a speed [rad/s], or not at all for NaN.
    """

    def __init__(self, retreat_speed):
        self.retreat_speed = retreat_speed
        self.retreated = 0.0  # [s]

    def advance(self, dt, previous):
        return pose([(a, b, c + 0.01) for a, b, c in previous], UNREACHED)

    def retreat(self, dt, previous):
        if math.isnan(self.retreat_speed):
            return None
        self.retreated += dt
        return pose([(a, b + self.retreat_speed * dt, c) for a, b, c in previous])


def start():
    return [tuple(row) for row in Planner(MACHINE).view.lying_joints.tolist()]


def test_without_a_retreat_the_joints_hold_and_the_foot_out_of_reach_is_named():
    joints, limiter = start(), TickLimiter(MACHINE)
    assert (limiter.time_share, limiter.slowed, limiter.blocked, limiter.gap) == (1.0, False, None, None)
    _, held = limiter.advance(OutOfReach(math.nan), joints, DT, 1.0)
    assert held.joints == joints and held.unreached == UNREACHED
    assert limiter.time_share == 0.0 and limiter.slowed


@pytest.mark.parametrize("times", [0.5, 3.0, 40.0])
def test_a_retreat_keeps_to_the_joint_speed_limits_and_names_the_foot(times):
    slowest = min(SPEED_SHARE * leg.femur_joint.no_load_speed for leg in MACHINE.legs)
    joints, limiter = start(), TickLimiter(MACHINE)
    motion, found = limiter.advance(OutOfReach(times * slowest), joints, DT, 1.0)
    speeds = [(after[1] - before[1]) / DT for before, after in zip(joints, found.joints, strict=True)]
    assert all(0.3 * min(times, 1.0) * slowest <= speed <= slowest * (1.0 + 1e-9) for speed in speeds)
    assert found.unreached == UNREACHED and found.centers is not None
    assert 0.0 < motion.retreated <= DT


def test_legs_that_would_touch_block_each_other_and_are_named():
    machine, planner = robot("article"), standing_planner("article")
    joints = planner.view.joint_angles
    front, middle = (machine.leg_names.index(f"left_{place}") for place in ("front", "middle"))
    limiter, now = TickLimiter(machine), [tuple(row) for row in joints.tolist()]
    goal = list(now)
    for leg, sign in ((front, 1.0), (middle, -1.0)):
        goal[leg] = (now[leg][0] + sign * 0.9, *now[leg][1:])
    motion = JointMove.between(machine, now, goal, NEUTRAL, 2.0)
    gaps, shares = [], []
    for _ in range(150):
        motion, found = limiter.advance(motion, now, DT, 1.0)
        now = found.joints
        gaps.append(limiter.gap.distance)
        shares.append(limiter.time_share)
        if limiter.blocked is not None:
            break
    assert set(limiter.blocked.legs) == {front, middle}
    assert limiter.slowed and not motion.done
    assert shares[-1] < 0.05 <= min(shares[:-1])
    assert min(gaps) >= MIN_GAP_M - 1e-6
    assert all(after <= before + 1e-9 for before, after in pairwise(gaps[-10:]))
    left = [gap - MIN_GAP_M for gap in gaps]
    assert 0.5 <= min(after / before for before, after in pairwise(left)) < 0.6  # half of it in half of 40 ms
    limiter.reset()
    assert (limiter.gap, limiter.time_share) == (None, 1.0)
    _, _ = limiter.advance(JointMove.between(machine, now, [tuple(r) for r in joints.tolist()], NEUTRAL), now, DT, 1.0)
    assert limiter.blocked is None  # they may go apart


class Turning(Copyable):
    """A motion that turns every coxa at a rate [rad/s] of its own time, with a foot out of reach in longer ticks."""

    def __init__(self, rate, longest=math.inf):
        self.rate, self.longest = rate, longest
        self.time = 0.0  # [s]

    def advance(self, dt, previous):
        self.time += dt
        return pose([(a + self.rate * dt, b, c) for a, b, c in previous], UNREACHED if dt > self.longest else None)


@pytest.mark.parametrize(("reach", "share"), [(1.0, 1.0), (0.6, 0.5), (0.3, 0.25), (0.07, 0.0625)])
def test_a_tick_in_which_a_foot_gets_out_of_reach_is_halved_until_it_does_not(reach, share):
    limiter = TickLimiter(MACHINE)
    motion, found = limiter.advance(Turning(1e-6, reach * DT), start(), DT, 1.0)
    assert limiter.time_share == pytest.approx(share) and motion.time == pytest.approx(share * DT)
    assert found.unreached is None and limiter.slowed == (share < 1.0)


@pytest.mark.parametrize("pace", [0.3, 1.0])
@pytest.mark.parametrize("times", [0.5, 3.0])
def test_joints_speed_up_within_their_limits_until_they_turn_as_fast_as_allowed(times, pace):
    most = min(SPEED_SHARE * leg.coxa_joint.no_load_speed for leg in MACHINE.legs)
    no_load, limiter, motion, joints = most / SPEED_SHARE, TickLimiter(MACHINE), Turning(times * most), start()
    speeds = [0.0]
    for _ in range(30):
        motion, found = limiter.advance(motion, joints, 0.005, pace)
        speeds.append((found.joints[0][0] - joints[0][0]) / 0.005)
        joints = found.joints
        assert limiter.time_share <= pace + 1e-12
    assert max(speeds) <= most * (1.0 + 1e-9)
    assert speeds[-1] == pytest.approx(min(times * pace, 0.98) * most, rel=0.03)
    assert max(b - a for a, b in pairwise(speeds)) <= no_load / SPIN_UP_TIME_S * 0.005 * (1.0 + 1e-9)
    assert limiter.slowed == (times * pace > 0.98)


def test_after_a_slow_tick_the_share_returns_to_one_at_a_bounded_rate():
    limiter, joints = TickLimiter(MACHINE), start()
    limiter.advance(Turning(1e-6, 0.07 * DT), joints, DT, 1.0)
    shares = [limiter.time_share]
    for _ in range(8):
        limiter.advance(Turning(1e-6), joints, DT, 1.0)
        shares.append(limiter.time_share)
        assert not limiter.slowed
    assert shares == pytest.approx([min(1.0, shares[0] + 10.0 * DT * k) for k in range(9)])
