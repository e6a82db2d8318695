# SPDX-License-Identifier: Apache-2.0
"""Walking on the remaining legs: they form a new robot model, whose body includes the lost legs in their folded pose.

Gaits, stance regions and speeds follow from the hips of the remaining legs, as for any other robot. Only the neutral
footholds are chosen. With one of five legs in the air the other four support the robot only if the body is shifted away
from the gap, and with a greater margin if the legs next to the gap stand nearer to it. Of all combinations of a shift
of the body and a rotation of these footholds about their hips, the one with the maximum static margin is used.
See docs/how-it-walks.md, "With a lost leg".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import product
from types import MappingProxyType
from typing import TypeVar

from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.kinematics.leg_clearance import LegNeighbours
from hexapod_control.core.kinematics.leg_kinematics import LegJoints
from hexapod_control.core.kinematics.se2 import Pose
from hexapod_control.core.names import enumerated
from hexapod_control.core.posture import transport_pose
from hexapod_control.core.posture.posture_sequences import PostureSequences
from hexapod_control.core.robot import Body, Point, Robot, Vector
from hexapod_control.core.statics.leg_compliance import load_drift
from hexapod_control.core.statics.moving_mass import neutral_center
from hexapod_control.core.statics.static_stability import center_of_mass, support_edges
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.robot_gaits import gaits
from hexapod_control.core.workspace.stance_regions import max_radii, nominal_stance, radius_about
from hexapod_control.core.workspace.stride_stability import (
    MIN_STRIDE_MARGIN,
    STRIDE_SHARES,
    stride_share,
    swaying_stride_margin,
)

MIN_MARGIN = 0.01  # [m] static margin of strides on fewer legs
MIN_SHARE = 0.3  # of the stance regions, for such strides
# [m] between the candidate shifts, and their number in each direction
SHIFT_STEP = 0.005
SHIFT_STEPS = 14
MIN_START_MARGIN = 0.005  # [m] with the feet at their old footholds and any one in the air
TURNS = (0.0, 0.15, 0.3, 0.45)  # [rad] candidate rotations of the footholds next to a gap
MARGIN_DIGITS = 4  # rounding of margins [m] in comparisons: of equally good shifts the smallest is used
MIN_REGION = 0.5  # share of the radius that must remain of every stance region

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class WalkingLegs:
    """The walking legs and the folded legs of one robot, with the tables of the model of the walking legs."""

    whole: Robot
    rows: tuple[int, ...]  # of the walking legs, in the whole robot
    folded: tuple[LegJoints, ...]  # [rad] joint angles of all legs; only those of lost legs are used
    shift: Point  # [m] of the neutral body over the feet, relative to the whole robot
    capabilities: Capabilities  # of the model with only the walking legs
    sequences: PostureSequences

    @classmethod
    @lru_cache(maxsize=1)
    def without(cls, whole: Robot, lost: frozenset[int]) -> WalkingLegs:
        """The legs without the lost ones (rows); takes about a second once. Raises ValueError if no gait is stable."""
        if not lost:
            return cls.all(Capabilities.of(whole))
        rows = tuple(row for row in range(len(whole.legs)) if row not in lost)
        joints = _folded(whole)
        robot, shift = _arranged_for_support(_with_folded_legs(whole, lost, joints), _towards_gaps(whole, lost))
        capabilities = _stable_capabilities(robot)
        if capabilities is None:
            names = enumerated(whole.legs[row].name for row in sorted(lost))
            raise ValueError(f"without {names} the others do not support the robot: sit down and repair a leg first")
        return cls(whole, rows, tuple(joints), shift, capabilities, PostureSequences.of(capabilities))

    @classmethod
    def all(cls, capabilities: Capabilities) -> WalkingLegs:
        """All legs of a robot with these capabilities."""
        robot = capabilities.robot
        rows = tuple(range(len(robot.legs)))
        sequences = PostureSequences.of(capabilities)
        return cls(robot, rows, tuple(_folded(robot)), (0.0, 0.0), capabilities, sequences)

    @property
    def lost(self) -> frozenset[int]:
        """Rows of the lost legs in the whole robot."""
        return frozenset(range(len(self.whole.legs))) - frozenset(self.rows)

    @property
    def complete(self) -> bool:
        """True if no leg is lost."""
        return len(self.rows) == len(self.whole.legs)

    @property
    def names_of_lost(self) -> tuple[str, ...]:
        """Names of the lost legs."""
        return () if self.complete else tuple(self.whole.leg_names[row] for row in sorted(self.lost))

    def holding(self, joints: Sequence[LegJoints]) -> WalkingLegs:
        """The same legs, with the lost legs at joints (n, 3) [rad] of the whole robot; NaN leaves a leg unchanged."""
        if self.complete:
            return self
        known = (new if all(map(math.isfinite, new)) else old for new, old in zip(joints, self.folded, strict=True))
        return replace(self, folded=tuple(known))

    def of_whole(self, values: Sequence[Row]) -> tuple[Row, ...]:
        """Selects the values of the walking legs from the values of all legs."""
        return tuple(values) if self.complete else tuple(values[row] for row in self.rows)

    def completed(self, values: Sequence[Row], of_lost: Sequence[Row]) -> tuple[Row, ...]:
        """Values of all legs: `values` for the walking legs, those of `of_lost` (all legs) for the lost ones."""
        known = dict(zip(self.rows, values, strict=True))
        return tuple(known.get(row, other) for row, other in enumerate(of_lost))


def _folded(robot: Robot) -> list[LegJoints]:
    """Joint angles (n, 3) [rad] of all legs in their folded pose."""
    return [(a, b, c) for a, b, c in transport_pose.folded(robot).tolist()]


def _stable_capabilities(robot: Robot) -> Capabilities | None:
    """Capabilities with the gaits and strides that keep the static margin, the fastest as default; None without any."""
    try:
        rows = gaits(robot)
    except ValueError:  # too few legs, or no gait is stable
        return None
    capabilities = Capabilities.of(replace(robot, walk=replace(robot.walk, gait=next(iter(rows)))))
    shares = {name: _stride_share(capabilities, gait) for name, gait in rows.items()}
    usable = {name: gait for name, gait in rows.items() if shares[name]}
    if not usable:
        return None
    fastest = max(usable, key=lambda name: shares[name] / usable[name].stance_time)
    started = replace(capabilities.robot, walk=replace(robot.walk, gait=fastest))
    envelope = capabilities.envelope.with_stride_shares(shares)
    drift = {name: load_drift(robot, gait, neutral_center(robot)) for name, gait in usable.items()}
    return replace(
        capabilities, robot=started, gaits=MappingProxyType(usable), envelope=envelope, drift=MappingProxyType(drift)
    )


def _stride_share(capabilities: Capabilities, gait: Gait) -> float:
    """Largest share (0 to 1) of the stance regions with a sufficient static margin in a gait; 0 if there is none."""
    stance = nominal_stance(capabilities.robot)
    center_at = partial(neutral_center, capabilities.robot)
    if gait.sway is None:
        share = stride_share(gait, stance, center_at(), MIN_MARGIN)
        return share if share >= MIN_SHARE else 0.0
    region_share = capabilities.region_share(gait)
    shares = (share for share in STRIDE_SHARES if share >= MIN_SHARE)
    margins = ((share, swaying_stride_margin(gait, stance, center_at, share * region_share)) for share in shares)
    return next((share for share, margin in margins if margin >= MIN_STRIDE_MARGIN), 0.0)


def _with_folded_legs(whole: Robot, lost: frozenset[int], joints: Sequence[LegJoints]) -> Robot:
    """The robot without its lost legs, and without the gaits of its file.

    The masses of the lost legs, folded at joints (n, 3) [rad], are part of the body.
    """
    rows = sorted(lost)
    carried = replace(whole, legs=tuple(whole.legs[row] for row in rows))
    body = whole.body
    loaded = Body(body.size, body.center, carried.mass, center_of_mass(carried, [joints[row] for row in rows]))
    legs = tuple(leg for row, leg in enumerate(whole.legs) if row not in lost)
    return replace(whole, body=loaded, legs=legs, gaits=())


def _arranged_for_support(robot: Robot, turns: Sequence[int]) -> tuple[Robot, Point]:
    """The robot with its feet turned and its body shifted for the maximum static margin, and the shift [m].

    `turns` is the direction in which each leg turns towards a gap.
    """
    least = [MIN_REGION * radius for radius in nominal_stance(robot).radii]
    center = neutral_center(robot)
    steps = [SHIFT_STEP * k for k in range(-SHIFT_STEPS, SHIFT_STEPS + 1)]
    # Before the first step the feet are at their old footholds, which must support the body, too.
    edges = _edges_without_a_leg(robot)
    shifts = [shift for shift in product(steps, steps) if _margin(edges, center, shift) >= MIN_START_MARGIN]
    choices = []
    for angle in TURNS:
        turned = _turned(robot, turns, angle)
        edges = _edges_without_a_leg(turned)
        choices += [(-_margin(edges, center, shift), math.hypot(*shift), shift, turned) for shift in shifts]
    for _, _, shift, turned in sorted(choices, key=lambda choice: choice[:2]):
        shifted = _shifted(turned, shift)
        if _keeps_regions(shifted, least):
            return shifted, shift
    return robot, (0.0, 0.0)


def _keeps_regions(robot: Robot, least: Sequence[float]) -> bool:
    """True if the stance region of every leg has its least radius [m]."""
    height = robot.walk.height
    return all(
        radius_about(leg, robot, leg.foothold, height, largest) >= radius
        for leg, largest, radius in zip(robot.legs, max_radii(robot), least, strict=True)
    )


def _edges_without_a_leg(robot: Robot) -> list[Vector]:
    """The edges of all support polygons with one leg in the air, see `support_edges`."""
    feet = robot.footholds
    return [edge for row in range(len(feet)) for edge in support_edges(feet[:row] + feet[row + 1 :])]


def _margin(edges: Sequence[Vector], center: Point, shift: Point) -> float:
    """Smallest static margin [m], rounded, in support polygons with these edges; the center of mass is shifted [m]."""
    x = center[0] + shift[0]
    y = center[1] + shift[1]
    return round(min(nx * x + ny * y - offset for nx, ny, offset in edges), MARGIN_DIGITS)


def _towards_gaps(whole: Robot, lost: frozenset[int]) -> list[int]:
    """Rotation of each remaining leg towards a lost neighbour: 1 to its left, -1 to its right, or 0."""
    turns = [0] * len(whole.legs)
    for row, after in LegNeighbours.of(whole).pairs:
        turns[row] += after in lost
        turns[after] -= row in lost
    return [turn for row, turn in enumerate(turns) if row not in lost]


def _turned(robot: Robot, turns: Sequence[int], angle: float) -> Robot:
    """The robot with its footholds turned about their hips by an angle [rad] in the direction given for each leg."""
    legs = []
    for leg, turn in zip(robot.legs, turns, strict=True):
        x, y, _ = leg.hip
        foothold = Pose(x, y, turn * angle).apply(leg.foothold[0] - x, leg.foothold[1] - y)
        legs.append(replace(leg, foothold=foothold))
    return replace(robot, legs=tuple(legs))


def _shifted(robot: Robot, shift: Point) -> Robot:
    """The robot with its body shifted [m] over its feet: in base_link, all footholds move by the opposite."""
    legs = (replace(leg, foothold=(leg.foothold[0] - shift[0], leg.foothold[1] - shift[1])) for leg in robot.legs)
    return replace(robot, legs=tuple(legs))
