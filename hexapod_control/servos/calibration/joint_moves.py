# SPDX-License-Identifier: Apache-2.0
"""What the operator is told and asked before a joint moves: far moves, and goals that are out of reach."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hexapod_control.config.sentence import Sentence
from hexapod_control.servos.calibration.dialog import name
from hexapod_control.servos.settings.joint_calibration import ROUNDING, JointCalibration

FAR_ANGLE = math.radians(10.0)  # [rad] a longer move is confirmed first
FAR_US = 100.0  # the same for servos with pulses, whose scale may not be measured yet
PULSE_UNIT = "us"


def is_far(distance: float, units_per_rad: float, unit: str) -> bool:
    """Whether a move over a distance [raw] needs the operator's consent."""
    return abs(distance) > (FAR_US if unit == PULSE_UNIT else FAR_ANGLE * units_per_rad) + ROUNDING


def move_question(joint: JointCalibration, begin: float, end: float, unit: str) -> Sentence:
    """Whether to make a move from one raw position to another."""
    return Sentence(
        "move_far",
        joint=name(joint.short_name),
        begin=begin,
        end=end,
        unit=unit,
        degrees=math.degrees(abs(end - begin) / joint.units_per_rad),
    )


def out_of_reach(joint: JointCalibration, wish: float, ends: tuple[int, int], *, calibrated: bool) -> Sentence | None:
    """What is used in place of a raw position outside of `ends`; None if it is inside.

    The ends are those of the calibration, or else of the servo.
    """
    used = clamped(wish, ends)
    if abs(used - wish) <= 0.5 + ROUNDING:
        return None
    values = {"joint": name(joint.short_name), "wish": wish, "used": used, "low": ends[0], "high": ends[1]}
    if calibrated:
        return Sentence("out_of_limits", **values)
    return Sentence("out_of_range", **values)


def clamped(wish: float, ends: tuple[int, int]) -> float:
    """A raw position, moved between two ends."""
    return min(max(wish, float(ends[0])), float(ends[1]))


def pose_goals(joints: Sequence[JointCalibration], angles: Sequence[float]) -> tuple[dict[int, float], list[Sentence]]:
    """Raw goals by servo id of joint angles [rad], and a sentence for each joint that cannot go there."""
    goals = {}
    told = []
    for joint, angle in zip(joints, angles, strict=True):
        wish = joint.raw(angle)
        ends = (joint.low, joint.high)
        goals[joint.id] = clamped(wish, ends)
        if found := out_of_reach(joint, wish, ends, calibrated=True):
            told.append(
                Sentence(
                    "pose_out_of_limits",
                    found=found,
                    reached=math.degrees(joint.angle(goals[joint.id])),
                    asked=math.degrees(angle),
                )
            )
    return goals, told
