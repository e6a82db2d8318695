# SPDX-License-Identifier: Apache-2.0
"""Answers to the questions of `hexapod new` that a builder of a sensible robot could give, drawn from a seed."""

from __future__ import annotations

import random

from hexapod_control.config.robots.draft.questions.interview import Interview
from hexapod_control.config.robots.draft.questions.layouts import LAYOUTS
from hexapod_control.config.robots.draft.questions.units import AnswerError
from hexapod_control.config.robots.servo_table import servo_table, usual_voltage, version_for
from hexapod_control.core.statics.static_stability import GRAVITY

LIGHTEST = 1.4  # mass of a robot over that of its servos
HELD_SHARE = 0.25  # of the stall torque, which a sensible robot needs to stand on half of its legs


def sensible_answers(seed: int) -> dict[str, str]:
    """Answers by key of the question; the proposal is taken for the others."""
    draw = random.Random(seed)
    servo = draw.choice(servo_table())
    voltage = draw.choice([usual_voltage(servo.model), *(each.voltage for each in servo.figures)])
    layout = draw.choice([name for name in LAYOUTS if "free" not in name])
    legs = LAYOUTS[layout].legs
    row = version_for(servo.model, voltage)
    size = 0.07 * (row.mass / 0.055) ** (1.0 / 3.0)  # [m] of a femur for such servos
    femur = size * draw.uniform(0.8, 1.3)
    strongest = HELD_SHARE * row.at(voltage).stall_torque / (GRAVITY / (legs // 2) * 0.8)  # [kg m]
    mass = 3 * legs * row.mass * draw.uniform(1.6, 2.2)
    femur = max(0.6 * size, min(femur, strongest / mass))
    mass = max(3 * legs * row.mass * LIGHTEST, min(mass, strongest / femur))
    tibia = femur * draw.uniform(1.15, 2.0)
    coxa = femur * draw.uniform(0.35, 0.8)
    width = femur * draw.uniform(1.4, 2.2)
    length = width * (draw.uniform(0.9, 1.1) if legs == 4 else draw.uniform(1.5, 2.2) * legs / 6)
    if "circle" in layout:
        width = femur * draw.uniform(2.5, 4.0)
        length = width
    height = min(0.6 * width, 1.2 * row.mass ** (1.0 / 3.0) * draw.uniform(0.08, 0.14))
    rest = mass - legs * 3.2 * row.mass
    smaller = min(1.0, rest / (200.0 * length * width * height)) ** (1.0 / 3.0)  # a light body is no flat one
    length, width, height = smaller * length, smaller * width, smaller * height
    length *= (larger := max(1.0, rest / (1200.0 * length * width * height)) ** 0.5)  # what it weighs takes its room
    width *= larger
    found = {
        "legs": layout,
        "servo": servo.model,
        "voltage": f"{voltage:g}",
        "body": " ".join(f"{1e3 * each:.0f}" for each in (length, width, height)),
        "lengths": " ".join(f"{1e3 * each:.0f}" for each in (coxa, femur, tibia)),
        "masses": f"{1e3 * mass:.0f} {1e3 * 3.2 * row.mass:.0f}",
    }
    if draw.random() < 0.3:
        found["offsets"] = "yes"
        rise, above = draw.uniform(-0.3, 0.3) * height, draw.uniform(-0.2, 0.3) * coxa
        found["offset sizes"] = f"{1e3 * rise:.0f} 0 {1e3 * above:.0f}"
    if draw.random() < 0.3:
        found.pop("masses")
    return found


def answered(answers: dict[str, str], height: float = 1.0) -> tuple[Interview, list[str]]:
    """The interview with these answers, and what it has refused, in place of which the proposal was taken."""
    interview = Interview("mine", {})
    refused = []
    while interview.question is not None:
        key = interview.question.key
        text = answers.get(key, "")
        if key == "height" and height != 1.0:
            text = f"{height * float(interview.default()):.0f}"
        try:
            interview.answer(text)
        except AnswerError as error:
            refused.append(f"{key} {text}: {error}")
            interview.answer("")
    return interview, refused
