"""The processes of Nav2 beside a simulated robot, and what they report."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_prefix

from hexapod_control.bringup import nav2_graph
from hexapod_control.bringup.nav2_graph import NavigationGraph, NavigationProcess

LEVEL = re.compile(r"\[(WARN|ERROR|FATAL)\]\s*(?:\[[\d.]+\])?\s*(?:\[[\w./-]+\])?:?\s*(.*)")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
AMCL = "amcl"


class MissingNav2Error(RuntimeError):
    """Nav2 is not installed."""


def navigation(arguments: Mapping[str, object], *, localize: bool) -> NavigationGraph:
    """The graph of nav2.launch.py on a saved map; without `localize` no AMCL, the map then has the origin of odom."""
    planned = nav2_graph.plan(arguments, nav2_graph.nav2_trees())
    parameters = {
        name: {"ros__parameters": dict(section["ros__parameters"])} for name, section in planned.parameters.items()
    }
    processes = planned.processes
    if localize:
        parameters[f"/{AMCL}"]["ros__parameters"]["set_initial_pose"] = True  # the robot starts at the origin
    else:
        processes = tuple(process for process in processes if process.name != AMCL)
        parameters["/lifecycle_manager_localization"]["ros__parameters"]["node_names"] = ["map_server"]
    return NavigationGraph(processes, parameters, planned.namespace, planned.trees)


def command_lines(processes: Sequence[NavigationProcess], file: str) -> dict[str, list[str]]:
    """The command of each process, by name. Raises MissingNav2Error."""
    return {process.name: _command(process, file) for process in processes}


def _command(process: NavigationProcess, file: str) -> list[str]:
    try:
        program = Path(get_package_prefix(process.package), "lib", process.package, process.executable)
    except PackageNotFoundError:
        program = Path(process.executable)
    if not os.access(program, os.X_OK):
        name = process.package.replace("_", "-")
        raise MissingNav2Error(
            f"{process.package} is not installed: sudo apt install ros-DISTRO-{name}, then source ROS"
        )
    line = [str(program), "--ros-args", "-r", f"__node:={process.name}", "--params-file", file]
    for source, target in process.remaps.items():
        line += ["-r", f"{source}:={target}"]
    return line


class ReportCounter:
    """Counts warnings and errors in the output of processes; sentences that differ only in numbers are one."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.lines: list[str] = []  # everything, for a log

    def take(self, line: str) -> None:
        """Takes a line that starts with the name of its process in brackets."""
        self.lines.append(line)
        name, _, text = line.partition("] ")
        found = LEVEL.search(text)
        if found:
            self.counts[f"{name.lstrip('[')}: {NUMBER.sub('N', found[2]).strip()}"] += 1


def cpu_seconds(pids: Mapping[str, int]) -> dict[str, float]:
    """CPU time [s] that each process has used so far."""
    tick = os.sysconf("SC_CLK_TCK")
    used = {}
    for name, pid in pids.items():
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        used[name] = (int(fields[11]) + int(fields[12])) / tick
    return used
