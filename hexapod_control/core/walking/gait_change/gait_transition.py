"""Finds the moment and the phase at which the gait can change without a stop.

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
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.gait.gait_clock import SHORTEST_STANCE, GaitChange, GaitClock
from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.gait.swing_trajectory import PEAK_TRAVEL_SPEED, travel_and_lift
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.leg_batch import joints_at_contacts
from hexapod_control.core.kinematics.se2 import Twist, exp
from hexapod_control.core.robot import Robot
from hexapod_control.core.walking.feet.foot_motion import LANDING, FootMotion, time_to_touch_down
from hexapod_control.core.walking.feet.stride_control import MAX_STANCE_RADIUS_SHARE, time_inside
from hexapod_control.core.walking.foot import Swing
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
