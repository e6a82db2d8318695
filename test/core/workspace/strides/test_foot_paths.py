# SPDX-License-Identifier: Apache-2.0
"""Paths of feet in steady walking, and the steadiness of the cycle, against the kinematics of single feet."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.drives import robot

from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.kinematics.se2 import Twist, exp
from hexapod_control.core.statics.static_stability import static_margin
from hexapod_control.core.workspace.robot_gaits import gaits
from hexapod_control.core.workspace.strides.steady_cycle import (
    CycleLimits,
    MovingMass,
    SteadyCycle,
    UnitMotion,
    displaced,
    foot_positions,
    lifts,
    polygon_margins,
)

PHASES = 12

MACHINE = robot("phantomx")
FEET = np.array([complex(*leg.foothold) for leg in MACHINE.legs])
AXES = [Twist(1.0, 0.0, 0.0), Twist(0.6, -0.8, 0.0), Twist(0.8, 0.2, 3.0), Twist(0.0, 0.0, -1.0)]
GAITS = [gaits(MACHINE)[name] for name in ("tripod", "ripple", "wave")]
small = st.floats(-1.0, 1.0)
exact = st.integers(-64, 64).map(lambda k: k / 64)  # cross products of these have no rounding errors


@given(small, small, st.floats(-5.0, 5.0) | st.floats(-1e-4, 1e-4), small, small, small)
def test_a_displacement_is_that_of_the_rigid_motion(vx, vy, wz, path, x, y):
    found = displaced(UnitMotion.along(Twist(vx, vy, wz)), np.array(path), np.array([complex(x, y)]))
    assert (found[0].real, found[0].imag) == pytest.approx(exp(Twist(vx, vy, wz), path).apply(x, y), abs=1e-9)


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("stance", [1.0, 3.0])
def test_a_foot_stands_still_on_the_ground_about_its_center_and_swings_from_one_end_of_it_to_the_other(axis, stance):
    motion, travel = UnitMotion.along(axis), np.array(0.05)

    def at(progress):
        return foot_positions(motion, travel, stance, FEET, np.array(progress))

    assert at(1.0 + 0.5 * stance) == pytest.approx(FEET)
    for progress in np.linspace(1.0, 1.0 + stance, 7):
        assert displaced(motion, (progress - 1.0) * travel, at(progress)) == pytest.approx(at(1.0))
    assert at(0.0) == pytest.approx(at(1.0 + stance))
    assert at(1.0 - 1e-9) == pytest.approx(at(1.0), abs=1e-6)
    assert (np.abs(at(0.5) - FEET) < np.abs(at(0.0) - FEET)).all()


def test_a_foot_is_lifted_in_its_swing_only():
    heights = lifts(MACHINE, np.linspace(0.0, 3.0, 31))
    assert heights[[0, *range(10, 31)]] == pytest.approx(0.0, abs=1e-9) and (heights[1:10] > 1e-4).all()
    assert lifts(MACHINE, np.array(0.5)) == pytest.approx(MACHINE.walk.lift_height)


# --- the cycle ----------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(st.lists(st.tuples(exact, exact), min_size=3, max_size=6, unique=True))
def test_margins_over_arrays_are_those_of_single_polygons(points):
    found = polygon_margins(np.array([[complex(*point) for point in points]]))[0]
    expected = static_margin(points, (0.0, 0.0))
    assert found == pytest.approx(expected, abs=1e-9) or (found < 0.0 and expected < 0.0)


def fixed_center_of_mass(center: complex) -> MovingMass:
    """A center of mass that does not move with the feet."""
    return MovingMass(center, FEET, np.zeros(len(FEET)))


@pytest.mark.parametrize("name", ["phantomx", "chica", "inline"])
def test_the_center_of_mass_moves_with_the_feet_as_that_of_the_legs(name):
    machine, rng = robot(name), np.random.default_rng(1)
    mass, cycle = MovingMass.of(machine), SteadyCycle(machine, gaits(machine)["tripod"], AXES[0])
    neutral = np.array([complex(*leg.foothold) for leg in machine.legs])
    for _ in range(3):
        centers = neutral + 0.02 * (rng.normal(size=6) + 1j * rng.normal(size=6))
        expected = cycle.limits(0.04, centers, 0.0).margin
        assert cycle.support_margins(0.04, centers[None], mass)[0] == pytest.approx(expected, abs=0.002)
        assert abs(cycle.support_margins(0.04, centers[None], fixed_center_of_mass(mass.center))[0] - expected) < 0.03


def sampled(cycle: SteadyCycle, travel: float, count: int) -> float:
    """Least margin over evenly spaced phases."""
    margins = []
    for phase in (np.arange(count) + 0.5) / count:
        feet, _ = cycle.feet(np.array(phase), np.array(travel), FEET)
        swing = cycle.gait.legs_in_swing(phase)
        margins.append(static_margin([(p.real, p.imag) for k, p in enumerate(feet) if k not in swing], (0.0, 0.0)))
    return min(margins)


@pytest.mark.parametrize("gait", GAITS, ids=lambda gait: gait.name)
@pytest.mark.parametrize("axis", AXES[1:3])
def test_the_margin_is_least_where_a_foot_lifts_off_or_touches_down(gait: Gait, axis):
    cycle, travel = SteadyCycle(MACHINE, gait, axis), 0.08 / gait.stance_time
    margin = sampled(cycle, travel, 240)
    assert cycle.support_margins(travel, FEET[None], fixed_center_of_mass(0.0))[0] == pytest.approx(margin, abs=0.002)
    assert cycle.support_margins(travel, FEET[None], fixed_center_of_mass(0.0))[0] <= margin + 1e-9
    assert cycle.support_margins(travel, FEET[None] + 0.1, fixed_center_of_mass(0.1))[0] == pytest.approx(
        cycle.support_margins(travel, FEET[None], fixed_center_of_mass(0.0))[0], abs=0.02
    )


@pytest.mark.parametrize("gait", GAITS, ids=lambda gait: gait.name)
def test_the_limits_of_a_cycle_are_those_of_its_joints(gait: Gait):
    cycle = SteadyCycle(MACHINE, gait, AXES[0])
    standing, walking = (cycle.limits(travel, FEET, 1.0) for travel in (0.0, 0.08 / gait.stance_time))
    on_feet = cycle.support_margins(0.08 / gait.stance_time, FEET[None], MovingMass.of(MACHINE))[0]
    assert walking.margin == pytest.approx(on_feet, abs=0.002)
    assert 0.0 < walking.gap < standing.gap
    assert cycle.limits(0.0, FEET, 0.01).gap == 0.01


def test_limits_are_compared_value_by_value():
    limits = CycleLimits(2.0, 5.0)
    assert limits.at_most(3.0, 4.0) == (2.0, 4.0) and limits.at_most(1.0, 6.0) == (1.0, 5.0)
    assert limits.at_least(CycleLimits(2.0, 5.0))
    assert not limits.at_least(CycleLimits(2.1, 1.0)) and not limits.at_least(CycleLimits(1.0, 5.1))


@pytest.mark.parametrize("gait", GAITS, ids=lambda gait: gait.name)
def test_critical_phases_are_just_after_lift_offs_and_just_before_touch_downs(gait: Gait):
    phases = SteadyCycle(MACHINE, gait, AXES[0]).critical_phases()
    assert phases == sorted(phases) and all(0.0 <= phase < 1.0 for phase in phases)
    for leg, lift_off in enumerate(gait.lift_off):
        swinging = [phase for phase in phases if leg in gait.legs_in_swing(phase)]
        since = sorted((phase - lift_off) % 1.0 for phase in swinging)
        assert since[0] == pytest.approx(0.0, abs=1e-6)
        assert since[-1] == pytest.approx(1.0 - gait.duty_factor, abs=0.02) and math.isfinite(since[-1])
