# SPDX-License-Identifier: Apache-2.0
"""The executor of every process of the package: rclpy's EventsExecutor, which halves the CPU load of a small node.

SingleThreadedExecutor rebuilds its wait set for every callback; with about forty entities per node that costs more
than the node's own work. But it always takes the newest message, whereas EventsExecutor queues one event per message:
when a topic is flooded, all other callbacks wait behind that queue. Therefore Spinner measures the length of the queue
and changes to SingleThreadedExecutor when it becomes too long.
"""

from __future__ import annotations

import io
import time

from rclpy.context import Context
from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.task import Future

try:
    from rclpy.experimental.events_executor import EventsExecutor
except ImportError:  # rclpy before 7.1.4
    EventsExecutor = SingleThreadedExecutor

CHECK_PERIOD_S = 0.05  # between two measurements of the queue
NO_QUEUE_S = 0.005  # maximum wait of a marker while the queue is short
MAX_QUEUED_EVENTS = 150  # far more than accumulate while a process has no CPU for a moment
FLOOD_PER_S = 1000.0  # events that mean a flooded topic; the nodes of a robot receive a few hundred
WAITS_S = (0.1, 0.01, 0.001, 0.0)
"""Timeouts of SingleThreadedExecutor. Called with the same timeout again, it goes on with the next ready callback; with
another one it begins again with the subscriptions, so that a flooded topic would keep services from being called."""


class Spinner:
    """Spins nodes in one thread, with the subset of rclpy's executor interface that the package needs."""

    def __init__(self, context: Context | None = None) -> None:
        """`context` defaults to rclpy's global one."""
        self._context = context
        self._nodes: list[Node] = []
        self._executor = _events_executor(context)
        self._events = not isinstance(self._executor, SingleThreadedExecutor)
        self._next_check = 0.0  # [s] steady time
        self._queued = 0.0  # [s] start of the callback before the marker
        self._taken: int | None = None  # events handled since the marker was queued; None: no marker is queued

    def add_node(self, node: Node) -> None:
        """Adds a node to those that are spun."""
        self._nodes.append(node)
        self._executor.add_node(node)

    def remove_node(self, node: Node) -> None:
        """Removes a node and runs its callbacks that are already queued, so that it can be destroyed afterwards."""
        self._nodes.remove(node)
        self._executor.remove_node(node)
        done = self._executor.create_task(lambda: None)
        while not done.done():
            self._executor.spin_once(timeout_sec=CHECK_PERIOD_S)

    def spin(self, seconds: float) -> None:
        """Runs callbacks for about `seconds`, with less CPU load than a `spin_once` for each."""
        if not self._events or self._taken is not None:
            self.spin_once(seconds)
            return
        self._executor.spin_until_future_complete(Future(), timeout_sec=seconds)
        began = time.monotonic()
        marker = self._executor.create_task(lambda: None)
        self._executor.spin_until_future_complete(marker, timeout_sec=seconds)
        if time.monotonic() - began > NO_QUEUE_S:
            self._count_queue(began)

    def spin_once(self, timeout_sec: float) -> None:
        """Runs one callback; waits for one at most `timeout_sec` [s]."""
        if not self._events:
            self._executor.spin_once(timeout_sec=next((wait for wait in WAITS_S if wait <= timeout_sec), 0.0))
            return
        began = time.monotonic()
        self._executor.spin_once(timeout_sec=timeout_sec)
        self._check_queue(began)

    def shutdown(self, timeout_sec: float) -> None:
        """Shuts the executor down; waits at most `timeout_sec` [s] for running callbacks."""
        self._executor.shutdown(timeout_sec=timeout_sec)

    def _check_queue(self, began: float) -> None:
        """Queues a marker periodically and counts the events before it, which is the length of the queue."""
        if self._taken is not None:
            self._taken += 1
            if self._taken > MAX_QUEUED_EVENTS:
                self._take_newest_only()
        elif time.monotonic() >= self._next_check:
            self._count_queue(began)

    def _count_queue(self, began: float) -> None:
        self._taken = 0
        self._queued = began
        self._executor.create_task(self._marker_taken)

    def _marker_taken(self) -> None:
        self._taken = None
        self._next_check = time.monotonic() + CHECK_PERIOD_S

    def _take_newest_only(self) -> None:
        """Drops the queue and continues with SingleThreadedExecutor."""
        for node in self._nodes:
            self._executor.remove_node(node)
        self._executor.shutdown(timeout_sec=0.0)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._events = False
        text = queue_report(MAX_QUEUED_EVENTS, time.monotonic() - self._queued)
        for node in self._nodes:
            self._executor.add_node(node)
            node.get_logger().warning(text)


def queue_report(events: int, seconds: float) -> str:
    """Report for a queue of `events` events that took `seconds` [s] to handle."""
    rate = events / max(seconds, 1e-3)
    cause = "does a node flood a topic?" if rate > FLOOD_PER_S else "is this computer overloaded?"
    return f"messages arrive faster than they are handled, {rate:.0f} per second; only the newest count now: {cause}"


def _events_executor(context: Context | None) -> Executor:
    try:
        executor: Executor = EventsExecutor(context=context)
    except io.UnsupportedOperation:  # EventsExecutor needs a stderr with a file descriptor, for crash traces
        executor = SingleThreadedExecutor(context=context)
    return executor
