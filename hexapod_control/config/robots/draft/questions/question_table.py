# SPDX-License-Identifier: Apache-2.0
"""The table of questions, in the order in which they are asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hexapod_control.config.robots import robot_keys
from hexapod_control.config.robots.draft.questions import usual_values as usual
from hexapod_control.config.robots.draft.questions.answered_robot import best_height
from hexapod_control.config.robots.draft.questions.layouts import LAYOUTS, Layout, layout
from hexapod_control.config.robots.draft.questions.question import (
    NO,
    OTHER_SERVO,
    YES,
    Answers,
    Question,
    servo_model,
)
from hexapod_control.config.robots.draft.questions.units import (
    ANGLE,
    LENGTH,
    MASS,
    SPEED,
    TORQUE,
    VOLTAGE,
    AnswerError,
    Dimension,
    Part,
)
from hexapod_control.config.robots.servo_table import permitted, servo_table, version_for, versions
from hexapod_control.config.schema import NumberRow
from hexapod_control.config.sentence import Sentence
from hexapod_control.core.names import JOINTS

_ROWS = {
    row.key: row
    for row in (*robot_keys.ROBOT, *robot_keys.COMMON, *robot_keys.PLACE, robot_keys.SERVO_VOLTAGE)
    if isinstance(row, NumberRow)
}
SMALLEST_BODY_M = 0.03  # shorter side: smaller ones are centimetres


def _part(name: str, dimension: Dimension, key: str) -> Part:
    return Part(name, dimension, _ROWS[key])


def _room(answered: Answers) -> None:
    shorter = min(answered.numbers["body"][:2])
    if shorter < SMALLEST_BODY_M:
        raise AnswerError(Sentence("body_too_small", shorter=1000.0 * shorter, least=1000.0 * SMALLEST_BODY_M))


def _supply(answered: Answers) -> None:
    model = answered.words["servo"]
    (voltage,) = answered.numbers["voltage"]
    if version_for(model, voltage) is None:
        raise AnswerError(Sentence("supply_not_permitted", volts=voltage, permitted=permitted(model), model=model))


def _weights(answered: Answers) -> None:
    whole, leg = answered.numbers["masses"]
    count = layout(answered).legs
    rows = versions(answered.words["servo"])
    if rows and leg < rows[0].mass:
        raise AnswerError(Sentence("leg_without_servos", leg=1000.0 * leg, servo=1000.0 * rows[0].mass))
    if whole - count * leg < _ROWS["body.mass"].quantity.lower:
        raise AnswerError(Sentence("legs_heavier", whole=1000.0 * whole, count=count, leg=1000.0 * leg))


def _ranges(answered: Answers) -> None:
    ends = answered.numbers["limits"]
    for joint, lower, upper in zip(JOINTS, ends[::2], ends[1::2], strict=True):
        if lower >= upper:
            raise AnswerError(Sentence("limits_swapped", joint=Sentence(joint), lower=lower, upper=upper))


LEGS = Question(
    "legs",
    Sentence("ask_legs"),
    "top",
    lambda _: next(iter(LAYOUTS)),
    choices=tuple(LAYOUTS),
)
BODY = Question(
    "body",
    Sentence("ask_body"),
    "body",
    lambda answered: usual.body(layout(answered)),
    tuple(_part(name, LENGTH, "body.size") for name in ("length", "width", "height")),
    rule=_room,
    findings=("body.size",),
)
HIP_PARTS = (_part("forward", LENGTH, "hip"), _part("left", LENGTH, "hip"), _part("direction", ANGLE, "yaw_deg"))


@dataclass(frozen=True, slots=True)
class _TableRow:
    """A question, and the condition under which it is asked."""

    question: Question
    asked: Callable[[Answers], bool] = lambda _: True


TABLE = (
    _TableRow(
        Question(
            "lengths",
            Sentence("ask_lengths"),
            "lengths",
            lambda _: usual.LENGTHS,
            tuple(_part(name, LENGTH, f"{name}.length") for name in JOINTS),
            findings=tuple(f"{name}.length" for name in JOINTS),
        )
    ),
    _TableRow(
        Question(
            "offsets",
            Sentence("ask_offsets"),
            "offsets",
            lambda _: NO,
            choices=(NO, YES),
        )
    ),
    _TableRow(
        Question(
            "offset sizes",
            Sentence("ask_offset_sizes"),
            "offsets",
            lambda _: "0 0 0",
            (
                _part("hip above", LENGTH, "body.center"),
                _part("femur left", LENGTH, "femur.lateral_offset"),
                _part("femur above", LENGTH, "femur.vertical_offset"),
            ),
            findings=("hip", "femur.lateral_offset", "femur.vertical_offset"),
        ),
        lambda answered: answered.words["offsets"] == YES,
    ),
    _TableRow(
        Question(
            "servo",
            Sentence("ask_servo", other=OTHER_SERVO),
            "servos",
            lambda _: usual.SERVO,
            choices=(*dict.fromkeys(servo.model for servo in servo_table()), OTHER_SERVO),
            word=servo_model,
            findings=("servo.model",),
        )
    ),
    _TableRow(
        Question(
            "voltage",
            Sentence("ask_voltage"),
            "supply",
            lambda answered: usual.voltage(answered.words["servo"]),
            (_part("supply voltage", VOLTAGE, "servo.voltage"),),
            rule=_supply,
            findings=("servo.voltage",),
        ),
        lambda answered: answered.words["servo"] != OTHER_SERVO,
    ),
    _TableRow(
        Question(
            "figures",
            Sentence("ask_figures"),
            "supply",
            lambda _: usual.FIGURES,
            (_part("speed", SPEED, "servo.no_load_speed"), _part("torque", TORQUE, "servo.stall_torque")),
            findings=("servo.no_load_speed", "servo.stall_torque"),
        ),
        lambda answered: answered.words["servo"] == OTHER_SERVO,
    ),
    _TableRow(
        Question(
            "limits",
            Sentence("ask_limits"),
            "limits",
            lambda answered: usual.limits(answered.words["servo"]),
            tuple(
                _part(f"{joint} {side}", ANGLE, f"joints.{joint}.{side}_deg")
                for joint in JOINTS
                for side in ("lower", "upper")
            ),
            rule=_ranges,
            findings=tuple(f"joints.{joint}.{side}_deg" for joint in JOINTS for side in ("lower", "upper")),
        )
    ),
    _TableRow(
        Question(
            "masses",
            Sentence("ask_masses"),
            "masses",
            lambda answered: usual.masses(answered, layout(answered).legs),
            (_part("whole robot", MASS, "body.mass"), _part("one leg", MASS, "coxa.mass")),
            rule=_weights,
            findings=("body.mass", *(f"{joint}.mass" for joint in JOINTS)),
        )
    ),
)
HEIGHT = Question(
    "height",
    Sentence("ask_height"),
    "height",
    lambda answered: LENGTH.shown(best_height(answered)),
    (_part("hip height", LENGTH, "walk.height"),),
    findings=("walk.height",),
)


def questions(answered: Answers) -> Iterator[Question]:
    """Yields the questions; each one must be answered in `answered` before the next is taken."""
    yield LEGS
    yield BODY
    chosen = layout(answered)
    if chosen.circle:
        yield _radius(chosen)
    for side in () if chosen.circle else ("left",) if chosen.mirrored else ("left", "right"):
        for place in chosen.places:
            yield _hip(chosen, side, place)
    yield from (row.question for row in TABLE if row.asked(answered))
    yield HEIGHT


def _radius(chosen: Layout) -> Question:
    return Question(
        "radius",
        Sentence("ask_radius"),
        "radius",
        lambda answered: usual.radius(chosen, answered),
        (_part("radius", LENGTH, "body.size"),),
        findings=("hip", "body.size"),
    )


def _hip(chosen: Layout, side: str, place: str) -> Question:
    names = tuple(f"{each}_{place}" for each in (("left", "right") if chosen.mirrored else (side,)))
    return Question(
        f"hip {side}_{place}",
        Sentence("ask_mirrored_hip" if chosen.mirrored else "ask_hip", leg=Sentence(names[0])),
        "hips",
        lambda answered: usual.hip(chosen, side, place, answered, HIP_PARTS),
        HIP_PARTS,
        findings=("hip", "yaw_deg", "body.size"),
        legs=names,
    )
