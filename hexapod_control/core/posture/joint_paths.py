"""Ways in joint space on which no leg touches its neighbour."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hexapod_control.core.kinematics.leg_clearance import LegNeighbours
from hexapod_control.core.kinematics.leg_kinematics import LegJoints
from hexapod_control.core.robot import Robot

SAMPLES = 40  # of every stretch
ROOM = 0.004  # [m] that a way keeps between neighbouring legs
UP = 1.2  # [rad] of a femur that is out of the way

Rows = tuple[LegJoints, ...]


def route(robot: Robot, start: Sequence[LegJoints], goal: Sequence[LegJoints]) -> tuple[Rows, ...]:
    """Rows (n, 3) [rad] to go to one after another, straight in joint space; the last is the goal.

    The first way on which neighbouring legs keep apart, as far as they are at its ends; if there is none, the best.
    """
    ring = LegNeighbours.of(robot)
    begin, end = tuple(start), tuple(goal)
    enough = min(ROOM, ring.gap(begin).distance, ring.gap(end).distance) - 1e-9
    best: tuple[Rows, ...] = (end,)
    best_gap = float("-inf")
    for way in _ways(robot, begin, end):
        gap = min(_narrowest(ring, a, b) for a, b in pairwise((begin, *way)))
        if gap >= enough:
            return way
        if gap > best_gap:
            best, best_gap = way, gap
    return _one_by_one(robot, ring, begin, end, enough) or best


def _narrowest(ring: LegNeighbours, a: Rows, b: Rows) -> float:
    """Least gap [m] between neighbouring legs on the straight way between two rows."""
    return min(ring.gap(_between(a, b, k / SAMPLES)).distance for k in range(1, SAMPLES + 1))


def _one_by_one(robot: Robot, ring: LegNeighbours, start: Rows, goal: Rows, enough: float) -> tuple[Rows, ...]:
    """One leg after the other, each as soon as its way is free, or out of the way of the others; nothing if stuck."""
    way: list[Rows] = []
    now, ups = start, [min(UP, leg.femur_joint.upper) for leg in robot.legs]
    while now != goal:
        for leg in [leg for leg in range(len(goal)) if now[leg] != goal[leg]]:
            coxa, femur, tibia = now[leg]
            straight, aside = goal[leg], (coxa, max(femur, ups[leg]), tibia)
            choices = (straight,) if aside == now[leg] else (straight, aside)
            free = [row for row in choices if _narrowest(ring, now, _with(now, leg, row)) >= enough]
            if free:
                now = _with(now, leg, free[0])
                way.append(now)
                break
        else:
            return ()
    return tuple(way)


def _with(rows: Rows, leg: int, row: LegJoints) -> Rows:
    return (*rows[:leg], row, *rows[leg + 1 :])


def _ways(robot: Robot, start: Rows, goal: Rows) -> list[tuple[Rows, ...]]:
    """Straight; every other leg first; and all legs up, over, and down."""
    count = len(start)
    order = [span.row for span in LegNeighbours.of(robot).spans]
    even = {leg for place, leg in enumerate(order) if place % 2 == 0}
    ups = [min(UP, leg.femur_joint.upper) for leg in robot.legs]
    ways: list[tuple[Rows, ...]] = [(goal,)]
    for first in (even, set(range(count)) - even):
        half = tuple(goal[leg] if leg in first else start[leg] for leg in range(count))
        ways.append((half, goal))
    up = tuple((a, max(b, up), c) for (a, b, c), up in zip(start, ups, strict=True))
    folded = tuple((a, b, goal_row[2]) for (a, b, _), goal_row in zip(up, goal, strict=True))
    over = tuple((a, max(b, up), c) for (a, b, c), up in zip(goal, ups, strict=True))
    ways.append((up, folded, over, goal))
    ways.append((up, over, goal))
    for first in (even, set(range(count)) - even):
        lifted = tuple(up[leg] if leg in first else start[leg] for leg in range(count))
        turned = tuple(over[leg] if leg in first else start[leg] for leg in range(count))
        half = tuple(over[leg] if leg in first else goal[leg] for leg in range(count))
        ways.append((lifted, turned, half, goal))
    return ways


def _between(a: Rows, b: Rows, share: float) -> list[LegJoints]:
    return [
        (p[0] + share * (q[0] - p[0]), p[1] + share * (q[1] - p[1]), p[2] + share * (q[2] - p[2]))
        for p, q in zip(a, b, strict=True)
    ]
