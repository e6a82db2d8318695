"""The interface of the planner's states, and the context that they share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple, Protocol, Self, TypeVar

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.gait.gait_table import AUTO
from hexapod_control.core.kinematics.leg_kinematics import LegJoints, clamp
from hexapod_control.core.kinematics.whole_body import WholeBodyPose
from hexapod_control.core.planner.requests import Request
from hexapod_control.core.planner.tick_limiter import TickLimiter
from hexapod_control.core.planner.tick_plan import RobotState, TickPlan
from hexapod_control.core.posture.posture_sequences import PostureMove, PostureSequences
from hexapod_control.core.posture.walking_legs import WalkingLegs
from hexapod_control.core.robot import Robot
from hexapod_control.core.sensing.mishaps.mishap_watch import MishapWatch
from hexapod_control.core.sensing.sensor_inputs import SensorInputs
from hexapod_control.core.walking.walk_controller import WalkController
from hexapod_control.core.walking.walk_settings import WalkSettings
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.twist_limits import change_towards

AnyMove = TypeVar("AnyMove", bound=PostureMove)
PAUSE_TIME_S = 0.25  # in which a stopped move comes to rest
NO_POSE = "the pose is not known yet: no joint_states have arrived; start or arm the driver"
TORQUE_OFF = "the torque is off: call arm, after an emergency stop first estop with false and reset_fault, then stand"


@dataclass
class PlannerContext(Copyable):
    """The data that all states share: the tables of one robot, its settings and sensors, and the last tick."""

    legs: WalkingLegs  # the legs that are not lost; robot, tables, joints and plan refer only to these
    limiter: TickLimiter
    sensors: SensorInputs
    settings: WalkSettings
    watch: MishapWatch
    joints: tuple[LegJoints, ...] = ()  # [rad] of the last tick, or as measured; empty while they are unknown
    plan: TickPlan | None = None  # of the last tick
    pace: float = 1.0  # time scale (0 to 1) of a move, with which it stops and continues smoothly
    wanted_gait: str = ""  # the gait requested last; empty: that of the robot file

    @classmethod
    def of(cls, legs: WalkingLegs, sensors: SensorInputs, settings: WalkSettings) -> PlannerContext:
        """The context of a robot with these legs and an unknown pose."""
        limiter, watch = TickLimiter(legs.capabilities.robot), MishapWatch(legs.whole)
        return cls(legs, limiter, sensors, settings, watch, wanted_gait=settings.selection.name)

    @property
    def robot(self) -> Robot:
        """The robot with its walking legs; lost legs are part of its body."""
        return self.legs.capabilities.robot

    @property
    def capabilities(self) -> Capabilities:
        """Gaits, stance regions and speeds with these legs."""
        return self.legs.capabilities

    @property
    def sequences(self) -> PostureSequences:
        """Posture sequences with these legs."""
        return self.legs.sequences

    @property
    def touching(self) -> tuple[bool, ...] | None:
        """Which feet touch the ground; None if unknown, or if the adaptation is off."""
        touching = self.sensors.touching
        return None if touching is None else self.legs.of_whole(touching)

    def change_legs(self, legs: WalkingLegs) -> None:
        """Changes to other legs; the robot is at rest, and lost legs hold their joints."""
        joints = self.legs.completed(self.joints, self.legs.folded) if self.joints else ()
        capabilities, wanted = legs.capabilities, self.wanted_gait
        if wanted not in capabilities.gait_names or (legs.lost and wanted != AUTO):
            wanted = ""  # the default gait of the robot: with fewer legs, the fastest one
        self.legs = legs.holding(joints) if joints else legs
        self.limiter = TickLimiter(capabilities.robot)
        self.settings = replace(self.settings, selection=capabilities.selection(wanted))
        self.joints, self.plan = legs.of_whole(joints), None

    def restart_from(self, joints: tuple[LegJoints, ...]) -> None:
        """Restarts from measured joint angles (n, 3) [rad] of the whole robot, within the limits; empty: unknown."""
        if joints:
            self.legs = self.legs.holding(joints)
        self.joints, self.plan = tuple(map(clamp, self.robot.legs, self.legs.of_whole(joints))) if joints else (), None
        self.limiter.reset()

    def change_pace(self, goal: float, dt: float) -> float:
        """Ramps the pace towards a goal (0 to 1) for `dt` [s], from 1 to 0 in PAUSE_TIME_S. Returns the pace."""
        self.pace = change_towards(self.pace, goal, dt / PAUSE_TIME_S)
        return self.pace

    def advance_first(self, moves: list[AnyMove], dt: float, pace_goal: float = 1.0) -> WholeBodyPose | None:
        """Advances the first of several moves by `dt` [s]; the pace ramps to `pace_goal`. Returns None at pace 0."""
        pace = self.change_pace(pace_goal, dt)
        if pace <= 0.0:
            return None
        moves[0], pose = self.limiter.advance(moves[0], self.joints, dt, pace)
        return pose


def remove_finished(moves: list[AnyMove]) -> AnyMove | None:
    """Removes the first of several moves if it is done. Returns it if it was the last one, else None."""
    if not moves[0].done:
        return None
    finished = moves.pop(0)
    return None if moves else finished


class StateReply(NamedTuple):
    """The result of a request."""

    state: PlannerState
    text: str = ""  # why the request is refused, or how it was changed; empty: accepted unchanged


class PoseOrigin(Enum):
    """Origin of the body pose of a standing robot."""

    REQUESTED = "requested"
    TAKEN_OVER = "taken over"  # at take-over or after a stopped move; the first velocity moves the body to neutral
    RELIEVED = "relieved"  # as TAKEN_OVER, after the targets of a stuck leg have moved to where it is


class PlannerState(Protocol):
    """One state of the planner.

    A state is constructed with all its data, and left by returning the next state: from `handle` after a request, from
    `after_tick` when a motion has ended, or from `after_rest` when a stopped motion has come to rest.
    """

    @property
    def robot_state(self) -> RobotState:
        """The published state of the robot."""

    @property
    def walk(self) -> WalkController | None:
        """The walk controller of a robot on its feet, else None."""

    @property
    def progress(self) -> float:
        """Share (0 to 1) of the present posture move that is done; 0 if it has no defined end."""

    @property
    def lies_down(self) -> bool:
        """True from an accepted request to sit down until the robot sits; commands are ignored meanwhile."""

    def handle(self, request: Request, context: PlannerContext) -> StateReply:
        """Handles a request. Returns the next state, and why the request is refused."""

    def advance(self, dt: float, context: PlannerContext) -> WholeBodyPose | None:
        """Advances by `dt` [s] as far as pace and limiter allow. Returns the pose, None if nothing moves."""

    def after_tick(self, plan: TickPlan, dt: float, context: PlannerContext) -> PlannerState:
        """Returns the state after a tick of `dt` [s] in which the robot moved."""

    def after_rest(self, context: PlannerContext) -> PlannerState:
        """Returns the state after a tick in which nothing moved."""


class AtRest:
    """Base class of the states in which nothing moves."""

    walk = None
    progress = 0.0
    lies_down = False

    def advance(self, dt: float, context: PlannerContext) -> WholeBodyPose | None:
        """Returns None, as nothing moves."""
        return None

    def after_tick(self, plan: TickPlan, dt: float, context: PlannerContext) -> Self:
        """Stays in this state."""
        return self

    def after_rest(self, context: PlannerContext) -> Self:
        """Stays in this state."""
        return self
