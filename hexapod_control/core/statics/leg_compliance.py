# SPDX-License-Identifier: Apache-2.0
"""Compliance of the legs under load, and the twist that compensates for the displacement of the body.

On a slope the weight pulls the body downhill, and the servos deflect in proportion. A leg touches down unloaded,
deflects when it takes its share of the load, and springs back when it lifts off. So the body moves downhill at every
change of the supporting legs (about 2 mm for a robot of 2 kg on 15 deg). That distance follows from slope and
stiffness, and is added to the twist. The compliance of a foot is J K^-1 J^T, with its Jacobian J and the stiffness K of
the joints.

The dry friction of a servo also keeps its joint behind a moving target, by friction / stiffness, whatever the speed.

With asymmetric legs the body also drifts on flat ground. A leg under load also deflects sideways, and the body with it,
as the foot is fixed. At lift-off the leg springs back, but the body does not, and at touch-down the leg is without
load. With symmetric legs these displacements cancel; with a lost leg they add up (article: 5 mm/s). The drift is found
by following the events of some cycles: at every lift-off and touch-down, the position of the body is that at which the
spring forces of all planted feet are in balance.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.leg_kinematics import LegJoints, hip_to_base, leg_forward
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.kinematics.whole_body import standing_joints
from hexapod_control.core.robot import FRICTION_SHARE, Leg, Point, Robot, Vector
from hexapod_control.core.statics.static_stability import GRAVITY, foot_loads

MIN_SWAY_PERIODS = 2.0  # in a swing: with fewer, changes of the supporting legs make the body sway, up to resonance
# [rad] of a slope, from which it counts as steep, and from which fully so: blocks tilt the robot by less
STEEP_RAD = (math.radians(8.0), math.radians(14.0))
ANGLE_STEP = 1e-5  # [rad] of the central differences


def foot_jacobian(leg: Leg, joints: LegJoints, radius: float = 0.0) -> Array:
    """Returns the Jacobian (3, 3) [m/rad] of a foot in base_link by the joint angles [rad], by central differences.

    That of the center of its ball; with a `radius` [m] of the ball's lowest point, where forces of level ground act.
    """
    columns = []
    for joint in range(3):
        ends = []
        for step in (ANGLE_STEP, -ANGLE_STEP):
            coxa, femur, tibia = (angle + step * (k == joint) for k, angle in enumerate(joints))
            ends.append(np.array(hip_to_base(leg, leg_forward(leg, (coxa, femur, tibia))[1])))
        columns.append((ends[0] - ends[1]) / (2.0 * ANGLE_STEP))
    jacobian = np.column_stack(columns)
    outwards = leg.hip_yaw + joints[0]
    jacobian[:2, 1:] += radius * np.array([[math.cos(outwards)], [math.sin(outwards)]])
    return jacobian


def compliance(leg: Leg, joints: LegJoints) -> Array:
    """Returns the compliance (3, 3) [m/N] of a foot in base_link, displacement per force, for joint angles [rad]."""
    jacobian = foot_jacobian(leg, joints)
    matrix: Array = jacobian @ np.diag([1.0 / joint.stiffness for joint in leg.joints]) @ jacobian.T
    return matrix


def holding_angles(leg: Leg, joints: LegJoints, force: Vector) -> LegJoints:
    """By how much [rad] the targets of a leg have to be beyond its joint angles [rad] so that it holds a force [N].

    The force is that of the ground on the foot, in base_link. A servo whose target is e beyond its joint turns it with
    the torque k (e - slack), so e = tau / k + slack, with tau = -J^T force, in the direction of tau. Where friction can
    hold the joint as well, the slack counts in part.
    """
    coxa, femur, tibia = joints
    x, y, z = force
    if leg.rotation is not None:
        a, b, c = leg.rotation
        x, y, z = (a[k] * x + b[k] * y + c[k] * z for k in range(3))
    else:
        cosine, sine = leg.hip_direction
        x, y = cosine * x + sine * y, cosine * y - sine * x
    outwards = math.cos(coxa) * x + math.sin(coxa) * y
    across = math.cos(coxa) * y - math.sin(coxa) * x
    tibia_r = leg.tibia.length * math.cos(femur + tibia)
    tibia_z = leg.tibia.length * math.sin(femur + tibia)
    femur_r = leg.femur.length * math.cos(femur) + tibia_r
    femur_z = leg.femur.length * math.sin(femur) + tibia_z
    torques = (
        leg.femur_lateral * outwards - (leg.coxa.length + femur_r) * across,
        femur_z * outwards - femur_r * z,
        tibia_z * outwards - tibia_r * z,
    )
    angles = []
    for torque, joint in zip(torques, leg.joints, strict=True):
        slack = 0.5 * joint.traits.backlash + joint.traits.dead_band
        held = FRICTION_SHARE * joint.stall_torque
        angles.append(torque / joint.stiffness + slack * torque / math.hypot(torque, held))
    return angles[0], angles[1], angles[2]


def steepness(slope: Point) -> float:
    """Returns a share from 0 to 1 for the slope (roll, pitch) [rad] of the ground.

    With it legs hold their loads along gravity instead of giving way (`HeldLoads`), and feet search more gently.
    """
    begins, full = STEEP_RAD
    return min(max((math.hypot(*slope) - begins) / (full - begins), 0.0), 1.0)


@lru_cache(maxsize=8)
def mean_compliance(robot: Robot) -> float:
    """Returns the horizontal compliance [m/N] of one leg in the neutral stance, mean of all legs and directions."""
    return 2.0 * len(robot.legs) / float(np.trace(_horizontal_stiffness(robot)))


def sway_period(robot: Robot) -> float:
    """Returns the period [s] of the slowest horizontal sway of the body on half of its legs, in the neutral stance."""
    softest = float(np.linalg.eigvalsh(_horizontal_stiffness(robot))[0]) / 2.0
    return math.tau * math.sqrt(robot.mass / softest)


def _horizontal_stiffness(robot: Robot) -> Array:
    """Returns the stiffness (2, 2) [N/m] of all legs together in the neutral stance."""
    joints = standing_joints(robot)
    # Only the horizontal part is inverted: legs share the horizontal load, and the height of the feet is free.
    stiffness = [np.linalg.inv(compliance(leg, angles)[:2, :2]) for leg, angles in zip(robot.legs, joints, strict=True)]
    return np.sum(stiffness, axis=0)


@lru_cache(maxsize=8)
def friction_lag(robot: Robot) -> float:
    """Returns the distance [m] by which friction keeps a foot behind its target, at most; mean of legs and directions.

    When a motion changes its direction, the foot stays until its target has moved by twice this distance.
    """
    lags = []
    for leg, angles in zip(robot.legs, standing_joints(robot), strict=True):
        deflections = [FRICTION_SHARE * joint.stall_torque / joint.stiffness for joint in leg.joints]
        lags.append(np.abs(foot_jacobian(leg, angles)[:2]) @ deflections)
    return float(np.mean(lags))


def slip_compensation(robot: Robot, gait: Gait, swing_time: float, slope: tuple[float, float]) -> Twist:
    """Returns the twist to add on a slope (roll, pitch) [rad] for the speed of flat ground; swing time in [s]."""
    legs = len(robot.legs)
    standing = legs * gait.duty_factor
    lost = robot.mass * GRAVITY * mean_compliance(robot) * legs / standing**2  # [m] per cycle and sine of the slope
    speed = lost / (gait.cycle * swing_time)
    roll, pitch = slope
    return Twist(-speed * math.sin(pitch), speed * math.sin(roll), 0.0)


def compensated_twist(
    robot: Robot, gait: Gait, swing_time: float, twist: Twist, slope: tuple[float, float], drift: Twist = ZERO
) -> Twist:
    """Returns the twist of the feet at which the body moves with `twist`; swing time in [s].

    `slope` (roll, pitch) [rad] is that of the ground, `drift` [m, m, rad] that of the body per cycle (`load_drift`).
    """
    if twist.is_zero:
        return twist
    if drift != ZERO:
        correction = drift.scaled(-1.0 / (gait.cycle * swing_time))
        twist = Twist(twist.vx + correction.vx, twist.vy + correction.vy, twist.wz + correction.wz)
    if slope == (0.0, 0.0):
        return twist
    x, y, _ = slip_compensation(robot, gait, swing_time, slope)
    return Twist(twist.vx + x, twist.vy + y, twist.wz)


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
