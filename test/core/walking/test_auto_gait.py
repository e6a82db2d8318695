# SPDX-License-Identifier: Apache-2.0
"""`auto`: the gait follows the speed, fast enough for every command, without needless changes or loss of speed."""

import itertools
import random

import pytest
from support.drives import DT, ROBOTS, drive, fitting, robot, standing_planner
from support.suite.soak import SOAK, cases, some

from hexapod_control.core.gait.gait_table import AUTO
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.posture.walking_legs import WalkingLegs
from hexapod_control.core.statics.moving_mass import neutral_center
from hexapod_control.core.walking.gait_change import AutoGait
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.stride_stability import stride_margin

FULL_SHARE, MORE_STABLE_SHARE = 0.75, 0.6
MORE_STABLE_DELAY_S = 1.0

SWEEP_TICKS = 400 if SOAK else 200
FORWARD = Twist(1.0, 0.0, 0.0)
SWEEPS = cases((FORWARD, Twist(0.3, -1.0, 0.5), Twist(0.0, 0.0, 1.0)), ROBOTS)
FAST_TICK_S = 0.04  # a longer tick, where a test only waits for a change


def chosen_by(capabilities):
    """A gait choice that starts with the most stable gait, and (height, region share) of the neutral pose."""
    selection = capabilities.selection(AUTO)
    choice = AutoGait(capabilities.envelope, selection, selection.most_stable)
    return choice, (capabilities.robot.walk.height, capabilities.region_share(selection.fastest))


@pytest.mark.parametrize(("lost", "name"), cases([(), (1,), (0,)], ROBOTS))
def test_each_selected_gait_is_faster_and_less_stable_than_the_one_before(name, lost):
    capabilities = WalkingLegs.without(robot(name), frozenset(lost)).capabilities
    stance, center = capabilities.stances.at(capabilities.robot.walk.height), neutral_center(capabilities.robot)
    gaits = capabilities.selection(AUTO).gaits
    margins = {gait.name: stride_margin((gait,), stance, center, 1.0) for gait in capabilities.gaits.values()}
    speeds = {gait: capabilities.fastest(FORWARD, [gait]).vx for gait in capabilities.gaits}
    for slow, fast in itertools.pairwise(gaits):
        assert speeds[slow.name] < speeds[fast.name] and margins[slow.name] > margins[fast.name]
    assert speeds[gaits[-1].name] == max(speeds.values())
    assert margins[gaits[0].name] > max(margins.values()) - 0.002


@pytest.mark.parametrize("name", some(ROBOTS, "phantomx"))
def test_the_chosen_gait_reaches_every_speed_that_any_gait_reaches(name):
    capabilities = Capabilities.of(robot(name))
    choice, conditions = chosen_by(capabilities)
    rng = random.Random(7)
    for _ in range(300 if SOAK else 100):
        far = Twist(*(rng.uniform(-1.0, 1.0) * v for v in (1.0, 1.0, 5.0)))
        goal = capabilities.fastest(far, ["tripod"]).scaled(rng.random())
        choice.follow(rng.choice((DT, 2.0)), goal, *conditions, walking=rng.random() < 0.8)
        assert capabilities.envelope.limit(choice.gait, *conditions, goal).twist == goal


@pytest.mark.parametrize(("direction", "name"), SWEEPS)
def test_soak_of_noisy_speed_sweeps_that_change_the_gait_once_per_step_and_at_a_constant_speed_never(name, direction):
    capabilities = Capabilities.of(robot(name))
    choice, conditions = chosen_by(capabilities)
    top, rng, seen = capabilities.fastest(direction, ["tripod"]), random.Random(3), [choice.gait]
    noise = 0.4 * (FULL_SHARE - MORE_STABLE_SHARE) / FULL_SHARE  # of the speed, less than the hysteresis

    def follow(share, seconds):
        choice.follow(seconds, top.scaled(share * (1.0 + noise * rng.uniform(-1.0, 1.0))), *conditions, walking=True)
        if choice.gait is not seen[-1]:
            seen.append(choice.gait)

    ramp = [tick / SWEEP_TICKS for tick in range(1, SWEEP_TICKS + 1)]
    for share in (*ramp, *reversed(ramp)):
        follow(share, 0.1)
        held = len(seen)
        if share == 0.5:
            for _ in range(SWEEP_TICKS // 2):
                follow(share, 0.1)
            assert len(seen) - held <= 1
    gaits = capabilities.selection(AUTO).gaits
    assert seen == [*gaits, *reversed(gaits[:-1])]


def test_a_low_speed_has_to_last_before_a_more_stable_gait_is_chosen_except_at_the_start():
    capabilities = Capabilities.of(robot("phantomx"))
    choice, conditions = chosen_by(capabilities)
    most_stable = capabilities.selection(AUTO).most_stable.name
    slow = capabilities.fastest(FORWARD, [most_stable]).scaled(0.5)
    fast = capabilities.fastest(FORWARD, ["tripod"])
    choice.follow(DT, fast, *conditions, walking=True)
    assert choice.gait.name == "tripod"
    for goal in (slow, fast, slow, ZERO, ZERO):
        choice.follow(0.6 * MORE_STABLE_DELAY_S, goal, *conditions, walking=True)
        assert choice.gait.name == "tripod"
    choice.follow(DT, slow, *conditions, walking=False)
    assert choice.gait.name == most_stable


@pytest.mark.parametrize("name", some(ROBOTS, "article"))
def test_a_walk_keeps_its_speed_through_every_change_of_auto(name):
    planner = standing_planner(name, AUTO)
    gaits = planner.capabilities.selection(AUTO).gaits
    steps = [(slow, fast, FULL_SHARE, 0.98, 1.02) for slow, fast in itertools.pairwise(gaits)]
    steps += [(slow, fast, MORE_STABLE_SHARE, 1.02, 0.98) for slow, fast in itertools.pairwise(gaits)][::-1]
    for slow, fast, share, before, after in steps:
        threshold = fitting(planner, FORWARD, share, slow.name)
        list(drive(planner, threshold.scaled(before), 5.0, FAST_TICK_S))
        assert planner.view.active_gait == (slow if before < after else fast).name
        for plan in drive(planner, threshold.scaled(after), 4.0, FAST_TICK_S):
            assert plan.twist.vx >= 0.98 * min(before, after) * threshold.vx
        assert planner.view.active_gait == (fast if before < after else slow).name


def test_the_limits_of_auto_are_those_of_its_fastest_gait_also_while_it_walks_in_another():
    planner = standing_planner("phantomx", AUTO)
    top = standing_planner("phantomx", "tripod").view.maxima()
    assert planner.view.maxima() == top
    list(drive(planner, Twist(0.01, 0.0, 0.0), 1.0))
    slow = planner.capabilities.selection(AUTO).most_stable.name
    assert planner.view.active_gait == slow != "tripod" and planner.view.maxima() == top
    planner.change_settings(speed_share=0.5)
    list(drive(planner, Twist(1.0, 0.0, 0.0), 8.0))
    assert planner.view.active_gait == "tripod" and planner.view.speed_limit().vx == pytest.approx(0.5 * top.vx)


def test_auto_stays_selected_when_a_leg_is_lost_and_restored():
    planner = standing_planner("phantomx", AUTO)
    for lost, fastest in ((True, "fastest"), (False, "tripod")):
        assert planner.change_leg("left_front", lost=lost) is None
        while planner.view.changing_legs:
            planner.step(DT)
        assert planner.view.selected_gait == AUTO
        list(drive(planner, planner.view.maxima()._replace(vy=0.0, wz=0.0), 1.0))
        assert planner.view.active_gait == fastest
        planner.command(ZERO)
        while not planner.view.walk.at_rest:
            planner.step(DT)


def test_a_gait_selected_by_name_ends_auto():
    planner = standing_planner("phantomx", AUTO)
    assert planner.change_gait("ripple") is None
    list(drive(planner, Twist(0.01, 0.0, 0.0), 2.0))
    assert (planner.view.active_gait, planner.view.selected_gait) == ("ripple", "ripple")
