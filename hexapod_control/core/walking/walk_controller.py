# SPDX-License-Identifier: Apache-2.0
"""Standing and walking: command -> limits -> ramp -> region guard -> feet -> whole-body pose.

One tick, in the order of `advance`:
1. `SpeedControl` limits the command to what gait, height, legs and servos allow;
2. `BodyControl` moves the body, `GaitChangeScheduler` plans a change of gait, the gait clock starts or stops;
3. the executed twist ramps towards the limit; waiting lift-offs and the region guard slow it down;
4. `FootMotion` moves the feet by that twist, guided feet follow their paths, planted feet follow the terrain;
5. contacts and body pose give the joint angles of the whole robot.
Twists and contact points are in base_footprint.

How a walk ends, from the softest to the hardest word:

- release: guided feet return to their footholds; settle: and then the body moves to a pose;
- halt (the operator's `stop`): the body comes to rest, feet in the air go straight down, and then the feet are held;
- hold: something stays where it is. `hold_feet`: the feet do not step until the next command; `SpeedControl.hold`: the
  executed twist is zero at once, while the tick limiter holds all joints;
- retreat: feet and clock stand, while the body returns to its neutral pose to bring feet into reach.

A motion file has another end: `MotionPlayer.finish_cycle`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.gait.gait_clock import GaitClock
from hexapod_control.core.gait.gait_table import Gait, GaitSelection
from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.leg_kinematics import LegJoints
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.kinematics.whole_body import WholeBodyPose, whole_body_pose
from hexapod_control.core.refusal import Refusal
from hexapod_control.core.robot import Point, Robot, Vector
from hexapod_control.core.statics.leg_compliance import compensated_twist, friction_lag
from hexapod_control.core.statics.static_stability import center_of_mass_in_footprint
from hexapod_control.core.terrain.foothold_choice import Missing
from hexapod_control.core.walking import guided_legs
from hexapod_control.core.walking.body.body_control import BodyControl
from hexapod_control.core.walking.body.body_levelling import LEVEL, Tilt
from hexapod_control.core.walking.body.margin_recovery import MarginRecovery
from hexapod_control.core.walking.feet.foot_motion import CLEARANCE, FootMotion
from hexapod_control.core.walking.feet.stride_control import StrideControl, StrideDemand, allowed_share, steady_share
from hexapod_control.core.walking.foot import Foot
from hexapod_control.core.walking.gait_change import (
    GaitChangeScheduler,
    WalkConditions,
    first_phase,
)
from hexapod_control.core.walking.guided_legs import FootGoal
from hexapod_control.core.walking.speed_control import SpeedConditions, SpeedControl, stretched_swing_time
from hexapod_control.core.walking.terrain import SEARCH_REACH_MARGIN, HeightReach
from hexapod_control.core.walking.walk_settings import WalkSettings
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.speed_envelope import SpeedLimit
from hexapod_control.core.workspace.stance_regions import StanceRegions, StanceRegionTable, reaches
from hexapod_control.core.workspace.strides.stride_table import Strides

RAISED_LIFTS = (1.5, 1.25)  # factors on the lift height of a lagging leg; the first one in reach is used
SLACK_LAGS = 2.4  # slack of a foot in friction lags: two, and the play of gears
WAITING_SHARE = 0.3  # share of the speed while a lift-off waits
CROUCH_RAD = math.radians(15.0), math.radians(22.0)  # slopes, up to which the body is high again, and from which low
NEUTRAL_TOLERANCE = 0.005  # [m] distance from its neutral foothold above which a foot of a standing robot steps
STOP_TOLERANCE = 2 * NEUTRAL_TOLERANCE / 5  # [m] distance of all feet from their footholds at which the clock stops


class WalkController(Copyable):
    """Controls a robot on its feet, after standing up and before lying down; `advance` computes one tick.

    Ways to come to rest: after `drive(ZERO)` the twist ramps down and the feet step to their neutral footholds;
    `settle` also moves the body; `halt` stops the clock and lowers the feet where they are; `SpeedControl.stop_at_once`
    is for a robot that holds its joints; `retreat` moves only the body, to bring feet into reach.
    """

    def __init__(self, capabilities: Capabilities, contacts: Sequence[Point], pose: BodyPose, gait: Gait) -> None:
        """Starts standing on contact points [m, base_footprint] in a pose."""
        self._capabilities = capabilities
        self.motion = FootMotion([Foot(x, y) for x, y in contacts], GaitClock(gait), 0.0)
        self.motion.slack = SLACK_LAGS * friction_lag(capabilities.robot)
        self.body = BodyControl(capabilities, pose)
        self.speed = SpeedControl(capabilities)
        self.gaits = GaitChangeScheduler(capabilities, gait)
        self.recovery = MarginRecovery()
        self.strides = StrideControl(capabilities)
        self.last_strides = Strides(capabilities.stances.at(self.body.height), self.strides.regions)
        self.wanted = ZERO  # what the speed limits allow of the command
        self.forbidden: Mapping[int, Missing] = MappingProxyType({})  # neutral footholds of these legs (rows)
        self.gave_up = False  # whether the feet stay where they stand, as they have not met their places
        self._foothold_radius = capabilities.robot.foothold_radius
        self._correction = ZERO  # of the feet's twist, as shares of the foot speed [1, 1, rad/m]
        self.body.sway.prepare(pose, gait.sway)
        self.change_settings(WalkSettings(self.gaits.selection))

    # --- requests ------------------------------------------------------------------------------------

    def drive(self, command: Twist) -> None:
        """Follows a twist from now on; zero returns the feet to their neutral footholds, unless they gave that up."""
        if self.gave_up and command.is_zero:
            return
        self.gave_up = False
        if self.motion.guiding and not command.is_zero:
            self.release()
        self.speed.drive(command)

    def halt(self, *, deadlock: tuple[int, int] | None = None) -> None:
        """Brings the body to rest, lowers the feet in the air, and leaves all feet where they are.

        `deadlock` are the rows of two legs that block each other: then the feet in the air cannot be lowered, and are
        guided to their neutral footholds.
        """
        motion = self.motion
        self.release()
        self.speed.halt()
        self.gaits.halt(motion)
        motion.halt(self.speed.swing_time)
        if deadlock is not None:
            self.speed.stop_at_once()
            placement = self.body.placement
            robot = self._capabilities.robot
            guided_legs.separate(robot, motion.feet, deadlock, self.regions, placement, self.forbidden)

    def give_up(self) -> None:
        """Halts a robot at rest whose feet have not met their places; they stay until it is to walk or to lie down."""
        self.halt()
        self.gave_up = True

    def hold_feet(self, heights: Mapping[int, float] = MappingProxyType({})) -> None:
        """Leaves all feet where they are until the next command; `heights` [m] are those of feet in the air, by leg."""
        self.speed.hold_feet()
        guided_legs.hold_feet_in_air(self.motion.feet, heights)

    def change_settings(self, settings: WalkSettings) -> None:
        """Applies all settings except the gait; a new lift height applies from the next swing of each foot."""
        walk = self._capabilities.robot.walk
        self.speed.change_settings(settings)
        self.recovery.required_margin = settings.margin
        self.motion.lift_height = settings.lift * walk.lift_height + walk.preload

    def select_gait(self, selection: GaitSelection) -> None:
        """Changes to another gait without a stop, as soon as both gaits allow the speed."""
        self.gaits.select(selection, self.motion)

    def would_tip(self, pose: BodyPose, joints: Sequence[LegJoints]) -> bool:
        """Returns True if a foot is guided and the others would not support the robot in a pose.

        `joints` (n, 3) [rad] are the present joint angles.
        """
        return guided_legs.would_tip(self._capabilities.robot, self.motion.feet, self.body.pose.now, pose, joints)

    def guide_foot(self, leg: int, goal: FootGoal, joints: Sequence[LegJoints]) -> Refusal | None:
        """Guides a foot to a goal while the others support the robot; `joints` (n, 3) [rad] are the present angles."""
        motion = self.motion
        if motion.running or not self.speed.twist.is_zero or motion.any_in_air:
            return Refusal("walks", "the robot walks: stop first")
        return guided_legs.guide_leg(self._capabilities.robot, motion.feet, self.body, leg, goal, joints)

    def release(self) -> None:
        """Returns guided feet to their neutral footholds, or to where they have lifted off if that is forbidden."""
        guided_legs.return_to_footholds(self.motion.feet, self.regions, self.forbidden)

    def settle(self, pose: BodyPose) -> None:
        """Returns guided feet to their neutral footholds, and then moves the body to a pose."""
        self.release()
        self.body.raise_by(0.0)
        self.body.crouch(False)
        if self.motion.guiding:
            self.body.request_later(pose)
        else:
            self.body.request(pose)

    # --- sensors -------------------------------------------------------------------------------------

    def sense(self, contacts: Sequence[bool] | None, tilt: Tilt | None) -> None:
        """Processes the contact of each foot, and roll and pitch [rad] of the body; None if unknown or unused."""
        self.motion.sense(contacts, self._capabilities.robot.walk.height)
        self.body.sense(tilt)

    def correct(self, shares: Twist) -> None:
        """Adds shares of the foot speed [1, 1, rad/m] to the twist of the feet from now on, see `course_control`."""
        self._correction = shares

    def slow_down(self, share: float, lagging_leg: int | None = None) -> None:
        """Limits the speed to a share (0 to 1) from now on; a lagging leg (row) has to lift higher."""
        self.recovery.external_speed_share = share
        motion, body = self.motion, self.body
        motion.raised = None
        if lagging_leg is not None:
            foothold = self.regions.footholds[lagging_leg]
            robot = self._capabilities.robot
            lift = _raised_lift(robot, body, lagging_leg, motion.feet[lagging_leg], foothold, motion.lift_height)
            motion.raised = lagging_leg, lift

    def recover_margin(self, dt: float, margin: float, inward: Point) -> None:
        """Takes measures if the static margin [m] of the last tick is too small, see `margin_recovery`.

        `inward` is the inward normal of the edge of the support polygon nearest to the center of mass.
        """
        recovery = self.recovery
        if recovery.update(dt, margin, inward):
            self.body.shift(recovery.requested_shift)
        safer = recovery.safer_gait(dt, margin, self.motion.clock.gait, self._capabilities.gaits.values())
        if safer is not None and self.gaits.wanted is None:
            self.select_gait(GaitSelection.of(safer))

    # --- the walk now --------------------------------------------------------------------------------

    @property
    def regions(self) -> StanceRegions:
        """Neutral footholds and stance regions at the present height."""
        return self._capabilities.stances.at(self.body.height)

    @property
    def at_rest(self) -> bool:
        """True while the robot stands still with all feet down."""
        return not self.motion.running and self.motion.all_in_stance and self.speed.twist.is_zero

    @property
    def stepping(self) -> bool:
        """True while the feet step, or will step next."""
        return is_stepping(self.speed.command, self.motion, self.body, self.speed, self._capabilities.stances)

    @property
    def still(self) -> bool:
        """True while neither the body nor a foot moves; a guided foot may be held in the air."""
        motion = self.motion
        feet_still = not motion.running and all(foot.arrived for foot in motion.feet) and not motion.any_in_air
        return feet_still and self.speed.twist.is_zero and self.body.pose.still

    @property
    def returned(self) -> bool:
        """True at rest with the body in its pose, and every foot near its neutral foothold or where it is to stay."""
        near = self.gave_up or self.motion.distance_from_neutral(self.regions) <= NEUTRAL_TOLERANCE
        return self.at_rest and near and self.body.settled

    @property
    def in_neutral_stance(self) -> bool:
        """As `returned`, on ground that counts as flat."""
        return self.returned and not self.gave_up and not self.motion.terrain

    # --- speed limits --------------------------------------------------------------------------------

    def limit(self) -> SpeedLimit:
        """Returns the possible twist and its strides for the present command."""
        next_gaits = self.gaits.next_gaits(self.motion)
        conditions, at_best = map(self._conditions, (self.motion.clock.gait, self.gaits.fastest(self.motion)))
        return self.speed.limit(conditions, at_best, next_gaits, self.recovery.speed_share)

    def maxima(self) -> Twist:
        """Returns the present maximum speed along each axis alone, in the fastest of the selected gaits."""
        return self.speed.maxima(self._conditions(self.gaits.fastest(self.motion)))

    def braking_time(self) -> float:
        """Returns the time [s] in which the executed twist can ramp down to zero."""
        return self.speed.braking_time(self._conditions(self.motion.clock.gait))

    def _conditions(self, gait: Gait) -> SpeedConditions:
        """The present conditions in a gait."""
        return SpeedConditions(gait, self.body.height, self.body.region_share)

    # --- one tick ------------------------------------------------------------------------------------

    def advance(self, dt: float, previous: Sequence[LegJoints]) -> WholeBodyPose:
        """Advances body, feet and clock by `dt` [s]; `previous` (n, 3) [rad] are the joint angles of the last tick."""
        motion = self.motion
        body = self.body
        speed = self.speed
        robot = self._capabilities.robot
        stances = self._capabilities.stances
        conditions = at_best = self._conditions(motion.clock.gait)
        if self.gaits.automatic:
            at_best = self._conditions(self.gaits.fastest(motion))
            goal = speed.goal(at_best, self.recovery.speed_share)
            self.gaits.choose(dt, goal, motion, at_best.height, at_best.region_share)
        # In the gait that is active before a change in this tick: the change waits until the speed suits both gaits.
        limit = speed.limit(conditions, at_best, self.gaits.next_gaits(motion), self.recovery.speed_share)
        self.wanted = limit.twist
        # The body goes to its walking goal as soon as the twist makes the feet step, so that they find room to stride.
        stepping = is_stepping(limit.twist, motion, body, speed, stances)
        body.step(dt, stepping, motion.feet)
        body.sway.prepare(body.pose.walking_goal, motion.clock.gait.sway)
        regions = stances.at(body.height)
        body.sway.step(dt / speed.swing_time, motion, regions, stepping)
        # After the body: its new height, pose and sway decide where the feet may stand and which foot may lift off.
        demand = StrideDemand(regions, motion.clock.gait, body.region_share, limit.adaptation.moved, limit.twist)
        self.last_strides = strides = self.strides.step(demand, speed.twist, speed.swing_time, motion.feet)
        if motion.guiding:
            guided_legs.prepare_feet(robot, motion.feet, body, previous)
        else:
            body.end_temporary()
        # A rising swing time prolongs the stances while they are planned: a change is planned only afterwards.
        if not motion.running or speed.swing_time >= limit.swing_time - 1e-9:
            now = WalkConditions(speed.twist, speed.swing_time, regions, body.height, strides.share)
            self.gaits.step(dt, motion, now)
        # After the gaits: a robot at rest changes its gait at once, and then starts at a phase of the new one.
        start_or_stop(limit.twist, motion, body, speed, regions, robot, previous)
        # After the start: the twist stays zero until the clock runs, or planted feet would be dragged.
        self._change_speed(dt, limit, strides)
        motion.twist_is_zero = speed.command.is_zero and speed.twist.is_zero
        motion.note_slope(body.slope)
        self._crouch()
        # Legs that hold their loads do not give way on a slope, see `HeldLoads`.
        left = 1.0 - motion.steepness
        slope = (left * body.slope[0], left * body.slope[1]) if motion.running else LEVEL
        gait = motion.clock.gait  # read again, as it may have changed
        drift = self._capabilities.drift.get(gait.name, ZERO)
        twist = compensated_twist(robot, gait, speed.swing_time, self.corrected(speed.twist), slope, drift)
        motion.step(dt, twist, speed.swing_time, strides)
        if motion.guiding:
            placements = (body.placement, body.resting_placement)
            guided_legs.advance_guided_feet(robot, motion.feet, placements, dt)
        # Last: the ground decides at which height the feet are that have just moved.
        if motion.terrain is not None:
            motion.follow_terrain(dt, HeightReach(robot, body.placement, strides, previous))
        return self._whole_body_pose(previous)

    def note_slowed(self, time: float) -> None:
        """Makes up for a time [s] by which the limits of the joints have slowed the last tick, on rough ground."""
        if self.motion.terrain is not None and self.motion.running:
            self.speed.note_slowed(time, self.motion.terrain.roughness)

    def retreat(self, dt: float, previous: Sequence[LegJoints]) -> WholeBodyPose:
        """Moves the body towards its neutral pose for `dt` [s], to bring feet into reach; feet and clock stand."""
        self.speed.stop_at_once()
        self.body.retreat(dt)
        if self.motion.terrain is not None:
            self.motion.terrain.retreat(self.motion.feet, dt)
        return self._whole_body_pose(previous)

    def corrected(self, twist: Twist) -> Twist:
        """The twist of the feet with which the body is to move with `twist`, by the measured errors of its walk."""
        x, y, turn = self._correction
        speed = twist.foot_speed(self._foothold_radius)
        return Twist(twist.vx + x * speed, twist.vy + y * speed, twist.wz + turn * speed)

    def _crouch(self) -> None:
        """Lowers the body where it walks up a steep slope: else the upper feet bear little, and slide as they land."""
        roll, pitch = self.body.slope
        steep = self.motion.steepness * math.hypot(roll, pitch)
        x, y, _ = self.wanted
        if steep <= CROUCH_RAD[0] and not self.speed.command.is_zero:
            self.body.crouch(False)
        elif steep >= CROUCH_RAD[1] and roll * y > pitch * x:
            self.body.crouch(True)

    def _reaches(self, leg: int, at: Vector) -> bool:
        """Whether a leg (row) reaches (x, y, z) [m], somewhat below, and as far above that its foot can be lifted."""
        robot = self._capabilities.robot
        x, y, z = at
        heights = z - SEARCH_REACH_MARGIN, z + CLEARANCE
        return all(reaches(robot.legs[leg], robot, (x, y), height, self.body.placement) for height in heights)

    def _change_speed(self, dt: float, limit: SpeedLimit, strides: Strides) -> None:
        """Ramps twist and swings towards the limit, slowed by the region guard and by waiting lift-offs."""
        motion, speed = self.motion, self.speed
        goal = limit.twist.scaled(self.strides.speed_share) if motion.running or speed.halted else ZERO
        swing_time = limit.swing_time
        roughness = 0.0
        if motion.terrain is not None:
            roughness = motion.terrain.roughness if motion.running else 0.0
            if motion.terrain.waiting:
                goal = ZERO if motion.terrain.probing else goal.scaled(WAITING_SHARE)
        if speed.twist != goal:
            speed.ramp(dt, goal, self._conditions(motion.clock.gait), roughness)
        if motion.terrain is not None:
            gait = motion.clock.gait
            swing_time = stretched_swing_time(swing_time, motion.stretch, limit.twist, gait, strides)
        speed.change_swing(dt, swing_time, limit.adaptation.lift_share)
        motion.lift_share = speed.lift_share
        if not speed.twist.is_zero:
            twist = self.corrected(speed.twist)
            if motion.running and motion.uneven:
                share = steady_share(motion.feet, motion.clock, twist, dt, speed.swing_time, strides, self._reaches)
            else:
                clock = motion.clock if motion.running else None
                share = allowed_share(motion.feet, clock, twist, dt, speed.swing_time, strides)
            speed.slow_down(share)
            speed.note_lost_time(dt, roughness)

    def _whole_body_pose(self, previous: Sequence[LegJoints]) -> WholeBodyPose:
        """The pose of the robot for the present body pose and feet."""
        feet = self.motion.feet
        return whole_body_pose(
            self._capabilities.robot,
            self.body.placement,
            [(foot.x, foot.y) for foot in feet],
            [foot.z for foot in feet],
            [foot.state.planted for foot in feet],
            previous,
        )


def _raised_lift(robot: Robot, body: BodyControl, leg: int, foot: Foot, foothold: Point, lift: float) -> float:
    """Returns the greatest of the raised lifts [m] in reach over the stride of a leg, or else the present lift."""
    points = (foot.x, foot.y), foothold, (2.0 * foothold[0] - foot.x, 2.0 * foothold[1] - foot.y)
    for height in (factor * lift for factor in RAISED_LIFTS):
        if all(reaches(robot.legs[leg], robot, point, height, body.placement) for point in points):
            return height
    return lift


def is_stepping(
    goal: Twist, motion: FootMotion, body: BodyControl, speed: SpeedControl, stances: StanceRegionTable
) -> bool:
    """Returns True while the feet step, or will step next; `goal` is the twist to be executed."""
    moving = not (goal.is_zero and speed.twist.is_zero)
    if moving or motion.running:
        return True
    if not (body.pose.walkable and _can_step(motion, speed)):
        return False
    return motion.distance_from_neutral(stances.at(body.height)) > NEUTRAL_TOLERANCE


def start_or_stop(
    goal: Twist,
    motion: FootMotion,
    body: BodyControl,
    speed: SpeedControl,
    regions: StanceRegions,
    robot: Robot,
    joints: Sequence[LegJoints],
) -> None:
    """Starts or stops the gait clock; `goal` is the twist to be executed, `joints` (n, 3) [rad] are the present ones.

    It starts at a phase at which the planted feet support the robot in the first swing.
    """
    still = goal.is_zero and speed.twist.is_zero
    if motion.running:
        if still and motion.all_planted and motion.distance_from_neutral(regions) <= STOP_TOLERANCE:
            motion.running = False
    elif (
        _can_step(motion, speed)
        and (not still or motion.distance_from_neutral(regions) > NEUTRAL_TOLERANCE)
        and body.pose.can_start_walking(motion.feet)
        and body.sway.ready(motion.clock.gait.sway)
    ):
        contacts = [(foot.x, foot.y) for foot in motion.feet]
        center = center_of_mass_in_footprint(robot, joints, body.pose.now)
        motion.start(first_phase(motion.clock.gait, contacts, center))


def _can_step(motion: FootMotion, speed: SpeedControl) -> bool:
    """True while all feet stand, none is guided, and the walk is not halted."""
    return motion.all_in_stance and not speed.halted
