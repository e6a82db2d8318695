"""Laws of the speed envelope: its twists respect the joint limits and the stance regions, and almost reach them."""

import math
import random
from itertools import pairwise

import numpy as np
import pytest
from support.drives import ROBOTS, robot

from hexapod_control.core.gait.swing_trajectory import lift, share
from hexapod_control.core.kinematics.body_pose import NEUTRAL, Placement
from hexapod_control.core.kinematics.leg_kinematics import BENT_LEG
from hexapod_control.core.kinematics.rolling_contact import ball_centre_and_joints
from hexapod_control.core.kinematics.se2 import Twist, exp
from hexapod_control.core.walking.feet.swing_motion import BodyTick, advance_swing
from hexapod_control.core.walking.foot import Foot, Swing
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.speed_envelope import swing_loads
from hexapod_control.core.workspace.strides.stride_regions import Strides
from hexapod_control.core.workspace.swing_limits import SPEED_SHARE, SWING_SAMPLES, TABLE_SHARE

MACHINE = robot("phantomx")
CAPABILITIES = Capabilities.of(MACHINE)
HEIGHT = MACHINE.walk.height


def directions(count: int) -> list[Twist]:
    rng = random.Random(1)
    turns = (0.0, 2.0)  # [rad/s] every other twist is straight
    return [Twist(*(rng.uniform(-1.0, 1.0) * a for a in (0.3, 0.3, turns[k % 2]))) for k in range(count)]


def swing_use(leg: int, twist: Twist, swing_time: float, stance_time: float, strides: Strides) -> float:
    """Greatest joint speed relative to its limit, in a swing of steady walking."""
    placement, home = Placement(NEUTRAL, HEIGHT), strides.stance.footholds[leg]
    foot, swing = Foot(*exp(twist, -0.5 * stance_time * swing_time).apply(*home)), Swing(0.0, stance_time, 0.0)
    swing.lift, foot.state = MACHINE.walk.lift_height, swing
    dt = swing_time / 40
    tick, rows = BodyTick(dt, twist, swing_time, exp(twist, -dt)), []
    machine_leg, previous = MACHINE.legs[leg], BENT_LEG
    for k in range(41):
        contact = foot.x, foot.y
        previous = ball_centre_and_joints(machine_leg, contact, foot.z, placement, MACHINE.foot_radius, previous)[1][0]
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
def test_swing_loads_equal_those_from_the_kinematics_of_single_feet(name):
    machine, rng = robot(name), random.Random(3)
    stance, time = Capabilities.of(machine).stances.at(machine.walk.height), machine.walk.swing_time
    placement = Placement(NEUTRAL, machine.walk.height)
    for leg, (x, y), radius in zip(machine.legs, stance.footholds, stance.radii, strict=True):
        angle, speed, ends = rng.uniform(-3.0, 3.0), rng.uniform(0.3, 1.5) * radius / time, [0.4 * radius, 0.8 * radius]
        dx, dy = math.cos(angle), math.sin(angle)
        twist = Twist(speed * dx, speed * dy, 0.0)
        found = swing_loads(machine, stance, machine.legs.index(leg), twist, time, np.array(ends))
        for i, behind in enumerate(ends):
            for j, ahead in enumerate(ends):
                rows = []
                for u in np.linspace(0.0, 1.0, SWING_SAMPLES).tolist():
                    reach = share(u) * (behind + ahead + speed * time) - u * speed * time - behind
                    contact, z = (x + reach * dx, y + reach * dy), lift(u, machine.walk.lift_height)
                    rows.append(ball_centre_and_joints(leg, contact, z, placement, machine.foot_radius, BENT_LEG)[1][0])
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
        strides = CAPABILITIES.strides.at(HEIGHT, found.twist, found.moved, 1.0)
        uses_of_legs = (
            swing_use(leg, found.twist, found.swing_time, gait.stance, strides) for leg in range(len(MACHINE.legs))
        )
        joints, regions = max(uses_of_legs), strides.stance
        travel = [
            math.hypot(found.twist.vx - found.twist.wz * y, found.twist.vy + found.twist.wz * x)
            * gait.stance
            * found.swing_time
            / (2.0 * radius)
            for (x, y), radius in zip(regions.footholds, regions.radii, strict=True)
        ]
        assert joints <= (1.0 if found.moved == 0.0 else 1.06)  # moved centres are interpolated
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
        both = envelope.limit(gait, HEIGHT, 1.0, twist.scaled(10.0), coming=[CAPABILITIES.gaits["wave"]]).twist
        alone = envelope.limit(CAPABILITIES.gaits["wave"], HEIGHT, 1.0, twist.scaled(10.0)).twist
        assert math.hypot(*both) <= min(math.hypot(*found.twist), math.hypot(*alone)) * (1.0 + 1e-9)
    assert envelope.limit(gait, HEIGHT, 1.0, Twist(0.0, 0.0, 0.0)).twist.is_zero


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
