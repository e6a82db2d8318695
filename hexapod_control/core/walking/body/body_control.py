"""The body over the feet: the pose asked for, a lean or a temporary pose on top of it, and the tilt that levels it.

base_link is placed over base_footprint by the pose of `BodyPoseControl`, with the tilt of `BodyLevelling` on top.
"""

from __future__ import annotations

from collections.abc import Sequence

from hexapod_control.core.kinematics.body_pose import BodyPose, Placement
from hexapod_control.core.robot import Point
from hexapod_control.core.walking.body.body_levelling import LEVEL, BodyLevelling, Tilt
from hexapod_control.core.walking.body.body_pose_control import BodyPoseControl
from hexapod_control.core.walking.body.pose_feasibility import PoseFeasibility
from hexapod_control.core.walking.foot import Foot
from hexapod_control.core.workspace.capabilities import Capabilities


class BodyControl:
    """Pose and tilt of the body; `step` moves both by one tick."""

    __slots__ = ("_feasibility", "_height", "_lean", "_pose", "_requested", "levelling", "temporary")

    def __init__(self, capabilities: Capabilities, pose: BodyPose) -> None:
        """Starts at rest in a pose."""
        self._height = capabilities.robot.walk.height  # [m]
        self._feasibility = PoseFeasibility(capabilities)
        self._pose = BodyPoseControl(self._feasibility, pose)
        self._requested = pose  # by the operator
        self._lean: Point = (0.0, 0.0)  # [m] on top of it
        self.temporary = False  # does the body take another pose than the one requested
        self.levelling: BodyLevelling | None = None  # None: the body is parallel to the ground

    @property
    def pose(self) -> BodyPose:
        """The present pose, without the tilt."""
        return self._pose.pose

    @property
    def goal(self) -> BodyPose:
        """The pose the body goes to while the robot stands."""
        return self._pose.standing_goal

    @property
    def walking_goal(self) -> BodyPose:
        """The pose the body goes to while the robot walks."""
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
        """True if the present pose is one to walk in."""
        return self._pose.walkable

    @property
    def settled(self) -> bool:
        """True if the body is where it was asked to be, and not tilted to keep it level."""
        return self._pose.pose == self._pose.standing_goal and not (self.temporary or self.levelling)

    @property
    def region_share(self) -> float:
        """Share of the stance regions that the body's pose and tilt leave for walking."""
        share = self._pose.region_share
        return min(share, self.levelling.region_share) if self.levelling else share

    @property
    def placement(self) -> Placement:
        """Where the body is over the ground."""
        return self._placement_of(self._pose.pose)

    @property
    def resting_placement(self) -> Placement:
        """Where the body can come to rest over the ground."""
        return self._placement_of(self._pose.rest)

    def _placement_of(self, pose: BodyPose) -> Placement:
        return Placement(self.levelling.applied_to(pose) if self.levelling else pose, self._height)

    @property
    def slope(self) -> Tilt:
        """Roll and pitch [rad] of the ground under the body; level while nothing is measured."""
        return LEVEL if self.levelling is None else self.levelling.slope(self._pose.pose)

    def can_stand(self, pose: BodyPose) -> bool:
        """True if a robot that stands can take this pose as it is."""
        return self._feasibility.can_stand(pose)

    def can_lean_to(self, pose: BodyPose, feet: Sequence[Foot]) -> bool:
        """True if the body can take this pose as it is, over the feet where they are now."""
        return self._pose.can_lean_to(pose, feet)

    def can_start_walking(self, feet: Sequence[Foot]) -> bool:
        """True if the pose is one to walk in, and the feet can step home in it as far as they can in any."""
        return self._pose.can_start_walking(feet)

    def request(self, pose: BodyPose, duration: float = 0.0) -> None:
        """Goes to a body pose, in `duration` [s] or as fast as the limits allow."""
        self._requested = pose
        self._pose.request(_shifted(pose, self._lean), duration)

    def request_later(self, pose: BodyPose) -> None:
        """Goes to a body pose once the temporary one ends; until then the body stays as it is."""
        self._requested, self.temporary = pose, True

    def take_temporarily(self, pose: BodyPose) -> None:
        """Goes to another pose than the requested one, until `end_temporary`."""
        self.temporary = True
        self._pose.request(pose)

    def end_temporary(self) -> None:
        """Goes back to the requested pose, if the body was asked for another one meanwhile."""
        if self.temporary:
            self.temporary = False
            self._pose.request(_shifted(self._requested, self._lean))

    def lean(self, offset: Point) -> None:
        """Shifts the requested pose by an offset (x, y) [m] from now on."""
        self._lean = offset
        self._pose.request(_shifted(self._requested, self._lean))

    def track(self, pose: BodyPose) -> None:
        """Follows a pose that changes all the time and is known to be in reach."""
        self._pose.track(pose)

    def sense(self, tilt: Tilt | None) -> None:
        """Takes roll and pitch [rad] of the body in the world; None: unknown, or levelling is off."""
        if tilt is not None and self.levelling is None:
            self.levelling = BodyLevelling()
        if self.levelling is not None:
            self.levelling.measured = tilt
            if self.levelling.over:
                self.levelling = None

    def step(self, dt: float, stepping: bool, feet: Sequence[Foot]) -> None:
        """Moves the body on by `dt` [s] over its feet: to where it walks if it is `stepping`, else where it stands."""
        pose = self._pose
        pose.step(dt, pose.stepping_goal(feet) if stepping else pose.standing_goal, feet)
        if self.levelling is not None:
            self.levelling.step(dt, pose.pose, self._feasibility, feet)

    def retreat(self, dt: float) -> None:
        """Gives the pose up for `dt` [s]: straight towards the neutral pose without a tilt."""
        self._pose.retreat(dt)
        if self.levelling is not None:
            self.levelling.retreat(dt)


def _shifted(pose: BodyPose, offset: Point) -> BodyPose:
    return pose._replace(x=pose.x + offset[0], y=pose.y + offset[1])
