"""Controls the body over the feet: the requested pose, a shift or a temporary pose, a sway, and a levelling tilt.

The pose of base_link over base_footprint is that of `BodyPoseControl`, shifted by `BodySway`, plus the tilt of
`BodyLevelling`.
"""

from __future__ import annotations

from collections.abc import Sequence

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.kinematics.body_pose import BodyPose, Placement
from hexapod_control.core.robot import Point
from hexapod_control.core.walking.body.body_levelling import LEVEL, BodyLevelling, Tilt
from hexapod_control.core.walking.body.body_pose_control import BodyPoseControl
from hexapod_control.core.walking.body.body_sway import CENTERED, BodySway
from hexapod_control.core.walking.body.pose_feasibility import PoseFeasibility
from hexapod_control.core.walking.foot import Foot
from hexapod_control.core.workspace.capabilities import Capabilities


class BodyControl(Copyable):
    """Pose, sway and tilt of the body; `step` advances pose and tilt by one tick."""

    _height: float  # [m] of base_link above the ground in the neutral stance
    _requested: BodyPose  # by the operator
    _shift: Point  # [m] (x, y) added to the requested pose
    temporary: bool  # whether a temporary pose replaces the requested one

    def __init__(self, capabilities: Capabilities, pose: BodyPose) -> None:
        """Starts at rest in a pose."""
        self._height = capabilities.robot.walk.height
        self._feasibility = PoseFeasibility(capabilities)
        self._pose = BodyPoseControl(self._feasibility, pose)
        self._requested = pose
        self._shift = (0.0, 0.0)
        self.sway = BodySway(self._feasibility)
        self.temporary = False
        self.levelling: BodyLevelling | None = None  # None: the body is parallel to the ground

    @property
    def pose(self) -> BodyPose:
        """The present pose, without the tilt."""
        return self._pose.pose

    @property
    def goal(self) -> BodyPose:
        """The goal of the pose while the robot stands."""
        return self._pose.standing_goal

    @property
    def walking_goal(self) -> BodyPose:
        """The goal of the pose while the robot walks."""
        return self._pose.walking_goal

    @property
    def height(self) -> float:
        """Height of base_link above the ground [m]."""
        return self._height + self._pose.pose.z

    @property
    def still(self) -> bool:
        """True while the pose does not change."""
        return self._pose.still

    @property
    def walkable(self) -> bool:
        """True if the robot can walk in the present pose."""
        return self._pose.walkable

    @property
    def settled(self) -> bool:
        """True if the body is in the requested pose, neither swayed nor tilted by levelling."""
        centered = self.sway.offset == CENTERED
        return centered and self._pose.pose == self._pose.standing_goal and not (self.temporary or self.levelling)

    @property
    def region_share(self) -> float:
        """The region share (REGION_SHARES) that pose, sway and tilt of the body leave."""
        share = min(self._pose.region_share, self.sway.region_share)
        return min(share, self.levelling.region_share) if self.levelling else share

    @property
    def placement(self) -> Placement:
        """Placement of the body over the ground."""
        return self._placement_of(self._pose.pose)

    @property
    def resting_placement(self) -> Placement:
        """Placement of the body in the pose in which it can come to rest."""
        return self._placement_of(self._pose.rest)

    def _placement_of(self, pose: BodyPose) -> Placement:
        """Placement for a pose with the present sway and tilt."""
        if self.sway.offset != CENTERED:
            pose = _shifted(pose, self.sway.offset)
        return Placement(self.levelling.applied_to(pose) if self.levelling else pose, self._height)

    @property
    def slope(self) -> Tilt:
        """Roll and pitch [rad] of the ground under the body; level without an IMU."""
        return LEVEL if self.levelling is None else self.levelling.slope(self._pose.pose)

    def can_stand(self, pose: BodyPose) -> bool:
        """Returns True if a standing robot can take this pose without clamping."""
        return self._feasibility.can_stand(pose)

    def can_shift_to(self, pose: BodyPose, feet: Sequence[Foot]) -> bool:
        """Returns True if the body can take this pose without clamping over the present feet."""
        return self._pose.can_shift_to(pose, feet)

    def can_start_walking(self, feet: Sequence[Foot]) -> bool:
        """Returns True if the robot can walk in the present pose and the feet can step to their neutral footholds."""
        return self._pose.can_start_walking(feet)

    def request(self, pose: BodyPose, duration: float = 0.0) -> None:
        """Moves to a body pose in `duration` [s], or as fast as the limits allow."""
        self._requested = pose
        self._pose.request(_shifted(pose, self._shift), duration)

    def request_later(self, pose: BodyPose) -> None:
        """Requests a body pose, to which the body moves once the temporary pose ends."""
        self._requested, self.temporary = pose, True

    def take_temporarily(self, pose: BodyPose) -> None:
        """Moves to a pose until `end_temporary`; the requested pose is kept."""
        self.temporary = True
        self._pose.request(pose)

    def end_temporary(self) -> None:
        """Ends a temporary pose: the body moves to the requested one."""
        if self.temporary:
            self.temporary = False
            self._pose.request(_shifted(self._requested, self._shift))

    def shift(self, offset: Point) -> None:
        """Adds an offset (x, y) [m] to the requested pose from now on."""
        self._shift = offset
        self._pose.request(_shifted(self._requested, self._shift))

    def track(self, pose: BodyPose) -> None:
        """Follows a pose that changes every tick and is known to be reachable."""
        self._pose.track(pose)

    def sense(self, tilt: Tilt | None) -> None:
        """Processes the measured roll and pitch [rad] of the body; None if unknown or levelling is off."""
        if tilt is not None and self.levelling is None:
            self.levelling = BodyLevelling()
        if self.levelling is not None:
            self.levelling.measured = tilt
            if self.levelling.faded:
                self.levelling = None

    def step(self, dt: float, stepping: bool, feet: Sequence[Foot]) -> None:
        """Advances the body by `dt` [s] towards its goal, which depends on whether the robot is `stepping`."""
        pose = self._pose
        pose.step(dt, pose.stepping_goal(feet) if stepping else pose.standing_goal, feet)
        if self.levelling is not None:
            self.levelling.step(dt, pose.pose, self._feasibility, feet)

    def retreat(self, dt: float) -> None:
        """Moves straight towards the neutral pose without tilt for `dt` [s]."""
        self._pose.retreat(dt)
        if self.levelling is not None:
            self.levelling.retreat(dt)


def _shifted(pose: BodyPose, offset: Point) -> BodyPose:
    return pose._replace(x=pose.x + offset[0], y=pose.y + offset[1])
