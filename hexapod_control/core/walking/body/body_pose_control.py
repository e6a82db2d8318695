"""Controls the body pose of a standing or walking robot: clamped to the reach of the legs, with bounded acceleration.

There are two goals: the requested pose, clamped so that the feet reach their footholds (standing), and clamped so that
they can stride (walking). Each coordinate moves with bounded speed and acceleration, and only if every foot stays in
reach in the pose in which the body can come to rest, and on the path there. If a pose leaves only a share of the stance
regions for strides, the regions shrink before the body moves, so that the feet are inside them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose
from hexapod_control.core.walking.body.pose_feasibility import PoseFeasibility
from hexapod_control.core.walking.foot import Foot
from hexapod_control.core.workspace.stance_regions import REGION_SHARES
from hexapod_control.core.workspace.twist_limits import change_towards

SPEED = (0.10, 0.10, 0.08, 0.8, 0.8, 0.8)  # [m/s, rad/s] maximum by coordinate of a pose
ACCELERATION = (0.5, 0.5, 0.4, 4.0, 4.0, 4.0)  # [m/s^2, rad/s^2] maximum by coordinate
STANDSTILL = (0.0,) * 6  # [m/s, rad/s]
REGION_SHARE_RATE = 1.0  # [1/s] at which the stance regions shrink before the body moves
POSE_TOLERANCE = 1e-4  # [m, rad] by which poses beyond the pose at rest must be in reach, too


class BodyPoseControl(Copyable):
    """Goals and present pose of the body; `step` advances the pose by one tick."""

    _accelerations: tuple[float, ...]  # [m/s^2, rad/s^2] maximum, by coordinate
    _goal_share: float  # region share of the walking goal
    _speed: tuple[float, ...]  # [m/s, rad/s] by coordinate
    _top: tuple[float, ...]  # [m/s, rad/s] maximum speed by coordinate
    now: BodyPose  # the present pose, without the tilt
    region_share: float  # of the pose, see REGION_SHARES
    standing_goal: BodyPose
    walkable: bool  # whether the robot can walk in the present pose
    walking_goal: BodyPose

    def __init__(self, feasibility: PoseFeasibility, pose: BodyPose) -> None:
        """Starts at rest in a pose."""
        self._feasibility = feasibility
        self.now = pose
        self._speed, self._top, self._accelerations = STANDSTILL, SPEED, ACCELERATION
        self.standing_goal = self.walking_goal = pose
        self._goal_share = REGION_SHARES[0]
        self.region_share = REGION_SHARES[0]
        self.walkable = True

    @property
    def still(self) -> bool:
        """True while the pose does not change."""
        return not any(self._speed)

    @property
    def rest(self) -> BodyPose:
        """The pose in which the body can come to rest."""
        return BodyPose(
            *(
                now + v * abs(v) / (2.0 * acceleration)
                for now, v, acceleration in zip(self.now, self._speed, self._accelerations, strict=True)
            )
        )

    def request(self, pose: BodyPose, duration: float = 0.0) -> None:
        """Sets the goals to a pose, clamped to the reach of the legs; `duration` [s], or 0 for full speed."""
        feasibility = self._feasibility
        pose = feasibility.clamp_height(pose)
        self.standing_goal = feasibility.clamp_to_stand(pose)
        self.walking_goal = feasibility.clamp_to_walk(pose)
        self._goal_share = feasibility.region_share(self.walking_goal)
        self._set_pace(duration)

    def track(self, pose: BodyPose) -> None:
        """Follows a pose that changes every tick and is known to be in reach."""
        self.standing_goal = self.walking_goal = pose
        self._top, self._accelerations = SPEED, ACCELERATION

    def _set_pace(self, duration: float) -> None:
        """Sets speeds and accelerations for `duration` [s], a quarter of it each to start and to stop."""
        self._top, self._accelerations = SPEED, ACCELERATION
        if duration > 0.0:
            distances = [max(abs(b - a), 1e-6) for a, b in zip(self.now, self.standing_goal, strict=True)]
            self._top = tuple(min(v, 4.0 * s / (3.0 * duration)) for v, s in zip(SPEED, distances, strict=True))
            slow = (min(a, 16.0 * s / (3.0 * duration**2)) for a, s in zip(ACCELERATION, distances, strict=True))
            # A coordinate that is still faster from an earlier motion must be able to brake.
            self._accelerations = tuple(
                max(a, maximum * (abs(v) > top))
                for a, maximum, v, top in zip(slow, ACCELERATION, self._speed, self._top, strict=True)
            )

    def step(self, dt: float, goal: BodyPose, feet: Sequence[Foot]) -> None:
        """Advances the pose by `dt` [s] towards a goal; it comes to rest before any foot gets out of reach."""
        narrowing = self.region_share > self._goal_share and not self._feasibility.within_regions(
            self.now, feet, self._goal_share
        )
        if narrowing:  # the feet step inside the smaller regions first
            self.region_share = max(self._goal_share, self.region_share - REGION_SHARE_RATE * dt)
            goal = self.now
        elif self.region_share > self._goal_share:
            self.region_share = self._goal_share
        if self.now == goal and not any(self._speed):
            if goal == self.walking_goal and not narrowing:
                self.walkable, self.region_share = True, self._goal_share
            elif goal == goal.level and not narrowing:
                self.walkable, self.region_share = True, REGION_SHARES[0]
            return
        if goal == self.standing_goal != self.walking_goal:
            self.walkable = False
        wanted = []
        for now, end, top, acceleration in zip(self.now, goal, self._top, self._accelerations, strict=True):
            error = end - now
            # The highest speed from which it can come to rest at the goal within the acceleration limit
            wanted.append(math.copysign(min(top, math.sqrt(2.0 * acceleration * abs(error)), abs(error) / dt), error))
        if not self._move(dt, wanted, goal, feet) and not self._move(dt, STANDSTILL, goal, feet):
            self._brake(dt, feet)

    def stepping_goal(self, feet: Sequence[Foot]) -> BodyPose:
        """Returns the goal while walking: the walking goal, or a pose in which all feet can step to neutral."""
        goal = self.walking_goal
        if self.now == goal and self.still and goal == goal.level:
            return goal  # a short cut: all three results below are the same
        if self._can_step_to_neutral(goal, feet):
            return goal
        if self.walkable and self._can_step_to_neutral(self.rest, feet):
            return self.rest
        return goal.level

    def can_start_walking(self, feet: Sequence[Foot]) -> bool:
        """Returns True if the robot can walk in the present pose and the feet can step to their neutral footholds."""
        rest = self.rest
        return self.walkable and (rest == rest.level or self._can_step_to_neutral(rest, feet))

    def _can_step_to_neutral(self, pose: BodyPose, feet: Sequence[Foot]) -> bool:
        return self._feasibility.can_step_to_neutral(pose, feet, self.region_share)

    def _keeps_feet(self, pose: BodyPose, feet: Sequence[Foot]) -> bool:
        return self._feasibility.keeps_feet_in_regions(pose, self.now, feet, self.region_share)

    def can_shift_to(self, pose: BodyPose, feet: Sequence[Foot]) -> bool:
        """Returns True if the body can take this pose without clamping over the present feet."""
        return self._feasibility.can_stand(pose) and self._keeps_feet(pose, feet)

    def _move(self, dt: float, wanted: Sequence[float], goal: BodyPose, feet: Sequence[Foot]) -> bool:
        """Advances by a tick, with speeds near those wanted. Returns False, unchanged, if a foot would be out of reach.

        The coordinates come to rest at different times, so the path to the pose at rest is curved, and a point on it is
        checked, too.
        """
        moved, halfway, rest, speeds = [], [], [], []
        for now, end, speed, aim, acceleration in zip(
            self.now, goal, self._speed, wanted, self._accelerations, strict=True
        ):
            speed = change_towards(speed, aim, acceleration * dt)
            if abs(end - now) < 1e-6 and abs(speed) <= acceleration * dt:
                now, speed = end, 0.0
            moved.append(now + speed * dt)
            braking = speed * abs(speed) / (2.0 * acceleration)
            there = now + speed * dt + braking
            halfway.append(there - 0.25 * braking)
            rest.append(there + math.copysign(min(POSE_TOLERANCE, abs(end - there)), speed) if speed else there)
            speeds.append(speed)
        reachable = self._feasibility.all_feet_reachable
        if not (self._keeps_feet(BodyPose(*rest), feet) and reachable(BodyPose(*halfway), feet)):
            return False
        self.now, self._speed = BodyPose(*moved), tuple(speeds)
        return True

    def _brake(self, dt: float, feet: Sequence[Foot]) -> None:
        """Halves the speed in every tick while a foot would get out of reach; stops if even that is too fast."""
        speeds = tuple(0.5 * speed for speed in self._speed)
        pose = BodyPose(*(now + speed * dt for now, speed in zip(self.now, speeds, strict=True)))
        if self._keeps_feet(pose, feet):
            self.now, self._speed = pose, speeds
        else:
            self._speed = STANDSTILL

    def retreat(self, dt: float) -> None:
        """Moves straight towards the neutral pose for `dt` [s]; in it every foot in its region is in reach."""
        self.standing_goal = self.walking_goal = NEUTRAL
        self.region_share, self._goal_share, self._speed = REGION_SHARES[-1], REGION_SHARES[0], STANDSTILL
        longest = max(abs(now) / (top * dt) for now, top in zip(self.now, SPEED, strict=True))
        self.now = self.now.towards(NEUTRAL, 1.0 / longest) if longest > 1.0 else NEUTRAL
