# SPDX-License-Identifier: Apache-2.0
"""The resting pose of a robot from its joint angles: its properties, and the same robot in physics."""

import dataclasses
import math
import random

import numpy as np
import pytest
from support.drives import ROBOTS, random_joints, robot

from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.body_pose import BodyPose, Placement
from hexapod_control.core.kinematics.leg_kinematics import forward
from hexapod_control.core.kinematics.support_detection import SAME_GROUND, belly_height
from hexapod_control.core.kinematics.whole_body import joints_at_offset, whole_body_pose
from hexapod_control.core.posture.takeover import resting_pose
from hexapod_control.core.statics.static_stability import GRAVITY, center_of_mass, static_margin
from hexapod_control.sim import start_poses
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.world_settings import WorldSettings

SPREAD = BodyPose(0.01, 0.01, 0.01, 0.12, 0.12, 0.2)  # bounds of a random pose; within the reach of the article's legs


def random_pose(rng):
    return BodyPose(*(rng.uniform(-1.0, 1.0) * most for most in SPREAD))


def stance_in(machine, pose, lifts=None):
    """Joints with the feet on the neutral footholds, some of them lifted [m], and the body in a pose."""
    placement = Placement(pose, machine.walk.height)
    contacts = [leg.foothold for leg in machine.legs]
    row, count = joints_at_offset(machine, contacts, 0.0), len(contacts)
    for _ in range(4):  # the rolling shift converges
        found = whole_body_pose(machine, placement, contacts, lifts or [0.0] * count, [True] * count, row)
        row = found.joints
    assert found.unreached is None
    return row


def lowest_points(machine, joints):
    """(centers (m, 3) [m] in base_link, radii [m]) of feet and lower corners of the body."""
    middle, half = np.array(machine.body.center), np.array(machine.body.size) / 2.0
    corners = [middle + half * (x, y, -1.0) for x in (-1.0, 1.0) for y in (-1.0, 1.0)]
    feet = forward(machine, joints)
    return np.vstack((feet, corners)), np.array([machine.foot_radius] * len(feet) + [0.0] * 4)


@pytest.mark.parametrize("name", ROBOTS)
def test_a_stance_in_any_body_pose_rests_in_that_pose(name):
    machine, rng = robot(name), random.Random(1)
    for _ in range(100):
        pose = random_pose(rng)
        found = resting_pose(machine, stance_in(machine, pose))
        placement = Placement(pose, machine.walk.height)
        assert (found.roll, found.pitch) == pytest.approx((pose.roll, pose.pitch), abs=1e-6)
        assert found.up == pytest.approx(placement.rotation[2], abs=1e-6)
        assert found.height == pytest.approx(placement.to_footprint(0.0, 0.0, 0.0)[2], abs=1e-6)
        assert all(found.feet) and not found.on_belly


@pytest.mark.parametrize("name", ROBOTS)
def test_turning_the_body_over_its_feet_changes_nothing_but_the_feet_below_it(name):
    machine, rng = robot(name), random.Random(2)
    for _ in range(50):
        pose = random_pose(rng)
        one, other = (resting_pose(machine, stance_in(machine, pose._replace(yaw=yaw))) for yaw in (pose.yaw, 0.0))
        assert one.up == pytest.approx(other.up, abs=1e-6)
        assert one.height == pytest.approx(other.height, abs=1e-6)
        assert (one.feet, one.on_belly) == (other.feet, other.on_belly)


@pytest.mark.parametrize("name", ROBOTS)
def test_a_robot_with_its_feet_clear_of_the_ground_lies_on_its_belly(name):
    machine = robot(name)
    contacts = [leg.foothold for leg in machine.legs]
    row = joints_at_offset(machine, contacts, belly_height(machine) - 2.0 * SAME_GROUND - machine.walk.height)
    found = resting_pose(machine, row)
    assert found.on_belly and not any(found.feet)
    assert found.up == pytest.approx((0.0, 0.0, 1.0))
    assert found.height == pytest.approx(belly_height(machine))
    assert found.margin == pytest.approx(min(machine.body.size[:2]) / 2.0)


@pytest.mark.parametrize("name", ROBOTS)
def test_any_pose_rests_on_three_points_around_the_center_of_mass_without_penetrating_the_ground(name):
    machine, rng = robot(name), random.Random(3)
    kinds = set()
    for _ in range(500):
        joints = random_joints(machine, rng)
        found = resting_pose(machine, joints)
        up, (points, radii) = np.array(found.up), lowest_points(machine, joints)
        assert up @ up == pytest.approx(1.0) and up[2] > 0.0
        above = points @ up + found.height - radii
        assert above.min() >= -2e-6
        touching = above <= 2e-6
        assert touching.sum() >= 3
        side = np.linalg.svd(up[None])[2][1:]  # two directions along the ground
        seen, (center,) = points @ side.T, (np.array(center_of_mass(machine, joints))[None] @ side.T).tolist()
        assert static_margin([tuple(point) for point in seen[touching].tolist()], center) >= -1e-6
        assert found.on_belly == touching[-4:].any()
        assert found.feet == tuple((above[:-4] <= SAME_GROUND).tolist())
        near = np.concatenate((above[:-4] <= SAME_GROUND, touching[-4:]))
        assert found.margin == pytest.approx(static_margin([tuple(p) for p in seen[near].tolist()], center), abs=1e-6)
        kinds.add((found.on_belly, any(found.feet)))
    assert kinds >= {(True, True), (False, True)}


@pytest.mark.parametrize("name", ROBOTS)
def test_mirroring_the_joint_angles_mirrors_the_roll(name):
    machine, rng = robot(name), random.Random(4)
    names = machine.leg_names
    other = [names.index({"left": "right", "right": "left"}[n.split("_")[0]] + n[n.index("_") :]) for n in names]
    for _ in range(200):
        joints = random_joints(machine, rng)
        one = resting_pose(machine, joints)
        two = resting_pose(machine, [(-joints[row][0], *joints[row][1:]) for row in other])
        assert (two.roll, two.pitch, two.height) == pytest.approx((-one.roll, one.pitch, one.height), abs=1e-6)
        assert two.feet == tuple(one.feet[row] for row in other)


@pytest.mark.parametrize("lift, down", [(0.9 * SAME_GROUND, True), (1.1 * SAME_GROUND, False)])
@pytest.mark.parametrize("name", ROBOTS)
def test_a_foot_hardly_above_the_ground_counts_as_on_it_and_a_lifted_one_does_not(name, lift, down):
    machine = robot(name)
    for leg in range(len(machine.legs)):
        lifts = [lift if row == leg else 0.0 for row in range(len(machine.legs))]
        found = resting_pose(machine, stance_in(machine, BodyPose(roll=0.05), lifts))
        assert found.roll == pytest.approx(0.05, abs=1e-6)
        assert found.feet == tuple(down or row != leg for row in range(len(machine.legs)))


def test_a_robot_with_its_center_of_mass_outside_every_support_polygon_has_no_resting_pose():
    machine = robot("phantomx")
    body = dataclasses.replace(machine.body, center_of_mass=(2.0, 0.0, 0.0))
    row = stance_in(machine, BodyPose())
    assert resting_pose(machine, row) is not None
    assert resting_pose(dataclasses.replace(machine, body=body), row) is None


def test_a_tripod_rests_on_the_triangle_of_its_three_feet():
    machine = robot("phantomx")
    lifts = [0.0, 0.02, 0.0, 0.02, 0.0, 0.02]
    row = stance_in(machine, BodyPose(), lifts)
    found = resting_pose(machine, row)
    assert found.feet == (True, False) * 3
    corners = [tuple(point[:2]) for point, lift in zip(forward(machine, row).tolist(), lifts, strict=True) if not lift]
    assert found.margin == pytest.approx(static_margin(corners, center_of_mass(machine, row)[:2]))


def poses(machine):
    """Poses to put the robot down in: stances, sitting, and sitting with some legs pushed below the belly."""
    rng = random.Random(5)
    sitting = start_poses.sitting_pose(machine)
    yield stance_in(machine, BodyPose(roll=0.1, pitch=-0.08))
    yield stance_in(machine, BodyPose(z=-0.01, pitch=0.12))
    yield sitting
    for _ in range(6):
        joints = sitting.copy()
        for row in range(len(machine.legs)):
            joints[row, 1] += rng.uniform(-0.35, 0.35)
        yield joints


@pytest.mark.physics
@pytest.mark.parametrize("name", ROBOTS)
def test_in_physics_the_robot_comes_to_rest_in_the_computed_pose(name):
    machine = robot(name)
    simulation = Simulation(machine, urdf(load(name)), WorldSettings())
    model, world = simulation.model, simulation.world
    bellies = 0
    for joints in poses(machine):
        simulation.reset(np.array(joints))
        simulation.step(np.array(joints), 3.0)
        reading = simulation.reading()
        assert np.abs(reading.joint_velocity).max() < 0.05  # it has come to rest
        found = resting_pose(machine, reading.joints.tolist())
        up = simulation.data.xmat[world.base].reshape(3, 3)[2]
        tilt = math.degrees(math.acos(min(1.0, up @ found.up)))
        belly = any(world.base in model.geom_bodyid[pair] for pair in simulation.data.contact.geom)
        assert tilt < 0.5
        assert reading.position[2] == pytest.approx(found.height, abs=0.001)
        assert found.on_belly == belly
        loaded = reading.foot_forces > 0.02 * machine.mass * GRAVITY
        assert all(found.feet[row] for row in np.flatnonzero(loaded))
        bellies += belly
    assert 0 < bellies < 9
