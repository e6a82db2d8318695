"""Drift of the body per cycle by the compliance of asymmetric legs.

A leg under load also deflects sideways, and the body with it, as the foot is fixed. At lift-off the leg springs back,
but the body does not, and at touch-down the leg is without load. With symmetric legs these displacements cancel; with a
lost leg they add up (article: 5 mm/s). The drift is found by following the events of some cycles: at every lift-off and
touch-down, the position of the body is that at which the spring forces of all planted feet are in balance.
"""

from __future__ import annotations

import numpy as np

from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.kinematics.whole_body import standing_joints
from hexapod_control.core.robot import Point, Robot
from hexapod_control.core.statics.leg_compliance import compliance
from hexapod_control.core.statics.static_stability import GRAVITY, foot_loads

SETTLING_CYCLES = 3  # until the displacements are periodic


def load_drift(robot: Robot, gait: Gait, center: Point) -> Twist:
    """Returns the motion [m, m, rad] of the body per cycle; `center` is the center of mass (x, y) [m]."""
    feet = robot.footholds
    compliances = [compliance(leg, angles) for leg, angles in zip(robot.legs, standing_joints(robot), strict=True)]
    stiffnesses = [np.linalg.inv(matrix[:2, :2]).astype(float) for matrix in compliances]  # horizontal
    # From a displacement (x, y, yaw) of the body to that (x, y) of the point above each foot
    jacobians = [np.array([[1.0, 0.0, -y], [0.0, 1.0, x]]) for x, y in feet]
    planted = [leg not in gait.legs_in_swing(0.0) for leg in range(len(feet))]
    # displacement; that at each foot's touch-down [m, rad]
    body = np.zeros(3)
    unstrained = [np.zeros(2) for _ in feet]
    positions = []
    for _ in range(SETTLING_CYCLES + 1):
        for leg, down in _exchanges(gait):
            planted[leg] = down
            unstrained[leg] = jacobians[leg] @ body
            loads = foot_loads(feet, planted, center, robot.mass * GRAVITY)
            standing = [row for row, stands in enumerate(planted) if stands]
            free = [unstrained[row] - loads[row] * compliances[row][:2, 2] for row in standing]
            body = _balanced([jacobians[row] for row in standing], [stiffnesses[row] for row in standing], free)
        positions.append(body)
    return Twist(*(positions[-1] - positions[-2]).tolist())


def _exchanges(gait: Gait) -> list[tuple[int, bool]]:
    """(leg, True for touch-down, False for lift-off) over a cycle, touch-downs first."""
    events = [(lift_off, True, leg) for leg, lift_off in enumerate(gait.lift_off)]
    events += [((lift_off - gait.duty_factor) % 1.0, False, leg) for leg, lift_off in enumerate(gait.lift_off)]
    return [(leg, not lifts) for _, lifts, leg in sorted((round(phase, 9), lifts, leg) for phase, lifts, leg in events)]


def _balanced(jacobians: list[Array], stiffnesses: list[Array], free: list[Array]) -> Array:
    """Displacement (3,) of the body at which the spring forces of the feet are in balance.

    `stiffnesses` (2, 2) [N/m] and `free` (2,) [m], the displacement without horizontal force, are those of each foot.
    """
    matrix = sum(j.T @ k @ j for j, k in zip(jacobians, stiffnesses, strict=True))
    vector = sum(j.T @ k @ offset for j, k, offset in zip(jacobians, stiffnesses, free, strict=True))
    displacement: Array = np.linalg.solve(matrix, vector).astype(float)
    return displacement
