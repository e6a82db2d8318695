# SPDX-License-Identifier: Apache-2.0
"""The node of a program that is not one of the robot's nodes, such as a command-line tool or a benchmark."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from rclpy.context import Context
from rclpy.node import Node

from hexapod_control.config import ros_names
from hexapod_control.ros.initialization import initialize, start_errors
from hexapod_control.ros.transport.executor import Spinner


class ClientNode:
    """One node in its own rclpy context, without threads or signal handlers. Use it as a context manager."""

    def __init__(self, name: str, namespace: str = "", **options: Any) -> None:
        """`options` are those of rclpy's Node; `Any`: rclpy has no type for them. Raises RosNameError."""
        self.robot_namespace = namespace = ros_names.namespace(namespace)  # of the robot; empty for none
        ros_names.check_domain()
        self._context = Context()
        initialize([], self._context)
        with start_errors():
            self._node = Node(name, context=self._context, namespace=namespace, use_global_arguments=False, **options)
        self._executor = Spinner(self._context)
        self._executor.add_node(self._node)

    def _spin_once(self, seconds: float) -> None:
        """Runs the next callback; waits for it at most `seconds` [s]."""
        self._executor.spin_once(timeout_sec=seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._executor.shutdown(0.5)
        self._node.destroy_node()
        self._context.try_shutdown()
