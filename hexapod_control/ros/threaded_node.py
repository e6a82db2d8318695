"""A node with a thread and an executor of its own, for what no other callback of its process may delay."""

from __future__ import annotations

import contextlib
import threading

from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter

STOP_TIMEOUT_S = 1.0  # of the thread


class ThreadedNode(Node):
    """Belongs to another node of the process, in the same namespace; its callbacks run in its own thread.

    Life cycle: `start`, `close`. Names are absolute: those that the other node resolves.
    """

    def __init__(self, owner: Node, suffix: str) -> None:
        """Its name is that of `owner` with a suffix."""
        super().__init__(
            f"{owner.get_name()}_{suffix}",
            context=owner.context,
            namespace=owner.get_namespace(),
            use_global_arguments=False,
            enable_rosout=False,
            start_parameter_services=False,
            parameter_overrides=[Parameter("start_type_description_service", value=False)],
        )
        self._own_executor = SingleThreadedExecutor(context=owner.context)
        self._own_executor.add_node(self)
        self._thread = threading.Thread(target=self._spin, name=suffix, daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def close(self) -> None:
        """Ends the thread and destroys the node."""
        self._own_executor.shutdown(timeout_sec=STOP_TIMEOUT_S)
        self._thread.join(STOP_TIMEOUT_S)
        self.destroy_node()

    def _spin(self) -> None:
        with contextlib.suppress(ExternalShutdownException):
            self._own_executor.spin()
