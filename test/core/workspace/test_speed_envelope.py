# SPDX-License-Identifier: Apache-2.0
"""Laws of the speed envelope: its twists respect the joint limits and the stance regions, and almost reach them."""

import math
import random
from itertools import pairwise

import numpy as np
import pytest
from support.drives import ROBOTS, robot

from hexapod_control.core.gait.swing_trajectory import lift, smooth_travel
from hexapod_control.core.kinematics.body_pose import NEUTRAL, Placement
from hexapod_control.core.kinematics.leg_kinematics import BENT_LEG
from hexapod_control.core.kinematics.se2 import Twist, exp
from hexapod_control.core.kinematics.whole_body import ball_center_and_joints
from hexapod_control.core.walking.feet.foot_motion import BodyTick, advance_swing
from hexapod_control.core.walking.foot import Foot, Swing
from hexapod_control.core.walking.gait_change import joint_speed_ratios
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.speed_envelope import SpeedLimit
from hexapod_control.core.workspace.strides.stride_table import UNADAPTED, Strides

SPEED_SHARE, TABLE_SHARE, SWING_SAMPLES = 0.7, 0.99, 21

MACHINE = robot("phantomx")
CAPABILITIES = Capabilities.of(MACHINE)
TINY = 1e-9  # rounding
HEIGHT = MACHINE.walk.height


def directions(count: int) -> list[Twist]:
    rng = random.Random(1)
    turns = (0.0, 2.0)  # [rad/s] every other twist is straight
    return [Twist(*(rng.uniform(-1.0, 1.0) * a for a in (0.3, 0.3, turns[k % 2]))) for k in range(count)]


def swing_use(leg: int, limit: SpeedLimit, stance_time: float, strides: Strides) -> float:
    """Greatest joint speed relative to its limit, in a swing of steady walking."""
    twist, swing_time = limit.twist, limit.swing_time
    placement, home = Placement(NEUTRAL, HEIGHT), strides.stance_regions.footholds[leg]
    foot, swing = Foot(*exp(twist, -0.5 * stance_time * swing_time).apply(*home)), Swing(0.0, stance_time, 0.0)
    swing.lift, foot.state = limit.adaptation.lift_share * MACHINE.walk.lift_height, swing
    dt = swing_time / 40
    tick, rows = BodyTick(dt, twist, swing_time, exp(twist, -dt)), []
    machine_leg, previous = MACHINE.legs[leg], BENT_LEG
    for k in range(41):
        contact = foot.x, foot.y
        previous = ball_center_and_joints(machine_leg, contact, foot.z, placement, MACHINE.foot_radius, previous)[1][0]
        rows.append(previous)
        if k < 40:
            ground_fixed = tick.back.apply(foot.x, foot.y)
            advance_swing(foot, swing, ground_fixed, (k + 1) / 40, tick, strides, leg)
    limits = [SPEED_SHARE * joint.no_load_speed for joint in machine_leg.joints]
    return max(
        abs(b - a) / dt / most
        for before, after in pairwise(rows)
        for a, b, most in zip(before, after, limits, strict=True)
    )


@pytest.mark.parametrize("name", ROBOTS)
def test_joint_speed_ratios_equal_those_from_the_kinematics_of_single_feet(name):
    machine, rng = robot(name), random.Random(3)
    stance, time = Capabilities.of(machine).stances.at(machine.walk.height), machine.walk.swing_time
    placement = Placement(NEUTRAL, machine.walk.height)
    for leg, (x, y), radius in zip(machine.legs, stance.footholds, stance.radii, strict=True):
        angle, speed, ends = rng.uniform(-3.0, 3.0), rng.uniform(0.3, 1.5) * radius / time, [0.4 * radius, 0.8 * radius]
        dx, dy = math.cos(angle), math.sin(angle)
        twist = Twist(speed * dx, speed * dy, 0.0)
        found = joint_speed_ratios(machine, stance, machine.legs.index(leg), twist, time, np.array(ends))
        for i, behind in enumerate(ends):
            for j, ahead in enumerate(ends):
                rows = []
                for u in np.linspace(0.0, 1.0, SWING_SAMPLES).tolist():
                    reach = smooth_travel(u) * (behind + ahead + speed * time) - u * speed * time - behind
                    contact, z = (x + reach * dx, y + reach * dy), lift(u, machine.walk.lift_height)
                    rows.append(ball_center_and_joints(leg, contact, z, placement, machine.foot_radius, BENT_LEG)[1][0])
                expected = max(
                    abs(b - a) / (time / (SWING_SAMPLES - 1)) / (SPEED_SHARE * TABLE_SHARE * joint.no_load_speed)
                    for before, after in pairwise(rows)
                    for a, b, joint in zip(before, after, leg.joints, strict=True)
                )
                assert found[i, j] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("region_share", [1.0, 2.0])
@pytest.mark.parametrize("name", CAPABILITIES.gaits)
def test_at_the_speed_limit_a_joint_or_a_region_is_almost_fully_used_and_none_is_exceeded(name, region_share):
    gait = CAPABILITIES.gaits[name]
    uses = []
    for twist in directions(8):
        found = CAPABILITIES.envelope.limit(gait, HEIGHT, region_share, twist.scaled(10.0))
        strides = CAPABILITIES.strides.at(HEIGHT, found.twist, found.adaptation.moved, 1.0)
        uses_of_legs = (swing_use(leg, found, gait.stance_time, strides) for leg in range(len(MACHINE.legs)))
        joints, regions = max(uses_of_legs), strides.stance_regions
        travel = [
            math.hypot(found.twist.vx - found.twist.wz * y, found.twist.vy + found.twist.wz * x)
            * gait.stance_time
            * found.swing_time
            / (2.0 * radius)
            for (x, y), radius in zip(regions.footholds, regions.radii, strict=True)
        ]
        assert joints <= (1.0 if found.adaptation.moved == 0.0 else 1.06)  # moved centers are interpolated
        assert max(travel) <= 1.0 + 1e-9
        uses.append(max(joints, max(travel)))
    assert min(uses) > 0.87


def test_a_twist_is_scaled_to_the_limit_of_its_direction():
    envelope, gait = CAPABILITIES.envelope, CAPABILITIES.gaits["ripple"]
    for twist in directions(20):
        found = envelope.limit(gait, HEIGHT, 1.0, twist.scaled(10.0))
        assert envelope.limit(gait, HEIGHT, 1.0, twist.scaled(20.0)).twist == pytest.approx(found.twist)
        assert math.hypot(*envelope.limit(gait, HEIGHT, 0.5, twist.scaled(10.0)).twist) <= math.hypot(*found.twist)
        assert found.twist.vy * twist.vx == pytest.approx(found.twist.vx * twist.vy)
        slow = found.twist.scaled(0.99)
        assert envelope.limit(gait, HEIGHT, 1.0, slow).twist == slow
        both = envelope.limit(gait, HEIGHT, 1.0, twist.scaled(10.0), next_gaits=[CAPABILITIES.gaits["wave"]]).twist
        alone = envelope.limit(CAPABILITIES.gaits["wave"], HEIGHT, 1.0, twist.scaled(10.0)).twist
        assert math.hypot(*both) <= min(math.hypot(*found.twist), math.hypot(*alone)) * (1.0 + 1e-9)
    assert envelope.limit(gait, HEIGHT, 1.0, Twist(0.0, 0.0, 0.0)).twist.is_zero


@pytest.mark.parametrize("name", [name for name in CAPABILITIES.gaits if name != "tripod"])
def test_a_limited_twist_is_possible_to_the_last_digit_so_that_a_walk_at_its_limit_can_change_its_gait(name):
    for share in (0.6, 1.0):
        for twist in directions(30):
            limited = CAPABILITIES.envelope.limit(CAPABILITIES.gaits[name], HEIGHT, share, twist.scaled(10.0)).twist
            assert CAPABILITIES.envelope.limit(CAPABILITIES.gaits[name], HEIGHT, share, limited).twist == limited


def test_the_limit_is_continuous_in_the_height_and_constant_beyond_the_table():
    envelope, gait, stances = CAPABILITIES.envelope, CAPABILITIES.gaits["tripod"], CAPABILITIES.stances
    twist = Twist(0.1, 0.05, 0.3)

    def load(height: float) -> float:
        return 1.0 / math.hypot(*envelope.limit(gait, height, 1.0, twist.scaled(10.0)).twist)

    assert load(stances.lowest - 0.05) == load(stances.lowest)
    assert load(stances.highest + 0.05) == pytest.approx(load(stances.highest))
    span = stances.highest - stances.lowest
    loads = [load(stances.lowest + span * k / 400) for k in range(401)]
    assert max(abs(b - a) for a, b in pairwise(loads)) < 0.1 * max(loads)


def test_the_highest_speed_along_an_axis_is_the_limit_of_a_command_along_it():
    envelope, gait = CAPABILITIES.envelope, CAPABILITIES.gaits["tripod"]
    most = envelope.maxima(gait, HEIGHT, 1.0)
    for axis in range(3):
        command = Twist(*(9.0 * (k == axis) for k in range(3)))
        assert envelope.limit(gait, HEIGHT, 1.0, command).twist[axis] == pytest.approx(most[axis])
    assert all(v > 0.0 for v in most)


KNOWN_SPEEDS = {  # by direction: (speed, swing time, share of the displacement, lift) for each of KNOWN_REGION_SHARES
    (1.0, 0.0, 0.0): ((0.1473, 0.9, 0.0, 0.75), (0.1545, 1.35, 0.0, 0.75), (0.2506, 0.9, 1.0, 0.94)),
    (0.9, 0.5, 0.0): ((0.1178, 1.1, 0.0, 0.75), (0.1206, 1.75, 0.0, 0.795), (0.2123, 0.8, 1.0, 0.75)),
    (0.6, -0.7, 0.0): ((0.1275, 1.1, 0.0, 0.75), (0.1305, 1.75, 0.0, 0.817), (0.2017, 0.8, 1.0, 0.75)),
    (0.0, 1.0, 0.0): ((0.1174, 1.2, 0.0, 0.75), (0.1199, 1.75, 0.0, 0.82), (0.1777, 0.8, 1.0, 0.75)),
    (1.0, 0.0, 4.0): ((0.0875, 0.8, 0.0, 0.75), (0.1113, 0.9, 0.0, 0.75), (0.1113, 0.9, 0.0, 0.75)),
    (0.3, -0.5, -3.0): ((0.1225, 0.8, 0.0, 0.75), (0.1352, 1.2, 0.0, 0.75), (0.1442, 0.9, 1.0, 0.75)),
    (0.02, 0.0, 1.0): ((0.5920, 0.8, 0.0, 0.75), (0.7315, 0.8, 0.0, 0.75), (0.7846, 0.8, 1.0, 0.75)),
    (0.0, 0.0, 1.0): ((0.6173, 0.8, 0.0, 0.75), (0.7609, 0.8, 0.0, 0.75), (0.8174, 0.8, 1.0, 0.75)),
}
KNOWN_REGION_SHARES = (0.6, 1.0, 2.0)


@pytest.mark.parametrize("direction", KNOWN_SPEEDS, ids=str)
def test_phantomx_in_a_tripod_has_its_known_speeds(direction):
    """In units of the direction, of the nominal swing time, and of the lift height."""
    for room, (speed, swing_time, moved, lift_share) in zip(KNOWN_REGION_SHARES, KNOWN_SPEEDS[direction], strict=True):
        far = Twist(*direction).scaled(100.0)
        found = CAPABILITIES.envelope.limit(CAPABILITIES.gaits["tripod"], HEIGHT, room, far)
        assert math.hypot(*found.twist) / math.hypot(*direction) == pytest.approx(speed, rel=2e-3)
        assert found.swing_time == pytest.approx(swing_time * MACHINE.walk.swing_time)
        assert found.adaptation.moved == pytest.approx(moved, abs=5e-3)
        assert found.adaptation.lift_share == pytest.approx(lift_share, abs=5e-3)


@pytest.mark.parametrize(
    ("name", "direction", "speeds"),
    [
        ("ripple", (1.0, 0.0, 0.0), (0.0705, 0.0850, 0.0825)),
        ("ripple", (0.0, 0.0, 1.0), (0.2743, 0.4115, 0.3548)),
        ("ripple", (0.3, -0.5, -3.0), (0.0544, 0.0742, 0.0712)),
        ("wave", (1.0, 0.0, 0.0), (0.0297, 0.0371, 0.0365)),
        ("wave", (0.3, -0.5, -3.0), (0.0218, 0.0321, 0.0294)),
    ],
)
def test_phantomx_has_its_known_speeds_in_slower_gaits(name, direction, speeds):
    for (room, above), speed in zip(((0.6, 0.0), (1.0, 0.0), (1.0, -0.03)), speeds, strict=True):
        far = Twist(*direction).scaled(100.0)
        found = CAPABILITIES.envelope.limit(CAPABILITIES.gaits[name], HEIGHT + above, room, far).twist
        assert math.hypot(*found) / math.hypot(*direction) == pytest.approx(speed, rel=3e-3)


@pytest.mark.parametrize("direction", [Twist(1.0, 0.0, 0.0), Twist(0.9, 0.5, 0.0), Twist(0.0, 0.0, 1.0)])
def test_with_the_speed_first_the_stride_centers_move_and_then_the_lift_becomes_lower(direction):
    """Nothing adapts below 95 % of what usual strides allow; the lift not while moving the centers is enough."""
    envelope, gait = CAPABILITIES.envelope, CAPABILITIES.gaits["tripod"]
    top = envelope.limit(gait, HEIGHT, 2.0, direction.scaled(100.0)).twist
    found = [envelope.limit(gait, HEIGHT, 2.0, top.scaled(k / 50)).adaptation for k in range(20, 51)]
    assert found[0] == UNADAPTED and found[-1].moved == 1.0 and found[-1].lift_share < 1.0
    assert all(a.moved <= b.moved + TINY and a.lowered <= b.lowered + TINY for a, b in pairwise(found))
    assert any(0.0 < each.moved < 1.0 for each in found)
    assert all(each.lowered == 0.0 or each.moved == 1.0 for each in found)


@pytest.mark.parametrize("direction", [Twist(1.0, 0.0, 0.0), Twist(0.0, 1.0, 0.0), Twist(0.0, 0.0, 1.0)])
def test_strides_move_no_farther_than_the_pose_allows_and_never_with_shorter_strides(direction):
    envelope, gait = CAPABILITIES.envelope, CAPABILITIES.gaits["tripod"]
    far = direction.scaled(100.0)
    assert envelope.limit(gait, HEIGHT, 1.0, far).adaptation.moved == 0.0
    assert 0.0 < envelope.limit(gait, HEIGHT, 1.5, far).adaptation.moved <= 0.5
    assert envelope.with_stride_shares({"tripod": 0.5}).limit(gait, HEIGHT, 2.0, far).adaptation == UNADAPTED
    with_wave = envelope.limit(gait, HEIGHT, 2.0, far, next_gaits=[CAPABILITIES.gaits["wave"]])
    assert with_wave.adaptation == UNADAPTED
