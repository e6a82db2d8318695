# SPDX-License-Identifier: Apache-2.0
"""Plausibility of servos, compared with the servo table and the weight of the robot."""

from __future__ import annotations

import math
from collections.abc import Iterator

from hexapod_control.config.robots.plausibility.finding import CheckedRobot, Finding
from hexapod_control.config.robots.servo_table import KG_CM, RPM, CatalogServo, nearest_models, versions
from hexapod_control.core.names import JOINTS
from hexapod_control.core.robot import Joint, Leg, Robot
from hexapod_control.core.statics.static_stability import GRAVITY

OZ_IN = 0.00706155  # [N m] of 1 ozf in
SECONDS_PER_60_DEG = math.radians(60.0)  # [rad] over the seconds per 60 deg: the speed [rad/s]
TABLE_MARGIN = (0.7, 1.3)  # factors on the lowest and the highest figure of the table
FULL_TORQUE_ERROR_RAD = (math.radians(0.7), math.radians(26.0))  # position error at stall torque
SPEED = (0.5, 30.0)  # [rad/s] of servos outside the table
STRENGTH = (1.0, 60.0)  # stall torque over the torque of standing on half of the legs
MASS_SHARE = (1.25, 7.0)  # mass of the robot over the mass of its servos
MAX_LENGTH_DIFFERENCE = 2  # letters, of a misspelt model name


def _femur_joints(robot: Robot) -> Iterator[tuple[Leg, Joint, int]]:
    """Each leg with its femur joint and its row; all joints of a leg have the same servo model."""
    for row, leg in enumerate(robot.legs):
        yield leg, leg.femur_joint, row


def _span(model: str, name: str) -> tuple[float, float] | None:
    """Lowest and highest figure of a model over all permitted supplies, with a margin; None if unknown."""
    rows = versions(model)
    if not rows:
        return None
    figures = [getattr(row.at(voltage), name) for row in rows for voltage in row.voltage]
    return TABLE_MARGIN[0] * min(figures), TABLE_MARGIN[1] * max(figures)


def speed(case: CheckedRobot) -> Iterator[Finding]:
    """Speed given in rpm or in seconds per 60 deg."""
    for leg, joint, row in _femur_joints(case.robot):
        lower, upper = _span(case.models[row], "no_load_speed") or SPEED
        value = joint.no_load_speed
        if lower <= value <= upper:
            continue
        conversions = {"rpm": value * RPM, "seconds per 60 deg": SECONDS_PER_60_DEG / value}
        hints = [f"looks like {unit}: {each:.3g} rad/s" for unit, each in conversions.items() if lower <= each <= upper]
        what = f"{_servo(case, row)} turns at {lower:.2g} to {upper:.2g} rad/s"
        yield Finding("servo.no_load_speed", f"is {value:g}", what, hints[0] if hints else "in rad/s", leg.name)


def torque(case: CheckedRobot) -> Iterator[Finding]:
    """Torque given in kg cm or oz in, or stiffness per degree."""
    for leg, joint, row in _femur_joints(case.robot):
        span = _span(case.models[row], "stall_torque")
        value = joint.stall_torque
        error = joint.stall_torque / joint.stiffness
        lower, upper = span or _from_weight(case.robot, leg)
        if not lower <= value <= upper:
            what = f"{_servo(case, row)} gives {lower:.2g} to {upper:.2g} N m"
            yield Finding("servo.stall_torque", f"is {value:g}", what, _torque_hint(value, lower, upper), leg.name)
        elif not FULL_TORQUE_ERROR_RAD[0] <= error <= FULL_TORQUE_ERROR_RAD[1]:
            key = "servo.stiffness"
            shown = joint.stiffness
            hint = f"per degree? {math.degrees(joint.stiffness):.3g} N m/rad"
            in_rad = value / math.degrees(joint.stiffness)
            fits = 2.0 * FULL_TORQUE_ERROR_RAD[0] <= in_rad <= FULL_TORQUE_ERROR_RAD[1]
            if span is None and not fits:
                key = "servo.stall_torque"
                shown = value
                hint = _torque_hint(value, 0.0, value / 8.0)
            what = f"the stall torque is reached {math.degrees(error):.2g} deg from the goal, usual are 2 to 16 deg"
            yield Finding(key, f"is {shown:g}", what, hint, leg.name)


def _torque_hint(value: float, lower: float, upper: float) -> str:
    conversions = {"kg cm": value * KG_CM, "oz in": value * OZ_IN}
    hints = [f"looks like {unit}: {each:.3g} N m" for unit, each in conversions.items() if lower <= each <= upper]
    return hints[0] if hints else "in N m"


def _servo(case: CheckedRobot, row: int) -> str:
    model = case.models[row]
    return model if versions(model) else "a servo of such a robot"


def _from_weight(robot: Robot, leg: Leg) -> tuple[float, float]:
    """Stall torques [N m] that fit the weight of the robot."""
    needed = standing_torque(robot, leg)
    return STRENGTH[0] * needed, STRENGTH[1] * needed


def standing_torque(robot: Robot, leg: Leg) -> float:
    """Torque [N m] of the femur joint while standing on half of the legs in the neutral stance."""
    reach = math.dist(leg.hip[:2], leg.foothold) - leg.coxa.length
    arm = max(abs(reach), 0.1 * leg.femur.length)
    return robot.mass * GRAVITY / (len(robot.legs) // 2) * arm


def strength(case: CheckedRobot) -> Iterator[Finding]:
    """Servos too weak for the robot, although their figures agree with the table."""
    for leg, joint, row in _femur_joints(case.robot):
        needed = standing_torque(case.robot, leg)
        if joint.stall_torque < STRENGTH[0] * needed and versions(case.models[row]):
            what = f"standing on half of the legs takes {needed:.2g} N m of the femur's {joint.stall_torque:.2g} N m"
            yield Finding("body.mass", f"is {case.robot.body.mass:g}", what, "stronger servos, or a lighter robot")
            return


def servo_mass(case: CheckedRobot) -> Iterator[Finding]:
    """Robot lighter than its servos, or much heavier."""
    rows = [versions(model) for model in case.models]
    if not all(rows):
        return
    servos = sum(3.0 * row[0].mass for row in rows)
    if not MASS_SHARE[0] <= case.robot.mass / servos <= MASS_SHARE[1]:
        what = f"the robot has {case.robot.mass:.3g} kg, its servos alone {servos:.3g} kg"
        yield Finding("body.mass", f"is {case.robot.body.mass:g}", what, "check all masses")


def turn(case: CheckedRobot) -> Iterator[Finding]:
    """Joint range larger than the servo's."""
    for row, leg in enumerate(case.robot.legs):
        found = versions(case.models[row])
        for name, joint in zip(JOINTS, leg.joints, strict=True):
            wide = math.degrees(joint.upper - joint.lower)
            if found and wide > _widest(found):
                what = f"the two limits are {wide:.0f} deg apart, {case.models[row]} turns {_widest(found):g} deg"
                value = f"is {math.degrees(joint.lower):g}"
                yield Finding(f"joints.{name}.lower_deg", value, what, "narrow the range", leg.name)


def _widest(rows: tuple[CatalogServo, ...]) -> float:
    return max(row.turn for row in rows) + 1.0


def model_name(case: CheckedRobot) -> Iterator[Finding]:
    """Misspelt model of the table."""
    for row, leg in enumerate(case.robot.legs):
        model = case.models[row]
        near = next(iter(nearest_models(model)), "") if not versions(model) else ""
        if near and abs(len(near) - len(model)) <= MAX_LENGTH_DIFFERENCE and _plain(near).startswith(_plain(model)[:4]):
            yield Finding(
                "servo.model", f'is "{model}"', "is not in `hexapod servos models`", f"did you mean {near}?", leg.name
            )


def _plain(model: str) -> str:
    return "".join(sign for sign in model.lower() if sign.isalnum())


RULES = (speed, torque, strength, servo_mass, turn, model_name)
