"""Where the robot is, from its joints: a rigid fit of the standing feet between two samples.

base_footprint lies on the support plane below base_link, level, with its heading. The plane through the standing
feet gives roll, pitch and height; seen in the level frame, feet that stand in both samples have moved against the
body by the inverse of its motion. The least-squares rotation and translation of those points, weighted with the
loads (Kabsch in the plane), is the step; what it leaves over says how much the feet slipped. A foot that
moves against all others slips and is left out. A turn measured by an IMU takes the place of the fitted one.
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
from hexapod_control.core.stability import Point

LOST = 0.002  # [m] taken as the residual of a step without feet to go by
BRIDGE = 0.1  # [s] for which the body is then taken to go on as it went
SLIPPING = 2.5  # times the median residual of the feet, and ...
LEAST_SLIP = 0.001  # [m] ... at least this between two samples: the foot is left out of the fit
# Growth of the variance with the way, and with what the fit leaves over: from drives in physics, see the test.
WAY = 1.5e-5  # [m^2/m]
WAY_TURN = 3e-5  # [rad^2/m] without an IMU; a turn on the spot counts with the way of the feet
TURN_NOISE = 6.4e-7  # [rad^2/s] of an IMU's heading
REST = 0.5  # of the squared residual of a step


@dataclass(frozen=True, slots=True)
class Support:
    """The body over its support plane and the feet on it, from one sample of the joints."""

    attitude: BodyPose  # base_link over base_footprint; z is its height [m], x = y = yaw = 0
    contacts: tuple[tuple[float, float], ...]  # [m] of all feet in base_footprint
    loads: tuple[float, ...]  # [N] 0: the foot is in the air


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


def observe(robot: Robot, joints: Array, loads: Sequence[float], last: Support | None) -> Support:
    """The support plane and all contact points for joints (n, 3) [rad] and loads (n,) [N].

    With fewer than three standing feet the last attitude stays.
    """
    rows: list[Row] = [(a, b, c) for a, b, c in np.asarray(joints, dtype=float).tolist()]
    centres = [hip_to_base(leg, leg_forward(leg, row)[1]) for leg, row in zip(robot.legs, rows, strict=True)]
    plane = _plane([c for c, load in zip(centres, loads, strict=True) if load > 0.0])
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
    return Support(attitude, tuple(contacts), tuple(loads))


def fit(before: Support, after: Support, turn: float | None = None) -> Step | None:
    """Motion of base_footprint from the feet that stand in both samples; None for fewer than two.

    `turn` [rad] is the change of heading if something better than the feet has measured it.
    """
    pairs = [
        (min(was, still), p, q)
        for p, q, was, still in zip(before.contacts, after.contacts, before.loads, after.loads, strict=True)
        if was > 0.0 and still > 0.0
    ]
    while len(pairs) >= 2:
        motion = _rigid(pairs, turn)
        rest = [math.dist(motion.apply(*q), p) for _, p, q in pairs]
        worst = max(rest)
        if len(pairs) <= 3 or worst <= max(LEAST_SLIP, SLIPPING * sorted(rest)[len(rest) // 2]):
            return Step(motion, math.sqrt(sum(r * r for r in rest) / len(rest)), len(pairs))
        del pairs[rest.index(worst)]
    return None


def _rigid(pairs: Sequence[tuple[float, Point, Point]], turn: float | None) -> Pose:
    """The motion that takes the second points onto the first [m], least squares with the weights in front."""
    total = sum(w for w, _, _ in pairs)
    px, py = (sum(w * p[k] for w, p, _ in pairs) / total for k in (0, 1))
    qx, qy = (sum(w * q[k] for w, _, q in pairs) / total for k in (0, 1))
    yaw = turn
    if yaw is None:
        dot = cross = 0.0
        for w, (x0, y0), (x1, y1) in pairs:
            x0, y0, x1, y1 = x0 - px, y0 - py, x1 - qx, y1 - qy
            dot += w * (x1 * x0 + y1 * y0)
            cross += w * (x1 * y0 - y1 * x0)
        yaw = math.atan2(cross, dot)
    turned = Pose(0.0, 0.0, yaw).apply(qx, qy)
    return Pose(px - turned[0], py - turned[1], yaw)


class Odometry:
    """Dead reckoning of base_footprint in the odom frame."""

    def __init__(self, robot: Robot, scale: tuple[float, float] = (1.0, 1.0)) -> None:
        """Starts at the origin. `scale` multiplies (distances, turns by the feet), from a calibration."""
        self._robot = robot
        self._scale = scale
        self._reach = sum(math.hypot(*leg.foothold) for leg in robot.legs) / len(robot.legs)
        self._last: Support | None = None
        self.reset()

    def reset(self) -> None:
        """Puts the origin of odom where the robot is now."""
        self.pose = Pose(0.0, 0.0, 0.0)
        self.twist = ZERO
        self._bridged = 0.0  # [s] since two feet stood from one sample to the next
        self.residual = 0.0  # [m] of the last fit
        self.fitted_turn = 0.0  # [rad] of the last step by the feet alone
        self.covariance: Array = np.zeros((3, 3))  # of (x, y, yaw) in odom [m^2, rad^2]
        self.twist_covariance: Array = np.zeros((3, 3))  # of the twist [(m/s)^2, (rad/s)^2]

    @property
    def attitude(self) -> BodyPose:
        """base_link over base_footprint: height z [m], roll and pitch [rad]; x = y = yaw = 0."""
        return self._last.attitude if self._last else BodyPose(z=self._robot.walk.height)

    def update(self, joints: Array, loads: Sequence[float], dt: float, turn: float | None = None) -> Support:
        """Takes joints (n, 3) [rad] measured `dt` [s] after the last ones, and the loads (n,) [N] of the feet.

        `turn` [rad] is the change of heading an IMU saw since then.
        """
        now = observe(self._robot, joints, loads, self._last)
        last, self._last = self._last, now
        step = fit(last, now, turn) if last else None
        alone = step if turn is None or last is None else fit(last, now)
        self.fitted_turn = alone.motion.yaw if alone else 0.0
        if step is None:
            # A tripod changes feet within one sample: for that long the body goes on as it went.
            go_on = last is not None and self._bridged < BRIDGE
            x, y, yaw = exp(self.twist, dt) if go_on else Pose(0.0, 0.0, 0.0)
            step = Step(Pose(x, y, yaw if turn is None else turn), LOST, 1)
            self._bridged += dt
        else:
            self._bridged = 0.0
            step = self._scaled(step, turn)
        self._add(step, dt, turn)
        return now

    def _scaled(self, step: Step, turn: float | None) -> Step:
        x, y, yaw = step.motion
        far, round_ = self._scale
        motion = Pose(far * x, far * y, yaw * round_ if turn is None else yaw)
        return Step(motion, step.residual, step.feet)

    def _add(self, step: Step, dt: float, turn: float | None) -> None:
        x, y, yaw = step.motion
        way = math.hypot(x, y) + self._reach * abs(yaw)
        spread = REST * step.residual**2 / step.feet if way > 0.0 else 0.0
        variance = WAY * way + spread
        heading = WAY_TURN * way + spread / self._reach**2 if turn is None else TURN_NOISE * dt
        self._propagate(step.motion, variance, heading)
        self.pose = self.pose @ step.motion
        self.residual = step.residual
        if dt > 0.0:
            self.twist = log(step.motion, dt)
            self.twist_covariance = np.diag([variance, variance, heading]) / dt**2

    def _propagate(self, motion: Pose, variance: float, heading: float) -> None:
        """First-order growth of the pose's covariance by one step with its own noise."""
        c, s = math.cos(self.pose.yaw), math.sin(self.pose.yaw)
        dx, dy = c * motion.x - s * motion.y, s * motion.x + c * motion.y
        moved = np.array([[1.0, 0.0, -dy], [0.0, 1.0, dx], [0.0, 0.0, 1.0]])
        self.covariance = moved @ self.covariance @ moved.T + np.diag([variance, variance, heading])
