"""The threads of a node beside its executor: one for urgent services, which nothing may delay, and one for files."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, TypeVar

from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter

from hexapod_control.ros.writer_thread import WriterThread

STOP_TIMEOUT_S = 1.0  # of the thread for urgent services
MAX_WAITING_JOBS = 100  # of the thread for files

Result = TypeVar("Result")


class NodeThreads:
    """Starts each thread when it is first used."""

    def __init__(
        self,
        node: Node,
        run_in_executor: Callable[[Callable[[], None]], None],
        failed: Callable[[str, Exception], None],
    ) -> None:
        """`failed` reports an exception in a callback, by its name, in the executor of the node."""
        self._node = node
        self._run_in_executor = run_in_executor
        self._failed = failed
        self._urgent: _UrgentNode | None = None

    def create_urgent_service(self, srv_type: Any, name: str, callback: Any) -> None:
        """Creates a service that is served whatever the executor waits for, also while the node is silent.

        After an exception the response is `success: false`.
        """

        def guarded(request: Any, response: Any) -> Any:
            try:
                return callback(request, response)
            except Exception as error:
                self._run_in_executor(partial(self._failed, name, error))
                response.success = False
                response.message = f"{name} failed: {error}"
                return response

        self._urgent_node().create_service(srv_type, self._node.resolve_service_name(name), guarded)

    @property
    def urgent_services(self) -> Sequence[Any]:
        """The services that were created as urgent ones."""
        return [] if self._urgent is None else list(self._urgent.services)

    def create_urgent_client(self, srv_type: Any, name: str) -> Any:
        """Creates a client whose responses are handled in the thread of urgent services. Any thread may call it."""
        return self._urgent_node().create_client(srv_type, self._node.resolve_service_name(name))

    def run_outside(self, work: Callable[[], Result], then: Callable[[Result], None]) -> None:
        """Runs `work` in the thread for files, which may block, and then `then` with its result in the executor."""

        def job() -> None:
            try:
                result = work()
            except Exception as error:
                self._run_in_executor(partial(self._failed, "files", error))
            else:
                self._run_in_executor(lambda: then(result))

        self._files.put(job)

    def close(self) -> None:
        """Ends the thread of urgent services; that for files ends with the process."""
        if self._urgent is not None:
            self._urgent.close()

    @cached_property
    def _files(self) -> WriterThread:
        return WriterThread("files", MAX_WAITING_JOBS)

    def _urgent_node(self) -> _UrgentNode:
        if self._urgent is None:
            self._urgent = _UrgentNode(self._node)
        return self._urgent


class _UrgentNode(Node):
    """A second node in the namespace of the first one, spun by a thread of its own. Its names are absolute."""

    def __init__(self, owner: Node) -> None:
        super().__init__(
            f"{owner.get_name()}_urgent",
            context=owner.context,
            namespace=owner.get_namespace(),
            use_global_arguments=False,
            enable_rosout=False,
            start_parameter_services=False,
            parameter_overrides=[Parameter("start_type_description_service", value=False)],
        )
        self._spinner = SingleThreadedExecutor(context=owner.context)
        self._spinner.add_node(self)
        self._thread = threading.Thread(target=self._spin, name="urgent", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._spinner.shutdown(timeout_sec=STOP_TIMEOUT_S)
        self._thread.join(STOP_TIMEOUT_S)
        self.destroy_node()

    def _spin(self) -> None:
        with contextlib.suppress(ExternalShutdownException):
            self._spinner.spin()
