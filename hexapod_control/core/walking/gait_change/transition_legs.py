"""Per-leg constraints for a gait change: position, remaining stance time, joint-speed load.

Times are in swing times, as in the gait clock; contact points in base_footprint [m].
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.gait.swing_trajectory import PEAK_SHARE_SPEED
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.se2 import Twist, exp
from hexapod_control.core.robot import Robot
from hexapod_control.core.walking.feet.foot_motion import FootMotion, time_in_flight
from hexapod_control.core.walking.feet.region_guard import MAX_STANCE_RADIUS_SHARE, clamp_to_disc, time_inside
from hexapod_control.core.walking.feet.swing_motion import LANDING
from hexapod_control.core.walking.foot import Swing
from hexapod_control.core.workspace.speed_envelope import swing_loads
from hexapod_control.core.workspace.stance_regions import StanceRegions

SWING_ENDS = np.linspace(0.0, 1.0, 9)  # shares of a stance region's radius at which swings begin and end
FASTER = 1.1  # a swing in a change may be this much faster than one of steady walking


@dataclass(frozen=True, slots=True)
class TransitionLeg:
    """One leg at the moment a change is planned; times in swing times."""

    flight: float  # to its touch-down, 0 if planted
    remaining_stance: float  # from now on, or from its touch-down if in flight, to the edge of its region
    max_stance: float  # of a stance whose touch-down is aimed for it
    stride: float  # [m] the ground passes under the foot in one swing time
    loads: Array  # (K, K) speed over its limit of a swing from SWING_ENDS behind neutral to SWING_ENDS ahead
    radius: float  # [m] of the region, to which SWING_ENDS are shares


def transition_legs(
    motion: FootMotion,
    gait: Gait,
    robot: Robot,
    stance: StanceRegions,
    twist: Twist,
    swing_time: float,
    region_share: float,
) -> list[TransitionLeg]:
    """Constraints of each leg for a change to `gait` at this twist, swing time [s] and share of the regions."""
    longest = max(gait.cycle, motion.clock.gait.cycle)
    strides = [swing_time * math.hypot(twist.vx - twist.wz * y, twist.vy + twist.wz * x) for x, y in stance.footholds]
    steady = (PEAK_SHARE_SPEED * longest - 1.0) * max(strides)
    legs = []
    for leg, (foot, stride) in enumerate(zip(motion.feet, strides, strict=True)):
        home, radius = stance.footholds[leg], region_share * stance.radii[leg]
        x, y = foot.x, foot.y
        if isinstance(foot.state, Swing):
            landing = exp(twist, 0.5 * foot.state.stance * swing_time).apply(*home)
            x, y = clamp_to_disc(*landing, home, LANDING * radius)
        inside = time_inside(x, y, twist, home, MAX_STANCE_RADIUS_SHARE * radius) / swing_time
        ends = SWING_ENDS * radius
        joints = swing_loads(robot, stance, leg, twist, swing_time, ends)
        # Speed over the body at mid-swing, against the fastest foot of steady walking in either gait.
        speed = PEAK_SHARE_SPEED * (ends[:, None] + ends[None, :] + stride) - stride
        feet = speed / (FASTER * steady) if steady > 0.0 else np.zeros_like(joints)
        legs.append(
            TransitionLeg(
                flight=time_in_flight(foot, swing_time),
                remaining_stance=inside,
                max_stance=2.0 * LANDING * radius / stride if stride > 0.0 else math.inf,
                stride=stride,
                loads=np.maximum(joints, feet),
                radius=radius,
            )
        )
    return legs
