# SPDX-License-Identifier: Apache-2.0
"""A robot that is found standing: where its body and feet are."""

import functools
import math
import random
from types import SimpleNamespace

import numpy as np
import pytest
from support.drives import ROBOTS, robot

from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose
from hexapod_control.core.kinematics.se2 import Pose
from hexapod_control.core.kinematics.whole_body import joints_in_pose
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.posture.takeover import take_over
from hexapod_control.core.workspace.capabilities import Capabilities


def stances(name):
    return Capabilities.of(robot(name)).stances


def footholds(name, height=0.0):
    return stances(name).at(robot(name).walk.height + height).footholds


@pytest.mark.parametrize("name", ROBOTS)
def test_a_robot_that_stands_on_its_footholds_in_a_pose_is_found_in_that_pose(name):
    machine, rng = robot(name), random.Random(1)
    size = machine.walk.height / 0.1
    for _ in range(12):
        pose = BodyPose(*(rng.uniform(-1.0, 1.0) * a for a in (0.01 * size, 0.01 * size, 0.0, 0.05, 0.05, 0.05)))
        joints = joints_in_pose(machine, footholds(name), pose)
        found = take_over(machine, stances(name), joints)
        assert found.pose == pytest.approx(pose, abs=1e-3)
        assert np.array(found.contacts) == pytest.approx(np.array(footholds(name)), abs=1e-3)
        assert np.array(found.joints) == pytest.approx(np.array(joints), abs=2e-3)
    assert take_over(machine, stances(name), joints_in_pose(machine, footholds(name), NEUTRAL)).pose == NEUTRAL


@pytest.mark.parametrize("name", ROBOTS)
def test_the_body_is_where_its_feet_are_nearest_to_the_footholds_on_average(name):
    machine, rng = robot(name), random.Random(2)
    size, homes = machine.walk.height / 0.1, footholds(name)
    for _ in range(8):
        contacts = [(x + 0.01 * size * rng.uniform(-1, 1), y + 0.01 * size * rng.uniform(-1, 1)) for x, y in homes]
        found = take_over(machine, stances(name), joints_in_pose(machine, contacts, NEUTRAL))

        def distance(motion, found=found):
            return sum(math.dist(motion.apply(*p), home) ** 2 for p, home in zip(found.contacts, homes, strict=True))

        least = distance(Pose(0.0, 0.0, 0.0))
        for step in (-1e-3, 1e-3):
            for motion in (Pose(step, 0.0, 0.0), Pose(0.0, step, 0.0), Pose(0.0, 0.0, step)):
                assert distance(motion) > least
        # The feet stay where they are under the body.
        body = found.pose
        back = Pose(body.x, body.y, body.yaw)
        for before, after in zip(contacts, found.contacts, strict=True):
            assert back.apply(*before) == pytest.approx(after, abs=1e-3)


def test_a_robot_that_lies_or_has_a_knee_down_or_is_too_high_or_low_does_not_stand():
    machine, table = robot("phantomx"), stances("phantomx")
    planner = Planner(machine)
    assert take_over(machine, table, [tuple(row) for row in planner.view.lying_joints.tolist()]) is None
    joints = list(joints_in_pose(machine, footholds("phantomx"), NEUTRAL))
    coxa, femur, tibia = joints[0]
    for leg in range(len(joints)):
        bent = [*joints]
        bent[leg] = (coxa, femur, -tibia)
        assert take_over(machine, table, bent) is None
    for height, stands in ((0.0, True), (table.highest - machine.walk.height - 0.01, True)):
        now = joints_in_pose(machine, footholds("phantomx", height), BodyPose(z=height))
        found = take_over(machine, table, now)
        assert (found is not None) == stands and found.pose.z == pytest.approx(height, abs=1e-3)


@pytest.mark.parametrize("off", [-0.001, 0.001])
def test_a_robot_is_taken_over_only_at_the_heights_of_its_stances(off):
    machine, table, height = robot("phantomx"), stances("phantomx"), robot("phantomx").walk.height
    joints = joints_in_pose(machine, footholds("phantomx"), NEUTRAL)
    for lowest, highest in ((height + off, 1.0), (0.0, height - off)):
        within = functools.partial(lambda low, high, at: low <= at <= high, lowest, highest)
        heights = SimpleNamespace(contains=within, at=table.at)
        assert (take_over(machine, heights, joints) is not None) == (off < 0.0)
