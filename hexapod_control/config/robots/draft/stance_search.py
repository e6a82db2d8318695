# SPDX-License-Identifier: Apache-2.0
"""Chooses height and footholds of a drafted robot: the stance with the largest stance regions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product

import numpy as np

from hexapod_control.config.robots.draft.leg_draft import DraftJoint, LegGeometry
from hexapod_control.config.robots.draft.robot_draft import DraftBody, DraftServo, DraftStance, RobotDraft, SourcedValue
from hexapod_control.config.robots.foothold_choice import MAX_COXA_RAD, ScoredStance, best_stance, neutral_turns
from hexapod_control.config.robots.robot_keys import MIN_COXA_M
from hexapod_control.core.gait.gait_table import AUTO, derived_gaits
from hexapod_control.core.gait.swing_trajectory import travel_and_lift
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.leg_batch import joints_at_contacts
from hexapod_control.core.kinematics.leg_clearance import capsules
from hexapod_control.core.kinematics.whole_body import joints_at_offset
from hexapod_control.core.names import JOINTS
from hexapod_control.core.robot import Body, Joint, Leg, Robot, Segment, WalkDefaults
from hexapod_control.core.statics.leg_compliance import MIN_SWAY_PERIODS, sway_period
from hexapod_control.core.statics.leg_loads import LoadedLeg
from hexapod_control.core.statics.static_stability import GRAVITY
from hexapod_control.core.workspace.capabilities import stride_shares
from hexapod_control.core.workspace.robot_gaits import least_support
from hexapod_control.core.workspace.stance_regions import nominal_stance
from hexapod_control.core.workspace.stride_stability import usable_share
from hexapod_control.core.workspace.strides.leg_centers import CLEARANCE, distance_from_body
from hexapod_control.core.workspace.swing_limits import PROGRESS, SPEED_SHARE, shortest_swing

FEMUR_DEG = (-20.0, -10.0, 0.0, 10.0, 20.0, 30.0, 40.0, 50.0)  # femur directions above the horizontal
TIBIA_DEG = (-60.0, -70.0, -80.0, -90.0)  # tibia directions above the horizontal
GIVEN_TIBIA_DEG = tuple(range(-40, -101, -5))  # the same for a given height
STEEPEST_FEMUR_RAD = math.radians(60.0)  # above or below the horizontal, for a given height
AMPLE_RADIUS_SHARE = 0.12  # of femur plus tibia: larger stance regions are not preferred
LIFT_HEIGHT_SHARES = (0.15, 0.08, 0.04)  # of femur plus tibia
BODY_SHARES = tuple(k / 10 for k in range(10, 3, -1))  # of length and width of the body, tried
LINK_POINTS = 9  # on a link, for its distance from the body
ROUNDING_DIGITS = 4  # [m, rad] of the legs in the search, so that equal ones are recognised
SAME_TURN_RAD = math.radians(3.0)  # of a coxa: candidates this close are tried once
SWING_TIME_S = 0.45  # with servos that are fast enough
LONG_SWING_S = 2.0  # with a longer one the feet are lifted less ...
SLOW_LIFT_SHARE = 0.08  # ... down to this share ...
MAX_SAG_SHARE = 0.08  # ... as long as the legs that stand give way by no more of the lift
LIFT_SPEED_SHARE = 0.4  # of the no-load speed for lifting a foot; the rest is for its travel


def lever(leg: LegGeometry) -> float:
    """Typical distance [m] from the femur axis to the foot, horizontally."""
    return 0.8 * leg.femur + 0.2 * leg.tibia


def find_stance(
    legs: Mapping[str, LegGeometry],
    body: DraftBody,
    masses: Mapping[str, SourcedValue],
    radii: Mapping[str, SourcedValue],
    servo: DraftServo,
    height: float | None = None,
) -> DraftStance | None:
    """The best stance within the joint limits; None if none has a stance region for every foot.

    With a height [m] only stances of that height are considered, computed for the first leg and applied to all. The
    lift is lowered only if there is no ample stance otherwise, or if swings would take long.
    """
    model = _model(legs, body, masses, radii, servo)
    size = min(leg.femur + leg.tibia for leg in legs.values())
    lowest = body.size[2] / 2.0 - body.center[2] + 0.1 * size  # [m] of the height
    found: list[ScoredStance] = []
    ample = False
    for share in LIFT_HEIGHT_SHARES:
        if ample and share < SLOW_LIFT_SHARE:
            break
        stances = [each for each in _stances(legs, share * size, radii["foot"].value, height) if each.height > lowest]
        placed = [_standing(model, each) for each in stances if each.height > each.lift]
        robots = [_timed(each) for each in placed if joints_at_offset(each, each.footholds, 0.0) is not None]
        wishes = (_has_usual_gait, _steady_gaits, _stable_gaits)  # the strictest first
        best = next(filter(None, (best_stance(robots, size, wish) for wish in wishes)), None)
        if best is None or (ample and _sag_share(best.robot) > MAX_SAG_SHARE):
            continue
        found.append(best)
        ample = best.radius > AMPLE_RADIUS_SHARE * size
        if ample and best.robot.walk.swing_time < LONG_SWING_S:
            break
    if not found:
        return None
    robot = max(found, key=lambda each: each.score).robot
    places = {leg.name: leg.foothold for leg in robot.legs}
    walk = robot.walk
    gait = next(iter((*_steady_gaits(robot), *_stable_gaits(robot))))  # the usual one is the first
    return DraftStance(walk.height, walk.lift_height, walk.swing_time, places, gait)


def draft_robot(draft: RobotDraft) -> Robot:
    """The robot in its stance, for rules and drawings; the position of the IMU is only in the file."""
    model = _model(draft.legs, draft.body, draft.masses, draft.radii, draft.servo)
    return replace(_standing(model, draft.stance), name=draft.name)


def body_with_room(draft: RobotDraft) -> DraftBody:
    """The body of a draft, shorter or narrower if legs would touch its box with their feet in their stance regions."""
    robot = draft_robot(draft)
    points, radii = _points_of_legs(robot)
    for shares in sorted(product(BODY_SHARES, repeat=2), key=math.prod, reverse=True):
        length, width = (share * size for share, size in zip(shares, draft.body.size, strict=False))
        body = replace(robot.body, size=(length, width, robot.body.size[2]))
        center = np.array([robot.body.center_of_mass])
        holds_center = float(distance_from_body(replace(robot, body=body), center).min()) <= 0.0
        gaps = distance_from_body(replace(robot, body=body), points) - radii
        if holds_center and float(gaps.min()) >= CLEARANCE:
            return replace(draft.body, size=body.size)
    return draft.body


def _points_of_legs(robot: Robot) -> tuple[Array, Array]:
    """Points (n, 3) and radii (n,) [m] along femurs and tibias, in the middle and at the ends of strides."""
    points: list[Array] = []
    radii: list[Array] = []
    for row, (leg, radius) in enumerate(zip(robot.legs, nominal_stance(robot).radii, strict=True)):
        feet = complex(*leg.foothold) + radius * np.array([0.0, 1.0, 1.0j, -1.0, -1.0j])
        contacts: tuple[Array, Array, Array] = (np.real(feet), np.imag(feet), np.zeros(feet.size))
        solution = joints_at_contacts(leg, robot.foot_radius, robot.walk.height, contacts)
        for coxa, femur, tibia in np.transpose(solution.joints).tolist():
            for capsule in capsules(robot, row, (coxa, femur, tibia)):
                points.append(np.linspace(capsule.start, capsule.end, LINK_POINTS))
                radii.append(np.full(LINK_POINTS, capsule.radius))
    return np.concatenate(points), np.concatenate(radii)


def _sag_share(robot: Robot) -> float:
    """How far the body sinks on half of its legs, as a share of the lift: its feet touch down the earlier."""
    load = robot.mass * GRAVITY / (len(robot.legs) / 2.0)
    points = [np.array(complex(*leg.foothold)) for leg in robot.legs]
    sunk = max(LoadedLeg.at(robot, leg, point).sag().item() for leg, point in zip(robot.legs, points, strict=True))
    return load * sunk / robot.walk.lift_height


def _timed(robot: Robot) -> Robot:
    """The robot with a swing time in which it sways little, and its servos need LIFT_SPEED_SHARE to lift a foot."""
    x, y = robot.legs[0].foothold
    lifts = robot.walk.lift_height * travel_and_lift(PROGRESS)[1]
    contacts = np.full_like(lifts, x), np.full_like(lifts, y), lifts
    joints = joints_at_contacts(robot.legs[0], robot.foot_radius, robot.walk.height, contacts).joints
    least = float(shortest_swing(robot.legs[0], joints)) * SPEED_SHARE / LIFT_SPEED_SHARE
    least = max(SWING_TIME_S, least, MIN_SWAY_PERIODS * sway_period(robot))
    return replace(robot, walk=replace(robot.walk, swing_time=math.ceil(100.0 * least) / 100.0))


def _stable_gaits(robot: Robot) -> dict[str, float]:
    """The gaits in which a robot is statically stable, with the share of the regions that its strides may use."""
    try:
        return stride_shares(robot)
    except ValueError:
        return {}


def _steady_gaits(robot: Robot) -> list[str]:
    """The gaits in which a robot is statically stable with full strides."""
    return [name for name, share in _stable_gaits(robot).items() if share == 1.0]


def _has_usual_gait(robot: Robot) -> bool:
    """True if the gait that is usual for this number of legs is one of them."""
    usual = next(iter(derived_gaits(robot).values()))  # never the crawl, which takes long to compute
    if not least_support(robot, usual).stable:
        return False
    return usable_share(robot, usual) == 1.0


def _stances(
    legs: Mapping[str, LegGeometry], lift: float, foot_radius: float, height: float | None
) -> Iterator[DraftStance]:
    """Candidates with a lift [m]: all legs with the same directions of femur and tibia."""
    middle = np.mean([leg.hip[:2] for leg in legs.values()], axis=0)
    tried: list[dict[str, float]] = []
    for turns in _neutral_turns(legs, middle):
        if any(all(abs(turns[name] - other[name]) < SAME_TURN_RAD for name in legs) for other in tried):
            continue
        tried.append(turns)
        for femur, tibia in _link_directions(next(iter(legs.values())), foot_radius, height):
            angles = {name: (turns[name], femur, tibia - femur) for name in legs}
            feet = {name: leg.foot(angles[name]) for name, leg in legs.items()}
            walk_height = foot_radius - float(np.mean([foot[2] for foot in feet.values()]))
            places = {name: (round(float(f[0]), 4), round(float(f[1]), 4)) for name, f in feet.items()}
            yield DraftStance(round(walk_height, 4), round(lift, 4), SWING_TIME_S, places, AUTO)


def _link_directions(leg: LegGeometry, foot_radius: float, height: float | None) -> Iterator[tuple[float, float]]:
    """Directions [rad] of femur and tibia above the horizontal to try."""
    if height is None:
        yield from product(map(math.radians, FEMUR_DEG), map(math.radians, TIBIA_DEG))
        return
    over_ball = height - foot_radius + float(leg.hip[2]) + leg.vertical  # [m] of the femur axis
    for tibia in map(math.radians, GIVEN_TIBIA_DEG):
        share = -(over_ball + leg.tibia * math.sin(tibia)) / leg.femur
        if abs(share) <= math.sin(STEEPEST_FEMUR_RAD):
            yield math.asin(share), tibia


def _neutral_turns(legs: Mapping[str, LegGeometry], middle: np.ndarray) -> Iterator[dict[str, float]]:
    """Coxa angles [rad] to try, by leg."""
    rows = []
    for leg in legs.values():
        x, y = leg.hip[:2] - middle
        rows.append(
            neutral_turns(
                _joint(leg.joints[0], 1.0, 1.0, 1.0),
                math.remainder(math.atan2(y, x) - leg.yaw, math.tau),
                MAX_COXA_RAD,
            )
        )
    return (dict(zip(legs, turns, strict=True)) for turns in zip(*rows, strict=True))


def _standing(model: Robot, stance: DraftStance) -> Robot:
    legs = tuple(replace(leg, foothold=stance.footholds[leg.name]) for leg in model.legs)
    return replace(model, legs=legs, walk=replace(model.walk, height=stance.height, lift_height=stance.lift))


def _model(
    legs: Mapping[str, LegGeometry],
    body: DraftBody,
    masses: Mapping[str, SourcedValue],
    radii: Mapping[str, SourcedValue],
    servo: DraftServo,
) -> Robot:
    """The robot as the planner sees it, without a stance yet."""
    trunk = Body(body.size, body.center, body.mass.value, body.center_of_mass)
    walk = WalkDefaults(AUTO, 1.0, SWING_TIME_S, 0.0, 0.0)
    rows = tuple(_leg(name, leg, masses, radii, servo) for name, leg in legs.items())
    return Robot("draft", trunk, rows, radii["foot"].value, (0.0, 0.0, 0.0), walk)


def _leg(
    name: str,
    leg: LegGeometry,
    masses: Mapping[str, SourcedValue],
    radii: Mapping[str, SourcedValue],
    servo: DraftServo,
) -> Leg:
    lengths = dict(zip(JOINTS, (leg.coxa, leg.femur, leg.tibia), strict=True))
    coxa, femur, tibia = (
        Segment(max(MIN_COXA_M, round(lengths[part], ROUNDING_DIGITS)), masses[part].value, radii[part].value)
        for part in JOINTS
    )
    figures = (servo.speed.value, servo.torque.value, servo.stiffness.value)
    first, second, third = (_joint(joint, *figures) for joint in leg.joints)
    x, y, z = (round(value, ROUNDING_DIGITS) for value in leg.hip.tolist())
    return Leg(
        name=name,
        hip=(x, y, z),
        hip_yaw=leg.yaw,
        coxa=coxa,
        femur=femur,
        tibia=tibia,
        femur_lateral=round(leg.lateral, ROUNDING_DIGITS),
        femur_vertical=round(leg.vertical, ROUNDING_DIGITS),
        coxa_joint=first,
        femur_joint=second,
        tibia_joint=third,
        foothold=(0.0, 0.0),
        tilt=(round(leg.tilt[0], ROUNDING_DIGITS), round(leg.tilt[1], ROUNDING_DIGITS)),
    )


def _joint(joint: DraftJoint, speed: float, torque: float, stiffness: float) -> Joint:
    """A joint with speed [rad/s], torque [N m] and stiffness [N m/rad] of its servo."""
    lower, upper = (round(math.radians(end), 3) for end in (joint.lower, joint.upper))
    return Joint(max(-math.pi, lower), min(math.pi, upper), speed, torque, stiffness)
