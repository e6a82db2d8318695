"""A read-only view of a planner, for nodes, motions, evaluation and tests."""

from __future__ import annotations

from hexapod_control.core.kinematics.arrays import Array, read_only
from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose
from hexapod_control.core.kinematics.leg_clearance import LegClearance
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.planner.faults.frozen_state import Frozen
from hexapod_control.core.planner.faults.leg_change import LegChange, LyingLegChange
from hexapod_control.core.planner.faults.mishap_response import present_mishap
from hexapod_control.core.planner.faults.unknown_state import Unknown
from hexapod_control.core.planner.states import OnFeet, PlannerContext, PlannerState, PoseOrigin, Transition
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.core.robot import Point
from hexapod_control.core.steering.arc_steering import twist as twist_of_arc
from hexapod_control.core.walking.walk_settings import WalkSettings


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
        self.held_reason = state.mishap.text if isinstance(state, Frozen) and not self.waits_for_command else ""
        # True while a robot on its feet is in the pose in which it was taken over
        self.pose_taken_over = isinstance(state, OnFeet | Transition) and state.origin is not PoseOrigin.REQUESTED
        self.rising = state.robot_state is RobotState.RISING  # commands are ignored meanwhile
        # True while a leg is folded or unfolded, and while the robot comes to rest for it
        self.changing_legs = isinstance(state, LegChange | LyingLegChange)

    # --- the robot ---------------------------------------------------------------------------------

    @property
    def on_feet(self) -> bool:
        """True while the robot stands, walks or guides a foot."""
        return self.walk is not None

    @property
    def why_unknown(self) -> str:
        """Why the pose is unknown, so that requests are refused; empty while it is known."""
        return self._state.reason if isinstance(self._state, Unknown) else ""

    @property
    def at_rest(self) -> bool:
        """True while the robot lies, or neither its body nor a foot moves; a guided foot may be held in the air."""
        return self.walk.still if self.walk is not None else self._state.robot_state is RobotState.SITTING

    @property
    def in_neutral_stance(self) -> bool:
        """True at rest with every foot at its neutral foothold and the body pose at its goal."""
        return self.walk is not None and self.walk.in_neutral_stance

    @property
    def lying_down(self) -> bool:
        """True from an accepted request to sit down until the robot sits."""
        return self._state.lies_down

    @property
    def whole_body_move_active(self) -> bool:
        """True while all feet or all joints move to a goal (move_feet, move_joints)."""
        return self.walk is None and self._state.robot_state is RobotState.MOVING

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
