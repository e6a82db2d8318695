"""Checks values of a robot file that are within bounds but inconsistent with each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from hexapod_control.config.robots.rules.checked_values import CheckedValues
from hexapod_control.core.kinematics.leg_kinematics import UnreachableReason, base_to_hip, leg_inverse
from hexapod_control.core.names import JOINTS
from hexapod_control.core.robot import Leg, Robot
from hexapod_control.core.workspace.stance_regions import MIN_RADIUS, max_radii, nominal_stance

_SAME_HIP_M = 0.001  # hips nearer than this coincide
_ANY_ANGLE_RAD = {"lower": -math.pi, "upper": math.pi}


def check(robot: Robot, whole: CheckedValues, legs: Sequence[CheckedValues]) -> None:
    """Raises RobotFileError for the first inconsistency; `whole` and `legs` give the key and line of a value."""
    _check_walk(robot, whole)
    _check_hips(robot, legs)
    for leg, values in zip(robot.legs, legs, strict=True):
        _check_tibia(robot, leg, values)
        _check_neutral(robot, leg, values)
    _check_stepping(robot, legs)


def _check_walk(robot: Robot, whole: CheckedValues) -> None:
    walk, body = robot.walk, robot.body
    underside = body.size[2] / 2.0 - body.center[2]
    if walk.height <= underside:
        raise whole.entries["walk.height"].error(
            f"is {walk.height:g}", f"must be above {underside:g} m", "else the underside of body.size is on the ground"
        )
    if walk.lift_height > walk.height:
        raise whole.entries["walk.lift_height"].error(
            f"is {walk.lift_height:g}", f"must be at most walk.height, {walk.height:g} m"
        )


def _check_hips(robot: Robot, legs: Sequence[CheckedValues]) -> None:
    for i, leg in enumerate(robot.legs):
        for other in robot.legs[:i]:
            if math.dist(leg.hip, other.hip) < _SAME_HIP_M:
                hip = "[" + ", ".join(f"{c:g}" for c in leg.hip) + "]"
                bound = f"must differ from legs.{other.name}.hip"
                raise legs[i].entries["hip"].error(f"is {hip}", bound, "two legs cannot be mounted in one place")


def _check_tibia(robot: Robot, leg: Leg, values: CheckedValues) -> None:
    shortest = 2.0 * (robot.foot_radius + leg.tibia.radius)
    if leg.tibia.length <= shortest:
        raise values.entries["tibia.length"].error(
            f"is {leg.tibia.length:g}",
            f"must be above {shortest:g} m",
            "it must be longer than 2 x (tibia.radius + foot.radius)",
        )


def _check_neutral(robot: Robot, leg: Leg, values: CheckedValues) -> None:
    """Checks that the neutral foothold is reachable, knee up, at walking height."""
    x, y = leg.foothold
    solution = leg_inverse(leg, base_to_hip(leg, robot.neutral_ball(leg)), (0.0, 0.0, 0.0))
    if solution.reason is None:
        return
    where = f"is [{x:g}, {y:g}]"
    if solution.reason is UnreachableReason.JOINT_LIMIT:
        raise values.entries["foothold"].error(where, *_limit(robot, leg, values))
    bound = f"must be in reach of leg {leg.name} at walk.height {robot.walk.height:g} m"
    hint = f"{solution.reason.value} ({solution.excess * 1000.0:.0f} mm)"
    raise values.entries["foothold"].error(where, bound, f"it is {hint}: check hip, lengths and walk.height")


def _check_stepping(robot: Robot, legs: Sequence[CheckedValues]) -> None:
    """Checks that every foot has a stance region around its neutral foothold."""
    stance, walk, apart = nominal_stance(robot), robot.walk, max_radii(robot)
    for leg, radius, most, values in zip(robot.legs, stance.radii, apart, legs, strict=True):
        if radius >= MIN_RADIUS:
            continue
        x, y = leg.foothold
        where, bound = (
            f"is [{x:g}, {y:g}]",
            f"must let leg {leg.name} step {MIN_RADIUS * 1000.0:g} mm in every direction",
        )
        if most < MIN_RADIUS:
            raise values.entries["foothold"].error(where, bound, "move it away from the foothold of its neighbour")
        lift = f"walk.lift_height {walk.lift_height:g} m and walk.height {walk.height:g} m"
        raise values.entries["foothold"].error(
            where, f"{bound} with {lift}", "lower the lift, or change height or foothold"
        )


def _limit(robot: Robot, leg: Leg, values: CheckedValues) -> tuple[str, str]:
    """Bound and hint for a neutral stance outside the joint limits: joint and excess."""
    free = replace(
        leg, **{f"{name}_joint": replace(getattr(leg, f"{name}_joint"), **_ANY_ANGLE_RAD) for name in JOINTS}
    )
    angles = leg_inverse(free, base_to_hip(leg, robot.neutral_ball(leg)), (0.0, 0.0, 0.0)).joints
    for name, angle, joint in zip(JOINTS, angles, leg.joints, strict=True):
        if not joint.lower <= angle <= joint.upper:
            lower, upper = (values.number(f"joints.{name}.{side}_deg") for side in ("lower", "upper"))
            need = f"needs joints.{name} at {math.degrees(angle):.1f} deg, must be within {lower:g} and {upper:g} deg"
            return need, "check yaw_deg, foothold and the joint's limits"
    raise AssertionError("a joint limit was reported but none is exceeded")
