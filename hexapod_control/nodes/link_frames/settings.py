# SPDX-License-Identifier: Apache-2.0
"""Parameters of link_frames."""

from __future__ import annotations

from dataclasses import dataclass

from hexapod_control.config.ros_names import frame_prefix
from hexapod_control.core.quantity import choice, number
from hexapod_control.ros.parameters import RobotSettings


@dataclass(frozen=True, slots=True)
class LinkFramesSettings(RobotSettings):
    """Parameters of link_frames."""

    publish_rate: float = number(20.0, "Hz", 1.0, 100.0, "frames of the links on /tf, at most")
    tf_frame_prefix: str = choice("", "put before every frame id", check=frame_prefix)
