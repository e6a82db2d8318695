# SPDX-License-Identifier: Apache-2.0
"""Guides single feet while the others support the robot: checks the goal, shifts the body, lifts off, returns.

1. The path of the foot (up, across, down) is checked: the goal is refused if a point of it is out of reach, or if the
   leg would come too close to a neighbour.
2. The body shifts away from the leg, by the shortest distance that gives a sufficient static margin.
3. The foot waits on the ground until the static margin over the other feet is sufficient, then follows its path:
   straight from point to point, with bounded speed and acceleration and without overshoot where the path turns.
4. When it is released, it returns to its neutral foothold, or to where it has lifted off if the map does not permit
   that; a foot that has landed is a planted foot again.

Contact points (x, y) [m] in base_footprint, heights z [m] above its plane.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose, Placement
from hexapod_control.core.kinematics.leg_clearance import LegNeighbours
from hexapod_control.core.kinematics.leg_kinematics import BENT_LEG, LegJoints, solve_leg
from hexapod_control.core.kinematics.whole_body import ball_center_and_joints, joints_at_contact, rolling_shift
from hexapod_control.core.refusal import Refusal
from hexapod_control.core.robot import Leg, Point, Robot, Vector, interpolated
from hexapod_control.core.statics.static_stability import (
    MIN_SUPPORTING_FEET,
    center_of_mass_in_footprint,
    static_margin,
)
from hexapod_control.core.walking.body.body_control import BodyControl
from hexapod_control.core.walking.foot import (
    GUIDED_ACCELERATION,
    STANCE,
    ZERO_VELOCITY,
    Foot,
    Guided,
    GuidedPhase,
    Swing,
    displaced,
    stopping_point,
)
from hexapod_control.core.workspace.stance_regions import StanceRegions, reaches

SPEED = 0.15  # [m/s] maximum of the foot
BRAKING_SHARE = 0.8  # of the acceleration: with which the foot brakes before a point
TURNING_DISTANCE = 0.006  # [m] from an intermediate point, at which the foot turns to the next one
ARRIVAL_DISTANCE = 2e-4  # [m] from the goal, at which the foot has arrived
CLEARANCE_HEIGHT = 0.02  # [m] above the ground while a foot moves sideways
PATH_STEP = 0.01  # [m] between the points of a path at which reach and clearance are checked


def advance_along_path(guided: Guided, dt: float, at: Vector, reachable: Callable[[Vector], bool]) -> Vector:
    """Returns the position of the foot `dt` [s] later, towards the next point, with bounded speed and acceleration.

    `reachable` returns True for a point [m] in reach; the foot is held before it could come to rest out of reach.
    """
    while True:
        x, y, z = guided.path[0]
        ahead = (x - at[0], y - at[1], z - at[2])
        distance = math.hypot(*ahead)
        if len(guided.path) == 1 or distance > TURNING_DISTANCE:
            break
        guided.path = guided.path[1:]
    if distance <= ARRIVAL_DISTANCE and math.hypot(*guided.velocity) <= GUIDED_ACCELERATION * dt:
        guided.velocity = ZERO_VELOCITY
        guided.phase = GuidedPhase.ARRIVED
        return guided.path[0]
    # The highest speed from which the foot can brake, tick by tick, to rest at the point
    braking = BRAKING_SHARE * GUIDED_ACCELERATION
    half = 0.5 * braking * dt
    wanted = min(SPEED, math.sqrt(half * half + 2.0 * braking * distance) - half, distance / dt)
    max_change = GUIDED_ACCELERATION * dt
    velocity = _velocity_towards(ahead, guided.velocity, wanted, max_change)
    guided.phase = GuidedPhase.MOVING
    if not reachable(stopping_point(displaced(at, velocity, dt), velocity)):
        guided.phase = GuidedPhase.HELD
        share = 1.0 - max_change / max(math.hypot(*guided.velocity), max_change)
        velocity = (share * guided.velocity[0], share * guided.velocity[1], share * guided.velocity[2])
    guided.velocity = velocity
    return displaced(at, velocity, dt)


def _velocity_towards(ahead: Vector, velocity: Vector, speed: float, max_change: float) -> Vector:
    """Returns the velocity after a change of at most `max_change` [m/s] towards a speed [m/s] in the direction `ahead`.

    The component across the path is reduced first, so that the foot does not overshoot at a corner.
    """
    distance = max(math.hypot(*ahead), 1e-9)
    along = math.fsum(a * v for a, v in zip(ahead, velocity, strict=True)) / distance
    off = [v - along * a / distance for a, v in zip(ahead, velocity, strict=True)]
    sideways = min(math.hypot(*off), BRAKING_SHARE * max_change)
    remaining = math.sqrt(max_change * max_change - sideways * sideways)
    gain = min(max(speed - along, -remaining), remaining)
    fade = sideways / max(math.hypot(*off), 1e-12)
    x, y, z = (v + gain * a / distance - fade * o for v, a, o in zip(velocity, ahead, off, strict=True))
    return x, y, z


def path_between(start: Vector, goal: Vector) -> tuple[Vector, ...]:
    """Returns the points [m] of a path: up first if the start is near the ground, and over the goal if that is."""
    points: list[Vector] = []
    if start[2] < CLEARANCE_HEIGHT:
        points.append((start[0], start[1], CLEARANCE_HEIGHT))
    if goal[2] < CLEARANCE_HEIGHT and math.dist(start[:2], goal[:2]) > TURNING_DISTANCE:
        points.append((goal[0], goal[1], CLEARANCE_HEIGHT))
    return (*points, goal)


def points_along(start: Vector, points: Sequence[Vector]) -> list[Vector]:
    """Returns points [m] every PATH_STEP on a path from `start` through `points` [m], including its ends."""
    along = [start]
    for end in points:
        begin = along[-1]
        count = max(1, math.ceil(math.dist(begin, end) / PATH_STEP))
        along += [interpolated(begin, end, k / count) for k in range(1, count + 1)]
    return along


MIN_MARGIN = 0.02  # [m] static margin over the feet that support the robot
LIFT_OFF_MARGIN = 0.8 * MIN_MARGIN  # [m] static margin at which a waiting foot lifts off
MIN_CLEARANCE = 0.006  # [m] between neighbouring legs along the path, unless they are closer already
MASS_SHARE = 0.8  # of a shift of the body, by which the center of mass moves at least, as the feet do not move
SEPARATION = 0.03  # [m] by which feet of legs that block each other move apart
SEPARATION_SHARES = (1.0, 0.75, 0.5, 0.25)  # of it, tried in turn
SHIFTS = tuple(0.005 * k for k in range(13))  # [m] candidate shifts of the body


class BallCenter(NamedTuple):
    """A goal for the center of a foot's ball in base_link."""

    x: float  # [m]
    y: float
    z: float


class GroundPoint(NamedTuple):
    """A goal for a contact point in base_footprint, and its height above the ground."""

    x: float  # [m]
    y: float
    z: float


FootGoal = BallCenter | GroundPoint
"""Goal of a guided foot."""


def supporting_contacts(feet: Sequence[Foot], leg: int) -> list[Point]:
    """Returns the contact points [m] of the feet that support the robot while a leg is in the air."""
    return [
        (foot.x, foot.y)
        for k, foot in enumerate(feet)
        if k != leg and foot.state.planted and not isinstance(foot.state, Guided)
    ]


def shift_away(others: Sequence[Point], center: Point) -> tuple[float, float] | None:
    """Returns the shortest shift (x, y) [m] of the body that gives MIN_MARGIN over these feet; None if none does.

    `others` (n, 2) [m] are their contact points, `center` (x, y) [m] is the center of mass.
    """
    if len(others) < MIN_SUPPORTING_FEET:
        return None
    x = math.fsum(p[0] for p in others) / len(others) - center[0]
    y = math.fsum(p[1] for p in others) / len(others) - center[1]
    far = math.hypot(x, y)
    for size in SHIFTS:
        dx, dy = (size * x / far, size * y / far) if far > 0.0 else (0.0, 0.0)
        if static_margin(others, (center[0] + MASS_SHARE * dx, center[1] + MASS_SHARE * dy)) >= MIN_MARGIN:
            return dx, dy
    return None


def would_tip(robot: Robot, feet: Sequence[Foot], now: BodyPose, goal: BodyPose, joints: Sequence[LegJoints]) -> bool:
    """Returns True if a foot is guided and the others would not support the robot in the body pose `goal`.

    `now` is the present pose, `joints` (n, 3) [rad] the present joint angles. The center of mass is assumed to move by
    the whole shift of the body, a cautious estimate here, and by MASS_SHARE of it where a shift has to gain margin.
    """
    if not any(isinstance(foot.state, Guided) for foot in feet):
        return False
    x, y = center_of_mass_in_footprint(robot, joints, now)
    return static_margin(supporting_contacts(feet, -1), (x + goal.x - now.x, y + goal.y - now.y)) < MIN_MARGIN


def contact_point(robot: Robot, leg: int, goal: FootGoal, pose: BodyPose) -> Vector:
    """Returns contact point (x, y) and height above the ground [m, base_footprint] of a goal for a body pose."""
    if isinstance(goal, GroundPoint):
        return goal
    placement = Placement(pose, robot.walk.height)
    joints, _, _ = solve_leg(robot.legs[leg], goal, BENT_LEG)
    shift = rolling_shift(robot.legs[leg], joints, placement, robot.foot_radius)
    x, y, z = placement.to_footprint(*goal)
    return x - shift[0], y - shift[1], z - robot.foot_radius


def guide_leg(
    robot: Robot, feet: Sequence[Foot], body: BodyControl, leg: int, goal: FootGoal, joints: Sequence[LegJoints]
) -> Refusal | None:
    """Shifts the body away from a leg and guides its foot to a goal; `joints` (n, 3) [rad] are the present angles."""
    name = robot.legs[leg].name
    shift = shift_away(supporting_contacts(feet, leg), center_of_mass_in_footprint(robot, joints, body.pose.now))
    if shift is None:
        return Refusal("unsupported", "{leg}: the other feet on the ground would not support the robot", leg=name)
    pose = body.pose.standing_goal
    if shift != (0.0, 0.0):
        pose = pose._replace(x=body.pose.now.x + shift[0], y=body.pose.now.y + shift[1])
        if not body.pose.can_shift_to(pose, feet):
            text = "{leg}: the body cannot shift far enough for the other feet to support the robot"
            return Refusal("shift_out_of_reach", text, leg=name)
    refusal = start_guiding(robot, feet, pose, leg, goal, joints)
    if not refusal and shift != (0.0, 0.0):
        body.take_temporarily(pose)
    return refusal


def start_guiding(
    robot: Robot, feet: Sequence[Foot], pose: BodyPose, leg: int, goal: FootGoal, joints: Sequence[LegJoints]
) -> Refusal | None:
    """Guides a foot to a goal.

    `pose` is that of the body meanwhile, `joints` (n, 3) [rad] are the present joint angles.
    """
    if not _near(robot.legs[leg], goal):
        text = "{leg}: ({x:.3g}, {y:.3g}, {z:.3g}) m is far out of reach; send metres"
        return Refusal("goal_far_out_of_reach", text, leg=robot.legs[leg].name, **goal._asdict())
    foot = feet[leg]
    state = feet[leg].state
    in_air = isinstance(state, Guided) and not state.planted
    velocity = state.velocity if isinstance(state, Guided) and in_air else ZERO_VELOCITY
    start = stopping_point(foot.at, velocity)
    x, y, z = contact_point(robot, leg, goal, pose)
    path = path_between(start, (x, y, max(z, 0.0)))
    refusal = _path_refusal(robot, feet, Placement(pose, robot.walk.height), leg, points_along(start, path)[1:], joints)
    if not refusal:
        origin = state.origin if isinstance(state, Guided) and in_air else foot.at[:2]
        phase = GuidedPhase.MOVING if in_air else GuidedPhase.WAITING
        foot.state = Guided(path, velocity, phase, origin=origin)
    return refusal


def _near(leg: Leg, goal: FootGoal) -> bool:
    """True for a goal within twice the length of the leg, which limits the number of points to check."""
    limit = 2.0 * leg.length
    return math.dist(goal[:2], leg.hip[:2]) <= limit and abs(goal.z) <= limit


def _path_refusal(
    robot: Robot,
    feet: Sequence[Foot],
    placement: Placement,
    leg: int,
    points: Sequence[Vector],
    joints: Sequence[LegJoints],
) -> Refusal | None:
    """Returns why a foot cannot pass all these points [m]."""
    radius = robot.foot_radius
    name = robot.legs[leg].name
    angles = [
        ball_center_and_joints(other, (foot.x, foot.y), foot.z, placement, radius, previous)[1][0]
        for other, foot, previous in zip(robot.legs, feet, joints, strict=True)
    ]
    neighbours = LegNeighbours.of(robot)
    min_gap = min(MIN_CLEARANCE, neighbours.gap(angles).distance)
    for x, y, z in points:
        angles[leg], reason, _ = joints_at_contact(robot.legs[leg], (x, y), z, placement, radius)
        if reason is not None:
            text = "{leg}: ({x:.3f}, {y:.3f}, {z:.3f}) m on its path is out of reach"
            return Refusal("path_out_of_reach", text, leg=name, x=x, y=y, z=z)
        clearance = neighbours.gap(angles)
        if clearance.distance < min_gap and clearance.legs is not None:
            touched = robot.legs[next(row for row in clearance.legs if row != leg)].name
            text = "{leg}: at ({x:.3f}, {y:.3f}, {z:.3f}) m on its path it would touch {touched}"
            return Refusal("path_blocked", text, leg=name, x=x, y=y, z=z, touched=touched)
    return None


def hold_feet_in_air(feet: Sequence[Foot], heights: Mapping[int, float]) -> None:
    """Holds feet at these heights [m] above the ground (by leg), as if they had been guided there."""
    for leg, height in heights.items():
        foot = feet[leg]
        foot.z = height
        foot.state = Guided(((foot.x, foot.y, height),), phase=GuidedPhase.MOVING)


def separate(
    robot: Robot,
    feet: Sequence[Foot],
    legs: tuple[int, int],
    regions: StanceRegions,
    placement: Placement,
    forbidden: Collection[int] = (),
) -> None:
    """Guides all feet in the air to their neutral footholds; two legs (rows) that block each other first swing apart.

    Those of the legs (rows) in `forbidden` return to where they have lifted off. If two legs are blocked again on their
    way there, they go higher and put their feet down apart from each other, and all other feet go straight down, so
    that none is in the air for long. All feet are at rest before, as the tick limiter has stopped the walk.
    """
    again = any(isinstance(foot.state, Guided) for foot in feet)
    for row, (foot, foothold) in enumerate(zip(feet, regions.footholds, strict=True)):
        if foot.state.planted:
            continue
        origin = foot.state.origin[:2] if isinstance(foot.state, Swing | Guided) and foot.state.origin else None
        if row in forbidden and origin is not None:
            foothold = origin
        height = max(foot.z, CLEARANCE_HEIGHT) + (CLEARANCE_HEIGHT if again else 0.0)
        apart = _apart(robot, foot, row, sum(legs) - row, placement) if row in legs else foot.at[:2]
        if not again:
            path: tuple[Vector, ...] = ((*foothold, height), (*foothold, 0.0))
            path = ((*apart, height), *path) if row in legs else path
        else:
            path = ((*apart, height), (*apart, 0.0)) if row in legs else ((*apart, 0.0),)
        foot.state = Guided(path, phase=GuidedPhase.MOVING, separating=again, origin=origin)


def _apart(robot: Robot, foot: Foot, leg: int, other: int, placement: Placement) -> Point:
    """Returns the point (x, y) [m] to which a foot swings about its hip, away from another leg, within its reach."""
    hip, other_hip = (complex(*robot.legs[row].hip[:2]) for row in (leg, other))
    arm = complex(foot.x, foot.y) - hip
    towards = math.copysign(1.0, (arm.conjugate() * (other_hip - hip)).imag)  # 1 if the other leg is on the left
    for share in SEPARATION_SHARES:
        apart = hip + arm * cmath.rect(1.0, -towards * share * SEPARATION / max(abs(arm), SEPARATION))
        if reaches(robot.legs[leg], robot, (apart.real, apart.imag), 0.0, placement):
            return apart.real, apart.imag
    return foot.x, foot.y


def return_to_footholds(feet: Sequence[Foot], regions: StanceRegions, forbidden: Collection[int] = ()) -> None:
    """Guides every guided foot to its neutral foothold; a foot that still waits on the ground is planted again.

    Those of the legs (rows) in `forbidden` return to where they have lifted off. A foot that is separating from a leg
    on its way there continues to its goal.
    """
    for leg, (foot, foothold) in enumerate(zip(feet, regions.footholds, strict=True)):
        guided = foot.state
        if not isinstance(guided, Guided) or guided.separating:
            continue
        x, y = (guided.origin if leg in forbidden else None) or foothold
        if guided.planted:
            foot.state = STANCE
        elif not (guided.lands and math.dist(guided.path[-1][:2], (x, y)) < 1e-9):
            start = stopping_point(foot.at, guided.velocity)
            path = path_between(start, (x, y, 0.0))
            foot.state = Guided(path, guided.velocity, GuidedPhase.MOVING, origin=guided.origin)


def bring_back(foot: Foot, offset: Point) -> None:
    """Guides a foot that has found no ground back by an offset [m] to where it has lifted off, as the others bear."""
    origin = (foot.x + offset[0], foot.y + offset[1])
    foot.state = Guided(path_between(foot.at, (*origin, 0.0)), origin=origin)


def advance_guided_feet(robot: Robot, feet: Sequence[Foot], placements: Sequence[Placement], dt: float) -> None:
    """Advances the guided feet by `dt` [s]; a foot that has landed is planted again.

    A foot is held before a point that is out of reach in any of the `placements` of the body: the present one, and
    the one in which the body can come to rest.
    """
    for leg, foot in zip(robot.legs, feet, strict=True):
        guided = foot.state
        if not isinstance(guided, Guided) or guided.planted:
            continue

        def reachable(at: Vector, leg: Leg = leg) -> bool:
            return all(reaches(leg, robot, at[:2], at[2], placement) for placement in placements)

        foot.x, foot.y, foot.z = advance_along_path(guided, dt, foot.at, reachable)
        foot.velocity = guided.velocity
        if guided.lands and len(guided.path) == 1 and foot.z <= 0.0:
            foot.z = 0.0
            foot.state = STANCE


def lift_off(robot: Robot, feet: Sequence[Foot], pose: BodyPose, joints: Sequence[LegJoints]) -> None:
    """Lifts a waiting foot off once the others support the robot; `joints` (n, 3) [rad] are the present angles."""
    for leg, foot in enumerate(feet):
        if isinstance(foot.state, Guided) and foot.state.planted:
            center = center_of_mass_in_footprint(robot, joints, pose)
            if static_margin(supporting_contacts(feet, leg), center) >= LIFT_OFF_MARGIN:
                foot.state.phase = GuidedPhase.MOVING
                return


def prepare_feet(robot: Robot, feet: Sequence[Foot], body: BodyControl, joints: Sequence[LegJoints]) -> None:
    """Starts lift-offs, and requests the body pose that guided feet need; `joints` (n, 3) in [rad]."""
    lift_off(robot, feet, body.pose.now, joints)
    held = any(isinstance(foot.state, Guided) and foot.state.phase is GuidedPhase.HELD for foot in feet)
    if held and body.pose.still:
        # A foot cannot continue in this pose: the body is level until the feet are down.
        body.take_temporarily(NEUTRAL._replace(x=body.pose.now.x, y=body.pose.now.y))
