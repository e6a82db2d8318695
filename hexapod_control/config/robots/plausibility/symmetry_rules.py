# SPDX-License-Identifier: Apache-2.0
"""Plausibility of legs compared with each other: names against positions, and mirror images."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator
from typing import NamedTuple

from hexapod_control.config.robots.plausibility.finding import CheckedRobot, Finding, listed, neutral_coxa
from hexapod_control.core.names import JOINTS
from hexapod_control.core.robot import Leg, Robot

FRONT = 0
MIDDLE = 1
REAR = 2
ALONG = {"front": FRONT, "fore": FRONT, "middle": MIDDLE, "mid": MIDDLE, "rear": REAR, "back": REAR, "hind": REAR}
SIDES = {"left": 1.0, "right": -1.0}
OTHER_SIDE = {"left": "right", "right": "left"}
# share of the robot's size; angle
SAME_LENGTH = 0.05
SAME_ANGLE_RAD = math.radians(5.0)
SAME_LIMIT_RAD = math.radians(10.0)
MAX_MIRROR_OFFSET = 0.25  # share of the robot's size; of the hip from the mirror image of its counterpart
CENTERLINE_M = 0.001
# difference of hips at equal and at different heights
SAME_HEIGHT_M = 0.0005
OTHER_HEIGHT_M = 0.004
MAX_ODD_PAIRS = 2  # pairs of legs affected by one mistake


def sides(case: CheckedRobot) -> Iterator[Finding]:
    """Leg named left or right on the other side."""
    for leg in case.robot.legs:
        for word, sign in SIDES.items():
            across = leg.hip[1] if abs(leg.hip[1]) > CENTERLINE_M else leg.foothold[1]
            if word not in leg.name.split("_"):
                continue
            what = f"a {word} leg has {'a positive' if sign > 0 else 'a negative'} y"
            if sign * across <= 0.0:
                yield Finding("hip", f"is {listed(leg.hip)}", what, "are left and right swapped?", leg.name)
            elif sign * leg.foothold[1] < 0.0:
                yield Finding("foothold", f"is {listed(leg.foothold)}", what, "is a sign wrong?", leg.name)


def order(case: CheckedRobot) -> Iterator[Finding]:
    """Legs named front, middle and rear in a different order along the body."""
    for side in SIDES:
        places = [(_place(leg), leg) for leg in case.robot.legs if side in leg.name.split("_")]
        for (place, one), (other_place, other) in ((a, b) for a in places for b in places):
            common = min(len(place), len(other_place))
            if place[:common] < other_place[:common] and one.hip[0] < other.hip[0]:
                what = f"is behind {other.name}, whose hip is at x = {other.hip[0]:.3g} m"
                hint = "are the two legs swapped, or is a sign wrong?"
                wrong = _odd(case.robot, one, other)
                text = what if wrong is one else f"is in front of {one.name}, whose hip is at x = {one.hip[0]:.3g} m"
                yield Finding("hip", f"is {listed(wrong.hip)}", text, hint, wrong.name)


def _place(leg: Leg) -> tuple[int, ...]:
    """Place along the body by the words of the name, such as (MIDDLE, FRONT)."""
    return tuple(ALONG[word] for word in leg.name.split("_") if word in ALONG)


def _odd(robot: Robot, one: Leg, other: Leg) -> Leg:
    """The leg of a pair that is not the mirror image of the other; the first one if both or neither are."""
    size = _size(robot)
    for leg in (one, other):
        counterpart = _mirror_leg(robot, leg)
        if counterpart is not None and abs(leg.hip[0] - counterpart.hip[0]) > SAME_LENGTH * size:
            return leg
    return one


def _size(robot: Robot) -> float:
    return max(math.dist(a.hip, b.hip) for a in robot.legs for b in robot.legs)


def _mirror_leg(robot: Robot, leg: Leg) -> Leg | None:
    """The mirrored leg by name, or by position if names contain no side; None for legs on the centerline."""
    mirrored = "_".join(OTHER_SIDE.get(word, word) for word in leg.name.split("_"))
    by_name = {each.name: each for each in robot.legs if each is not leg}
    if mirrored != leg.name:
        return by_name.get(mirrored)
    image = (leg.hip[0], -leg.hip[1])
    size = _size(robot)
    nearest = min(by_name.values(), key=lambda other: math.dist(other.hip[:2], image))
    apart = abs(leg.hip[1]) > SAME_LENGTH * size and math.dist(nearest.hip[:2], image) < MAX_MIRROR_OFFSET * size
    return nearest if apart else None


class Difference(NamedTuple):
    """A key that differs between a leg and the mirror image of its counterpart."""

    key: str
    value: str
    image: str


def _differences(robot: Robot, leg: Leg, counterpart: Leg) -> Iterator[Difference]:
    near = SAME_LENGTH * _size(robot)
    image = (counterpart.hip[0], -counterpart.hip[1], counterpart.hip[2])
    if math.dist(leg.hip, image) > near:
        yield Difference("hip", listed(leg.hip), listed(image))
    if abs(math.remainder(leg.hip_yaw + counterpart.hip_yaw, math.tau)) > SAME_ANGLE_RAD:
        yield Difference("yaw_deg", f"{math.degrees(leg.hip_yaw):g}", f"{math.degrees(-counterpart.hip_yaw):g}")
    tilt = (-counterpart.tilt[0], counterpart.tilt[1])
    if math.dist(leg.tilt, tilt) > SAME_ANGLE_RAD:
        yield Difference("tilt_deg", listed([*map(math.degrees, leg.tilt)]), listed([*map(math.degrees, tilt)]))
    foothold = (counterpart.foothold[0], -counterpart.foothold[1])
    if math.dist(leg.foothold, foothold) > near:
        yield Difference("foothold", listed(leg.foothold), listed(foothold))
    for name in JOINTS:
        own, other = getattr(leg, name), getattr(counterpart, name)
        for key in ("length", "mass"):
            a, b = getattr(own, key), getattr(other, key)
            if abs(a - b) > 0.2 * max(a, b):
                yield Difference(f"{name}.{key}", f"{a:g}", f"{b:g}")
    for name, own_joint, other_joint in zip(JOINTS, leg.joints, counterpart.joints, strict=True):
        limits = (other_joint.lower, other_joint.upper)
        image_limits = (-limits[1], -limits[0]) if name == JOINTS[0] else limits
        for key, a, b in zip(("lower", "upper"), (own_joint.lower, own_joint.upper), image_limits, strict=True):
            if abs(a - b) > SAME_LIMIT_RAD:
                yield Difference(f"joints.{name}.{key}_deg", f"{math.degrees(a):g}", f"{math.degrees(b):g}")


def mirror_images(case: CheckedRobot) -> Iterator[Finding]:
    """One or two legs that are not mirror images of their counterparts while the others are."""
    robot = case.robot
    mirrored = [(leg, _mirror_leg(robot, leg)) for leg in robot.legs]
    pairs = {tuple(sorted((leg.name, other.name))): (leg, other) for leg, other in mirrored if other is not None}
    found = {names: tuple(_differences(robot, *pair)) for names, pair in pairs.items()}
    odd = [names for names, differences in found.items() if differences]
    keys = {row.key for differences in found.values() for row in differences}
    if keys == {"tilt_deg"} and len(odd) == len(found):
        odd = odd[:1]  # all legs tilted in the same direction
    elif len(odd) > MAX_ODD_PAIRS or len(odd) == len(found):
        return  # an asymmetric robot
    for names in odd:
        leg, counterpart = _worse_first(robot, *pairs[names])
        for key, value, image in _differences(robot, leg, counterpart):
            what = f"the mirror image of {counterpart.name} has {image}"
            yield Finding(key, f"is {value}", what, "correct the wrong one of the two", leg.name)


def heights(case: CheckedRobot) -> Iterator[Finding]:
    """One hip at a different height while all others are equal."""
    for leg in case.robot.legs:
        others = [other.hip[2] for other in case.robot.legs if other is not leg]
        if max(others) - min(others) < SAME_HEIGHT_M and abs(leg.hip[2] - others[0]) > OTHER_HEIGHT_M:
            what = f"the hips of all other legs have z = {others[0]:g} m"
            yield Finding("hip", f"is {listed(leg.hip)}", what, "the height of the hip over base_link", leg.name)


def _worse_first(robot: Robot, leg: Leg, counterpart: Leg) -> tuple[Leg, Leg]:
    """Orders a pair: the leg with the larger neutral coxa angle, or less similar to the other legs, first."""
    usual = statistics.median(_reach(each) for each in robot.legs)
    usual_tilt = statistics.median(math.hypot(*each.tilt) for each in robot.legs)
    usual_sizes = [statistics.median(column) for column in zip(*map(_sizes, robot.legs), strict=True)]

    def dissimilarity(each: Leg) -> tuple[float, ...]:
        others = [other for other in robot.legs if other is not each]
        x, y = abs(each.hip[0]), abs(each.hip[1])
        hips_apart = min(abs(x - abs(other.hip[0])) + abs(y - abs(other.hip[1])) for other in others)
        height = min(abs(each.hip[2] - other.hip[2]) for other in others)
        tilted = abs(math.hypot(*each.tilt) - usual_tilt)
        sizes_apart = sum(abs(math.log(a / b)) for a, b in zip(_sizes(each), usual_sizes, strict=True))
        return round(abs(neutral_coxa(each)), 3), abs(_reach(each) - usual), hips_apart + height + sizes_apart + tilted

    return (leg, counterpart) if dissimilarity(leg) >= dissimilarity(counterpart) else (counterpart, leg)


def _sizes(leg: Leg) -> tuple[float, ...]:
    return tuple(each for link in (leg.coxa, leg.femur, leg.tibia) for each in (link.length, link.mass))


def _reach(leg: Leg) -> float:
    return math.dist(leg.hip[:2], leg.foothold)


RULES = (sides, order, heights, mirror_images)
