# SPDX-License-Identifier: Apache-2.0
"""The gap between neighbouring legs, against brute force, against physics, and in every gait."""

import dataclasses
import math
import random
from itertools import pairwise, product

import mujoco
import numpy as np
import pytest
from support.drives import ROBOTS, random_joints, robot, standing_planner

from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.leg_clearance import LegNeighbours, radii, segment_distance
from hexapod_control.core.kinematics.leg_kinematics import hip_to_base, leg_forward
from hexapod_control.sim import start_poses
from hexapod_control.sim.mujoco_model import LINKS
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.world_settings import WorldSettings

STEPS = [step for step in product((-2, -1, 0, 1, 2), repeat=3) if any(step)]
MAX_GAP = 0.05  # [m] wider gaps are not computed
FAR = 10.0  # [m] every gap is measured
SIX = [
    {"left_front", "left_middle"},
    {"left_middle", "left_rear"},
    {"left_rear", "right_rear"},
    {"right_rear", "right_middle"},
    {"right_middle", "right_front"},
    {"right_front", "left_front"},
]


def mirrored(machine, row):
    """The row with left and right exchanged."""
    other = {"left": "right", "right": "left"}
    swapped = {name: f"{other[name.split('_')[0]]}_{name.split('_', 1)[1]}" for name in machine.leg_names}
    by_name = dict(zip(machine.leg_names, row, strict=True))
    return [(-by_name[swapped[name]][0], *by_name[swapped[name]][1:]) for name in machine.leg_names]


def brute_apart(p, q, a, b):
    """Distances (...) of segments p-q and a-b (..., 3): the shortest of an end and a segment, or of their lines.

    The nearest points of the lines count where both lie inside the segments; those of parallel lines are any pair.
    """
    p, q, a, b = (np.array(points, dtype=float) for points in (p, q, a, b))

    def dot(u, v):
        return (u * v).sum(axis=-1, keepdims=True)

    def from_segment(points, start, end):
        share = np.clip(dot(points - start, end - start) / dot(end - start, end - start), 0.0, 1.0)
        return np.linalg.norm(start + share * (end - start) - points, axis=-1)

    ends = [from_segment(p, a, b), from_segment(q, a, b), from_segment(a, p, q), from_segment(b, p, q)]
    shares = np.linalg.pinv(np.stack((q - p, a - b), axis=-1)) @ (a - p)[..., None]
    s, t = shares[..., 0, :], shares[..., 1, :]
    between = np.linalg.norm(p + s * (q - p) - a - t * (b - a), axis=-1)
    inside = ((shares >= 0.0) & (shares <= 1.0)).all(axis=(-2, -1))
    return np.minimum(np.min(ends, axis=0), np.where(inside, between, np.inf))


def bars(machine, row, joints):
    """(start, end, radius) of femur and tibia, from the forward kinematics."""
    leg = machine.legs[row]
    turn = (math.cos(joints[0]), math.sin(joints[0]))
    axis = (
        leg.coxa.length * turn[0] - leg.femur_lateral * turn[1],
        leg.coxa.length * turn[1] + leg.femur_lateral * turn[0],
        leg.femur_vertical,
    )
    axis, knee, foot = (hip_to_base(leg, point) for point in (axis, *leg_forward(leg, joints)))
    return zip((axis, knee), (knee, foot), radii(leg, machine), strict=True)


def brute_gaps(machine, joints):
    """Gap of every pair of neighbours."""
    parts = [tuple(bars(machine, row, joints[row])) for row in range(len(joints))]
    pairs = LegNeighbours.of(machine).pairs
    near = [(*one, *other) for i, k in pairs for one, other in product(parts[i], parts[k])]
    p, q, r, a, b, t = (np.array(column) for column in zip(*near, strict=True))
    gaps = (brute_apart(p, q, a, b) - r - t).reshape(len(pairs), -1)
    return dict(zip(pairs, gaps.min(axis=1).tolist(), strict=True))


def offset(machine):
    """The same robot with legs whose planes pass beside and above their coxa axes."""
    legs = tuple(dataclasses.replace(leg, femur_lateral=0.012, femur_vertical=-0.02) for leg in machine.legs)
    return dataclasses.replace(machine, legs=legs)


def test_segment_distances_match_brute_force_for_parallel_crossing_and_collinear_segments():
    rng, segments = random.Random(1), []
    for _ in range(3000):
        p, a = ([rng.randint(-2, 2) for _ in range(3)] for _ in range(2))
        q, b = ([x + d for x, d in zip(s, rng.choice(STEPS), strict=True)] for s in (p, a))
        segments.append((p, q, a, b))
    found = [segment_distance(*four) for four in segments]
    assert found == pytest.approx(brute_apart(*zip(*segments, strict=True)), abs=1e-9)


@pytest.mark.parametrize("name", ROBOTS)
def test_six_legs_are_neighbours_round_the_body(name):
    names = robot(name).leg_names
    found = [{names[a], names[b]} for a, b in LegNeighbours.of(robot(name)).pairs]
    assert sorted(map(sorted, found)) == sorted(map(sorted, SIX))


@pytest.mark.parametrize("count", [4, 5, 8])
def test_any_number_of_legs_in_any_order_forms_one_closed_ring(count):
    machine, order = robot("phantomx"), list(range(count))
    random.Random(count).shuffle(order)
    legs = []
    for place in order:
        yaw = math.tau * (place + 0.3) / count
        hip, foothold = ((r * math.cos(yaw), r * math.sin(yaw)) for r in (0.12, 0.27))
        legs.append(
            dataclasses.replace(machine.legs[0], name=f"leg_{place}", hip=(*hip, 0.0), hip_yaw=yaw, foothold=foothold)
        )
    ring = LegNeighbours.of(dataclasses.replace(machine, legs=tuple(legs)))
    assert len(ring.pairs) == count
    assert all((order[b] - order[a]) % count == 1 for a, b in ring.pairs)
    for row, beside in enumerate(ring.by_row):
        assert [(order[other] - order[row]) % count for other in beside] == [count - 1, 1]


@pytest.mark.parametrize("change", [lambda machine: machine, offset], ids=["as described", "with offsets"])
@pytest.mark.parametrize("name", ROBOTS)
def test_the_gap_between_legs_matches_brute_force_in_any_pose(name, change):
    machine, rng = change(robot(name)), random.Random(2)
    ring, near = LegNeighbours.of(machine), 0
    for _ in range(400):
        joints = random_joints(machine, rng)
        gaps = brute_gaps(machine, joints)
        narrowest = min(gaps.values())
        found = ring.gap(joints, FAR)
        assert found.distance == pytest.approx(narrowest, abs=1e-9)
        assert gaps[found.legs] == pytest.approx(narrowest, abs=1e-9)
        short = ring.gap(joints)
        assert short.distance == pytest.approx(min(narrowest, MAX_GAP), abs=1e-9)
        assert (short.legs is None) == (narrowest >= MAX_GAP)
        near += narrowest < MAX_GAP
    assert 100 < near < 400  # poses with and without collision were among them


@pytest.mark.parametrize("name", ROBOTS)
def test_mirroring_the_robot_does_not_change_the_gap(name):
    machine, rng = robot(name), random.Random(3)
    ring = LegNeighbours.of(machine)
    for _ in range(200):
        joints = random_joints(machine, rng)
        assert ring.gap(mirrored(machine, joints), FAR).distance == pytest.approx(ring.gap(joints, FAR).distance)


@pytest.mark.parametrize("name", ROBOTS)
def test_coxas_that_turn_towards_each_other_close_the_gap_until_the_legs_touch(name):
    machine, planner = robot(name), standing_planner(name)
    ring = LegNeighbours.of(machine)
    front, middle = (machine.leg_names.index(f"left_{place}") for place in ("front", "middle"))
    found = []
    for step in range(60):
        joints = planner.view.joint_angles.tolist()
        for row, sign in ((front, 1.0), (middle, -1.0)):
            joints[row] = (joints[row][0] + sign * math.radians(step), *joints[row][1:])
        found.append(ring.gap(joints, FAR))
        if found[-1].distance <= 0.0:
            break
    assert found[-1].distance <= 0.0
    assert set(found[-1].legs) == {front, middle}
    closing = [gap.distance for gap in found if gap.legs and set(gap.legs) == {front, middle}]
    assert len(closing) > 5
    assert all(a > b for a, b in pairwise(closing))


def test_two_legs_at_one_place_overlap_by_twice_their_thicker_radius():
    leg = robot("phantomx").legs[0]
    machine = dataclasses.replace(robot("phantomx"), legs=(leg, dataclasses.replace(leg, name="twin")))
    found = LegNeighbours.of(machine).gap([(0.0, 0.5, -1.5)] * 2)
    assert found.distance == pytest.approx(-2.0 * max(radii(leg, machine))) and set(found.legs) == {0, 1}


@pytest.mark.physics
@pytest.mark.parametrize("name", ROBOTS)
def test_the_gap_is_never_wider_than_between_the_links_in_physics_and_narrower_by_the_round_ends_at_most(name):
    machine = robot(name)
    simulation = Simulation(machine, urdf(load(name)), WorldSettings())
    model, data, ring, rng = simulation.model, simulation.data, LegNeighbours.of(machine), random.Random(4)
    links = [
        [g for g in range(model.ngeom) if model.geom_contype[g] and model.geom_bodyid[g] in parts]
        for parts in ([model.body(f"{leg.name}_{link}").id for link in LINKS] for leg in machine.legs)
    ]
    assert {len(geoms) for geoms in links} == {3}  # femur, tibia and ball
    short = []
    for _ in range(150):
        joints = random_joints(machine, rng)
        simulation.reset(np.array(joints), height=1.0)
        measured = min(
            mujoco.mj_geomDistance(model, data, a, b, FAR, None)
            for pair in ring.pairs
            for a, b in product(links[pair[0]], links[pair[1]])
        )
        found = ring.gap(joints, FAR).distance
        assert found <= max(measured, 0.0) + 1e-6
        if measured > 0.0:
            short.append(measured - found)
    # A URDF cylinder ends flat where the capsule is longer by its radius, and has the radius of the tibia at the foot.
    assert max(short) <= 2.0 * max(max(radii(leg, machine)) for leg in machine.legs)
    assert np.median(short) <= 0.002
    assert len(short) > 75


def test_the_legs_of_the_standing_simulated_robot_do_not_touch():
    for name in ROBOTS:
        joints = start_poses.standing_pose(robot(name)).tolist()
        assert LegNeighbours.of(robot(name)).gap(joints) == (MAX_GAP, None)
