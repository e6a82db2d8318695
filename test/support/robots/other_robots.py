# SPDX-License-Identifier: Apache-2.0
"""Robots that do not come with the package: other numbers of legs, other names, another order, mirror images."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from support.drives import robot

from hexapod_control.core.robot import Leg, Robot

REACH_M = 0.15  # from a hip to its foothold, straight out
BETWEEN_HIPS = 0.14  # [m] between neighbours
BETWEEN_ROWS = 0.12  # [m] between the hips on the left and on the right
AHEAD_M = 0.10  # of the center of mass of a body that is heavy in front
PRELOAD_M = 0.004  # by which feet press into the ground


def around(count: int, first: float = 0.5) -> Robot:
    """A round robot; `first` is the angle of its first leg as a share of the angle between two."""
    angles = [math.remainder(math.tau * (k + first) / count, math.tau) for k in range(count)]
    radius = BETWEEN_HIPS * count / math.tau
    return _robot([(radius * math.cos(a), radius * math.sin(a), a) for a in angles])


def in_rows(left: int, right: int) -> Robot:
    """A long robot with legs in two rows that point straight to the sides."""
    places = []
    for count, sign in ((left, 1.0), (right, -1.0)):
        middle = (count - 1) / 2
        places += [((middle - i) * BETWEEN_HIPS, sign * BETWEEN_ROWS / 2, sign * math.pi / 2) for i in range(count)]
    return _robot(places)


def on_point_feet(name: str) -> Robot:
    """A robot of the package on point feet that press into the ground, with a body that is heavy in front.

    One robot for tests of each of these: what a robot can do takes a second to compute.
    """
    machine = robot(name)
    body = replace(machine.body, center_of_mass=(AHEAD_M, 0.0, 0.0))
    return replace(machine, body=body, foot_radius=0.0, walk=replace(machine.walk, preload=PRELOAD_M))


def reordered(machine: Robot, order: Iterable[int]) -> Robot:
    """The same robot with its legs in another order, under arbitrary names."""
    order = tuple(order)
    legs = tuple(replace(machine.legs[old], name=f"leg_{k}") for k, old in enumerate(order))
    gaits = tuple(gait._replace(lift_off=tuple(gait.lift_off[old] for old in order)) for gait in machine.gaits)
    return replace(machine, legs=legs, gaits=gaits)


def mirrored(machine: Robot) -> Robot:
    """The mirror image: left is right. Rows stay."""
    (x, y, z), center = machine.body.center_of_mass, machine.body.center
    body = replace(machine.body, center_of_mass=(x, -y, z), center=(center[0], -center[1], center[2]))
    return replace(machine, body=body, legs=tuple(map(_mirrored_leg, machine.legs)))


def _mirrored_leg(leg: Leg) -> Leg:
    (x, y, z), joint = leg.hip, leg.coxa_joint
    return replace(
        leg,
        hip=(x, -y, z),
        hip_yaw=-leg.hip_yaw,
        femur_lateral=-leg.femur_lateral,
        coxa_joint=replace(joint, lower=-joint.upper, upper=-joint.lower),
        foothold=(leg.foothold[0], -leg.foothold[1]),
    )


def _robot(places: Sequence[tuple[float, float, float]]) -> Robot:
    """A robot with phantomx legs at (x [m], y [m], yaw [rad])."""
    machine = robot("phantomx")
    legs = [
        replace(
            machine.legs[0],
            name=f"leg_{k}",
            hip=(x, y, 0.0),
            hip_yaw=yaw,
            foothold=(x + REACH_M * math.cos(yaw), y + REACH_M * math.sin(yaw)),
        )
        for k, (x, y, yaw) in enumerate(places)
    ]
    return replace(
        machine, name="other", legs=tuple(legs), walk=replace(machine.walk, gait="crawl" if len(legs) == 4 else "wave")
    )
