"""From the frame of a tick to the plan that goes out: velocities, loads, and the static margin."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from hexapod_control.core.kinematics.arrays import Array, read_only
from hexapod_control.core.kinematics.body_pose import NEUTRAL
from hexapod_control.core.kinematics.leg_kinematics import forward
from hexapod_control.core.kinematics.se2 import ZERO
from hexapod_control.core.planner.tick_limiter import LimitedTick
from hexapod_control.core.planner.tick_plan import RobotState, TickPlan
from hexapod_control.core.robot import Point, Robot
from hexapod_control.core.statics.static_stability import GRAVITY, center_of_mass, foot_loads, static_margin
from hexapod_control.core.walking.walk_controller import WalkController


class PlanBuilder:
    """Makes the plans of one robot."""

    def __init__(self, robot: Robot, home: tuple[Point, ...]) -> None:
        self._robot = robot
        self._home = home
        self._weight = robot.mass * GRAVITY  # [N]
        self._zero = read_only(np.zeros((len(robot.legs), 3)))

    def plan(self, state: RobotState, done: LimitedTick, before: Array, last: TickPlan | None, dt: float) -> TickPlan:
        """The plan of a tick of `dt` [s]; `before` are the joints (n, 3) [rad], `last` the plan of the tick before."""
        found = done.frame
        walk = done.motion if isinstance(done.motion, WalkController) else None
        row = read_only(found.joints)
        feet = None if found.centres is None else read_only(found.centres)
        feet_before = None if last is None else last.feet
        if feet is not None and feet_before is None:
            feet_before = forward(self._robot, before)
        x, y, z = center_of_mass(self._robot, found.joints)
        x, y, _ = found.placement.to_footprint(x, y, z)
        standing = [point for point, down in zip(found.contacts, found.planted, strict=True) if down]
        return TickPlan(
            state=state,
            feet=feet,
            feet_velocity=self._zero if feet is None or feet_before is None else _rate(feet_before, feet, dt),
            support=read_only(foot_loads(found.contacts, found.planted, (x, y), self._weight)),
            joints=row if feet is None else None,
            joint_velocity=_rate(before, row, dt),
            row=row,
            contacts=read_only(found.contacts),
            planted=tuple(found.planted),
            twist=walk.state.twist.scaled(done.share) if walk else ZERO,
            pose=walk.state.body_pose if walk else NEUTRAL,
            margin=static_margin(standing, (x, y)) if standing else math.nan,
            center=(x, y),
            unreached=found.unreached,
            gap=done.gap.distance if done.gap is not None else math.nan,
            blocked=done.blocked,
        )

    def still(self, state: RobotState, last: TickPlan | None, row: Array | None) -> TickPlan:
        """The last plan again, at rest; nothing at all as long as no row (n, 3) [rad] was ever commanded."""
        zero, count = self._zero, len(self._robot.legs)
        if last is not None:
            return replace(last, state=state, feet_velocity=zero, joint_velocity=zero, twist=ZERO, unreached=None)
        return TickPlan(
            state=state,
            feet=None,
            feet_velocity=zero,
            support=read_only(np.zeros(count)),
            joints=None,
            joint_velocity=zero,
            row=row,
            contacts=read_only(self._home),
            planted=(False,) * count,
            twist=ZERO,
            pose=NEUTRAL,
            margin=math.nan,
            center=(0.0, 0.0),
            unreached=None,
            gap=math.nan,
            blocked=None,
        )


def _rate(before: Array, after: Array, dt: float) -> Array:
    """Speeds (n, 3) [per s] between two rows, read-only."""
    speeds: Array = (after - before) / dt
    speeds.setflags(write=False)
    return speeds
