# SPDX-License-Identifier: Apache-2.0
"""Motions that put feet down at given places, other than the walk, and what the map of the ground says about them.

A request that would put a foot where the map shows no ground to stand on is refused in words. A robot that lies stands
up on its neutral footholds; a foot whose foothold is forbidden stays where it is instead. Unknown ground is forbidden,
except for a robot that stands up: it has walked there, or a person has put it there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose
from hexapod_control.core.kinematics.fits import fit_rigid
from hexapod_control.core.kinematics.leg_kinematics import LegJoints, solve_leg
from hexapod_control.core.kinematics.support_detection import detect_support
from hexapod_control.core.kinematics.whole_body import joints_at_offset
from hexapod_control.core.planner.requests import (
    FeetMoveRequest,
    GuidedFootOverGroundRequest,
    GuidedFootRequest,
    JointMoveRequest,
)
from hexapod_control.core.posture.posture_sequences import PostureSequences
from hexapod_control.core.posture.stand_up import lying_offset
from hexapod_control.core.posture.straight_moves import FeetMove, JointMove
from hexapod_control.core.refusal import Refusal, Statement
from hexapod_control.core.robot import Point, Robot, Vector
from hexapod_control.core.sensing.mishap_watch import Mishap, MishapKind
from hexapod_control.core.statics.static_stability import MIN_SUPPORTING_FEET
from hexapod_control.core.terrain.foothold_choice import Missing
from hexapod_control.core.walking.foothold_plan import FootholdPlan, in_words
from hexapod_control.core.walking.guided_legs import CLEARANCE_HEIGHT, BallCenter, FootGoal, GroundPoint, contact_point
from hexapod_control.core.walking.walk_controller import WalkController

STAYS = 0.005  # [m] from where it stands, up to which a foot stays on the ground that bears it


def whole_body_move(
    request: FeetMoveRequest | JointMoveRequest, robot: Robot, joints: Sequence[LegJoints], attitude: BodyPose
) -> FeetMove | JointMove:
    """Returns the requested move from joint angles (n, 3) [rad]; `attitude` is the body pose without its height."""
    match request:
        case FeetMoveRequest(centers, duration):
            now = detect_support(robot, joints, attitude)
            return FeetMove.between(robot, now.centers, centers, now.pose, duration)
        case JointMoveRequest(goal, duration):
            return JointMove.between(robot, joints, goal, attitude, duration)


def move_refusal(
    request: FeetMoveRequest | JointMoveRequest,
    walk: WalkController,
    footholds: FootholdPlan,
    joints: Sequence[LegJoints],
) -> Refusal | None:
    """Why a move from joint angles (n, 3) [rad] would put a foot where the map does not permit it; else None."""
    robot = footholds.robot
    pose = walk.body.pose.now
    match request:
        case FeetMoveRequest(centers):
            pairs = zip(robot.legs, centers, joints, strict=True)
            goals = _new_contacts(robot, joints, [solve_leg(*pair)[0] for pair in pairs], pose)
        case JointMoveRequest(angles):
            goals = _new_contacts(robot, joints, angles, pose)
    return _refused(goals, walk, footholds)


def guide_foot(
    request: GuidedFootRequest | GuidedFootOverGroundRequest,
    walk: WalkController,
    footholds: FootholdPlan,
    joints: Sequence[LegJoints],
) -> Refusal | None:
    """Guides a foot to the requested goal, unless it would stand where the map does not permit it.

    `joints` (n, 3) [rad] are the present angles.
    """
    leg = request.leg
    goal: FootGoal
    match request:
        case GuidedFootRequest():
            goal = BallCenter(*request.ball_center)
        case GuidedFootOverGroundRequest():
            goal = GroundPoint(*request.point)
    point = contact_point(footholds.robot, leg, goal, walk.body.pose.now)
    return _refused({leg: point}, walk, footholds) or walk.guide_foot(leg, goal, joints)


def _refused(goals: Mapping[int, Vector], walk: WalkController, footholds: FootholdPlan) -> Refusal | None:
    """Why a foot may not come to its goal [m], by leg; those that stay where they are may."""
    robot = footholds.robot
    feet = walk.motion.feet
    standing = [foot.at for foot in feet if foot.state.planted]
    for leg, (x, y, z) in goals.items():
        if z < CLEARANCE_HEIGHT and math.dist((x, y), feet[leg].at[:2]) > STAYS:
            missing = footholds.forbids(walk.body.placement, standing, (x, y, 0.0))
            if missing is not None:
                return _refusal(robot.leg_names[leg], missing)
    return None


def _refusal(leg: str, missing: Missing) -> Refusal:
    text = "{leg}: the map shows no place for its foot there: {seen}; drive away from the edge first"
    return Refusal("no_place_on_map", text, leg=leg, seen=in_words(missing))


def leg_change_refusal(walk: WalkController, footholds: FootholdPlan) -> Refusal | None:
    """Why the legs that walk cannot change here, for which all feet have to stand on their neutral footholds."""
    found = footholds.forbidden_neutral(walk)
    return next((_refusal(footholds.robot.leg_names[leg], missing) for leg, missing in found.items()), None)


def kept_feet(walk: WalkController, robot: Robot) -> Mishap | None:
    """What a robot says that lies down with feet that do not return to their neutral footholds; None if they do."""
    if walk.gave_up:
        text = "the feet have not met the places that the map shows for them: the robot sits down with its feet where "
        text += "they stand"
        return Mishap(MishapKind.NO_FOOTHOLD, Statement("places_not_met", text))
    kept = [
        Statement("leg_seen", "{leg} ({seen})", leg=robot.leg_names[leg], seen=in_words(missing))
        for leg, missing in walk.forbidden.items()
    ]
    if not kept:
        return None
    text = "the map shows no neutral foothold for {kept}: the robot sits down with these feet where they stand"
    listed = Statement.joined("comma", "{first}, {second}", kept)
    return Mishap(MishapKind.NO_FOOTHOLD, Statement("sits_as_it_stands", text, kept=listed))


def _new_contacts(
    robot: Robot, before: Sequence[LegJoints], after: Sequence[LegJoints], pose: BodyPose
) -> Mapping[int, Vector]:
    """Where the feet stand [m] after a move of the joints [rad], in base_footprint of now; most feet hold the body."""
    now = detect_support(robot, before, pose)
    then = detect_support(robot, after, pose)
    both = [leg for leg, (a, b) in enumerate(zip(now.planted, then.planted, strict=True)) if a and b]
    if len(both) < MIN_SUPPORTING_FEET:
        both = list(range(len(robot.legs)))
    moved = fit_rigid([then.contacts[leg] for leg in both], [now.contacts[leg] for leg in both])
    return {
        leg: (*moved.apply(*contact), height)
        for leg, (contact, height) in enumerate(zip(then.contacts, then.heights, strict=True))
    }


def standing_places(
    footholds: FootholdPlan, sequences: PostureSequences, joints: Sequence[LegJoints]
) -> Sequence[Point] | Refusal:
    """Contact points (n, 2) [m] on which a robot stands up that lies with joint angles (n, 3) [rad]; or why on none.

    They are the neutral footholds as far as the map permits them, else the places of the feet.
    """
    robot = sequences.capabilities.robot
    neutral = sequences.neutral_footholds
    lying = detect_support(robot, joints, NEUTRAL)
    places = list(neutral)
    for leg, (x, y) in enumerate(neutral):
        if (missing := footholds.forbids(lying.placement, (), (x, y, 0.0), unknown=False)) is None:
            continue
        places[leg] = lying.contacts[leg]
        if footholds.forbids(lying.placement, (), (*places[leg], 0.0), unknown=False):
            return _stand_refusal(robot.leg_names[leg], missing)
    if places == list(neutral):
        return neutral
    reached = joints_at_offset(robot, places, 0.0) and joints_at_offset(robot, places, lying_offset(robot, places))
    if not reached:
        leg = next(leg for leg, pair in enumerate(zip(places, neutral, strict=True)) if pair[0] != pair[1])
        missing = footholds.forbids(lying.placement, (), (*neutral[leg], 0.0), unknown=False)
        assert missing is not None  # its place was replaced
        return _stand_refusal(robot.leg_names[leg], missing)
    return places


def _stand_refusal(leg: str, missing: Missing) -> Refusal:
    text = "{leg}: the map shows no place for its foot: {seen}; put the robot elsewhere, or set map_footholds to false"
    return Refusal("no_place_to_stand", text, leg=leg, seen=in_words(missing))
