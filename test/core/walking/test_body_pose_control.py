"""Control of the body pose over standing feet: limits of speed and acceleration, coming to rest, arrival."""

import math
import random

import pytest
from support.drives import DT, ROBOTS, robot

from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose
from hexapod_control.core.walking.body.body_pose_control import ACCELERATION, SPEED, STANDSTILL, BodyPoseControl
from hexapod_control.core.walking.body.pose_feasibility import RESOLUTION, PoseFeasibility
from hexapod_control.core.walking.foot import Foot
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.stance_regions import REGION_SHARES

SPREAD = BodyPose(0.02, 0.02, 0.01, 0.1, 0.1, 0.15)


def random_pose(name, rng, size=1.0):
    height = robot(name).walk.height / 0.1
    lengths = (height, height, height, 1.0, 1.0, 1.0)
    return BodyPose(*(size * rng.uniform(-1.0, 1.0) * most * s for most, s in zip(SPREAD, lengths, strict=True)))


class Body:
    """The pose of a robot that stands on its neutral footholds, and its speeds."""

    def __init__(self, name):
        capabilities = Capabilities.of(robot(name))
        self.feasibility = PoseFeasibility(capabilities)
        self.control = BodyPoseControl(self.feasibility, NEUTRAL)
        self.feet = [Foot(x, y) for x, y in capabilities.stances.at(robot(name).walk.height).footholds]
        self.speeds = STANDSTILL

    def step(self, goal=None, dt=DT):
        """Changes of speed in a tick towards a goal, by default that of a standing robot."""
        before = self.control.pose, self.speeds
        self.control.step(dt, self.control.standing_goal if goal is None else goal, self.feet)
        self.speeds = tuple((b - a) / dt for a, b in zip(before[0], self.control.pose, strict=True))
        return [b - a for a, b in zip(before[1], self.speeds, strict=True)]

    def arrive(self, seconds=10.0):
        """Time [s] until the pose is the standing goal."""
        for k in range(round(seconds / DT)):
            if self.control.pose == self.control.standing_goal and self.control.still:
                return k * DT
            self.step()
        raise AssertionError(f"not there after {seconds} s")


@pytest.mark.parametrize("name", ROBOTS)
def test_any_sequence_of_goals_keeps_speeds_and_accelerations_bounded_and_reaches_the_last(name):
    body, rng = Body(name), random.Random(1)
    for _ in range(40):
        goal, duration = random_pose(name, rng), rng.choice((0.0, 0.0, 0.5, 2.0))
        if rng.random() < 0.8:
            body.control.request(goal, duration)
        else:
            body.control.track(goal)
        for _ in range(rng.choice((1, 5, 20, 60))):
            changes = body.step()
            assert all(abs(v) <= most * 1.0001 for v, most in zip(body.speeds, SPEED, strict=True))
            # The last tick only covers the remaining distance.
            assert all(abs(c) <= 2.0 * a * DT * 1.0001 for c, a in zip(changes, ACCELERATION, strict=True))
    body.arrive()
    assert body.feasibility.all_feet_reachable(body.control.pose, body.feet)


@pytest.mark.parametrize("axis", range(6))
@pytest.mark.parametrize("name", ROBOTS)
def test_a_pose_is_reached_as_fast_as_the_limits_allow_or_in_the_requested_time(name, axis):
    goal = NEUTRAL._replace(**{BodyPose._fields[axis]: 0.9 * SPREAD[axis] * robot(name).walk.height / 0.1})
    body = Body(name)
    body.control.request(goal)
    assert body.control.standing_goal == goal
    fastest = body.arrive()
    distance, top, acceleration = abs(goal[axis]), SPEED[axis], ACCELERATION[axis]
    ramps = top * top / acceleration  # distance of speeding up and slowing down
    expected = distance / top + top / acceleration if distance > ramps else 2.0 * math.sqrt(distance / acceleration)
    assert expected - DT <= fastest <= expected + 9 * DT  # the last ticks are short
    body.control.request(NEUTRAL, 2.5)
    assert body.arrive() == pytest.approx(2.5, abs=0.3)
    body.control.request(goal, 0.1 * fastest)  # faster than it can
    assert body.arrive() == pytest.approx(fastest, abs=2 * DT)


@pytest.mark.parametrize("name", ROBOTS)
def test_a_stopped_body_comes_to_rest_at_the_predicted_pose(name):
    rng = random.Random(2)
    for _ in range(20):
        body = Body(name)
        body.control.request(random_pose(name, rng))
        for _ in range(rng.randint(3, 12)):
            body.step()
        start, rest, passed = body.control.pose, body.control.rest, []
        while not body.control.still:
            body.step(goal=rest)
            passed.append(body.control.pose)
        for axis, end in enumerate(rest):
            low, high = sorted((start[axis], end))
            slack = SPEED[axis] * DT  # a tick at the present speed passes before it brakes
            assert all(low - slack <= pose[axis] <= high + slack for pose in passed)
            assert abs(passed[-1][axis] - end) < 1e-6


@pytest.mark.parametrize("name", ROBOTS)
def test_a_pose_out_of_reach_is_clamped_on_a_straight_line_to_one_just_in_reach(name):
    rng, feasibility = random.Random(3), PoseFeasibility(Capabilities.of(robot(name)))
    for _ in range(20):
        pose = feasibility.clamp_height(random_pose(name, rng, 8.0))
        level = NEUTRAL._replace(z=pose.z)
        for clamp in (feasibility.clamp_to_stand, feasibility.clamp_to_walk):
            found = clamp(pose)
            assert clamp(found) == found
            shares = [(f - n) / (p - n) for f, n, p in zip(found, level, pose, strict=True) if p != n]
            assert shares == pytest.approx([shares[0]] * len(shares)) and 0.0 <= shares[0] <= 1.0
            if found != pose:
                farther = level.towards(pose, shares[0] + RESOLUTION)
                assert clamp(farther) != farther
        assert feasibility.can_stand(pose) == (feasibility.clamp_to_stand(pose) == pose)
    low, high = (feasibility.clamp_height(BodyPose(z=z)) for z in (-1.0, 1.0))
    assert feasibility.can_stand(low) and feasibility.can_stand(high)
    assert not feasibility.can_stand(low._replace(z=low.z - 0.001))
    assert not feasibility.can_stand(high._replace(z=high.z + 0.001))


@pytest.mark.parametrize("name", ROBOTS)
def test_a_body_that_returns_to_neutral_moves_straight_at_full_speed(name):
    body, rng = Body(name), random.Random(4)
    body.control.request(random_pose(name, rng))
    body.arrive()
    start = body.control.pose
    ticks = math.ceil(max(abs(now) / (top * DT) for now, top in zip(start, SPEED, strict=True)))
    for k in range(1, ticks + 1):
        body.control.retreat(DT)
        share = body.control.pose.x / start.x
        assert body.control.pose == pytest.approx([share * v for v in start])
        assert (body.control.pose == NEUTRAL) == (k == ticks)
    assert body.control.standing_goal == body.control.walking_goal == NEUTRAL and body.control.still


@pytest.mark.parametrize("name", ROBOTS)
def test_in_the_neutral_pose_the_full_regions_are_available_for_walking(name):
    control = Body(name).control
    assert (control.region_share, control.walkable, control.still) == (REGION_SHARES[0], True, True)


def test_the_body_shifts_only_where_its_present_feet_stay_in_their_regions():
    body, ahead = Body("phantomx"), BodyPose(x=0.07)
    assert body.control.can_shift_to(ahead, body.feet)
    assert not body.control.can_shift_to(ahead, [Foot(foot.x - ahead.x, foot.y) for foot in body.feet])
    assert not body.control.can_shift_to(BodyPose(z=0.2), [Foot(foot.x, foot.y) for foot in body.feet])
