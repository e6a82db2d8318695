# SPDX-License-Identifier: Apache-2.0
"""The parameters of MPPI, Nav2's controller, fit a slow robot: laws, and walks with a model of it (support/mppi.py)."""

import copy
import math
from functools import cache

import numpy as np
import pytest
from support.drives import GAITS
from support.mppi import Mppi, Smoother
from support.parameter_files import sections

from hexapod_control.config.robots.nav2_parameters import PATH_STEP_M, describe, fill
from hexapod_control.config.robots.robot_file import known_robots, load
from hexapod_control.config.shipped_files import share
from hexapod_control.core.kinematics.se2 import Pose, Twist, exp
from hexapod_control.core.workspace.capabilities import Capabilities

WALKS = [
    (robot, gait) for robot in known_robots() for gait in GAITS if gait in Capabilities.of(load(robot).robot).gaits
]
RIPPLE = np.array((0.013, 0.013, 0.04))  # [m/s, m/s, rad/s] of the measured twist of phantomx in tripod
NAV2_METRES = {"GoalCritic": 7.0, "PathAlignCritic": 19.6, "PathFollowCritic": 7.0}  # Nav2's weights times 1.4 m
NAV2_RADIANS = {"GoalAngleCritic": 15.9, "PathAngleCritic": 10.6}  # Nav2's weights times 5.3 rad
ORIGIN = Pose(0.0, 0.0, 0.0)
SAMPLES = 150  # of the model: fewer than those of Nav2, so that a walk takes a second


@cache
def described(robot, gait):
    return describe(load(robot).robot, gait)


@cache
def nodes(robot, gait):
    return sections(fill(share("config", "nav2.yaml").read_text(), described(robot, gait)))


def controller(robot, gait):
    return nodes(robot, gait)["controller_server"]["FollowPath"]


@pytest.mark.parametrize(("robot", "gait"), WALKS)
def test_a_sample_can_follow_its_noise_within_a_step_of_the_model(robot, gait):
    path = controller(robot, gait)
    for speed, acceleration in (("vx", "ax"), ("vy", "ay"), ("wz", "az")):
        assert (
            path[f"{acceleration}_max"] * path["model_dt"] >= path[f"{speed}_std"] >= 0.3 * path[f"{speed}_max"] > 0.0
        )
    assert (path["ax_min"], path["ay_min"]) == (-path["ax_max"], -path["ay_max"])


@pytest.mark.parametrize(("robot", "gait"), WALKS)
def test_the_smoother_keeps_the_accelerations_of_the_robot(robot, gait):
    smoother, limits = nodes(robot, gait)["velocity_smoother"], described(robot, gait)
    assert smoother["max_accel"] == list(limits.acceleration)
    assert smoother["max_decel"] == [-rate for rate in limits.deceleration]


@pytest.mark.parametrize(("robot", "gait"), WALKS)
def test_costs_differ_by_as_much_as_for_a_robot_with_the_speeds_of_nav2(robot, gait):
    path = controller(robot, gait)
    horizon = path["model_dt"] * path["time_steps"]
    for speed, weights in (("vx_max", NAV2_METRES), ("wz_max", NAV2_RADIANS)):
        for critic, expected in weights.items():
            assert path[critic]["cost_weight"] * path[speed] * horizon == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize(("robot", "gait"), WALKS)
def test_the_cost_of_control_does_not_outweigh_the_way_at_the_maximum_speed(robot, gait):
    path = controller(robot, gait)
    gain_of_speed = path["PathFollowCritic"]["cost_weight"] * path["model_dt"]  # per m/s of one step
    assert gain_of_speed > path["gamma"] * path["vx_max"] / path["vx_std"] ** 2


@pytest.mark.parametrize(("robot", "gait"), WALKS)
def test_the_path_is_followed_until_shortly_before_the_goal(robot, gait):
    path = controller(robot, gait)
    direct = path["GoalCritic"]["threshold_to_consider"]
    assert direct == path["PathFollowCritic"]["threshold_to_consider"] <= 0.5
    assert direct <= path["vx_max"] * path["model_dt"] * path["time_steps"] + 1e-3


def walk(robot, gait, goal, seconds, section=None, start=ORIGIN, corner=None, obstacles=()):
    """The seconds [s] to within the tolerances of the goal (x, y, yaw), or None; the robot follows the smoother.

    The path is straight, or leads round a corner (x, y) past obstacles (x, y, distance of contact).
    """
    rng = np.random.default_rng(0)
    mppi = Mppi(section or controller(robot, gait), rng, SAMPLES, obstacles)
    smoother = Smoother(nodes(robot, gait)["velocity_smoother"])
    checker = nodes(robot, gait)["controller_server"]["general_goal_checker"]
    path = line(start, goal) if corner is None else np.vstack((line(start, corner), line(corner, goal)[1:]))
    points = math.ceil(controller(robot, gait)["prune_distance"] / PATH_STEP_M)
    pose = start
    for tick in range(round(seconds / 0.1)):
        path = path[min(int(np.argmin(np.hypot(path[:, 0] - pose.x, path[:, 1] - pose.y))), len(path) - 2) :]
        measured = smoother.velocity + (RIPPLE * rng.standard_normal(3) if smoother.velocity.any() else 0.0)
        command = mppi.command(pose, measured, path[:points], goal)
        for _ in range(2):
            pose = pose @ exp(Twist(*smoother.step(command).tolist()), 0.05)
        off = math.dist(pose[:2], goal[:2]), abs(math.remainder(pose.yaw - goal[2], math.tau))
        if off[0] < checker["xy_goal_tolerance"] and off[1] < checker["yaw_goal_tolerance"]:
            return tick * 0.1
    return None


def line(start, end):
    """A straight path (k, 3) from one point to another."""
    yaw = math.atan2(end[1] - start[1], end[0] - start[0])
    return np.linspace((*start[:2], yaw), (*end[:2], yaw), math.ceil(math.dist(start[:2], end[:2]) / PATH_STEP_M) + 1)


@pytest.mark.parametrize(("robot", "gait"), [("phantomx", "tripod"), ("phantomx", "wave"), ("article", "ripple")])
def test_the_robot_walks_and_turns_to_a_goal_at_most_of_its_speed(robot, gait):
    top = described(robot, gait).velocity
    assert walk(robot, gait, (8.0 * top.vx, 0.0, 0.0), 16.0) is not None
    assert walk(robot, gait, (0.0, 4.0 * top.vy, math.pi / 2.0), 6.0 + 2.0 * math.pi / 2.0 / top.wz) is not None


def test_with_the_accelerations_of_the_robot_it_would_not_walk():
    """As measured with Nav2: the commands stay near zero. So the model fails where the controller does."""
    section, limits = copy.deepcopy(controller("phantomx", "tripod")), described("phantomx", "tripod")
    (ax, ay, az), (bx, by, _) = limits.acceleration, limits.deceleration
    section |= {"ax_max": ax, "ax_min": -bx, "ay_max": ay, "ay_min": -by, "az_max": az}
    assert walk("phantomx", "tripod", (0.6, 0.0, 0.0), 16.0, section) is None


def test_it_walks_round_an_obstacle_that_is_straight_on_the_way_to_a_near_goal():
    """As measured with Nav2: drawn straight to the goal over the whole horizon, it stops for good."""
    way = {
        "start": Pose(-0.25, 0.32, 1.49),
        "corner": (-0.4, 0.8),
        "obstacles": [(-0.95, 0.29, 0.49), (0.25, 0.98, 0.52)],
    }
    goal, section = (-0.81, 0.97, 1.4), copy.deepcopy(controller("phantomx", "tripod"))
    assert walk("phantomx", "tripod", goal, 14.0, section, **way) is not None
    for critic in ("GoalCritic", "PathFollowCritic"):
        section[critic]["threshold_to_consider"] = section["vx_max"] * section["model_dt"] * section["time_steps"]
    assert walk("phantomx", "tripod", goal, 14.0, section, **way) is None
