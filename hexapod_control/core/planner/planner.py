# SPDX-License-Identifier: Apache-2.0
"""The planner: handles requests and returns one plan of targets per tick. It is the complete interface for a node.

A request is accepted or refused at once, and then executed tick by tick from the present pose. The states and their
transitions are in states.py and faults/; a tick advances the present state by the measured time step, and `build_plan`
adds velocities, foot loads and static margin to the pose of the robot.
See docs/architecture/planner-states.md.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.gait.gait_table import unknown_gait
from hexapod_control.core.kinematics.arrays import Array, read_only
from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose
from hexapod_control.core.kinematics.frame_tree import FramePose
from hexapod_control.core.kinematics.leg_clearance import LegClearance
from hexapod_control.core.kinematics.leg_kinematics import LegJoints, clamp, forward
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.kinematics.se2 import twist as twist_of_arc
from hexapod_control.core.kinematics.whole_body import WholeBodyPose
from hexapod_control.core.names import quoted
from hexapod_control.core.planner import requests
from hexapod_control.core.planner.faults.leg_change import LegChange, LyingLegChange, begin_leg_change
from hexapod_control.core.planner.faults.mishap_response import (
    Frozen,
    leave_blocked,
    present_mishap,
    recover,
    respond,
    rising_refusal,
    waiting_request,
)
from hexapod_control.core.planner.faults.unknown_state import Unknown
from hexapod_control.core.planner.joint_stream import FollowingJoints, follow_joints
from hexapod_control.core.planner.states import OnFeet, PlannerContext, PlannerState, PoseOrigin, Transition
from hexapod_control.core.planner.tick_limiter import MIN_TICK_S
from hexapod_control.core.planner.tick_plan import RobotState, TickPlan
from hexapod_control.core.posture.walking_legs import WalkingLegs
from hexapod_control.core.refusal import Refusal
from hexapod_control.core.robot import Point, Robot, Vector
from hexapod_control.core.sensing.sensor_inputs import SensorInputs
from hexapod_control.core.statics.static_stability import GRAVITY, center_of_mass, foot_loads, static_margin
from hexapod_control.core.steering.course_control import CourseControl
from hexapod_control.core.terrain.height_map import TerrainGrid
from hexapod_control.core.walking.foothold_plan import Sight
from hexapod_control.core.walking.walk_controller import WalkController
from hexapod_control.core.walking.walk_settings import WalkSettings
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.twist_limits import TwistLimits


class PlannerView:
    """The state of a planner between two ticks; get a new view (`planner.view`) after a request or a tick."""

    def __init__(self, context: PlannerContext, state: PlannerState) -> None:
        """Shows the present state of the planner."""
        self._context = context
        self._state = state
        self.walk = state.walk  # None unless the robot stands or walks
        self.selected_gait = (self.walk.gaits if self.walk else context.settings).selection.name  # a gait or `auto`
        self.lost_legs = context.legs.names_of_lost
        self.mishap = present_mishap(state, context)  # None without one
        # A lifted robot that stands on its feet again walks on a velocity; else `held_reason` says why it does not.
        self.waits_for_command = isinstance(state, Frozen) and state.waits_for_command(context)
        held = state if isinstance(state, Frozen) and not self.waits_for_command else None
        self.held_reason = None if held is None else held.mishap.refusal
        # True while a robot on its feet is in the pose in which it was taken over
        self.pose_taken_over = isinstance(state, OnFeet | Transition) and state.origin is not PoseOrigin.REQUESTED
        waits = isinstance(state, OnFeet) and state.then is None  # low, until a command lets it rise
        self.rising = state.robot_state is RobotState.RISING and not waits  # commands are ignored meanwhile
        # True while a leg is folded or unfolded, and while the robot comes to rest for it
        self.changing_legs = isinstance(state, LegChange | LyingLegChange)

    # --- the robot ---------------------------------------------------------------------------------

    @property
    def on_feet(self) -> bool:
        """True while the robot stands, walks or guides a foot."""
        return self.walk is not None

    @property
    def why_unknown(self) -> Refusal | None:
        """Why the pose is unknown, so that requests are refused; None while it is known."""
        return self._state.reason if isinstance(self._state, Unknown) else None

    @property
    def at_rest(self) -> bool:
        """True while the robot lies, or neither its body nor a foot moves; a guided foot may be held in the air."""
        return self.walk.still if self.walk is not None else self._state.robot_state is RobotState.SITTING

    @property
    def in_neutral_stance(self) -> bool:
        """True at rest with all feet at their neutral footholds, or the places seen instead, whatever the ground."""
        return self.walk is not None and self.walk.returned

    @property
    def lying_down(self) -> bool:
        """True from an accepted request to sit down until the robot sits."""
        return self._state.lies_down

    @property
    def whole_body_move_active(self) -> bool:
        """True while all feet or all joints move to a goal (move_feet, move_joints)."""
        return self.walk is None and self._state.robot_state is RobotState.MOVING

    @property
    def why_joints_ended(self) -> Refusal | None:
        """Why a stream of joint targets has ended, while the robot comes to rest after it."""
        return self._state.ended if isinstance(self._state, FollowingJoints) else None

    @property
    def progress(self) -> float:
        """Share (0 to 1) of the present posture move that is done; 0 if it has no defined end."""
        return self._state.progress

    @property
    def joint_angles(self) -> Array | None:
        """Joint angles (n, 3) [rad] of the last tick, or as measured; None while they are unknown."""
        joints, legs = self._context.joints, self._context.legs
        return read_only(legs.completed(joints, legs.folded)) if joints else None

    @property
    def lying_joints(self) -> Array:
        """Joint angles (n, 3) [rad] with which the robot lies before it stands up."""
        legs = self._context.legs
        return read_only(legs.completed(self._context.sequences.lying_joints, legs.folded))

    @property
    def slowed(self) -> bool:
        """True if the last tick was slowed because it exceeded the limits of the joints."""
        return self._context.limiter.slowed

    @property
    def leg_clearance(self) -> LegClearance | None:
        """Smallest gap between neighbouring legs after the last tick; None while unknown."""
        return self._context.limiter.gap

    # --- corrections by sensors --------------------------------------------------------------------

    @property
    def sight(self) -> Sight:
        """Whether a map of the ground is used."""
        return self._context.footholds.sight

    @property
    def course(self) -> CourseControl:
        """What keeps the course; read-only."""
        return self._context.feedback.course

    @property
    def foot_trims(self) -> tuple[float, ...]:
        """By how much [m] each foot is raised, so that all bear load."""
        return self._context.feedback.sharing.heights

    # --- the walk ----------------------------------------------------------------------------------

    @property
    def settings(self) -> WalkSettings:
        """The requested settings of the walk."""
        return self._context.settings

    @property
    def active_gait(self) -> str:
        """Name of the active gait."""
        selection = self._context.settings.selection
        return selection.most_stable.name if self.walk is None else self.walk.motion.clock.gait.name

    @property
    def gait_phase(self) -> float:
        """Phase of the gait clock in [0, 1)."""
        return self.walk.motion.clock.phase if self.walk is not None else 0.0

    @property
    def body_pose(self) -> BodyPose:
        """Pose of the body now, relative to the neutral stance."""
        return self.walk.body.pose.now if self.walk is not None else NEUTRAL

    @property
    def body_pose_goal(self) -> BodyPose:
        """Goal of the body pose of a standing robot."""
        return self.walk.body.pose.standing_goal if self.walk is not None else NEUTRAL

    def pose_reachable(self, pose: BodyPose) -> bool:
        """Returns True if a standing robot can take a body pose without clamping."""
        return self.walk is not None and self.walk.body.feasibility.can_stand(pose)

    def neutral_footholds(self) -> tuple[Point, ...]:
        """Returns the contact points (n, 2) [m, base_footprint] of the neutral stance at the present height."""
        return self.walk.regions.footholds if self.walk is not None else self._context.sequences.neutral_footholds

    def guided_foot_arrived(self, leg: str) -> bool:
        """Returns True if the foot of a leg has reached its guided goal, or is not guided."""
        return self.walk is None or self.walk.motion.feet[self._context.robot.leg_names.index(leg)].arrived

    # --- speed -------------------------------------------------------------------------------------

    def maxima(self) -> Twist:
        """Returns the present maximum speed along each axis alone; zero while no velocity commands are accepted."""
        if isinstance(self._state, FollowingJoints):
            return self._state.maxima
        ignored = self._state.lies_down or self.rising
        return self.walk.maxima() if self.walk is not None and not ignored else ZERO

    def speed_limit(self) -> Twist:
        """Returns the commanded twist within the speed limits; zero unless the robot stands or walks."""
        return self.walk.limit().twist if self.walk is not None else ZERO

    def braking_time(self) -> float:
        """Returns the time [s] in which the robot can come to rest from its present speed."""
        return self.walk.braking_time() if self.walk is not None else 0.0

    def arc_twist(self, distance: float, curvature: float) -> Twist:
        """Returns the twist for a travel [m] of the outermost foot per stance and a curvature, in the present gait."""
        settings, robot = self._context.settings, self._context.robot
        stance_time = settings.selection.fastest.stance_time * robot.walk.swing_time * settings.tempo
        return twist_of_arc(distance, curvature, self._context.sequences.neutral_footholds, stance_time)


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
        feet = None
        feet_velocity = _at_rest(context)
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
        twist=walk.speed.twist.scaled(limiter.time_share) if walk else ZERO,
        pose=walk.body.pose.now if walk else NEUTRAL,
        margin=static_margin(standing, (x, y)) if standing else math.nan,
        center=(x, y),
        unreached=pose.unreached,
        gap=limiter.gap.distance if limiter.gap is not None else math.nan,
        blocked=limiter.blocked,
    )


def plan_at_rest(context: PlannerContext, state: RobotState) -> TickPlan:
    """Returns the last plan with zero velocities; before the first tick, a plan without targets."""
    zero = _at_rest(context)
    last = context.plan
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


def published(plan: TickPlan, context: PlannerContext, legs: WalkingLegs | None = None) -> TickPlan:
    """Returns the plan for all legs, from that of the walking legs (by default the present ones), with their trims."""
    plan = for_whole_robot(plan, legs or context.legs)
    sharing = context.feedback.sharing
    if plan.joint_angles is None or not (context.feedback.held.active or any(sharing.heights + sharing.slopes)):
        return plan
    joints = context.feedback.targets(plan.joint_angles)
    return plan._replace(
        joint_angles=joints,
        feet=None if plan.feet is None else forward(context.legs.whole, joints),
        joint_motion=None if plan.joint_motion is None else joints,
    )


def for_whole_robot(plan: TickPlan, legs: WalkingLegs) -> TickPlan:
    """Returns the plan for all legs, from that of the walking legs: lost legs hold their folded pose.

    A lost leg may have been found beyond its limits; its targets are within them.
    """
    if len(legs.rows) == len(legs.whole.legs):
        return plan
    folded = read_only(legs.folded)
    held = read_only(list(map(clamp, legs.whole.legs, legs.folded)))
    centers = forward(legs.whole, held)
    still = read_only(np.zeros_like(folded))

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


LEG_LOST = Refusal(
    "leg_lost", "refused while a leg is lost: unfold it first (hexapod leg back LEG, or topic return_leg)"
)
MAX_TICK_S = 0.1  # longer time steps are cut to this: the planner does not catch up after a pause


class Planner(Copyable):
    """Plans the motion of one robot. Call `step` at the control rate; requests are possible between two ticks.

    It starts in the state `unknown`; `set_measured_joints` sets the pose, and `forget_pose` returns to `unknown`.
    """

    def __init__(
        self,
        robot: Robot,
        gait: str = "",
        limits: TwistLimits | None = None,
        capabilities: Capabilities | None = None,
    ) -> None:
        """Computes the tables of the robot unless given. Raises ValueError if it cannot walk as its file describes."""
        self.robot = robot
        legs = WalkingLegs.all(capabilities) if capabilities else WalkingLegs.without(robot, frozenset())
        selection = legs.capabilities.selection(gait)
        settings = WalkSettings(selection, limits or TwistLimits(), tempo=robot.walk.tempo)
        self._context = PlannerContext.of(legs, SensorInputs(robot), settings)
        self.capabilities = legs.capabilities  # with the legs that are not lost
        self._state: PlannerState = Unknown()
        self.plays_motion = False  # True while a motion commands the robot: its state is then `moving`
        self._failed = False  # whether the last tick failed

    @property
    def sensors(self) -> SensorInputs:
        """What is measured, and the adaptations that use it."""
        return self._context.sensors

    @property
    def state(self) -> RobotState:
        """State of the robot, as published on `gait_state`."""
        if self._failed:
            return RobotState.FAULT
        state = self._state.robot_state
        on_feet = state in (RobotState.STANDING, RobotState.WALKING)
        return RobotState.MOVING if self.plays_motion and on_feet else state

    @property
    def view(self) -> PlannerView:
        """The complete state of the planner between two ticks, read-only."""
        return PlannerView(self._context, self._state)

    def step(self, dt: float) -> TickPlan:
        """Advances by `dt` [s] and returns the targets of this tick.

        A `dt` that is not finite or below MIN_TICK_S repeats the last targets.
        """
        context = self._context
        if not MIN_TICK_S <= dt < math.inf:
            return published(plan_at_rest(context, self.state), context)
        # Before the cut: ages are those of the node's time. It cuts `dt` itself after a stall, in which messages waited
        # with the planner: a sensor is not silent because it was not read.
        context.sensors.step(
            dt, moving=context.plan is not None and bool(np.count_nonzero(context.plan.joint_velocity))
        )
        dt = min(dt, MAX_TICK_S)
        pose = self._state.advance(dt, context)
        legs = context.legs
        self._failed = False
        if pose is None:
            plan = plan_at_rest(context, self.state)
            self._state = respond(self._state.after_rest(context), plan, dt, context)
            return published(plan_at_rest(context, self.state), context)
        plan = build_plan(context, self.state, pose, self._state.walk, dt)
        context.joints = tuple(pose.joints)
        context.plan = plan
        self._state = respond(self._state.after_tick(plan, dt, context), plan, dt, context)
        waiting = waiting_request(self._state, context)
        if waiting is not None:
            self._handle(waiting)
        self.capabilities = context.capabilities
        return published(plan, context, legs)

    def see(self, grid: TerrainGrid | None, base: FramePose | None) -> None:
        """Takes the newest map of the ground, and in it the pose of base_link: rotation (3, 3), position (3,) [m]."""
        self._context.footholds.see(grid, base)

    # --- pose known or unknown ----------------------------------------------------------------

    def set_measured_joints(self, joints: Array) -> None:
        """Accepts measured joint angles (n, 3) [rad].

        The first sample ends the state `unknown`; later ones are used only while the robot is lying.
        """
        if np.isfinite(joints[list(self._context.legs.rows)]).all():
            planned = self._context.feedback.sharing.without_trims(tuple(joints.ravel().tolist()))
            self._handle(requests.MeasuredJoints(_legs(np.reshape(planned, (-1, 3)))))

    def forget_pose(self) -> None:
        """Returns to `unknown` because the torque is off; when it is on again, the robot holds until a request."""
        self._state = Unknown.without_torque()
        self._context.restart_from(())
        self._context.pace = 1.0

    # --- requests ------------------------------------------------------------------------------------

    def stand(self) -> Refusal | None:
        """Stands up, or sets down the feet that are in the air."""
        return rising_refusal(self._state, self._context) or self._handle(requests.StandRequest())

    def sit(self) -> Refusal | None:
        """Sits down; a walking robot comes to rest first."""
        return self._handle(requests.SitRequest())

    def recover(self) -> Refusal | None:
        """Stands up after a fall, or continues after the robot was lifted."""
        self._state, refusal = recover(self._state, self._context)
        return refusal

    def halt(self) -> None:
        """Brings the robot to rest smoothly: feet in the air are set down, a transition between postures pauses."""
        self._handle(requests.HaltRequest())

    def fail(self) -> None:
        """Halts after a failed tick; the state is FAULT until a tick succeeds."""
        self._failed = True
        self.halt()

    def command(self, twist: Twist) -> None:
        """Follows a body twist; ignored unless the robot stands or walks."""
        self._handle(requests.VelocityRequest(twist))

    def request_pose(self, pose: BodyPose, duration: float = 0.0) -> Refusal | None:
        """Moves to a body pose in `duration` [s], or as fast as the pose limits allow.

        A pose out of reach is clamped, which is reported as a refusal is.
        """
        return self._handle(requests.BodyPoseRequest(pose, duration))

    def track_pose(self, pose: BodyPose) -> None:
        """Follows a body pose that changes every tick and is known to be in reach."""
        self._handle(requests.PoseTrackingRequest(pose))

    def guide_foot(self, leg: str, ball_center: Vector) -> Refusal | None:
        """Moves one foot to a ball center [m, base_link] while the others support the robot; below ground it lands."""
        if leg not in self._context.robot.leg_names:
            return _unusable_leg(leg, self.robot)
        return self._handle(requests.GuidedFootRequest(self._context.robot.leg_names.index(leg), ball_center))

    def guide_foot_over_ground(self, leg: str, point: Vector) -> Refusal | None:
        """As `guide_foot` for a contact point (x, y) [m, base_footprint] and a height [m] above the ground there."""
        if leg not in self._context.robot.leg_names:
            return _unusable_leg(leg, self.robot)
        return self._handle(requests.GuidedFootOverGroundRequest(self._context.robot.leg_names.index(leg), point))

    def release_feet(self) -> None:
        """Returns guided feet to their neutral footholds."""
        self._handle(requests.FeetReleaseRequest())

    def return_to_neutral(self) -> None:
        """Returns guided feet to their neutral footholds, and then the body to its neutral pose."""
        self._handle(requests.NeutralStanceRequest())

    def move_feet(self, ball_centers: Array, duration: float = 0.0) -> Refusal | None:
        """Moves all feet straight to points (n, 3) [m, base_link] in `duration` [s]; 0: at a moderate speed."""
        if self._context.legs.lost:
            return LEG_LOST
        return self._handle(requests.FeetMoveRequest(_legs(ball_centers), duration))

    def move_joints(self, joints: Array, duration: float = 0.0) -> Refusal | None:
        """Moves all joints straight to angles (n, 3) [rad] in `duration` [s]; 0: at a moderate speed."""
        if self._context.legs.lost:
            return LEG_LOST
        return self._handle(requests.JointMoveRequest(_legs(joints), duration))

    def follow_joints(self, joints: Array) -> Refusal | None:
        """Follows joint targets (n, 3) [rad] that another program sends in every tick, from a standing robot on."""
        if self._context.legs.lost:
            return LEG_LOST
        self._state, refusal = follow_joints(self._state, _legs(joints), self._context)
        return refusal

    def change_leg(self, leg: str, *, lost: bool, remaining: WalkingLegs | None = None) -> Refusal | None:
        """Folds a leg and continues on the others, or unfolds a lost leg and continues with it.

        `remaining` are the walking legs afterwards, if they have been computed already; else that takes about a second.
        """
        if leg not in self.robot.leg_names:
            return _unusable_leg(leg, self.robot)
        context = self._context
        row = frozenset({self.robot.leg_names.index(leg)})
        goal = context.legs.lost | row if lost else context.legs.lost - row
        if goal == context.legs.lost:
            return None
        if remaining is None or (remaining.whole, remaining.lost) != (self.robot, goal):
            try:
                remaining = WalkingLegs.without(self.robot, goal)
            except ValueError as error:
                return Refusal.of(error)
        self._state, refusal = begin_leg_change(self._state, remaining, context)
        self.capabilities = context.capabilities
        return refusal

    def change_gaits(self, legs: WalkingLegs) -> Refusal | None:
        """Continues with the same legs and the gaits of other tables; a walking robot comes to rest in between."""
        if legs.lost != self._context.legs.lost:
            return LEG_LOST
        self._state, refusal = begin_leg_change(self._state, legs, self._context)
        if refusal is None:
            self.robot = legs.whole
            self.capabilities = self._context.capabilities
        return refusal

    # --- walk settings ------------------------------------------------------------------------------

    def change_gait(self, name: str) -> Refusal | None:
        """Changes to another gait; `auto`: from now on to the gait that suits the speed."""
        if refusal := unknown_gait(name, self.capabilities.gait_names):
            return refusal
        context = self._context
        selection = self.capabilities.selection(name)
        context.settings = replace(context.settings, selection=selection)
        context.wanted_gait = name
        return self._handle(requests.GaitRequest(selection))

    def change_settings(self, **changes: Any) -> None:
        """Changes fields of the walk settings; the gait is changed by `change_gait`, as it may be refused."""
        self._context.settings = replace(self._context.settings, **changes)
        self._handle(requests.SettingsRequest(self._context.settings))

    def _handle(self, request: requests.Request) -> Refusal | None:
        self._state, refusal = leave_blocked(self._state, request, self._context).handle(request, self._context)
        return refusal


def _unusable_leg(leg: str, robot: Robot) -> Refusal:
    """Returns why a leg cannot be used: it is lost or unknown."""
    if leg in robot.leg_names:
        text = "leg {leg} is lost: unfold it first (hexapod leg back {leg}, or topic return_leg)"
        return Refusal("this_leg_lost", text, leg=leg)
    return Refusal(
        "unknown_leg", "unknown leg {leg}; known: {known}", leg=quoted(leg), known=", ".join(robot.leg_names)
    )


def _legs(rows: Array) -> tuple[LegJoints, ...]:
    """Converts an array (n, 3) to one tuple of floats per leg."""
    return tuple((a, b, c) for a, b, c in np.asarray(rows, dtype=float).tolist())
