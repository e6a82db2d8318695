"""Standing and walking as one motion: command -> limits -> ramp -> guard -> feet, under a body pose."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from hexapod_control.core.gait.gait_clock import GaitClock
from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose, Placement
from hexapod_control.core.kinematics.leg_kinematics import LegJoints
from hexapod_control.core.kinematics.rolling_contact import ball_centre_and_joints
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.kinematics.whole_body import WholeBodyPose, whole_body_pose
from hexapod_control.core.robot import Point, Vector
from hexapod_control.core.statics.leg_compliance import slip_compensation
from hexapod_control.core.statics.static_stability import center_of_mass_in_footprint, static_margin
from hexapod_control.core.walking.body_levelling import BodyLevelling, Tilt
from hexapod_control.core.walking.body_pose_control import BodyPoseControl
from hexapod_control.core.walking.foot_motion import Foot, FootMotion
from hexapod_control.core.walking.gait_selector import GaitSelector, first_phase
from hexapod_control.core.walking.guided_foot import GuidedFoot
from hexapod_control.core.walking.guided_legs import (
    LEAST_MARGIN,
    advance_guided_feet,
    contact_of,
    lean_away,
    lift_off,
    return_to_footholds,
    start_guiding,
    supporting_contacts,
)
from hexapod_control.core.walking.margin_recovery import MarginRecovery
from hexapod_control.core.walking.terrain_adaptation import HeightReachable, TerrainAdaptation
from hexapod_control.core.walking.walk_settings import WalkSettings
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.speed_envelope import STRIDE_SHARE, SpeedLimit
from hexapod_control.core.workspace.speed_limiter import SpeedConditions, SpeedLimiter
from hexapod_control.core.workspace.stance_regions import StanceRegions, reaches
from hexapod_control.core.workspace.twist_limits import ramp_towards

LEAN_STEP = 0.002  # [m] of lean at which the body is asked to follow
GAIT_PATIENCE = 3.0  # [s] between two gaits that balance asks for
STRAY = 0.005  # [m] from its neutral foothold at which a foot of a standing robot is worth a step
SWING_RATE = 0.5  # [s/s] by which the swing time may change
WAITING = 0.3  # of the speed while a lift-off waits
REGAIN = 3.0  # times the acceleration from rest with which a walk over rough ground gets its speed back
FILLED = 0.85  # share of the steady strides' room that strides on rough ground use: they vary


class WalkController:
    """The motion of a robot on its feet."""

    def __init__(self, capabilities: Capabilities, contacts: Sequence[Point], pose: BodyPose, gait: Gait) -> None:
        """Starts standing on contact points [m, base_footprint] in a pose."""
        self._capabilities = capabilities
        self.walker = FootMotion([Foot(x, y) for x, y in contacts], GaitClock(gait), 0.0)
        self.pose = BodyPoseControl(capabilities, pose)
        self._asked: BodyPose = pose  # by the operator
        self._leaning = False  # away from a leg led by hand
        self.balance = MarginRecovery()
        self._leant = (0.0, 0.0)  # [m] the lean the body was asked for
        self._since_change = 0.0  # [s] since balance asked for a gait
        self.level: BodyLevelling | None = None  # None: the body is parallel to the ground
        self.command = ZERO
        self.twist = ZERO  # executed
        self.swing_time = capabilities.robot.walk.swing_time
        self.halted = False
        self._gaits = GaitSelector(capabilities, gait)
        self.restyle(WalkSettings(gait))
        self._speeds = SpeedLimiter(capabilities)

    done = False  # standing has no end
    progress = 0.0

    def copy(self) -> WalkController:
        """An independent walk in the same state."""
        other = WalkController.__new__(WalkController)
        other.__dict__.update(self.__dict__)
        other.walker = self.walker.copy()
        other.pose = self.pose.copy()
        other._gaits = self._gaits.copy()
        other.level = self.level.copy() if self.level else None
        return other

    @property
    def gait(self) -> Gait:
        """The gait in force."""
        return self.walker.schedule.gait

    @property
    def feet(self) -> tuple[Foot, ...]:
        """The feet as they are now, in leg order; to look at only."""
        return tuple(self.walker.feet)

    @property
    def gait_phase(self) -> float:
        """Phase of the gait clock in [0, 1)."""
        return self.walker.schedule.phase

    @property
    def guiding(self) -> bool:
        """True while a foot is guided, or about to be."""
        return self.walker.by_hand

    def guided_foot_arrived(self, leg: int) -> bool:
        """True if the foot is held at the end of its path, or is not guided at all."""
        hand = self.walker.feet[leg].hand
        return hand is None or hand.arrived

    @property
    def body_pose(self) -> BodyPose:
        """The pose of the body now, without the tilt that keeps it level."""
        return self.pose.pose

    @property
    def pose_goal(self) -> BodyPose:
        """The pose the body goes to while the robot stands."""
        return self.pose.standing_goal

    def pose_reachable(self, pose: BodyPose) -> bool:
        """True if a robot that stands can take this pose as it is."""
        return self.pose.reachable(pose)

    def track_pose(self, pose: BodyPose) -> None:
        """Follows a pose that changes all the time and is known to be in reach."""
        self.pose.track(pose)

    @property
    def height(self) -> float:
        """Height of base_link above the ground [m]."""
        return self._capabilities.robot.walk.height + self.pose.pose.z

    @property
    def room(self) -> float:
        """Share of the stance regions that the body's pose and tilt leave for walking."""
        return min(self.pose.room, self.level.room) if self.level else self.pose.room

    @property
    def placement(self) -> Placement:
        """Where the body is over the ground."""
        return self._placed(self.pose.pose)

    def _placed(self, pose: BodyPose) -> Placement:
        return Placement(self.level.on(pose) if self.level else pose, self._capabilities.robot.walk.height)

    @property
    def at_rest(self) -> bool:
        """True while the robot stands still with all feet down."""
        walker = self.walker
        return not walker.running and walker.all_planted and not walker.by_hand and self.twist.is_zero

    @property
    def still(self) -> bool:
        """True while neither the body moves nor a foot; one may be held in the air."""
        feet = self.walker.feet
        held = all(foot.hand is None or foot.hand.arrived for foot in feet) and not self.walker.in_swing
        return not self.walker.running and held and self.twist.is_zero and self.pose.still

    @property
    def at_home(self) -> bool:
        """True at rest with every foot about its neutral foothold and the pose at its goal."""
        there = self._away <= STRAY and self.pose.pose == self.pose.standing_goal
        return self.at_rest and there and not (self._leaning or self.level or self.walker.ground)

    def request_pose(self, pose: BodyPose, duration: float = 0.0) -> None:
        """Asks for a body pose, in `duration` [s] or as fast as is calm."""
        self._asked = pose
        self.pose.request(self._leaned(pose), duration)

    def balanced(self, dt: float, static_margin: float, edge: Point) -> None:
        """Takes the measures that a static margin [m] calls for; `edge` points inwards across the nearest edge."""
        self.balance = balance = self.balance.after(dt, static_margin, edge)
        if math.dist(balance.lean, self._leant) > LEAN_STEP or (balance.lean == (0.0, 0.0) != self._leant):
            self._leant = balance.lean
            self.pose.request(self._leaned(self._asked))
        self._since_change += dt
        if balance.exhausted and static_margin < balance.least and self._since_change > GAIT_PATIENCE:
            self._since_change = 0.0
            safer = [gait for gait in self._capabilities.gaits.values() if gait.duty_factor > self.gait.duty_factor]
            if safer and self._gaits.wanted is None:
                self.change_gait(min(safer, key=lambda gait: gait.duty_factor))

    def _leaned(self, pose: BodyPose) -> BodyPose:
        return pose._replace(x=pose.x + self._leant[0], y=pose.y + self._leant[1])

    def settle(self, pose: BodyPose) -> None:
        """Brings feet led by hand to the ground, and after them the body to a pose."""
        self.release()
        if self.walker.by_hand:
            self._asked, self._leaning = pose, True
        else:
            self.request_pose(pose)

    def would_tip(self, pose: BodyPose, row: Sequence[LegJoints]) -> bool:
        """True if the feet on the ground would not hold the robot in a pose; `row` are the present joints [rad]."""
        if not self.walker.by_hand:
            return False
        x, y = center_of_mass_in_footprint(self._capabilities.robot, row, self.pose.pose)
        now = self.pose.pose
        return (
            static_margin(supporting_contacts(self.walker.feet, -1), (x + pose.x - now.x, y + pose.y - now.y))
            < LEAST_MARGIN
        )

    def hold(self, lifts: Sequence[float], planted: Sequence[bool]) -> None:
        """Keeps feet that are `lifts` [m] above the ground there, as if led by hand."""
        for foot, lift, down in zip(self.walker.feet, lifts, planted, strict=True):
            if not down:
                foot.z, foot.hand = lift, GuidedFoot(((foot.x, foot.y, lift),), waiting=False)

    def reach(self, leg: int, centre: Vector, row: Sequence[LegJoints]) -> str:
        """Leads one foot by hand to a point [m, base_link] for its ball's centre while the others hold the robot.

        `row` are the present joints [rad]. Returns why not, or nothing if it is accepted.
        """
        return self._lead(leg, row, lambda pose: contact_of(self._capabilities.robot, leg, centre, pose))

    def place(self, leg: int, point: Vector, row: Sequence[LegJoints]) -> str:
        """As `reach` for a contact point (x, y) [m, base_footprint] at a height [m] above the ground."""
        return self._lead(leg, row, lambda pose: point)

    def _lead(self, leg: int, row: Sequence[LegJoints], goal: Callable[[BodyPose], Vector]) -> str:
        if self.walker.running or not self.twist.is_zero or self.walker.in_swing:
            return "the robot walks: stop first"
        robot, feet = self._capabilities.robot, self.walker.feet
        shift = lean_away(supporting_contacts(feet, leg), center_of_mass_in_footprint(robot, row, self.pose.pose))
        if shift is None:
            return f"{robot.legs[leg].name}: the other feet on the ground would not hold the robot"
        pose = self.pose.standing_goal
        if shift != (0.0, 0.0):
            pose = pose._replace(x=self.pose.pose.x + shift[0], y=self.pose.pose.y + shift[1])
            if not self.pose.reachable(pose) or not self.pose.holds(pose, feet):
                return f"{robot.legs[leg].name}: the body cannot lean away from this leg as far as it would have to"
        refusal = start_guiding(robot, self.walker, pose, leg, goal(pose), row)
        if not refusal and shift != (0.0, 0.0):
            self._leaning = True
            self.pose.request(pose)
        return refusal

    def release(self) -> None:
        """Brings feet led by hand back to their neutral footholds."""
        return_to_footholds(self._capabilities.robot, self.walker, self._capabilities.stances.at(self.height))

    def halt(self) -> None:
        """Brings the body to rest, sets feet in the air down, and leaves all feet on the ground where they are."""
        self.release()
        self.command = ZERO
        self.halted = True
        self._gaits.halt(self.walker)
        self.walker.halt(self.swing_time)

    def drive(self, command: Twist) -> None:
        """Follows a twist from now on; zero brings the feet back to neutral."""
        if self.walker.by_hand and not command.is_zero:
            self.release()
        self.command = command
        self.halted = False

    def restyle(self, style: WalkSettings) -> None:
        """Takes on all of a style but its gait; another step height from each foot's next swing on."""
        walk = self._capabilities.robot.walk
        self.limits, self.tempo = style.limits, style.tempo
        self.balance = replace(self.balance, least=style.margin)
        self.walker.lift_height = style.lift * walk.lift_height + walk.preload

    def change_gait(self, gait: Gait) -> None:
        """Goes over to another gait, without a stop, as soon as the speed suits both."""
        self._gaits.ask(gait, self.walker)

    def sense(self, contacts: Sequence[bool] | None, tilt: Tilt | None) -> None:
        """Tells which feet touch the ground, and roll and pitch [rad] of the body; None: unknown, or of no interest."""
        if contacts is not None and self.walker.ground is None:
            self.walker.ground = TerrainAdaptation(len(contacts), self._capabilities.robot.walk.height)
        if self.walker.ground is not None:
            self.walker.ground.contacts = contacts
            if self.walker.ground.even:
                self.walker.ground = None
        if tilt is not None and self.level is None:
            self.level = BodyLevelling()
        if self.level is not None:
            self.level.measured = tilt
            if self.level.over:
                self.level = None

    def limit(self) -> SpeedLimit:
        """What is possible of the command now: the limiter's twist and swing time."""
        change = self.walker.schedule.change
        coming = [gait for gait in (self._gaits.wanted, change.gait if change else None) if gait is not None]
        command = self.command.scaled(self.balance.share)
        return self._speeds.limit(command, self._conditions, coming, self.limits, self.tempo)

    def maxima(self) -> Twist:
        """Greatest speed along each axis alone, now."""
        most = self._speeds.maxima(self._conditions)
        bounds = (axis.max_velocity for axis in self.limits.axes)
        return Twist(*(v if math.isnan(bound) else min(v, bound) for v, bound in zip(most, bounds, strict=True)))

    @property
    def _conditions(self) -> SpeedConditions:
        return SpeedConditions(self.gait, self.height, self.room)

    def _accelerations(self) -> tuple[Twist, Twist]:
        """(acceleration, deceleration) per axis; on rough ground a walk is slowed by its feet now and then."""
        ground = self.walker.ground
        haste = 1.0 + ground.rough * (REGAIN - 1.0) if ground is not None and self.walker.running else 1.0
        return self._speeds.accelerations(self._conditions, self.swing_time, self.limits, haste)

    def braking_time(self) -> float:
        """Time [s] in which the executed twist fades to zero."""
        down = self._accelerations()[1]
        return max(abs(v) / a if a > 0.0 else 0.0 for v, a in zip(self.twist, down, strict=True))

    def advance(self, dt: float, previous: Sequence[LegJoints]) -> WholeBodyPose:
        """Moves body, feet and clock on by `dt` [s]."""
        walker, pose, feet = self.walker, self.pose, self.walker.feet
        limit = self.limit()
        moving = not (limit.twist.is_zero and self.twist.is_zero)
        stepping = moving or walker.running or (pose.walkable and self._stands and self._away > STRAY)
        pose.step(dt, pose.stepping_goal(feet) if stepping else pose.standing_goal, feet)
        if self.level is not None:
            self.level.step(dt, pose.pose, pose.room_in, lambda there: pose.reach(there, walker.feet))
        stance = self._capabilities.stances.at(self.height)
        if walker.by_hand:
            lift_off(self._capabilities.robot, walker, pose.pose, previous)
            if pose.still and any(foot.hand is not None and foot.hand.held for foot in feet):
                self._leaning = True  # level, until the feet are down: the foot does not get on in this pose
                pose.request(NEUTRAL._replace(x=pose.pose.x, y=pose.pose.y))
        elif self._leaning:
            self._leaning = False
            pose.request(self._leaned(self._asked))
        if not walker.running or self.swing_time >= limit.swing_time - 1e-9:  # else stances last longer than planned
            self._gaits.step(dt, walker, self.twist, self.swing_time, stance, self.height, self.room)
        self._start_or_stop(limit.twist, previous)
        wanted = limit.twist if walker.running or self.halted else ZERO
        if walker.ground is not None and walker.ground.waiting:
            wanted = wanted.scaled(WAITING)
        if self.twist != wanted:
            self.twist = ramp_towards(self.twist, wanted, *self._accelerations(), dt)
        swing_time = limit.swing_time
        if walker.ground is not None:
            swing_time = self._longer(swing_time, walker.ground.stretch, stance)
        self.swing_time += min(max(swing_time - self.swing_time, -SWING_RATE * dt), SWING_RATE * dt)
        if not self.twist.is_zero:
            factor = walker.allowed(self.twist, dt, self.swing_time, stance, self.room)
            if factor < 1.0:
                self.twist = self.twist.scaled(factor)
        walker.resting = self.command.is_zero and self.twist.is_zero
        walker.step(dt, self._over_ground(), self.swing_time, stance, self.room)
        advance_guided_feet(self._capabilities.robot, walker, (self.placement, self._placed(pose.rest)), dt)
        if walker.ground is not None:
            walker.feel(dt, self._reach(stance, previous))
        return self._frame(previous)

    def retreat(self, dt: float, previous: Sequence[LegJoints]) -> WholeBodyPose:
        """Gives the body pose up, feet and clock standing still: the way out when a foot is out of reach."""
        self.twist = ZERO
        self.pose.retreat(dt)
        if self.level is not None:
            self.level.retreat(dt)
        if self.walker.ground is not None:
            self.walker.ground.retreat(self.walker.feet, dt)
        return self._frame(previous)

    def _frame(self, previous: Sequence[LegJoints]) -> WholeBodyPose:
        feet = self.walker.feet
        return whole_body_pose(
            self._capabilities.robot,
            self.placement,
            [(foot.x, foot.y) for foot in feet],
            [foot.z for foot in feet],
            [foot.planted for foot in feet],
            previous,
        )

    def _over_ground(self) -> Twist:
        """The twist by which the feet move: on a slope the legs give way, which is made up for."""
        slope = self.level.slope(self.pose.pose) if self.level is not None and self.walker.running else (0.0, 0.0)
        if slope == (0.0, 0.0) or self.twist.is_zero:
            return self.twist
        x, y, _ = slip_compensation(self._capabilities.robot, self.gait, self.swing_time, slope)
        return Twist(self.twist.vx + x, self.twist.vy + y, self.twist.wz)

    def _longer(self, swing_time: float, stretch: float, stance: StanceRegions) -> float:
        """The swing time [s] stretched, as far as the strides fit well into the stance regions."""
        share, (vx, vy, wz) = 2.0 * FILLED * STRIDE_SHARE * self.room / self.gait.stance, self.twist
        longest = stretch * swing_time
        for (x, y), radius in zip(stance.footholds, stance.radii, strict=True):
            speed = math.hypot(vx - wz * y, vy + wz * x)
            if longest * speed > share * radius:
                longest = share * radius / speed
        return max(swing_time, longest)

    def _reach(self, stance: StanceRegions, previous: Sequence[LegJoints]) -> HeightReachable:
        """Whether a foot can be at a height where it is, and at the other end of its stance."""
        robot, placement = self._capabilities.robot, self.placement

        def reach(number: int, foot: Foot, height: float) -> bool:
            leg, (x, y) = robot.legs[number], stance.footholds[number]
            here, there = (foot.x, foot.y), (2.0 * x - foot.x, 2.0 * y - foot.y)
            bent = ball_centre_and_joints(
                leg, here, height - robot.walk.preload, placement, robot.foot_radius, previous[number]
            )[1]
            return bent[1] is None and (not foot.planted or reaches(leg, robot, there, height, placement))

        return reach

    @property
    def _stands(self) -> bool:
        """True while all feet stand and may step."""
        return self.walker.all_planted and not (self.walker.by_hand or self.halted)

    @property
    def _away(self) -> float:
        """Greatest distance [m] of a foot from its neutral foothold."""
        return self.walker.away(self._capabilities.stances.at(self.height))

    def _start_or_stop(self, goal: Twist, previous: Sequence[LegJoints]) -> None:
        walker = self.walker
        still = goal.is_zero and self.twist.is_zero
        if walker.running:
            if still and walker.all_planted and self._away <= 2 * STRAY / 5:
                walker.running = False
        elif self._stands and (not still or self._away > STRAY) and self.pose.can_start_walking(walker.feet):
            contacts = [(foot.x, foot.y) for foot in walker.feet]
            walker.start(
                first_phase(
                    self.gait, contacts, center_of_mass_in_footprint(self._capabilities.robot, previous, self.pose.pose)
                )
            )
