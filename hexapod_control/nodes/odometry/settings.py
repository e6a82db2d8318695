# SPDX-License-Identifier: Apache-2.0
"""Parameters of odometry."""

from __future__ import annotations

from dataclasses import dataclass

from hexapod_control.config.ros_names import frame, frame_prefix
from hexapod_control.core.names import quoted
from hexapod_control.core.quantity import choice, number
from hexapod_control.core.sensing.odometry import ODOMETRY_MODES
from hexapod_control.ros.parameters import ParameterError, RobotSettings

BASE_LINK = "base_link"  # below base_frame_id


@dataclass(frozen=True, slots=True)
class OdometrySettings(RobotSettings):
    """Parameters of odometry."""

    publish_rate: float = number(50.0, "Hz", 1.0, 200.0, "odom and tf, at most")
    mode: str = choice(
        "legs",
        "commanded, legs, legs_imu or legs_imu_3d: joint_targets, joint_states with foot_states, these and the heading"
        " of imu/data, also its roll and pitch: the height of the ground",
    )
    enable_odom_tf: bool = choice(True, "broadcast odom -> base_footprint; base_footprint -> base_link always is")
    odom_frame_id: str = choice("odom", "frame of the pose", check=frame)
    base_frame_id: str = choice("base_footprint", "frame of the velocity", check=frame)
    keep_usage: bool = choice(
        False, "keep hours, distance and joint cycles of the robot in ~/.local/state/hexapod_control over restarts"
    )
    tf_frame_prefix: str = choice("", "put before every frame id", check=frame_prefix)

    def __post_init__(self) -> None:
        if self.mode not in ODOMETRY_MODES:
            raise ParameterError(f"mode must be one of {', '.join(ODOMETRY_MODES)}, is {quoted(self.mode)}")
        if len({self.odom_frame_id, self.base_frame_id, BASE_LINK}) < 3:
            chain = f"{self.odom_frame_id} -> {self.base_frame_id} -> {BASE_LINK}"
            raise ParameterError(f"odom_frame_id and base_frame_id: {chain} must be three different frames")
