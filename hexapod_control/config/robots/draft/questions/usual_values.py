# SPDX-License-Identifier: Apache-2.0
"""Proposed answers: values of usual robots that fit the earlier answers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hexapod_control.config.robots.draft.questions.layouts import (
    Layout,
    rear_of,
    right_of,
    usual_hip,
    usual_radius,
)
from hexapod_control.config.robots.draft.questions.question import OTHER_SERVO, Answers
from hexapod_control.config.robots.draft.questions.units import LENGTH, MASS, Part, shown
from hexapod_control.config.robots.servo_table import usual_voltage, versions

LENGTHS = "52 66 133"  # [mm] of a hexapod of the PhantomX class
SERVO = "AX-12A"
FIGURES = "60 rpm 15 kg cm"
# range and mass of a servo outside the table
OTHER_TURN_DEG = 180.0
OTHER_MASS_KG = 0.055
REST_DEG = (0.0, 0.0, -90.0)  # of coxa, femur and tibia in the pose in which the horns are put on
TOOTH_DEG = 360.0 / 25.0  # pitch of the usual servo spline
COXA_DEG = (-75.0, 75.0)
FEMUR_DEG = (-100.0, 130.0)
TIBIA_DEG = (-165.0, 10.0)
SERVO_SHARE = 0.47  # mass of all servos over the mass of the robot
MOST_SERVO_SHARE = 0.75  # the same in a robot of little else
LEG_SERVOS = 3.2  # mass of a leg over the mass of a servo
BODY_DENSITY = (300.0, 1200.0)  # [kg/m3] of robots


def body(layout: Layout) -> str:
    """Size of the body."""
    return " ".join(map(LENGTH.shown, layout.body))


def hip(layout: Layout, side: str, place: str, answered: Answers, parts: Sequence[Part]) -> str:
    """A hip: the mirror image of a known one, or its usual position."""
    counterpart = answered.numbers.get(f"hip left_{place}")
    if side == "right" and counterpart is not None:
        return shown(right_of(counterpart), parts)
    count = len(layout.places)
    index = layout.places.index(place)
    front = answered.numbers.get(f"hip {side}_{layout.places[count - 1 - index]}")
    if front is not None and index >= count / 2.0:
        return shown(rear_of(front), parts)
    return shown(usual_hip(layout, place, answered.numbers["body"]), parts)


def radius(layout: Layout, answered: Answers) -> str:
    """The radius of a circle of hips."""
    return LENGTH.shown(usual_radius(layout, answered.numbers["body"]))


def voltage(model: str) -> str:
    """The highest supply voltage in the data sheet."""
    return f"{usual_voltage(model):g}"


def limits(model: str) -> str:
    """Joint limits of usual legs that a servo reaches whose middle is the rest pose, with a horn half a tooth off."""
    turn = OTHER_TURN_DEG if model == OTHER_SERVO else versions(model)[0].turn
    half = (turn - TOOTH_DEG) / 2.0
    ends = []
    for middle, (lower, upper) in zip(REST_DEG, (COXA_DEG, FEMUR_DEG, TIBIA_DEG), strict=True):
        ends += [max(lower, middle - half), min(upper, middle + half)]
    return " ".join(f"{end:g}" for end in ends)


def masses(answered: Answers, legs: int) -> str:
    """Masses of robot and leg, estimated from the mass of the servos."""
    model = answered.words["servo"]
    servo = OTHER_MASS_KG if model == OTHER_SERVO else versions(model)[0].mass
    leg = LEG_SERVOS * servo
    volume = math.prod(answered.numbers["body"])
    rest = 3.0 * legs * servo / SERVO_SHARE - legs * leg
    lightest = 3.0 * legs * servo / MOST_SERVO_SHARE - legs * leg
    rest = max(min(max(rest, BODY_DENSITY[0] * volume), BODY_DENSITY[1] * volume), lightest)
    return " ".join(f"{value / MASS.factors[MASS.usual]:.0f}" for value in (rest + legs * leg, leg))
