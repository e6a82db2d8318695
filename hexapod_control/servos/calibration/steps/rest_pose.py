"""Step rest: captures the raw position of each joint in a known pose, and detects horns mounted a tooth off."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from hexapod_control.config.sentence import Sentence
from hexapod_control.core.names import JOINTS
from hexapod_control.core.robot import Robot
from hexapod_control.servos.bus.bus_interface import RawScale
from hexapod_control.servos.calibration import dialog as words
from hexapod_control.servos.calibration.calibration_state import CalibrationState
from hexapod_control.servos.settings.joint_calibration import JointCalibration

TOOTH_DEG = 360.0 / 25.0  # pitch of the usual servo spline
MIN_OFF_DEG = 0.55 * TOOTH_DEG  # difference from the other legs that is reported
SINE_TOLERANCE = 1e-3  # of the sines of the hip yaws of comparable coxas


def rest(state: CalibrationState) -> None:
    """Captures the raw position of each joint in the rest pose, whose angles are known."""
    if state.jogger.reports_position:
        state.jogger.relax()
        state.say(Sentence("introduction_rest_by_hand"))
        state.each(range(len(state.robot.leg_names)), lambda leg: _by_hand(state, leg))
    else:
        state.say(Sentence("introduction_rest_by_jogging", help=words.JOG_HELP))
        state.each(range(len(state.joints)), lambda row: _by_jogging(state, row))
    for row, degrees in horns_off(state.robot, state.joints, state.scale):
        state.say(Sentence("horn_off", joint=state.label(row), degrees=degrees, teeth=_teeth(degrees)))
        question = Sentence("measure_again", joint=state.label(row))
        if state.agrees(question, False, state.joint(row)):
            again = _by_hand if state.jogger.reports_position else _by_jogging
            again(state, row // 3 if state.jogger.reports_position else row)


def _by_hand(state: CalibrationState, leg: int) -> None:
    rows = range(3 * leg, 3 * leg + 3)
    pose = Sentence(
        "pose_of_leg",
        leg=state.leg(leg),
        **{JOINTS[row % 3]: words.describe_angle(row % 3, state.rest[row]) for row in rows},
    )
    positions = state.capture(rows, pose, state.rest)
    for row in rows:
        _store(state, row, positions[row])


def _by_jogging(state: CalibrationState, row: int) -> None:
    _store(state, row, state.jog(row, words.describe_angle(row % 3, state.rest[row])))


def _store(state: CalibrationState, row: int, raw: float) -> None:
    state.joints[row] = replace(state.joints[row], center=raw, q_center=state.rest[row], trim=0.0)
    state.warn_of_reach(row)


def _teeth(degrees: float) -> Sentence:
    count = max(1, round(abs(degrees) / TOOTH_DEG))
    return Sentence("teeth", count=count) if count > 1 else Sentence("one_tooth")


def horns_off(robot: Robot, joints: Sequence[JointCalibration], scale: RawScale) -> list[tuple[int, float]]:
    """Rows of joints whose horn is mounted differently from those of the other legs, with the difference [deg]."""
    middles = [_side(robot, row) * math.degrees(joint.angle(scale.center)) for row, joint in enumerate(joints)]
    found = []
    for row, middle in enumerate(middles):
        others = [middles[k] for k in range(row % 3, len(joints), 3) if k != row and _built_alike(robot, k, row)]
        if len(others) > 1 and abs(middle - median(others)) >= MIN_OFF_DEG:
            found.append((row, _side(robot, row) * (median(others) - middle)))
    return found


def _side(robot: Robot, row: int) -> float:
    """Sign that makes the angle of a coxa comparable with those of mirrored legs; 1 for femurs and tibias."""
    x, y, _ = robot.legs[row // 3].hip
    return math.copysign(1.0, x * y) if row % 3 == 0 else 1.0


def _built_alike(robot: Robot, a: int, b: int) -> bool:
    """Whether two joints are comparable: all femurs and tibias, and coxas at the same angle to the body."""
    return (
        a % 3 > 0
        or abs(abs(math.sin(robot.legs[a // 3].hip_yaw)) - abs(math.sin(robot.legs[b // 3].hip_yaw))) < SINE_TOLERANCE
    )
