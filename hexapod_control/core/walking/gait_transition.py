"""Finding the moment and the phase at which one gait can go over into another without a stop.

Every pair (leave the old gait in t, enter the new one at phase b) gives each leg one stance of unusual
length. The pair is good if each of these stances fits into the leg's stance region at the speed of the body, the
swings before and after it are not too fast for the servos, and the robot stands stably whichever legs are in the air
on the way. Of all good pairs the earliest is taken; if there is none, the one that oversteps least (the guards
then slow the body for a moment).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.gait.gait_clock import SHORTEST, GaitChange, GaitClock
from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.gait.swing_trajectory import PEAK_SHARE_SPEED
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.se2 import Twist, exp
from hexapod_control.core.robot import Robot
from hexapod_control.core.walking.foot_motion import GUARD, LANDING, FootMotion, clamp_to_disc, time_inside
from hexapod_control.core.workspace.speed_envelope import swing_loads
from hexapod_control.core.workspace.stance_regions import StanceRegions

LEAVES = 48  # moments tried per cycle of the old gait
PHASES = 48  # phases tried of the new gait
ENDS = np.linspace(0.0, 1.0, 9)  # shares of a stance region's radius at which swings begin and end
FASTER = 1.1  # a swing in a change may be this much faster than one of steady walking
CYCLES = 2.0  # of the old gait that a change may wait
SLIGHT = 0.03  # [swing times] a plan may overstep: that costs no speed to speak of
STEADY_SHARE = 0.5  # of the smaller steady margin of the two gaits that a change may fall to


@dataclass(frozen=True, slots=True)
class LegState:
    """What a leg brings into a change; times in swing times."""

    flight: float  # to its touch-down, 0 if planted
    room: float  # that it may stand from now on, or from its touch-down if in flight, before its region ends
    full_room: float  # that a stance aimed for it may last
    stride: float  # [m] the ground passes under the foot in one swing time
    loads: Array  # (K, K) speed over its limit of a swing from ENDS behind neutral to ENDS ahead
    radius: float  # [m] of the region, to which ENDS are shares


def _steady_margin(gait: Gait, margins: Sequence[float]) -> float:
    return min(margins[sum(1 << leg for leg in gait.legs_in_swing(phase))] for phase in gait.lift_off)


def _last_lift_off(until: float, cycle: float, leave: Array) -> Array:
    """Time of a leg's last lift-off in the old gait before `leave` (L,); -inf where there is none."""
    turns = np.floor((leave - until) / cycle)
    return np.where(turns >= 0.0, until + turns * cycle, -math.inf)


def leg_states(
    walker: FootMotion, gait: Gait, twist: Twist, swing_time: float, robot: Robot, stance: StanceRegions, room: float
) -> list[LegState]:
    """What each leg brings into a change to `gait` at this twist, swing time [s] and room (share of the regions)."""
    longest = max(gait.cycle, walker.schedule.gait.cycle)
    strides = [swing_time * math.hypot(twist.vx - twist.wz * y, twist.vy + twist.wz * x) for x, y in stance.footholds]
    steady = (PEAK_SHARE_SPEED * longest - 1.0) * max(strides)
    states = []
    for leg, (foot, stride) in enumerate(zip(walker.feet, strides, strict=True)):
        home, radius = stance.footholds[leg], room * stance.radii[leg]
        x, y = foot.x, foot.y
        if foot.progress is not None:
            landing = exp(twist, 0.5 * foot.stance * swing_time).apply(*home)
            x, y = clamp_to_disc(*landing, home, LANDING * radius)
        inside = time_inside(x, y, twist, home, GUARD * radius) / swing_time
        ends = ENDS * radius
        joints = swing_loads(robot, stance, leg, twist, swing_time, ends)
        # Speed over the body at mid-swing, against the fastest foot of steady walking in either gait.
        speed = PEAK_SHARE_SPEED * (ends[:, None] + ends[None, :] + stride) - stride
        feet = speed / (FASTER * steady) if steady > 0.0 else np.zeros_like(joints)
        states.append(
            LegState(
                flight=walker.flight(foot, swing_time),
                room=inside,
                full_room=2.0 * LANDING * radius / stride if stride > 0.0 else math.inf,
                stride=stride,
                loads=np.maximum(joints, feet),
                radius=radius,
            )
        )
    return states


def _swing_over(leg: LegState, behind: Array, ahead: Array) -> Array:
    """By how much swings between these ends [m] are too fast, in swing times of a longer one."""
    last = len(ENDS) - 1
    (i, di), (j, dj) = (_within(end / leg.radius * last, last) for end in (behind, ahead))
    low, high = (leg.loads[i, k] * (1.0 - di) + leg.loads[i + 1, k] * di for k in (j, j + 1))
    found: Array = low * (1.0 - dj) + high * dj - 1.0
    return found


def _within(place: Array, last: int) -> tuple[NDArray[np.intp], Array]:
    """Rows below places in a table that ends with a row, and how far on to the next one (0 to 1) they are."""
    place = np.clip(place, 0.0, last)
    row = np.minimum(place.astype(int), last - 1)
    return row, place - row


def plan(
    schedule: GaitClock, legs: Sequence[LegState], gait: Gait, margins: Sequence[float]
) -> tuple[GaitChange, float]:
    """(change from the schedule's gait to `gait`, by how much it oversteps [swing times], <= SLIGHT if it is good).

    `legs` are in the order of the schedule, `margins` as from margins_by_legs_in_swing.
    """
    old = schedule.gait
    count = len(legs)
    # Half a step off the grid on which gaits have their lift-offs: whether one is before or after is then clear.
    leave = (np.arange(CYCLES * LEAVES) + 0.5) * (old.cycle / LEAVES)  # (L,)
    phases = np.arange(PHASES) / PHASES  # (B,)
    entry = np.array([[gait.until_lift_off(i, b) for b in phases] for i in range(count)])  # (n, B)
    shape = (count, len(leave), len(phases))
    lift_off, landing, over = np.empty(shape), np.empty((count, len(leave))), np.empty(shape)
    for i, leg in enumerate(legs):
        # Legs due while in flight wait for their next turn, as in Schedule.
        late = leg.flight > 0.0 and schedule.until[i] < leg.flight + SHORTEST
        until = schedule.until[i] + (old.cycle if late else 0.0)
        last = _last_lift_off(until, old.cycle, leave)
        informed = last > -math.inf
        landing[i] = np.where(informed, last + 1.0, leg.flight)
        due = leave[:, None] + entry[i][None, :]
        due = np.where(due < landing[i][:, None], due + gait.cycle, due)
        lift_off[i] = due
        # A planted leg (flight 0) counts from now, one in flight from its touch-down.
        room = np.where(informed, leg.full_room, leg.room)
        stays = due - landing[i][:, None]
        # Where the foot lands and lifts: about neutral if it was informed, else as far from the edge as room is left.
        half = 0.5 * stays * leg.stride
        left = (np.minimum(room, 1e6)[:, None] - stays) * leg.stride
        lifts = np.where(informed[:, None], half, leg.radius - left)
        # Its first lift-off from now may be from an unusual place, the later ones are those of the old gait.
        first_behind = leg.radius - (min(leg.room, 1e6) - (until - leg.flight)) * leg.stride
        behind = np.where(last <= until, first_behind, 0.5 * old.stance * leg.stride)
        before = _swing_over(leg, np.broadcast_to(behind[:, None], shape[1:]), half)
        after = _swing_over(leg, lifts, np.full(shape[1:], 0.5 * gait.stance * leg.stride))
        too_fast = np.maximum(np.where(informed[:, None], before, -math.inf), after)
        over[i] = np.where(stays < SHORTEST, math.inf, np.maximum(stays - room[:, None], too_fast))
    cost = over.max(axis=0)
    # Sets in the air grow only at lift-offs: look at each leg's first one in the new gait.
    threshold = STEADY_SHARE * min(_steady_margin(old, margins), _steady_margin(gait, margins))
    table = np.array(margins)
    stable = np.ones(shape[1:], dtype=bool)
    for j in range(count):
        mask = np.full(shape[1:], 1 << j)
        for i in range(count):
            if i != j:
                since = lift_off[j] - lift_off[i]
                swings = (since >= 0.0) & (since % gait.cycle < 1.0 - 1e-9)
                aloft = swings | (landing[i][:, None] > lift_off[j] + 1e-9)
                mask += np.where(aloft, 1 << i, 0)
        stable &= table[mask] >= threshold
    cost = np.where(stable, cost, math.inf)
    good = cost <= SLIGHT
    if good.any():
        first = int(np.argmax(good.any(axis=1)))
        best = int(np.argmin(cost[first]))
    else:
        first, best = (int(k) for k in np.unravel_index(np.argmin(cost), cost.shape))
    return GaitChange(gait, float(phases[best]), float(leave[first])), float(cost[first, best])
