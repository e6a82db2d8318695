# SPDX-License-Identifier: Apache-2.0
"""Settings of a walk that can be changed while the robot walks."""

from __future__ import annotations

from dataclasses import dataclass, field

from hexapod_control.core.gait.gait_table import GaitSelection
from hexapod_control.core.workspace.swing_limits import SWING_TIME_SCALES
from hexapod_control.core.workspace.twist_limits import TwistLimits

TEMPO_RANGE = (SWING_TIME_SCALES[0], SWING_TIME_SCALES[-1])  # of WalkSettings.tempo


@dataclass(frozen=True, slots=True)
class WalkSettings:
    """Requested settings of a walk, which follows them smoothly."""

    selection: GaitSelection
    limits: TwistLimits = field(default_factory=TwistLimits)
    lift: float = 1.0  # factor (LIFT_RANGE) on the robot's lift height
    tempo: float = 1.0  # factor (TEMPO_RANGE) on the robot's swing time, and so on the cycle time
    speed_share: float = 1.0  # (0 to 1) of the velocity limits, or of the robot's maximum speed where that is less
    margin: float = 0.0  # [m] static margin below which measures are taken, see `margin_recovery`; 0: none
