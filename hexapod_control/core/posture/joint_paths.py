# SPDX-License-Identifier: Apache-2.0
"""Finds joint-space paths without collisions of neighbouring legs.

Standing up starts in any pose, from which legs may collide on straight lines in joint space. Candidate paths are tried
from short to long: straight; every other leg first, then the rest; all femurs up, then coxas, then femurs down; the
same with every other leg first. A path is sampled, and used if the gap between neighbouring legs stays above
PATH_GAP_M, or above the gap at its ends where that is less. If no candidate is free, legs move one by one, each as soon
as its own path is free; a leg may first move up, out of the way of the others. If that fails, the candidate with the
largest gap is used: the tick limiter (core/planner/tick_limiter.py) keeps legs apart on any path.
See docs/architecture/walking-mathematics.md, "Standing up and lying down".
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hexapod_control.core.kinematics.leg_clearance import LegNeighbours
from hexapod_control.core.kinematics.leg_kinematics import LegJoints
from hexapod_control.core.robot import Robot, interpolated

SAMPLES = 40  # of every straight part of a path
PATH_GAP_M = 0.004  # [m] minimum between neighbouring legs on a path
RAISED_FEMUR_RAD = 1.2  # [rad] angle of a femur out of the way of other legs
GAP_TOLERANCE_M = 1e-9  # for rounding

JointAngles = tuple[LegJoints, ...]  # [rad] of all legs
JointPath = tuple[JointAngles, ...]  # waypoints, straight in joint space from one to the next


def find_path(robot: Robot, start: Sequence[LegJoints], goal: Sequence[LegJoints]) -> JointPath:
    """Returns waypoints from `start` to `goal` (n, 3) [rad], without the start."""
    neighbours = LegNeighbours.of(robot)
    begin, end = tuple(start), tuple(goal)
    min_gap = min(PATH_GAP_M, neighbours.gap(begin).distance, neighbours.gap(end).distance) - GAP_TOLERANCE_M
    best: JointPath = (end,)
    best_gap = float("-inf")
    for path in _candidates(robot, begin, end):
        gap = min(_least_gap(neighbours, a, b) for a, b in pairwise((begin, *path)))
        if gap >= min_gap:
            return path
        if gap > best_gap:
            best = path
            best_gap = gap
    return _one_by_one(robot, neighbours, begin, end, min_gap) or best


def _least_gap(neighbours: LegNeighbours, a: JointAngles, b: JointAngles) -> float:
    """Smallest gap [m] between neighbouring legs on the straight line between two waypoints."""
    return min(neighbours.gap(_between(a, b, k / SAMPLES)).distance for k in range(1, SAMPLES + 1))


def _one_by_one(
    robot: Robot, neighbours: LegNeighbours, start: JointAngles, goal: JointAngles, min_gap: float
) -> JointPath:
    """Returns a path on which one leg moves at a time, as soon as its own path is free; empty if there is none."""
    path: list[JointAngles] = []
    now = start
    raised = [min(RAISED_FEMUR_RAD, leg.femur_joint.upper) for leg in robot.legs]
    while now != goal:
        for leg in [leg for leg in range(len(goal)) if now[leg] != goal[leg]]:
            coxa, femur, tibia = now[leg]
            straight = goal[leg]
            up = (coxa, max(femur, raised[leg]), tibia)
            choices = (straight,) if up == now[leg] else (straight, up)
            free = [angles for angles in choices if _least_gap(neighbours, now, _with_leg(now, leg, angles)) >= min_gap]
            if free:
                now = _with_leg(now, leg, free[0])
                path.append(now)
                break
        else:
            return ()
    return tuple(path)


def _with_leg(joints: JointAngles, leg: int, angles: LegJoints) -> JointAngles:
    """The joint angles with those of one leg (row) replaced."""
    return (*joints[:leg], angles, *joints[leg + 1 :])


def _candidates(robot: Robot, start: JointAngles, goal: JointAngles) -> list[JointPath]:
    """Candidate paths, from short to long."""
    every_other = {span.row for place, span in enumerate(LegNeighbours.of(robot).spans) if place % 2 == 0}
    halves = (every_other, set(range(len(start))) - every_other)
    raised = [min(RAISED_FEMUR_RAD, leg.femur_joint.upper) for leg in robot.legs]
    up = tuple((a, max(b, femur), c) for (a, b, c), femur in zip(start, raised, strict=True))
    folded = tuple((a, b, c) for (a, b, _), (_, _, c) in zip(up, goal, strict=True))
    over = tuple((a, max(b, femur), c) for (a, b, c), femur in zip(goal, raised, strict=True))
    return [
        (goal,),
        *((_mixed(goal, start, first), goal) for first in halves),
        (up, folded, over, goal),
        (up, over, goal),
        *((_mixed(up, start, first), _mixed(over, start, first), _mixed(over, goal, first), goal) for first in halves),
    ]


def _mixed(first: JointAngles, others: JointAngles, legs: set[int]) -> JointAngles:
    """Returns the joint angles `first` for these legs, `others` for the rest."""
    return tuple(first[leg] if leg in legs else others[leg] for leg in range(len(first)))


def _between(a: JointAngles, b: JointAngles, share: float) -> list[LegJoints]:
    """The joint angles at a share (0 to 1) of the straight line from a to b."""
    return [interpolated(start, end, share) for start, end in zip(a, b, strict=True)]
