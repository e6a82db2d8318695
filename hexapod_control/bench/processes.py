"""Two graphs side by side, of which only one runs at a time: processes that are paused and measured."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from hexapod_control import graph
from hexapod_control.cli.supervisor import Supervisor

TICKS = os.sysconf("SC_CLK_TCK")  # [1/s] in which the kernel counts


def cpu_seconds(pid: int) -> float:
    """Time [s] a process has used, user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


class Group:
    """The processes of one graph."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor

    def pause(self) -> None:
        """Stops all of them where they are."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Lets them go on."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        self._supervisor.check()
        for pid in self._supervisor.pids.values():
            os.kill(pid, number)

    def check(self) -> None:
        """Raises NodeDied if one has ended."""
        self._supervisor.check()

    def cpu(self) -> Mapping[str, float]:
        """Time [s] used so far, by executable."""
        return {name: cpu_seconds(pid) for name, pid in self._supervisor.pids.items()}


def _command(spec: graph.NodeSpec) -> list[str]:
    if spec.package == graph.PACKAGE:
        return graph.command_line(spec)
    words = [sys.executable, "-P", "-m", f"{graph.PACKAGE}.bench.relays", spec.executable, "--ros-args"]
    for name, value in spec.parameters.items():
        words += ["-p", f"{name}:={value}"]
    return [*words, "-r", f"__ns:={spec.namespace}"]


def relay(role: str, namespace: str, **parameters: graph.Value) -> graph.NodeSpec:
    """A process of bench/relays.py."""
    return graph.NodeSpec(role, package="", namespace=namespace, parameters=parameters)


@contextmanager
def group(specs: Sequence[graph.NodeSpec], progress: Callable[[str], None]) -> Iterator[Group]:
    """Runs the processes of a graph; they are let go on before they are stopped."""
    with Supervisor(specs, progress, _command) as supervisor:
        found = Group(supervisor)
        try:
            yield found
        finally:
            for pid in supervisor.pids.values():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
