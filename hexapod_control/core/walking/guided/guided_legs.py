"""Guides single feet while the others support the robot: checks the goal, shifts the body, lifts off, returns.

1. Before a foot lifts off, the body shifts away from its leg, just far enough for a sufficient static margin.
2. A path (up, across, down) is refused if a point of it is out of reach, or if the leg would come too close to a
   neighbour.
3. The foot waits on the ground until the static margin of the others is sufficient, then follows its path.
4. A return leads to the neutral foothold; a foot that has landed stands again.

Contact points (x, y) [m] in base_footprint, heights above its plane.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose, Placement
from hexapod_control.core.kinematics.leg_clearance import LegNeighbours
from hexapod_control.core.kinematics.leg_kinematics import BENT_LEG, LegJoints, solve_leg
from hexapod_control.core.kinematics.rolling_contact import (
    ball_centre_and_joints,
    joints_at_contact,
    rolling_shift,
)
from hexapod_control.core.robot import Leg, Point, Robot, Vector
from hexapod_control.core.statics.static_stability import (
    MIN_SUPPORTING_FEET,
    center_of_mass_in_footprint,
    static_margin,
)
from hexapod_control.core.walking.body.body_control import BodyControl
from hexapod_control.core.walking.foot import STANCE, ZERO_VELOCITY, Foot, Guided, GuidedPhase, stopping_point
from hexapod_control.core.walking.guided.guided_foot import (
    CLEARANCE_HEIGHT,
    advance_along_path,
    path_between,
    points_along,
)
from hexapod_control.core.workspace.stance_regions import StanceRegions, reaches

MIN_MARGIN = 0.02  # [m] static margin over the feet that support the robot
LIFT_OFF_MARGIN = 0.8 * MIN_MARGIN  # [m] static margin at which a waiting foot lifts off
MIN_CLEARANCE = 0.006  # [m] between neighbouring legs along the path, unless they are closer already
MASS_SHARE = 0.8  # of the body's shift by which the centre of mass surely moves, as the feet stay
SEPARATION = 0.03  # [m] by which feet of legs that block each other move apart
SEPARATION_SHARES = (1.0, 0.75, 0.5, 0.25)  # of it, tried in turn
SHIFTS = tuple(0.005 * k for k in range(13))  # [m] possible shifts of the body


class BallCentre(NamedTuple):
    """A goal for the centre of a foot's ball in base_link."""

    x: float  # [m]
    y: float
    z: float


class GroundPoint(NamedTuple):
    """A goal for a contact point in base_footprint, and its height above the ground."""

    x: float  # [m]
    y: float
    z: float


FootGoal = BallCentre | GroundPoint
"""Where a foot is guided to."""


def supporting_contacts(feet: Sequence[Foot], leg: int) -> list[Point]:
    """Returns the contact points [m] of the feet that support the robot while a leg is in the air."""
    return [
        (foot.x, foot.y)
        for k, foot in enumerate(feet)
        if k != leg and foot.state.planted and not isinstance(foot.state, Guided)
    ]


def shift_away(others: Sequence[Point], mass: Point) -> tuple[float, float] | None:
    """Returns the shortest shift (x, y) [m] of the body that gives MIN_MARGIN over these feet; None if none does.

    `others` (n, 2) [m] are their contact points, `mass` (x, y) [m] is the centre of mass.
    """
    if len(others) < MIN_SUPPORTING_FEET:
        return None
    x = math.fsum(p[0] for p in others) / len(others) - mass[0]
    y = math.fsum(p[1] for p in others) / len(others) - mass[1]
    far = math.hypot(x, y)
    for size in SHIFTS:
        dx, dy = (size * x / far, size * y / far) if far > 0.0 else (0.0, 0.0)
        if static_margin(others, (mass[0] + MASS_SHARE * dx, mass[1] + MASS_SHARE * dy)) >= MIN_MARGIN:
            return dx, dy
    return None


def would_tip(robot: Robot, feet: Sequence[Foot], now: BodyPose, goal: BodyPose, joints: Sequence[LegJoints]) -> bool:
    """Returns True if a foot is guided and the others would not support the robot in the body pose `goal`.

    `now` is the present pose, `joints` (n, 3) [rad] the present joint angles. The centre of mass counts as moved by all
    of the body's shift, which is the cautious estimate here; where a shift is to gain margin, it is MASS_SHARE.
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
) -> str:
    """Shifts the body away from a leg and guides its foot to a goal; `joints` (n, 3) [rad] are the present angles.

    Returns why it is refused; empty if it is accepted.
    """
    name = robot.legs[leg].name
    shift = shift_away(supporting_contacts(feet, leg), center_of_mass_in_footprint(robot, joints, body.pose))
    if shift is None:
        return f"{name}: the other feet on the ground would not support the robot"
    pose = body.goal
    if shift != (0.0, 0.0):
        pose = pose._replace(x=body.pose.x + shift[0], y=body.pose.y + shift[1])
        if not body.can_shift_to(pose, feet):
            return f"{name}: the body cannot shift far enough for the other feet to support the robot"
    refusal = start_guiding(robot, feet, pose, leg, goal, joints)
    if not refusal and shift != (0.0, 0.0):
        body.take_temporarily(pose)
    return refusal


def start_guiding(
    robot: Robot, feet: Sequence[Foot], pose: BodyPose, leg: int, goal: FootGoal, joints: Sequence[LegJoints]
) -> str:
    """Guides a foot to a goal. Returns why it is refused; empty if it is accepted.

    `pose` is that of the body meanwhile, `joints` (n, 3) [rad] are the present joint angles.
    """
    if not _near(robot.legs[leg], goal):
        return f"{robot.legs[leg].name}: ({goal.x:.3g}, {goal.y:.3g}, {goal.z:.3g}) m is far out of reach; send metres"
    foot, state = feet[leg], feet[leg].state
    lifted = isinstance(state, Guided) and not state.planted
    velocity = state.velocity if isinstance(state, Guided) and lifted else ZERO_VELOCITY
    start = stopping_point(foot.at, velocity)
    x, y, z = contact_point(robot, leg, goal, pose)
    path = path_between(start, (x, y, max(z, 0.0)))
    refusal = _path_refusal(robot, feet, Placement(pose, robot.walk.height), leg, points_along(start, path)[1:], joints)
    if not refusal:
        foot.state = Guided(path, velocity, GuidedPhase.MOVING if lifted else GuidedPhase.WAITING)
    return refusal


def _near(leg: Leg, goal: FootGoal) -> bool:
    """True for a goal within twice the length of the leg, which limits the number of points to check."""
    most = 2.0 * leg.length
    return math.dist(goal[:2], leg.hip[:2]) <= most and abs(goal.z) <= most


def _path_refusal(
    robot: Robot,
    feet: Sequence[Foot],
    placement: Placement,
    leg: int,
    points: Sequence[Vector],
    joints: Sequence[LegJoints],
) -> str:
    """Returns why a foot cannot pass all these points [m]; empty if it can."""
    radius, name = robot.foot_radius, robot.legs[leg].name
    angles = [
        ball_centre_and_joints(each, (at.x, at.y), at.z, placement, radius, previous)[1][0]
        for each, at, previous in zip(robot.legs, feet, joints, strict=True)
    ]
    neighbours = LegNeighbours.of(robot)
    least = min(MIN_CLEARANCE, neighbours.gap(angles).distance)
    for x, y, z in points:
        angles[leg], reason, _ = joints_at_contact(robot.legs[leg], (x, y), z, placement, radius)
        if reason is not None:
            return f"{name}: ({x:.3f}, {y:.3f}, {z:.3f}) m on its path is out of reach"
        clearance = neighbours.gap(angles)
        if clearance.distance < least and clearance.legs is not None:
            other = robot.legs[next(number for number in clearance.legs if number != leg)].name
            return f"{name}: at ({x:.3f}, {y:.3f}, {z:.3f}) m on its path it would touch {other}"
    return ""


def hold_lifted_feet(feet: Sequence[Foot], lifted: Mapping[int, float]) -> None:
    """Holds the feet of legs at these heights [m] above the ground, as if they had been guided there."""
    for leg, height in lifted.items():
        foot = feet[leg]
        foot.z, foot.state = height, Guided(((foot.x, foot.y, height),), phase=GuidedPhase.MOVING)


def separate(
    robot: Robot, feet: Sequence[Foot], legs: tuple[int, int], stance: StanceRegions, placement: Placement
) -> None:
    """Guides all feet in the air to their neutral footholds; two legs that block each other first swing apart.

    Two legs that are blocked again on their way there go higher and put their feet down apart from each other, and all
    other feet go straight down, so that none is in the air for long. The legs are at rest, as the tick limiter does not
    let them come closer.
    """
    again = any(isinstance(foot.state, Guided) for foot in feet)
    for row, (foot, home) in enumerate(zip(feet, stance.footholds, strict=True)):
        if foot.state.planted:
            continue
        height = max(foot.z, CLEARANCE_HEIGHT) + (CLEARANCE_HEIGHT if again else 0.0)
        apart = _apart(robot, foot, row, sum(legs) - row, placement) if row in legs else foot.at[:2]
        if not again:
            path: tuple[Vector, ...] = ((*home, height), (*home, 0.0))
            path = ((*apart, height), *path) if row in legs else path
        else:
            path = ((*apart, height), (*apart, 0.0)) if row in legs else ((*apart, 0.0),)
        foot.state = Guided(path, phase=GuidedPhase.MOVING, separating=again)


def _apart(robot: Robot, foot: Foot, leg: int, other: int, placement: Placement) -> Point:
    """Returns the point (x, y) [m] to which a foot swings about its hip away from another leg, as far as it reaches."""
    hip, other_hip = (complex(*robot.legs[row].hip[:2]) for row in (leg, other))
    arm = complex(foot.x, foot.y) - hip
    towards = math.copysign(1.0, (arm.conjugate() * (other_hip - hip)).imag)  # the other leg is to the left: 1
    for share in SEPARATION_SHARES:
        apart = hip + arm * cmath.rect(1.0, -towards * share * SEPARATION / max(abs(arm), SEPARATION))
        if reaches(robot.legs[leg], robot, (apart.real, apart.imag), 0.0, placement):
            return apart.real, apart.imag
    return foot.x, foot.y


def return_to_footholds(feet: Sequence[Foot], stance: StanceRegions) -> None:
    """Guides every guided foot to its neutral foothold; a foot that still waits just stands.

    The foot of a leg that another one blocks on this way lands where it is going.
    """
    for foot, (x, y) in zip(feet, stance.footholds, strict=True):
        guided = foot.state
        if not isinstance(guided, Guided) or guided.separating:
            continue
        if guided.planted:
            foot.state = STANCE
        elif not (guided.lands and math.dist(guided.path[-1][:2], (x, y)) < 1e-9):
            start = stopping_point(foot.at, guided.velocity)
            foot.state = Guided(path_between(start, (x, y, 0.0)), guided.velocity, GuidedPhase.MOVING)


def advance_guided_feet(robot: Robot, feet: Sequence[Foot], placements: Sequence[Placement], dt: float) -> None:
    """Advances the guided feet by `dt` [s]; a foot that has landed stands.

    A foot waits where it could not come to rest in reach in all `placements` of the body: the present one, and the
    one in which the body can come to rest.
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
            foot.z, foot.state = 0.0, STANCE


def lift_off(robot: Robot, feet: Sequence[Foot], pose: BodyPose, joints: Sequence[LegJoints]) -> None:
    """Lets a waiting foot lift off once the others support the robot; `joints` (n, 3) [rad] are the present angles."""
    for leg, foot in enumerate(feet):
        if isinstance(foot.state, Guided) and foot.state.planted:
            center = center_of_mass_in_footprint(robot, joints, pose)
            if static_margin(supporting_contacts(feet, leg), center) >= LIFT_OFF_MARGIN:
                foot.state.phase = GuidedPhase.MOVING
                return


def prepare_feet(robot: Robot, feet: Sequence[Foot], body: BodyControl, joints: Sequence[LegJoints]) -> None:
    """Lets guided feet lift off, and sets the body pose that they need; without any, the requested pose."""
    if Guided not in [type(foot.state) for foot in feet]:
        body.end_temporary()
        return
    lift_off(robot, feet, body.pose, joints)
    if body.still and any(isinstance(foot.state, Guided) and foot.state.phase is GuidedPhase.HELD for foot in feet):
        # A foot cannot continue in this pose: the body stays level until the feet are down.
        body.take_temporarily(NEUTRAL._replace(x=body.pose.x, y=body.pose.y))
