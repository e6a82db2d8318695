"""Step verify: measures whether all feet lie in one plane, and trims the femurs accordingly."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from hexapod_control.config.sentence import Sentence
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.leg_kinematics import forward
from hexapod_control.core.kinematics.whole_body import standing_joints
from hexapod_control.servos.calibration.calibration_state import CalibrationState
from hexapod_control.servos.calibration.dialog import JOG_HELP, aside
from hexapod_control.servos.calibration.joint_moves import pose_goals
from hexapod_control.servos.calibration.steps import foot_plane

Residuals = Mapping[str, float]
"""Height [m] of each leg's foot above the plane."""


def verify(state: CalibrationState, show: Callable[[Residuals], None]) -> None:
    """Measures the heights of the feet, by reading the servos or with sheets of paper, and trims the femurs."""
    (_by_reading if state.jogger.reports_position else _by_paper)(state, show)


def _by_reading(state: CalibrationState, show: Callable[[Residuals], None]) -> None:
    state.jogger.relax()
    state.say(Sentence("introduction_verify_on_table"))
    state.wait(Sentence("put_on_table"))
    measured = _measured_angles(state)
    title = Sentence("feet_above_plane")
    _report(state, show, title, foot_plane.residuals(forward(state.robot, measured)))
    if state.agrees(Sentence("trim_femurs"), True):
        state.joints = foot_plane.trimmed(state.joints, foot_plane.trims(state.robot, measured))
        title = Sentence("feet_after_trim")
        _report(state, show, title, foot_plane.residuals(forward(state.robot, _measured_angles(state))))


def _measured_angles(state: CalibrationState) -> Array:
    """Joint angles (n, 3) [rad]."""
    positions = state.jogger.positions([joint.id for joint in state.joints])
    return np.array([joint.angle(positions[joint.id]) for joint in state.joints]).reshape(-1, 3)


def _by_paper(state: CalibrationState, show: Callable[[Residuals], None]) -> None:
    robot = state.robot
    standing = np.array(standing_joints(robot))  # (n, 3) [rad]
    state.say(Sentence("introduction_verify_with_paper"))
    state.energise()
    angles = np.ravel(standing).tolist()
    goals, out_of_reach = pose_goals(state.joints, angles)
    for found in out_of_reach:
        state.say(aside(found))
    state.wait(Sentence("start_move"))
    state.jogger.go(goals)
    state.say(Sentence("robot_stands", help=JOG_HELP))
    added = np.zeros(len(robot.legs))

    def hold(leg: int) -> None:
        index = 3 * leg + foot_plane.FEMUR
        joint = state.joints[index]
        raw = state.jog(index, Sentence("holds_paper"), (joint.low, joint.high))
        added[leg] = angles[index] - state.joints[index].angle(raw)

    state.each(range(len(robot.legs)), hold)
    lifted = standing.copy()
    lifted[:, foot_plane.FEMUR] += added
    heights = forward(robot, lifted)[:, 2] - forward(robot, standing)[:, 2]
    _report(state, show, Sentence("feet_were_above_plane"), heights)
    state.joints = foot_plane.trimmed(state.joints, added)


def _report(state: CalibrationState, show: Callable[[Residuals], None], title: Sentence, heights: Array) -> None:
    by_leg = dict(zip(state.robot.leg_names, heights.tolist(), strict=True))
    cells = [f"{name} {1000.0 * height:+.1f}" for name, height in by_leg.items()]
    state.say(Sentence("heights", title=title, heights=", ".join(cells), worst=1000.0 * float(np.abs(heights).max())))
    show(by_leg)
