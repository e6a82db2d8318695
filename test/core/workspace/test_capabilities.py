# SPDX-License-Identifier: Apache-2.0
"""What a robot can do: computed or stored, its gaits by name and by speed."""

from dataclasses import replace

import pytest
from support.drives import GAIT_NAMES, robot

from hexapod_control.config.robots import saved_capabilities
from hexapod_control.core.gait.gait_table import AUTO, GaitSelection
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.robot_gaits import neutral_center
from hexapod_control.core.workspace.stance_regions import REGION_SHARES
from hexapod_control.core.workspace.stride_stability import MIN_STRIDE_MARGIN, stride_margin

MACHINE = robot("phantomx")
CAPABILITIES = Capabilities.of(MACHINE)


class Store:
    """Stores the capabilities of one robot in memory, and records what is written."""

    def __init__(self, found=None):
        self.found, self.written = found, []

    def read(self, robot):
        return self.found

    def write(self, capabilities):
        self.written.append(capabilities)


def test_capabilities_are_read_from_the_store_or_else_computed_and_written_to_it():
    machine = robot("quadruped")
    usual = Capabilities.of(machine)
    empty, full = Store(), Store(usual)
    try:
        Capabilities.use_store(empty)
        found = Capabilities.of(replace(machine, name="one", walk=replace(machine.walk, gait=AUTO)))
        Capabilities.use_store(full)
        again = Capabilities.of(replace(machine, name="other"))
    finally:
        saved_capabilities.enable()
    assert found.robot.name == "one" and empty.written == [found]
    assert again is usual and full.written == []
    assert found.margins == usual.margins and found.gaits == usual.gaits and not found.drift
    assert found.selection().name == AUTO


def test_a_robot_whose_own_gait_is_unknown_is_refused():
    with pytest.raises(ValueError, match=f"unknown gait 'gallop'; known: {', '.join(GAIT_NAMES)}"):
        Capabilities.of(replace(MACHINE, walk=replace(MACHINE.walk, gait="gallop")))


def test_a_gait_is_selected_by_name_and_without_one_it_is_that_of_the_robot():
    gaits = CAPABILITIES.gaits
    assert CAPABILITIES.gait_names == (*gaits, AUTO)
    assert CAPABILITIES.selection("wave") == GaitSelection("wave", (gaits["wave"],))
    assert CAPABILITIES.selection() == GaitSelection.of(gaits[MACHINE.walk.gait])
    auto = CAPABILITIES.selection(AUTO)
    assert auto.name == AUTO and len(auto.gaits) > 2 and set(auto.gaits) <= set(gaits.values())
    assert auto.fastest == gaits["tripod"]
    with pytest.raises(KeyError):
        CAPABILITIES.selection("gallop")


def test_the_highest_speed_that_several_gaits_allow_is_that_of_the_slowest():
    for direction in (Twist(1.0, 0.0, 0.0), Twist(0.3, -0.5, 2.0)):
        speeds = [CAPABILITIES.fastest(direction, [name]) for name in ("tripod", "wave", "ripple")]
        assert CAPABILITIES.fastest(direction, ["tripod", "wave", "ripple"]) == speeds[1]
        assert CAPABILITIES.fastest(direction, ["ripple", "tripod"]) == speeds[2]
        assert CAPABILITIES.fastest(direction.scaled(0.01), ["tripod"]) == pytest.approx(speeds[0])


def test_without_sway_a_gait_has_all_of_the_regions_and_with_it_a_part():
    crawling = Capabilities.of(robot("quadruped"))
    crawl = crawling.gaits["crawl"]
    assert crawling.region_share(crawl) < REGION_SHARES[0]
    assert CAPABILITIES.region_share(CAPABILITIES.gaits["tripod"]) == REGION_SHARES[0] == 2.0


@pytest.mark.parametrize("back", [0.05, 0.08])
def test_strides_become_shorter_and_the_robot_slower_where_full_ones_would_tip_it(back):
    """A robot whose center of mass is far to the rear."""
    usual = robot("article")
    x, y, z = usual.body.center_of_mass
    heavy = replace(usual, body=replace(usual.body, center_of_mass=(x - back, y, z)))
    found = Capabilities.of(heavy)
    stance, center = found.neutral_stance, neutral_center(heavy)
    tripod = found.gaits["tripod"]
    share = found.envelope.stride_shares["tripod"]
    assert share < 1.0 and stride_margin((tripod,), stance, center, 1.0) < MIN_STRIDE_MARGIN
    assert stride_margin((tripod,), stance, center, share) >= MIN_STRIDE_MARGIN
    forward = Twist(1.0, 0.0, 0.0)
    assert found.fastest(forward, ["tripod"]).vx < Capabilities.of(usual).fastest(forward, ["tripod"]).vx
