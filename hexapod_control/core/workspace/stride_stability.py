# SPDX-License-Identifier: Apache-2.0
"""Static margin and joint torques of full strides, over the phases of the gaits and the directions of walking."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.kinematics.arrays import Array, ComplexArray, read_only
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.robot import Point, Robot
from hexapod_control.core.statics.leg_loads import bearing_torques, greatest_torque_share
from hexapod_control.core.statics.moving_mass import neutral_center
from hexapod_control.core.statics.static_stability import static_margin
from hexapod_control.core.workspace.stance_regions import DIRECTIONS, StanceRegions, nominal_stance

STRIDE_DIRECTIONS = DIRECTIONS[::2]
MIN_STRIDE_MARGIN = 0.005  # [m] static margin that full strides must have
STRIDE_SHARES = tuple(k / 20 for k in range(20, 0, -1))  # of the stance regions, tried for strides with a margin
MAX_TORQUE_SHARE = 0.9  # of the stall torque, that the weight may demand of a servo: above it, joints lag and feet slip
EXCESS_TORQUE = 1.05  # factor on the torque of feet at their neutral footholds: permitted even where that is too much
COLLINEAR = 1e-12  # [m^2] for rounding: cross product up to which a foot counts as on an edge


def stride_margin(
    gaits: tuple[Gait, ...], stance: StanceRegions, center: Point, share: float, moved: tuple[StanceRegions, ...] = ()
) -> float:
    """Smallest static margin [m] of full strides in all gaits and directions, over a share (0 to 1) of the regions.

    `center` is the center of mass (x, y) [m, base_footprint]. Evaluated just after each lift-off and just before each
    touch-down: between them the same feet are in stance and move on straight lines. `moved` are the stride regions
    for each of STRIDE_DIRECTIONS, unless these are the stance regions.
    """
    normals_and_offsets = _edges(gaits, moved or (stance,), share)
    return float((normals_and_offsets[:, :2] @ center - normals_and_offsets[:, 2]).min())


def stride_share(gait: Gait, stance: StanceRegions, center: Point, least: float = MIN_STRIDE_MARGIN) -> float:
    """Largest of STRIDE_SHARES with which strides keep the static margin `least` [m]; 0 if there is none.

    `center` is the center of mass (x, y) [m, base_footprint].
    """
    return next((share for share in STRIDE_SHARES if stride_margin((gait,), stance, center, share) >= least), 0.0)


@lru_cache(maxsize=64)
def usable_share(robot: Robot, gait: Gait) -> float:
    """The largest share (0 to 1) of the regions whose strides keep a static margin and torques; 1 for gaits that sway.

    A gait that has less margin at the neutral footholds keeps half of it, see `stable_share`, and one that needs more
    than MAX_TORQUE_SHARE of the stall torque there needs EXCESS_TORQUE times as much.
    """
    if gait.sway is not None:
        return 1.0
    stance = nominal_stance(robot)
    stable = stable_share(gait, stance, neutral_center(robot))
    most = max(MAX_TORQUE_SHARE, EXCESS_TORQUE * stride_torque(robot, gait, stance, 0.0))
    shares = (share for share in STRIDE_SHARES if share <= stable)
    return next((share for share in shares if stride_torque(robot, gait, stance, share) <= most), STRIDE_SHARES[-1])


def stride_torque(robot: Robot, gait: Gait, stance: StanceRegions, share: float) -> float:
    """Greatest torque of a servo in full strides over a share of the regions, as a share of its stall torque.

    In all directions, at the moments of `stride_margin`.
    """
    return greatest_torque_share(robot, *_stride_feet(robot, gait, stance, share))


def stride_heat(robot: Robot, gait: Gait) -> float:
    """Mean power [W] by which bearing the weight warms the motors, in half strides at the moments of `stride_margin`.

    That of a motor that has only resistive losses.
    """
    torques = bearing_torques(robot, *_stride_feet(robot, gait, nominal_stance(robot), 0.5))
    watts = np.array([[joint.no_load_speed / joint.stall_torque for joint in leg.joints] for leg in robot.legs])
    return float((torques**2 * watts).sum(axis=(-1, -2)).mean())


def _stride_feet(
    robot: Robot, gait: Gait, stance: StanceRegions, share: float
) -> tuple[ComplexArray, NDArray[np.bool_], ComplexArray]:
    """The feet, which of them are planted (phases, directions, legs), and the center of mass (phases, directions)."""
    ahead = np.array([_stance_positions(gait, phase) for phase in gait.critical_phases])[:, None]  # (P, 1, legs)
    along = np.array([complex(*direction) for direction in STRIDE_DIRECTIONS])[:, None]
    footholds = np.array([complex(*foothold) for foothold in stance.footholds])
    planted = ~np.isnan(ahead)
    feet = footholds + share * np.array(stance.radii) * np.where(planted, ahead, 0.0) * along  # (P, directions, legs)
    center = np.full(feet.shape[:-1], complex(*neutral_center(robot)))
    return feet, np.broadcast_to(planted, feet.shape), center


@lru_cache(maxsize=64)
def stable_share(gait: Gait, stance: StanceRegions, center: Point) -> float:
    """The largest share (0 to 1) of the regions over which strides and turns keep MIN_STRIDE_MARGIN in a gait.

    If the feet at their neutral footholds have less, half of that is kept. `center` is that of mass (x, y) [m].
    """
    least = min(MIN_STRIDE_MARGIN, 0.5 * stride_margin((gait,), stance, center, 0.0))
    straight = stride_share(gait, stance, center, least) or STRIDE_SHARES[-1]
    turning = (share for share in STRIDE_SHARES if turning_margin(gait, stance, center, share) >= least)
    return min(straight, next(turning, STRIDE_SHARES[-1]))


def turning_margin(gait: Gait, stance: StanceRegions, center: Point, share: float) -> float:
    """As `stride_margin`, for turns on the spot in both directions."""
    turn = share * min(stance.radii) / max(math.hypot(*foothold) for foothold in stance.footholds)
    margins = []
    for phase in gait.critical_phases:
        for sign in (1.0, -1.0):
            ahead = [sign * turn * place for place in _stance_positions(gait, phase)]
            feet = [
                (x - a * y, y + a * x) for (x, y), a in zip(stance.footholds, ahead, strict=True) if not math.isnan(a)
            ]
            margins.append(static_margin(feet, center))
    return min(margins)


def swaying_stride_margin(
    gait: Gait, stance: StanceRegions, center_at: Callable[[Point], Point], share: float
) -> float:
    """As `stride_margin`, for a gait that sways; `center_at` returns the center of mass [m] for a body shift [m]."""
    half_stride = share * min(stance.radii)
    return min(
        margin_at(
            gait,
            phase,
            stance,
            center_at(gait.shift(phase, Twist(half_stride * x, half_stride * y, 0.0))),
            share,
            (x, y),
        )
        for phase in gait.critical_phases
        for x, y in STRIDE_DIRECTIONS
    )


@lru_cache(maxsize=64)
def _edges(gaits: tuple[Gait, ...], stances: tuple[StanceRegions, ...], share: float) -> Array:
    """Edges (n, 3) of all support polygons, see `support_edges`; they do not depend on the body pose.

    All polygons are computed at once: a line from one foot to another is an edge if no foot is on its right.
    """
    phases = [(gait, phase) for gait in gaits for phase in gait.critical_phases]
    radii, footholds = np.array([s.radii for s in stances]), np.array([s.footholds for s in stances])
    ahead = share * radii * np.array([_stance_positions(gait, phase) for gait, phase in phases])[:, None]  # (P, D, L)
    points = footholds + ahead[..., None] * np.array(STRIDE_DIRECTIONS)[:, None, :]
    legs = radii.shape[1]
    points = points.reshape(-1, legs, 2)  # (P, L, 2) of all phases and directions; NaN for feet in swing
    vector = points[:, None, :] - points[:, :, None]  # (P, from, to, 2)
    length = np.hypot(vector[..., 0], vector[..., 1])
    left = vector[:, :, :, None, 0] * vector[:, :, None, :, 1] - vector[:, :, :, None, 1] * vector[:, :, None, :, 0]
    edge = (length > 0.0) & ~(left < -COLLINEAR).any(axis=3)
    dx, dy = (vector[..., axis][edge] / length[edge] for axis in (0, 1))
    x, y = (np.broadcast_to(points[:, :, None, axis], length.shape)[edge] for axis in (0, 1))
    edges = np.stack((-dy, dx, dx * y - dy * x), axis=1)
    unsupported = (np.isfinite(points[..., 0]).sum(axis=1) < 3).any()
    return read_only(np.vstack((edges, [(0.0, 0.0, math.inf)])) if unsupported else edges)


def _stance_positions(gait: Gait, phase: float) -> list[float]:
    """Position of each foot in its stride in steady walking, from 1 (touch-down) to -1 (lift-off); NaN in swing."""
    swinging = gait.legs_in_swing(phase)
    swing = 1.0 - gait.duty_factor
    return [
        math.nan if leg in swinging else 1.0 - 2.0 * ((phase - lift_off) % 1.0 - swing) / gait.duty_factor
        for leg, lift_off in enumerate(gait.lift_off)
    ]


def margin_at(gait: Gait, phase: float, stance: StanceRegions, center: Point, share: float, direction: Point) -> float:
    """Static margin [m] at a phase of steady strides in a direction, over a share of the stance regions."""
    return static_margin(_standing(gait, phase, stance, share, direction), center)


def _standing(gait: Gait, phase: float, stance: StanceRegions, share: float, direction: Point) -> list[Point]:
    """Contact points [m] of the feet in stance at a phase of steady walking in a direction."""
    return [
        (x + share * radius * ahead * direction[0], y + share * radius * ahead * direction[1])
        for (x, y), radius, ahead in zip(stance.footholds, stance.radii, _stance_positions(gait, phase), strict=True)
        if not math.isnan(ahead)
    ]
