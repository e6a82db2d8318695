"""Leading single legs by hand while the others hold the robot: what is refused, and when a leg may lift off."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hexapod_control.core.kinematics.body_pose import BodyPose, Placement
from hexapod_control.core.kinematics.leg_clearance import LegNeighbours
from hexapod_control.core.kinematics.leg_kinematics import BENT_LEG, LegJoints, solve_leg
from hexapod_control.core.kinematics.rolling_contact import ball_centre_and_joints, rolling_shift
from hexapod_control.core.robot import Leg, Point, Robot, Vector
from hexapod_control.core.statics.static_stability import center_of_mass_in_footprint, static_margin
from hexapod_control.core.walking.foot_motion import Foot, FootMotion
from hexapod_control.core.walking.guided_foot import GuidedFoot, along, rest, way
from hexapod_control.core.workspace.stance_regions import StanceRegions, reaches

LEAST_MARGIN = 0.02  # [m] of the feet that hold the robot
CLEAR_GAP = 0.006  # [m] kept from neighbouring legs on the way, where they are not nearer already
FOLLOWS = 0.8  # share of the body's shift that the centre of mass follows: legs on the ground stay
LEANS = tuple(0.005 * k for k in range(13))  # [m] the body may lean away from the leg


def supporting_contacts(feet: Sequence[Foot], leg: int) -> list[Point]:
    """Contact points [m] of the feet that hold the robot while a leg is in the air."""
    return [(foot.x, foot.y) for k, foot in enumerate(feet) if k != leg and foot.planted and foot.hand is None]


def lean_away(others: Sequence[Point], mass: Point) -> tuple[float, float] | None:
    """Shortest shift (x, y) [m] of the body that brings its centre of mass well over the feet; None: none does."""
    if len(others) < 3:
        return None
    x = math.fsum(p[0] for p in others) / len(others) - mass[0]
    y = math.fsum(p[1] for p in others) / len(others) - mass[1]
    far = math.hypot(x, y)
    for size in LEANS:
        dx, dy = (size * x / far, size * y / far) if far > 0.0 else (0.0, 0.0)
        if static_margin(others, (mass[0] + FOLLOWS * dx, mass[1] + FOLLOWS * dy)) >= LEAST_MARGIN:
            return dx, dy
    return None


def contact_of(robot: Robot, leg: int, centre: Vector, pose: BodyPose) -> Vector:
    """Contact point (x, y) and height above the ground [m, base_footprint] of a ball's centre [m, base_link]."""
    placement = Placement(pose, robot.walk.height)
    joints, _, _ = solve_leg(robot.legs[leg], centre, BENT_LEG)
    shift = rolling_shift(robot.legs[leg], joints, placement, robot.foot_radius)
    x, y, z = placement.to_footprint(*centre)
    return x - shift[0], y - shift[1], z - robot.foot_radius


def start_guiding(
    robot: Robot, walker: FootMotion, pose: BodyPose, leg: int, goal: Vector, row: Sequence[LegJoints]
) -> str:
    """Sets a foot on its way to a contact point (x, y) [m, base_footprint] at a height. Returns why not, or nothing.

    `pose` is the one the body will have meanwhile, `row` are the present joints [rad].
    """
    foot = walker.feet[leg]
    aloft = foot.hand is not None and not foot.hand.waiting
    velocity = foot.hand.velocity if aloft and foot.hand is not None else (0.0, 0.0, 0.0)
    start = rest((foot.x, foot.y, foot.z), velocity)
    name = robot.legs[leg].name
    placement = Placement(pose, robot.walk.height)
    points = way(start, (goal[0], goal[1], max(goal[2], 0.0)))
    bent = [
        ball_centre_and_joints(each, (at.x, at.y), at.z, placement, robot.foot_radius, joints)[1][0]
        for each, at, joints in zip(robot.legs, walker.feet, row, strict=True)
    ]
    ring = LegNeighbours.of(robot)
    least = min(CLEAR_GAP, ring.gap(bent).distance)
    for x, y, z in along(start, points)[1:]:
        bent[leg], reason, _ = ball_centre_and_joints(
            robot.legs[leg], (x, y), z, placement, robot.foot_radius, BENT_LEG
        )[1]
        if reason is not None:
            return f"{name}: ({x:.3f}, {y:.3f}, {z:.3f}) m on its way is out of reach"
        gap = ring.gap(bent)
        if gap.distance < least and gap.legs is not None:
            other = robot.legs[next(number for number in gap.legs if number != leg)].name
            return f"{name}: at ({x:.3f}, {y:.3f}, {z:.3f}) m on its way it would touch {other}"
    foot.hand = GuidedFoot(points, velocity, waiting=not aloft)
    return ""


def return_to_footholds(robot: Robot, walker: FootMotion, stance: StanceRegions) -> None:
    """Sets every foot that is led by hand on its way to its neutral foothold; one that waits just stays."""
    for foot, (x, y) in zip(walker.feet, stance.footholds, strict=True):
        hand = foot.hand
        if hand is None:
            continue
        if hand.waiting:
            foot.hand = None
        elif not (hand.lands and math.dist(hand.way[-1][:2], (x, y)) < 1e-9):
            start = rest((foot.x, foot.y, foot.z), hand.velocity)
            foot.hand = GuidedFoot(way(start, (x, y, 0.0)), hand.velocity, waiting=False)


def advance_guided_feet(robot: Robot, walker: FootMotion, placements: Sequence[Placement], dt: float) -> None:
    """Moves the feet that are led by hand on by a tick [s]; one that has landed stands.

    A foot waits where it could not come to rest in reach in all `placements` of the body: the present one, and the
    one in which the body can come to rest.
    """
    for leg, foot in zip(robot.legs, walker.feet, strict=True):
        hand = foot.hand
        if hand is None or hand.waiting:
            continue

        def reached(at: Vector, leg: Leg = leg) -> bool:
            return all(reaches(leg, robot, at[:2], at[2], placement) for placement in placements)

        foot.x, foot.y, foot.z = hand.step(dt, (foot.x, foot.y, foot.z), reached)
        foot.velocity = hand.velocity
        if hand.lands and len(hand.way) == 1 and foot.z <= 0.0:
            foot.z, foot.hand = 0.0, None


def lift_off(robot: Robot, walker: FootMotion, pose: BodyPose, row: Sequence[LegJoints]) -> None:
    """Lets a waiting foot lift off once the others hold the robot."""
    for leg, foot in enumerate(walker.feet):
        if foot.hand is not None and foot.hand.waiting:
            others = supporting_contacts(walker.feet, leg)
            if (
                len(others) >= 3
                and static_margin(others, center_of_mass_in_footprint(robot, row, pose)) >= 0.8 * LEAST_MARGIN
            ):
                foot.hand.waiting = False
                return
