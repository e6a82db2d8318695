# SPDX-License-Identifier: Apache-2.0
"""The poses of a self-calibration, the tour through them, and what makes its measurements useless."""

import ast
import itertools
import math
import re
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from support.kits.hidden_robot import HiddenRobot, holding
from support.page_messages import not_in_german

from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.calibration import tour_findings
from hexapod_control.core.calibration.closed_chains import ClosedChains
from hexapod_control.core.calibration.pose_choice import PACE, CalibrationPoses, travel_time
from hexapod_control.core.calibration.pose_recording import PoseTour
from hexapod_control.core.calibration.tour_findings import NOTICED, estimate_finding, tour_finding
from hexapod_control.core.kinematics.body_pose import NEUTRAL
from hexapod_control.core.kinematics.leg_kinematics import hip_to_base, leg_forward
from hexapod_control.core.kinematics.whole_body import joints_in_pose, standing_joints
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.core.walking.body.pose_feasibility import PoseFeasibility
from hexapod_control.core.workspace.capabilities import Capabilities

TICK_S = 0.05


@lru_cache
def chosen(name="phantomx", count=12):
    robot = load(name).robot
    return robot, tuple(CalibrationPoses(PoseFeasibility(Capabilities.of(robot))).chosen(count))


def toured(hidden, change=lambda time, sample: sample):
    """A tour of a hidden robot, which is still in each pose; `change` is what goes wrong."""
    robot, poses = chosen()
    tour = PoseTour(robot, poses)
    last, sample, time = None, None, 0.0
    while time < tour.duration + TICK_S:
        if tour.goal(time) != last:
            last = tour.goal(time)
            sample = hidden.joints(last), hidden.tilt(last), None
        tour.take(time, *change(time, sample))
        time += TICK_S
    return tour


def found(tour, hidden):
    estimate = ClosedChains(hidden.robot).estimate(tour.measured)
    return tour_finding(hidden.robot, tour) or estimate_finding(hidden.robot, estimate, tour.planted)


def quiet(seed=0):
    return HiddenRobot(chosen()[0], seed, angle=math.radians(0.05), tilt=math.radians(0.1))


@pytest.mark.parametrize("name", ["phantomx", "quadruped"])
def test_the_poses_are_varied_begin_and_end_neutral_and_a_planner_reaches_them_all(name):
    robot, poses = chosen(name)
    assert poses[0] == poses[-1] == NEUTRAL and len(poses) >= 14
    assert (np.std(poses, axis=0) > (0.01, 0.01, 0.005, 0.05, 0.05, 0.05)).all()
    planner = Planner(robot)
    planner.set_measured_joints(np.array(standing_joints(robot)))
    planner.stand()
    while (plan := planner.step(0.02)).state is not RobotState.STANDING:
        pass
    planner.halt()
    contacts = plan.contacts
    for before, pose in itertools.pairwise(poses):
        for tick in range(120):
            planner.request_pose(before.towards(pose, min(1.0, tick / 80.0)))  # as slowly as in a tour
            plan = planner.step(0.02)
        assert planner.view.body_pose == pytest.approx(pose, abs=1e-3)
        assert all(plan.planted) and plan.contacts == pytest.approx(contacts)


def test_a_tour_moves_slowly_and_measures_each_pose_once_at_rest():
    _robot, poses = chosen()
    hidden = quiet()
    tour = toured(hidden)
    assert len(tour.measured) == len(tour.planned) == len(poses) and tour.moved == tour.lifted == 0
    times = np.arange(0.0, tour.duration, 0.01)
    speeds = np.abs(np.diff([tour.goal(time) for time in times], axis=0)) / 0.01
    assert (speeds.max(0) < 1.51 * np.array(PACE)).all()  # a smooth move is half faster in its middle
    assert sum(travel_time(a, b) for a, b in itertools.pairwise(poses)) < tour.duration
    assert found(tour, hidden) is None


def test_no_pose_brings_a_leg_into_the_body():
    robot, poses = chosen("phoenix")
    half = np.array(robot.body.size) / 2.0
    for pose in poses:
        for leg, angles in zip(robot.legs, joints_in_pose(robot, robot.footholds, pose), strict=True):
            axis = hip_to_base(leg, (leg.coxa.length * math.cos(angles[0]), leg.coxa.length * math.sin(angles[0]), 0.0))
            knee, foot = (np.array(hip_to_base(leg, point)) for point in leg_forward(leg, angles))
            for start, end in ((np.array(axis), knee), (knee, foot)):
                points = start + np.linspace(0.0, 1.0, 50)[:, None] * (end - start)
                beyond = np.maximum(np.abs(points - robot.body.center) - half, 0.0)
                assert np.linalg.norm(beyond, axis=1).min() > leg.femur.radius
    assert np.ptp([pose.yaw for pose in poses]) > 0.1  # and yet they are varied


def test_servos_that_report_angles_but_no_loads_tell_by_how_far_they_give_way_which_feet_stand():
    robot, poses = chosen()
    loads = np.array((2.0, 1.0, 0.0, 2.0, 0.5, 0.5))
    tour = PoseTour(robot, poses, loads_by_sag=True)
    time = 0.0
    while time < tour.duration + TICK_S:
        goals = np.array(joints_in_pose(robot, robot.footholds, tour.goal(time)))
        stiffness = [[joint.stiffness for joint in leg.joints] for leg in robot.legs]
        tour.take(time, goals - holding(robot, goals, loads) / stiffness, (0.0, 0.0), None)
        time += TICK_S
    assert (tour.planted == (loads > 0.0)).all()
    assert np.median([pose.loads for pose in tour.measured], axis=0) == pytest.approx(loads, abs=0.1)


def test_a_body_that_does_not_rest_and_a_robot_that_is_lifted_are_named():
    hidden = quiet()
    shaking = toured(hidden, lambda time, each: (each[0] + 0.03 * math.sin(40.0 * time), *each[1:]))
    assert len(shaking.measured) == 0 and shaking.moved == len(shaking.poses)
    light = np.zeros_like(hidden.zeros)
    lifted = toured(hidden, lambda time, each: (*each[:2], light if time > 5.0 else None))
    assert lifted.lifted > 5
    assert "poses the feet did not bear the robot: was it lifted?" in str(tour_finding(hidden.robot, lifted))
    briefly = toured(hidden, lambda time, each: (*each[:2], light if 5.0 < time < 8.0 else None))
    assert 0 < briefly.lifted < 3 and tour_finding(hidden.robot, briefly).kind == "tour_lifted"
    assert "the body did not come to rest in" in str(tour_finding(hidden.robot, shaking))


@pytest.mark.parametrize(("degrees", "named"), [(6.0, True), (2.0, False)])
def test_a_body_that_tilts_against_its_feet_between_two_poses_is_named_while_a_late_imu_is_not(degrees, named):
    hidden = quiet()
    goals = PoseTour(*chosen())

    def lifted(time, _):
        roll, pitch = hidden.tilt(goals.goal(max(0.0, time - 0.15)))
        return hidden.joints(goals.goal(time)), (roll + math.radians(degrees) * (12.3 < time < 13.5), pitch), None

    finding = tour_finding(hidden.robot, toured(hidden, lifted))
    assert (finding is not None) == named
    if named:
        assert f"the body tilted by {finding.values['degrees']:.0f} deg against its feet" in str(finding)
        assert finding.values["degrees"] == pytest.approx(degrees, abs=1.5)
        assert finding.values["seconds"] == pytest.approx(12.9, abs=0.9)


def test_feet_that_bear_load_stand_and_a_robot_at_rest_stands_on_three_at_least():
    hidden = quiet()
    for loads, standing in (
        ((2, 1, 0.05, 2, 0.5, 0.4), (1, 1, 0, 1, 1, 1)),
        ((3, 0, 0.01, 2.9, 0, 0), (1, 0, 1, 1, 0, 0)),
    ):
        tour = toured(hidden, lambda _, each, loads=loads: (*each[:2], holding(hidden.robot, each[0], loads)))
        assert (tour.planted == np.array(standing, dtype=bool)).all()
        assert tour.measured[0].loads == pytest.approx(np.multiply(loads, standing), abs=0.02)


@pytest.mark.parametrize(
    ("message", "change"),
    [
        ("the IMU is upside down", lambda time, each: (each[0], (math.pi - each[1][0], each[1][1]), None)),
        ("the IMU sees the body tilt to the wrong side", lambda _, each: (each[0], (-each[1][0], each[1][1]), None)),
        ("the IMU is turned by 90 deg", lambda time, each: (each[0], (each[1][1], -each[1][0]), None)),
        (
            "left_rear_femur does not move: check its horn, its cable and whether it is blocked",
            lambda time, each: (np.where(np.arange(18).reshape(6, 3) == 7, 0.5, each[0]), each[1], None),
        ),
        (
            "left_rear_femur was held up in",
            lambda time, each: (
                np.where(np.arange(18).reshape(6, 3) == 7, np.maximum(each[0], 0.5), each[0]),
                each[1],
                None,
            ),
        ),
    ],
)
def test_a_wrong_imu_and_a_joint_that_does_not_move_are_named(message, change):
    hidden = quiet()
    assert message in str(tour_finding(hidden.robot, toured(hidden, change)))


def test_an_uneven_floor_and_a_foot_that_slips_are_named():
    hidden = quiet()
    hidden.floor[3] = 0.012
    assert f"the floor is not flat: {hidden.robot.leg_names[3]} stands +" in str(found(toured(hidden), hidden))
    texts = []
    for way in (0.03, 0.013):
        slipping = quiet()

        def slip(time, sample, slipping=slipping, way=way):
            slipping.places[1] = np.add(slipping.robot.footholds[1], (way * (time > 12.0), 0.0))
            return sample

        refusal = found(toured(slipping, slip), slipping)
        assert refusal.values["leg"] == slipping.robot.leg_names[1]
        texts.append(str(refusal))
    assert "slipped: put the robot on a floor with more grip" in texts[0]
    assert "mm before pose" in texts[1] and 10.0 < refusal.values["mm"] < 16.0


def test_a_foot_that_stands_higher_from_a_pose_on_and_a_floor_that_is_not_level_are_named():
    raised = quiet()

    def rise(time, sample):
        raised.floor[2] = 0.015 * (time > 12.0)
        return sample

    refusal = found(toured(raised, rise), raised)
    assert refusal.kind == "foot_raised" and f"{raised.robot.leg_names[2]} stood +15 mm higher" in str(refusal)
    assert "mm higher than before from pose" in str(refusal)
    tilted = quiet()
    tilted.slope = (math.radians(1.4), math.radians(-1.4))
    refusal = str(found(toured(tilted), tilted))
    assert 1.2 < float(re.fullmatch(r"the floor is not level: it falls by (\S+) deg", refusal)[1]) < 2.2


def test_findings_are_in_german_on_the_page():
    tree = ast.parse(Path(tour_findings.__file__).read_text())
    calls = [
        node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Refusal"
    ]
    kinds = [call.args[0].value for call in calls]
    assert len(kinds) > 8 and not_in_german("first", kinds) == []


def test_an_estimate_without_a_clear_solution_and_a_zero_that_stays_unknown_are_named():
    hidden = quiet()
    tour = toured(hidden)
    estimate = ClosedChains(hidden.robot).estimate(tour.measured)
    unclear = estimate_finding(hidden.robot, replace(estimate, converged=False), tour.planted)
    assert "have no clear solution: calibrate the robot by hand first" in str(unclear)
    without = [replace(pose, loads=(1.0, 1.0, 1.0, 0.0, 1.0, 1.0)) for pose in tour.measured]
    planted = tour.planted & (np.arange(6) != 3)
    estimate = ClosedChains(hidden.robot).estimate(without)
    hung = estimate_finding(hidden.robot, estimate, planted)
    assert estimate.converged and hung.kind == "foot_hung"
    assert f"the foot of {hidden.robot.leg_names[3]} bore load only in 0% of the poses" in str(hung)
    unknown = str(estimate_finding(hidden.robot, estimate, planted, math.radians(1.0)))
    assert f"the zero of {hidden.robot.leg_names[3]}_" in unknown
    assert "3.0 deg, its foot bore load in 0% of the poses" in unknown


@pytest.mark.parametrize(("share", "slippery"), [(0.2, False), (1.0, True)])
def test_feet_that_go_far_in_some_poses_are_borne_and_in_all_poses_the_floor_is_too_slippery(share, slippery):
    robot, poses = chosen()
    hidden = HiddenRobot(robot, 21, angle=math.radians(0.1), tilt=math.radians(0.1))
    measured = []
    for stance, pose in itertools.product(range(2), poses):
        away = hidden.rng.uniform(-0.02, 0.02, (6, 2)) * (hidden.rng.uniform(size=(6, 1)) < share)
        hidden.places = np.array(robot.footholds) + away
        measured += [replace(each, stance=stance) for each in hidden.measured([pose])]
    estimate = ClosedChains(robot).estimate(measured)
    finding = estimate_finding(robot, estimate, np.ones((len(poses), 6), dtype=bool))
    assert np.linalg.norm(np.diff(estimate.places, axis=0), axis=-1).max() > 0.02
    assert (finding is not None and finding.kind not in NOTICED) == slippery
    assert not slippery or "slipped: put the robot on a floor" in str(finding)
