# SPDX-License-Identifier: Apache-2.0
"""How measured joints follow the planned ones: with which delay, and how far the body sags over each foot.

Between a target and the measured angle that belongs to it pass the bus, the servo's loop and the bus again. The delay
is the one at which the planned joints of the past are nearest to the measured ones, in the mean over some seconds.

Measured joints also show how the body really moves over the feet that bear load: `odometry.motion_over_feet`, and with
the stiffness of the servos how hard these feet push it on. A joint that is off its target by e has the torque k e; the
force of a foot on the ground is J^-T k e, so the work along a motion of the body is the sum of k e (J^-1 dx), with the
motion dx of each foot under the body.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.kinematics.arrays import Array, read_only
from hexapod_control.core.kinematics.leg_kinematics import base_to_hip, leg_velocity
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.names import JOINTS
from hexapod_control.core.robot import Point, Robot
from hexapod_control.core.sensing.odometry import MeasuredFoot, measured_feet, motion_over_feet

MAX_DELAY_S = 0.2
MAX_ERROR_RAD = 0.2  # of a joint: with a greater one its leg is held
AVERAGING_TIME_S = 2.0  # of the squared errors
MAX_GAP_S = 0.05  # between two samples: over a longer one the feet that bear load may have changed


class TrackedTick(NamedTuple):
    """Planned and measured state of the walking legs in one tick."""

    joints: Array  # (n, 3) [rad] planned
    feet: Array  # (n, 3) [m] planned ball centers in base_link
    support: Sequence[float]  # [N] planned loads
    measured: Sequence[float]  # (3 n) [rad]
    loads: Sequence[float] | None  # [N] measured; None: unknown
    held: Array | float = 0.0  # (n, 3) [rad] by which the targets are beyond the planned joints, or that of all


class JointTracking(Copyable):
    """Planned ticks of the last MAX_DELAY_S in comparison with measured joints; `step` in every tick."""

    def __init__(self, robot: Robot) -> None:
        """Starts without samples."""
        self._robot = robot
        joints = [joint for leg in robot.legs for joint in leg.joints]
        # Stiffness [N m/rad], dry friction [N m], and more of it as a share of the torque, of each joint
        self._gears = [(j.stiffness, j.traits.friction * j.stall_torque, j.traits.load_friction) for j in joints]
        self.reset()

    def reset(self) -> None:
        """Forgets the past, after joints or feet moved otherwise than planned."""
        # Of the last ticks, newest first: joints (3 n,) [rad], balls of the feet (n, 3) [m], planned loads [N]
        self._joints: list[Array] = []
        self._most = 0  # ticks that are kept besides the present one: as the first tick of them is long
        self._targets: list[Array] = []  # (3 n,) [rad] of the servos
        self._feet: list[Array] = []
        self._supports: list[Sequence[float]] = []
        self._errors: Array = read_only(())  # [rad^2] by delay in ticks
        self._measured: tuple[MeasuredFoot, ...] = ()  # feet at the last sample
        self._loads: Sequence[float] = ()  # [N]
        self.proven: tuple[bool, ...] = ()  # feet whose measured load was seen to vanish in a swing
        self._last: Sequence[float] | None = None
        self._age = 0.0  # [s] of the last sample
        self.delay = 0.0  # [ticks]
        self.sag: tuple[float, ...] | None = None  # [m] by which the body gives way over each foot; None: unknown
        self.errors: tuple[float, ...] | None = (
            None  # [rad] of the joint of each leg that is farthest off; None: unknown
        )
        self.moved: Twist | None = None  # [m, m, rad] motion of the body since the last tick; None: unknown
        self.known = False  # joints were measured within MAX_GAP_S, so that `moved` is None only if feet do not tell it
        self._slipped: tuple[Point, ...] = ()  # [m] of each foot over the ground, since it bears load
        self.slip = 0.0  # [m] by which these ways have grown in this tick, in the mean of the feet that bear load
        self.held = False  # a leg is so far off its targets that its joints say nothing about the body

    def step(self, dt: float, tick: TrackedTick | None) -> None:
        """Processes a tick of `dt` [s]; None: joints are unknown, or move without a plan of the feet."""
        if tick is None:
            if self._joints:
                self.reset()
            return
        if not self._joints:
            self._most = max(2, round(MAX_DELAY_S / dt))
        count = self._most
        self._joints = [tick.joints.ravel(), *self._joints[:count]]
        self._targets = [(tick.joints + tick.held).ravel(), *self._targets[:count]]
        self._feet = [tick.feet, *self._feet[:count]]
        self._supports = [tick.support, *self._supports[:count]]
        self._age += dt
        late = self._age > MAX_GAP_S
        self.moved = None if late else Twist(0.0, 0.0, 0.0)
        self.slip = 0.0
        self.known = not late and len(self._joints) > count
        if len(self._joints) <= count:
            self.moved = None
            return
        if tick.measured is self._last:
            return
        self._last = tick.measured
        self._age = 0.0
        angles = np.array(tick.measured)
        self._find_delay(dt, angles)
        rows = iter(tick.measured)
        feet = measured_feet(self._robot, list(zip(rows, rows, rows, strict=True)))
        expected = self._joints[round(self.delay)]
        self.errors = tuple(np.abs(angles - expected).reshape(-1, len(JOINTS)).max(axis=1).tolist())
        loads = self._bearing(tick)
        self.held = max(self.errors) > MAX_ERROR_RAD
        if self.held:
            self.sag = self.moved = None
            self._measured = ()
            return
        self._find_sag(feet)
        if self._measured and not late:
            shared = list(map(min, self._loads, loads))
            if sum(load > 0.0 for load in shared) < 2:  # feet that lift off or touch down are at rest over the ground
                shared = list(map(max, self._loads, loads))
            found = motion_over_feet(self._measured, feet, shared, self._robot.foot_radius)
            self.moved, slip = found or (None, ((0.0, 0.0),) * len(feet))
            self._add_slip(slip, shared)
        self._measured = feet
        self._loads = loads

    def work(self, motion: Twist) -> float:
        """Work [J] of the planted feet along a motion [m, m, rad] of the body in this tick; 0 while it is unknown."""
        if not self.known or self._last is None:
            return 0.0
        past = min(int(self.delay), len(self._joints) - 2)
        share = self.delay - past  # half a tick of a fast joint is as much torque as a load
        planned = ((1.0 - share) * self._joints[past] + share * self._joints[past + 1]).tolist()
        targets = ((1.0 - share) * self._targets[past] + share * self._targets[past + 1]).tolist()
        work = 0.0
        for row, (leg, support) in enumerate(zip(self._robot.legs, self._supports[past], strict=True)):
            if support <= 0.0:
                continue
            first = 3 * row
            x, y, z = self._feet[past][row].tolist()
            moved = (x - motion.vx + motion.wz * y, y - motion.vy - motion.wz * x, z)
            ahead = base_to_hip(leg, moved)
            now = base_to_hip(leg, (x, y, z))
            angles = (planned[first], planned[first + 1], planned[first + 2])
            turns = leg_velocity(leg, angles, (ahead[0] - now[0], ahead[1] - now[1], ahead[2] - now[2]))
            for joint, turn in enumerate(turns, first):
                stiffness, friction, by_load = self._gears[joint]
                torque = stiffness * (targets[joint] - self._last[joint])
                work += torque * turn - (friction + by_load * abs(torque)) * abs(turn)
        return work

    def _bearing(self, tick: TrackedTick) -> Sequence[float]:
        """The loads [N] of the feet: planned, or measured by a sensor that has shown that it works."""
        planned = self._supports[round(self.delay)]
        if tick.loads is None:
            return planned
        known = self.proven or (False,) * len(planned)
        rows = zip(known, tick.loads, planned, tick.support, strict=True)
        self.proven = tuple([works or load == was == now == 0.0 for works, load, was, now in rows])
        return [load if works else plan for works, load, plan in zip(self.proven, tick.loads, planned, strict=True)]

    def _add_slip(self, slip: Sequence[Point], loads: Sequence[float]) -> None:
        """Adds what each foot has slipped [m]; play that lets it sway to and fro adds up to nothing."""
        before = self._slipped or ((0.0, 0.0),) * len(slip)
        bearing = [load > 0.0 for load in loads]
        rows = zip(before, slip, bearing, strict=True)
        self._slipped = tuple([(x + dx, y + dy) if bears else (0.0, 0.0) for (x, y), (dx, dy), bears in rows])
        grown = [math.hypot(*now) - math.hypot(*was) for now, was in zip(self._slipped, before, strict=True)]
        self.slip = sum([load * way for load, way in zip(loads, grown, strict=True)]) / (sum(loads) or 1.0)

    def _find_delay(self, dt: float, angles: Array) -> None:
        differences = np.array(self._joints) - angles
        errors = np.einsum("ij,ij->i", differences, differences)
        if len(self._errors) != len(errors):
            self._errors = errors
        self._errors = read_only(self._errors + min(1.0, dt / AVERAGING_TIME_S) * (errors - self._errors))
        best = min(max(int(self._errors.argmin()), 1), len(errors) - 2)
        left, least, right = self._errors[best - 1 : best + 2].tolist()
        curvature = left - 2.0 * least + right
        vertex = 0.5 * (left - right) / curvature if curvature > 0.0 else 0.0
        self.delay = best + min(max(vertex, -1.0), 1.0)

    def _find_sag(self, feet: Sequence[MeasuredFoot]) -> None:
        whole = int(self.delay)
        share = self.delay - whole
        now = self._feet[whole].tolist()
        after = self._feet[min(whole + 1, len(self._feet) - 1)].tolist()
        rows = zip(feet, now, after, strict=True)
        self.sag = tuple([foot.z - (1.0 - share) * a[2] - share * b[2] for foot, a, b in rows])
