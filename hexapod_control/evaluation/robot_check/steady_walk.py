# SPDX-License-Identifier: Apache-2.0
"""One gait cycle of a steady walk as the planner commands it: joint angles, planted feet, margin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hexapod_control.core.kinematics.arrays import Array, read_only
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.planner.planner import MAX_TICK_S, Planner
from hexapod_control.core.planner.tick_plan import RobotState, TickPlan
from hexapod_control.core.robot import Robot

SETTLING_TIME_S = 5.0  # for the planner to recognise that the robot stands
TICK_S = 0.02
MAX_WALK_S = 40.0  # until the twist is reached, and for one cycle after it
REACHED_SHARE = 0.999  # of the twist
MAX_CYCLES = 6  # at the twist, until one ends as it began


@dataclass(frozen=True, slots=True)
class PlannedCycle:
    """Ticks of one cycle at a constant twist."""

    gait: str
    twist: Twist
    joints: Array  # (ticks, n, 3) [rad]
    velocity: Array  # (ticks, n, 3) [rad/s]
    planted: tuple[tuple[bool, ...], ...]
    margins: tuple[float, ...]  # [m] static

    @property
    def margin(self) -> float:
        """The minimum static margin [m]."""
        return min(self.margins)


def standing_start(robot: Robot) -> tuple[Planner, Array]:
    """Returns a planner whose robot stands in its neutral stance, and the joint angles (n, 3) [rad].

    Raises ValueError if the robot cannot reach that stance.
    """
    planner = Planner(robot)
    return planner, stand(planner)


def stand(planner: Planner) -> Array:
    """Puts the robot of a planner into its neutral stance, and returns the joint angles (n, 3) [rad].

    Raises ValueError if the robot cannot reach that stance.
    """
    planner.set_measured_joints(read_only(planner.capabilities.standing_joints))
    for _ in range(round(SETTLING_TIME_S / MAX_TICK_S)):
        plan = planner.step(MAX_TICK_S)
        if planner.state is RobotState.STANDING and plan.joint_angles is not None:
            return plan.joint_angles
    raise ValueError("the robot cannot stand in its neutral stance; check legs and walk.height of its robot file")


def steady_walk(robot: Robot, gait: str, twist: Twist) -> PlannedCycle:
    """Walks until the twist is reached, then for a cycle. Raises ValueError if the robot cannot."""
    planner, _ = standing_start(robot)
    refusal = planner.change_gait(gait)
    if refusal:
        raise ValueError(refusal)
    return _walk(gait, twist, steady_cycle(planner, twist))


def steady_cycle(planner: Planner, twist: Twist, tick: float = TICK_S) -> list[TickPlan]:
    """Walks until a cycle at the twist ends as it began, because strides adapt slowly. Returns its ticks of `tick` [s].

    Raises ValueError if the robot, which stands, does not reach the twist.
    """
    planner.command(twist)
    plans: list[TickPlan] = []
    cycles = 0  # that have begun
    standing = True
    for _ in range(round(MAX_WALK_S / tick)):
        plan = planner.step(tick)
        lifted = standing and not plan.planted[0]
        standing = plan.planted[0]
        reached = np.abs(plan.twist).max() >= REACHED_SHARE * np.abs(twist).max()
        if lifted and reached:
            if cycles == MAX_CYCLES or (plans and _closes(plans, plan)):
                return plans
            cycles += 1
            plans = []
        if cycles:
            plans.append(plan)
    gait = planner.view.active_gait
    raise ValueError(f"the robot does not reach the twist {tuple(twist)} in gait {gait}")


def _closes(plans: list[TickPlan], after: TickPlan) -> bool:
    """Whether the tick after a cycle is like its first one, as far as a tick moves the joints."""
    joints = np.array([plan.joint_angles for plan in (*plans, after)])
    return bool(np.abs(joints[-1] - joints[0]).max() <= np.abs(np.diff(joints, axis=0)).max())


def _walk(gait: str, twist: Twist, plans: list[TickPlan]) -> PlannedCycle:
    angles = np.array([plan.joint_angles for plan in plans])
    velocity = np.array([plan.joint_velocity for plan in plans])
    planted = tuple(plan.planted for plan in plans)
    return PlannedCycle(gait, twist, angles, velocity, planted, tuple(plan.margin for plan in plans))
