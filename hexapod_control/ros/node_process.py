"""The life of a node's process: start, spin, stop on SIGINT or SIGTERM with a last word, exit code.

rclpy's own signal handling closes the context at once, and a last zero could not be sent: so it is switched off.
Exit codes: 0 asked to end, 1 failed while running, 2 bad input (one line on stderr, nothing started).
"""

from __future__ import annotations

import gc
import signal
import sys
import time
from collections.abc import Callable, Sequence
from types import FrameType

import rclpy
from rclpy.exceptions import ParameterException
from rclpy.executors import ExternalShutdownException
from rclpy.signals import SignalHandlerOptions

from hexapod_control.config.errors import RobotFileError
from hexapod_control.ros.executor import Spinner
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.parameters import ParameterError

STOPPING = 7.5  # [s] a node may take to stop after it was asked to: a walking robot sits down in half of it
POLL = 0.1  # [s] in which a signal is seen even if no callback runs
TOO_MANY = 20  # failures of the executor itself, one after the other
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequest:
    """Set by a signal; more signals change nothing."""

    def __init__(self) -> None:
        self.asked = False
        for number in SIGNALS:
            signal.signal(number, self._ask)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = True


def run(make: Callable[[], GuardedNode], args: Sequence[str] | None = None) -> int:
    """Runs a node until it is asked to end. Returns the exit code."""
    request = StopRequest()
    try:
        rclpy.init(args=list(args) if args is not None else None, signal_handler_options=SignalHandlerOptions.NO)
    except Exception as error:  # rclpy names several, depending on what is wrong with the arguments
        return _refuse(error)
    try:
        node = make()
    except (RobotFileError, ParameterError, FileNotFoundError, ParameterException) as error:
        return _refuse(error)
    code = 1
    executor = Spinner()
    executor.add_node(node)
    gc.collect()
    gc.freeze()  # what lives as long as the process need not be looked at again and again
    try:
        code = _spin(node, executor, request)
    except ExternalShutdownException:
        code = 0
    finally:
        executor.shutdown(timeout_sec=0.5)
        node.destroy_node()
        rclpy.try_shutdown()
    return code


def _refuse(error: Exception) -> int:
    print(" ".join(str(error).split()), file=sys.stderr, flush=True)
    rclpy.try_shutdown()
    return 2


def _spin(node: GuardedNode, executor: Spinner, request: StopRequest) -> int:
    failures = 0
    deadline: float | None = None
    while deadline is None or (time.monotonic() < deadline and not node.stopped()):
        if request.asked and deadline is None:
            deadline = time.monotonic() + STOPPING
            _last(node, node.request_stop)
        try:
            executor.spin_once(timeout_sec=POLL)
            failures = 0
        except ExternalShutdownException:
            raise
        except Exception as error:  # not from a callback, those are guarded
            failures += 1
            node.failed("spin", error)
            if failures >= TOO_MANY:
                return 1
    _last(node, node.publish_final_state)
    return 0


def _last(node: GuardedNode, act: Callable[[], None]) -> None:
    try:
        act()
    except Exception as error:
        node.failed(act.__name__, error)
