"""Step verify: measures whether all feet lie in one plane, and trims the femurs accordingly."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.leg_kinematics import forward
from hexapod_control.core.kinematics.whole_body import standing_joints
from hexapod_control.servos.calibration.calibration_state import CalibrationState
from hexapod_control.servos.calibration.dialog import JOG_HELP
from hexapod_control.servos.calibration.steps import foot_plane

Residuals = Mapping[str, float]
"""Height [m] of each leg's foot above the plane."""


def verify(work: CalibrationState, show: Callable[[Residuals], None]) -> None:
    """Measures the heights of the feet, by reading the servos or with sheets of paper, and trims the femurs."""
    (_by_reading if work.jogger.reports_position else _by_paper)(work, show)


def _by_reading(work: CalibrationState, show: Callable[[Residuals], None]) -> None:
    work.jogger.relax()
    work.say("\nAre all feet in one plane? Torque is off.")
    work.ask("Put the robot on a flat table, belly down, every foot touching the table. Enter when it is there ")
    measured = _measured_angles(work)
    _report(work, show, "feet above their common plane", foot_plane.residuals(forward(work.robot, measured)))
    if work.agrees("trim the femurs so that they are in one plane?", True):
        work.joints = foot_plane.trimmed(work.joints, foot_plane.trims(work.robot, measured))
        _report(work, show, "after that", foot_plane.residuals(forward(work.robot, _measured_angles(work))))


def _measured_angles(work: CalibrationState) -> Array:
    """Joint angles (n, 3) [rad]."""
    positions = work.jogger.positions([joint.id for joint in work.joints])
    return np.array([joint.angle(positions[joint.id]) for joint in work.joints]).reshape(-1, 3)


def _by_paper(work: CalibrationState, show: Callable[[Residuals], None]) -> None:
    robot = work.robot
    standing = np.array(standing_joints(robot))  # (n, 3) [rad]
    work.say("\nAre all feet in one plane? The robot will move to its standing pose: keep a hand on it.")
    work.ask("Enter starts the move ")
    angles = np.ravel(standing).tolist()
    work.jogger.go({j.id: min(max(j.raw(q), j.low), j.high) for j, q in zip(work.joints, angles, strict=True)})
    work.say(f"The robot stands. Each foot must just hold a sheet of paper. {JOG_HELP}")
    added = np.zeros(len(robot.legs))

    def hold(leg: int) -> None:
        index = 3 * leg + foot_plane.FEMUR
        raw = work.jog(index, "where its foot holds the paper")
        added[leg] = angles[index] - work.joints[index].angle(raw)

    work.each(range(len(robot.legs)), hold)
    lifted = standing.copy()
    lifted[:, foot_plane.FEMUR] += added
    _report(work, show, "feet were above the plane", forward(robot, lifted)[:, 2] - forward(robot, standing)[:, 2])
    work.joints = foot_plane.trimmed(work.joints, added)


def _report(work: CalibrationState, show: Callable[[Residuals], None], title: str, heights: Array) -> None:
    by_leg = dict(zip(work.robot.leg_names, heights.tolist(), strict=True))
    cells = [f"{name} {1000.0 * height:+.1f}" for name, height in by_leg.items()]
    worst = 1000.0 * float(np.abs(heights).max())
    work.say(f"{title} [mm]: {', '.join(cells)}; at most {worst:.1f}")
    show(by_leg)
