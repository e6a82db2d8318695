# SPDX-License-Identifier: Apache-2.0
"""Robots, standing planners and drives for the tests of the core."""

import random
from collections.abc import Iterator
from functools import cache, lru_cache

import numpy as np

from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.kinematics.whole_body import joints_at_offset
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState, TickPlan
from hexapod_control.core.robot import Robot
from hexapod_control.core.walking.walk_controller import WalkController
from hexapod_control.core.workspace.robot_gaits import gait_names, gaits
from hexapod_control.core.workspace.stance_regions import StanceRegions
from hexapod_control.core.workspace.strides.stride_table import NEUTRAL_REGION, Strides

DT = 0.02  # [s] the control period
ROBOTS = ("article", "phantomx")  # for slow tests; some tests run with all robots of config/robots
DIRECTIONS = {
    "straight": Twist(1.0, 0.0, 0.0),
    "backwards": Twist(-1.0, 0.0, 0.0),
    "strafe": Twist(0.0, 1.0, 0.0),
    "diagonal": Twist(0.7, 0.7, 0.0),
    "arc": Twist(1.0, 0.0, 4.0),
    "on the spot": Twist(0.0, 0.0, 5.0),
}


@cache
def robot(name: str) -> Robot:
    return load(name).robot


@cache
def robot_and_urdf(name: str = "phantomx") -> tuple[Robot, str]:
    """What a simulation is made of."""
    file = load(name)
    return file.robot, urdf(file)


GAITS = tuple(gaits(robot("phantomx")))
GAIT_NAMES = gait_names(robot("phantomx"))  # also auto


def random_joints(machine: Robot, rng: random.Random) -> tuple[tuple[float, ...], ...]:
    """Joint angles (n, 3) [rad] anywhere within their limits."""
    return tuple(tuple(rng.uniform(joint.lower, joint.upper) for joint in leg.joints) for leg in machine.legs)


def standing_planner(name: str | Robot, gait: str = "") -> Planner:
    """A planner of its own whose robot stands on its neutral footholds."""
    return _standing(robot(name) if isinstance(name, str) else name, gait).copy()


@lru_cache(maxsize=16)
def _standing(machine: Robot, gait: str) -> Planner:
    planner = Planner(machine, gait)
    row = joints_at_offset(machine, planner.capabilities.stances.at(machine.walk.height).footholds, 0.0)
    planner.set_measured_joints(np.array(row))
    while planner.state is not RobotState.STANDING:
        planner.step(DT)
    planner.command(ZERO)
    return planner


def walk_of(planner: Planner) -> WalkController:
    """Feet, body and gait clock of a robot on its feet."""
    walk = planner.view.walk
    assert walk is not None, "the robot is not on its feet"
    return walk


def fitting(planner: Planner, direction: Twist, share: float, *gaits: str) -> Twist:
    """A twist in a direction at a share of the highest speed that all these gaits allow."""
    return planner.capabilities.fastest(direction, gaits).scaled(share)


def neutral_strides(stance: StanceRegions) -> Strides:
    """Strides in the neutral stance regions."""
    return Strides(stance, (NEUTRAL_REGION,) * len(stance.footholds))


def drive(planner: Planner, twist: Twist, seconds: float, dt: float = DT) -> Iterator[TickPlan]:
    """Yields the plans of a drive with a constant command."""
    for _ in range(round(seconds / dt)):
        planner.command(twist)
        yield planner.step(dt)


def random_drive(planner: Planner, seed: int, ticks: int, poses: bool, gaits: bool) -> Iterator[tuple[float, TickPlan]]:
    """Yields (dt [s], plan) under random commands: reversals, jumps, releases, jittered ticks."""
    rng = random.Random(seed)
    top = planner.view.maxima()
    command, left = ZERO, 0
    for _ in range(ticks):
        if left == 0:
            left = rng.choice((1, 2, 5, 20, 50, 100))
            size = rng.choice((0.0, 0.5, 1.0, 1.0, 2.0))
            command = Twist(*(size * rng.uniform(-1.0, 1.0) * v for v in top))
            if rng.random() < 0.1:
                command = command.scaled(-1.0)
            if gaits and rng.random() < 0.1:
                assert planner.change_gait(rng.choice(GAITS)) is None
            if poses and rng.random() < 0.1:
                spread = (0.04, 0.04, 0.04, 0.2, 0.2, 0.3)
                planner.request_pose(BodyPose(*(rng.uniform(-1.0, 1.0) * a for a in spread)))
        left -= 1
        dt = DT * rng.choice((0.5, 0.9, 1.0, 1.0, 1.0, 1.1, 1.5, 2.0))
        planner.command(command)
        yield dt, planner.step(dt)
