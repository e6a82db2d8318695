# SPDX-License-Identifier: Apache-2.0
"""Steps marks and limits: raw units per radian from a second angle, raw limits, and copies from leg to leg."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from hexapod_control.config.sentence import Sentence
from hexapod_control.servos.calibration.calibration_state import LIMIT_CLEARANCE, CalibrationState
from hexapod_control.servos.calibration.servo_jogger import reach
from hexapod_control.servos.calibration.steps.horn_fit import fit_horns
from hexapod_control.servos.calibration.steps.rest_pose import measure_again
from hexapod_control.servos.settings.joint_calibration import JointCalibration

MARK_ANGLE = math.radians(45.0)  # [rad] of a second mark from the rest pose
MARK_GRID = math.radians(15.0)  # [rad] step of smaller mark angles, where a joint limit is closer
LIMIT_MARGIN = math.radians(3.0)  # [rad] between goals and the mechanical stops
MAX_SCALE_ERROR = 0.3  # of a measured scale from the nominal one


def measure(state: CalibrationState, steps: Sequence[str]) -> None:
    """Measures scale and limits leg by leg, or copies them from a finished leg."""
    state.each(range(len(state.robot.leg_names)), lambda leg: _leg(state, leg, steps))
    fit_horns(state, lambda rows: measure_again(state, rows))


def _leg(state: CalibrationState, leg: int, steps: Sequence[str]) -> None:
    name = state.leg(leg)
    source = _source(state, leg)
    about = (state.robot.leg_names[leg],)
    if source is not None and state.agrees(Sentence("copy_leg", source=state.leg(source), leg=name), True):
        _copy(state, source, leg)
        return
    default = not state.jogger.reports_position  # the nominal scale of smart servos is exact
    if "marks" in steps and state.agrees(Sentence("measure_scale", leg=name), default, about):
        _marks(state, leg)
    if "limits" in steps and state.agrees(Sentence("measure_limits", leg=name), False, about):
        state.each(range(3 * leg, 3 * leg + 3), lambda row: _limit(state, row))


def _source(state: CalibrationState, leg: int) -> int | None:
    """The leg to copy from: the mirrored one, else the last finished one."""
    x, y, _ = state.robot.legs[leg].hip
    mirrored = (k for k in range(leg) if math.dist(state.robot.legs[k].hip[:2], (x, -y)) < 1e-3)
    return next(mirrored, leg - 1 if leg else None)


def _copy(state: CalibrationState, source: int, leg: int) -> None:
    """Copies units per radian, and limits by their angles; each servo keeps its own center and direction."""
    for column in range(3):
        own, other = state.joints[3 * leg + column], state.joints[3 * source + column]
        copied = replace(own, units_per_rad=other.units_per_rad, units_per_rad_neg=other.units_per_rad_neg)
        ends = [copied.raw(angle) for angle in reach(other)]
        if (other.low, other.high) != (state.scale.low, state.scale.high):
            copied = _bounded(state, copied, ends)
        state.joints[3 * leg + column] = copied


def _bounded(state: CalibrationState, joint: JointCalibration, ends: Iterable[float]) -> JointCalibration:
    low, high = sorted(ends)
    return replace(joint, low=max(math.ceil(low), state.scale.low), high=min(math.floor(high), state.scale.high))


# --- second marks ------------------------------------------------------------------------------------


def _marks(state: CalibrationState, leg: int) -> None:
    if state.jogger.reports_position:
        state.jogger.relax()
    marks = [(row, side, _mark(state, row, side)) for row in range(3 * leg, 3 * leg + 3) for side in (1, -1)]
    state.each(
        [(row, side, mark) for row, side, mark in marks if mark is not None], lambda m: _measure_scale(state, *m)
    )


def _mark(state: CalibrationState, row: int, side: int) -> float | None:
    """The angle [rad] of the second mark on one side; None if the joint limit is too close."""
    joint, rest = state.joints[row], state.rest[row]
    room = (joint.upper - rest if side > 0 else rest - joint.lower) - LIMIT_CLEARANCE
    offset = min(MARK_ANGLE, MARK_GRID * math.floor(room / MARK_GRID + 1e-9))
    return rest + side * offset if offset > 0.0 else None


def _measure_scale(state: CalibrationState, row: int, side: int, mark: float) -> None:
    raw: float | None = None
    while True:
        angles = [mark if k == row else state.rest[k] for k in range(len(state.joints))]
        pose = Sentence("joint_at_angle", joint=state.label(row), degrees=math.degrees(mark))
        before = raw
        raw = state.capture([row], pose, angles)[row]
        joint = state.joints[row]
        if raw in (before, joint.center):  # Enter alone
            state.say(Sentence("scale_kept", joint=state.label(row)))
            return
        units = joint.direction * (raw - joint.center) / (mark - joint.q_center)
        if abs(units / state.scale.per_rad - 1.0) <= MAX_SCALE_ERROR:
            break
        state.say(Sentence("unusual_scale", units=units, unit=state.scale.unit, nominal=state.scale.per_rad))
    alone = _mark(state, row, -side) is None  # no mark on the other side: used for both
    state.joints[row] = replace(
        joint,
        units_per_rad=units if side > 0 or alone else joint.units_per_rad,
        units_per_rad_neg=units if side < 0 or alone else joint.units_per_rad_neg,
    )
    state.say(Sentence("scale", units=units, unit=state.scale.unit))


# --- limits ------------------------------------------------------------------------------------------


def _limit(state: CalibrationState, row: int) -> None:
    ends = _swept_ends(state, row) if state.jogger.reports_position else _jogged_ends(state, row)
    joint = state.joints[row]
    margin = LIMIT_MARGIN * joint.units_per_rad
    bounded = _bounded(state, joint, (min(ends) + margin, max(ends) - margin))
    if not bounded.low < joint.center < bounded.high:
        state.say(Sentence("limits_not_used"))
        return
    state.joints[row] = bounded


def _swept_ends(state: CalibrationState, row: int) -> list[float]:
    """Minimum and maximum raw position while the operator turns a joint by hand."""
    servo = state.joints[row].id
    ends = [math.inf, -math.inf]
    state.jogger.relax()

    def record() -> None:
        raw = state.jogger.positions([servo])[servo]
        ends[:] = min(ends[0], raw), max(ends[1], raw)

    record()
    question = Sentence("turn_to_stops", joint=state.label(row))
    state.wait(question, state.joint(row), record)
    record()
    return ends


def _jogged_ends(state: CalibrationState, row: int) -> list[float]:
    """Raw positions of both ends, to which the operator jogs the servo."""
    begin = state.jogger.positions([state.joints[row].id])[state.joints[row].id]
    ends = [state.jog(row, target) for target in (Sentence("one_end"), Sentence("other_end"))]
    if ends[-1] != begin:
        state.say(Sentence("goes_back", joint=state.label(row), begin=begin, unit=state.scale.unit))
        state.jogger.go({state.joints[row].id: begin})
    return ends
