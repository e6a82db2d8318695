"""Where the robot is, from its joints: a rigid fit of the planted feet between two samples.

base_footprint lies on the support plane below base_link, level, with its heading. The plane through the planted
feet gives roll, pitch and height; seen in the level frame, feet that stand in both samples have moved against the
body by the inverse of its motion. The least-squares rotation and translation of those points (Kabsch in
the plane) is the step, and what it leaves over says how much the feet slipped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hexapod_control.core.body import BodyPose, Placement
from hexapod_control.core.contact import rolling_shift
from hexapod_control.core.kinematics import Array, Row, hip_to_base, leg_forward
from hexapod_control.core.robot import Robot, Vector
from hexapod_control.core.se2 import ZERO, Pose, exp, log

NOISE = 0.0005  # [m] of a contact point between two samples: servo resolution and play
LOST = 0.002  # [m] taken as the residual of a step without feet to go by
BRIDGE = 0.1  # [s] for which the body is then taken to go on as it went
NOISE_TURN = 0.002  # [rad] likewise, of the heading


@dataclass(frozen=True, slots=True)
class Support:
    """The body over its support plane and the feet on it, from one sample of the joints."""

    attitude: BodyPose  # base_link over base_footprint; z is its height [m], x = y = yaw = 0
    contacts: tuple[tuple[float, float], ...]  # [m] of all feet in base_footprint
    planted: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """Motion of base_footprint between two samples."""

    motion: Pose
    residual: float  # [m] root mean square of what the rigid fit leaves over
    feet: int  # that stood in both samples


def _plane(points: Sequence[Vector]) -> tuple[float, float, float] | None:
    """(a, b, c) of the least-squares plane z = a x + b y + c through points [m]; None for fewer than three."""
    if len(points) < 3:
        return None
    data = np.array(points)
    matrix = np.column_stack((data[:, :2], np.ones(len(data))))
    solution, _, rank, _ = np.linalg.lstsq(matrix, data[:, 2], rcond=None)
    if rank < 3:
        return None
    a, b, c = solution.tolist()
    return a, b, c


def observe(robot: Robot, joints: Array, planted: Sequence[bool], last: Support | None) -> Support:
    """The support plane and all contact points for joints (n, 3) [rad]; the last attitude if fewer than 3 stand."""
    rows: list[Row] = [(a, b, c) for a, b, c in np.asarray(joints, dtype=float).tolist()]
    centres = [hip_to_base(leg, leg_forward(leg, row)[1]) for leg, row in zip(robot.legs, rows, strict=True)]
    plane = _plane([c for c, down in zip(centres, planted, strict=True) if down])
    if plane is not None:
        a, b, c = plane
        # The ground's normal in base_link is the last row of the rotation base_link -> base_footprint.
        length = math.sqrt(a * a + b * b + 1.0)
        nx, ny, nz = -a / length, -b / length, 1.0 / length
        attitude = BodyPose(z=robot.foot_radius - c * nz, roll=math.atan2(ny, nz), pitch=math.asin(-nx))
    elif last is not None:
        attitude = last.attitude
    else:
        attitude = BodyPose(z=robot.walk.height)
    placement = Placement(attitude, 0.0)
    contacts = []
    for leg, row, centre in zip(robot.legs, rows, centres, strict=True):
        shift_x, shift_y = rolling_shift(leg, row, placement, robot.foot_radius)
        x, y, _ = placement.to_footprint(*centre)
        contacts.append((x - shift_x, y - shift_y))
    return Support(attitude, tuple(contacts), tuple(planted))


def fit(before: Support, after: Support) -> Step | None:
    """Motion of base_footprint from the feet that stand in both samples; None for fewer than two."""
    pairs = [
        (p, q)
        for p, q, was, still in zip(before.contacts, after.contacts, before.planted, after.planted, strict=True)
        if was and still
    ]
    count = len(pairs)
    if count < 2:
        return None
    px, py = (sum(p[k] for p, _ in pairs) / count for k in (0, 1))
    qx, qy = (sum(q[k] for _, q in pairs) / count for k in (0, 1))
    dot = cross = 0.0
    for (x0, y0), (x1, y1) in pairs:
        x0, y0, x1, y1 = x0 - px, y0 - py, x1 - qx, y1 - qy
        dot += x1 * x0 + y1 * y0
        cross += x1 * y0 - y1 * x0
    yaw = math.atan2(cross, dot)
    turned = Pose(0.0, 0.0, yaw).apply(qx, qy)
    motion = Pose(px - turned[0], py - turned[1], yaw)
    squares = sum(math.dist(motion.apply(*q), p) ** 2 for p, q in pairs)
    return Step(motion, math.sqrt(squares / count), count)


class Odometry:
    """Dead reckoning of base_footprint in the odom frame."""

    def __init__(self, robot: Robot) -> None:
        """Starts at the origin."""
        self._robot = robot
        self._last: Support | None = None
        self.reset()

    def reset(self) -> None:
        """Puts the origin of odom where the robot is now."""
        self.pose = Pose(0.0, 0.0, 0.0)
        self.twist = ZERO
        self._bridged = 0.0  # [s] since two feet stood from one sample to the next
        self.residual = 0.0  # [m] of the last fit
        self.covariance: Array = np.zeros((3, 3))  # of (x, y, yaw) in odom [m^2, rad^2]
        self.twist_covariance: Array = np.diag([NOISE**2, NOISE**2, NOISE_TURN**2])

    @property
    def attitude(self) -> BodyPose:
        """base_link over base_footprint: height z [m], roll and pitch [rad]; x = y = yaw = 0."""
        return self._last.attitude if self._last else BodyPose(z=self._robot.walk.height)

    def update(self, joints: Array, planted: Sequence[bool], dt: float) -> Support:
        """Takes joints (n, 3) [rad] measured `dt` [s] after the last ones, and which feet stand."""
        now = observe(self._robot, joints, planted, self._last)
        last, self._last = self._last, now
        step = fit(last, now) if last else None
        if step is None:
            # A tripod changes feet within one sample: for that long the body goes on as it went.
            still = not self._bridged < BRIDGE or last is None
            motion = Pose(0.0, 0.0, 0.0) if still else exp(self.twist, dt)
            step = Step(motion, LOST, 1)
            self._bridged += dt
        else:
            self._bridged = 0.0
        variance = (NOISE**2 + step.residual**2) / step.feet
        turn = (NOISE_TURN**2 + (step.residual / self._spread(now)) ** 2) / step.feet
        self._propagate(step.motion, variance, turn)
        self.pose = self.pose @ step.motion
        self.residual = step.residual
        if dt > 0.0:
            self.twist = log(step.motion, dt)
            self.twist_covariance = np.diag([variance / dt**2, variance / dt**2, turn / dt**2])
        return now

    @staticmethod
    def _spread(support: Support) -> float:
        feet = [p for p, down in zip(support.contacts, support.planted, strict=True) if down]
        return max(1e-3, math.sqrt(sum(x * x + y * y for x, y in feet) / max(1, len(feet))))

    def _propagate(self, motion: Pose, variance: float, turn: float) -> None:
        """First-order growth of the pose's covariance by one step with its own noise."""
        c, s = math.cos(self.pose.yaw), math.sin(self.pose.yaw)
        dx, dy = c * motion.x - s * motion.y, s * motion.x + c * motion.y
        moved = np.array([[1.0, 0.0, -dy], [0.0, 1.0, dx], [0.0, 0.0, 1.0]])
        still = motion.x == 0.0 and motion.y == 0.0 and motion.yaw == 0.0
        noise = np.zeros((3, 3)) if still else np.diag([variance, variance, turn])
        self.covariance = moved @ self.covariance @ moved.T + noise
