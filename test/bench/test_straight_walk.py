# SPDX-License-Identifier: Apache-2.0
"""Robots with the errors of ordinary servos in physics: they walk as commanded, and say when they make no way."""

import mujoco
import pytest
from sensing_lockstep import ALL_SENSORS
from straight_walk import COURSES, STAGES, standing, walk

from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.core.reality import Reality
from hexapod_control.core.sensing.mishap_watch import MishapKind
from hexapod_control.core.sensing.sensor_inputs import Adaptation
from hexapod_control.evaluation.lockstep import CONTROL_PERIOD_S, planar_pose
from hexapod_control.sim import terrain

pytestmark = pytest.mark.physics

FILE = load("phantomx")
AHEAD = COURSES["forwards"].scaled(0.1)
RISER_M = 0.06


def test_a_robot_calibrated_by_hand_walks_as_commanded_on_three_feet():
    """Without corrections it makes 94 % of its way, turns by 2.6 degrees per metre, and often stands on two feet."""
    run = standing(FILE, STAGES["before"](FILE.robot, 2), Adaptation())
    found = walk(run, AHEAD, seconds=7.0, settling=6.0)
    assert 0.95 <= found.ratio <= 1.05 and abs(found.turn) <= 1.0
    assert found.three_feet >= 0.99 and found.slip <= 0.01


def test_a_heavy_robot_that_turns_on_the_spot_stands_on_three_feet():
    """Without legs that hold half of their loads, feet hit the ground below a body that has sunk, and bounce."""
    file = load("heavy")
    run = standing(file, STAGES["after"](file.robot, 2), Adaptation())
    found = walk(run, COURSES["turn"].scaled(0.1), seconds=5.0, settling=2.0)
    assert found.three_feet >= 0.99


def test_a_typical_quadruped_that_sways_on_its_play_and_changes_its_course_is_not_stopped():
    file = load("quadruped")
    run = standing(file, STAGES["typical"](file.robot, 1), Adaptation(), ALL_SENSORS, 1)
    walk(run, Twist(0.0, 0.022, 0.0), seconds=4.0)
    assert walk(run, Twist(0.0, 0.0, 0.08), seconds=8.0).ratio == pytest.approx(1.0, abs=0.15)
    assert run.planner.view.mishap is None


def flat_with_riser(spec, settings):
    """A plane with a riser in front of the robot, too high for its steps."""
    terrain.flat(spec, settings)
    half = [1.0, 2.0, RISER_M / 2.0]
    spec.worldbody.add_geom(
        name="ground_riser", type=mujoco.mjtGeom.mjGEOM_BOX, size=half, pos=[1.4, 0.0, RISER_M / 2.0], group=2
    )


def test_a_robot_that_runs_into_a_riser_at_its_top_speed_stops_although_hardly_a_foot_bears_load(monkeypatch):
    monkeypatch.setitem(terrain.TERRAINS, "flat", flat_with_riser)
    run = standing(FILE, STAGES["typical"](FILE.robot, 1), Adaptation(), ALL_SENSORS, 1)
    planner = run.planner
    for _ in range(round(11.0 / CONTROL_PERIOD_S)):
        planner.command(planner.view.maxima().scaled(0.95)._replace(vy=0.0, wz=0.0))
        run.tick()
        if planner.view.mishap and planner.view.mishap.kind is MishapKind.HINDERED:
            return
    raise AssertionError(f"it marches on: {planner.view.mishap}")


def test_a_robot_before_a_high_riser_stops_and_names_the_legs_that_are_held(monkeypatch):
    monkeypatch.setitem(terrain.TERRAINS, "flat", flat_with_riser)
    run = standing(FILE, Reality(len(FILE.robot.legs)), Adaptation(), ALL_SENSORS)
    planner = run.planner
    for _ in range(round(13.0 / CONTROL_PERIOD_S)):
        planner.command(AHEAD)
        run.tick()
        if planner.state is RobotState.STANDING and planner.view.mishap:
            break
    mishap = planner.view.mishap
    assert mishap is not None and mishap.kind is MishapKind.HINDERED, f"{planner.state}"
    assert "left_front and right_front are held" in mishap.text
    planner.command(AHEAD.scaled(-1.0))
    before = planar_pose(run.simulation).x
    for _ in range(round(2.0 / CONTROL_PERIOD_S)):
        planner.command(AHEAD.scaled(-1.0))
        run.tick()
    assert planar_pose(run.simulation).x < before - 0.05 and planner.view.mishap is None
