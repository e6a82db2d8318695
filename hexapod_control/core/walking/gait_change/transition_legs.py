"""Constraints of each leg for a gait change: remaining stance time, longest stance, joint speeds of its swings.

Times are in swing times, as in the gait clock; contact points in base_footprint [m].
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.gait.swing_trajectory import PEAK_TRAVEL_SPEED, travel_and_lift
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.leg_batch import joints_at_contacts
from hexapod_control.core.kinematics.se2 import Twist, exp
from hexapod_control.core.robot import Robot
from hexapod_control.core.walking.feet.foot_motion import FootMotion, time_to_touch_down
from hexapod_control.core.walking.feet.region_guard import MAX_STANCE_RADIUS_SHARE, clamp_to_disc, time_inside
from hexapod_control.core.walking.feet.swing_motion import LANDING
from hexapod_control.core.walking.foot import Swing
from hexapod_control.core.workspace.stance_regions import StanceRegions
from hexapod_control.core.workspace.strides.stride_regions import Disc
from hexapod_control.core.workspace.swing_limits import PROGRESS, shortest_swing

SWING_ENDS = np.linspace(0.0, 1.0, 9)  # grid of the ends of swings, as shares of the radius of a stance region
MAX_SPEED_FACTOR = 1.1  # permitted speed of swings during a change, relative to steady walking


@dataclass(frozen=True, slots=True)
class TransitionLeg:
    """Constraints of one leg at the moment of planning; times in swing times."""

    flight: float  # time to its touch-down, 0 if planted
    remaining_stance: float  # time until it reaches the edge of its region, from now or from its touch-down
    max_stance: float  # longest stance, if its touch-down can still be chosen
    stride: float  # [m] that the ground moves under the foot in one swing time
    speed_ratios: Array  # (K, K) speed over its limit, of swings from SWING_ENDS behind neutral to SWING_ENDS ahead
    radius: float  # [m] of the region


def transition_legs(
    motion: FootMotion,
    gait: Gait,
    robot: Robot,
    stance: StanceRegions,
    twist: Twist,
    swing_time: float,
    radii_share: float,
) -> list[TransitionLeg]:
    """Returns the constraints of all legs for a change to `gait` at this twist, swing time [s] and share of radii."""
    longest = max(gait.cycle, motion.clock.gait.cycle)
    strides = [swing_time * twist.speed_at(x, y) for x, y in stance.footholds]
    steady = (PEAK_TRAVEL_SPEED * longest - 1.0) * max(strides)
    legs = []
    for leg, (foot, stride) in enumerate(zip(motion.feet, strides, strict=True)):
        neutral, radius = stance.footholds[leg], radii_share * stance.radii[leg]
        x, y = foot.x, foot.y
        if isinstance(foot.state, Swing):
            landing = exp(twist, 0.5 * foot.state.stance * swing_time).apply(*neutral)
            x, y = clamp_to_disc(*landing, Disc(neutral, radius), LANDING)
        inside = time_inside(x, y, twist, neutral, MAX_STANCE_RADIUS_SHARE * radius) / swing_time
        ends = SWING_ENDS * radius
        joints = joint_speed_ratios(robot, stance, leg, twist, swing_time, ends)
        # Speed relative to the body at mid-swing, compared with the fastest foot of steady walking in either gait.
        speed = PEAK_TRAVEL_SPEED * (ends[:, None] + ends[None, :] + stride) - stride
        feet = speed / (MAX_SPEED_FACTOR * steady) if steady > 0.0 else np.zeros_like(joints)
        legs.append(
            TransitionLeg(
                flight=time_to_touch_down(foot, swing_time),
                remaining_stance=inside,
                max_stance=2.0 * LANDING * radius / stride if stride > 0.0 else math.inf,
                stride=stride,
                speed_ratios=np.maximum(joints, feet),
                radius=radius,
            )
        )
    return legs


def joint_speed_ratios(
    robot: Robot, stance: StanceRegions, leg: int, twist: Twist, swing_time: float, ends: Array
) -> Array:
    """Joint speeds (K, K) over their limit, in swings from `ends` (K,) [m] behind the foothold to `ends` ahead."""
    x, y = stance.footholds[leg]
    vx, vy = twist.velocity_at(x, y)
    speed = math.hypot(vx, vy)
    stride_travel = speed * swing_time
    behind, ahead = ends[:, None, None], ends[None, :, None]
    reach = travel_and_lift(PROGRESS)[0] * (behind + ahead + stride_travel) - PROGRESS * stride_travel - behind
    heading = complex(vx, vy) / speed if speed > 0.0 else 1.0 + 0.0j
    path = np.asarray(complex(x, y) + heading * reach)
    contacts = path.real, path.imag, robot.walk.lift_height * travel_and_lift(PROGRESS)[1]
    joints = joints_at_contacts(robot.legs[leg], robot.foot_radius, stance.height, contacts).joints
    ratios: Array = shortest_swing(robot.legs[leg], joints) / swing_time
    return ratios
