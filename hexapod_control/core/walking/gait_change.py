# SPDX-License-Identifier: Apache-2.0
"""The change of gait: which gait suits the speed, at which moment and phase it can begin without a stop, and when.

A change is a pair: leave the old gait after a time t, enter the new one at a phase b. Every pair gives each leg one
stance of unusual length, from its last touch-down in the old gait to its first lift-off in the new one. A pair is
feasible if
1. each of these stances fits into the leg's stance region at the speed of the body,
2. the swings before and after it are not too fast for the servos, and
3. the static margin stays large enough, whichever legs are in swing at the same time.
All pairs of a grid are evaluated at once with arrays (leaving, phase) per leg. The earliest feasible pair is used; if
there is none, the one with the smallest violation (the region guard then slows the body for a moment).
Formulas: docs/architecture/walking-mathematics.md, "Gait transition".
All times are in swing times, as in the gait clock; contact points are in base_footprint [m].

With `auto` the gait is the most stable one that reaches the speed with a reserve, with hysteresis. A faster gait is
chosen as soon as the commanded speed is above FULL_SHARE of the highest speed of the present gait, so that the change
is complete before the gait is at its limit. A more stable gait is chosen once the speed has been below
MORE_STABLE_SHARE of the highest speed of that gait for MORE_STABLE_DELAY_S. At rest, and while the robot comes to rest,
the gait does not change; a robot that starts to walk uses the gait for the commanded speed.

A change is planned as soon as the speed suits the new gait, the swing time does not rise, and all feet stride about
their neutral footholds; until then the speed limiter slows the walk down. If no direct plan is feasible, a change to an
intermediate gait is tried. If that is not feasible either, planning is repeated. After PLAN_TIMEOUT_S the plan with the
smallest violation is used: the region guard then slows the body for a moment.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.gait.gait_clock import SHORTEST_STANCE, GaitChange, GaitClock
from hexapod_control.core.gait.gait_table import Gait, GaitSelection
from hexapod_control.core.gait.swing_trajectory import PEAK_TRAVEL_SPEED, travel_and_lift
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.leg_batch import joints_at_contacts
from hexapod_control.core.kinematics.se2 import Twist, exp
from hexapod_control.core.robot import Point, Robot
from hexapod_control.core.statics.static_stability import static_margin
from hexapod_control.core.walking.feet.foot_motion import LANDING, FootMotion, time_to_touch_down
from hexapod_control.core.walking.feet.stride_control import MAX_STANCE_RADIUS_SHARE, time_inside
from hexapod_control.core.walking.foot import Swing
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.speed_envelope import SpeedEnvelope
from hexapod_control.core.workspace.stance_regions import StanceRegions
from hexapod_control.core.workspace.strides.stride_table import Disc
from hexapod_control.core.workspace.swing_limits import PROGRESS, shortest_swing

SWING_ENDS = np.linspace(0.0, 1.0, 9)  # grid of the ends of swings, as shares of the radius of a stance region
MAX_SPEED_FACTOR = 1.1  # permitted speed of swings during a change, relative to steady walking


@dataclass(frozen=True, slots=True)
class TransitionLeg:
    """Constraints of one leg at the moment of planning; times in swing times."""

    flight: float  # time to its touch-down, 0 if planted
    remaining_stance: float  # time until it reaches the edge of its region, from now or from its touch-down
    max_stance: float  # longest stance, if its touch-down can still be chosen
    stride: float  # [m] that the ground moves under the foot in one swing time
    speed_ratios: Array  # (K, K) speed over its limit, of swings from SWING_ENDS behind neutral to SWING_ENDS ahead
    radius: float  # [m] of the region


def transition_legs(
    motion: FootMotion,
    gait: Gait,
    robot: Robot,
    stance: StanceRegions,
    twist: Twist,
    swing_time: float,
    radii_share: float,
) -> list[TransitionLeg]:
    """Returns the constraints of all legs for a change to `gait` at this twist, swing time [s] and share of radii."""
    longest = max(gait.cycle, motion.clock.gait.cycle)
    strides = [swing_time * twist.speed_at(x, y) for x, y in stance.footholds]
    steady = (PEAK_TRAVEL_SPEED * longest - 1.0) * max(strides)
    legs = []
    for leg, (foot, stride) in enumerate(zip(motion.feet, strides, strict=True)):
        neutral = stance.footholds[leg]
        radius = radii_share * stance.radii[leg]
        x, y = foot.x, foot.y
        if isinstance(foot.state, Swing):
            landing = exp(twist, 0.5 * foot.state.stance_time * swing_time).apply(*neutral)
            x, y = Disc(neutral, radius).clamped(*landing, LANDING)
        inside = time_inside(x, y, twist, neutral, MAX_STANCE_RADIUS_SHARE * radius) / swing_time
        ends = SWING_ENDS * radius
        joints = joint_speed_ratios(robot, stance, leg, twist, swing_time, ends)
        # Speed relative to the body at mid-swing, compared with the fastest foot of steady walking in either gait.
        speed = PEAK_TRAVEL_SPEED * (ends[:, None] + ends[None, :] + stride) - stride
        feet = speed / (MAX_SPEED_FACTOR * steady) if steady > 0.0 else np.zeros_like(joints)
        legs.append(
            TransitionLeg(
                flight=time_to_touch_down(foot, swing_time),
                remaining_stance=inside,
                max_stance=2.0 * LANDING * radius / stride if stride > 0.0 else math.inf,
                stride=stride,
                speed_ratios=np.maximum(joints, feet),
                radius=radius,
            )
        )
    return legs


def joint_speed_ratios(
    robot: Robot, stance: StanceRegions, leg: int, twist: Twist, swing_time: float, ends: Array
) -> Array:
    """Joint speeds (K, K) over their limit, in swings from `ends` (K,) [m] behind the foothold to `ends` ahead."""
    x, y = stance.footholds[leg]
    vx, vy = twist.velocity_at(x, y)
    speed = math.hypot(vx, vy)
    stride_travel = speed * swing_time
    behind = ends[:, None, None]
    ahead = ends[None, :, None]
    reach = travel_and_lift(PROGRESS)[0] * (behind + ahead + stride_travel) - PROGRESS * stride_travel - behind
    heading = complex(vx, vy) / speed if speed > 0.0 else 1.0 + 0.0j
    path = np.asarray(complex(x, y) + heading * reach)
    contacts = path.real, path.imag, robot.walk.lift_height * travel_and_lift(PROGRESS)[1]
    joints = joints_at_contacts(robot.legs[leg], robot.foot_radius, stance.height, contacts).joints
    ratios: Array = shortest_swing(robot.legs[leg], joints) / swing_time
    return ratios


MOMENTS_PER_CYCLE = 48  # grid of moments for leaving the old gait
PHASES = 48  # grid of phases for entering the new gait
CYCLES = 2.0  # of the old gait for which a change may wait
MAX_SLOWDOWN = 0.018  # share of the speed by which the region guard may slow the body for a moment
MAX_OVERSPEED = 0.03  # share by which swings may exceed their speed limit
MAX_VIOLATION = 1.0  # up to which a plan is feasible: slowdown and overspeed over MAX_SLOWDOWN and MAX_OVERSPEED
MARGIN_SHARE = 0.5  # of the smaller steady margin of both gaits that a change must keep


class LegTransition(NamedTuple):
    """One leg's stance over the change, for all moments L of leaving and all phases B of entering [swing times]."""

    landing: Array  # (L,) touch-down that begins it
    lift_off: Array  # (L, B) that ends it
    violation: Array  # (L, B) see MAX_VIOLATION


def plan_gait_change(
    clock: GaitClock, legs: Sequence[TransitionLeg], gait: Gait, margins: Sequence[float]
) -> tuple[GaitChange, float]:
    """Returns the best change from the gait of the clock to `gait`, and its violation.

    It is feasible if the violation is at most MAX_VIOLATION. `legs` are in the order of the clock, `margins` [m] those
    of `margins_by_legs_in_swing`.
    """
    old = clock.gait
    # Half a step off the grid of the lift-offs, so that rounding cannot confuse before and after.
    leave = (np.arange(CYCLES * MOMENTS_PER_CYCLE) + 0.5) * (old.cycle / MOMENTS_PER_CYCLE)  # (L,)
    phases = np.arange(PHASES) / PHASES  # (B,)
    transitions = [
        _leg_transition(leg, clock.until[i], old, gait, leave, np.array([gait.until_lift_off(i, b) for b in phases]))
        for i, leg in enumerate(legs)
    ]
    cost = np.max([transition.violation for transition in transitions], axis=0)
    threshold = MARGIN_SHARE * min(_steady_margin(old, margins), _steady_margin(gait, margins))
    cost = np.where(_stable(transitions, gait, margins, threshold), cost, math.inf)
    feasible = cost <= MAX_VIOLATION
    if feasible.any():
        first = int(np.argmax(feasible.any(axis=1)))
        best = int(np.argmin(cost[first]))
    else:
        first, best = (int(k) for k in np.unravel_index(np.argmin(cost), cost.shape))
    return GaitChange(gait, float(phases[best]), float(leave[first])), float(cost[first, best])


def _leg_transition(
    leg: TransitionLeg, until: float, old: Gait, new: Gait, leave: Array, entry: Array
) -> LegTransition:
    """Returns one leg's stance over the change.

    `until` is the time to its next lift-off in the old gait; `leave` (L,) are the moments of leaving, `entry` (B,) the
    times from entering the new gait to the leg's first lift-off in it.
    """
    # A leg that is due to lift off in flight skips that lift-off, as in the gait clock.
    if leg.flight > 0.0 and until < leg.flight + SHORTEST_STANCE:
        until += old.cycle
    last = _last_lift_off(until, old.cycle, leave)
    can_aim = last > -math.inf  # its last touch-down in the old gait is in the future and can be aimed for the change
    landing = np.where(can_aim, last + 1.0, leg.flight)
    due = leave[:, None] + entry[None, :]
    due = np.where(due < landing[:, None], due + new.cycle, due)
    # The stance of a planted leg (flight 0) is measured from now, that of one in flight from its touch-down.
    longest = np.where(can_aim, leg.max_stance, leg.remaining_stance)
    stance = due - landing[:, None]
    # Touch-down and lift-off are symmetric about neutral if the foot can aim, else they follow from its position.
    half = 0.5 * stance * leg.stride
    to_edge = (np.minimum(longest, 1e6)[:, None] - stance) * leg.stride
    lift_off_behind = np.where(can_aim[:, None], half, leg.radius - to_edge)
    # The first lift-off from now may be at an unusual point; the later ones are as in steady walking in the old gait.
    first_behind = leg.radius - (min(leg.remaining_stance, 1e6) - (until - leg.flight)) * leg.stride
    behind = np.where(last <= until, first_behind, 0.5 * old.stance_time * leg.stride)
    before = _swing_overspeed(leg, np.broadcast_to(behind[:, None], due.shape), half)
    after = _swing_overspeed(leg, lift_off_behind, np.full(due.shape, 0.5 * new.stance_time * leg.stride))
    too_fast = np.maximum(np.where(can_aim[:, None], before, -math.inf), after)
    # A body that is slower by this share reaches the edge of the region at the lift-off.
    too_long = 1.0 - longest[:, None] / np.maximum(stance, SHORTEST_STANCE)
    excess = np.maximum(too_long / MAX_SLOWDOWN, too_fast / MAX_OVERSPEED)
    violation = np.where(stance < SHORTEST_STANCE, math.inf, excess)
    return LegTransition(landing, due, violation)


def _last_lift_off(until: float, cycle: float, leave: Array) -> Array:
    """Returns the time of a leg's last lift-off in the old gait before `leave` (L,); -inf if there is none."""
    turns = np.floor((leave - until) / cycle)
    return np.where(turns >= 0.0, until + turns * cycle, -math.inf)


def _swing_overspeed(leg: TransitionLeg, behind: Array, ahead: Array) -> Array:
    """Returns by which share of their speed limit swings between these ends [m] are too fast."""
    last = len(SWING_ENDS) - 1
    (i, di), (j, dj) = (_table_place(end / leg.radius * last, last) for end in (behind, ahead))
    low, high = (leg.speed_ratios[i, k] * (1.0 - di) + leg.speed_ratios[i + 1, k] * di for k in (j, j + 1))
    overspeed: Array = low * (1.0 - dj) + high * dj - 1.0
    return overspeed


def _table_place(place: Array, last: int) -> tuple[NDArray[np.intp], Array]:
    """Returns the lower indices for interpolation in a table with last index `last`, and the weights of the next."""
    place = np.clip(place, 0.0, last)
    index = np.minimum(place.astype(int), last - 1)
    return index, place - index


def _steady_margin(gait: Gait, margins: Sequence[float]) -> float:
    """Smallest static margin [m] of a gait with all feet at their neutral footholds."""
    return min(margins[sum(1 << leg for leg in gait.legs_in_swing(phase))] for phase in gait.lift_off)


def _stable(
    transitions: Sequence[LegTransition], gait: Gait, margins: Sequence[float], threshold: float
) -> NDArray[np.bool_]:
    """Returns True (L, B) where the static margin stays above a threshold [m] during the change.

    Legs are added to those in swing only at lift-offs, so the first lift-off of each leg in the new gait is checked.
    """
    table = np.array(margins)
    shape = transitions[0].lift_off.shape
    stable = np.ones(shape, dtype=bool)
    for j, lifting in enumerate(transitions):
        mask = np.full(shape, 1 << j)
        for i, other in enumerate(transitions):
            if i != j:
                since = lifting.lift_off - other.lift_off
                swings = (since >= 0.0) & (since % gait.cycle < 1.0 - 1e-9)
                in_air = swings | (other.landing[:, None] > lifting.lift_off + 1e-9)
                mask += np.where(in_air, 1 << i, 0)
        stable &= table[mask] >= threshold
    return stable


FULL_SHARE = 0.75  # of the highest speed of a gait, above which a faster one is chosen
MORE_STABLE_SHARE = 0.6  # of the highest speed of a more stable gait, below which that one is chosen ...
MORE_STABLE_DELAY_S = 1.0  # ... after this time


class AutoGait(Copyable):
    """Chooses one of the selected gaits by speed; `follow` updates the choice every tick."""

    _conditions: tuple[Twist, float, float] | None  # for which the indices were computed
    _indices: tuple[int, int]  # of the most stable gait that is fast enough: with FULL_SHARE, with MORE_STABLE_SHARE
    _slow_for: float  # [s] time for which a more stable gait has been fast enough
    gait: Gait
    selection: GaitSelection

    def __init__(self, envelope: SpeedEnvelope, selection: GaitSelection, present: Gait) -> None:
        """Starts with the present gait if it is among the selected ones."""
        self._envelope = envelope
        self.selection = selection
        self.gait = present if present in selection.gaits else selection.most_stable
        self._slow_for = 0.0
        self._conditions = None
        self._indices = (0, 0)

    def follow(self, dt: float, goal: Twist, height: float, region_share: float, *, walking: bool) -> None:
        """Chooses the gait for a twist at a body height [m] and a region share, `dt` [s] after the last call."""
        if goal.is_zero:
            return
        gaits = self.selection.gaits
        conditions = (goal, height, region_share)
        if conditions != self._conditions:
            full = self._most_stable(goal.scaled(1.0 / FULL_SHARE), height, region_share)
            slow = self._most_stable(goal.scaled(1.0 / MORE_STABLE_SHARE), height, region_share)
            self._conditions = conditions
            self._indices = (full, slow)
        present = gaits.index(self.gait)
        full, slow = self._indices
        self._slow_for = self._slow_for + dt if slow < present else 0.0
        if full > present or not walking:
            self.gait = gaits[full]
        elif self._slow_for > MORE_STABLE_DELAY_S:
            self.gait = gaits[slow]

    def _most_stable(self, twist: Twist, height: float, region_share: float) -> int:
        """Returns the index of the most stable gait that is fast enough for a twist; of the fastest one if none is."""
        for index, gait in enumerate(self.selection.gaits):
            if self._envelope.limit(gait, height, region_share, twist).twist == twist:
                return index
        return len(self.selection.gaits) - 1


PLAN_TIMEOUT_S = 1.2  # after which the best plan is used, even if it violates a limit
NEAR_VIOLATION = 2.0  # violation below which a plan is likely to be feasible soon: planning is repeated ...
INTERMEDIATE_GAIT_TIMEOUT_S = 0.5  # ... for this time, before an intermediate gait is tried
RETRY_S = 0.06  # between two attempts to plan
SUFFICIENT_MARGIN = 0.02  # [m] static margin from which a robot starts at the usual phase of its gait


class WalkConditions(NamedTuple):
    """The walk at the time at which a change is planned."""

    twist: Twist  # executed
    swing_time: float  # [s]
    regions: StanceRegions
    height: float  # [m] of base_link above the ground
    radii_share: float  # (0 to 1) of the regions: the gait changes only with strides about the neutral footholds


def first_phase(gait: Gait, contacts: Sequence[Point], center: Point) -> float:
    """Returns the phase at which a standing robot starts, with a sufficient static margin in the first swing.

    Contact points (n, 2) and center of mass (2,) are in base_footprint [m]. After a halt, feet may be anywhere: if the
    margin at the start phase of the gait is too small, the lift-off with the greatest margin is the first.
    """

    def margin(phase: float) -> float:
        swinging = gait.legs_in_swing(phase)
        return static_margin([contact for leg, contact in enumerate(contacts) if leg not in swinging], center)

    first = gait.start_phase
    usual = gait.sway is not None or margin(first) >= SUFFICIENT_MARGIN  # before a sway the body is shifted
    return first if usual else max(gait.lift_off, key=margin)


class GaitChangeScheduler(Copyable):
    """The requested gait of one robot, and the change to it."""

    _on_detour: bool  # whether the current change leads to an intermediate gait
    _requested: Gait
    _until_retry: float  # [s]
    _waited: float  # [s] time without a feasible plan
    wanted: Gait | None  # gait to which a change is not planned yet

    def __init__(self, capabilities: Capabilities, gait: Gait) -> None:
        self._capabilities = capabilities
        self._requested = gait
        self._auto = AutoGait(capabilities.envelope, GaitSelection.of(gait), gait)
        self.wanted = None
        self._on_detour = False
        self._waited = 0.0
        self._until_retry = 0.0

    @property
    def selection(self) -> GaitSelection:
        """The selected gait, or the gaits from which one is chosen by speed."""
        return self._auto.selection

    @property
    def automatic(self) -> bool:
        """True if several gaits are selected, from which one is chosen by speed."""
        return len(self._auto.selection.gaits) > 1

    def fastest(self, motion: FootMotion) -> Gait:
        """Returns the fastest of the selected gaits; the active one if only one is selected."""
        return self._auto.selection.fastest if self.automatic else motion.clock.gait

    def select(self, selection: GaitSelection, motion: FootMotion) -> None:
        """Requests a change to the selected gait, or to the one of several that suits the speed."""
        self._auto = AutoGait(self._capabilities.envelope, selection, motion.clock.gait)
        self._request(self._auto.gait, motion)

    def choose(self, dt: float, goal: Twist, motion: FootMotion, height: float, region_share: float) -> None:
        """Requests another one of the selected gaits if the speed requires or allows it, see `AutoGait.follow`."""
        self._auto.follow(dt, goal, height, region_share, walking=motion.running)
        if self._auto.gait is not self._requested:
            self._request(self._auto.gait, motion)

    def _request(self, gait: Gait, motion: FootMotion) -> None:
        self._requested = gait
        self._on_detour = False
        self._waited = 0.0
        self._until_retry = 0.0
        clock = motion.clock
        self.wanted = None if gait is clock.gait and clock.change is None else gait

    def halt(self, motion: FootMotion) -> None:
        """Cancels a gait change when the walk stops; the requested gait is used when the walk starts again."""
        self.wanted = None if self._requested is motion.clock.gait else self._requested

    def next_gaits(self, motion: FootMotion) -> list[Gait]:
        """Returns the gaits to which the walk will change; the speed is limited for them already."""
        change = motion.clock.change
        return [gait for gait in (self.wanted, change.gait if change else None) if gait is not None]

    def step(self, dt: float, motion: FootMotion, now: WalkConditions) -> None:
        """Plans the change if possible, in a tick of `dt` [s], and passes it to the gait clock; immediately at rest."""
        gait = self.wanted
        clock = motion.clock
        if not motion.running:
            for first in self.next_gaits(motion)[:1]:
                self.wanted = None
                clock.enter(first, 0.0)
            return
        if gait is None or (clock.change is not None and self._on_detour):
            return
        self._until_retry -= dt
        if self._until_retry > 0.0 or not motion.in_neutral_regions or not self._suits(gait, now):
            return
        change, violation = self._plan(gait, motion, now)
        if violation > MAX_VIOLATION:
            if self._take_detour(gait, motion, now, violation):
                return
            if self._waited < PLAN_TIMEOUT_S:
                self._waited += RETRY_S
                self._until_retry = RETRY_S
                return
        self.wanted = None
        clock.change = change

    def _take_detour(self, gait: Gait, motion: FootMotion, now: WalkConditions, violation: float) -> bool:
        """Starts a change to an intermediate gait. Returns False if there is no feasible one, or it is too early."""
        nearly = violation <= NEAR_VIOLATION and self._waited < INTERMEDIATE_GAIT_TIMEOUT_S
        if self._on_detour or nearly:
            return False
        plans = (self._plan(other, motion, now) for other in self._others(gait, motion, now))
        best = min(plans, key=lambda plan: plan[1], default=None)
        if best is None or best[1] > MAX_VIOLATION:
            return False
        self._on_detour = True
        self._waited = 0.0
        motion.clock.change = best[0]
        return True

    def _others(self, gait: Gait, motion: FootMotion, now: WalkConditions) -> Iterator[Gait]:
        """Yields the gaits that suit the speed, except the active one and the wanted one."""
        for other in self._capabilities.gaits.values():
            if other not in (gait, motion.clock.gait) and self._suits(other, now):
                yield other

    def _plan(self, gait: Gait, motion: FootMotion, now: WalkConditions) -> tuple[GaitChange, float]:
        """Returns the best change to a gait, and its violation."""
        legs = transition_legs(
            motion, gait, self._capabilities.robot, now.regions, now.twist, now.swing_time, now.radii_share
        )
        return plan_gait_change(motion.clock, legs, gait, self._capabilities.margins)

    def _suits(self, gait: Gait, now: WalkConditions) -> bool:
        """True if the executed twist is within the limits of a gait."""
        limit = self._capabilities.envelope.limit(gait, now.height, now.radii_share, now.twist)
        return limit.twist == now.twist
