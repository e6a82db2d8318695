"""Quantities that the view of a planner computes."""

import math

import pytest
from support.drives import DT, robot, standing_planner

from hexapod_control.core.kinematics.leg_kinematics import forward
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.core.workspace.robot_gaits import gaits

NAME = "phantomx"


@pytest.mark.parametrize("tempo", [0.8, 1.0, 1.6])
def test_an_arc_of_given_travel_per_stance_is_slower_at_a_longer_swing_time(tempo):
    planner = standing_planner(NAME)
    usual = planner.view.arc_twist(0.03, 0.5)
    planner.change_settings(tempo=tempo)
    assert planner.view.arc_twist(0.03, 0.5) == pytest.approx(usual.scaled(1.0 / tempo))


@pytest.mark.parametrize("curvature", [0.0, 0.5, -2.0])
def test_in_one_stance_the_outermost_foot_covers_the_travel_of_an_arc(curvature):
    planner, machine = standing_planner(NAME), robot(NAME)
    stance_time = gaits(machine)[planner.view.active_gait].stance * machine.walk.swing_time
    vx, vy, wz = planner.view.arc_twist(0.03, curvature)
    speeds = [math.hypot(vx - wz * y, vy + wz * x) for x, y in (leg.foothold for leg in machine.legs)]
    assert max(speeds) * stance_time == pytest.approx(0.03)


def test_velocities_lead_from_every_tick_to_the_next_also_where_motions_of_joints_and_of_feet_meet():
    planner = Planner(robot(NAME))
    planner.set_measured_joints(planner.view.lying_joints)
    planner.stand()
    before, kinds = planner.step(DT), set()
    while planner.state is not RobotState.STANDING:
        plan = planner.step(DT)
        assert plan.joint_velocity * DT == pytest.approx(plan.joint_angles - before.joint_angles, abs=1e-9)
        if plan.feet is not None:
            way = plan.feet - forward(robot(NAME), before.joint_angles)
            assert plan.feet_velocity * DT == pytest.approx(way, abs=1e-6)
        kinds.add((before.feet is None, plan.feet is None))
        before = plan
    assert kinds >= {(True, True), (True, False), (False, False)}
