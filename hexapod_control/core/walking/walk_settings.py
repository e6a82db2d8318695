"""How a robot is to walk, as far as that can be chosen while it walks."""

from __future__ import annotations

from dataclasses import dataclass, field

from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.workspace.twist_limits import TwistLimits


@dataclass(frozen=True, slots=True)
class WalkSettings:
    """What was asked for; what is in force follows smoothly."""

    gait: Gait
    limits: TwistLimits = field(default_factory=TwistLimits)
    lift: float = 1.0  # share (0 to 1) of the robot's step height
    tempo: float = 1.0  # share (0.8 to 2) of the robot's swing time, and with it of the cycle time
    speed_share: float = 1.0  # (0 to 1) of the speed limits, or of what the robot can do where that is less
    margin: float = (
        0.0  # [m] static margin below which the walk slows down, leans or changes its gait; 0: it never does
    )
