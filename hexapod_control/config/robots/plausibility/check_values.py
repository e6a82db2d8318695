# SPDX-License-Identifier: Apache-2.0
"""Plausible sizes, masses and angles of body and legs; applies all rules, and locates their findings in the file."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from hexapod_control.config.document import DocumentEntry
from hexapod_control.config.errors import FileError
from hexapod_control.config.robots.foothold_choice import MAX_COXA_RAD
from hexapod_control.config.robots.plausibility import servo_rules, symmetry_rules
from hexapod_control.config.robots.plausibility.finding import CheckedRobot, Finding, listed, neutral_coxa
from hexapod_control.config.robots.robot_keys import MIN_COXA_M
from hexapod_control.config.robots.servo_table import versions
from hexapod_control.core.names import JOINTS
from hexapod_control.core.robot import Leg, Segment

BODY_DENSITY = (150.0, 2500.0)  # [kg/m3] of the box; robots have 300 to 1200
SWING_TIME_S = (0.12, 2.0)
SCALE_OF_ODOMETRY = (0.8, 1.25)
MIN_LIFT_SHARE = 0.08  # of the walking height
MAX_PRELOAD = 0.3  # of the lift
# height of the body over its shorter side
FLATTEST = 0.08
TALLEST = 1.5
# span of the hips over the size of the body
WIDEST_HIPS = 3.5
NARROWEST_HIPS = 0.25
# width over length, and length over width
WIDEST_BODY = 2.5
LONGEST_BODY = 6.0
SWAPPED_FIT = 0.6  # distance of the hips from the edge of a body with x and y swapped, over that of the body
ACROSS = -0.1  # cosine of the angle between a leg and the direction from the middle of the body to its hip
AXES = ("x", "y", "z")
LINK_DENSITY = (500.0, 9000.0)  # [kg/m3] with the radius in the file; a low one counts only with a low mass
LIGHT_LINK = 8.0  # a low mass: the heaviest link has this many times more
HEAVY_LINK = 2.0  # times the mass of a servo, with which a thin link may be as dense as steel
THICKEST = {"coxa": 1.0, "femur": 0.5, "tibia": 0.35}  # radius over length
LONGER_FEMUR = 1.05  # times the tibia: in nearly all robots the tibia is longer
MUCH_LONGER_FEMUR = 3.0  # times the tibia: one of the two lengths is wrong
LONGER_TIBIA = 5.0  # times the femur
LONGER_COXA = 1.25  # times the femur
MAX_OFFSET = 0.55  # of the femur's axes, over its length
# radius of the foot over the radius, and over the length, of the tibia
MIN_FOOT = 0.2
MAX_FOOT = 0.25
ROUNDING_RAD = math.radians(2.0)  # of a foothold with four decimals, and of a tilted hip
# lower end of the femur's range over its upper end
LOWERED_DEG = 25.0
LOWERED = 1.2
MIN_RANGE_RAD = math.radians(30.0)


def findings(case: CheckedRobot, symmetric: bool = True) -> Iterator[Finding]:
    """All findings, the most reliable first; without `symmetric`, legs need not be mirror images."""
    for rule in RULES:
        if symmetric or rule is not symmetry_rules.mirror_images:
            yield from (replace(finding, rule=rule.__name__) for finding in rule(case))


def located_errors(root: DocumentEntry, found: Iterable[Finding]) -> tuple[FileError, ...]:
    """Findings as errors with their lines in the file, one per key."""
    errors: dict[str, FileError] = {}
    for finding in found:
        entry = _entry(root, finding)
        errors.setdefault(entry.key, entry.error(finding.value, finding.bound, finding.remedy))
    return tuple(errors.values())


def one_line(errors: Sequence[FileError]) -> str:
    """Summary of implausible values in one line; empty if there are none."""
    if not errors:
        return ""
    count = len(errors) - 1
    more = f" and {count} more" if count else ""
    return f"implausible: {errors[0]}{more}; `hexapod check {errors[0].path}` explains"


def _entry(root: DocumentEntry, finding: Finding) -> DocumentEntry:
    """The entry of a finding's key below its leg or the common section; else the deepest existing section."""
    places = [f"legs.{finding.leg}.{finding.key}", f"leg.{finding.key}"] if finding.leg else [finding.key]
    reached = [_reached(root, place) for place in places]
    complete = [entry for entry, place in zip(reached, places, strict=True) if entry.key == place]
    return complete[0] if complete else reached[-1]


def _reached(root: DocumentEntry, place: str) -> DocumentEntry:
    entry = root
    for name in place.split("."):
        if name not in entry.children:
            return entry
        entry = entry.children[name]
    return entry


def _links(leg: Leg) -> tuple[tuple[str, Segment], ...]:
    """The links by name, without a coxa of length 0."""
    links = zip(JOINTS, (leg.coxa, leg.femur, leg.tibia), strict=True)
    return tuple((name, link) for name, link in links if link.length > MIN_COXA_M)


def proportions(case: CheckedRobot) -> Iterator[Finding]:
    """Swapped femur and tibia, or a link ten times too long or too short."""
    for leg in case.robot.legs:
        coxa = leg.coxa.length
        femur = leg.femur.length
        tibia = leg.tibia.length
        if coxa > femur + tibia:
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
        elif coxa > LONGER_COXA * femur:
            what = f"is longer than femur.length, {femur:g} m"
            yield Finding("coxa.length", f"is {coxa:g}", what, "are coxa and femur swapped?", leg.name)


def offsets(case: CheckedRobot) -> Iterator[Finding]:
    """Offsets of the femur that are as long as a link."""
    for leg in case.robot.legs:
        for key, offset in (("lateral", leg.femur_lateral), ("vertical", leg.femur_vertical)):
            if abs(offset) > MAX_OFFSET * leg.femur.length:
                what = f"is {abs(offset) / leg.femur.length:.1f} times femur.length, usual is up to a third"
                yield Finding(f"femur.{key}_offset", f"is {offset:g}", what, "0 unless the axes do not meet", leg.name)


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
        smallest = MIN_FOOT * leg.tibia.radius
        largest = MAX_FOOT * leg.tibia.length
        if not smallest <= case.robot.foot_radius <= largest:
            what = f"the foot of such a tibia has a radius of {smallest:.2g} to {largest:.2g} m"
            yield Finding("foot.radius", f"is {case.robot.foot_radius:g}", what, "the radius of the ball, in metres")


def link_masses(case: CheckedRobot) -> Iterator[Finding]:
    """Links lighter than balsa, or denser than steel and heavier than a servo in them."""
    for leg, model in zip(case.robot.legs, case.models, strict=True):
        heaviest = max(link.mass for _, link in _links(leg))
        servo = max((each.mass for each in versions(model)), default=0.0)
        for name, link in _links(leg):
            density = link.mass / (math.pi * link.radius**2 * link.length)
            if density > LINK_DENSITY[1] and link.mass > HEAVY_LINK * servo:
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
            elif name == "coxa" and leg.name not in case.chosen and joint.lower < neutral_coxa(leg) < joint.upper:
                continue  # its straight leg may point elsewhere, the coxa turns to both sides of the foothold
            elif name != "tibia" and not lower < 0.0 < upper:
                what = "0, the straight leg, must be within"
                yield Finding(f"joints.{name}.lower_deg", where, what, "is a minus missing?", leg.name)
            elif name == "tibia" and (lower > -45.0 or upper > -lower + 1.0):
                what = "a tibia bends down, to -90 deg and farther"
                yield Finding(
                    f"joints.{name}.lower_deg", where, what, "is a minus missing, or femur and tibia swapped?", leg.name
                )
            elif name == "femur" and -lower > max(upper + LOWERED_DEG, LOWERED * upper):
                what = "a femur lifts farther than it lowers"
                cause = "is a sign wrong, or are femur and tibia swapped?"
                yield Finding(f"joints.{name}.lower_deg", where, what, cause, leg.name)


def directions(case: CheckedRobot) -> Iterator[Finding]:
    """Leg across the body, or with its coxa far from mid-range at its foothold: yaw wrong, or in radians."""
    found: list[Leg] = []
    for leg in case.robot.legs:
        outward = math.atan2(leg.hip[1] - case.middle[1], leg.hip[0] - case.middle[0])
        if leg.name in case.chosen and math.cos(leg.hip_yaw - outward) < ACROSS:
            what = f"the hip is at {math.degrees(outward):.0f} deg seen from the middle of the body"
            hint = "yaw_deg points away from the body, from x towards y"
            yield Finding("yaw_deg", f"is {math.degrees(leg.hip_yaw):g}", what, hint, leg.name)
        angle = neutral_coxa(leg)
        if not _is_aside(case, leg) or any(_mirrored(each, leg) for each in found):
            continue
        found.append(leg)
        yaw = math.degrees(leg.hip_yaw)
        needed = math.degrees(leg.hip_yaw + angle)
        radians = abs(math.remainder(yaw - needed * math.tau / 360.0, math.tau)) < 0.35 and abs(yaw) <= math.pi
        hint = f"looks like radians: {math.degrees(yaw):.1f} deg"
        if not radians:
            hint = f"the foothold lies at {needed:.0f} deg: check yaw_deg, foothold and the joint's limits"
        same = sum(_is_aside(case, each) and _mirrored(each, leg) for each in case.robot.legs) - 1
        others = f", as in {same} other leg{'s' * (same > 1)}," if same else ""
        what = (
            f"over the neutral foothold{others} the coxa is {math.degrees(_aside(leg)):.0f} deg from mid-range, "
            f"usual are up to {math.degrees(MAX_COXA_RAD):.0f} deg"
        )
        yield Finding("yaw_deg", f"is {yaw:g}", what, hint, leg.name)


def _aside(leg: Leg) -> float:
    """Angle [rad] of the coxa from mid-range, with the foot on its neutral foothold."""
    return neutral_coxa(leg) - (leg.coxa_joint.lower + leg.coxa_joint.upper) / 2.0


def _is_aside(case: CheckedRobot, leg: Leg) -> bool:
    return abs(_aside(leg)) > MAX_COXA_RAD + ROUNDING_RAD and leg.name not in case.chosen


def _mirrored(leg: Leg, other: Leg) -> bool:
    """Whether both coxae stand equally far aside: feet set out alike are one decision, which one leg stands for."""
    return abs(abs(_aside(leg)) - abs(_aside(other))) <= ROUNDING_RAD


def box(case: CheckedRobot) -> Iterator[Finding]:
    """Body much larger or smaller than the span of the hips, or very long, flat or tall."""
    body = case.robot.body
    for axis in (0, 1):
        at = [leg.hip[axis] for leg in case.robot.legs]
        span = max(at) - min(at)
        size = body.size[axis]
        if span > WIDEST_HIPS * size or (axis == 0 and span < NARROWEST_HIPS * size):
            yield Finding(
                "body.size",
                f"is {listed(body.size)}",
                f"the hips span {span:.3g} m along {AXES[axis]}",
                f"check its {AXES[axis]}",
            )
    length, width, _ = body.size
    if width > WIDEST_BODY * length or length > LONGEST_BODY * width:
        yield Finding(
            "body.size",
            f"is {listed(body.size)}",
            f"is {length / width:.2g} times as long as wide",
            "the order is x, y, z",
        )
        return
    own, swapped = (_from_edge(case, size) for size in (body.size[:2], body.size[1::-1]))
    if swapped < SWAPPED_FIT * own and own - swapped > 0.05 * max(body.size):
        what = "the hips are at the edge of a body with x and y swapped"
        yield Finding("body.size", f"is {listed(body.size)}", what, "x is forward, y to the left")
        return
    shorter = min(body.size[:2])
    if not FLATTEST < body.size[2] / shorter < TALLEST:
        yield Finding(
            "body.size",
            f"is {listed(body.size)}",
            f"a body is {FLATTEST:g} to {TALLEST:g} times as high as its shorter side",
            "check its z",
        )


def _from_edge(case: CheckedRobot, size: Sequence[float]) -> float:
    """Mean distance [m] of the first and last hips from the edge of a body of this length and width."""
    hips = [(abs(leg.hip[0] - case.middle[0]), abs(leg.hip[1] - case.middle[1])) for leg in case.robot.legs]
    ends = [(x - size[0] / 2.0, y - size[1] / 2.0) for x, y in hips if x >= 0.9 * max(hips)[0]]
    return statistics.mean(abs(math.hypot(max(x, 0.0), max(y, 0.0)) + min(max(x, y), 0.0)) for x, y in ends)


def body_mass(case: CheckedRobot) -> Iterator[Finding]:
    """Body lighter than foam or denser than aluminium."""
    body = case.robot.body
    density = body.mass / math.prod(body.size)
    if BODY_DENSITY[0] <= density <= BODY_DENSITY[1]:
        return
    wrong = "heavy: is it ten times too large?" if density > BODY_DENSITY[1] else "light: is a digit missing?"
    yield Finding(
        "body.mass",
        f"is {body.mass:g}",
        f"with body.size it gives a density of {density:.0f} kg/m3, robots have 300 to 1200",
        f"too {wrong}",
    )


def _outside(case: CheckedRobot, point: tuple[float, ...], margin: float) -> bool:
    body = case.robot.body
    return any(
        abs(at - middle) > size / 2.0 + margin for at, middle, size in zip(point, body.center, body.size, strict=True)
    )


def center_of_mass(case: CheckedRobot) -> Iterator[Finding]:
    """Center of mass outside the body."""
    body = case.robot.body
    if _outside(case, body.center_of_mass, 0.0):
        yield Finding(
            "body.center_of_mass",
            f"is {listed(body.center_of_mass)}",
            "must be in the box of body.size around body.center",
            "metres, in base_link",
        )


def box_center(case: CheckedRobot) -> Iterator[Finding]:
    """Body box off the middle of the hips."""
    body = case.robot.body
    for axis in (0, 1):
        at = [leg.hip[axis] for leg in case.robot.legs]
        middle = (max(at) + min(at)) / 2.0
        if abs(middle - body.center[axis]) > 0.35 * body.size[axis]:
            yield Finding(
                "body.center",
                f"is {listed(body.center)}",
                f"the middle of the hips is at {AXES[axis]} = {middle:.3g} m",
                "check body.center, or the hips",
            )


def imu(case: CheckedRobot) -> Iterator[Finding]:
    """IMU far outside the body."""
    robot = case.robot
    if not _outside(case, robot.imu, max(robot.body.size) / 2.0):
        return
    centimetres = tuple(value / 100.0 for value in robot.imu)
    inside = not _outside(case, centimetres, 0.0)
    hint = f"looks like cm: {listed(centimetres)}" if inside else "metres, in base_link"
    yield Finding("imu.position", f"is {listed(robot.imu)}", "is far outside the body", hint)


def hips(case: CheckedRobot) -> Iterator[Finding]:
    """Hips above or below the body."""
    body = case.robot.body
    for leg in case.robot.legs:
        reach = body.size[2] / 2.0 + max(leg.coxa.radius, 0.25 * body.size[2])
        if abs(leg.hip[2] - body.center[2]) > reach:
            yield Finding(
                "hip",
                f"is {listed(leg.hip)}",
                f"z must be within {reach:.3g} m of the body's middle",
                "the height of the hip over base_link in metres",
                leg.name,
            )


def walk(case: CheckedRobot) -> Iterator[Finding]:
    """Very short or long swing time, body height beyond the length of the legs, or very low lift."""
    settings = case.robot.walk
    if not SWING_TIME_S[0] <= settings.swing_time <= SWING_TIME_S[1]:
        usual = f"usual are {SWING_TIME_S[0]:g} to {SWING_TIME_S[1]:g} s"
        yield Finding("walk.swing_time", f"is {settings.swing_time:g}", usual, "0.3 to 0.6 for robots of 1 to 5 kg")
    reach = max(leg.reach for leg in case.robot.legs)
    if settings.height > reach:
        usual = f"femur and tibia together have {reach:.3g} m"
        yield Finding("walk.height", f"is {settings.height:g}", usual, "the height of base_link over the ground")
    most = MAX_PRELOAD * settings.lift_height
    if settings.preload > most:
        yield Finding("walk.preload", f"is {settings.preload:g}", f"usual is up to {most:.2g} m here", "in metres")
    if settings.lift_height < MIN_LIFT_SHARE * settings.height:
        usual = f"usual is a third of walk.height, {settings.height / 3.0:.2g} m"
        yield Finding("walk.lift_height", f"is {settings.lift_height:g}", usual, "is a digit missing?")


def odometry_findings(factors: Sequence[float]) -> Iterator[Finding]:
    """Factors on distance and turn that no calibration finds."""
    for key, value in zip(("distance", "turn"), factors, strict=True):
        if not SCALE_OF_ODOMETRY[0] <= value <= SCALE_OF_ODOMETRY[1]:
            what = "usual are {:g} to {:g}".format(*SCALE_OF_ODOMETRY)
            yield Finding(f"odometry_scale.{key}", f"is {value:g}", what, "hexapod odom-calibrate measures it")


# Most reliable rules first: positions before angles, sizes before masses.
RULES = (
    *symmetry_rules.RULES,
    proportions,
    offsets,
    thickness,
    link_masses,
    ranges,
    directions,
    box,
    body_mass,
    center_of_mass,
    box_center,
    imu,
    hips,
    walk,
    *servo_rules.RULES,
)
