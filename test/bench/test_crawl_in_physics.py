# SPDX-License-Identifier: Apache-2.0
"""A robot with four legs keeps its balance in physics."""

import math

import pytest
from support.drives import DIRECTIONS

from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.planner.planner import Planner
from hexapod_control.evaluation.lockstep import Lockstep
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.start_poses import sitting_pose
from hexapod_control.sim.world_settings import WorldSettings

MAX_TILT = math.radians(1.5)
MIN_MARGIN = 0.005  # [m]
DURATION_S = 8.0  # more than two cycles


@pytest.mark.physics
def test_a_crawling_robot_tilts_little_and_keeps_its_margin():
    """Backwards, where the strides leave the smallest margin."""
    file = load("quadruped")
    simulation, planner = Simulation(file.robot, urdf(file), WorldSettings()), Planner(file.robot)
    simulation.reset(sitting_pose(file.robot))
    run = Lockstep(simulation, planner)
    run.stand()
    planner.command(planner.capabilities.fastest(DIRECTIONS["backwards"], ["crawl"]))
    start, flights = simulation.reading().position[0], 0
    for _ in range(round(DURATION_S / 0.02)):
        plan = run.tick()
        x, y, _z, _w = simulation.reading().orientation
        assert 2.0 * math.hypot(x, y) <= MAX_TILT
        assert plan.margin >= MIN_MARGIN
        flights += not all(plan.planted)
    assert flights > 100 and start - simulation.reading().position[0] > 0.05
