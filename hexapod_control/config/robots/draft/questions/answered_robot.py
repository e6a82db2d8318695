# SPDX-License-Identifier: Apache-2.0
"""The robot that results from the answers."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from hexapod_control.config.robots.draft.assumptions import LEG_SHARES, assumed_radii, table_servo, unlisted_servo
from hexapod_control.config.robots.draft.leg_draft import DraftJoint, LegGeometry
from hexapod_control.config.robots.draft.questions.layouts import HipPlace, circle_hip, layout, right_of
from hexapod_control.config.robots.draft.questions.question import OTHER_SERVO, Answers, Numbers, Words
from hexapod_control.config.robots.draft.questions.units import AnswerError
from hexapod_control.config.robots.draft.robot_draft import (
    DraftBody,
    DraftServo,
    DraftStance,
    Origin,
    RobotDraft,
    SourcedValue,
)
from hexapod_control.config.robots.draft.robot_text import FileNotes
from hexapod_control.config.robots.draft.stance_search import SWING_TIME_S, find_stance, lever
from hexapod_control.config.sentence import Sentence
from hexapod_control.core.gait.gait_table import AUTO
from hexapod_control.core.names import JOINTS
from hexapod_control.core.robot import Point

ROUGH_HEIGHT_SHARE = 0.75  # of the tibia, before the height is known
ROUGH_LIFT_SHARE = 0.15  # of femur plus tibia, likewise
HEIGHT_DIGITS = 3  # decimals of the proposed height [m]

NOTES = FileNotes(
    head=(
        "Made by hexapod new. Keys and units are explained in phantomx.yaml.",
        "given: your answers; ASSUMED: not asked, correct what you know better.",
        "Footholds, lift and swing time are chosen so that the feet can step farthest at this height.",
    ),
    geometry=Origin.GIVEN,
    body="",
    limits="",
    servo="not in the servo table; a name of your own is fine",
    servo_source="answers to hexapod new",
    height="given: the height of the hips, less their height above base_link",
)


def draft(name: str, answered: Answers) -> RobotDraft:
    """The robot; in a rough stance until its height is known. Raises AnswerError if it cannot stand at that height."""
    return _draft(name, *answered.items())


@lru_cache(maxsize=8)  # the search for a stance takes seconds, and an answer is checked before it is given
def _draft(name: str, words: Words, numbers: Numbers) -> RobotDraft:
    answered = Answers(dict(words), dict(numbers))
    legs = _legs(answered)
    body = _body(answered, len(legs))
    masses = _masses(answered)
    servo = _servo(answered)
    radii = assumed_radii(next(iter(legs.values())), None, _masses(answered))
    height = answered.numbers.get("height")
    if height is None:
        stance: DraftStance | None = _rough_stance(legs)
    else:
        stance = find_stance(legs, body, masses, radii, servo, round(height[0] - _rise(answered), 4))
    if stance is None:
        assert height is not None
        best = 1000.0 * best_height(answered)
        raise AnswerError(Sentence("height_without_steps", height=1000.0 * height[0], best=best))
    return RobotDraft(name, legs, body, masses, radii, servo, stance)


def best_height(answered: Answers) -> float:
    """Height [m] of the hips with the largest stance regions. Raises AnswerError if there is none."""
    words, numbers = answered.items()
    return _best_height(words, tuple(each for each in numbers if each[0] != "height"))


@lru_cache(maxsize=8)
def _best_height(words: Words, numbers: Numbers) -> float:
    answered = Answers(dict(words), dict(numbers))
    legs = _legs(answered)
    radii = assumed_radii(next(iter(legs.values())), None, _masses(answered))
    stance = find_stance(legs, _body(answered, len(legs)), _masses(answered), radii, _servo(answered))
    if stance is None:
        raise AnswerError(Sentence("limits_without_stance"))
    return round(stance.height + _rise(answered), HEIGHT_DIGITS)


def _rise(answered: Answers) -> float:
    """Height [m] of the hips over base_link."""
    return answered.numbers.get("offset sizes", (0.0, 0.0, 0.0))[0]


def _hips(answered: Answers) -> dict[str, HipPlace]:
    """Hips by leg, left ones first, front to rear."""
    chosen = layout(answered)
    found: dict[str, HipPlace] = {}
    for side in ("left", "right"):
        for place in chosen.places:
            name = f"{side}_{place}"
            if side == "right" and chosen.mirrored:
                found[name] = right_of(found[f"left_{place}"])
            elif chosen.circle:
                found[name] = circle_hip(chosen, place, answered.numbers["radius"][0])
            else:
                x, y, direction = answered.numbers[f"hip {name}"]
                found[name] = (x, y, direction)
    return found


def _legs(answered: Answers) -> dict[str, LegGeometry]:
    coxa, femur, tibia = answered.numbers["lengths"]
    rise, lateral, vertical = answered.numbers.get("offset sizes", (0.0, 0.0, 0.0))
    ends = answered.numbers["limits"]
    first, second, third = (DraftJoint("", 1, 0.0, ends[i], ends[i + 1], range_known=True) for i in (0, 2, 4))
    return {
        name: LegGeometry(
            hip=np.array([x, y, rise]),
            yaw=math.radians(direction),
            tilt=(0.0, 0.0),
            coxa=coxa,
            lateral=lateral,
            vertical=vertical,
            femur=femur,
            tibia=tibia,
            joints=(first, second, third),
        )
        for name, (x, y, direction) in _hips(answered).items()
    }


def _masses(answered: Answers) -> dict[str, SourcedValue]:
    leg = answered.numbers["masses"][1]
    note = "its share of a leg"
    return {joint: SourcedValue(LEG_SHARES[joint] * leg, Origin.GIVEN, note) for joint in JOINTS}


def _body(answered: Answers, legs: int) -> DraftBody:
    length, width, height = answered.numbers["body"]
    whole, leg = answered.numbers["masses"]
    middle = (0.0, 0.0, 0.0)
    mass = SourcedValue(whole - legs * leg, Origin.GIVEN, "the robot without its legs")
    return DraftBody((length, width, height), middle, mass, middle, Origin.GIVEN, Origin.ASSUMED)


def _servo(answered: Answers) -> DraftServo:
    model = answered.words["servo"]
    if model != OTHER_SERVO:
        return table_servo(model, answered.numbers["voltage"][0])
    speed, torque = (SourcedValue(value, Origin.GIVEN) for value in answered.numbers["figures"])
    return unlisted_servo(speed, torque)


def _rough_stance(legs: dict[str, LegGeometry]) -> DraftStance:
    """Coxas at zero, knees half bent."""
    places: dict[str, Point] = {}
    for name, leg in legs.items():
        reach = leg.coxa + lever(leg)
        places[name] = (float(leg.hip[0]) + reach * math.cos(leg.yaw), float(leg.hip[1]) + reach * math.sin(leg.yaw))
    leg = next(iter(legs.values()))
    lift = ROUGH_LIFT_SHARE * (leg.femur + leg.tibia)
    return DraftStance(ROUGH_HEIGHT_SHARE * leg.tibia, lift, SWING_TIME_S, places, AUTO)
