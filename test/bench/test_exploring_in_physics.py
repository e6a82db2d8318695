# SPDX-License-Identifier: Apache-2.0
"""A robot that explores ground by feet, in physics: a foot that feels none is taken back, and the robot stops."""

import numpy as np
import pytest
from sensing_lockstep import SensingLockstep, tilt
from terrain import TrueMap

from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.sensing.mishap_watch import HANGING_TILT_RAD, MishapKind, tilt_angle
from hexapod_control.core.sensing.sensor_inputs import Adaptation
from hexapod_control.evaluation.lockstep import CONTROL_PERIOD_S
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.start_poses import sitting_pose
from hexapod_control.sim.world_settings import WorldSettings

pytestmark = pytest.mark.physics

SEEN_M = 0.3  # of x, up to which the map shows the ground
GAP_AT_M = 0.6  # where the first gap begins


@pytest.mark.parametrize("seed", [1])
def test_a_foot_that_feels_no_ground_in_a_gap_goes_back_and_the_robot_stops_with_all_feet_on_the_ground(seed):
    file = load("phantomx")
    world = WorldSettings(world="gaps", gap_width=0.25, drop=0.25, seed=seed, reality="typical", reality_seed=seed)
    simulation = Simulation(file.robot, urdf(file), world.fitted(file.robot))
    simulation.reset(sitting_pose(file.robot))
    planner = Planner(file.robot, gait="wave")
    run = SensingLockstep(simulation, planner, Adaptation(touch_down=True, explores=True), seed)
    run.stand()
    ground = TrueMap(simulation)
    lowest = 0.0
    for _ in range(round(20.0 / CONTROL_PERIOD_S)):
        grid, base = ground.see()
        columns = grid.origin[0] + grid.cell * np.arange(grid.ground.shape[1])
        grid.ground[:, columns > SEEN_M] = np.nan
        planner.see(grid, base)
        planner.command(Twist(0.04, 0.0, 0.0))
        plan = run.tick()
        assert tilt_angle(*tilt(simulation)) < HANGING_TILT_RAD
        feet = simulation.data.xpos[list(simulation.world.feet)]
        lowest = min(lowest, float(feet[:, 2].min()))
    mishap = planner.view.mishap
    assert mishap.kind is MishapKind.NO_FOOTHOLD and "finds no ground within 30 mm" in mishap.text
    assert lowest < -0.01  # a foot was in the gap
    assert all(plan.planted) and plan.twist.is_zero
    assert SEEN_M < feet[:, 0].max() < GAP_AT_M + file.robot.foot_radius and feet[:, 2].min() > -0.01
