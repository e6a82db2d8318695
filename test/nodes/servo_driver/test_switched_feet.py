# SPDX-License-Identifier: Apache-2.0
"""Forces from switches under the feet: an even share of the weight each, debounced, and never twice the same."""

import numpy as np
import pytest
from support.phantomx import robot

from hexapod_control.core.statics.static_stability import GRAVITY
from hexapod_control.nodes.servo_driver import driver_output as switched_feet
from hexapod_control.nodes.servo_driver.driver_output import ALTERNATION, SwitchedFeet
from hexapod_control.servos.i2c.foot_switches import FootSwitchSection

EVEN = robot().mass * GRAVITY / 6.0  # [N]
SECTION = FootSwitchSection("servo2040", 0, "", tuple(range(6)), "low", 0.02)


class Switches:
    """Stands in for the inputs: which switches the board reports as pressed."""

    error = None

    def __init__(self, section, bus):
        assert (section, bus) == (SECTION, "the bus")

    def read(self, board):
        return board


@pytest.fixture
def feet(monkeypatch):
    monkeypatch.setattr(switched_feet, "FootSwitches", Switches)
    return SwitchedFeet(robot(), SECTION, "the bus")


def test_every_pressed_foot_carries_an_even_share_and_readings_alternate_by_a_thousandth(feet):
    pressed = [True, False, True, False, False, False]
    first, second, third = (feet.forces(10.0 + 0.02 * k, pressed) for k in range(3))
    assert second == pytest.approx(EVEN * np.array(pressed), rel=1e-4, abs=1e-9)
    assert first - second == pytest.approx(np.full(6, EVEN * ALTERNATION), rel=1e-4)
    assert third.tolist() == first.tolist() and ALTERNATION == 1e-3


def test_a_switch_counts_once_it_has_been_pressed_for_the_time_of_its_bounce(feet):
    loaded = [feet.forces(now, [down] * 6)[0] > 0.5 * EVEN for now, down in (
        (10.0, False), (10.01, True), (10.015, False), (10.02, True), (10.035, True), (10.045, True)
    )]  # fmt: skip
    assert loaded == [False, False, False, False, False, True]


def test_unknown_switches_give_no_forces(feet):
    assert feet.forces(10.0, None) is None
    assert feet.forces(10.0, [True] * 6) is not None
    assert feet.error is None
