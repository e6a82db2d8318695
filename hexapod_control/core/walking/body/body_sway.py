"""Sway of the body in a crawl: to one side, before the legs of the other side lift off."""

from __future__ import annotations

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.gait.gait_table import SHIFT_TIME
from hexapod_control.core.gait.swing_trajectory import smooth_travel
from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.robot import Point
from hexapod_control.core.walking.body.pose_feasibility import PoseFeasibility
from hexapod_control.core.walking.feet.foot_motion import FootMotion
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
