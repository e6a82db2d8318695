"""What the operator is told and asked before a joint moves: far moves, and goals that are out of reach."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hexapod_control.servos.settings.joint_calibration import ROUNDING, JointCalibration

FAR_ANGLE = math.radians(10.0)  # [rad] a longer move is confirmed first
FAR_US = 100.0  # the same for servos with pulses, whose scale may not be measured yet
PULSE_UNIT = "us"
RANGE = "its servo turns from"  # why a goal is clamped
LIMITS = "its limits in the calibration are"


def is_far(distance: float, units_per_rad: float, unit: str) -> bool:
    """Whether a move over a distance [raw] needs the operator's consent."""
    return abs(distance) > (FAR_US if unit == PULSE_UNIT else FAR_ANGLE * units_per_rad) + ROUNDING


def move_text(joint: JointCalibration, begin: float, end: float, unit: str) -> str:
    """A move from one raw position to another, for the question whether to make it."""
    degrees = math.degrees(abs(end - begin) / joint.units_per_rad)
    return f"move {joint.short_name} from {begin:.0f} to {end:.0f} {unit}, by {degrees:.0f} deg"


def clamp_text(joint: JointCalibration, wish: float, ends: tuple[int, int], why: str) -> str:
    """What is used in place of a raw position outside of `ends`; empty if it is inside."""
    used = clamped(wish, ends)
    if abs(used - wish) <= 0.5 + ROUNDING:
        return ""
    return f"{joint.short_name} cannot go to {wish:.0f}: {used:.0f} is used instead, {why} {ends[0]} to {ends[1]}"


def clamped(wish: float, ends: tuple[int, int]) -> float:
    """A raw position, moved between two ends."""
    return min(max(wish, float(ends[0])), float(ends[1]))


def pose_goals(joints: Sequence[JointCalibration], angles: Sequence[float]) -> tuple[dict[int, float], list[str]]:
    """Raw goals by servo id of joint angles [rad], and a text for each joint that cannot go there."""
    goals, texts = {}, []
    for joint, angle in zip(joints, angles, strict=True):
        wish, ends = joint.raw(angle), (joint.low, joint.high)
        goals[joint.id] = clamped(wish, ends)
        if text := clamp_text(joint, wish, ends, LIMITS):
            reached = math.degrees(joint.angle(goals[joint.id]))
            texts.append(f"{text} ({reached:.1f} in place of {math.degrees(angle):.1f} deg)")
    return goals, texts
