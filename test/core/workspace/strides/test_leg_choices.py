# SPDX-License-Identifier: Apache-2.0
"""The candidate stride centers of a leg: reach and joint speeds of the strides about them, foot by foot."""

import cmath
import math
import random
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from support.drives import robot

from hexapod_control.core.gait.gait_table import derived_gaits
from hexapod_control.core.gait.swing_trajectory import lift
from hexapod_control.core.kinematics.body_pose import NEUTRAL, Placement
from hexapod_control.core.kinematics.leg_kinematics import BENT_LEG
from hexapod_control.core.kinematics.whole_body import ball_center_and_joints
from hexapod_control.core.workspace.stance_regions import DIRECTIONS, nominal_stance, seen_from_hip
from hexapod_control.core.workspace.strides.leg_centers import (
    TURNING,
    bears_weight,
    clear_of_body,
    leg_centers,
    stride_choices,
    turning_speeds,
)
from hexapod_control.core.workspace.strides.steady_cycle import UnitMotion, foot_positions
from hexapod_control.core.workspace.swing_limits import PROGRESS, SWING_TIME_SCALES

MAX_DISTANCE_SHARE, MIN_DISTANCE_SHARE, MAX_RADIUS_SHARE = 0.95, 0.3, 0.4  # of the length of the leg
MAX_ANGLE, MIN_SPEED_SHARE = math.radians(80.0), 0.7
SEARCHED_HEADINGS, RADIUS_HALVINGS = 16, 5
FLIGHT_LIFT_SHARE, FLIGHT_REACH_SHARE = 0.25, 1.18
SPEED_SHARE, TABLE_SHARE, STRIDE_SHARE, SWING_SAMPLES = 0.7, 0.99, 0.95, 21

MACHINE = robot("phantomx")
LEG = MACHINE.legs[0]
SEEN = seen_from_hip(LEG, LEG.foothold)
LENGTH = LEG.coxa.length + LEG.femur.length + LEG.tibia.length
HEADINGS = [cmath.rect(1.0, math.pi * k / SEARCHED_HEADINGS) for k in range(SEARCHED_HEADINGS)]
GAIT = derived_gaits(MACHINE)["tripod"]


@cache
def choices(stance=1.0):
    return stride_choices(MACHINE, LEG, stance)


def pose_of(leg, point, height):
    """Joint angles [rad] of a leg at a point x + i y [m] and a height [m] over the ground; None if out of reach."""
    placement, contact = Placement(NEUTRAL, MACHINE.walk.height), (point.real, point.imag)
    found, reason, _ = ball_center_and_joints(leg, contact, height, placement, MACHINE.foot_radius, BENT_LEG)[1]
    return found if reason is None else None


def joint_use(leg, path, swing_time):
    """Greatest joint speed of a swing along a path (samples,) [m], relative to its limit in the tables."""
    angles = [pose_of(leg, p, lift(u, MACHINE.walk.lift_height)) for p, u in zip(path, PROGRESS, strict=True)]
    speeds = np.abs(np.diff(angles, axis=0)) * (SWING_SAMPLES - 1) / swing_time
    return (speeds / [SPEED_SHARE * TABLE_SHARE * joint.no_load_speed for joint in leg.joints]).max()


def check_speed(leg, motion, travel, longest, center, stance, swing_time):
    """Checks that a stride uses up the joint speed or the region, and returns which of both."""
    use = joint_use(leg, foot_positions(motion, np.array(travel), stance, np.array(center), PROGRESS), swing_time)
    if travel == 0.0:
        assert use > 1.0
    elif travel > (1.0 - 1e-9) * longest:
        assert travel == pytest.approx(longest) and use <= 1.0 + 1e-9
    else:
        assert 0.93 < use < 1.001  # between the lengths of stride in the tables a little is left
    return travel == 0.0, travel > (1.0 - 1e-9) * longest


@pytest.mark.parametrize("stance", [1.0, 3.0])
def test_at_its_highest_speed_a_foot_has_a_joint_at_its_limit_or_a_stride_as_long_as_its_region(stance):
    found, rng, kinds = choices(stance), random.Random(1), set()
    for _ in range(40):
        t, h, c = rng.randrange(len(SWING_TIME_SCALES)), rng.randrange(len(HEADINGS)), rng.randrange(len(found.centers))
        swing_time = SWING_TIME_SCALES[t] * MACHINE.walk.swing_time
        motion = UnitMotion(np.array(HEADINGS[h]), np.array(0.0))
        travel, longest = found.speeds[t, h, c] * swing_time, 2.0 * STRIDE_SHARE * found.radii[h, c] / stance
        kinds.add(check_speed(SEEN, motion, travel, longest, found.centers[c], stance, swing_time))
    assert {(False, False), (False, True)} <= kinds


def test_the_speeds_on_the_spot_are_those_of_a_foot_on_a_circle_about_the_body():
    rng, stance = random.Random(2), 1.0
    centers = np.array(
        [complex(*LEG.foothold) * cmath.rect(rng.uniform(0.85, 1.1), rng.uniform(-0.2, 0.2)) for _ in range(8)]
    )
    radii = np.array([rng.uniform(0.01, 0.05) for _ in centers])
    found = turning_speeds(MACHINE, LEG, stance, radii, centers)
    motion, kinds = UnitMotion(np.array(0.0), np.array(1.0)), set()
    for t, scale in enumerate(SWING_TIME_SCALES):
        for c, center in enumerate(centers.tolist()):
            swing_time = scale * MACHINE.walk.swing_time
            turn, longest = found[t, c] * swing_time / abs(center), 2.0 * STRIDE_SHARE * radii[c] / stance / abs(center)
            kinds.add(check_speed(LEG, motion, turn, longest, center, stance, swing_time))
    assert {(False, False), (False, True)} <= kinds


def within_reach(center, radius, heading):
    """Whether feet reach a region on the ground and lifted, and in the air beyond it along the heading."""
    top = MACHINE.walk.lift_height
    disc = [radius * complex(*direction) for direction in DIRECTIONS]
    beyond = [sign * FLIGHT_REACH_SHARE * radius * heading for sign in (1.0, -1.0)]
    places = [(p, z) for p in disc for z in (0.0, top)] + [
        (p, z) for p in beyond for z in (0.0, FLIGHT_LIFT_SHARE * top)
    ]
    return all(pose_of(SEEN, center + p, z) is not None for p, z in places)


def test_a_region_is_the_largest_in_reach_to_the_resolution_of_the_search():
    found, rng = choices(), random.Random(3)
    most = MAX_RADIUS_SHARE * LENGTH
    for _ in range(30):
        h, c = rng.randrange(len(HEADINGS)), rng.randrange(len(found.centers))
        radius, center = found.radii[h, c], found.centers[c]
        assert within_reach(center, radius, HEADINGS[h])
        assert radius == most or not within_reach(center, radius + 2.0 * most / 2**RADIUS_HALVINGS, HEADINGS[h])


@pytest.mark.parametrize("limit", [LEG.coxa_joint.upper, math.radians(100.0)])
def test_candidates_are_on_both_sides_of_a_straight_leg_within_the_angles_of_its_coxa_and_worth_their_place(limit):
    leg = replace(LEG, coxa_joint=replace(LEG.coxa_joint, lower=-limit, upper=limit))
    found = stride_choices(MACHINE, leg, 1.0)
    centers, widest = found.centers[:-1], min(limit, MAX_ANGLE)
    assert found.centers[-1] == pytest.approx(complex(*SEEN.foothold))
    assert np.abs(np.angle(centers)).max() <= widest + 1e-9
    distances = np.abs(centers) / LENGTH
    assert distances.min() >= MIN_DISTANCE_SHARE - 1e-9 and distances.max() <= MAX_DISTANCE_SHARE + 1e-9
    best = found.speeds[..., :-1].max(axis=0)
    assert (best >= MIN_SPEED_SHARE * best.max(axis=1)[:, None]).any(axis=0).all()
    image = np.abs(centers[:, None] - centers.conj()).argmin(axis=1)
    assert centers[image] == pytest.approx(centers.conj(), abs=1e-9) and (centers.imag != 0.0).any()
    for k in range(SEARCHED_HEADINGS):
        assert found.speeds[:, -k, image] == pytest.approx(found.speeds[:, k, :-1])
        assert found.radii[-k, image] == pytest.approx(found.radii[k, :-1])


@pytest.mark.parametrize("row", range(len(MACHINE.legs)))
def test_in_the_frame_of_the_body_a_heading_has_the_lesser_values_of_those_next_to_it_in_the_frame_of_the_hip(row):
    size, mass = np.array(MACHINE.body.size), MACHINE.body.mass
    machine = replace(MACHINE, body=replace(MACHINE.body, size=tuple((size + 0.06).tolist()), mass=1.4 * mass))
    leg = machine.legs[row]
    found, seen = leg_centers(machine, row, GAIT), stride_choices(machine, leg, GAIT.stance_time)
    centers = complex(*leg.hip[:2]) + cmath.rect(1.0, leg.hip_yaw) * seen.centers
    steps = np.arange(SEARCHED_HEADINGS)
    apart = (steps[:, None] - steps) / SEARCHED_HEADINGS - leg.hip_yaw / math.pi  # (body, hip), in half turns
    apart = np.abs((apart + 0.5) % 1.0 - 0.5) * SEARCHED_HEADINGS
    next_to = np.where(apart.min(axis=1)[:, None] < 1e-6, apart < 1e-6, apart < 1.0)  # itself, or those on both sides
    speeds = np.stack([seen.speeds[:, each].min(axis=1) for each in next_to], axis=1)
    radii = np.stack([seen.radii[each].min(axis=0) for each in next_to])
    along = np.round(np.angle(1j * centers) / math.pi * SEARCHED_HEADINGS).astype(int) % SEARCHED_HEADINGS
    radii = np.vstack((radii, radii[along, np.arange(len(centers))]))
    # On the spot, feet farther out are faster: speeds are those of the neutral foothold.
    turning = turning_speeds(machine, leg, GAIT.stance_time, radii[TURNING], centers)
    turning = turning * abs(complex(*leg.foothold)) / np.abs(centers)
    stiff = bears_weight(machine, leg, GAIT, centers)
    clear = clear_of_body(machine, leg, centers, np.minimum(radii.max(axis=0), nominal_stance(machine).radii[row]))
    usable = stiff & clear
    assert usable[-1] and not stiff.all() and clear.all() == (leg.hip[0] == 0.0)
    for values, expected in (
        (found.centers, centers),
        (found.speeds[:, :TURNING], speeds),
        (found.speeds[:, TURNING], turning),
        (found.radii, radii),
    ):
        np.testing.assert_allclose(values, expected[..., usable], rtol=1e-6, atol=1e-12)
    assert (found.hip, found.foothold) == (complex(*leg.hip[:2]), complex(*leg.foothold))
    assert found.length == pytest.approx(LENGTH)
    assert found.span == pytest.approx(0.8 * max(math.hypot(*each.foothold) for each in MACHINE.legs))
