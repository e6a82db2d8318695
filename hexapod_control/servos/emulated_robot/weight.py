# SPDX-License-Identifier: Apache-2.0
"""The weight of an emulated robot on flat ground, by statics: forces on its feet, torques of its servos, its tilt.

Legs are springs at their feet, as in `hexapod check`, and the belly is a stiff one at each of its corners. The ground
is a plane in base_link; what is below it is pressed with its stiffness times the depth. The plane at which these forces
balance the weight is the minimum of a convex energy, found by Newton's method. A foot sticks where it touches, so that
its leg also presses outwards or inwards, as far as friction permits. Motions are slow: inertia is neglected.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.leg_kinematics import LegJoints, hip_to_base, leg_forward
from hexapod_control.core.reality import Reality, built
from hexapod_control.core.robot import FRICTION_SHARE, Leg, Point, Robot
from hexapod_control.core.statics.leg_loads import weight_torques
from hexapod_control.core.statics.static_stability import GRAVITY, center_of_mass
from hexapod_control.servos.bus.bus_interface import RawScale
from hexapod_control.servos.emulator.servo_world import LagWorld
from hexapod_control.servos.settings.joint_calibration import JointCalibration

BELLY_SINK_M = 0.0005  # of the belly's corners under the whole weight
FRICTION = 0.6  # of the feet: horizontal by vertical force
TINY = 1e-9  # [m/N] of a straight leg
STEPS = 30  # of Newton's method at most; 3 to 6 are usual
PRESSED_SHARE = 0.1  # of an even share of the weight, which closes a foot switch
WEIGH_PERIOD_S = 0.02  # between two computations of the loads
SAG_TIME_S = 0.02  # time constant with which joints yield
SUPPLY_OHM = 0.03  # of the battery and its cable


class Support(NamedTuple):
    """A robot on the ground."""

    forces: Array  # (n,) [N] on the feet, 0 in the air
    torques: Array  # (n, 3) [N m] of the servos, without those of the motion
    roll: float  # [rad] of base_link against the ground
    pitch: float  # [rad], + nose down
    feet: tuple[Point, ...]  # (n,) [m] in base_link


class RobotOnGround:
    """The statics of one robot."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self._weight = robot.mass * GRAVITY  # [N]
        (cx, cy, cz), (sx, sy, sz) = robot.body.center, robot.body.size
        corners = [(cx + x * sx / 2, cy + y * sy / 2, cz - sz / 2) for x in (-1, 1) for y in (-1, 1)]
        self._belly = np.array(corners)  # (4, 3) [m]
        self._soft = np.array([[1.0 / j.stiffness for j in leg.joints] for leg in robot.legs])  # (n, 3) [rad/(N m)]

    def held(self, joints: Sequence[LegJoints], powered: NDArray[np.bool_]) -> Support:
        """The robot with joints (n, 3) [rad] in the air, where the servos that are `powered` (n, 3) hold its legs."""
        own = np.array([weight_torques(leg, angles) for leg, angles in zip(self.robot.legs, joints, strict=True)])
        places = [hip_to_base(leg, leg_forward(leg, j)[1]) for leg, j in zip(self.robot.legs, joints, strict=True)]
        return Support(np.zeros(len(own)), np.where(powered, own, 0.0), 0.0, 0.0, tuple((x, y) for x, y, _ in places))

    def standing(
        self, joints: Sequence[LegJoints], powered: NDArray[np.bool_], loaded: Sequence[LegJoints] = ()
    ) -> Support:
        """The robot with unloaded joints (n, 3) [rad] on the ground. A leg with a servo without power yields.

        The forces are those of springs that yield little; the torques hold them with the joints as they are `loaded`.
        """
        hanging = self.held(joints, powered)
        legs = list(zip(self.robot.legs, joints, strict=True))
        lowest = [hip_to_base(leg, leg_forward(leg, angles)[1])[2] - self.robot.foot_radius for leg, angles in legs]
        radius = self.robot.foot_radius
        moves = np.array([_moves(leg, radius, angles) for leg, angles in legs])  # (n, 2, 3) [m/rad] of the feet
        soft = np.einsum("nij,nj,nkj->nik", moves, self._soft, moves)  # (n, 2, 2) [m/N] outwards and upwards
        across = -soft[:, 0, 1] / np.maximum(soft[:, 0, 0], TINY)  # outward by upward force of a foot that sticks
        stiff = 1.0 / np.maximum(soft[:, 1, 1] + across * soft[:, 0, 1], TINY)  # [N/m]
        stiff = np.where(powered.all(axis=1), stiff, 0.0)
        points = np.vstack([np.column_stack([hanging.feet, lowest]), self._belly])
        belly = np.full(len(self._belly), self._weight / BELLY_SINK_M)
        plane, forces = self._balance(points, np.concatenate([stiff, belly]), center_of_mass(self.robot, joints)[:2])
        up = forces[: len(legs)]
        out = up * np.clip(across, -FRICTION, FRICTION)
        if loaded:
            hanging = self.held(loaded, powered)
            moves = np.array([_moves(leg, radius, angles) for leg, angles in zip(self.robot.legs, loaded, strict=True)])
        torques = hanging.torques - np.einsum("nij,ni->nj", moves, np.column_stack([out, up]))
        torques = np.where(powered, torques, 0.0)
        return Support(up, torques, -math.atan(plane[2]), math.atan(plane[1]), hanging.feet)

    def _balance(self, points: Array, stiff: Array, center: Point) -> tuple[Array, Array]:
        """The ground under points (m, 3) [m] with stiffnesses (m,) [N/m] that bears the weight at a center of mass.

        Returns the plane z = a + b x + c y as (a, b, c), and the forces (m,) [N].
        """
        places = np.column_stack([np.ones(len(points)), points[:, :2]])
        wanted = self._weight * np.array([1.0, *center])
        tiny = 1e-9 * stiff.max() * np.eye(3)
        plane = np.array([points[:, 2].max(), 0.0, 0.0])  # so that all points are pressed at first

        def energy(plane: Array) -> float:
            depth = np.maximum(places @ plane - points[:, 2], 0.0)
            return float(0.5 * (stiff * depth) @ depth - wanted @ plane)

        for _ in range(STEPS):
            depth = np.maximum(places @ plane - points[:, 2], 0.0)
            missing = wanted - places.T @ (stiff * depth)
            if np.abs(missing[0]) < 1e-6 * self._weight and np.abs(missing[1:]).max() < 1e-6 * self._weight:
                break
            step = np.linalg.solve((places * (stiff * (depth > 0.0))[:, None]).T @ places + tiny, missing)
            now = energy(plane)
            while energy(plane + step) > now and np.abs(step).max() > 1e-12:
                step = step / 2.0
            plane = plane + step
        return plane, stiff * np.maximum(places @ plane - points[:, 2], 0.0)


def _moves(leg: Leg, radius: float, joints: LegJoints) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Moves [m/rad] of the foot's contact outwards and upwards with each joint; a tilt of the hip is neglected.

    The contact is the lowest point of the ball with a radius [m].
    """
    _, femur, tibia = joints
    out = radius - leg.tibia.length * math.sin(femur + tibia)
    up = leg.tibia.length * math.cos(femur + tibia)
    outwards = (0.0, out - leg.femur.length * math.sin(femur), out)
    return outwards, (0.0, up + leg.femur.length * math.cos(femur), up)


class RobotWorld(LagWorld):
    """The servos of a robot that stands on the ground: its weight loads them, their joints and the supply yield."""

    def __init__(
        self,
        robot: Robot,
        joints: Sequence[JointCalibration],
        scale: RawScale,
        positions: Iterable[float],
        errors: Reality | None = None,
    ) -> None:
        """The joints are calibrated as the driver believes; positions are raw. Those of the legs are in row order.

        Extra joints may follow; they bear no load and have no errors.
        One of the joints may be replaced later, when its horn is moved.
        Of the errors, those of zeros, latency, play, dead band, torque, stiffness, supply, lengths and hips count.
        """
        super().__init__(scale, len(joints), positions=positions)
        errors = errors or Reality(len(robot.legs), supply_resistance=SUPPLY_OHM)
        robot = built(robot, errors)
        self.is_held = False  # by hand, in the air
        self.turn = 0.0  # [rad] of the body since the loads before, by its feet on the ground
        self.weighed: Callable[[float], None] = lambda dt: None  # called with new loads, `dt` [s] after those before
        self._ground = RobotOnGround(robot)
        self._joints = joints
        self._units = np.array([joint.direction * joint.units_per_rad for joint in joints])
        of_servos = [joint for leg in robot.legs for joint in leg.joints]
        of_servos += [extra.joint for extra in robot.extra_servos]
        self._leg_servos = 3 * len(robot.legs)
        extra = len(joints) - self._leg_servos

        def each(values: Array, otherwise: float) -> Array:
            return np.append(values, [otherwise] * extra)  # of all servos

        self._full = np.array([joint.stall_torque for joint in of_servos]) * each(errors.stall_torque, 1.0)  # [N m]
        self._stiff = np.array([joint.stiffness for joint in of_servos]) * each(errors.stiffness, 1.0)  # [N m/rad]
        self._offsets = each(errors.zero_offset, 0.0)  # [rad]
        self._slack = each(errors.slack, 0.0) * np.abs(self._units)  # [raw]
        self._sticks = FRICTION_SHARE * each(errors.friction, 1.0)  # loads that leave a joint where it is in its play
        self._latency = each(errors.latency, 0.0).tolist()  # [s]
        self._coming: list[tuple[float, int, float, float]] = []  # times [s], servos, goals [raw], durations [s]
        self._sides = np.zeros(self.count)  # of their play on which the joints are: -1 to 1
        self._supply_resistance = errors.supply_resistance
        self._weights = np.zeros(self.count)  # loads by the weight, as shares of the full torque
        self._sags = np.zeros(self.count)  # [raw] by which the joints yield
        self._stepped_at = -math.inf  # [s]
        self._weighed_at = -math.inf  # [s]
        self.support = self._weigh()

    @property
    def pressed(self) -> tuple[bool, ...]:
        """Whether the switch of each foot is closed."""
        robot = self._ground.robot
        needed = PRESSED_SHARE * robot.mass * GRAVITY / len(robot.legs)
        return tuple(force > needed for force in self.support.forces.tolist())

    def step(self, now: float) -> None:
        """Advances time, and from time to time the loads."""
        while self._coming and self._coming[0][0] <= now:
            due, index, raw, duration = self._coming.pop(0)
            super().step(due)
            super().goal(index, raw, duration)
        super().step(now)
        dt = now - self._stepped_at
        if not dt > 0.0:
            return
        self._stepped_at = now
        yielded = np.where(self.torques, self._weights * self._full / self._stiff * np.abs(self._units), 0.0)
        moving = np.where(self.speeds == 0.0, self._sides, -np.sign(self.speeds))
        self._sides = np.where(np.abs(self._weights) > self._sticks, -np.sign(self._weights), moving)
        yielded -= np.where(self.torques, self._sides * self._slack, 0.0)
        self._sags += -math.expm1(-dt / SAG_TIME_S) * (-yielded - self._sags)
        if now - self._weighed_at >= WEIGH_PERIOD_S:
            elapsed = now - self._weighed_at
            self._weighed_at = now
            before = self.support
            self.support = self._weigh()
            self.turn = _turned(before, self.support)
            self.weighed(elapsed)

    def _weigh(self) -> Support:
        legs = self._true(self.positions)
        count = self._leg_servos
        powered = self.torques[:count].reshape(-1, 3)
        if self.is_held:
            support = self._ground.held(legs, powered)
        else:
            support = self._ground.standing(legs, powered, self._true(self.positions + self._sags))
        self._weights[:count] = np.sign(self._units[:count]) * support.torques.ravel() / self._full[:count]
        return support

    def _true(self, positions: Array) -> list[LegJoints]:
        """The true angles (n, 3) [rad] of the joints at positions [raw]."""
        raw = zip(self._joints, positions.tolist(), self._offsets.tolist(), strict=True)
        angles = [joint.angle(place) + offset for joint, place, offset in raw]
        return [(angles[k], angles[k + 1], angles[k + 2]) for k in range(0, self._leg_servos, 3)]

    def goal(self, index: int, raw: float, duration: float) -> None:
        """Sets a goal, which the motor gets after its latency."""
        if self._latency[index] > 0.0 and self._stepped_at > -math.inf:
            coming = self._stepped_at + self._latency[index], index, raw, duration
            insort(self._coming, coming, key=itemgetter(0))
        else:
            super().goal(index, raw, duration)

    def torque(self, index: int, on: bool) -> None:
        """Switches the torque; without it, the joint stays where it has yielded to."""
        had = self.torques[index]
        super().torque(index, on)
        if had and not self.torques[index]:
            self.positions[index] += self._sags[index]
            self._sags[index] = 0.0

    def position(self, index: int) -> float:
        """Present position [raw]."""
        return float(self.positions[index] + self._sags[index])

    def load(self, index: int) -> float:
        """Share of the full load, -1 to 1: by the weight and the speed, plus `loads`."""
        own = self._weights[index] + self.speeds[index] / self._fastest if self.torques[index] else 0.0
        return float(min(max(own + self.loads[index], -1.0), 1.0))

    def voltage(self, index: int) -> float:
        """Supply voltage [V], which falls with the current."""
        return super().voltage(index) - self._supply_resistance * self.current()


def _turned(before: Support, after: Support) -> float:
    """The angle [rad] by which the body has turned over its feet on the ground; 0 if there are fewer than two."""
    down = (before.forces > 0.0) & (after.forces > 0.0)
    if np.count_nonzero(down) < 2:
        return 0.0
    was, now = (np.array([complex(*foot) for foot in each.feet])[down] for each in (before, after))
    return -float(np.angle(((now - now.mean()) * (was - was.mean()).conj()).sum()))
