"""The executor of every process of the package: rclpy's event-driven one, which halves the CPU of a small node.

The classic executors build their wait set anew for every callback; with the some forty entities of a node that costs
more than the node's own work.
"""

from __future__ import annotations

import io

from rclpy.context import Context
from rclpy.executors import Executor, SingleThreadedExecutor

try:
    from rclpy.experimental import EventsExecutor
except ImportError:  # rclpy before 7.1.4
    EventsExecutor = SingleThreadedExecutor


def make_executor(context: Context | None = None) -> Executor:
    """An executor for one thread, of a context or of the default one. Its `spin_once` always needs a timeout."""
    try:
        made: Executor = EventsExecutor(context=context)
    except io.UnsupportedOperation:  # it wants a stderr that is a file, for the traces of crashes
        made = SingleThreadedExecutor(context=context)
    return made
