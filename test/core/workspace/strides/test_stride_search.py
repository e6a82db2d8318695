# SPDX-License-Identifier: Apache-2.0
"""The search for the stride centers, against every arrangement of centers that it could have chosen."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from support.drives import robot

from hexapod_control.config.robots.foothold_choice import with_footholds
from hexapod_control.core.statics.moving_mass import MovingMass
from hexapod_control.core.workspace.robot_gaits import gaits
from hexapod_control.core.workspace.stance_regions import nominal_stance
from hexapod_control.core.workspace.strides.leg_centers import TURNING, leg_centers, straight_travel, turning_travel
from hexapod_control.core.workspace.strides.steady_cycle import SteadyCycle
from hexapod_control.core.workspace.strides.stride_search import (
    HIGHEST_FREQUENCY_RATIO,
    LEAST_MARGIN,
    MUCH_SLOWER,
    SPREADS,
    USUAL_MARGIN,
    TopSpeedSearch,
    axis_of,
    spread_foothold,
    stride_centers,
    usable_radii,
)
from hexapod_control.core.workspace.swing_limits import SWING_TIME_SCALES

AXIS_MOTION_FACTOR, AXIS_COST, DISTANCE_COST, MOTION_COST, SHORTFALL_COST = 1000.0, 1e4, 0.05, 0.05, 1000.0
RETRY_FACTOR, STRIDE_RESERVE, STRIDE_SHARE, NEAR_AXIS = 0.9, 1.03, 0.95, 0.9
MARGINS = {USUAL_MARGIN: (0.024, 0.13), LEAST_MARGIN: (0.021, 0.105)}  # [m], and share of the width of the stance
MIN_GAIN = 1.02
MIN_RADIUS, TIBIA_CLEARANCE = 0.002, 0.0112  # [m]
MAX_FREQUENCY_RATIO = 0.485
SLOWER = {0.985: 0.54, 0.97: 0.485, 0.95: 0.485, 0.925: 0.485, 0.9: 0.485}  # bounds by share of the speed
SEARCHED_HEADINGS, FAR_RAD = 16, 0.5

AXES = {0: 0, 1: 0, 7: 8, 8: 8, 9: 8, 15: 0}  # the axis of each heading that is one or next to one
SWINGS = range(len(SWING_TIME_SCALES))
HEADINGS = range(SEARCHED_HEADINGS + 1)


class Search:
    """A robot, the candidates of the search, and its result."""

    def __init__(self, machine):
        self.machine = machine
        self.gait = min(gaits(machine).values(), key=lambda gait: gait.stance_time)
        self.legs = [leg_centers(machine, row, self.gait) for row in range(len(machine.legs))]
        self.travels = [
            *(straight_travel(len(self.legs), k) for k in range(SEARCHED_HEADINGS)),
            turning_travel(self.legs),
        ]
        self.tops = TopSpeedSearch(machine, self.gait, self.legs).tops(self.travels)
        self.hips = np.array([leg.hip for leg in self.legs])
        self.arms = np.array([leg.foothold for leg in self.legs]) - self.hips
        self.neutral = np.array(nominal_stance(machine).radii)

    def swing_time(self, swing):
        return SWING_TIME_SCALES[swing] * self.machine.walk.swing_time

    def cycles(self, travel):
        return [SteadyCycle(self.machine, self.gait, axis) for axis in (travel.axis, travel.axis.scaled(-1.0))]

    def bound(self, travel):
        """The highest speed that the legs alone allow, with any swing time."""
        speeds = [leg.speeds[:, travel.heading] / f for leg, f in zip(self.legs, travel.speeds, strict=True)]
        return max(min(each[k].max() for each in speeds) for k in SWINGS)


@cache
def search(name="scratch"):
    return Search(robot(name))


@cache
def strides():
    """The stride tables of each leg; then (legs, headings) offsets and radii at the searched headings."""
    found = stride_centers(search().machine, search().gait)
    searched = slice(None, None, 2)
    moved = np.array(
        [
            [(1.0 + o.outward / abs(arm)) * np.exp(1j * o.angle) * arm for o in leg.offsets[searched]]
            for leg, arm in zip(found, search().arms, strict=True)
        ]
    )
    return found, moved - search().arms[:, None], np.array([leg.radii[searched] for leg in found])


class Arrangements:
    """The centers nearest to each of the spread footholds that allow a speed with a swing time."""

    def __init__(self, searched, travel, speed, swing, margin=USUAL_MARGIN):
        swing_time, machine, legs = searched.swing_time(swing), searched.machine, searched.legs
        usable = [
            np.flatnonzero(leg.speeds[swing, travel.heading] >= speed * factor)
            for leg, factor in zip(legs, travel.speeds, strict=True)
        ]
        self.stable, self.frequency_ratio = np.zeros(len(SPREADS), dtype=bool), np.full(len(SPREADS), math.inf)
        if not all(map(len, usable)):
            return
        self.chosen = np.array([nearest(*each, travel.heading) for each in zip(legs, usable, strict=True)]).T
        centers = np.stack([leg.centers[each] for leg, each in zip(legs, self.chosen.T, strict=True)], axis=1)
        cycles, length, mass = searched.cycles(travel), speed * swing_time, MovingMass.of(machine)
        gap = min(TIBIA_CLEARANCE, cycles[0].horizontal_gaps(0.0, (searched.hips + searched.arms)[None])[0])
        margins = np.min([cycle.support_margins(length, centers, mass) for cycle in cycles], axis=0)
        self.stable = margins >= margin.of(machine)
        for cycle in cycles:
            self.stable[self.stable] = cycle.horizontal_gaps(length, centers[self.stable]) >= gap
        # The frequency of the steps over that of the body on the springs of the coxa servos of the legs in stance.
        stiffness = np.array([leg.coxa_joint.stiffness for leg in machine.legs])
        spring = searched.gait.duty_factor * (stiffness / np.abs(centers - searched.hips) ** 2).sum(axis=1)
        self.frequency_ratio = math.tau / swing_time / np.sqrt(spring / machine.mass)

    @property
    def stiffest(self):
        """The lowest frequency ratio of a stable arrangement; infinite without one."""
        return self.frequency_ratio[self.stable].min(initial=math.inf)


def nearest(leg, usable, heading):
    """The usable center nearest to the spread foothold of a leg, for each of SPREADS."""
    goals = spread_foothold(leg, heading, np.array(SPREADS))
    return [usable[np.abs(leg.centers[usable] - goal).round(9).argmin()] for goal in goals]


# --- top speeds ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("heading", [0, 2, 4, 6, 8, 13, TURNING])
def test_the_top_speed_is_the_highest_with_stable_centers_or_a_little_less_if_those_are_stiffer(heading):
    check_top_speed(search(), search().travels[heading], search().tops[heading], USUAL_MARGIN)


def check_top_speed(searched, travel, top, margin):
    """No arrangement with a margin is faster, or the one found is stiffer and little slower."""

    def stiffest(speed):
        return min(Arrangements(searched, travel, speed, k, margin).stiffest for k in SWINGS)

    found, place = Arrangements(searched, travel, top.speed, top.swing, margin), SPREADS.index(top.spread)
    assert found.stable[place] and tuple(found.chosen[place]) == top.chosen and top.heading == travel.heading
    assert top.frequency_ratio == pytest.approx(found.frequency_ratio[place])
    share = top.speed / searched.bound(travel)
    ratio = top.frequency_ratio
    stages = [*SLOWER.items(), *((each, HIGHEST_FREQUENCY_RATIO) for each in MUCH_SLOWER)]
    taken = next((k for k, (each, most) in enumerate(stages) if share == pytest.approx(each) and ratio < most), None)
    if taken is not None:
        assert top.frequency_ratio == pytest.approx(stiffest(top.speed))
        stages = stages[:taken]
    else:
        assert top.frequency_ratio == pytest.approx(found.stiffest) and stiffest(1.006 * top.speed) == math.inf
        if travel.heading == TURNING or top.frequency_ratio <= MAX_FREQUENCY_RATIO:
            return
        stages = stages if top.frequency_ratio > HIGHEST_FREQUENCY_RATIO else list(SLOWER.items())
    for each, limit in stages:
        assert each * searched.bound(travel) >= top.speed or stiffest(each * searched.bound(travel)) >= limit


def test_a_slower_walk_that_is_no_stiffer_is_not_used():
    searched = search("phantomx")
    travel, bound = searched.travels[2], searched.bound(searched.travels[2])
    hardly_slower = [Arrangements(searched, travel, 0.985 * bound, k) for k in SWINGS]
    fastest = [Arrangements(searched, travel, 0.999 * bound, k) for k in SWINGS]
    assert (
        MAX_FREQUENCY_RATIO
        < min(each.stiffest for each in fastest)
        == min(each.stiffest for each in hardly_slower)
        < 0.54
    )
    assert (
        searched.tops[2].speed == pytest.approx(0.95 * bound) and searched.tops[2].frequency_ratio < MAX_FREQUENCY_RATIO
    )


def wide(width):
    """A robot with three legs in a row on each side of a body [m] wide, and what is found for it."""
    machine = robot("phantomx")
    legs = (replace(leg, hip=(leg.hip[0], math.copysign(width / 2, leg.hip[1]), 0.0)) for leg in machine.legs)
    return Search(with_footholds(replace(machine, name="wide", legs=tuple(legs)), range(6)))


@pytest.mark.parametrize(("width", "headings"), [(0.12, set()), (0.2, {6, 10})])
def test_a_smaller_margin_is_used_where_it_makes_the_robot_faster_and_not_too_soft(width, headings):
    searched, smaller = wide(width), set()
    for travel, top in zip(searched.travels, searched.tops, strict=True):
        if AXES.get(travel.heading, travel.heading) != travel.heading:
            continue
        usual = [Arrangements(searched, travel, top.speed, k) for k in SWINGS]
        if any(each.stable.any() for each in usual):
            check_top_speed(searched, travel, top, USUAL_MARGIN)
            continue
        smaller.add(travel.heading)
        check_top_speed(searched, travel, top, LEAST_MARGIN)
        assert top.frequency_ratio <= MAX_FREQUENCY_RATIO
        slower = [Arrangements(searched, travel, 1.006 * top.speed / MIN_GAIN, k) for k in SWINGS]
        assert not any(each.stable.any() for each in slower)
    assert smaller == headings


def test_headings_next_to_an_axis_of_the_body_use_its_centers_at_a_lower_speed():
    tops = search().tops
    assert [travel.heading for travel in search().travels] == list(HEADINGS)
    for k, top in enumerate(tops):
        assert axis_of(k) == AXES.get(k)
        if AXES.get(k, k) != k:
            axis = tops[AXES[k]]
            assert top == axis._replace(speed=pytest.approx(NEAR_AXIS * axis.speed))


def test_without_stable_centers_feet_stride_about_their_footholds_as_fast_as_joints_and_regions_allow():
    searched = search("quadruped")
    for top, travel in zip(searched.tops, searched.travels, strict=True):
        speeds = [
            min(
                min(
                    leg.speeds[k, travel.heading, -1],
                    2.0 * STRIDE_SHARE * radius / searched.gait.stance_time / searched.swing_time(k),
                )
                / factor
                for leg, radius, factor in zip(searched.legs, searched.neutral, travel.speeds, strict=True)
            )
            for k in SWINGS
        ]
        if AXES.get(travel.heading, travel.heading) == travel.heading:
            assert top.speed == pytest.approx(max(speeds)) and speeds[top.swing] == max(speeds)
        assert top.spread == () and set(top.chosen) == {-1}


@pytest.mark.parametrize("heading", [2, TURNING])
def test_where_legs_are_close_together_the_regions_limit_the_speed_of_strides_about_the_footholds(heading):
    usual = robot("article")
    machine = replace(usual, body=replace(usual.body, center_of_mass=(0.3, 0.0, 0.0)))  # no centers are stable
    gait = gaits(usual)["tripod"]
    legs = [leg_centers(usual, row, gait) for row in range(len(usual.legs))]
    travel = turning_travel(legs) if heading == TURNING else straight_travel(6, heading)
    top = TopSpeedSearch(machine, gait, legs).top(travel)
    speeds = [leg.speeds[:, heading, -1] for leg in legs]
    times = np.array(SWING_TIME_SCALES) * machine.walk.swing_time
    strides_ = [2.0 * STRIDE_SHARE * radius / times for radius in usable_radii(machine, gait).tolist()]
    most = np.min([np.minimum(a, b) / f for a, b, f in zip(speeds, strides_, travel.speeds, strict=True)], axis=0)
    assert (np.array(strides_) < np.array(speeds)).any()
    assert top.speed == pytest.approx(most.max()) and top.swing == most.argmax() and top.spread == ()


def test_footholds_are_spread_along_and_across_the_heading_and_those_of_middle_legs_more_across_it():
    leg = search().legs[0]
    spread = np.array([(1.3, 1.15, 1.5)])

    def at(foothold, heading=0):
        return spread_foothold(leg._replace(foothold=foothold), heading, spread).item()

    far = 0.5 * leg.span
    assert at(0.1j) == pytest.approx(0.1j * 1.15 * 1.5)
    assert at(2.0 * far + 0.1j) == pytest.approx(2.6 * far + 0.115j)
    assert at(3.0 * far + 0.1j) == pytest.approx(3.9 * far + 0.115j)
    assert at(-far - 0.1j) == pytest.approx(-1.3 * far - 0.115j * 1.25)
    assert at(far + 0.1j, TURNING) == at(far + 0.1j)
    quarter = SEARCHED_HEADINGS // 2
    assert at((far + 0.1j) * 1j, quarter) == pytest.approx(at(far + 0.1j) * 1j)


@pytest.mark.parametrize(("margin", "bound"), MARGINS.items())
def test_margins_are_smaller_for_robots_with_narrow_tracks(margin, bound):
    machine = robot("phantomx")

    def narrowed(factor):
        legs = (replace(leg, foothold=(leg.foothold[0], factor * leg.foothold[1])) for leg in machine.legs)
        return margin.of(replace(machine, legs=tuple(legs)))

    width = max(leg.foothold[1] for leg in machine.legs) - min(leg.foothold[1] for leg in machine.legs)
    assert narrowed(2.0) == bound[0]
    assert narrowed(0.2) == pytest.approx(0.2 * bound[1] * width)


# --- the curve over the headings ----------------------------------------------------------------------------


def reduction(heading):
    """The power of RETRY_FACTOR by which the offsets at a heading were reduced, and the centers (legs,) before that."""
    for power in range(11):
        whole = reduced(heading, -power)
        chosen = [int(np.abs(leg.centers - center).argmin()) for leg, center in zip(search().legs, whole, strict=True)]
        if all(abs(leg.centers[k] - c) < 1e-9 for leg, k, c in zip(search().legs, chosen, whole, strict=True)):
            return power, chosen
    raise AssertionError(f"no candidates at heading {heading}")


def reduced(heading, power):
    """The centers (legs,) found at a heading, with polar offsets times a power of RETRY_FACTOR."""
    offsets = [leg.offsets[2 * heading].scaled(RETRY_FACTOR**power) for leg in strides()[0]]
    arms = search().arms
    outward, angle = np.array(offsets).T
    return search().hips + (1.0 + outward / np.abs(arms)) * np.exp(1j * angle) * arms


def test_the_centers_over_the_headings_are_a_closed_curve_that_no_other_center_makes_cheaper():
    searched, checked = search(), 0
    chosen = [reduction(k) for k in HEADINGS]
    for row, leg in enumerate(searched.legs):
        path = [picked[row] for _, picked in chosen]
        assert path[TURNING] == searched.tops[TURNING].chosen[row]
        for k in range(SEARCHED_HEADINGS):
            top = searched.tops[k]
            if AXES.get(k) == k:
                away = AXIS_COST * (np.abs(leg.centers - leg.centers[top.chosen[row]]) / leg.length) ** 2
            else:
                goal = spread_foothold(leg, top.heading, np.array(top.spread))
                short = np.maximum(0.0, 1.0 - leg.speeds[top.swing, k] / top.speed)
                away = SHORTFALL_COST * short**2 + DISTANCE_COST * (np.abs(leg.centers - goal) / leg.length) ** 2
            for near, step in ((k - 1, k), ((k + 1) % SEARCHED_HEADINGS, k + 1)):
                axis_factor = AXIS_MOTION_FACTOR if step % (SEARCHED_HEADINGS // 2) in (0, 1) else 1.0
                other = leg.centers[path[near % SEARCHED_HEADINGS]]
                away = away + MOTION_COST * axis_factor * (np.abs(leg.centers - other) / leg.length) ** 2
            assert away[path[k]] == pytest.approx(away.min(), rel=1e-9, abs=1e-12)
            checked += len(set(path)) > 3
    assert checked > 50


def limits(heading, centers, radii):
    """Least static margin and gap [m] of full strides, forward and backward."""
    searched, travel = search(), search().travels[heading]
    factors = np.abs(centers) if heading == TURNING else 1.0
    length = 2.0 * STRIDE_SHARE / STRIDE_RESERVE * (radii / factors).min() / searched.gait.stance_time
    found = [cycle.limits(length, centers, TIBIA_CLEARANCE) for cycle in searched.cycles(travel)]
    return np.min(found, axis=0)


@pytest.mark.parametrize("heading", [0, 6, 10, 13, TURNING])
def test_offsets_are_reduced_until_the_legs_are_apart_and_the_robot_is_stable_and_no_further(heading):
    searched, power = search(), reduction(heading)[0]
    assert (power > 0) == (heading in (6, 10))
    least = LEAST_MARGIN.of(searched.machine), TIBIA_CLEARANCE
    usual = np.minimum(least, limits(heading, searched.hips + searched.arms, searched.neutral))
    for tried in range(power + 1):
        enough = least if tried == 0 else usual
        found = limits(heading, reduced(heading, tried - power), radius_before(heading, tried))
        assert (found >= enough).all() == (tried == power)


def radius_before(heading, power):
    """Radii (legs,) of the strides at the top speed within their regions, reduced with the offsets."""
    searched, chosen = search(), reduction(heading)[1]
    top, travel = searched.tops[heading], searched.travels[heading]
    half = 0.5 * searched.gait.stance_time * searched.swing_time(top.swing) / STRIDE_SHARE
    strides_ = STRIDE_RESERVE * top.speed * half * np.array(travel.speeds)
    centers = np.array([leg.centers[k] for leg, k in zip(searched.legs, chosen, strict=True)])
    if heading == TURNING:
        strides_ = strides_ * np.abs(centers) / np.abs(searched.hips + searched.arms)
    regions = [leg.radii[heading, k] for leg, k in zip(searched.legs, chosen, strict=True)]
    share = RETRY_FACTOR**power
    return share * np.clip(strides_, MIN_RADIUS, regions) + (1.0 - share) * searched.neutral


def test_regions_have_room_for_the_strides_at_the_top_speed_as_far_as_the_leg_reaches():
    for k in HEADINGS:
        assert strides()[2][:, k] == pytest.approx(radius_before(k, reduction(k)[0]))


def test_between_two_searched_headings_is_the_mean_or_the_first_one_if_they_are_far_apart():
    for leg in strides()[0]:
        assert len(leg.offsets) == len(leg.radii) == 2 * SEARCHED_HEADINGS + 1
        for k in range(SEARCHED_HEADINGS):
            here, there = 2 * k, 2 * (k + 1) % (2 * SEARCHED_HEADINGS)
            a, b = leg.offsets[here], leg.offsets[there]
            between = a.towards(b, 0.5) if abs(a.angle - b.angle) < FAR_RAD else a
            assert leg.offsets[here + 1] == pytest.approx(between)
            assert leg.radii[here + 1] == min(leg.radii[here], leg.radii[there])
