"""Parameters of odometry."""

from __future__ import annotations

from dataclasses import dataclass

from hexapod_control.core.sensing.odometry import ODOMETRY_MODES
from hexapod_control.ros.parameters import ParameterError, RobotSettings, choice, number


@dataclass(frozen=True, slots=True)
class OdometrySettings(RobotSettings):
    """Parameters of odometry."""

    publish_rate: float = number(50.0, "Hz", 1.0, 200.0, "odom and tf, at most")
    mode: str = choice(
        "legs", "commanded, legs or legs_imu: joint_targets, joint_states with foot_states, these and imu/data"
    )
    enable_odom_tf: bool = choice(True, "broadcast odom -> base_footprint; base_footprint -> base_link always is")
    odom_frame_id: str = choice("odom", "frame of the pose")
    base_frame_id: str = choice("base_footprint", "frame of the velocity")
    keep_usage: bool = choice(
        False, "keep hours, distance and joint cycles of the robot in ~/.local/state/hexapod_control over restarts"
    )
    tf_frame_prefix: str = choice("", "put before every frame id")

    def __post_init__(self) -> None:
        if self.mode not in ODOMETRY_MODES:
            raise ParameterError(f"mode must be one of {', '.join(ODOMETRY_MODES)}, is {self.mode!r}")
