# SPDX-License-Identifier: Apache-2.0
"""Looks up message classes by type name, e.g. sensor_msgs/msg/Imu; TFMessage also without tf2_msgs."""

from __future__ import annotations

from importlib import import_module
from typing import Any

try:
    from tf2_msgs.msg import TFMessage
except ImportError:  # the ROS wheels lack tf2_msgs
    from hexapod_control.ros.tf2_shim.tf_message import WheelTFMessage as TFMessage

try:
    from hexapod_msgs import action
except ImportError:  # optional: without it there are no actions
    action = None

__all__ = ["TFMessage", "action_class", "message_class"]


def action_class(name: str) -> Any:
    """Returns the class of an action of hexapod_msgs; None if that package is not installed. `Any`: as below."""
    return getattr(action, name, None)


def message_class(kind: str) -> Any:
    """Returns the class of a type; None if its package is not installed. `Any`: message classes have no common base."""
    if kind == "tf2_msgs/msg/TFMessage":
        return TFMessage
    package, _, name = kind.partition("/msg/")
    try:
        return getattr(import_module(f"{package}.msg"), name, None)
    except ImportError:
        return None
