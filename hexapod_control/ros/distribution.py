"""Differences between ROS distributions."""

from __future__ import annotations

import importlib.metadata
import os


def stamped_by_default() -> bool:
    """True if velocity commands are TwistStamped in this distribution: from Kilted on, as Nav2 and teleop send them."""
    distribution = os.environ.get("ROS_DISTRO", "")
    if distribution:
        return distribution == "rolling" or distribution >= "kilted"
    try:
        return int(importlib.metadata.version("ros-rclpy").split(".")[0]) >= 9
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return False
