# SPDX-License-Identifier: Apache-2.0
"""The clearance of a femur from the body over a region, against single feet."""

from dataclasses import replace

import numpy as np
import pytest
from support.drives import ROBOTS, robot

from hexapod_control.core.kinematics.leg_clearance import capsules
from hexapod_control.core.kinematics.leg_kinematics import solve_leg
from hexapod_control.core.workspace.stance_regions import DIRECTIONS
from hexapod_control.core.workspace.strides.leg_centers import clear_of_body

CLEARANCE_M = 0.003

RADIUS_M = 0.01
FEMUR_SHARES = np.linspace(0.0, 1.0, 5)


def outside(machine, point):
    """Distance [m] of a point from the box of the body; negative inside."""
    beyond = np.abs(point - np.array(machine.body.center)) - 0.5 * np.array(machine.body.size)
    return np.linalg.norm(np.maximum(beyond, 0.0)) + min(beyond.max(), 0.0)


def nearest(machine, row, center):
    """Least distance [m] of the femur from the body over a region; None if a foot is out of reach."""
    found = []
    for offset in (0.0, *(RADIUS_M * complex(*direction) for direction in DIRECTIONS)):
        foot = (center + offset).real, (center + offset).imag, machine.foot_radius - machine.walk.height
        joints, reason, _ = solve_leg(machine.legs[row], foot, (0.0, 0.0, 0.0))
        if reason is not None:
            return None
        axis, knee, radius = capsules(machine, row, joints)[1]
        start, along = np.array(axis), np.array(knee) - np.array(axis)
        found += [outside(machine, start + share * along) - radius for share in FEMUR_SHARES]
    return min(found)


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("row", [0, 1])
@pytest.mark.parametrize("wider", [0.0, 0.1])
def test_a_region_is_clear_if_the_femur_keeps_its_distance_everywhere_in_it(name, row, wider):
    machine = robot(name)
    length, width, height = machine.body.size
    machine = replace(machine, body=replace(machine.body, size=(length + wider, width + wider, height + wider)))
    leg = machine.legs[row]
    hip, home = complex(*leg.hip[:2]), complex(*leg.foothold)
    polar = [
        hip + far * (home - hip) * np.exp(1j * turn) for far in (0.5, 0.8, 1.1) for turn in np.linspace(-1.4, 1.4, 9)
    ]
    distances = {center: nearest(machine, row, center) for center in [*polar, home]}
    centers = np.array([center for center, distance in distances.items() if distance is not None])
    enough = min(CLEARANCE_M, distances[home])
    found = clear_of_body(machine, leg, centers, np.full(len(centers), RADIUS_M))
    expected = [distances[center] >= enough for center in centers]
    doubtful = [abs(distances[center] - enough) < 1e-6 for center in centers]
    assert len(centers) > 9 and all(a == b or c for a, b, c in zip(found, expected, doubtful, strict=True))
    assert found[-1] and all(found) == (wider == 0.0)
