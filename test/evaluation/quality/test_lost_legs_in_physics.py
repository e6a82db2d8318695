"""A leg is lost during a walk in physics: no fall, no collision, and the robot goes where it is sent."""

import math

import pytest

from hexapod_control.config.robots.robot_file import known_robots, load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.se2 import Twist, log
from hexapod_control.evaluation.quality.lockstep import CONTROL_PERIOD_S
from hexapod_control.evaluation.quality.odometry_drift import standing_lockstep
from hexapod_control.evaluation.quality.walk_quality import planar_pose
from hexapod_control.sim.world_settings import WorldSettings

pytestmark = pytest.mark.physics

DEVIATION = {"phantomx": 0.1, "article": 0.15}  # of the speed from the commanded one; article is slow on five legs
RAMP_TICKS, CYCLES = 100, 2
LEGS = [(name, leg) for name in known_robots() for leg in load(name).robot.leg_names]


@pytest.mark.parametrize(("name", "leg"), LEGS)
def test_a_robot_that_loses_any_leg_while_walking_goes_on_at_the_commanded_speed_without_tipping(name, leg):
    robot_file = load(name)
    lockstep = standing_lockstep(robot_file.robot, urdf(robot_file), WorldSettings())
    planner = lockstep.planner
    lockstep.reach(planner.view.maxima().scaled(0.5)._replace(vy=0.0, wz=0.0))
    assert planner.change_leg(leg, lost=True) == ""
    plans, tilts = [], []

    def tick():
        plans.append(lockstep.tick())
        x, y, _, _ = lockstep.simulation.reading().orientation
        tilts.append(math.degrees(2.0 * math.hypot(x, y)))
        assert not lockstep.simulation.unwanted_contacts()

    while planner.view.changing_legs:
        tick()
    command = Twist(0.9 * planner.view.maxima().vx, 0.0, 0.0)
    planner.command(command)
    for _ in range(RAMP_TICKS):
        tick()
    start, begin = planar_pose(lockstep.simulation), len(plans)
    walk = planner.view.walk
    for _ in range(round(CYCLES * walk.gait.cycle * walk.swing_time / CONTROL_PERIOD_S)):
        tick()
    seconds = (len(plans) - begin) * CONTROL_PERIOD_S
    achieved = log(start.inverse() @ planar_pose(lockstep.simulation), seconds)
    assert achieved.vx / command.vx == pytest.approx(1.0, abs=DEVIATION[name])
    assert min(plan.margin for plan in plans) > 0.0
    assert max(tilts) < 3.0 and lockstep.unreachable == 0
