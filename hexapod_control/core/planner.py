"""From commands to foot targets: the one object a gait planner node needs.

A tick takes the measured time step, moves body, feet and clock by it and gives one complete row: foot
targets in base_link, or joints where Cartesian targets cannot say it. Whatever the tick asks, no joint moves faster
than a share of its servo's no-load speed: where it would, clock and body are slowed together for that tick.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from hexapod_control.core import posture
from hexapod_control.core.adoption import adopt
from hexapod_control.core.body import NEUTRAL, BodyPose
from hexapod_control.core.frame import Frame, Motion, Unreached
from hexapod_control.core.kinematics import Array, Row, forward, read_only
from hexapod_control.core.limits import SPEED_SHARE
from hexapod_control.core.posture import JointMove, Rise
from hexapod_control.core.ramp import TwistLimits
from hexapod_control.core.robot import Robot, Vector
from hexapod_control.core.se2 import ZERO, Twist
from hexapod_control.core.senses import Senses
from hexapod_control.core.stability import GRAVITY, center_of_mass, margin, support
from hexapod_control.core.walk import Abilities, Walk

TRIES = 5  # of a tick at a smaller and smaller share, before the robot holds its row
SHORTEST_STEP = 1e-4  # [s] a shorter tick is none: rounding would look like speed
MAX_STEP = 0.1  # [s] a longer tick is taken as this long: no catching up after a pause


class State(Enum):
    """What the robot is doing; the value is what `gait_state` says."""

    UNKNOWN = "unknown"
    SITTING = "sitting"
    RISING = "rising"
    STANDING = "standing"
    WALKING = "walking"
    MOVING = "moving"
    SINKING = "sinking"
    FAULT = "fault"


@dataclass(frozen=True, slots=True)
class Plan:
    """One tick's row and what there is to say about it. Exactly one of `feet` and `joints` goes out, or neither."""

    state: State
    feet: Array | None  # (n, 3) [m] ball centres in base_link
    feet_velocity: Array  # (n, 3) [m/s] in base_link
    support: Array  # (n,) [N] planned load, 0 in swing
    joints: Array | None  # (n, 3) [rad] for a motion in joint space
    joint_velocity: Array  # (n, 3) [rad/s]
    row: Array | None  # (n, 3) [rad] the joints of this tick, however they are commanded
    contacts: Array  # (n, 2) [m] contact points in base_footprint
    planted: tuple[bool, ...]
    twist: Twist  # executed
    pose: BodyPose  # achieved
    margin: float  # [m] static stability; not a number while nothing stands
    unreached: Unreached | None  # the foot target that made the robot hold its row


class Planner:
    """Plans for one robot. Commands may come at any time; `step` is called at the control rate."""

    def __init__(self, robot: Robot, gait: str = "", limits: TwistLimits | None = None) -> None:
        """Computes the robot's tables. Raises ValueError for a robot that cannot walk as described."""
        self.able = Abilities.of(robot)
        self.robot = robot
        self.state = State.UNKNOWN
        self._gait = self.able.gaits[gait or robot.walk.gait]
        self._limits = limits or TwistLimits()
        self.senses = Senses(robot)
        self._lift = 1.0  # share of the robot's step height
        self._top = [[SPEED_SHARE * joint.no_load_speed for joint in leg.joints] for leg in robot.legs]
        self._home = self.able.stances.at(robot.walk.height).footholds
        self._lying = posture.lying_offset(robot, self._home)
        self._weight = robot.mass * GRAVITY  # [N]
        self._zero = read_only(np.zeros((len(robot.legs), 3)))
        self._row: list[Row] | None = None  # joints of the last tick
        self._centres: list[Vector] | None = None
        self._frame: Frame | None = None  # of the last tick
        self._last: Plan | None = None  # of the last tick
        self._motion: Motion | None = None
        self._next: list[Motion] = []  # what follows the present motion
        self._sit = False
        self._frozen = False
        self._adopted = False  # taken over while standing, at a height it was found at

    # --- what the robot is asked to do -------------------------------------------------------------

    def measured(self, joints: Array) -> None:
        """Tells where the joints (n, 3) [rad] are. Ends UNKNOWN; later only a sitting robot listens to it."""
        if self.state not in (State.UNKNOWN, State.SITTING) or not np.isfinite(joints).all():
            return
        row: list[Row] = [(a, b, c) for a, b, c in np.asarray(joints, dtype=float).tolist()]
        if self.state is State.UNKNOWN:
            found = adopt(self.robot, self.able.stances, row)
            goal = posture.row_at(self.robot, found[0], found[1].z) if found else None
            if found and goal:
                self._row = row
                walk = Walk(self.able, found[0], found[1], self._gait)
                walk.halted = True  # until the first command the feet stay where they were found
                self._adopted = True
                self._begin(State.RISING, [JointMove.between(self.robot, row, goal, found[0]), walk])
                return
        self._row, self._centres, self._last = row, None, None
        self.state = State.SITTING

    def lost(self) -> None:
        """Forgets where the robot is: its servos were let go, or its pose is no longer known."""
        self.state, self._motion, self._next = State.UNKNOWN, None, []
        self._row, self._centres, self._last, self._sit, self._frozen = None, None, None, False, False

    def stand(self) -> str:
        """Stands up. Returns why not, or nothing if it is accepted."""
        if self.state is State.UNKNOWN or self._row is None:
            return "the pose is not known yet: no joint_states have arrived; start or arm the driver"
        self._sit = self._frozen = False
        if self.state is State.SITTING:
            self._begin(State.RISING, self._getting_up(self._row))
        elif self.state is State.SINKING and isinstance(self._motion, Rise):
            self._begin(State.RISING, self._rising_from(self._motion.offset))
        return ""

    def sit(self) -> str:
        """Sits down, from walking after coming to rest. Returns why not, or nothing if it is accepted."""
        if self.state is State.UNKNOWN:
            return "the pose is not known yet: no joint_states have arrived; start or arm the driver"
        self._frozen = False
        if self.state is State.RISING and isinstance(self._motion, Rise):
            self._begin(State.SINKING, [Rise.between(self.robot, self._home, self._motion.offset, self._lying)])
        elif self.state is not State.SITTING:
            self._sit = True
            if self._walk:
                self._walk.drive(ZERO)
                self._walk.pose.request(NEUTRAL)
        return ""

    def halt(self) -> None:
        """Stops smoothly whatever moves: feet in the air go straight down and stay, a posture motion waits."""
        self._sit = False
        if self._walk:
            self._walk.halt()
        else:
            self._frozen = True

    def command(self, twist: Twist) -> None:
        """Follows a body twist; ignored unless the robot is on its feet and stays there."""
        if self._walk and not self._sit:
            if self._adopted:
                self._adopted = False
                self._walk.pose.request(NEUTRAL)
            self._walk.drive(twist)

    def pose(self, pose: BodyPose) -> str:
        """Goes to a body pose, clamped to what the legs reach. Returns what was clamped or why it is ignored."""
        if not self._walk or self._sit:
            return f"ignored while {self.state.value}: stand up first"
        self._adopted = False
        control = self._walk.pose
        control.request(pose)
        return "" if control.standing_goal == pose else "out of reach: clamped, see the achieved pose"

    def gait(self, name: str) -> str:
        """Changes to another gait. Returns why not, or nothing if it is accepted."""
        if name not in self.able.gaits:
            return f"unknown gait {name!r}; known: {', '.join(self.able.gaits)}"
        self._gait = self.able.gaits[name]
        if self._walk:
            self._walk.change_gait(self._gait)
        return ""

    def limit(self, limits: TwistLimits) -> None:
        """Sets the velocity and acceleration limits."""
        self._limits = limits
        if self._walk:
            self._walk.limits = limits

    def lift(self, share: float) -> None:
        """Sets the height of the steps as a share (0 to 1) of the robot's."""
        self._lift = share
        if self._walk:
            self._walk.lift(share)

    # --- what it does -----------------------------------------------------------------------------

    @property
    def _walk(self) -> Walk | None:
        return self._motion if isinstance(self._motion, Walk) else None

    @property
    def _moving(self) -> bool:
        return self._last is not None and bool(self._last.joint_velocity.any())

    @property
    def gait_active(self) -> str:
        """Name of the gait in force."""
        return self._walk.gait.name if self._walk else self._gait.name

    @property
    def phase(self) -> float:
        """Phase of the gait's clock in [0, 1)."""
        return self._walk.walker.schedule.phase if self._walk else 0.0

    @property
    def progress(self) -> float:
        """Share (0 to 1) of the present posture motion that is done; 0 where there is no end to count to."""
        return self._motion.progress if isinstance(self._motion, JointMove | Rise) else 0.0

    def maxima(self) -> Twist:
        """Greatest speed along each axis alone, now; zero while the robot is not on its feet."""
        return self._walk.maxima() if self._walk and not self._sit else ZERO

    def step(self, dt: float) -> Plan:
        """Moves everything on by `dt` [s] and gives the row of this tick."""
        if SHORTEST_STEP <= dt < math.inf:
            self.senses.step(dt, self._moving)
        if self._motion is None or self._row is None or self._frozen or not SHORTEST_STEP <= dt < math.inf:
            return self._still()
        dt = min(dt, MAX_STEP)
        if self._walk:
            self._walk.sense(*((None, None) if self._sit else (self.senses.touching, self.senses.lean)))
        motion, found, share = self._guarded(self._motion, self._row, dt)
        plan = self._plan(motion, found, dt, share)
        self._motion, self._row, self._centres, self._frame = motion, found.joints, found.centres, found
        if motion.done:
            self._begin(self.state, self._next)
        self._settle()
        self._last = plan
        return plan

    def _begin(self, state: State, motions: list[Motion]) -> None:
        self.state = state
        self._motion, self._next = (motions[0], motions[1:]) if motions else (None, [])
        if self._walk:
            self._walk.limits = self._limits
            self._walk.lift(self._lift)
            if self._walk.gait is not self._gait:
                self._walk.change_gait(self._gait)

    def _getting_up(self, row: Sequence[Row]) -> list[Motion]:
        lying = posture.row_at(self.robot, self._home, self._lying)
        assert lying is not None  # lying_offset only gives offsets in reach
        return [JointMove.between(self.robot, row, lying, self._home), *self._rising_from(self._lying)]

    def _rising_from(self, offset: float) -> list[Motion]:
        rise = Rise.between(self.robot, self._home, offset, 0.0)
        return [rise, Walk(self.able, self._home, NEUTRAL, self._gait)]

    def _settle(self) -> None:
        """The state that follows from the motion."""
        walk = self._walk
        if walk is None:
            if self._motion is None:
                self.state = State.SITTING
            return
        self.state = State.STANDING if walk.at_rest else State.WALKING
        if self._sit and walk.pose.standing_goal != NEUTRAL:
            walk.pose.request(NEUTRAL)
        if self._sit and walk.at_home:
            self._sit = False
            contacts = [(foot.x, foot.y) for foot in walk.walker.feet]
            lying = posture.lying_offset(self.robot, contacts)
            self._begin(State.SINKING, [Rise.between(self.robot, contacts, 0.0, lying)])

    def _guarded(self, motion: Motion, row: Sequence[Row], dt: float) -> tuple[Motion, Frame, float]:
        """(motion, frame, share of dt) after this tick, slowed until no joint is too fast and every foot in reach."""
        share = 1.0
        unreached: Unreached | None = None
        for _ in range(TRIES):
            tried = motion.copy()
            found = tried.advance(share * dt, row)
            excess = self._speed_ratio(row, found.joints, dt)
            if found.unreached:
                unreached = found.unreached
                share *= 0.5
            elif excess > 1.0:
                share *= 0.98 / excess
            else:
                return tried, found, share
        return self._held(motion, row, dt, unreached)

    def _held(
        self, motion: Motion, row: Sequence[Row], dt: float, unreached: Unreached | None
    ) -> tuple[Motion, Frame, float]:
        """As `_guarded` where no share of the tick will do: feet and clock stand, the body pose goes back to neutral.

        Joints are clamped to what they reach meanwhile, and the foot targets are where those joints put the feet.
        """
        share = 1.0
        for _ in range(TRIES):
            tried = motion.copy()
            if not isinstance(tried, Walk):
                break
            found = tried.retreat(share * dt, row)
            excess = self._speed_ratio(row, found.joints, dt)
            if excess <= 1.0:
                feet = forward(self.robot, read_only(found.joints)).tolist()
                return tried, found._replace(centres=[(x, y, z) for x, y, z in feet], unreached=unreached), 0.0
            share *= 0.9 / excess
        if self._frame is None:
            self._frame = motion.copy().advance(SHORTEST_STEP, row)
        return motion, self._frame._replace(joints=list(row), centres=self._centres, unreached=unreached), 0.0

    def _speed_ratio(self, before: Sequence[Row], after: Sequence[Row], dt: float) -> float:
        """Greatest joint speed over its limit."""
        worst = 0.0
        for (a0, a1, a2), (b0, b1, b2), (t0, t1, t2) in zip(before, after, self._top, strict=True):
            worst = max(worst, abs(b0 - a0) / t0, abs(b1 - a1) / t1, abs(b2 - a2) / t2)
        return worst / dt

    def _plan(self, motion: Motion, found: Frame, dt: float, share: float) -> Plan:
        walk = motion if isinstance(motion, Walk) else None
        before = read_only(self._row) if self._last is None or self._last.row is None else self._last.row
        row = read_only(found.joints)
        feet = None if found.centres is None else read_only(found.centres)
        feet_before = None if self._last is None else self._last.feet
        if feet is not None and feet_before is None:
            feet_before = forward(self.robot, before)
        x, y, z = center_of_mass(self.robot, found.joints)
        x, y, _ = found.placement.to_footprint(x, y, z)
        standing = [point for point, down in zip(found.contacts, found.planted, strict=True) if down]
        return Plan(
            state=self.state,
            feet=feet,
            feet_velocity=self._zero if feet is None or feet_before is None else _rate(feet_before, feet, dt),
            support=read_only(support(found.contacts, found.planted, (x, y), self._weight)),
            joints=row if feet is None else None,
            joint_velocity=_rate(before, row, dt),
            row=row,
            contacts=read_only(found.contacts),
            planted=tuple(found.planted),
            twist=walk.twist.scaled(share) if walk else ZERO,
            pose=walk.pose.pose if walk else NEUTRAL,
            margin=margin(standing, (x, y)) if standing else math.nan,
            unreached=found.unreached,
        )

    def _still(self) -> Plan:
        """The last plan again, at rest; nothing at all as long as no row was ever commanded."""
        zero, count = self._zero, len(self.robot.legs)
        if self._last is not None:
            last = self._last
            return replace(last, state=self.state, feet_velocity=zero, joint_velocity=zero, twist=ZERO, unreached=None)
        return Plan(
            state=self.state,
            feet=None,
            feet_velocity=zero,
            support=read_only(np.zeros(count)),
            joints=None,
            joint_velocity=zero,
            row=read_only(self._row) if self._row is not None else None,
            contacts=read_only(self._home),
            planted=(False,) * count,
            twist=ZERO,
            pose=NEUTRAL,
            margin=math.nan,
            unreached=None,
        )


def _rate(before: Array, after: Array, dt: float) -> Array:
    """Speeds (n, 3) [per s] between two rows, read-only."""
    speeds: Array = (after - before) / dt
    speeds.setflags(write=False)
    return speeds
