# SPDX-License-Identifier: Apache-2.0
"""Starts rclpy for every program of the package; every failure of ROS itself is one sentence with a remedy."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import rclpy
from rclpy.context import Context
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.signals import SignalHandlerOptions

from hexapod_control.config.ros_names import RosNameError, check_security, security_enabled
from hexapod_control.core.names import shortened

RCLError: type[Exception] = rclpy_implementation.RCLError
MAX_REASON = 300  # characters
PLACE = re.compile(r",? at \S+:\d+.*", re.DOTALL)  # in the source of rcl, behind its reason
LOG_OPTIONS = ("--disable-stdout-logs", "external-lib-logs")  # ends of arguments with which a user chooses the log


def initialize(args: Sequence[str], context: Context | None = None) -> None:
    """Initializes a context, by default the global one. Raises RosNameError.

    rcl writes no log file: it would do so in the thread that controls the robot (process_output.py has one).
    """
    check_security()
    chosen = any(word.endswith(LOG_OPTIONS) for word in args)
    words = [*args, *([] if chosen else ["--ros-args", "--disable-external-lib-logs"])]
    with start_errors(Exception):  # rclpy raises different types for different invalid arguments
        rclpy.init(args=words, context=context, signal_handler_options=SignalHandlerOptions.NO)


@contextmanager
def start_errors(kind: type[Exception] = RCLError) -> Iterator[None]:
    """Makes a RosNameError of errors at the start of a context, or of its first node, which opens the network."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Failed to fini", RuntimeWarning)  # of rclpy, beside the error itself
            yield
    except kind as error:
        reason = shortened(" ".join(PLACE.sub("", str(error)).split()), MAX_REASON)
        remedy = ": check the keystore, or unset ROS_SECURITY_ENABLE" if security_enabled(os.environ) else ""
        raise RosNameError(f"ROS does not start: {reason}{remedy}") from None
