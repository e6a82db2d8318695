"""Builds the plan of a tick: adds velocities, foot loads and static margin to the pose of the robot."""

from __future__ import annotations

import math

import numpy as np

from hexapod_control.core.kinematics.arrays import Array, read_only
from hexapod_control.core.kinematics.body_pose import NEUTRAL
from hexapod_control.core.kinematics.leg_kinematics import clamp, forward
from hexapod_control.core.kinematics.se2 import ZERO
from hexapod_control.core.kinematics.whole_body import WholeBodyPose
from hexapod_control.core.planner.planner_state import PlannerContext
from hexapod_control.core.planner.tick_plan import RobotState, TickPlan
from hexapod_control.core.posture.walking_legs import WalkingLegs
from hexapod_control.core.statics.static_stability import GRAVITY, center_of_mass, foot_loads, static_margin
from hexapod_control.core.walking.walk_controller import WalkController


def build_plan(
    context: PlannerContext, state: RobotState, pose: WholeBodyPose, walk: WalkController | None, dt: float
) -> TickPlan:
    """Returns the plan of a tick of `dt` [s] that ends in `pose`; the context has joints and plan of the last tick.

    Velocities are differences from the last tick, so that they lead exactly to the targets of this one. `walk` is None
    unless the robot is on its feet.
    """
    robot, limiter, last = context.robot, context.limiter, context.plan
    joints = read_only(pose.joints)
    if last is not None and last.joint_angles is not None:
        joints_before = last.joint_angles
    else:
        joints_before = read_only(context.joints)
    if pose.centers is None:
        feet, feet_velocity = None, _at_rest(context)
    else:
        feet = read_only(pose.centers)
        feet_before = forward(robot, joints_before) if last is None or last.feet is None else last.feet
        feet_velocity = _rate(feet_before, feet, dt)
    x, y, _ = pose.placement.to_footprint(*center_of_mass(robot, pose.joints))
    standing = [point for point, down in zip(pose.contacts, pose.planted, strict=True) if down]
    return TickPlan(
        state=state,
        feet=feet,
        feet_velocity=feet_velocity,
        support=read_only(foot_loads(pose.contacts, pose.planted, (x, y), robot.mass * GRAVITY)),
        joint_motion=joints if feet is None else None,
        joint_velocity=_rate(joints_before, joints, dt),
        joint_angles=joints,
        contacts=read_only(pose.contacts),
        planted=tuple(pose.planted),
        twist=walk.speed.twist.scaled(limiter.share) if walk else ZERO,
        pose=walk.body.pose.now if walk else NEUTRAL,
        margin=static_margin(standing, (x, y)) if standing else math.nan,
        center=(x, y),
        unreached=pose.unreached,
        gap=limiter.gap.distance if limiter.gap is not None else math.nan,
        blocked=limiter.blocked,
    )


def plan_at_rest(context: PlannerContext, state: RobotState) -> TickPlan:
    """Returns the last plan with zero velocities; before the first tick, a plan without targets."""
    zero, last = _at_rest(context), context.plan
    if last is not None:
        return last._replace(state=state, feet_velocity=zero, joint_velocity=zero, twist=ZERO, unreached=None)
    legs = len(context.robot.legs)
    return TickPlan(
        state=state,
        feet=None,
        feet_velocity=zero,
        support=read_only(np.zeros(legs)),
        joint_motion=None,
        joint_velocity=zero,
        joint_angles=read_only(context.joints) if context.joints else None,
        contacts=read_only(context.sequences.neutral_footholds),
        planted=(False,) * legs,
        twist=ZERO,
        pose=NEUTRAL,
        margin=math.nan,
        center=(0.0, 0.0),
        unreached=None,
        gap=math.nan,
        blocked=None,
    )


def for_whole_robot(plan: TickPlan, legs: WalkingLegs) -> TickPlan:
    """Returns the plan for all legs, from that of the walking legs: lost legs hold their folded pose.

    A lost leg may have been found beyond its limits; its targets are within them.
    """
    if legs.complete:
        return plan
    folded = read_only(legs.folded)
    held = read_only(list(map(clamp, legs.whole.legs, legs.folded)))
    centers, still = forward(legs.whole, held), read_only(np.zeros_like(folded))

    def with_lost(values: Array, of_lost: Array) -> Array:
        completed = of_lost.copy()
        completed[list(legs.rows)] = values
        completed.setflags(write=False)
        return completed

    blocked = plan.blocked
    if blocked is not None and blocked.legs is not None:
        blocked = blocked._replace(legs=(legs.rows[blocked.legs[0]], legs.rows[blocked.legs[1]]))
    return plan._replace(
        feet=None if plan.feet is None else with_lost(plan.feet, centers),
        feet_velocity=with_lost(plan.feet_velocity, still),
        support=with_lost(plan.support, still[:, 0]),
        joint_motion=None if plan.joint_motion is None else with_lost(plan.joint_motion, held),
        joint_velocity=with_lost(plan.joint_velocity, still),
        joint_angles=None if plan.joint_angles is None else with_lost(plan.joint_angles, folded),
        contacts=with_lost(plan.contacts, centers[:, :2]),
        planted=legs.completed(plan.planted, (False,) * len(folded)),
        blocked=blocked,
    )


def _at_rest(context: PlannerContext) -> Array:
    """Zero velocities (n, 3)."""
    return read_only(np.zeros((len(context.robot.legs), 3)))


def _rate(before: Array, after: Array, dt: float) -> Array:
    """Velocities (n, 3) between the values of two ticks `dt` [s] apart, read-only."""
    velocities: Array = (after - before) / dt
    velocities.setflags(write=False)
    return velocities
