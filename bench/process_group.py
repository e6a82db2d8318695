# SPDX-License-Identifier: Apache-2.0
"""Pauses the processes of a graph and measures their CPU time."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from hexapod_control.bringup import node_graph
from hexapod_control.bringup.launch_arguments import ParameterValue
from hexapod_control.bringup.process_supervisor import Supervisor
from hexapod_control.bringup.shared_process import command_line

MINIMAL_RELAYS = Path(__file__).with_name("minimal_relays.py")
TIMED_PLANNER = Path(__file__).with_name("timed_planner.py")  # a process of its own: relays need none of its imports


def cpu_seconds(pid: int) -> float:
    """CPU time [s] of the running threads of a process; /proc/PID/stat would count it in steps of 10 ms."""
    return 1e-9 * sum(int(path.read_text().split()[0]) for path in Path(f"/proc/{pid}/task").glob("*/schedstat"))


def session_cpu_seconds(leader: int) -> float:
    """CPU time [s] of the running processes in the session of a process."""
    found = 0.0
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended
            if os.getsid(int(path.name)) == leader:
                found += cpu_seconds(int(path.name))
    return found


def proportional_memory(pid: int) -> float:
    """Proportional set size [MB] of a process."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return 1e-3 * next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


class ProcessGroup:
    """The processes of one graph."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor

    def pause(self) -> None:
        """Pauses all processes."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Resumes all processes."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        self._supervisor.check()
        for pid in self._supervisor.pids.values():
            os.kill(pid, number)

    def check(self) -> None:
        """Raises NodeExitError if a process has ended."""
        self._supervisor.check()

    def cpu(self) -> Mapping[str, float]:
        """Returns the CPU time [s] so far by executable."""
        return {name: cpu_seconds(pid) for name, pid in self._supervisor.pids.items()}

    def memory(self) -> Mapping[str, float]:
        """Returns the memory [MB] by executable; pages that processes share count in equal parts (PSS)."""
        return {name: proportional_memory(pid) for name, pid in self._supervisor.pids.items()}


def _command(spec: node_graph.NodeSpec) -> list[str]:
    if spec.package == node_graph.PACKAGE:
        return command_line(spec)
    is_timed = spec.executable == TIMED_PLANNER.stem
    program = [str(TIMED_PLANNER)] if is_timed else [str(MINIMAL_RELAYS), spec.executable]
    words = [sys.executable, "-P", *program, "--ros-args"]
    for name, value in spec.parameters.items():
        words += ["-p", f"{name}:={value}"]
    return [*words, "-r", f"__ns:={spec.namespace}"]


def relay(role: str, namespace: str, **parameters: ParameterValue) -> node_graph.NodeSpec:
    """Returns the spec of a process of minimal_relays.py with this role, or of timed_planner.py."""
    return node_graph.NodeSpec(role, package="", namespace=namespace, parameters=parameters)


@contextmanager
def group(specs: Sequence[node_graph.NodeSpec], progress: Callable[[str], None]) -> Iterator[ProcessGroup]:
    """Runs the processes of a graph; at the end they are resumed and stopped."""
    with Supervisor(specs, progress, _command) as supervisor:
        found = ProcessGroup(supervisor)
        try:
            yield found
        finally:
            for pid in supervisor.pids.values():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
