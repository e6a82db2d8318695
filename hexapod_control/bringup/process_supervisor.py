"""One process per node: started together, watched, and stopped in an order in which the robot ends on its feet."""

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
from types import FrameType, TracebackType

from hexapod_control.bringup.node_graph import NodeSpec, command_line

GRACE = 8.0  # [s] for a node to stop by itself: the gait planner first puts the feet down
TERMINATE = 1.0  # [s] after SIGTERM, before SIGKILL
POLL = 0.02  # [s]
PR_SET_PDEATHSIG = 1
_PRCTL = getattr(ctypes.CDLL(None), "prctl", None)


class NodeDied(RuntimeError):  # noqa: N818 - it is an event, told to the user
    """A node that ended without being asked to."""

    def __init__(self, executable: str, code: int) -> None:
        self.executable = executable
        self.code = code
        name = f" ({signal.Signals(-code).name})" if -code in signal.valid_signals() else ""
        again = shlex.join([os.path.basename(sys.argv[0]), *sys.argv[1:]])
        super().__init__(
            f"{executable} died with exit code {code}{name}: the robot holds, all other nodes were stopped; "
            f"restart with: {again}"
        )


class StopSignal:
    """Whether the program was asked to end.

    A threading.Event has a lock: a handler that sets it while the main thread is about to wait for it never returns.
    """

    def __init__(self) -> None:
        self._asked = False

    def set(self) -> None:
        """Asks; also from a signal handler."""
        self._asked = True

    def clear(self) -> None:
        """Takes it back."""
        self._asked = False

    def is_set(self) -> bool:
        """True once it was asked."""
        return self._asked

    def wait(self, seconds: float) -> bool:
        """Waits at most so long [s]; True once it was asked."""
        deadline = time.monotonic() + seconds
        while not self._asked and (left := deadline - time.monotonic()) > 0.0:
            time.sleep(min(left, POLL))
        return self._asked


@contextmanager
def stop_requests() -> Iterator[StopSignal]:
    """What SIGINT, SIGTERM and SIGHUP set instead of ending the program; for the main thread."""
    asked = StopSignal()

    def ask(number: int, frame: FrameType | None) -> None:
        asked.set()

    previous = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield asked
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def end_with_parent(parent: int) -> None:
    """In the child: SIGTERM when its parent, a process id, is gone, however it went."""
    if _PRCTL is not None:
        _PRCTL(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os._exit(1)


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


class Supervisor:
    """Context manager: the nodes run inside of it.

    `output` takes every line of every node, with the node's name before it, from other threads. Start it in the
    main thread: the nodes end when the thread that started them does.
    """

    def __init__(
        self,
        specs: Sequence[NodeSpec],
        output: Callable[[str], None] = _to_stderr,
        command: Callable[[NodeSpec], list[str]] = command_line,
        grace: float = GRACE,
    ) -> None:
        self._specs = tuple(specs)
        self._output = output
        self._command = command
        self._grace = grace
        self._processes: dict[str, subprocess.Popen[str]] = {}
        self._readers: list[threading.Thread] = []

    def __enter__(self) -> Supervisor:
        try:
            for spec in self._specs:
                self._processes[spec.executable] = self._start(spec)
        except BaseException:
            self.stop()
            raise
        for name, process in self._processes.items():
            reader = threading.Thread(target=self._forward, args=(name, process), daemon=True)
            reader.start()
            self._readers.append(reader)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _start(self, spec: NodeSpec) -> subprocess.Popen[str]:
        parent = os.getpid()
        # preexec_fn is safe here: no thread of this object runs yet, and it calls nothing but prctl.
        return subprocess.Popen(
            self._command(spec),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,  # Ctrl-C of the terminal reaches the supervisor only
            preexec_fn=lambda: end_with_parent(parent),
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )

    def _forward(self, name: str, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                self._output(f"[{name}] {line.rstrip()}")

    @property
    def pids(self) -> dict[str, int]:
        """Process ids by executable."""
        return {name: process.pid for name, process in self._processes.items()}

    def check(self) -> None:
        """Raises NodeDied for a node that has ended: the one that others need, if several have."""
        for name, process in self._processes.items():
            code = process.poll()
            if code is not None:
                raise NodeDied(name, code)

    def stop(self) -> None:
        """Stops all nodes, each one after those that need it; those that hang are killed. May be called again."""
        running = {spec.executable: spec for spec in self._specs if spec.executable in self._processes}
        while running:
            needed = {need for spec in running.values() for need in spec.needs}
            free = [name for name in running if name not in needed] or list(running)
            self._end([self._processes[name] for name in free])
            for name in free:
                del running[name]
        for reader in self._readers:
            reader.join(timeout=1.0)

    def _end(self, processes: Sequence[subprocess.Popen[str]]) -> None:
        for number, seconds in ((signal.SIGINT, self._grace), (signal.SIGTERM, TERMINATE), (signal.SIGKILL, TERMINATE)):
            for process in processes:
                if process.poll() is None:
                    os.killpg(process.pid, number)
            deadline = time.monotonic() + seconds
            while any(process.poll() is None for process in processes) and time.monotonic() < deadline:
                time.sleep(POLL)
            if all(process.poll() is not None for process in processes):
                return


def run(specs: Sequence[NodeSpec], command: Callable[[NodeSpec], list[str]] = command_line) -> int:
    """Runs the nodes until SIGINT or SIGTERM (0) or until one dies (1, named on stderr)."""
    with stop_requests() as asked:
        try:
            with Supervisor(specs, command=command) as supervisor:
                while not asked.wait(POLL):
                    supervisor.check()
        except NodeDied as death:
            print(f"hexapod: {death}", file=sys.stderr)
            return 1
    return 0
