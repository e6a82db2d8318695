"""Parts of the foot motion: the guard of stance regions, halts in mid-swing, swings from a height."""

import math
import random
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from support.drives import DT, robot

from hexapod_control.core.gait.gait_clock import GaitClock
from hexapod_control.core.kinematics.se2 import ZERO, Pose, Twist, exp
from hexapod_control.core.walking.feet.drop_motion import (
    DROP_ACCELERATION,
    DROP_TIMES_S,
    advance_drop,
    drop_after_halt,
)
from hexapod_control.core.walking.feet.foot_motion import FootMotion, time_in_flight
from hexapod_control.core.walking.feet.region_guard import allowed_share, time_inside
from hexapod_control.core.walking.feet.swing_motion import BodyTick, advance_swing
from hexapod_control.core.walking.foot import Dropping, Foot, Swing
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.robot_gaits import gaits
from hexapod_control.core.workspace.strides.stride_regions import Strides

NAME = "phantomx"
TRIPOD = gaits(robot(NAME))["tripod"]
SWING_TIME = 0.45  # [s]


def stance():
    return Capabilities.of(robot(NAME)).stances.at(robot(NAME).walk.height)


def twists(count: int):
    rng = random.Random(3)
    return [Twist(rng.uniform(-0.3, 0.3), rng.uniform(-0.3, 0.3), rng.uniform(-2.5, 2.5)) for _ in range(count)]


@pytest.mark.parametrize("twist", twists(30))
def test_with_the_guard_no_planted_foot_leaves_its_region_whatever_the_twist(twist):
    regions = stance()
    feet = [Foot(x, y) for x, y in regions.footholds]
    for _ in range(150):
        share = allowed_share(feet, None, twist, DT, SWING_TIME, Strides.about_neutral(regions))
        assert 0.0 <= share <= 1.0
        back = exp(twist.scaled(share), -DT)
        for foot, home, radius in zip(feet, regions.footholds, regions.radii, strict=True):
            foot.x, foot.y = back.apply(foot.x, foot.y)
            assert math.dist((foot.x, foot.y), home) <= radius
    assert share < 0.05  # nothing lifts off: the body has come to rest


@pytest.mark.parametrize("twist", twists(30))
def test_the_guard_slows_the_body_only_for_a_foot_that_would_leave_its_region_before_its_lift_off(twist):
    regions, clock = stance(), GaitClock(TRIPOD)
    feet = [Foot(x, y) for x, y in regions.footholds]
    fits = all(
        clock.stance(leg, 0.0) * SWING_TIME <= time_inside(foot.x, foot.y, twist, home, 0.985 * radius)
        for leg, (foot, home, radius) in enumerate(zip(feet, regions.footholds, regions.radii, strict=True))
    )
    if fits:
        assert allowed_share(feet, clock, twist, DT, SWING_TIME, Strides.about_neutral(regions)) == 1.0


def test_a_foot_at_the_centre_of_rotation_stays_in_place_and_does_not_slow_the_body():
    regions = stance()
    x, y = regions.footholds[0]
    for clock in (None, GaitClock(TRIPOD)):
        assert (
            allowed_share(
                [Foot(x, y)], clock, Twist(2.0 * y, -2.0 * x, 2.0), DT, SWING_TIME, Strides.about_neutral(regions)
            )
            == 1.0
        )


def speed_over_body(foot: Foot, twist: Twist) -> float:
    """Speed [m/s] at which the body passes over a planted foot, by a difference quotient."""
    ends = [exp(twist, time).apply(foot.x, foot.y) for time in (-1e-5, 1e-5)]
    return math.dist(*ends) / 2e-5


def feet_in_regions(count: int):
    """Feet somewhere in the region of the first leg, with twists."""
    regions, rng = stance(), random.Random(5)
    for twist in twists(count):
        r, angle = 0.95 * regions.radii[0] * math.sqrt(rng.random()), rng.uniform(-math.pi, math.pi)
        x, y = regions.footholds[0]
        yield Foot(x + r * math.cos(angle), y + r * math.sin(angle)), twist


def test_a_foot_leaves_its_region_after_the_time_inside():
    home, radius = stance().footholds[0], stance().radii[0]
    for foot, twist in feet_in_regions(100):
        time = time_inside(foot.x, foot.y, twist, home, radius)
        distances = [math.dist(exp(twist, -s * time).apply(foot.x, foot.y), home) for s in (0.5, 0.999, 1.001)]
        assert distances[0] < radius and distances[1] < radius < distances[2]
        straight = Twist(twist.vx, twist.vy, 0.0)
        time = time_inside(foot.x, foot.y, straight, home, radius)
        assert math.dist(exp(straight, -time).apply(foot.x, foot.y), home) == pytest.approx(radius)
        slight = straight._replace(wz=1e-7)
        assert time_inside(foot.x, foot.y, slight, home, radius) == pytest.approx(time, rel=1e-4)
    assert time_inside(*home, ZERO, home, radius) == math.inf
    assert time_inside(home[0] + 2.0 * radius, home[1], Twist(-0.1, 0.0, 0.0), home, radius) == 0.0
    assert time_inside(*home, Twist(0.1 * home[1], -0.1 * home[0], 0.1), home, radius) == math.inf


def test_a_foot_that_may_leave_its_region_is_braked_at_a_constant_deceleration_until_it_stops_at_the_edge():
    """The braking distance v^2 / 2 a at the share is the distance left; a foot due to lift off sooner brakes less."""
    regions, clock = stance(), GaitClock(TRIPOD)
    braked = 0
    for foot, twist in feet_in_regions(200):
        speed = speed_over_body(foot, twist)
        inside = time_inside(foot.x, foot.y, twist, regions.footholds[0], 0.985 * regions.radii[0])
        share = allowed_share([foot], None, twist, DT, SWING_TIME, Strides.about_neutral(regions))
        assert share == pytest.approx(min(1.0, math.sqrt(2.0 * 1.5 * inside / speed), inside / DT), rel=1e-6)
        clock.advance(0.013, [0.0] * 6)
        stays = clock.until[0] * SWING_TIME
        share = allowed_share([foot], clock, twist, DT, SWING_TIME, Strides.about_neutral(regions))
        if (stays - inside) * speed <= 0.01 * regions.radii[0]:
            assert share == 1.0
        else:
            brakes = min(1.0 - 1.5 * DT / speed, math.sqrt(2.0 * 1.5 * inside / speed), inside / DT)
            assert share == pytest.approx(max(inside / stays, brakes), rel=1e-6)
            braked += share < 1.0
    assert braked > 20


def test_half_a_stance_after_touch_down_a_foot_is_at_its_neutral_foothold_and_its_swing_begins_and_ends_at_rest():
    regions, rng = stance(), random.Random(6)
    for _ in range(30):
        twist = Twist(rng.uniform(-0.06, 0.06), rng.uniform(-0.06, 0.06), rng.uniform(-0.3, 0.3))
        home = regions.footholds[0]
        start = exp(twist, -0.5 * SWING_TIME).apply(*home)
        foot, swing = Foot(*start), Swing(0.0, 1.0, 0.03)
        foot.state = swing
        dt = 0.01 * SWING_TIME
        tick = BodyTick(dt, twist, SWING_TIME, exp(twist, -dt))
        speeds, heights = [], []
        while not foot.planted:
            ground_fixed = tick.back.apply(foot.x, foot.y)
            before = foot.z
            advance_swing(foot, swing, ground_fixed, swing.progress + 0.01, tick, Strides.about_neutral(regions), 0)
            assert foot.velocity[0] * dt == pytest.approx(foot.x - ground_fixed[0], abs=1e-12)
            assert foot.velocity[1] * dt == pytest.approx(foot.y - ground_fixed[1], abs=1e-12)
            assert foot.velocity[2] * dt == pytest.approx(foot.z - before, abs=1e-12)
            speeds.append(math.hypot(*foot.velocity[:2]))
            heights.append(foot.z)
        assert len(heights) == 100 and foot.z == 0.0
        assert max(heights) == pytest.approx(0.03, rel=1e-3) and abs(int(np.argmax(heights)) - 49) <= 1
        assert exp(twist, -0.5 * SWING_TIME).apply(foot.x, foot.y) == pytest.approx(home, abs=1e-4)
        assert max(speeds[0], speeds[-1]) < 0.01 * max(speeds)


def drops():
    rng = random.Random(7)
    for _ in range(60):
        velocity = rng.uniform(-0.3, 0.3), rng.uniform(-0.3, 0.3), rng.uniform(-0.3, 0.3)
        foot = Foot(0.1, 0.2, rng.uniform(0.002, 0.04), velocity=velocity)
        yield foot, drop_after_halt(foot), velocity


def test_a_drop_begins_at_the_speed_of_the_foot_and_ends_at_rest_on_the_ground_without_dipping_below():
    dt = 0.001
    for foot, drop, velocity in drops():
        foot.state = drop
        heights, places, speeds = [foot.z], [(foot.x, foot.y)], []
        while not foot.planted:
            advance_drop(foot, drop, (foot.x, foot.y), dt, Pose(0.0, 0.0, 0.0))
            speeds.append(foot.velocity)
            heights.append(foot.z)
            places.append((foot.x, foot.y))
        assert len(speeds) == pytest.approx(drop.duration / dt, abs=1.5)
        assert min(heights) >= -1e-9 and foot.z == 0.0
        assert speeds[0] == pytest.approx(velocity, abs=0.05)
        assert math.hypot(*speeds[-1]) < 0.05
        slide = [drop.duration / 3.0 * v for v in velocity[:2]]
        assert (foot.x - 0.1, foot.y - 0.2) == pytest.approx(slide, abs=1e-9)
        accelerations = [math.dist(a, b) / dt for a, b in pairwise(speeds[:-1])]
        if drop.duration < 0.4:  # else there is no drop as gentle as that
            assert max(abs(b[2] - a[2]) / dt for a, b in pairwise(speeds[:-1])) <= 6.0 * 1.02 or drop.duration <= 0.1
        assert max(accelerations) < 60.0


def test_a_drop_turns_with_the_body():
    for foot, drop, velocity in drops():
        foot.state = drop
        back = Pose(0.0, 0.0, 0.1)
        advance_drop(foot, drop, back.apply(foot.x, foot.y), 1e-4, back)
        assert foot.velocity[:2] == pytest.approx(back.apply(*velocity[:2]), rel=0.01, abs=0.002)


@pytest.mark.parametrize("steps", [1, 7, 50])
def test_a_foot_stopped_by_an_early_contact_returns_to_the_point_of_contact(steps):
    drop = Dropping(0.1, 0.02, 0.0, 0.2, -0.1, end=0.02, touched=True)
    foot = Foot(0.0, 0.0, 0.04, drop)
    while not foot.planted:
        advance_drop(foot, drop, (foot.x, foot.y), 0.1 / steps * (1.0 + 1e-9), Pose(0.0, 0.0, 0.0))
    assert (foot.x, foot.y) == pytest.approx((-0.02 * 0.2, 0.02 * 0.1), abs=1e-12) and foot.z == 0.02
    drop = Dropping(0.1, 0.02, 0.0, 0.2, -0.1, end=0.02, touched=True)
    foot = Foot(0.0, 0.0, 0.04, drop)
    advance_drop(foot, drop, (0.0, 0.0), 1e-5, Pose(0.0, 0.0, 0.0))
    assert foot.velocity[:2] == pytest.approx((0.2, -0.1), rel=1e-2)  # it starts at the speed it had


def swinging(progress: float) -> FootMotion:
    """A tripod walk with three feet at this progress of their swing."""
    regions = stance()
    motion = FootMotion([Foot(x, y) for x, y in regions.footholds], GaitClock(TRIPOD), 0.03)
    motion.resting = False
    motion.start()
    for _ in range(1 + round(progress / 0.01)):
        motion.step(0.01 * SWING_TIME, Twist(0.08, 0.0, 0.2), SWING_TIME, Strides.about_neutral(regions))
    return motion


@pytest.mark.parametrize("progress", [0.05, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97])
def test_after_a_halt_a_foot_in_the_air_comes_down_by_its_swing_or_by_a_drop_whichever_is_sooner(progress):
    motion = swinging(progress)
    expected = [
        min(time_in_flight(foot, SWING_TIME), drop_after_halt(foot).duration / SWING_TIME) if not foot.planted else 0.0
        for foot in motion.feet
    ]
    assert max(expected) > 0.0
    motion.halt(SWING_TIME)
    assert [time_in_flight(foot, SWING_TIME) for foot in motion.feet] == pytest.approx(expected)


def test_early_in_a_swing_a_halted_foot_drops_and_at_its_end_it_finishes_the_swing():
    for progress, kind in ((0.5, Dropping), (0.95, Swing)):
        motion = swinging(progress)
        motion.halt(SWING_TIME)
        assert {type(foot.state) for foot in motion.feet if not foot.planted} == {kind}


@pytest.mark.parametrize(("base", "top"), [(0.0, 0.03), (0.02, 0.03), (-0.02, 0.025)])
def test_a_swing_from_a_step_rises_as_high_over_the_plane_as_one_from_the_plane(base, top):
    """From a step h above the plane the lift is h / 2 lower, from one below it h / 4 higher."""
    regions = stance()
    motion = FootMotion([Foot(x, y, base) for x, y in regions.footholds], GaitClock(TRIPOD), 0.03)
    motion.resting = False
    motion.start()
    heights = []
    for _ in range(100):
        motion.sense([foot.planted for foot in motion.feet], robot(NAME).walk.height)
        motion.step(0.01 * SWING_TIME, ZERO, SWING_TIME, Strides.about_neutral(regions))
        heights.append(motion.feet[0].z)
    middle = heights[np.argmin(np.abs(np.linspace(0.01, 1.0, 100) - 0.5))]
    assert middle == pytest.approx(top, abs=1e-4)


def drop_path(drop):
    """Points (41, 3) [m] of a dropping foot at equal times."""
    drop = replace(drop)
    foot, tick = Foot(0.0, 0.0, drop.height, drop), drop.duration / 40
    points = [foot.at]
    for _ in range(40):
        advance_drop(foot, drop, (foot.x, foot.y), tick, Pose(0.0, 0.0, 0.0))
        points.append(foot.at)
    return np.array(points)


def greatest_acceleration(drop):
    """Greatest vertical or horizontal acceleration [m/s^2]; both are linear in time, so greatest at one of the ends."""
    points = drop_path(drop)
    inner = np.diff(points, 2, axis=0) / (drop.duration / 40) ** 2
    ends = np.array([2.0 * inner[0] - inner[1], 2.0 * inner[-1] - inner[-2]])
    return max(np.abs(ends[:, 2]).max(), np.hypot(ends[:, 0], ends[:, 1]).max())


def test_a_drop_takes_the_shortest_time_within_its_acceleration_and_never_dips_below_the_ground():
    rng = random.Random(7)
    gentle = 0
    for _ in range(40):
        height = rng.uniform(0.005, 0.05)
        velocity = (rng.uniform(-0.3, 0.3), rng.uniform(-0.3, 0.3), rng.uniform(-0.4, 0.4))
        found = drop_after_halt(Foot(0.0, 0.0, height, velocity=velocity))
        assert drop_path(found)[:, 2].min() >= -1e-12
        if greatest_acceleration(found) > DROP_ACCELERATION:
            continue
        gentle += 1
        for shorter in DROP_TIMES_S[: DROP_TIMES_S.index(found.duration)]:
            tried = Dropping(shorter, found.height, found.vz, found.vx, found.vy)
            assert greatest_acceleration(tried) > DROP_ACCELERATION
    assert gentle > 20
