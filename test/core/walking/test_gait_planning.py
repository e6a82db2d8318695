# SPDX-License-Identifier: Apache-2.0
"""Plans of gait changes against the gait clock, which computes when each leg lifts off and lands."""

import random

import numpy as np
import pytest
from support.drives import robot

from hexapod_control.core.gait.gait_clock import GaitChange, GaitClock
from hexapod_control.core.walking.gait_change import TransitionLeg, plan_gait_change
from hexapod_control.core.workspace.capabilities import Capabilities

MARGIN_SHARE, MAX_OVERSPEED, MAX_SLOWDOWN, MAX_VIOLATION = 0.5, 0.03, 0.018, 1.0
SHORTEST_STANCE = 0.1  # [swing times]
SWING_ENDS = np.linspace(0.0, 1.0, 9)

CAPABILITIES = Capabilities.of(robot("phantomx"))
GAITS, MARGINS = CAPABILITIES.gaits, CAPABILITIES.margins
STEP = 0.25  # [swing times]
REGION_RADIUS_M = 0.05


class Rehearsal:
    """A gait change on a copy of the clock: lift-offs and touch-downs by leg [swing times from now], and the margin."""

    def __init__(self, clock, legs, change):
        clock, gait = clock.copy(), change.gait
        clock.change = change
        self.lift_offs = [[] for _ in legs]
        flight, now = [leg.flight for leg in legs], 0.0
        while any(not times or times[-1] < change.time_to_change for times in self.lift_offs):
            for leg, since in clock.advance(STEP, flight):
                self.lift_offs[leg].append(now + STEP - since)
                flight[leg] = 1.0 - since + STEP
            flight = [max(0.0, left - STEP) for left in flight]
            now += STEP
        self.first = [next(time for time in times if time >= change.time_to_change) for times in self.lift_offs]
        self.last = [max((t for t in times if t < change.time_to_change), default=None) for times in self.lift_offs]
        self.landing = [leg.flight if t is None else t + 1.0 for leg, t in zip(legs, self.last, strict=True)]
        self.margin = min(MARGINS[self._in_air(leg, time, gait.cycle)] for leg, time in enumerate(self.first))

    def _in_air(self, lifting, time, cycle):
        """The set of legs in the air just after a leg lifts off."""
        found = 1 << lifting
        for leg, first in enumerate(self.first):
            swings = first <= time + 1e-9 and (time - first + 1e-9) % cycle < 1.0
            if leg != lifting and (swings or self.landing[leg] > time + 1e-9):
                found |= 1 << leg
        return found

    def violation(self, legs, old, new):
        """The greatest excess, in shares of what is allowed, of a leg's stance or of the swings before and after it."""
        found = []
        for leg, times, last, landing, first in zip(
            legs, self.lift_offs, self.last, self.landing, self.first, strict=True
        ):
            stays, most = first - landing, leg.remaining_stance if last is None else leg.max_stance
            half, ahead = 0.5 * stays * leg.stride, 0.5 * new.stance_time * leg.stride
            swings = [(leg.radius - (most - stays) * leg.stride, ahead)]
            if last is not None:  # it aims at a stance that is symmetric about its foothold
                left = leg.remaining_stance - (last - leg.flight)
                behind = leg.radius - left * leg.stride if last == times[0] else 0.5 * old.stance_time * leg.stride
                swings = [(behind, half), (half, ahead)]
            found.append((1.0 - most / stays) / MAX_SLOWDOWN)
            found += [(relative_speed(leg, *ends) - 1.0) / MAX_OVERSPEED for ends in swings]
        return max(found)


def relative_speed(leg, behind, ahead):
    """The speed of a swing relative to its limit, from the table of a leg."""
    rows = [np.interp(ahead / leg.radius, SWING_ENDS, row) for row in leg.speed_ratios]
    return np.interp(behind / leg.radius, SWING_ENDS, rows)


def random_legs(rng, gaits, clock):
    """Legs of a walk at any moment of a gait, with room for stances a little longer than those of both gaits."""
    longest = max(gait.stance_time for gait in gaits)
    for until in clock.until:
        since = clock.gait.cycle - until
        flight = max(0.0, 1.0 - since)
        remaining = max(0.0, clock.gait.cycle - max(since, 1.0)) + rng.uniform(0.0, 1.0)
        yield TransitionLeg(
            flight,
            remaining,
            rng.uniform(1.1, 1.6) * longest,
            REGION_RADIUS_M / longest,
            speed_table(rng),
            REGION_RADIUS_M,
        )


def speed_table(rng):
    """A table of speeds, greater for longer swings; some are too fast."""
    steps = [[rng.uniform(0.0, 0.06) for _ in SWING_ENDS] for _ in range(2)]
    behind, ahead = np.cumsum(steps, axis=1)
    return 0.6 + behind[:, None] + ahead + 0.2 * behind[:, None] * ahead


def steady_margin(gait):
    return min(MARGINS[sum(1 << leg for leg in gait.legs_in_swing((k + 0.5) / 60))] for k in range(60))


@pytest.mark.parametrize("new", ["tripod", "wave", "ripple"])
@pytest.mark.parametrize("old", ["tripod", "ripple", "tetrapod"])
def test_the_earliest_good_change_is_planned_and_what_it_violates_is_what_the_clock_does(old, new):
    rng = random.Random(f"{old} {new}")
    for _ in range(4):
        clock = GaitClock(GAITS[old])
        clock.enter(GAITS[old], rng.random())
        legs = list(random_legs(rng, (GAITS[old], GAITS[new]), clock))
        change, violation = plan_gait_change(clock, legs, GAITS[new], MARGINS)
        least = MARGIN_SHARE * min(steady_margin(GAITS[old]), steady_margin(GAITS[new]))
        assert change.gait is GAITS[new] and 0.0 <= change.phase < 1.0
        assert 0.0 < change.time_to_change < 2.0 * GAITS[old].cycle
        found = Rehearsal(clock, legs, change)
        assert violation == pytest.approx(found.violation(legs, GAITS[old], GAITS[new])) and found.margin >= least
        good = violation <= MAX_VIOLATION
        moment = GAITS[old].cycle / 48
        for _ in range(40):
            leave = (
                change.time_to_change - moment * rng.randint(0, round(change.time_to_change / moment - 0.5))
                if good
                else moment * (rng.randrange(96) + 0.5)
            )
            other = GaitChange(GAITS[new], rng.randrange(48) / 48, leave)
            tried = Rehearsal(clock, legs, other)
            if too_short(tried, other):
                continue
            limit = violation if not good or leave > change.time_to_change - 0.5 * moment else MAX_VIOLATION
            assert tried.margin < least or tried.violation(legs, GAITS[old], GAITS[new]) >= limit - 1e-9


def too_short(rehearsal, change):
    """Whether a leg would be due so soon after its touch-down that it skips this turn: no such change is planned."""
    dues = [
        change.time_to_change + change.gait.until_lift_off(leg, change.phase) for leg in range(len(rehearsal.first))
    ]
    return any(-1e-9 <= due - landing <= SHORTEST_STANCE for due, landing in zip(dues, rehearsal.landing, strict=True))
