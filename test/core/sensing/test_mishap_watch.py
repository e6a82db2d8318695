# SPDX-License-Identifier: Apache-2.0
"""Mishaps detected after each tick from tilt, foot loads and measured joints."""

import math

import numpy as np
import pytest
from support.drives import DT, robot

from hexapod_control.core.sensing.mishap_watch import MishapKind, MishapWatch, WatchedTick
from hexapod_control.core.sensing.sensor_inputs import MishapDetection, SensorInputs

MACHINE = robot("phantomx")
COUNT = len(MACHINE.legs)
STILL = (0.0,) * (3 * COUNT)
ALL, NONE = (10.0,) * COUNT, (0.0,) * COUNT  # [N]
HANGING = math.radians(18.0)
LATE = tuple(0.3 * (k == 7) for k in range(3 * COUNT))  # the femur of the third leg


class Watched:
    """A watch whose sensors repeat constant values."""

    def __init__(self, *, falls=True, legs=True):
        self.watch, self.sensors = MishapWatch(MACHINE), SensorInputs(MACHINE)
        self.sensors.mishap_detection = MishapDetection(falls=falls, legs=legs)

    def after(self, seconds, *, tilt=None, loads=None, measured=STILL, on_feet=True, walking=True, turn=0.0, rate=0.0):
        """The watch after some seconds of constant sensor values."""
        for _ in range(round(seconds / DT)):
            self.sensors.step(DT, moving=False)
            if tilt is not None:
                self.sensors.imu.take_reading(tilt, (0.0, 0.0, rate), (0.0, 0.0, 9.81))
            if loads is not None:
                self.sensors.contacts.take(loads)
            planted = (True,) * COUNT
            tick = WatchedTick(MACHINE, np.zeros((COUNT, 3)), measured, planted, turn, on_feet, walking)
            self.watch.step(DT, self.sensors, tick)
        return self.watch


def test_a_robot_has_fallen_once_it_is_tilted_beyond_its_limit_for_a_moment():
    watched = Watched()
    limit = watched.watch.limit
    assert not watched.after(1.0, tilt=(0.0, limit - 0.01)).fallen
    assert not watched.after(0.1, tilt=(-limit - 0.01, 0.0)).fallen
    assert watched.after(2 * DT, tilt=(-limit - 0.01, 0.0)).fallen and not watched.watch.may_stand
    assert not watched.after(DT, tilt=(0.0, limit - 0.01)).fallen and watched.watch.may_stand
    assert not Watched(falls=False).after(1.0, tilt=(2.0, 0.0)).fallen
    assert not Watched().after(1.0).fallen  # without an IMU


def test_a_robot_may_stand_on_feet_that_bear_load_for_long_enough_or_whose_load_is_unknown():
    watched = Watched()
    assert watched.after(DT).may_stand and not watched.watch.loaded
    assert not watched.after(0.2, loads=ALL).may_stand
    assert watched.after(2 * DT, loads=ALL).may_stand and watched.watch.loaded
    assert not watched.after(DT, loads=NONE).may_stand
    assert Watched(falls=False).after(1.0, loads=NONE).may_stand


def test_a_robot_is_carried_once_no_foot_has_borne_load_for_a_while_and_hangs_if_it_is_tilted_as_well():
    watched, tilted = Watched(), (HANGING + 0.01, 0.0)
    watched.after(1.0, loads=ALL, tilt=tilted)
    assert not watched.after(0.4 - DT, loads=NONE, tilt=tilted).carried
    assert watched.after(3 * DT, loads=NONE, tilt=tilted).carried
    assert watched.after(5.0, loads=NONE, tilt=tilted).hanging and not watched.watch.fallen
    assert not watched.after(DT, loads=NONE, tilt=(HANGING - 0.01, 0.0)).hanging


def test_a_leg_that_lags_slows_the_walk_and_lifts_higher_until_a_while_after_it_follows_again():
    watched = Watched()
    assert watched.after(0.1, measured=LATE).speed_share == 1.0 and watched.watch.lagging_leg is None
    watch = watched.after(0.2, measured=LATE)
    assert (watch.speed_share, watch.lagging_leg, watch.stuck) == (0.4, 2, None)
    assert watch.slow_mishap.kind is MishapKind.SLOWED
    assert all(part in watch.slow_mishap.text for part in (MACHINE.leg_names[2], "femur", "0.30 rad"))
    assert watched.after(3.0 - 2 * DT).speed_share == 0.4 and watch.lagging_leg == 2
    watched.after(3 * DT)
    assert (watch.speed_share, watch.lagging_leg, watch.slow_mishap) == (1.0, None, None)


def test_a_leg_that_lags_for_long_is_stuck_also_while_the_robot_stands():
    for walking in (True, False):
        watched = Watched()
        assert watched.after(0.6 - DT, measured=LATE, walking=walking).stuck is None
        watch = watched.after(3 * DT, measured=LATE, walking=walking)
        assert watch.stuck == 2
        assert (watch.slow_mishap.kind if watch.slow_mishap else None) is (MishapKind.STUCK if walking else None)
        assert watch.speed_share == (0.4 if walking else 1.0)
        assert watched.after(DT).stuck is None


@pytest.mark.parametrize("more", [{"on_feet": False}, {}])
def test_legs_are_watched_only_on_feet_and_where_that_is_selected(more):
    watched = Watched(legs=bool(more))
    watch = watched.after(1.2, measured=LATE, **more)
    assert watch.stuck is None and watch.slow_mishap is None and watch.speed_share == 1.0
    stuck = Watched()
    assert stuck.after(1.2, measured=LATE).stuck == 2
    assert stuck.after(DT, measured=LATE, on_feet=False).stuck is None
    assert stuck.after(0.1, measured=LATE).stuck is None  # it starts over


def test_messages_name_the_attitude_in_degrees_and_what_it_stands_up_to():
    watched = Watched()
    assert str(watched.watch.attitude) == "unknown"
    watch = watched.after(DT, tilt=(math.radians(-50.0), math.radians(20.0)))
    assert str(watch.attitude) == "roll -50 deg, pitch 20 deg"
    for mishap, kind in ((watch.fallen_mishap(), MishapKind.FALLEN), (watch.hanging_mishap(), MishapKind.FALLEN)):
        assert mishap.kind is kind and str(watch.attitude) in mishap.text
    assert f"{math.degrees(watch.limit):.0f} deg" in watch.fallen_mishap().text
    assert watch.carried_mishap().kind is MishapKind.CARRIED


@pytest.mark.parametrize(("walking", "turn", "rate"), [(True, 0.0, 0.5), (True, 0.3, -0.2), (False, 0.0, 0.5)])
def test_feet_that_slip_slow_a_walk_and_are_named_with_the_difference_of_the_turns(walking, turn, rate):
    watched = Watched()
    watch = watched.after(1.0, tilt=(0.0, 0.0), turn=turn, rate=rate, walking=walking)
    assert (watch.speed_share, watch.lagging_leg, watch.stuck) == (0.4 if walking else 1.0, None, None)
    if walking:
        assert watch.slow_mishap.kind is MishapKind.SLOWED
        turns = f" slip: the robot turns by {(rate - turn) * (1.0 - (1.0 - DT) ** 50):.2f} rad/s more than its feet"
        assert watch.slow_mishap.text.startswith(f"{' and '.join(MACHINE.leg_names)}{turns}")
        watched.after(DT, tilt=(0.0, 0.0), turn=turn, rate=rate, on_feet=False)
        watched.after(0.3, tilt=(0.0, 0.0), turn=turn, rate=rate)
        watched.after(3.0 - 0.3 - 2 * DT, tilt=(0.0, 0.0))
        assert watch.speed_share == 0.4  # from the first slip: the second one started over
        watched.after(2 * DT, tilt=(0.0, 0.0))
    assert (watch.speed_share, watch.slow_mishap) == (1.0, None)


def test_a_watch_starts_without_a_mishap():
    watch = MishapWatch(MACHINE)
    assert not (watch.fallen or watch.hanging or watch.carried or watch.loaded) and watch.may_stand
    assert watch.stuck is watch.slow_mishap is watch.tilt is watch.lagging_leg is None and watch.speed_share == 1.0
