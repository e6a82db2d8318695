# SPDX-License-Identifier: Apache-2.0
"""Starts one process per node, restarts crashed ones, and stops all of them, each before the nodes that it needs.

restart_plan.py has the rules for restarts.
"""

from __future__ import annotations

import ctypes
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import FrameType, TracebackType

from hexapod_control.bringup import restart_plan
from hexapod_control.bringup.node_graph import PACKAGE, NodeSpec
from hexapod_control.bringup.shared_process import command_line
from hexapod_control.config.errors import BACKGROUND_SIGNALS, DONE, END_SIGNALS, FAILED, INVALID_INPUT
from hexapod_control.ros.monitoring.graph_identity import VARIABLE, new_graph, remove_state
from hexapod_control.ros.process_output import LAST_LINES_S, QUEUE_DEPTH, missing_lines
from hexapod_control.ros.writer_thread import WriterThread

STOP_TIMEOUT_S = 8.0  # after SIGINT; the gait planner first sets the feet down
TERMINATE_TIMEOUT_S = 1.0  # after SIGTERM, before SIGKILL
POLL_PERIOD_S = 0.02
PR_SET_PDEATHSIG = 1
_PRCTL = getattr(ctypes.CDLL(None), "prctl", None)


class NodeExitError(RuntimeError):
    """A node ended unexpectedly and is not restarted."""

    def __init__(self, executable: str, code: int, crashes: int = 0) -> None:
        """`code` is the exit code; `crashes` is the number of recent ones, if they were too many for a restart."""
        self.executable = executable
        self.code = code
        again = f"; restart with: {shlex.join([os.path.basename(sys.argv[0]), *sys.argv[1:]])}"
        text = restart_plan.final_report(executable, code, crashes)
        super().__init__(text if code == INVALID_INPUT else text + again)


class StopSignal:
    """A flag that asks the program to end; it can be set in a signal handler.

    A threading.Event cannot: its lock deadlocks if the handler runs while the main thread is about to wait.
    """

    def __init__(self) -> None:
        self._requested = False
        self.number: int = signal.SIGINT  # of the signal that has set it last

    def set(self) -> None:
        """Sets the flag; safe in a signal handler."""
        self._requested = True

    def clear(self) -> None:
        """Clears the flag."""
        self._requested = False

    def is_set(self) -> bool:
        """Returns True if the flag is set."""
        return self._requested

    def wait(self, seconds: float) -> bool:
        """Waits at most `seconds` for the flag. Returns True if it is set."""
        deadline = time.monotonic() + seconds
        while not self._requested and (left := deadline - time.monotonic()) > 0.0:
            time.sleep(min(left, POLL_PERIOD_S))
        return self._requested


@contextmanager
def stop_requests() -> Iterator[StopSignal]:
    """Yields a flag that SIGINT, SIGTERM and SIGHUP set instead of ending the program. For the main thread only."""
    stop = StopSignal()

    def request(number: int, frame: FrameType | None) -> None:
        stop.number = number
        stop.set()

    previous = {number: signal.signal(number, request) for number in END_SIGNALS}
    for number in (signal.SIGTSTP, *BACKGROUND_SIGNALS):  # a stopped program restarts no node
        previous[number] = signal.signal(number, signal.SIG_IGN)
    try:
        yield stop
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def end_with_parent(parent: int) -> None:
    """Makes the system send SIGTERM to this process as soon as its parent, given by its process id, has ended."""
    if _PRCTL is not None:
        _PRCTL(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os._exit(FAILED)


def _prepare(parent: int, spec: NodeSpec) -> None:
    """Runs in a new child process: blocks SIGINT until a node of this package has installed its handlers."""
    end_with_parent(parent)
    if spec.package == PACKAGE:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


class Supervisor:
    """Runs the nodes of a graph. A context manager that starts the nodes on entry and stops them on exit.

    `output` is called from another thread with every line of every node, prefixed by the node's name; while it does not
    return, lines are dropped. Enter the context and call `check` in the main thread: the nodes end with the thread that
    started them.
    """

    def __init__(
        self,
        specs: Sequence[NodeSpec],
        output: Callable[[str], None] = _to_stderr,
        command: Callable[[NodeSpec], list[str]] = command_line,
        stop_timeout: float = STOP_TIMEOUT_S,
    ) -> None:
        self._specs = tuple(specs)
        self._output = output
        self._writer = WriterThread("output", QUEUE_DEPTH, self._note_dropped)
        self._command = command
        self._stop_timeout = stop_timeout
        self._processes: dict[str, subprocess.Popen[str]] = {}
        self._readers: list[threading.Thread] = []
        self._plan = restart_plan.RestartPlan()
        self._ended: dict[str, float] = {}  # [s] steady times at which ended nodes were noticed
        self._due: dict[str, float] = {}  # [s] steady times at which nodes are to be started again
        self._graph = new_graph()

    def __enter__(self) -> Supervisor:
        try:
            for spec in self._specs:
                self._processes[spec.executable] = self._start(spec)
        except BaseException:
            self.stop()
            raise
        for name in self._processes:
            self._read(name)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _start(self, spec: NodeSpec) -> subprocess.Popen[str]:
        parent = os.getpid()
        # preexec_fn makes only system calls, so it is safe at a restart, too, when threads are running.
        return subprocess.Popen(
            self._command(spec),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,  # Ctrl-C in the terminal reaches only the supervisor
            preexec_fn=lambda: _prepare(parent, spec),
            env={**os.environ, "PYTHONUNBUFFERED": "1", VARIABLE: self._graph},
        )

    def _read(self, name: str) -> None:
        reader = threading.Thread(target=self._forward, args=(name, self._processes[name]), daemon=True)
        reader.start()
        self._readers.append(reader)

    def _forward(self, name: str, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                self._show(f"[{name}] {line.rstrip()}")

    def _show(self, line: str) -> None:
        self._writer.put(partial(self._output, line))

    def _note_dropped(self, count: int) -> None:
        self._output(f"hexapod: {missing_lines(count)}")

    @property
    def graph(self) -> str:
        """The graph id that all nodes share (graph_identity.py)."""
        return self._graph

    @property
    def pids(self) -> dict[str, int]:
        """Process ids by executable."""
        return {name: process.pid for name, process in self._processes.items()}

    def check(self) -> None:
        """Restarts nodes that have ended; call it regularly.

        Raises NodeExitError for a node that may not be restarted; of several, for the one that the others need.
        """
        now = time.monotonic()
        for spec in self._specs:
            name = spec.executable
            due = self._due.get(spec.executable)
            if due is None and (code := self._processes[name].poll()) is not None:
                if now - self._ended.setdefault(name, now) >= restart_plan.grace_period(code):
                    self._plan_restart(name, code, now)
            elif due is not None and now >= due:
                del self._due[name]
                self._ended.pop(name, None)
                self._processes[name] = self._start(restart_plan.restart_spec(spec))
                self._read(name)

    def _plan_restart(self, name: str, code: int, now: float) -> None:
        rule = restart_plan.rule(name)
        delay = self._plan.delay(name, code, now)
        if rule is None or delay is None:
            raise NodeExitError(name, code, self._plan.crashes(name))
        self._show(f"hexapod: {restart_plan.report(name, code, delay)}")
        self._due[name] = now + delay
        for companion in self._processes.keys() & set(rule.companions):
            self._processes[companion].kill()
            self._processes[companion].wait(TERMINATE_TIMEOUT_S)
            self._due[companion] = now + delay + restart_plan.LEAD_S

    def stop(self) -> None:
        """Stops all nodes, each after those that need it, and kills those that hang. Idempotent."""
        running = {spec.executable: spec for spec in self._specs if spec.executable in self._processes}
        while running:
            needed = {need for spec in running.values() for need in spec.needs}
            free = [name for name in running if name not in needed] or list(running)
            self._end([self._processes[name] for name in free])
            for name in free:
                del running[name]
        for reader in self._readers:
            reader.join(timeout=1.0)
        self._writer.wait(LAST_LINES_S)
        remove_state(self._graph)

    def _end(self, processes: Sequence[subprocess.Popen[str]]) -> None:
        for number, seconds in (
            (signal.SIGINT, self._stop_timeout),
            (signal.SIGTERM, TERMINATE_TIMEOUT_S),
            (signal.SIGKILL, TERMINATE_TIMEOUT_S),
        ):
            for process in processes:
                if process.poll() is None:
                    os.killpg(process.pid, number)
            deadline = time.monotonic() + seconds
            while any(process.poll() is None for process in processes) and time.monotonic() < deadline:
                time.sleep(POLL_PERIOD_S)
            if all(process.poll() is not None for process in processes):
                return


def run(specs: Sequence[NodeSpec], command: Callable[[NodeSpec], list[str]] = command_line) -> int:
    """Runs the nodes. Returns 0 after SIGINT or SIGTERM, 1 if one ended and is not restarted (named on stderr)."""
    with stop_requests() as stop:
        try:
            with Supervisor(specs, command=command) as supervisor:
                while not stop.wait(POLL_PERIOD_S):
                    supervisor.check()
        except NodeExitError as error:
            print(f"hexapod: {error}", file=sys.stderr)
            return FAILED
    return DONE
