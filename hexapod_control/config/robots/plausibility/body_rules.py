"""Plausibility of body, IMU, walk settings and hip positions."""

from __future__ import annotations

import math
from collections.abc import Iterator

from hexapod_control.config.robots.plausibility.finding import CheckedRobot, Finding, listed

BODY_DENSITY = (150.0, 2500.0)  # [kg/m3] of the box; robots have 300 to 1200
SWING_TIME_S = (0.12, 2.0)
MIN_LIFT_SHARE = 0.08  # of the walking height
FLATTEST, TALLEST = 0.08, 1.5  # height of the body over its shorter side
WIDEST_HIPS, NARROWEST_HIPS = 3.5, 0.25  # span of the hips over the size of the body
WIDEST_BODY, LONGEST_BODY = 2.5, 6.0  # width over length, and length over width
AXES = ("x", "y", "z")


def box(case: CheckedRobot) -> Iterator[Finding]:
    """Body much larger or smaller than the span of the hips, or very long, flat or tall."""
    body = case.robot.body
    for axis in (0, 1):
        at = [leg.hip[axis] for leg in case.robot.legs]
        span, size = max(at) - min(at), body.size[axis]
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
    shorter = min(body.size[:2])
    if not FLATTEST < body.size[2] / shorter < TALLEST:
        yield Finding(
            "body.size",
            f"is {listed(body.size)}",
            f"a body is {FLATTEST:g} to {TALLEST:g} times as high as its shorter side",
            "check its z",
        )


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
        if abs(middle - body.center[axis]) > 0.5 * body.size[axis]:
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
    if settings.lift_height < MIN_LIFT_SHARE * settings.height:
        usual = f"usual is a third of walk.height, {settings.height / 3.0:.2g} m"
        yield Finding("walk.lift_height", f"is {settings.lift_height:g}", usual, "is a digit missing?")


RULES = (box, body_mass, center_of_mass, box_center, imu, hips, walk)
