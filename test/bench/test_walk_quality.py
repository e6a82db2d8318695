# SPDX-License-Identifier: Apache-2.0
"""The figures of the walk in physics: core and MuJoCo in lock step."""

import itertools
import math
from dataclasses import replace
from functools import cache

import flat_ground
import gait_changes
import pytest
from support.drives import GAITS, robot, robot_and_urdf
from support.suite.soak import SOAK, some
from walk_quality import Course, walk

from hexapod_control.config.robots.robot_file import known_robots
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.evaluation import lockstep as lockstep_module
from hexapod_control.evaluation.lockstep import CONTROL_PERIOD_S, WalkError, planar_pose, standing_lockstep
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.world_settings import WorldSettings

pytestmark = pytest.mark.physics


OWN = [case for case in flat_ground.CASES if not case.servo]
SHORT = [replace(case, course=replace(case.course, cycles=1)) for case in OWN]
CASES = flat_ground.CASES if SOAK else SHORT


@cache
def measured(case):
    return flat_ground.measure_case(*robot_and_urdf(), case)


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(case.name.split()))
def test_soak_of_walks_on_flat_ground_every_one_keeps_its_limits(case):
    found = measured(case)
    assert not case.limits.broken_by(found), flat_ground.line(case, found)


def test_a_walk_on_the_softest_servos_keeps_its_limits(phantomx):
    """The servos of the robot file, for whose lower speed it is planned, are about the stiffest of all."""
    case = flat_ground.CASES[-1]
    world = Simulation(*phantomx, WorldSettings(servo_model=case.servo))
    found = walk(world, replace(case.course, cycles=1))
    assert not case.limits.broken_by(found), flat_ground.line(case, found)


def test_the_same_walk_gives_the_same_figures(phantomx):
    assert flat_ground.measure_case(*phantomx, CASES[4]) == measured(CASES[4])


@pytest.mark.parametrize("name", some(known_robots(), "heavy", "inline", "octopod", "quadruped"))
def test_every_robot_of_the_package_walks_at_70_percent_of_its_top_speed(name):
    machine = robot(name)
    gait = machine.walk.gait
    top = Capabilities.of(machine).fastest(Twist(1.0, 0.0, 0.0), [gait])
    found = walk(Simulation(*robot_and_urdf(name), WorldSettings()), Course(gait, top.scaled(0.7), 2))
    assert found.ratio == pytest.approx(1.0, abs=0.05)
    assert found.slip <= 0.01  # [m/m] of the path of the feet
    assert not found.unwanted_contacts
    assert found.unreachable == 0


SLOWEST = (Twist(0.005, 0.0, 0.0), Twist(0.0, 0.005, 0.0), Twist(0.0, 0.0, 0.02))  # of which robots have to walk 95 %
SLOW_WALKS = list(itertools.product(known_robots(), SLOWEST))


@pytest.mark.parametrize("case", some(SLOW_WALKS, *itertools.product(["phantomx"], SLOWEST), ("article", SLOWEST[1])))
def test_slow_commands_as_near_a_goal_are_walked_at_their_speed_in_spite_of_friction(case):
    name, twist = case
    found = walk(Simulation(*robot_and_urdf(name), WorldSettings()), Course(robot(name).walk.gait, twist, 3))
    assert 0.95 < found.ratio < 1.15


@pytest.mark.parametrize(("settings", "slip"), [({"payload": 1.0}, 0.01), ({"friction": 0.5}, 0.03)])
def test_load_and_a_slippery_floor_do_not_change_where_the_robot_goes(settings, slip, phantomx):
    found = walk(Simulation(*phantomx, WorldSettings(**settings)), Course("tripod", Twist(0.1, 0.0, 0.0), 2))
    assert found.ratio == pytest.approx(1.0, abs=0.02)
    assert found.slip < slip


def test_a_robot_whose_servos_cannot_carry_it_breaks_the_limits(phantomx):
    world = Simulation(*phantomx, WorldSettings(servo_model="mg90s"))
    assert "saturation" in flat_ground.OTHER_SERVO.broken_by(walk(world, Course("tripod", Twist(0.1, 0.0, 0.0), 1)))


def test_a_twist_the_robot_never_reaches_is_named(phantomx, monkeypatch):
    monkeypatch.setattr(lockstep_module, "TIMEOUT_S", 5.0)
    with pytest.raises(WalkError, match=r"reach the twist \(3\.0, 0\.0, 0\.0\)"):
        walk(Simulation(*phantomx, WorldSettings()), Course("tripod", Twist(3.0, 0.0, 0.0)))


PAIRS = list(itertools.combinations(GAITS, 2))
CHANGES = [(*pair, direction) for pair, direction in zip(PAIRS, itertools.cycle(gait_changes.DIRECTIONS))]


@pytest.mark.soak
@pytest.mark.parametrize(("old", "new", "direction"), CHANGES if SOAK else CHANGES[3::2])
def test_changes_of_the_gait_at_any_phase_keep_the_speed(old, new, direction, phantomx):
    lockstep = standing_lockstep(*phantomx, WorldSettings())
    found = gait_changes.measure(lockstep, (old, new), gait_changes.DIRECTIONS[direction], phases=1)
    assert found.kept and found.count == 2, found


def test_changing_the_gait_while_walking_keeps_the_speed_and_the_body_level(phantomx):
    """One-cycle means of the body's speed within 0.0015 m/s of the steady walks', tilt below 0.3 deg."""
    lockstep = standing_lockstep(*phantomx, WorldSettings())
    command, ticks = Twist(0.027, 0.0, 0.0), 210
    cycle = round(max(gait.cycle for gait in lockstep.planner.capabilities.gaits.values()) * 0.45 / CONTROL_PERIOD_S)
    places, tilts = [], []
    for gait in (*GAITS, GAITS[0]):
        assert lockstep.planner.change_gait(gait) is None
        for _ in range(ticks):
            lockstep.planner.command(command)
            assert lockstep.tick().margin > 0.08  # [m]
            pose = planar_pose(lockstep.simulation)
            places.append((pose.x, pose.y))
            x, y, _, _ = lockstep.simulation.reading().orientation
            tilts.append(math.degrees(2.0 * math.hypot(x, y)))
        assert lockstep.planner.view.active_gait == gait
    walked = places[ticks:]
    speeds = [math.dist(walked[i], walked[i + cycle]) / (cycle * CONTROL_PERIOD_S) for i in range(len(walked) - cycle)]
    assert max(abs(speed - command.vx) for speed in speeds) <= 0.0015  # [m/s]
    assert max(tilts[ticks:]) < 0.3 and lockstep.unreachable == 0
