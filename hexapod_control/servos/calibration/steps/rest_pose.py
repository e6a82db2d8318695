# SPDX-License-Identifier: Apache-2.0
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
from hexapod_control.servos.calibration.steps.horn_fit import TOOTH, fit_horns, teeth
from hexapod_control.servos.settings.joint_calibration import JointCalibration

MIN_OFF = 0.85 * TOOTH  # [rad] difference from the other legs that is reported; horns fit to half a tooth
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
    for row, off in horns_off(state.robot, state.joints, state.before, state.scale):
        values = {"degrees": math.degrees(off), "teeth": teeth(max(1, round(abs(off) / TOOTH)))}
        state.say(Sentence("horn_off", joint=state.label(row), **values))
        if state.agrees(Sentence("measure_again", joint=state.label(row)), False, state.joint(row)):
            measure_again(state, [row])
    fit_horns(state, lambda rows: measure_again(state, rows))


def measure_again(state: CalibrationState, rows: Sequence[int]) -> None:
    """Captures joints in the rest pose again, with the other joints of their legs where the operator holds the leg."""
    if state.jogger.reports_position:
        state.jogger.relax()
        state.each(list(dict.fromkeys(row // 3 for row in rows)), lambda leg: _by_hand(state, leg))
    else:
        state.each(rows, lambda row: _by_jogging(state, row))


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


def horns_off(
    robot: Robot, joints: Sequence[JointCalibration], before: Sequence[JointCalibration], scale: RawScale
) -> list[tuple[int, float]]:
    """Rows of joints whose horn is mounted differently from those of the other legs, with the difference [rad].

    Compared is how far the middle of each servo is from where it was `before`, as in a robot file with the centers and
    directions of a kit. Left and right legs may differ, as servos that are mounted as in a mirror do.
    """
    shifts = [
        _side(robot, row) * (joint.angle(scale.center) - known.angle(scale.center))
        for row, (joint, known) in enumerate(zip(joints, before, strict=True))
    ]
    found = []
    for row, shift in enumerate(shifts):
        others = [k for k in range(row % 3, len(joints), 3) if k != row and _built_alike(robot, k, row)]
        side = [k for k in others if robot.legs[k // 3].hip[1] * robot.legs[row // 3].hip[1] > 0.0]
        usual = [median(shifts[k] for k in group) for group in (others, side) if len(group) > 1]
        if usual and (off := min((middle - shift for middle in usual), key=abs)) and abs(off) >= MIN_OFF:
            found.append((row, _side(robot, row) * off))
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
