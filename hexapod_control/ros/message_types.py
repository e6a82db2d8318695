"""Message classes by the name of their type, as in sensor_msgs/msg/Imu."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from hexapod_control.ros.tf2_shim.tf_message import TFMessage


def message_class(kind: str) -> Any:
    """The class of a type; None if its package is not installed."""
    if kind == "tf2_msgs/msg/TFMessage":
        return TFMessage
    package, _, name = kind.partition("/msg/")
    try:
        return getattr(import_module(f"{package}.msg"), name, None)
    except ImportError:
        return None
