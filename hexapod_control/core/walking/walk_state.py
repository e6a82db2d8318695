"""Read-only view of a walk: feet, body and gait clock."""

from __future__ import annotations

from hexapod_control.core.gait.gait_table import Gait, GaitSelection
from hexapod_control.core.kinematics.body_pose import BodyPose, Placement
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.walking.body.body_control import BodyControl
from hexapod_control.core.walking.body.body_levelling import LEVEL, Tilt
from hexapod_control.core.walking.body.margin_recovery import MarginRecovery, RecoveryMeasures
from hexapod_control.core.walking.feet.foot_motion import FootMotion
from hexapod_control.core.walking.feet.stride_control import StrideControl
from hexapod_control.core.walking.foot import Foot, Guided, GuidedPhase
from hexapod_control.core.walking.gait_change.gait_change_scheduler import GaitChangeScheduler
from hexapod_control.core.walking.speed_control import SpeedControl
from hexapod_control.core.walking.stepping import NEUTRAL_TOLERANCE
from hexapod_control.core.walking.terrain.terrain_adaptation import TerrainAdaptation
from hexapod_control.core.workspace.stance_regions import StanceRegions, StanceRegionTable
from hexapod_control.core.workspace.strides.stride_regions import Strides, split_region_share


class WalkState:
    """Read-only view of a walk, always up to date."""

    __slots__ = ("_body", "_gaits", "_motion", "_recovery", "_speed", "_stances", "_strides")

    def __init__(
        self,
        stances: StanceRegionTable,
        motion: FootMotion,
        body: BodyControl,
        speed: SpeedControl,
        gaits: GaitChangeScheduler,
        strides: StrideControl,
        recovery: MarginRecovery,
    ) -> None:
        self._stances = stances
        self._motion = motion
        self._body = body
        self._speed = speed
        self._gaits = gaits
        self._strides = strides
        self._recovery = recovery

    @property
    def feet(self) -> tuple[Foot, ...]:
        """The feet in leg order."""
        return tuple(self._motion.feet)

    @property
    def gait(self) -> Gait:
        """The active gait."""
        return self._motion.clock.gait

    @property
    def selection(self) -> GaitSelection:
        """The selected gait, or the gaits from which one is chosen by speed."""
        return self._gaits.selection

    @property
    def gait_phase(self) -> float:
        """Phase of the gait clock in [0, 1)."""
        return self._motion.clock.phase

    @property
    def swing_time(self) -> float:
        """Present time [s] from lift-off to touch-down."""
        return self._speed.swing_time

    @property
    def command(self) -> Twist:
        """The last commanded twist."""
        return self._speed.command

    @property
    def twist(self) -> Twist:
        """The executed twist, in base_footprint."""
        return self._speed.twist

    @property
    def halted(self) -> bool:
        """True after a halt: the feet stay where they are until the next command."""
        return self._speed.halted

    @property
    def body_pose(self) -> BodyPose:
        """The pose of the body without the tilt that keeps it level."""
        return self._body.pose

    @property
    def placement(self) -> Placement:
        """Placement of the body over the ground: its pose, with sway and tilt."""
        return self._body.placement

    @property
    def pose_goal(self) -> BodyPose:
        """The goal of the body pose while the robot stands."""
        return self._body.goal

    @property
    def tilt(self) -> Tilt:
        """Roll and pitch [rad] added to the pose to keep the body level."""
        return self._body.levelling.tilt if self._body.levelling else LEVEL

    @property
    def levelling(self) -> bool:
        """True while the body is kept level, or its tilt fades."""
        return self._body.levelling is not None

    @property
    def terrain(self) -> TerrainAdaptation | None:
        """The adaptation to uneven ground; None on flat ground."""
        return self._motion.terrain

    @property
    def stance(self) -> StanceRegions:
        """Neutral footholds and stance regions at the present height."""
        return self._stances.at(self._body.height)

    @property
    def strides(self) -> Strides:
        """The present stride regions, with the region share that pose and tilt of the body leave."""
        return Strides(self.stance, self._strides.regions, split_region_share(self._body.region_share).radii)

    @property
    def measures(self) -> RecoveryMeasures:
        """The measures against a small static margin."""
        return self._recovery.measures

    @property
    def guiding(self) -> bool:
        """True while a foot is guided, or waits to be."""
        return self._motion.guiding

    def guided_foot_arrived(self, leg: int) -> bool:
        """Returns True if the foot is at the end of its path, or not guided at all."""
        state = self._motion.feet[leg].state
        return not isinstance(state, Guided) or state.phase is GuidedPhase.ARRIVED

    @property
    def at_rest(self) -> bool:
        """True while the robot stands still with all feet down."""
        motion = self._motion
        return not motion.running and motion.all_in_stance and self._speed.twist.is_zero

    @property
    def still(self) -> bool:
        """True while neither the body nor a foot moves; a guided foot may be held in the air."""
        motion = self._motion
        held = all(map(self.guided_foot_arrived, range(len(motion.feet))))
        return not motion.running and held and not motion.any_in_air and self._speed.twist.is_zero and self._body.still

    @property
    def can_start_walking(self) -> bool:
        """True if the feet can step to their neutral footholds in the present pose."""
        return self._body.can_start_walking(self._motion.feet)

    @property
    def in_neutral_stance(self) -> bool:
        """True at rest with every foot near its neutral foothold and the body in its goal pose."""
        near = self._motion.distance_from_neutral(self.stance) <= NEUTRAL_TOLERANCE
        return self.at_rest and near and self._body.settled and not self._motion.terrain
