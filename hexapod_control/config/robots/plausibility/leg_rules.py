"""Plausibility of each leg: lengths, radii, masses, joint ranges, and direction of the neutral foothold."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator

from hexapod_control.config.robots.plausibility.finding import CheckedRobot, Finding, neutral_coxa
from hexapod_control.config.robots.robot_keys import MIN_COXA_M
from hexapod_control.core.names import JOINTS
from hexapod_control.core.robot import Leg, Segment

LINK_DENSITY = (500.0, 9000.0)  # [kg/m3] with the radius in the file; a low one counts only with a low mass
LIGHT_LINK = 8.0  # a low mass: the heaviest link has this many times more
THICKEST = {"coxa": 1.0, "femur": 0.5, "tibia": 0.35}  # radius over length
LONGER_FEMUR = 1.05  # times the tibia: in nearly all robots the tibia is longer
MUCH_LONGER_FEMUR = 3.0  # times the tibia: one of the two lengths is wrong
LONGER_TIBIA = 5.0  # times the femur
LONGER_COXA = 1.0  # times femur and tibia together
MIN_FOOT, MAX_FOOT = 0.2, 0.25  # radius of the foot over the radius, and over the length, of the tibia
MAX_COXA_RAD = math.radians(20.0)  # neutral angle from the middle of its range
MIN_RANGE_RAD = math.radians(30.0)


def _links(leg: Leg) -> tuple[tuple[str, Segment], ...]:
    """The links by name, without a coxa of length 0."""
    links = zip(JOINTS, (leg.coxa, leg.femur, leg.tibia), strict=True)
    return tuple((name, link) for name, link in links if link.length > MIN_COXA_M)


def proportions(case: CheckedRobot) -> Iterator[Finding]:
    """Swapped femur and tibia, or a link ten times too long or too short."""
    for leg in case.robot.legs:
        coxa, femur, tibia = leg.coxa.length, leg.femur.length, leg.tibia.length
        if coxa > LONGER_COXA * (femur + tibia):
            yield Finding("coxa.length", f"is {coxa:g}", "is longer than femur and tibia", "in metres", leg.name)
        elif femur > MUCH_LONGER_FEMUR * tibia and femur < LONGER_TIBIA * coxa:
            what = f"is much shorter than femur.length, {femur:g} m"
            yield Finding("tibia.length", f"is {tibia:g}", what, "is a digit missing?", leg.name)
        elif femur > LONGER_FEMUR * tibia:
            what = f"is longer than tibia.length, {tibia:g} m"
            yield Finding("femur.length", f"is {femur:g}", what, "are femur and tibia swapped?", leg.name)
        elif tibia > LONGER_TIBIA * femur and coxa > LONGER_TIBIA * femur:
            what = f"is much shorter than coxa.length, {coxa:g} m, and tibia.length, {tibia:g} m"
            yield Finding("femur.length", f"is {femur:g}", what, "is a digit missing?", leg.name)
        elif tibia > LONGER_TIBIA * femur:
            what = f"is more than {LONGER_TIBIA:g} times longer than femur.length, {femur:g} m"
            yield Finding("tibia.length", f"is {tibia:g}", what, "is it ten times too large?", leg.name)


def thickness(case: CheckedRobot) -> Iterator[Finding]:
    """Links and feet that are thicker than they are long."""
    for leg in case.robot.legs:
        usual = statistics.median(link.radius for _, link in _links(leg))
        for name, link in _links(leg):
            if link.radius <= THICKEST[name] * link.length and link.radius >= usual / 5.0:
                continue
            if link.radius > 3.0 * usual or link.radius < usual / 5.0:
                what = f"the links of this leg have a radius of about {usual:g} m"
                yield Finding(f"{name}.radius", f"is {link.radius:g}", what, "half of the thickness", leg.name)
            else:
                what = f"its thickness is twice {link.radius:g} m"
                yield Finding(f"{name}.length", f"is {link.length:g}", what, "is a digit missing?", leg.name)
        smallest, largest = MIN_FOOT * leg.tibia.radius, MAX_FOOT * leg.tibia.length
        if not smallest <= case.robot.foot_radius <= largest:
            what = f"the foot of such a tibia has a radius of {smallest:.2g} to {largest:.2g} m"
            yield Finding("foot.radius", f"is {case.robot.foot_radius:g}", what, "the radius of the ball, in metres")


def link_masses(case: CheckedRobot) -> Iterator[Finding]:
    """Links lighter than balsa or denser than steel."""
    for leg in case.robot.legs:
        heaviest = max(link.mass for _, link in _links(leg))
        for name, link in _links(leg):
            density = link.mass / (math.pi * link.radius**2 * link.length)
            if density > LINK_DENSITY[1]:
                wrong = "is it ten times too large?"
            elif density < LINK_DENSITY[0] and link.mass * LIGHT_LINK < heaviest:
                wrong = "is a digit missing?"
            else:
                continue
            what = f"with its length and radius it gives a density of {density:.0f} kg/m3, usual are 1000 to 4000"
            yield Finding(f"{name}.mass", f"is {link.mass:g}", what, wrong, leg.name)


def ranges(case: CheckedRobot) -> Iterator[Finding]:
    """Joint ranges without the angles of a walking leg: missing minus sign, or swapped joints."""
    for leg in case.robot.legs:
        for name, joint in zip(JOINTS, leg.joints, strict=True):
            lower, upper = math.degrees(joint.lower), math.degrees(joint.upper)
            where = f"is {lower:g}, upper_deg is {upper:g}"
            if joint.upper - joint.lower < MIN_RANGE_RAD:
                what = f"a joint turns at least {math.degrees(MIN_RANGE_RAD):g} deg"
                yield Finding(f"joints.{name}.lower_deg", where, what, "in degrees", leg.name)
            elif name != "tibia" and not lower < 0.0 < upper:
                what = "0, the straight leg, must be within"
                yield Finding(f"joints.{name}.lower_deg", where, what, "is a minus missing?", leg.name)
            elif name == "tibia" and (lower > -45.0 or upper > -lower + 1.0):
                what = "a tibia bends down, to -90 deg and farther"
                yield Finding(
                    f"joints.{name}.lower_deg", where, what, "is a minus missing, or femur and tibia swapped?", leg.name
                )
            elif name == "femur" and -lower > upper + 60.0:
                what = "a femur lifts farther than it lowers"
                yield Finding(f"joints.{name}.lower_deg", where, what, "are femur and tibia swapped?", leg.name)


def directions(case: CheckedRobot) -> Iterator[Finding]:
    """Leg whose coxa is far from mid-range at its neutral foothold: yaw wrong, or in radians."""
    for leg in case.robot.legs:
        middle = (leg.coxa_joint.lower + leg.coxa_joint.upper) / 2.0
        angle = neutral_coxa(leg)
        if abs(angle - middle) <= MAX_COXA_RAD:
            continue
        yaw = math.degrees(leg.hip_yaw)
        needed = math.degrees(leg.hip_yaw + angle)
        radians = abs(math.remainder(yaw - needed * math.tau / 360.0, math.tau)) < 0.35 and abs(yaw) <= math.pi
        hint = f"looks like radians: {math.degrees(yaw):.1f} deg"
        if not radians:
            hint = f"the foothold lies at {needed:.0f} deg: check yaw_deg, foothold and the joint's limits"
        aside, most = math.degrees(angle - middle), math.degrees(MAX_COXA_RAD)
        what = f"over the neutral foothold the coxa is {aside:.0f} deg from mid-range, usual are up to {most:.0f} deg"
        yield Finding("yaw_deg", f"is {yaw:g}", what, hint, leg.name)


RULES = (proportions, thickness, link_masses, ranges, directions)
