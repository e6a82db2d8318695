"""How far the feet may stride under a body pose before the centre of mass comes to the edge of those that stand."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.kinematics.arrays import Array, read_only
from hexapod_control.core.robot import Point
from hexapod_control.core.statics.static_stability import static_margin, support_edges
from hexapod_control.core.workspace.stance_regions import DIRECTIONS, StanceRegions

LEAST_STRIDE_MARGIN = 0.005  # [m] static margin that full strides keep
TOUCH_DOWN_PHASE_STEP = 1e-6  # share of a cycle by which "just before the touch-down" is before it


def stride_margin(gaits: tuple[Gait, ...], stance: StanceRegions, center: Point, share: float) -> float:
    """Least static margin [m] of full strides in any gait and direction, over a share (0 to 1) of the stance regions.

    `center` is the centre of mass (x, y) [m, base_footprint]. Looked at after each lift-off and before each touch-down:
    in between the feet stay the same, and go straight.
    """
    normals_and_offsets = _edges(gaits, stance, share)
    return float((normals_and_offsets[:, :2] @ center - normals_and_offsets[:, 2]).min())


@lru_cache(maxsize=64)
def _edges(gaits: tuple[Gait, ...], stance: StanceRegions, share: float) -> Array:
    """Edges (n, 3) of all support polygons, see `support_edges`; they do not depend on the pose of the body."""
    edges = {
        edge
        for gait in gaits
        for lift_off in gait.lift_off
        for phase in (lift_off, lift_off + 1.0 - gait.duty_factor - TOUCH_DOWN_PHASE_STEP)
        for direction in DIRECTIONS[::2]
        for edge in support_edges(_standing(gait, phase, stance, share, direction))
    }
    return read_only(np.array(sorted(edges)))


def margin_at(gait: Gait, phase: float, stance: StanceRegions, center: Point, share: float, direction: Point) -> float:
    """Static margin [m] at a phase of steady strides in a direction, over a share of the stance regions."""
    return static_margin(_standing(gait, phase, stance, share, direction), center)


def _standing(gait: Gait, phase: float, stance: StanceRegions, share: float, direction: Point) -> list[Point]:
    """Contact points [m] of the feet on the ground at a phase of steady walking in a direction."""
    legs_in_swing, swing = gait.legs_in_swing(phase), 1.0 - gait.duty_factor
    points = []
    for leg, ((x, y), radius) in enumerate(zip(stance.footholds, stance.radii, strict=True)):
        if leg not in legs_in_swing:
            done = ((phase - gait.lift_off[leg]) % 1.0 - swing) / gait.duty_factor  # share of the stance
            ahead = share * radius * (1.0 - 2.0 * done)
            points.append((x + ahead * direction[0], y + ahead * direction[1]))
    return points
