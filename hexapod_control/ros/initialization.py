"""Starts rclpy for every program of the package; every failure of it is one sentence with a remedy."""

from __future__ import annotations

import re
from collections.abc import Sequence

import rclpy
from rclpy.context import Context
from rclpy.signals import SignalHandlerOptions

from hexapod_control.config.ros_names import RosNameError
from hexapod_control.core.names import shortened

MAX_REASON = 300  # characters
PLACE = re.compile(r",? at (/|\./)\S+:\d+.*", re.DOTALL)  # in the source of rcl, behind its reason
LOG_OPTIONS = ("--disable-stdout-logs", "external-lib-logs")  # ends of arguments with which a user chooses the log


def initialize(args: Sequence[str], context: Context | None = None) -> None:
    """Initializes a context, by default the global one. Raises RosNameError.

    rcl writes no log file, as it would do so in the thread that controls the robot (process_output.py has one).
    """
    chosen = any(word.endswith(LOG_OPTIONS) for word in args)
    words = [*args, *([] if chosen else ["--ros-args", "--disable-external-lib-logs"])]
    try:
        rclpy.init(args=words, context=context, signal_handler_options=SignalHandlerOptions.NO)
    except Exception as error:  # rclpy raises different types for different invalid arguments
        reason = shortened(" ".join(PLACE.sub("", str(error)).split()), MAX_REASON)
        raise RosNameError(f"ROS does not start: {reason}") from None
