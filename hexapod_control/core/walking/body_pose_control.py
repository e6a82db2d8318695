"""The body's pose while standing and walking: clamped to what the legs reach, moved without a jerk."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose, Placement
from hexapod_control.core.kinematics.whole_body import joints_in_pose
from hexapod_control.core.robot import Point
from hexapod_control.core.statics.static_stability import center_of_mass_in_footprint
from hexapod_control.core.walking.foot_motion import Foot
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.stance_regions import IN_FLIGHT, StanceRegionTable, reaches
from hexapod_control.core.workspace.stride_stability import stride_margin

SPEED = (0.10, 0.10, 0.08, 0.8, 0.8, 0.8)  # [m/s, rad/s] per coordinate of a pose
ACCELERATION = (0.5, 0.5, 0.4, 4.0, 4.0, 4.0)  # [m/s^2, rad/s^2]
ROOM_RATE = 1.0  # [1/s] at which the stance regions shrink before a pose that needs it
TILT_ROOMS = (1.0, 0.9, 0.8, 0.7, 0.6)  # likewise a tilt that keeps the body level
ROOMS = (1.0, 0.8, 0.6, 0.45, 0.3)  # shares of the stance regions a pose may leave for walking, the last at least
STEADY = 0.005  # [m] static margin that full strides keep in a pose
WAY_HOME = (0.0, 0.35, 0.7)  # shares of the way at which a foot outside of its region must be in reach to step home
FINENESS = 1 / 64  # to which a pose out of reach is clamped
HAIR = 1e-4  # [m, rad] beyond where a pose comes to rest that must be in reach too: feet are placed to micrometres


class BodyPoseControl:
    """Goal and present pose of the body."""

    def __init__(self, capabilities: Capabilities, pose: BodyPose = NEUTRAL) -> None:
        """Starts at rest in a pose."""
        self._robot = capabilities.robot
        self._stances = capabilities.stances
        self._gaits = tuple(capabilities.gaits.values())
        self.pose = pose
        self._speed: tuple[float, ...] = (0.0,) * 6
        self._top: tuple[float, ...] = SPEED
        self._accelerations: tuple[float, ...] = ACCELERATION
        self.standing_goal = self.walking_goal = pose
        self._goal_room = 1.0
        self.room = 1.0  # share of the stance regions left for walking
        self.walkable = True  # is the present pose one to walk in

    def copy(self) -> BodyPoseControl:
        """An independent pose in the same state."""
        other = BodyPoseControl.__new__(BodyPoseControl)
        other._robot, other._stances, other._gaits = self._robot, self._stances, self._gaits
        other.pose, other._speed, other.room, other.walkable = self.pose, self._speed, self.room, self.walkable
        other._goal_room, other._top, other._accelerations = self._goal_room, self._top, self._accelerations
        other.standing_goal, other.walking_goal = self.standing_goal, self.walking_goal
        return other

    @property
    def still(self) -> bool:
        """True while the pose does not change."""
        return not any(self._speed)

    @property
    def rest(self) -> BodyPose:
        """Where the pose can come to rest."""
        return BodyPose(
            *(
                now + v * abs(v) / (2.0 * acceleration)
                for now, v, acceleration in zip(self.pose, self._speed, self._accelerations, strict=True)
            )
        )

    def request(self, pose: BodyPose, duration: float = 0.0) -> None:
        """Sets the goal, pulled back towards neutral as far as the legs need it; to be reached in `duration` [s]."""
        height = self._robot.walk.height
        z = min(max(pose.z, self._stances.lowest - height), self._stances.highest - height)
        pose = pose._replace(z=z)
        self.standing_goal = self._clamped(pose, self._fits)
        self.walking_goal = self._clamped(pose, lambda there: self._walks(there, ROOMS[-1]))
        self._goal_room = self._room_at(self.walking_goal)
        self._pace(duration)

    def track(self, pose: BodyPose) -> None:
        """Follows a pose that changes all the time and is known to be in reach."""
        self.standing_goal = self.walking_goal = pose
        self._top, self._accelerations = SPEED, ACCELERATION

    def _pace(self, duration: float) -> None:
        """Speeds and accelerations at which each coordinate takes `duration` [s], a quarter each to start and stop."""
        self._top, self._accelerations = SPEED, ACCELERATION
        if duration > 0.0:
            ways = [max(abs(b - a), 1e-6) for a, b in zip(self.pose, self.standing_goal, strict=True)]
            self._top = tuple(min(v, 4.0 * s / (3.0 * duration)) for v, s in zip(SPEED, ways, strict=True))
            slow = (min(a, 16.0 * s / (3.0 * duration**2)) for a, s in zip(ACCELERATION, ways, strict=True))
            # Braking from what is left of an earlier motion must still be possible.
            self._accelerations = tuple(
                max(a, most * (abs(v) > top))
                for a, most, v, top in zip(slow, ACCELERATION, self._speed, self._top, strict=True)
            )

    def reachable(self, pose: BodyPose) -> bool:
        """True if a robot that stands can take this pose as it is."""
        low, high = self._stances.lowest, self._stances.highest
        return low <= self._robot.walk.height + pose.z <= high and self._clamped(pose, self._fits) == pose

    def _room_at(self, pose: BodyPose) -> float:
        return next((share for share in ROOMS if self._walks(pose, share)), ROOMS[-1])

    def _fits(self, pose: BodyPose) -> bool:
        """True if the feet reach their neutral footholds in a pose."""
        return self._stances.fits(pose, 0.0, 0.0)

    def _walks(self, pose: BodyPose, share: float) -> bool:
        """True if the feet can stride over a share (0 to 1) of their regions in a pose, and hold the robot on it."""
        return self._stances.fits(pose, share, self._robot.walk.lift_height) and (
            self._stride_margin(pose, share) >= STEADY
            or self._stride_margin(_above(pose), share) < STEADY  # it never holds the robot well
        )

    def _stride_margin(self, pose: BodyPose, share: float) -> float:
        stance = self._stances.at(self._robot.walk.height + pose.z)
        row = joints_in_pose(self._robot, stance.footholds, pose)
        return (
            stride_margin(self._gaits, stance, center_of_mass_in_footprint(self._robot, row, pose), share)
            if row
            else -math.inf
        )

    def room_in(self, pose: BodyPose) -> float:
        """Share of the stance regions that a tilted pose leaves for walking; 0 if that is too little."""
        return _room(self._stances, pose, self._robot.walk.lift_height)

    @staticmethod
    def _clamped(pose: BodyPose, fits: Callable[[BodyPose], bool]) -> BodyPose:
        if fits(pose):
            return pose
        base = _above(pose)  # heights inside the table are always in reach
        low, high = 0.0, 1.0
        while high - low > FINENESS:
            middle = (low + high) / 2
            if fits(base.towards(pose, middle)):
                low = middle
            else:
                high = middle
        return base.towards(pose, low)

    def step(self, dt: float, goal: BodyPose, feet: Sequence[Foot]) -> None:
        """Moves the pose by one tick towards a goal; it comes to rest before any foot gets out of reach."""
        narrowing = self.room > self._goal_room and not self._within(self._goal_room, feet)
        if narrowing:  # the feet first, without a jerk
            self.room = max(self._goal_room, self.room - ROOM_RATE * dt)
            goal = self.pose
        elif self.room > self._goal_room:
            self.room = self._goal_room
        if self.pose == goal and not any(self._speed):
            if goal == self.walking_goal and not narrowing:
                self.walkable, self.room = True, self._goal_room
            elif _upright(goal) and not narrowing:
                self.walkable, self.room = True, ROOMS[0]
            return
        if goal == self.standing_goal != self.walking_goal:
            self.walkable = False
        wanted = []
        for now, end, top, acceleration in zip(self.pose, goal, self._top, self._accelerations, strict=True):
            error = end - now
            # The speed from which the acceleration limit still brings it to rest at the goal.
            wanted.append(math.copysign(min(top, math.sqrt(2.0 * acceleration * abs(error)), abs(error) / dt), error))
        if not self._move(dt, wanted, goal, feet) and not self._move(dt, (0.0,) * 6, goal, feet):
            self._brake(dt, feet)

    def stepping_goal(self, feet: Sequence[Foot]) -> BodyPose:
        """Where to walk: at the walking goal; as long as feet could not step home there, where they can."""
        if self.steps(self.walking_goal, feet):
            return self.walking_goal
        return self.rest if self.walkable and self.steps(self.rest, feet) else _above(self.walking_goal)

    def can_start_walking(self, feet: Sequence[Foot]) -> bool:
        """True if the pose is one to walk in, and the feet can step home in it as far as they can in any."""
        return self.walkable and (_upright(self.rest) or self.steps(self.rest, feet))

    def _within(self, room: float, feet: Sequence[Foot]) -> bool:
        """True if all feet stand inside this share of their regions."""
        stance = self._stances.at(self._robot.walk.height + self.pose.z)
        return all(
            foot.planted and math.hypot(foot.x - home[0], foot.y - home[1]) <= room * radius
            for foot, home, radius in zip(feet, stance.footholds, stance.radii, strict=True)
        )

    def _move(self, dt: float, wanted: Sequence[float], goal: BodyPose, feet: Sequence[Foot]) -> bool:
        """Goes on by a tick, speeds nearing those wanted; False and nothing done if the way to rest is out of reach."""
        moved, halfway, rest, speeds = [], [], [], []
        for now, end, speed, aim, acceleration in zip(
            self.pose, goal, self._speed, wanted, self._accelerations, strict=True
        ):
            speed += min(max(aim - speed, -acceleration * dt), acceleration * dt)
            if abs(end - now) < 1e-6 and abs(speed) <= acceleration * dt:
                now, speed = end, 0.0
            moved.append(now + speed * dt)
            braking = speed * abs(speed) / (2.0 * acceleration)
            there = now + speed * dt + braking
            halfway.append(there - 0.25 * braking)
            rest.append(there + math.copysign(min(HAIR, abs(end - there)), speed) if speed else there)
            speeds.append(speed)
        # Coordinates come to rest one by one: the way there is curved.
        if not (self.holds(BodyPose(*rest), feet) and self.reach(BodyPose(*halfway), feet)):
            return False
        self.pose, self._speed = BodyPose(*moved), tuple(speeds)
        return True

    def _brake(self, dt: float, feet: Sequence[Foot]) -> None:
        """Halves the speed tick by tick where a foot has come in the way, stops where even that is out of reach."""
        speeds = tuple(0.5 * speed for speed in self._speed)
        pose = BodyPose(*(now + speed * dt for now, speed in zip(self.pose, speeds, strict=True)))
        if self.holds(pose, feet):
            self.pose, self._speed = pose, speeds
        else:
            self._speed = (0.0,) * 6

    def retreat(self, dt: float) -> None:
        """Gives the goal up and goes straight towards the neutral pose, where every foot in its region is in reach."""
        self.standing_goal = self.walking_goal = NEUTRAL
        self.room, self._goal_room, self._speed = ROOMS[-1], 1.0, (0.0,) * 6
        longest = max(abs(now) / (top * dt) for now, top in zip(self.pose, SPEED, strict=True))
        self.pose = self.pose.towards(NEUTRAL, 1.0 / longest) if longest > 1.0 else NEUTRAL

    def _strays(self, pose: BodyPose, feet: Sequence[Foot]) -> float:
        """Greatest distance [m] of a foot beyond the share of its region that is left in a pose."""
        stance = self._stances.at(self._robot.walk.height + pose.z)
        strays = [
            math.hypot(foot.x - home[0], foot.y - home[1]) - (1.0 if foot.planted else IN_FLIGHT) * self.room * radius
            for foot, home, radius in zip(feet, stance.footholds, stance.radii, strict=True)
            if foot.hand is None
        ]
        return max(strays, default=0.0)

    def holds(self, pose: BodyPose, feet: Sequence[Foot]) -> bool:
        """True if all feet stay in reach in a pose, and in their regions as far as they are."""
        if not all(foot.planted for foot in feet):  # a robot that stands can step home from anywhere
            strays = self._strays(pose, feet)
            if strays > 0.0 and strays > self._strays(self.pose, feet) + 1e-9:
                return False
        return self.reach(pose, feet)

    def steps(self, pose: BodyPose, feet: Sequence[Foot]) -> bool:
        """True if the feet can step home from where they stand in a pose, as those can that are in their regions."""
        robot = self._robot
        placement, lift = Placement(pose, robot.walk.height), robot.walk.lift_height
        stance = self._stances.at(robot.walk.height + pose.z)
        return all(
            math.dist((foot.x, foot.y), home) <= (1.0 if foot.planted else IN_FLIGHT) * self.room * radius
            or all(reaches(leg, robot, point, lift, placement) for point in _way_home(foot, home))
            for leg, foot, home, radius in zip(robot.legs, feet, stance.footholds, stance.radii, strict=True)
        )

    def reach(self, pose: BodyPose, feet: Sequence[Foot]) -> bool:
        """True if all feet are in reach in a pose, where they are and where they can come to rest."""
        robot = self._robot
        placement = Placement(pose, robot.walk.height)
        return all(
            reaches(leg, robot, (x, y), z, placement)
            for leg, foot in zip(robot.legs, feet, strict=True)
            for x, y, z in foot.places
        )


def _above(pose: BodyPose) -> BodyPose:
    """The upright pose at the same height."""
    return NEUTRAL._replace(z=pose.z)


def _upright(pose: BodyPose) -> bool:
    return pose == _above(pose)


def _way_home(foot: Foot, home: Point) -> list[Point]:
    """Points (x, y) [m] from where a foot stands to short of its neutral foothold, which is in reach anyhow."""
    return [(foot.x + share * (home[0] - foot.x), foot.y + share * (home[1] - foot.y)) for share in WAY_HOME]


@lru_cache(maxsize=256)
def _room(stances: StanceRegionTable, pose: BodyPose, lift: float) -> float:
    return next((share for share in TILT_ROOMS if stances.fits(pose, share, lift)), 0.0)
