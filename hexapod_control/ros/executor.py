"""The executor of every process of the package: rclpy's event-driven one, which halves the CPU of a small node.

The classic executors build their wait set anew for every callback; with the some forty entities of a node that costs
more than the node's own work. But they take the newest message, whereas events of a flood pile up, and everything
else waits behind them: so the classic one takes over as soon as they do.
"""

from __future__ import annotations

import io
import time
from typing import Any

from rclpy.context import Context
from rclpy.executors import Executor, SingleThreadedExecutor

try:
    from rclpy.experimental import EventsExecutor
except ImportError:  # rclpy before 7.1.4
    EventsExecutor = SingleThreadedExecutor

LOOK = 0.05  # [s] from one look at the pile to the next
PILE = 150  # events before a new one's turn comes: many times what a starved process finds


class Spinner:
    """Spins nodes in one thread; as rclpy's executors, as far as it goes."""

    def __init__(self, context: Context | None = None) -> None:
        """Of a context, or of the default one."""
        self._context = context
        self._nodes: list[Any] = []
        self._executor = _events(context)
        self._events = not isinstance(self._executor, SingleThreadedExecutor)
        self._next_look = 0.0  # [s] steady time
        self._ahead: int | None = None  # events taken since the one that is waited for was put behind them

    def add_node(self, node: Any) -> None:
        """Spins a node, too."""
        self._nodes.append(node)
        self._executor.add_node(node)

    def remove_node(self, node: Any) -> None:
        """Spins it no longer; it can be destroyed then, as what had come for it already has been done."""
        self._nodes.remove(node)
        self._executor.remove_node(node)
        done = self._executor.create_task(lambda: None)
        while not done.done():
            self._executor.spin_once(timeout_sec=LOOK)

    def spin_once(self, timeout_sec: float) -> None:
        """Runs one callback, or waits so long for one [s]."""
        self._executor.spin_once(timeout_sec=timeout_sec)
        if self._events:
            self._look()

    def shutdown(self, timeout_sec: float) -> None:
        """Ends it."""
        self._executor.shutdown(timeout_sec=timeout_sec)

    def _look(self) -> None:
        if self._ahead is not None:
            self._ahead += 1
            if self._ahead > PILE:
                self._take_newest()
        elif time.monotonic() >= self._next_look:
            self._ahead = 0
            self._executor.create_task(self._reached)

    def _reached(self) -> None:
        self._ahead, self._next_look = None, time.monotonic() + LOOK

    def _take_newest(self) -> None:
        """Leaves the pile behind."""
        for node in self._nodes:
            self._executor.remove_node(node)
        self._executor.shutdown(timeout_sec=0.0)
        self._executor, self._events = SingleThreadedExecutor(context=self._context), False
        for node in self._nodes:
            self._executor.add_node(node)
            text = "messages come faster than they can be taken: only the newest count from now on; does someone flood?"
            node.get_logger().warning(text)


def _events(context: Context | None) -> Executor:
    try:
        made: Executor = EventsExecutor(context=context)
    except io.UnsupportedOperation:  # it wants a stderr that is a file, for the traces of crashes
        made = SingleThreadedExecutor(context=context)
    return made
