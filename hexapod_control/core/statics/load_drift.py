"""Drift of the body per cycle, because asymmetric legs share its weight in turns.

A leg under load deflects sideways, too, and with it the body, as the foot stays where it is. It touches down without
load and springs back when it lifts off, so that the body does not return. With symmetric legs these displacements
cancel; with a lost leg they add up (article: 5 mm/s).
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

SETTLING_CYCLES = 3  # until the cycle is periodic


def load_drift(robot: Robot, gait: Gait, center: Point) -> Twist:
    """Returns the motion [m, m, rad] of the body per cycle; `center` is the centre of mass (x, y) [m]."""
    feet = robot.footholds
    soft = [compliance(leg, angles) for leg, angles in zip(robot.legs, standing_joints(robot), strict=True)]
    stiff = [np.linalg.inv(each[:2, :2]).astype(float) for each in soft]
    moves = [np.array([[1.0, 0.0, -y], [0.0, 1.0, x]]) for x, y in feet]  # of each foot by a motion of the body
    planted = [leg not in gait.legs_in_swing(0.0) for leg in range(len(feet))]
    body, at_rest = np.zeros(3), [np.zeros(2) for _ in feet]  # displacements: present; of each foot without strain
    positions = []
    for _ in range(SETTLING_CYCLES + 1):
        for leg, down in _exchanges(gait):
            planted[leg], at_rest[leg] = down, moves[leg] @ body
            loads = foot_loads(feet, planted, center, robot.mass * GRAVITY)
            standing = [row for row, still in enumerate(planted) if still]
            pulls = [at_rest[row] - loads[row] * soft[row][:2, 2] for row in standing]
            body = _balanced([moves[row] for row in standing], [stiff[row] for row in standing], pulls)
        positions.append(body)
    return Twist(*(positions[-1] - positions[-2]).tolist())


def _exchanges(gait: Gait) -> list[tuple[int, bool]]:
    """(leg, True for touch-down, False for lift-off) over a cycle, touch-downs first."""
    events = [(lift_off, True, leg) for leg, lift_off in enumerate(gait.lift_off)]
    events += [((lift_off - gait.duty_factor) % 1.0, False, leg) for leg, lift_off in enumerate(gait.lift_off)]
    return [(leg, not lifts) for _, lifts, leg in sorted((round(phase, 9), lifts, leg) for phase, lifts, leg in events)]


def _balanced(moves: list[Array], stiff: list[Array], pulls: list[Array]) -> Array:
    """Displacement (3,) of the body at which the feet, pulled by displacements [m], are in balance."""
    weight = sum(move.T @ each @ move for move, each in zip(moves, stiff, strict=True))
    force = sum(move.T @ each @ pull for move, each, pull in zip(moves, stiff, pulls, strict=True))
    found: Array = np.linalg.solve(weight, force).astype(float)
    return found
