# SPDX-License-Identifier: Apache-2.0
"""Parameters of imu_driver."""

from __future__ import annotations

from dataclasses import dataclass

from hexapod_control.config.ros_names import frame_prefix
from hexapod_control.core.quantity import choice, number
from hexapod_control.ros.parameters import RobotSettings


@dataclass(frozen=True, slots=True)
class ImuDriverSettings(RobotSettings):
    """Parameters of imu_driver."""

    rate: float = number(100.0, "Hz", 10.0, 200.0, "readings and messages of imu/data")
    bus: str = choice("", "I2C bus; empty: that of the robot file's section io")
    tf_frame_prefix: str = choice("", "put before the frame id imu_link", check=frame_prefix)
