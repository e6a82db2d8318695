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
    (_by_reading if work.hands.reads else _by_paper)(work, show)


def _by_reading(work: CalibrationState, show: Callable[[Residuals], None]) -> None:
    work.hands.relax()
    work.say("\nAre all feet in one plane? Torque is off.")
    work.ask("Put the robot on a flat table, belly down, every foot touching the table. Enter when it is there ")
    row = _measured(work)
    _report(work, show, "feet above their common plane", foot_plane.residuals(forward(work.robot, row)))
    if work.agrees("trim the femurs so that they are in one plane?", True):
        work.joints = foot_plane.trimmed(work.joints, foot_plane.trims(work.robot, row))
        _report(work, show, "after that", foot_plane.residuals(forward(work.robot, _measured(work))))


def _measured(work: CalibrationState) -> Array:
    places = work.hands.positions([joint.id for joint in work.joints])
    return np.array([joint.angle(places[joint.id]) for joint in work.joints]).reshape(-1, 3)


def _by_paper(work: CalibrationState, show: Callable[[Residuals], None]) -> None:
    robot = work.robot
    row = np.array(standing_joints(robot))
    work.say("\nAre all feet in one plane? The robot will move to its standing pose: keep a hand on it.")
    work.ask("Enter starts the move ")
    angles = np.ravel(row).tolist()
    work.hands.go({j.id: min(max(j.raw(q), j.low), j.high) for j, q in zip(work.joints, angles, strict=True)})
    work.say(f"The robot stands. Each foot must just hold a sheet of paper. {JOG_HELP}")
    added = np.zeros(len(robot.legs))

    def hold(leg: int) -> None:
        index = 3 * leg + foot_plane.FEMUR
        place = work.jogged(index, "where its foot holds the paper")
        added[leg] = angles[index] - work.joints[index].angle(place)

    work.each(range(len(robot.legs)), hold)
    lifted = row.copy()
    lifted[:, foot_plane.FEMUR] += added
    _report(work, show, "feet were above the plane", forward(robot, lifted)[:, 2] - forward(robot, row)[:, 2])
    work.joints = foot_plane.trimmed(work.joints, added)


def _report(work: CalibrationState, show: Callable[[Residuals], None], what: str, heights: Array) -> None:
    found = dict(zip(work.robot.leg_names, heights.tolist(), strict=True))
    cells = [f"{name} {1000.0 * height:+.1f}" for name, height in found.items()]
    worst = 1000.0 * float(np.abs(heights).max())
    work.say(f"{what} [mm]: {', '.join(cells)}; at most {worst:.1f}")
    show(found)
