# SPDX-License-Identifier: Apache-2.0
"""Controls the body pose of a standing or walking robot: clamped to the reach of the legs, with bounded acceleration.

There are two goals: the requested pose, clamped so that the feet reach their footholds (standing), and clamped so that
they can stride (walking). Each coordinate moves with bounded speed and acceleration, and only if every foot stays in
reach in the pose in which the body can come to rest, and on the path there. If a pose leaves only a share of the stance
regions for strides, the regions shrink before the body moves, so that the feet are inside them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.gait.body_sway import Sway
from hexapod_control.core.gait.swing_trajectory import smooth_travel, steady_position
from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose, Placement
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.robot import Point
from hexapod_control.core.walking.body.body_levelling import LEVEL, BodyLevelling, Tilt
from hexapod_control.core.walking.body.pose_feasibility import PoseFeasibility
from hexapod_control.core.walking.feet.foot_motion import FootMotion
from hexapod_control.core.walking.foot import Foot
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.stance_regions import REGION_SHARES, StanceRegions
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
    _retreated: bool  # in the last tick: what the pose leaves of the regions is not known
    standing_goal: BodyPose
    walkable: bool  # whether the robot can walk in the present pose
    walking_goal: BodyPose

    def __init__(self, feasibility: PoseFeasibility, pose: BodyPose) -> None:
        """Starts at rest in a pose."""
        self._feasibility = feasibility
        self.now = pose
        self._speed = STANDSTILL
        self._top = SPEED
        self._accelerations = ACCELERATION
        self.standing_goal = pose
        self.walking_goal = pose
        self._goal_share = REGION_SHARES[0]
        self.region_share = REGION_SHARES[0]
        self.walkable = True
        self._retreated = False

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
        self._top = SPEED
        self._accelerations = ACCELERATION

    def _set_pace(self, duration: float) -> None:
        """Sets speeds and accelerations for `duration` [s], a quarter of it each to start and to stop."""
        self._top = SPEED
        self._accelerations = ACCELERATION
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
        if self._retreated:
            self._retreated = False
            self.region_share = self._feasibility.region_share(self.now)
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
                self.walkable = True
                self.region_share = self._goal_share
            elif goal == goal.level and not narrowing:
                self.walkable = True
                self.region_share = REGION_SHARES[0]
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
        moved = []
        halfway = []
        rest = []
        speeds = []
        for now, end, speed, aim, acceleration in zip(
            self.now, goal, self._speed, wanted, self._accelerations, strict=True
        ):
            speed = change_towards(speed, aim, acceleration * dt)
            if abs(end - now) < 1e-6 and abs(speed) <= acceleration * dt:
                now = end
                speed = 0.0
            moved.append(now + speed * dt)
            braking = speed * abs(speed) / (2.0 * acceleration)
            there = now + speed * dt + braking
            halfway.append(there - 0.25 * braking)
            rest.append(there + math.copysign(min(POSE_TOLERANCE, abs(end - there)), speed) if speed else there)
            speeds.append(speed)
        reachable = self._feasibility.all_feet_reachable
        if not (self._keeps_feet(BodyPose(*rest), feet) and reachable(BodyPose(*halfway), feet)):
            return False
        self.now = BodyPose(*moved)
        self._speed = tuple(speeds)
        return True

    def _brake(self, dt: float, feet: Sequence[Foot]) -> None:
        """Halves the speed in every tick while a foot would get out of reach; stops if even that is too fast."""
        speeds = tuple(0.5 * speed for speed in self._speed)
        pose = BodyPose(*(now + speed * dt for now, speed in zip(self.now, speeds, strict=True)))
        if self._keeps_feet(pose, feet):
            self.now = pose
            self._speed = speeds
        else:
            self._speed = STANDSTILL

    def retreat(self, dt: float) -> None:
        """Moves straight towards the neutral pose for `dt` [s]; in it every foot in its region is in reach."""
        self.standing_goal = self.walking_goal = NEUTRAL
        self._retreated = True
        self.region_share = REGION_SHARES[-1]
        self._goal_share = REGION_SHARES[0]
        self._speed = STANDSTILL
        longest = max(abs(now) / (top * dt) for now, top in zip(self.now, SPEED, strict=True))
        self.now = self.now.towards(NEUTRAL, 1.0 / longest) if longest > 1.0 else NEUTRAL


CENTERED: Point = (0.0, 0.0)
SHIFT_TIME = 2.0  # [swing times] in which the body moves to where a sway begins, and back to the center
HOLD_TIME = 0.5  # [swing times] in which a sway takes up its speed, and stops while a foot is still in the air


class SwayPhase(Enum):
    """What the offset of the body follows."""

    CENTERED = "centered"
    STARTING = "starting"  # it moves to where the sway begins
    SWAYING = "swaying"
    HELD = "held"  # it stops while a foot is still in the air


class BodySway(Copyable):
    """Offset of the body from its pose: the sway of the gait, and smooth ways into it and out of it.

    After each change of what it follows, the differences in position and velocity vanish along a polynomial of fifth
    order.
    """

    _duration: float  # [swing times] in which the differences vanish
    _followed: tuple[SwayPhase, Sway | None]
    _gap: tuple[Point, Point]  # [m], [m/swing time] differences at the last change
    _held: Point  # [m] where it is held
    _out_of_reach: bool  # a foot was out of reach on the way to where the sway begins
    _prepared_for: tuple[BodyPose, Sway | None] | None  # pose and sway for which `region_share` was computed
    _progress: float  # from 0 to 1, since the last change
    _velocity: Point  # [m/swing time]
    offset: Point  # [m] in base_footprint
    region_share: float  # that the sway leaves for walking

    def __init__(self, feasibility: PoseFeasibility) -> None:
        """Starts without an offset."""
        self._feasibility = feasibility
        self._followed = (SwayPhase.CENTERED, None)
        self._duration = SHIFT_TIME
        self._gap = (CENTERED, CENTERED)
        self._held = CENTERED
        self._out_of_reach = False
        self._progress = 1.0
        self._velocity = CENTERED
        self._prepared_for = None
        self.offset = CENTERED
        self.region_share = REGION_SHARES[0]

    def prepare(self, pose: BodyPose, sway: Sway | None) -> None:
        """Computes the region share for a sway about a pose, unless that is known."""
        if self._prepared_for == (pose, sway):
            return
        self._prepared_for = (pose, sway)
        if sway is None:
            self.region_share = REGION_SHARES[0]
        elif pose == NEUTRAL:
            self.region_share = sway.region_share
        else:
            shares = [self._feasibility.region_share(_shifted(pose, corner)) for corner in sway.corners]
            self.region_share = min(sway.region_share, *shares)

    def ready(self, sway: Sway | None) -> bool:
        """True if the body is where a sway begins, or as near as feet far out allow, which have to step first."""
        return sway is None or (
            self._followed == (SwayPhase.STARTING, sway) and (self._progress >= 1.0 or self._out_of_reach)
        )

    def step(self, swing_times: float, motion: FootMotion, regions: StanceRegions, stepping: bool) -> None:
        """Advances the sway by a time [swing times] according to the gait clock; back to zero once all feet stand.

        `regions` are those at the present height, `stepping` says whether the feet step or will step next.
        """
        gait = motion.clock.gait
        sway = gait.sway
        centered = self._followed[0] is SwayPhase.CENTERED and self._progress >= 1.0
        if centered and (sway is None or not (stepping or motion.running)):
            return
        place = CENTERED
        change = CENTERED
        if sway is not None and motion.running:
            phase = SwayPhase.SWAYING
            # The feet and the clock follow in the same tick.
            ahead = motion.clock.phase + swing_times / gait.cycle
            place, per_cycle = sway.at(ahead, half_stride(motion, regions, sway.region_share))
            change = (per_cycle[0] / gait.cycle, per_cycle[1] / gait.cycle)
        elif not motion.running and motion.any_in_air:
            phase = SwayPhase.HELD
            if self._followed[0] is not SwayPhase.HELD:
                self._held = self.offset
            place = self._held
        elif sway is not None and stepping and motion.all_in_stance:
            phase = SwayPhase.STARTING
            place, _ = sway.at(sway.start_phase)
        else:
            phase = SwayPhase.CENTERED
        if self._followed != (phase, sway):
            self._followed = (phase, sway)
            self._out_of_reach = self._out_of_reach and phase is SwayPhase.STARTING
            self._progress = 0.0
            self._duration = HOLD_TIME if phase in (SwayPhase.HELD, SwayPhase.SWAYING) else SHIFT_TIME
            self._gap = _difference(self.offset, place), _difference(self._velocity, change)
        before = self.offset
        self._progress = min(self._progress + swing_times / self._duration, 1.0)
        rest = 1.0 - self._progress
        of_gap = 1.0 - smooth_travel(self._progress)
        of_speed = self._duration * self._progress * rest**3 * (1.0 + 3.0 * self._progress)
        x, y = (a + of_gap * gap + of_speed * speed for a, gap, speed in zip(place, *self._gap, strict=True))
        self.offset = x, y
        self._velocity = (x - before[0]) / swing_times, (y - before[1]) / swing_times

    def retreat(self, dt: float) -> None:
        """Moves straight towards the center for `dt` [s]; from there the sway is taken up again."""
        self._out_of_reach = self._followed[0] is SwayPhase.STARTING
        distance = math.hypot(*self.offset)
        share = max(0.0, 1.0 - SPEED[0] * dt / distance) if distance > 0.0 else 0.0
        self.offset = (share * self.offset[0], share * self.offset[1])
        self._velocity = CENTERED
        self._gap = self.offset, CENTERED
        self._progress = 0.0
        self._duration = SHIFT_TIME
        self._followed = (SwayPhase.CENTERED, None)


def half_stride(motion: FootMotion, regions: StanceRegions, share: float) -> Twist:
    """The motion of the body in half of a stance [m, m, rad] of the steady walk whose feet are nearest to the present.

    While the speed changes, the strides of the feet lag behind it. The strides are limited to a share (0 to 1) of the
    regions.
    """
    gait = motion.clock.gait
    phase = motion.clock.phase
    weight = turning = turn_moment = 0.0
    moved = turned = 0j
    for foot, (x, y), lift_off in zip(motion.feet, regions.footholds, gait.lift_off, strict=True):
        ahead = steady_position((phase - lift_off) % 1.0 * gait.cycle, gait.stance_time)
        displacement = complex(foot.x - x, foot.y - y)
        across = complex(-y, x)
        weight += ahead * ahead
        moved += ahead * displacement
        turned += ahead * ahead * across
        turning += ahead * ahead * (x * x + y * y)
        turn_moment += ahead * (across.conjugate() * displacement).real
    # The least squares of displacement = ahead * (stride + turn * across) over all feet
    turn = (turn_moment - (turned.conjugate() * moved).real / weight) / (turning - abs(turned) ** 2 / weight)
    stride = (moved - turn * turned) / weight
    longest = max(abs(stride + turn * complex(-y, x)) for x, y in regions.footholds)
    limit = share * min(regions.radii)
    return Twist(stride.real, stride.imag, turn).scaled(min(1.0, limit / longest) if longest > 0.0 else 1.0)


def _difference(a: Point, b: Point) -> Point:
    return a[0] - b[0], a[1] - b[1]


CROUCH_SHARE = 0.25  # of the walk height, by which the body is lower on steep ground


class BodyControl(Copyable):
    """Pose, sway and tilt of the body; `step` advances pose and tilt by one tick."""

    _height: float  # [m] of base_link above the ground in the neutral stance
    _requested: BodyPose  # by the operator
    _shift: Point  # [m] (x, y) added to the requested pose
    _raised: float  # [m] added to its height, over ground that is seen
    _low: bool  # whether its height is less, on steep ground
    temporary: bool  # whether a temporary pose replaces the requested one

    def __init__(self, capabilities: Capabilities, pose: BodyPose) -> None:
        """Starts at rest in a pose."""
        self._height = capabilities.robot.walk.height
        self.feasibility = PoseFeasibility(capabilities)
        self.pose = BodyPoseControl(self.feasibility, pose)
        self._requested = pose
        self._shift = (0.0, 0.0)
        self._raised = 0.0
        self._low = False
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
        self.pose.request(self._wanted, duration)

    def request_later(self, pose: BodyPose) -> None:
        """Requests a body pose, to which the body moves once the temporary pose ends."""
        self._requested = pose
        self.temporary = True

    def take_temporarily(self, pose: BodyPose) -> None:
        """Moves to a pose until `end_temporary`; the requested pose is kept."""
        self.temporary = True
        self.pose.request(pose)

    def end_temporary(self) -> None:
        """Ends a temporary pose: the body moves to the requested one."""
        if self.temporary:
            self.temporary = False
            self.pose.request(self._wanted)

    def shift(self, offset: Point) -> None:
        """Adds an offset (x, y) [m] to the requested pose from now on."""
        self._shift = offset
        self.pose.request(self._wanted)

    def raise_by(self, height: float) -> None:
        """Adds a height [m] to the requested pose from now on."""
        if height != self._raised and not self.temporary:
            self._raised = height
            self.pose.request(self._wanted)

    def crouch(self, low: bool) -> None:
        """Takes CROUCH_SHARE from the height of the requested pose from now on, or no longer."""
        if low is not self._low and not self.temporary:
            self._low = low
            self.pose.request(self._wanted)

    @property
    def requested_height(self) -> float:
        """Height [m] of base_link above the ground in the requested pose."""
        return self._height + self._requested.z

    @property
    def _wanted(self) -> BodyPose:
        pose = _shifted(self._requested, self._shift)
        return pose._replace(z=pose.z + self._raised - self._low * CROUCH_SHARE * self._height)

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
        """Moves straight towards the neutral pose without sway and tilt for `dt` [s]."""
        self.pose.retreat(dt)
        self.sway.retreat(dt)
        if self.levelling is not None:
            self.levelling.retreat(dt)


def _shifted(pose: BodyPose, offset: Point) -> BodyPose:
    return pose._replace(x=pose.x + offset[0], y=pose.y + offset[1])
