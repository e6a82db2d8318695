# SPDX-License-Identifier: Apache-2.0
"""Runs a node, or several, as a process: start, spin, orderly stop on SIGINT, SIGTERM or SIGHUP, exit code.

The signal handling of rclpy is switched off: it shuts the context down at once, before a last zero velocity could be
published. Ctrl-Z does not stop the process, nor does a terminal that it uses in the background: a robot may be
standing. Exit codes: 0 ended on request, 1 failed while running, 2 invalid input (one line on stderr).
"""

from __future__ import annotations

import contextlib
import gc
import math
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import FrameType

from rclpy.exceptions import ParameterException
from rclpy.executors import ExternalShutdownException
from rclpy.utilities import try_shutdown

from hexapod_control.config.errors import (
    BACKGROUND_SIGNALS,
    DONE,
    END_SIGNALS,
    FAILED,
    INVALID_INPUT,
    ArgumentError,
    FileError,
)
from hexapod_control.config.ros_names import RosNameError, check_arguments
from hexapod_control.core.names import printable
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.initialization import initialize, start_errors
from hexapod_control.ros.parameters import ParameterError
from hexapod_control.ros.process_output import ProcessOutput
from hexapod_control.ros.transport.executor import Spinner

KEEPS_RUNNING = "Ctrl-Z does not stop a program that moves a robot: end it with Ctrl-C"
MAX_STOP_TIME_S = 7.5  # from the signal to the end; a walking robot needs half of it to sit down
POLL_PERIOD_S = 0.1  # a signal is handled at least this often, even if no callback runs
MAX_SPIN_FAILURES = 20  # consecutive exceptions of the executor itself


class EndedEarly(Exception):  # noqa: N818 - no error: it was asked to
    """The process was asked to end while its nodes started."""


class StopRequest:
    """Handles the signals that ask the process to end; `requested` is True after the first one."""

    received = False  # whether any object of this process has received a signal

    def __init__(self) -> None:
        self.requested = False
        for number in END_SIGNALS:
            signal.signal(number, self._on_signal)
        for number in BACKGROUND_SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGTSTP, _keep_running)
        # The supervisor starts the process with SIGINT blocked.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, END_SIGNALS)

    def finish(self) -> None:
        """Ignores further signals: Python removes its handlers at its end, and a signal would then kill it."""
        for number in END_SIGNALS:
            signal.signal(number, signal.SIG_IGN)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.requested = StopRequest.received = True


def _keep_running(number: int, frame: FrameType | None) -> None:
    """Handles Ctrl-Z. Writes without Python's streams, which the interrupted code may be using."""
    with contextlib.suppress(OSError):
        os.write(2, f"{KEEPS_RUNNING}\n".encode())


def run(make: Callable[[], GuardedNode], args: Sequence[str] | None = None) -> int:
    """Creates a node with `make` and runs it until it is asked to end. Returns the exit code."""
    return run_together(lambda: [make()], args)


def run_together(make: Callable[[], list[GuardedNode]], args: Sequence[str] | None = None) -> int:
    """Creates nodes with `make`, in the order in which they have to end, and runs them. Returns the exit code."""
    request = StopRequest()
    with ProcessOutput(Path(sys.argv[0]).stem) as output:
        return _run(make, sys.argv[1:] if args is None else args, request, output)


def _run(
    make: Callable[[], list[GuardedNode]], args: Sequence[str], request: StopRequest, output: ProcessOutput
) -> int:
    try:
        check_arguments(args)
        initialize(args)
    except RosNameError as error:
        return _refuse(error)
    try:
        if request.requested:
            raise EndedEarly
        with start_errors():
            nodes = make()
    except EndedEarly:
        request.finish()
        try_shutdown()
        return DONE
    except (
        ArgumentError,
        FileError,
        ParameterError,
        RosNameError,
        FileNotFoundError,
        ParameterException,
    ) as error:
        return _refuse(error)
    code = FAILED
    nodes[0].duties.append(partial(_report_output, nodes[0], output))
    loop = _NodeLoop(nodes, request)
    gc.collect()
    gc.freeze()  # start-up objects need not be collected: shorter pauses
    try:
        code = DONE if loop.run() and loop.end() else FAILED
    except ExternalShutdownException:
        code = DONE
    finally:
        request.finish()
        loop.close()
        try_shutdown()
    return code


def _report_output(node: GuardedNode, output: ProcessOutput) -> None:
    """Shows on /diagnostics that lines of the log are lost, or where its file is."""
    if output.take_dropped():
        text = "nothing reads the output of this process, lines are dropped: press Ctrl-Q, or read the pipe"
        node.report("output", ReportLevel.WARNING, text)
    if output.log_trouble:
        node.report("log file", ReportLevel.WARNING, output.log_trouble, every=math.inf)


def _refuse(error: Exception) -> int:
    print(printable(" ".join(str(error).split())), file=sys.stderr, flush=True)
    try_shutdown()
    return INVALID_INPUT


class _NodeLoop:
    """Spins the nodes of this process in one executor, and ends them one after the other."""

    def __init__(self, nodes: list[GuardedNode], request: StopRequest) -> None:
        self._nodes = nodes
        self._request = request
        self._executor = Spinner()
        for node in nodes:
            self._executor.add_node(node)
        self._failures = 0  # consecutive ones

    def run(self) -> bool:
        """Spins until the process is asked to end. Returns False if the executor fails too often."""
        while not self._request.requested:
            if not self._spin(self._executor.spin):
                return False
        return True

    def end(self) -> bool:
        """Ends the nodes one after the other, while the nodes that each of them needs still run."""
        deadline = time.monotonic() + MAX_STOP_TIME_S
        while self._nodes:
            node = self._nodes[0]
            _call(node, node.request_stop)
            while time.monotonic() < deadline and not node.stopped():
                if not self._spin(self._executor.spin_once):
                    return False
            _call(node, node.publish_final_state)
            if len(self._nodes) > 1:
                self._executor.remove_node(node)
            del self._nodes[0]
            node.destroy_node()
        return True

    def _spin(self, spin: Callable[[float], None]) -> bool:
        try:
            spin(POLL_PERIOD_S)
            self._failures = 0
        except ExternalShutdownException:
            raise
        except Exception as error:  # of the executor; callbacks are guarded
            self._failures += 1
            self._nodes[0].failed("spin", error)
        return self._failures < MAX_SPIN_FAILURES

    def close(self) -> None:
        """Destroys the remaining nodes."""
        self._executor.shutdown(timeout_sec=0.5)
        for node in self._nodes:
            node.destroy_node()


def _call(node: GuardedNode, call: Callable[[], None]) -> None:
    try:
        call()
    except Exception as error:
        node.failed(call.__name__, error)
