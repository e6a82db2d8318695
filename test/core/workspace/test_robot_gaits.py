# SPDX-License-Identifier: Apache-2.0
"""Laws of the gaits of a robot: the legs in stance always support it."""

from dataclasses import replace

import pytest
from support.drives import ROBOTS, robot
from support.robots.other_robots import around, in_rows

from hexapod_control.core.gait.gait_table import derived_gaits
from hexapod_control.core.statics.moving_mass import neutral_center
from hexapod_control.core.statics.static_stability import static_margin
from hexapod_control.core.workspace.robot_gaits import gaits, least_support

MACHINES = [*map(robot, ROBOTS), *(in_rows(*rows) for rows in ((3, 2), (4, 3), (4, 4), (6, 6))), around(5), around(9)]


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: f"{m.name}-{len(m.legs)}")
def test_in_every_gait_the_center_of_mass_is_inside_the_support_polygon_at_any_phase(machine):
    center, footholds = neutral_center(machine), [leg.foothold for leg in machine.legs]
    for gait in gaits(machine).values():
        margins = []
        for k in range(240):
            lifted = gait.legs_in_swing((k + 0.5) / 240)
            margins.append(static_margin([p for leg, p in enumerate(footholds) if leg not in lifted], center))
        assert min(margins) == pytest.approx(least_support(machine, gait).margin)
        assert min(margins) > 0.0


def test_a_robot_that_would_tip_in_every_gait_has_no_gaits():
    machine = robot("phantomx")
    heavy = replace(machine, body=replace(machine.body, center_of_mass=(0.3, 0.0, 0.0)))
    assert all(least_support(heavy, gait).margin < -0.01 for gait in derived_gaits(heavy).values())
    with pytest.raises(ValueError, match="no gait is stable: with right_front in the air"):
        gaits(heavy)
