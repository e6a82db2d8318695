"""From commands to foot targets: the one object a gait planner node needs.

A tick takes the measured time step, moves body, feet and clock by it and gives one complete row: foot
targets in base_link, or joints where Cartesian targets cannot say it. A command is accepted or refused at once; what
it starts goes on from wherever the robot is.
"""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from typing import Any

import numpy as np

from hexapod_control.core.kinematics.arrays import Array, read_only
from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose
from hexapod_control.core.kinematics.leg_clearance import LegClearance
from hexapod_control.core.kinematics.leg_kinematics import LegJoints
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.kinematics.support_detection import detect_support
from hexapod_control.core.kinematics.whole_body import BodyMotion
from hexapod_control.core.planner.plan_builder import PlanBuilder
from hexapod_control.core.planner.tick_limiter import SHORTEST_STEP, TickLimiter
from hexapod_control.core.planner.tick_plan import RobotState, TickPlan
from hexapod_control.core.posture.posture_sequences import PostureSequences
from hexapod_control.core.posture.stand_up import BodyLift
from hexapod_control.core.posture.straight_moves import FeetMove, JointMove
from hexapod_control.core.robot import Point, Robot, Vector
from hexapod_control.core.sensing.sensor_inputs import SensorInputs
from hexapod_control.core.statics.static_stability import direction_inwards
from hexapod_control.core.steering.arc_steering import twist as arc_twist
from hexapod_control.core.walking.guided.guided_legs import BallCentre, GroundPoint
from hexapod_control.core.walking.walk_controller import WalkController
from hexapod_control.core.walking.walk_settings import WalkSettings
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.twist_limits import TwistLimits

MAX_STEP = 0.1  # [s] a longer tick is taken as this long: no catching up after a pause
PAUSE = 0.25  # [s] in which a posture motion comes to rest when it is stopped
NO_POSE = "the pose is not known yet: no joint_states have arrived; start or arm the driver"


class Planner:
    """Plans for one robot. Commands may come at any time; `step` is called at the control rate."""

    def __init__(self, robot: Robot, gait: str = "", limits: TwistLimits | None = None) -> None:
        """Computes the robot's tables. Raises ValueError for a robot that cannot walk as described."""
        self.capabilities = Capabilities.of(robot)
        self.robot = robot
        self.state = RobotState.UNKNOWN
        self.style = WalkSettings(self.capabilities.gaits[gait or robot.walk.gait], limits or TwistLimits())
        self.senses = SensorInputs(robot)
        self._guard = TickLimiter(robot)
        self._transitions = PostureSequences(self.capabilities)
        self._report = PlanBuilder(robot, self._transitions.home)
        self._row: list[LegJoints] | None = None  # joints of the last tick
        self._last: TickPlan | None = None  # of the last tick
        self._motion: BodyMotion | None = None
        self._next: list[BodyMotion] = []  # what follows the present motion
        self._sit = False
        self._frozen = False
        self._rise = False
        self._pace = 1.0  # of posture motions: they stop and go on smoothly
        self._adopted = False  # taken over while standing, at a height it was found at

    def copy(self) -> Planner:
        """An independent planner in the same state."""
        other = copy.copy(self)
        other._guard = self._guard.copy()
        other._motion = self._motion.copy() if self._motion is not None else None
        other._next = [motion.copy() for motion in self._next]
        return other

    # --- what the robot is asked to do -------------------------------------------------------------

    def measured(self, joints: Array) -> None:
        """Tells where the joints (n, 3) [rad] are. Ends UNKNOWN; later only a sitting robot listens to it."""
        idle = self.state is RobotState.SITTING and self._motion is None
        if not (self.state is RobotState.UNKNOWN or idle) or not np.isfinite(joints).all():
            return
        row: list[LegJoints] = [(a, b, c) for a, b, c in np.asarray(joints, dtype=float).tolist()]
        if self.state is RobotState.UNKNOWN:
            motions = self._transitions.taking_over(row, self.style.gait)
            if motions:
                self._row, self._adopted = row, True
                self._begin(RobotState.RISING, motions)
                return
        self._row, self._last = row, None
        self._guard.forget()
        self.state = RobotState.SITTING

    def lost(self) -> None:
        """Forgets where the robot is: its servos were let go, or its pose is no longer known."""
        self.state, self._motion, self._next = RobotState.UNKNOWN, None, []
        self._row, self._last, self._sit, self._frozen, self._pace = None, None, False, False, 1.0
        self._guard.forget()

    def stand(self) -> str:
        """Stands up, or puts down what is in the air. Returns why not, or nothing if it is accepted."""
        if self.state is RobotState.UNKNOWN or self._row is None:
            return NO_POSE
        self._sit, self._frozen = False, self.row_moves
        self._rise = self.row_moves  # as soon as what moves has come to rest
        if self._walk:
            self._walk.release()
        elif self.state is RobotState.SITTING:
            self._begin(RobotState.RISING, self._transitions.getting_up(self._row, self.style.gait))
        elif self.state is RobotState.SINKING and isinstance(self._motion, BodyLift):
            rise = self._motion
            self._begin(RobotState.RISING, self._transitions.rising(rise.contacts, rise.offset, self.style.gait))
        return ""

    def sit(self) -> str:
        """Sits down, from walking after coming to rest. Returns why not, or nothing if it is accepted."""
        if self.state is RobotState.UNKNOWN:
            return NO_POSE
        self._frozen, self._rise = self.row_moves, False
        if self.state is RobotState.RISING and isinstance(self._motion, BodyLift):
            self._begin(RobotState.SINKING, self._transitions.sinking(self._motion.contacts, self._motion.offset))
        elif self.state is not RobotState.SITTING:
            self._sit = True
            if self._walk:
                self._walk.drive(ZERO)
                self._walk.settle(NEUTRAL)
        return ""

    def halt(self) -> None:
        """Stops smoothly whatever moves: feet in the air go down and stay, a posture motion waits."""
        self._sit = self._rise = False
        if self._walk:
            self._walk.halt()
        else:
            self._frozen = True

    def command(self, twist: Twist) -> None:
        """Follows a body twist; ignored unless the robot is on its feet and stays there."""
        if self._walk and not self._sit:
            if self._adopted:
                self._adopted = False
                self._walk.settle(NEUTRAL)
            self._walk.drive(twist)

    def arc(self, distance: float, curvature: float) -> Twist:
        """The twist for a travel of the outermost foot per stance [m] and a curvature, at this gait and tempo."""
        stance_time = self.style.gait.stance * self.robot.walk.swing_time * self.style.tempo
        return arc_twist(distance, curvature, self._transitions.home, stance_time)

    def pose(self, pose: BodyPose, duration: float = 0.0) -> str:
        """Goes to a body pose, clamped to what the legs reach, in `duration` [s] or as fast as is calm.

        Returns what was clamped or why it is ignored.
        """
        if not self._walk or self._sit:
            return f"ignored while {self.state.value}: stand up first"
        if self._row is not None and self._walk.would_tip(pose, self._row):
            return "refused: with a leg in the air the robot would tip"
        self._adopted = False
        self._walk.request_pose(pose, duration)
        return "" if self._walk.state.pose_goal == pose else "out of reach: clamped, see the achieved pose"

    def gait(self, name: str) -> str:
        """Changes to another gait. Returns why not, or nothing if it is accepted."""
        if name not in self.capabilities.gaits:
            return f"unknown gait {name!r}; known: {', '.join(self.capabilities.gaits)}"
        self.style = replace(self.style, gait=self.capabilities.gaits[name])
        if self._walk:
            self._walk.change_gait(self.style.gait)
        return ""

    def restyle(self, **changes: Any) -> None:
        """Changes fields of the style but the gait, which may be refused."""
        self.style = replace(self.style, **changes)
        if self._walk:
            self._walk.change_settings(self.style)

    def reach(self, leg: str, centre: Vector) -> str:
        """Leads one foot to a point [m, base_link] (its ball's centre) while the others hold the robot.

        A point at or below the ground sets the foot down there. Returns why not, or nothing if it is accepted.
        """
        refusal = self._not_on_feet(leg)
        if refusal or self._walk is None or self._row is None:
            return refusal
        return self._walk.guide_foot(self.robot.leg_names.index(leg), BallCentre(*centre), self._row)

    def reach_ground(self, leg: str, point: Vector) -> str:
        """As `reach` for a point (x, y) [m, base_footprint] and a height [m] above the ground there."""
        refusal = self._not_on_feet(leg)
        if refusal or self._walk is None or self._row is None:
            return refusal
        return self._walk.guide_foot(self.robot.leg_names.index(leg), GroundPoint(*point), self._row)

    def release(self) -> None:
        """Brings feet that are led by hand back to the ground."""
        if self._walk:
            self._walk.release()

    def move_feet(self, centres: Array, duration: float = 0.0) -> str:
        """Moves all feet straight to points (n, 3) [m, base_link] in `duration` [s]. Returns why not, or nothing."""
        refusal = self._not_at_rest()
        if refusal:
            return refusal
        assert self._row is not None
        now = detect_support(self.robot, self._row, self._attitude)
        goal = [(x, y, z) for x, y, z in np.asarray(centres, dtype=float).tolist()]
        self._begin(RobotState.MOVING, [FeetMove.between(self.robot, now.centres, goal, now.pose, duration)])
        return ""

    def move_joints(self, joints: Array, duration: float = 0.0) -> str:
        """Moves all joints straight to angles (n, 3) [rad] in `duration` [s]. Returns why not, or nothing."""
        refusal = self._not_at_rest()
        if refusal:
            return refusal
        assert self._row is not None
        goal: list[LegJoints] = [(a, b, c) for a, b, c in np.asarray(joints, dtype=float).tolist()]
        self._begin(RobotState.MOVING, [JointMove.between(self.robot, self._row, goal, self._attitude, duration)])
        return ""

    def _not_on_feet(self, leg: str) -> str:
        """Why a leg cannot be led by hand, or nothing."""
        if leg not in self.robot.leg_names:
            return f"unknown leg {leg!r}; known: {', '.join(self.robot.leg_names)}"
        if not self._walk or self._sit:
            return f"ignored while {self.state.value}: stand up first"
        return ""

    def settle(self) -> None:
        """Brings feet that are led by hand to the ground, and after them the body to its neutral pose."""
        if self._walk:
            self._walk.settle(NEUTRAL)

    # --- what it does -----------------------------------------------------------------------------

    @property
    def _walk(self) -> WalkController | None:
        return self._motion if isinstance(self._motion, WalkController) else None

    @property
    def _attitude(self) -> BodyPose:
        return self._walk.state.body_pose if self._walk else NEUTRAL

    @property
    def gait_active(self) -> str:
        """Name of the gait in force."""
        return self._walk.state.gait.name if self._walk else self.style.gait.name

    @property
    def phase(self) -> float:
        """Phase of the gait's clock in [0, 1)."""
        return self._walk.state.gait_phase if self._walk else 0.0

    @property
    def progress(self) -> float:
        """Share (0 to 1) of the present posture motion that is done; 0 where there is no end to count to."""
        return 0.0 if self._motion is None or isinstance(self._motion, WalkController) else self._motion.progress

    @property
    def joints(self) -> Array | None:
        """Joints (n, 3) [rad] of the last tick, or as measured; None while they are unknown."""
        return None if self._row is None else read_only(self._row)

    @property
    def standing_walk(self) -> WalkController | None:
        """The walk of a robot that is on its feet; None while it is not."""
        return self._walk

    @property
    def slowed(self) -> bool:
        """True if the last tick asked more of the joints than they can do and was slowed."""
        return self._guard.slowed

    def near(self) -> LegClearance | None:
        """Where neighbouring legs were nearest to each other in the last tick."""
        return self._guard.gap

    @property
    def row_moves(self) -> bool:
        """True while a motion of the whole row (move_feet, move_joints) is under way."""
        return self.state is RobotState.MOVING and self._walk is None

    @property
    def lying_row(self) -> Array:
        """Joints (n, 3) [rad] with which the robot lies before it stands up."""
        return read_only(self._transitions.lying_row)

    def neutral_footholds(self) -> tuple[Point, ...]:
        """Contact points (n, 2) [m, base_footprint] of the neutral stance at the present height."""
        return self._walk.state.stance.footholds if self._walk else self._transitions.home

    def hand_is_there(self, leg: str) -> bool:
        """True if the foot is where it was led to, or is not led at all."""
        if self._walk is None:
            return True
        return self._walk.state.guided_foot_arrived(self.robot.leg_names.index(leg))

    def braking_time(self) -> float:
        """Time [s] in which the robot comes to rest from its present speed."""
        return self._walk.braking_time() if self._walk else 0.0

    def maxima(self) -> Twist:
        """Greatest speed along each axis alone, now; zero while the robot is not on its feet."""
        return self._walk.maxima() if self._walk and not self._sit else ZERO

    def step(self, dt: float) -> TickPlan:
        """Moves everything on by `dt` [s] and gives the row of this tick."""
        if SHORTEST_STEP <= dt < math.inf:
            self.senses.step(dt, self._last is not None and bool(self._last.joint_velocity.any()))
        if self._motion is None or self._row is None or not SHORTEST_STEP <= dt < math.inf:
            return self._still()
        dt = min(dt, MAX_STEP)
        if self._walk:
            self._walk.sense(*((None, None) if self._sit else (self.senses.touching, self.senses.lean)))
        aim = 0.0 if self._frozen else 1.0
        self._pace += min(max(aim - self._pace, -dt / PAUSE), dt / PAUSE)
        if self._pace <= 0.0:
            if self.row_moves:  # given up where it has come to rest
                self._give_up()
            return self._still()
        before = read_only(self._row) if self._last is None or self._last.row is None else self._last.row
        done = self._guard.advance(self._motion, self._row, dt, self._pace)
        plan = self._report.plan(self.state, done, before, self._last, dt)
        self._motion, self._row = done.motion, done.frame.joints
        if done.motion.done:
            self._follow_on()
        self._settle()
        self._balance(plan, dt)
        self._last = plan
        return plan

    def _balance(self, plan: TickPlan, dt: float) -> None:
        """Lets the walk take measures where the margin of its last tick is too small."""
        walk = self._walk
        if walk is None or self.style.margin <= 0.0 or walk.state.guiding or math.isnan(plan.margin):
            return
        edge = (0.0, 0.0)
        if plan.margin < self.style.margin:
            standing = [(x, y) for (x, y), down in zip(plan.contacts.tolist(), plan.planted, strict=True) if down]
            edge = direction_inwards(standing, plan.center)
        walk.recover_margin(dt, plan.margin, edge)

    def _still(self) -> TickPlan:
        return self._report.still(self.state, self._last, self.joints)

    def _begin(self, state: RobotState, motions: list[BodyMotion]) -> None:
        self.state = state
        self._motion, self._next = (motions[0], motions[1:]) if motions else (None, [])
        if self._walk:
            self._walk.change_settings(self.style)
            if self._walk.state.gait is not self.style.gait:
                self._walk.change_gait(self.style.gait)

    def _follow_on(self) -> None:
        """What comes after a motion that is done: the next, or the walk of a robot that ends on its feet.

        After one of the whole row, also what was asked for since: it may have ended before it could come to rest.
        """
        if not self._next and isinstance(self._motion, FeetMove | JointMove) and self._row is not None:
            walk = self._transitions.standing_on(self._row, self._motion.pose, self.style.gait)
            self._begin(RobotState.STANDING if walk else RobotState.SITTING, walk)
            self._frozen = False
            if self._rise:
                self.stand()
        else:
            self._begin(self.state, self._next)

    def _give_up(self) -> None:
        """Ends a motion of the whole row where it has come to rest; then whatever was asked for since."""
        self._next, self._adopted = [], True
        self._follow_on()

    def _not_at_rest(self) -> str:
        if self.state is RobotState.UNKNOWN or self._row is None:
            return NO_POSE
        resting = self._motion is None or (self._walk is not None and self._walk.state.still and not self._sit)
        return "" if resting else f"ignored while {self.state.value}: wait until the robot rests"

    def _settle(self) -> None:
        """The state that follows from the motion."""
        walk = self._walk
        if walk is None:
            if self._motion is None:
                self.state = RobotState.SITTING
            return
        self.state = (
            RobotState.MOVING
            if walk.state.guiding
            else RobotState.STANDING
            if walk.state.at_rest
            else RobotState.WALKING
        )
        if self._sit and (walk.state.halted or walk.state.pose_goal != NEUTRAL):  # also one that was just taken over
            walk.drive(ZERO)
            walk.settle(NEUTRAL)
        if self._sit and walk.state.at_home:
            self._sit = False
            self._begin(RobotState.SINKING, self._transitions.lying_down(walk))
