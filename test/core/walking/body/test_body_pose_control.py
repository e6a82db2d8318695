# SPDX-License-Identifier: Apache-2.0
"""Control of the body pose over standing feet: limits of speed and acceleration, coming to rest, arrival."""

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from support.drives import DT, ROBOTS, robot

from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose, Placement
from hexapod_control.core.kinematics.whole_body import joints_in_pose
from hexapod_control.core.statics.static_stability import center_of_mass_in_footprint
from hexapod_control.core.walking.body.body_control import STANDSTILL, BodyControl, BodyPoseControl
from hexapod_control.core.walking.body.pose_feasibility import PoseFeasibility
from hexapod_control.core.walking.foot import Foot, Guided, GuidedPhase, Swing
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.stance_regions import REGION_SHARES, reaches
from hexapod_control.core.workspace.stride_stability import MIN_STRIDE_MARGIN, stride_margin
from hexapod_control.core.workspace.strides.stride_table import PolarOffset, StrideRegion

MAX_SPEED = (0.1, 0.1, 0.08, 0.8, 0.8, 0.8)  # [m/s, rad/s]
MAX_ACCELERATION = (0.5, 0.5, 0.4, 4.0, 4.0, 4.0)  # [m/s^2, rad/s^2]
ROUNDED = 1.0001  # factor on a limit, for rounding errors
STEP_SHARES, RESOLUTION = (0.0, 0.35, 0.7), 1 / 64

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
        before = self.control.now, self.speeds
        self.control.step(dt, self.control.standing_goal if goal is None else goal, self.feet)
        self.speeds = tuple((b - a) / dt for a, b in zip(before[0], self.control.now, strict=True))
        return [b - a for a, b in zip(before[1], self.speeds, strict=True)]

    def arrive(self, seconds=10.0):
        """Time [s] until the pose is the standing goal."""
        for k in range(round(seconds / DT)):
            if self.control.now == self.control.standing_goal and self.control.still:
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
            assert all(abs(v) <= most * ROUNDED for v, most in zip(body.speeds, MAX_SPEED, strict=True))
            # The last tick only covers the remaining distance.
            assert all(abs(c) <= 2.0 * a * DT * ROUNDED for c, a in zip(changes, MAX_ACCELERATION, strict=True))
    body.arrive()
    assert body.feasibility.all_feet_reachable(body.control.now, body.feet)


@pytest.mark.parametrize("axis", range(6))
@pytest.mark.parametrize("name", ROBOTS)
def test_a_pose_is_reached_as_fast_as_the_limits_allow_or_in_the_requested_time(name, axis):
    goal = NEUTRAL._replace(**{BodyPose._fields[axis]: 0.9 * SPREAD[axis] * robot(name).walk.height / 0.1})
    body = Body(name)
    body.control.request(goal)
    assert body.control.standing_goal == goal
    fastest = body.arrive()
    distance, top, acceleration = abs(goal[axis]), MAX_SPEED[axis], MAX_ACCELERATION[axis]
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
        start, rest, passed = body.control.now, body.control.rest, []
        while not body.control.still:
            body.step(goal=rest)
            passed.append(body.control.now)
        for axis, end in enumerate(rest):
            low, high = sorted((start[axis], end))
            slack = MAX_SPEED[axis] * DT  # a tick at the present speed passes before it brakes
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
    start = body.control.now
    ticks = math.ceil(max(abs(now) / (top * DT) for now, top in zip(start, MAX_SPEED, strict=True)))
    for k in range(1, ticks + 1):
        body.control.retreat(DT)
        share = body.control.now.x / start.x
        assert body.control.now == pytest.approx([share * v for v in start])
        assert (body.control.now == NEUTRAL) == (k == ticks)
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


# --- what is feasible ---------------------------------------------------------------------------------------

MACHINE = robot("phantomx")
CAPABILITIES = Capabilities.of(MACHINE)
FEASIBILITY = PoseFeasibility(CAPABILITIES)
STANCE = CAPABILITIES.stances.at(MACHINE.walk.height)


def feet_with(leg, **fields):
    """Feet on their footholds; one of them differs."""
    feet = [Foot(x, y) for x, y in STANCE.footholds]
    feet[leg] = replace(feet[leg], **fields)
    return feet


def outward(leg, share):
    """A point (x, y) [m] at a share of the radius of a leg's region from its foothold."""
    (x, y), far = STANCE.footholds[leg], share * STANCE.radii[leg]
    return {"x": x + 0.6 * far, "y": y - 0.8 * far}


@pytest.mark.parametrize("leg", [0, 4])
@pytest.mark.parametrize("share", [0.45, 0.8, 1.0, 1.5])
def test_feet_are_within_their_regions_up_to_the_share_of_the_radius_that_is_left(leg, share):
    usable = min(share, 1.0)
    for part, inside in ((0.0, True), (0.99 * usable, True), (1.01 * usable, False)):
        assert FEASIBILITY.within_regions(NEUTRAL, feet_with(leg, **outward(leg, part)), share) == inside
    swinging = feet_with(leg, state=Swing(0.5, 1.0, 0.03))
    assert not FEASIBILITY.within_regions(NEUTRAL, swinging, share)
    moved = StrideRegion(PolarOffset(0.0, 0.0), 1.0, 0.4, (0.0, 0.0))  # by less than half of the way
    assert FEASIBILITY.within_regions(NEUTRAL, feet_with(leg, region=moved), share) == (share == 1.5)


@pytest.mark.parametrize("leg", [0, 4])
def test_while_the_robot_walks_a_pose_may_not_leave_a_foot_farther_outside_of_its_region(leg):
    inside, outside, far = ({**outward(leg, part)} for part in (0.9, 1.1, 1.3))
    lowered = BodyPose(z=-0.01)
    other = 2
    for point, kept in ((inside, True), (outside, True)):
        feet = feet_with(leg, **point)
        assert FEASIBILITY.keeps_feet_in_regions(lowered, NEUTRAL, feet, 1.0)  # all stand: they can step
        feet[other].state = Swing(0.5, 1.0, 0.03)
        assert FEASIBILITY.keeps_feet_in_regions(NEUTRAL, NEUTRAL, feet, 1.0) == kept
    feet = feet_with(leg, **far)
    feet[other].state = Swing(0.5, 1.0, 0.03)
    radius, smaller = (CAPABILITIES.stances.at(MACHINE.walk.height + z).radii[leg] for z in (0.0, -0.03))
    goal = BodyPose(z=-0.03)
    assert FEASIBILITY.keeps_feet_in_regions(goal, NEUTRAL, feet, 1.0) == (
        math.dist((feet[leg].x, feet[leg].y), CAPABILITIES.stances.at(MACHINE.walk.height - 0.03).footholds[leg])
        - smaller
        <= math.dist((feet[leg].x, feet[leg].y), STANCE.footholds[leg]) - radius
    )
    assert not FEASIBILITY.keeps_feet_in_regions(BodyPose(x=1.0), NEUTRAL, feet, 1.0)


def test_a_pose_is_in_reach_if_every_foot_is_where_it_is_and_where_a_guided_one_can_come_to_rest():
    rng, found = random.Random(5), set()
    for _ in range(60):
        pose = random_pose("phantomx", rng, 3.0)
        placement = Placement(pose, MACHINE.walk.height)
        expected = all(
            reaches(leg, MACHINE, home, 0.0, placement)
            for leg, home in zip(MACHINE.legs, STANCE.footholds, strict=True)
        )
        assert FEASIBILITY.all_feet_reachable(pose, feet_with(0)) == expected
        found.add(expected)
    assert found == {True, False}
    x, y = STANCE.footholds[0]
    still, fast = (Guided(((x, y, 0.02),), (speed, 0.0, 0.0), phase=GuidedPhase.MOVING) for speed in (0.0, 0.8))
    assert FEASIBILITY.all_feet_reachable(NEUTRAL, feet_with(0, z=0.02, state=still))
    assert not FEASIBILITY.all_feet_reachable(NEUTRAL, feet_with(0, z=0.02, state=fast))  # it stops 0.4 m ahead


@pytest.mark.parametrize("share", [0.6, 1.0])
def test_feet_can_step_to_neutral_if_they_stand_in_their_regions_or_reach_the_lifted_way_there(share):
    rng, found = random.Random(6), set()
    for _ in range(60):
        pose, (x, y) = random_pose("phantomx", rng, 2.5)._replace(z=0.0), STANCE.footholds[1]
        feet = feet_with(1, x=x + rng.uniform(-0.08, 0.08), y=y + rng.uniform(-0.08, 0.08))
        placement, foot = Placement(pose, MACHINE.walk.height), feet[1]
        outside = math.dist((foot.x, foot.y), (x, y)) > share * STANCE.radii[1]
        way = [(foot.x + part * (x - foot.x), foot.y + part * (y - foot.y)) for part in STEP_SHARES]
        lifted = all(reaches(MACHINE.legs[1], MACHINE, point, MACHINE.walk.lift_height, placement) for point in way)
        assert FEASIBILITY.can_step_to_neutral(pose, feet, share) == (not outside or lifted)
        found.add((outside, lifted))
    assert len(found) > 2


def test_the_region_share_of_a_pose_is_the_largest_with_reach_and_margin():
    rng, found = random.Random(7), set()
    gaits, lift = tuple(CAPABILITIES.gaits.values()), MACHINE.walk.lift_height
    for _ in range(25):
        pose = random_pose("phantomx", rng, 2.0)._replace(z=0.0)
        joints = joints_in_pose(MACHINE, STANCE.footholds, pose)
        center = center_of_mass_in_footprint(MACHINE, joints, pose) if joints else None

        def usable(share, pose=pose, center=center):
            fits = CAPABILITIES.strides.fits(pose, share, lift)
            return fits and stride_margin(gaits, STANCE, center, min(share, 1.0)) >= MIN_STRIDE_MARGIN

        share = FEASIBILITY.region_share(pose)
        found.add(share)
        expected = next((each for each in REGION_SHARES if usable(each)), REGION_SHARES[-1])
        assert share == expected if expected <= 1.0 else 1.0 <= share <= expected
    assert len(found) > 3


def test_the_region_share_of_a_body_that_is_kept_level_is_the_largest_that_fits_or_none():
    shares, found = (2.0, 1.75, 1.5, 1.25, 1.0, 0.9, 0.8, 0.7, 0.6), set()
    for k in range(40):
        pose = BodyPose(z=0.01, roll=0.012 * k, pitch=-0.006 * k)
        fits = [share for share in shares if CAPABILITIES.strides.fits(pose, share, MACHINE.walk.lift_height)]
        assert FEASIBILITY.tilted_region_share(pose) == max(fits, default=0.0)
        found.add(max(fits, default=0.0))
    assert len(found) > 4 and 0.0 in found


# --- the body over the feet ---------------------------------------------------------------------------------


def arrived(body, ticks=150):
    for _ in range(ticks):
        body.step(DT, False, feet_with(0))
    return body


def test_a_temporary_pose_ends_in_the_requested_one_with_its_shift():
    body, pose, other = BodyControl(CAPABILITIES, NEUTRAL), BodyPose(z=0.01), BodyPose(x=0.01, y=-0.01)
    assert body.settled and body.height == MACHINE.walk.height and not body.temporary
    body.request(pose)
    assert not body.settled and body.pose.standing_goal == pose
    assert arrived(body).settled and body.pose.now == pose and body.height == pytest.approx(MACHINE.walk.height + 0.01)
    body.take_temporarily(other)
    assert body.temporary and body.pose.standing_goal == other
    assert arrived(body).pose.now == other and not body.settled
    body.shift((0.005, -0.002))
    body.end_temporary()
    assert not body.temporary and body.pose.standing_goal == BodyPose(0.005, -0.002, 0.01)
    assert arrived(body).settled and body.pose.now == body.pose.standing_goal
    body.end_temporary()
    assert body.pose.standing_goal == BodyPose(0.005, -0.002, 0.01)
    body.request_later(NEUTRAL)
    assert body.temporary and body.pose.standing_goal == BodyPose(0.005, -0.002, 0.01)
    body.end_temporary()
    assert body.pose.standing_goal == BodyPose(0.005, -0.002, 0.0) and not body.temporary


def point_over_ground(pose):
    """Height and position over the ground of a point of the body in a pose."""
    return pytest.approx(Placement(pose, MACHINE.walk.height).to_footprint(0.1, 0.2, 0.3))


def placed(body, placement=None):
    return (placement or body.placement).to_footprint(0.1, 0.2, 0.3)


def test_the_body_is_placed_in_its_pose_with_sway_and_tilt_and_levelled_while_it_is_measured():
    body = BodyControl(CAPABILITIES, BodyPose(yaw=0.05))
    assert placed(body) == placed(body, body.resting_placement) == point_over_ground(BodyPose(yaw=0.05))
    assert body.slope == (0.0, 0.0) and body.levelling is None
    body.sway.offset = (0.01, -0.02)
    assert placed(body) == point_over_ground(BodyPose(0.01, -0.02, yaw=0.05)) and not body.settled
    body.sway.offset = (0.0, 0.0)
    body.sense(None)
    assert body.levelling is None
    body.sense((0.03, -0.02))
    assert body.slope == (0.03, -0.02) and not body.settled
    body.levelling.tilt = (-0.01, 0.02)
    assert placed(body) == point_over_ground(BodyPose(roll=-0.01, pitch=0.02, yaw=0.05))
    body.levelling.region_share = 0.8
    assert body.region_share == 0.8
    body.levelling.tilt = (0.0, 0.0)
    body.sense(None)
    assert body.levelling is None and body.region_share == REGION_SHARES[0]


# --- goals and regions, with legs that reach everything -----------------------------------------------------

TILTED = BodyPose(z=0.01, roll=0.1)


class Legs:
    """Legs without limits; the share of the regions in a pose and the reachable steps are set by the test."""

    def __init__(self):
        self.share, self.inside = 2.0, True
        self.walking = lambda pose: pose
        self.steps = self.keeps = lambda pose: True

    def clamp_height(self, pose):
        return pose

    clamp_to_stand = clamp_height

    def clamp_to_walk(self, pose):
        return self.walking(pose)

    def region_share(self, pose):
        return self.share

    def within_regions(self, pose, feet, share):
        return self.inside

    def can_step_to_neutral(self, pose, feet, share):
        return self.steps(pose)

    def keeps_feet_in_regions(self, pose, now, feet, share):
        return self.keeps(pose)

    def all_feet_reachable(self, pose, feet):
        return True


def control_after(control, goal, ticks=100):
    """The control after some ticks towards a goal."""
    for _ in range(ticks):
        control.step(DT, goal, [])
    return control


def test_the_regions_shrink_by_their_size_per_second_before_the_body_moves_until_the_feet_are_inside():
    legs = Legs()
    control = BodyPoseControl(legs, NEUTRAL)
    legs.share, legs.inside = 0.8, False
    control.request(TILTED)
    for k in range(1, 60):
        control_after(control, TILTED, 1)
        assert control.region_share == pytest.approx(2.0 - k * DT) and control.now == NEUTRAL
    control_after(control, TILTED, 3)
    assert control.region_share == 0.8 and control.now != NEUTRAL
    other = BodyPoseControl(legs, NEUTRAL)
    other.request(TILTED)
    control_after(other, TILTED, 10)
    legs.inside = True
    control_after(other, TILTED, 1)
    assert other.region_share == 0.8 and other.now != NEUTRAL
    assert control_after(other, TILTED).now == TILTED and other.walkable
    legs.share = 2.0
    other.request(NEUTRAL)
    while other.now != NEUTRAL:
        assert other.region_share == 0.8  # the greater regions are in reach only there
        control_after(other, NEUTRAL, 1)
    assert control_after(other, NEUTRAL, 2).region_share == 2.0


def test_a_body_in_a_pose_to_stand_in_only_can_walk_again_in_its_walking_pose_or_level():
    legs, level = Legs(), BodyPose(z=0.01)
    legs.walking = lambda pose: pose._replace(roll=0.5 * pose.roll)
    legs.share = 0.6
    control = BodyPoseControl(legs, NEUTRAL)
    control.request(TILTED)
    assert control_after(control, TILTED).now == TILTED and not control.walkable and control.region_share == 0.6
    assert control_after(control, control.walking_goal).walkable and control.now.roll == 0.05
    assert control.region_share == 0.6
    assert not control_after(control, TILTED).walkable
    assert control_after(control, level).walkable and control.now == level and control.region_share == 2.0


def test_a_walking_body_moves_to_a_pose_from_which_the_feet_can_step_to_neutral():
    legs = Legs()
    control = BodyPoseControl(legs, NEUTRAL)
    control.request(TILTED)
    control_after(control, TILTED, 5)
    rest, level = control.rest, BodyPose(z=0.01)
    assert NEUTRAL != rest != TILTED and control.stepping_goal([]) == TILTED and control.can_start_walking([])
    legs.steps = lambda pose: pose == rest
    assert control.stepping_goal([]) == rest and control.can_start_walking([])
    legs.steps = lambda pose: False
    assert control.stepping_goal([]) == level and not control.can_start_walking([])
    assert BodyPoseControl(legs, level).can_start_walking([])
    control.walkable, legs.steps = False, lambda pose: pose == rest
    assert control.stepping_goal([]) == level and not control.can_start_walking([])


def test_a_body_that_cannot_stop_in_reach_halves_its_speed_and_then_stands():
    legs = Legs()
    control = BodyPoseControl(legs, NEUTRAL)
    control.request(BodyPose(x=0.05))
    before = control_after(control, control.standing_goal, 4).now.x
    after = control_after(control, control.standing_goal, 1).now.x
    answers = [False, False, True]  # at full speed, while braking, at half the speed
    legs.keeps = lambda pose: answers.pop(0)
    halved = control_after(control, control.standing_goal, 1).now.x
    assert halved - after == pytest.approx(0.5 * (after - before)) and not control.still
    legs.keeps = lambda pose: False
    assert control_after(control, control.standing_goal, 1).now.x == halved and control.still


def test_a_body_moves_only_if_a_little_more_than_the_pose_in_which_it_comes_to_rest_is_in_reach():
    legs, asked = Legs(), []
    legs.keeps = lambda pose: asked.append(pose.x) or True
    control = BodyPoseControl(legs, NEUTRAL)
    control.request(BodyPose(x=0.05))
    control_after(control, control.standing_goal, 10)
    assert asked[-1] - control.rest.x == pytest.approx(1e-4)


def speeds_towards(control, goal):
    """Speeds (n, 6) [m/s, rad/s] until the body rests in a goal."""
    poses = [control.now]
    while control.now != goal or not control.still:
        poses.append(control_after(control, goal, 1).now)
    return np.diff(poses, axis=0) / DT


@pytest.mark.parametrize("axis", range(6))
def test_a_long_way_is_covered_at_the_top_speed_of_its_coordinate_with_its_acceleration(axis):
    goal = NEUTRAL._replace(**{BodyPose._fields[axis]: 4.0 * MAX_SPEED[axis] ** 2 / MAX_ACCELERATION[axis]})
    control = BodyPoseControl(Legs(), NEUTRAL)
    control.request(goal)
    speeds = speeds_towards(control, goal)[:, axis]
    assert speeds.max() == pytest.approx(MAX_SPEED[axis])
    changes = np.diff(speeds) / DT
    assert speeds[0] == pytest.approx(MAX_ACCELERATION[axis] * DT) and changes.max() == pytest.approx(
        MAX_ACCELERATION[axis]
    )


@pytest.mark.parametrize("duration", [1.0, 4.0])
def test_a_pose_with_a_duration_takes_a_quarter_of_it_each_to_start_and_to_stop(duration):
    goal = BodyPose(x=0.02, z=-0.01, yaw=0.1)
    control = BodyPoseControl(Legs(), NEUTRAL)
    control.request(goal, duration)
    speeds = speeds_towards(control, goal)
    assert len(speeds) * DT == pytest.approx(duration, rel=0.15)
    top = 4.0 / 3.0 / duration * np.array(goal)
    assert speeds[len(speeds) // 2] == pytest.approx(top) and speeds[0] == pytest.approx(top * DT / (0.25 * duration))
