# SPDX-License-Identifier: Apache-2.0
"""Notices that the robot makes no way: it marches, but its feet do not carry the body, or it is to walk and stands.

The way that the standing feet make under the body, by their measured joints, is compared with the executed one over
WATCHED_S or two gait cycles, whichever is longer. From it are subtracted

- the way that feet slip from where they touched down. Feet that press against a riser bear load and stay under the
  body, while others slip: the body makes no way, although the mean of the feet makes up to half of it. Play lets feet
  sway to and fro, which is no slip;
- the work of the standing legs along the course over the weight, which is a way, too: that by which the same work would
  lift the robot, less what its tilt shows that it climbs. Where a post, a ceiling or a rope holds the body, all feet
  slip alike, and seem to make way; but a leg is off its target, and they push with as much as friction allows, 0.4 to 1
  of the weight. A free walk needs less than 0.1, at top speed up to HARD_PUSH; worn servos seem to push more than they
  do, but their feet grip. So a push counts above HARD_PUSH if feet slip, else above HARDER_PUSH.

On flat ground 0.4 to 1 of the way is left, before obstacles at most MIN_SHARE within seconds, while feet slip. Weak
servos make less way, but their feet GRIP: such a robot is stopped only below LEAST_SHARE, as is one that makes less of
the way that is wanted, since its body waits for its feet. Times in which fewer than two feet bear load count as no way.
It needs the loads of the feet: without them every planned foot counts, and feet that slip look like feet that grip.

What is known of the cause is named: joints that are off their targets much farther than those of other legs, a slope,
slipping feet. The robot then stands, and does not follow the same course again until a command is zero or leads
elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.refusal import Statement
from hexapod_control.core.robot import Robot
from hexapod_control.core.sensing.mishap_watch import Mishap, MishapKind, tilt_angle

WATCHED_S = 3.5  # at least ...
WATCHED_CYCLES = 2.0  # ... and so many gait cycles, within which the way that feet tell comes and goes ...
MOST_WATCHED_S = 8.0  # ... but at most so long
PART_S = 0.5  # of the watched time, after which it is judged again
LAST_PARTS = 2  # in which a robot that makes way has come free
MIN_SHARE = 0.35  # of the executed way, that is left
LEAST_SHARE = 0.2  # the same of a robot whose feet grip, and of the wanted way
GRIP = 0.08  # of the executed way: feet that slip by less grip, and walk by themselves however slowly
HARD_PUSH = 0.3  # of the weight: more than a free walk needs at top speed ...
HARDER_PUSH = 0.45  # ... also with worn servos
UNKNOWN_SLOPE = math.sin(math.radians(15.0))  # which a robot may climb whose tilt is unknown
HELD_SHARE = 0.6  # the same for a robot that drags a leg along, which is held ...
HELD_PARTS = 0.75  # ... in this share of the watched time ...
DRAGGED_RAD = math.radians(8.0)  # ... by so much off its target ...
DRAGGED_RATIO = 3.0  # ... and so much more than the other legs
MIN_MISSED = 0.25  # [foothold radii] of the wanted way: play of gears and slow gaits miss less in the watched time
MIN_KNOWN_SHARE = 0.7  # of the time in which the motion over the feet is known
HELD_RAD = math.radians(4.0)  # off its target: a joint whose leg is held ...
HELD_RATIO = 2.0  # ... if that is so much more than in the other legs
STANDS_S = 4.0  # after which a robot that is to walk and does not move says so
STEEP_RAD = math.radians(12.0)  # slope that is named
SAME_COURSE = math.cos(math.radians(45.0))  # between the course that was hindered and one that is not tried again


@dataclass(frozen=True, slots=True)
class ProgressSample:
    """What one tick shows of the way."""

    executed: Twist
    wanted: Twist  # that the speed limits allow, before guards hold the body over its feet
    moved: Twist | None  # [m, m, rad] in this tick, measured; zero if too few feet bear load; None: not measured
    slip: float  # [m] of the standing feet in this tick
    pushed: float  # [m] by which the work of the standing legs along the executed twist would lift the robot
    errors: Sequence[float] | None  # [rad] by which a joint of each leg is off its target, at most; None: unknown
    tilt: tuple[float, float] | None  # [rad] roll and pitch; None: unknown
    slipping: bool
    cycle: float  # [s] of the gait, while nothing makes it wait


@dataclass(frozen=True, slots=True)
class _Part:
    """Sums over a part of the watched time."""

    time: float = 0.0  # [s]
    known: float = 0.0  # [s]
    way: float = 0.0  # [m] executed, of the feet
    wanted: float = 0.0  # [m] the same of the wanted twist
    made: float = 0.0  # [m] measured, along the executed motion, less the slip
    slip: float = 0.0  # [m] of the standing feet
    pushed: float = 0.0  # [m] by the work against what holds the body
    errors: tuple[float, ...] = ()  # [rad] largest of each leg


class RefusedCourse(Copyable):
    """The course on which a robot could not go on, and why; until another course is commanded, or a zero ends it."""

    def __init__(self, radius: float) -> None:
        """`radius` [m] of the footholds."""
        self._radius = radius
        self._course = ZERO
        self._lasts = False
        self.mishap: Mishap | None = None

    def refuse(self, course: Twist, mishap: Mishap, *, lasts: bool = False) -> None:
        """Refuses a course from now on; `lasts`: also after a zero."""
        self._course = course
        self._lasts = lasts
        self.mishap = mishap

    def refuses(self, twist: Twist) -> bool:
        """Whether a command leads along the course; any other command ends it. A zero does not end one that lasts."""
        if self.mishap is None:
            return False
        if self._lasts and twist.is_zero:
            return True
        radius = self._radius
        if not twist.is_zero and twist.along(self._course, radius) > SAME_COURSE * twist.foot_speed(radius):
            return True
        self.mishap = None
        return False


class ProgressWatch(Copyable):
    """The way of one robot; `step` in every tick in which it walks, `rest` in the others."""

    def __init__(self, robot: Robot) -> None:
        """Starts without a mishap."""
        self._names = robot.leg_names
        self.radius = robot.foothold_radius  # [m]
        self._parts: list[_Part] = []
        self._now = _Part()
        self.refused = RefusedCourse(robot.foothold_radius)  # on which the robot has made no way
        self.stood = 0.0  # [s] for which it is to walk and does not move

    def rest(self) -> None:
        """Forgets the way so far: the robot does not walk."""
        self._parts = []
        self._now = _Part()

    def step(self, dt: float, sample: ProgressSample) -> None:
        """Processes a tick of `dt` [s] of a walk."""
        now = self._now
        made = 0.0 if sample.moved is None else sample.moved.along(sample.executed, self.radius) - sample.slip
        errors = tuple(sample.errors or ())
        way = sample.executed.foot_speed(self.radius) * dt
        if sample.tilt is None:
            climbed = UNKNOWN_SLOPE * way
        else:
            roll, pitch = sample.tilt
            climbed = (math.sin(roll) * sample.executed.vy - math.sin(pitch) * sample.executed.vx) * dt
        self._now = _Part(
            time=now.time + dt,
            known=now.known + (dt if sample.moved is not None else 0.0),
            way=now.way + way,
            wanted=now.wanted + sample.wanted.foot_speed(self.radius) * dt,
            made=now.made + made,
            slip=now.slip + sample.slip,
            pushed=now.pushed + sample.pushed - climbed,
            errors=tuple(map(max, now.errors, errors)) if now.errors and errors else now.errors or errors,
        )
        if self._now.time >= PART_S:
            self._parts.append(self._now)
            self._now = _Part()
            count = round(min(max(WATCHED_S, WATCHED_CYCLES * sample.cycle), MOST_WATCHED_S) / PART_S)
            self._parts = self._parts[-count:]
            if len(self._parts) == count:
                self._judge(sample)

    def stand(self, wanted: Twist, cause: Statement) -> None:
        """Notes that the robot is to walk and has not moved for STANDS_S; `cause` says why."""
        if self.refused.mishap is None:
            text = "the robot is to walk and has stood for {seconds:g} s: {cause}: it stops; drive another way, or run "
            text += "hexapod stand"
            said = Statement("stands_still", text, seconds=STANDS_S, cause=cause)
            self.refused.refuse(wanted, Mishap(MishapKind.HINDERED, said))

    def _judge(self, sample: ProgressSample) -> None:
        names = ("time", "known", "way", "wanted", "made", "slip", "pushed")
        time, known, way, wanted, made, slip, pushed = (sum(getattr(p, name) for p in self._parts) for name in names)
        if known < MIN_KNOWN_SHARE * time or way <= 0.0:
            return
        share = made * time / known / way
        held, off = self._held()
        grips = slip < GRIP * way * known / time
        pushed = pushed if pushed > (HARDER_PUSH if grips else HARD_PUSH) * way else 0.0
        left = share - pushed / way
        least = HELD_SHARE if self._drags_a_leg(sample.cycle) else LEAST_SHARE if grips and not pushed else MIN_SHARE
        least = max(least, LEAST_SHARE * wanted / way)
        if left >= least or wanted - left * way < MIN_MISSED * self.radius:
            return
        last = self._parts[-LAST_PARTS:]
        if sum(part.made - max(part.pushed, 0.0) - least * part.way for part in last) >= 0.0:
            return  # it has come free
        part = 100.0 * max(share, 0.0) * way / max(way, wanted)
        text = (
            "the robot makes no way: in {time:.0f} s its feet have made {part:.0f} % of it; {cause}: it stops; drive "
            "another way, or lift it over, then command zero before the same way again"
        )
        said = Statement("no_way", text, time=time, part=part, cause=_cause(sample, held, off, pushed / way))
        self.refused.refuse(sample.executed, Mishap(MishapKind.HINDERED, said))
        self.rest()

    def _drags_a_leg(self, cycle: float) -> bool:
        """Whether the same leg is held nearly all the time: in its swing, or always, for a gait cycle [s]."""
        errors = [part.errors for part in self._parts if part.errors]
        held = [[error > max(DRAGGED_RAD, DRAGGED_RATIO * median(legs)) for error in legs] for legs in errors]
        count = max(1, math.ceil(cycle / PART_S))
        within = [[any(leg) for leg in zip(*held[k : k + count], strict=True)] for k in range(len(held) - count + 1)]
        return any(sum(leg) >= HELD_PARTS * len(within) for leg in zip(*within, strict=True))

    def _held(self) -> tuple[list[str], float]:
        """The legs that are held, by their joints, and how far [rad] the farthest joint of all is off its target."""
        columns = [part.errors for part in self._parts if part.errors]
        errors = list(map(max, zip(*columns, strict=True))) if columns else [0.0]
        usual = median(errors)
        pairs = zip(self._names, errors, strict=False)
        return [name for name, error in pairs if error > max(HELD_RAD, HELD_RATIO * usual)], max(errors)


def _cause(sample: ProgressSample, held: Sequence[str], off: float, push: float) -> Statement:
    """What is known of the cause: legs that are held by up to `off` [rad], the push as a share of the weight."""
    known = []
    if held:
        kind, who = ("leg_held", "{legs} is held") if len(held) == 1 else ("legs_held", "{legs} are held")
        text = f"{who}, up to {{off:.0f}} deg off target, as at an edge"
        known.append(Statement(kind, text, legs=" and ".join(held), off=math.degrees(off)))
    if push > HARD_PUSH:
        text = "its legs push with {push:.0f} % of its weight, so something holds its body or a leg"
        known.append(Statement("pushes_hard", text, push=100.0 * push))
    slope = 0.0 if sample.tilt is None else tilt_angle(*sample.tilt)
    if slope > STEEP_RAD:
        text = "the ground may be too steep, the body tilts by {slope:.0f} deg"
        known.append(Statement("too_steep", text, slope=math.degrees(slope)))
    if sample.slipping:
        known.append(Statement("slips", "feet slip"))
    unknown = Statement("cause_unknown", "no sensor tells why: look for an edge, a rope or slippery ground")
    return Statement.joined("and", "{first} and {second}", known or [unknown])
