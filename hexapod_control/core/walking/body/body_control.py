"""Controls the body over the feet: the requested pose, a shift or a temporary pose, a sway, and a levelling tilt.

The pose of base_link over base_footprint is that of `BodyPoseControl`, shifted by `BodySway`, plus the tilt of
`BodyLevelling`.
"""

from __future__ import annotations

from collections.abc import Sequence

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.gait.gait_table import SHIFT_TIME
from hexapod_control.core.gait.swing_trajectory import smooth_travel
from hexapod_control.core.kinematics.body_pose import BodyPose, Placement
from hexapod_control.core.robot import Point
from hexapod_control.core.walking.body.body_levelling import LEVEL, BodyLevelling, Tilt
from hexapod_control.core.walking.body.body_pose_control import BodyPoseControl
from hexapod_control.core.walking.body.pose_feasibility import PoseFeasibility
from hexapod_control.core.walking.feet.foot_motion import FootMotion
from hexapod_control.core.walking.foot import Foot
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.stance_regions import REGION_SHARES

CENTERED: Point = (0.0, 0.0)


class BodySway(Copyable):
    """Offset of the body from its pose; every shift from one side to the other begins and ends at rest."""

    _start: Point
    _goal: Point
    _prepared_for: tuple[BodyPose, Point] | None  # pose and sway for which `region_share` was computed
    _progress: float  # of the shift from start (0) to goal (1)
    offset: Point  # [m] in base_footprint
    region_share: float  # that the sway leaves for walking

    def __init__(self, feasibility: PoseFeasibility) -> None:
        """Starts without an offset."""
        self._feasibility = feasibility
        self.offset = self._goal = self._start = CENTERED
        self._progress = 1.0
        self._prepared_for = None
        self.region_share = REGION_SHARES[0]

    def prepare(self, pose: BodyPose, sway: Point) -> None:
        """Computes the region share for a sway (x, y) [m] to both sides of a pose, unless that is known."""
        if self._prepared_for != (pose, sway):
            self._prepared_for = (pose, sway)
            ends = [pose._replace(x=pose.x + sign * sway[0], y=pose.y + sign * sway[1]) for sign in (1.0, -1.0)]
            self.region_share = REGION_SHARES[0] if sway == CENTERED else min(map(self._feasibility.region_share, ends))

    def step(self, swing_times: float, motion: FootMotion) -> None:
        """Advances the sway by a time [swing times] according to the gait clock; back to zero once all feet stand."""
        if motion.running:
            goal = motion.clock.gait.shift(motion.clock.phase)
        else:
            goal = self._goal if motion.any_in_air else CENTERED
        if goal != self._goal:
            self._start, self._goal, self._progress = self.offset, goal, 0.0
        self._progress += swing_times / SHIFT_TIME
        part = smooth_travel(self._progress)
        (x0, y0), (x1, y1) = self._start, self._goal
        self.offset = (x0 + part * (x1 - x0), y0 + part * (y1 - y0))


class BodyControl(Copyable):
    """Pose, sway and tilt of the body; `step` advances pose and tilt by one tick."""

    _height: float  # [m] of base_link above the ground in the neutral stance
    _requested: BodyPose  # by the operator
    _shift: Point  # [m] (x, y) added to the requested pose
    temporary: bool  # whether a temporary pose replaces the requested one

    def __init__(self, capabilities: Capabilities, pose: BodyPose) -> None:
        """Starts at rest in a pose."""
        self._height = capabilities.robot.walk.height
        self.feasibility = PoseFeasibility(capabilities)
        self.pose = BodyPoseControl(self.feasibility, pose)
        self._requested = pose
        self._shift = (0.0, 0.0)
        self.sway = BodySway(self.feasibility)
        self.temporary = False
        self.levelling: BodyLevelling | None = None  # None: the body is parallel to the ground

    @property
    def height(self) -> float:
        """Height of base_link above the ground [m]."""
        return self._height + self.pose.now.z

    @property
    def settled(self) -> bool:
        """True if the body is in the requested pose, neither swayed nor tilted by levelling."""
        centered = self.sway.offset == CENTERED
        return centered and self.pose.now == self.pose.standing_goal and not (self.temporary or self.levelling)

    @property
    def region_share(self) -> float:
        """The region share (REGION_SHARES) that pose, sway and tilt of the body leave."""
        share = min(self.pose.region_share, self.sway.region_share)
        return min(share, self.levelling.region_share) if self.levelling else share

    @property
    def placement(self) -> Placement:
        """Placement of the body over the ground."""
        return self._placement_of(self.pose.now)

    @property
    def resting_placement(self) -> Placement:
        """Placement of the body in the pose in which it can come to rest."""
        return self._placement_of(self.pose.rest)

    def _placement_of(self, pose: BodyPose) -> Placement:
        """Placement for a pose with the present sway and tilt."""
        if self.sway.offset != CENTERED:
            pose = _shifted(pose, self.sway.offset)
        return Placement(self.levelling.applied_to(pose) if self.levelling else pose, self._height)

    @property
    def tilt(self) -> Tilt:
        """Roll and pitch [rad] added to the pose to keep the body level."""
        return LEVEL if self.levelling is None else self.levelling.tilt

    @property
    def slope(self) -> Tilt:
        """Roll and pitch [rad] of the ground under the body; level without an IMU."""
        return LEVEL if self.levelling is None else self.levelling.slope(self.pose.now)

    def request(self, pose: BodyPose, duration: float = 0.0) -> None:
        """Moves to a body pose in `duration` [s], or as fast as the limits allow."""
        self._requested = pose
        self.pose.request(_shifted(pose, self._shift), duration)

    def request_later(self, pose: BodyPose) -> None:
        """Requests a body pose, to which the body moves once the temporary pose ends."""
        self._requested, self.temporary = pose, True

    def take_temporarily(self, pose: BodyPose) -> None:
        """Moves to a pose until `end_temporary`; the requested pose is kept."""
        self.temporary = True
        self.pose.request(pose)

    def end_temporary(self) -> None:
        """Ends a temporary pose: the body moves to the requested one."""
        if self.temporary:
            self.temporary = False
            self.pose.request(_shifted(self._requested, self._shift))

    def shift(self, offset: Point) -> None:
        """Adds an offset (x, y) [m] to the requested pose from now on."""
        self._shift = offset
        self.pose.request(_shifted(self._requested, self._shift))

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
        pose = self.pose
        pose.step(dt, pose.stepping_goal(feet) if stepping else pose.standing_goal, feet)
        if self.levelling is not None:
            self.levelling.step(dt, pose.now, self.feasibility, feet)

    def retreat(self, dt: float) -> None:
        """Moves straight towards the neutral pose without tilt for `dt` [s]."""
        self.pose.retreat(dt)
        if self.levelling is not None:
            self.levelling.retreat(dt)


def _shifted(pose: BodyPose, offset: Point) -> BodyPose:
    return pose._replace(x=pose.x + offset[0], y=pose.y + offset[1])
