# SPDX-License-Identifier: Apache-2.0
"""The command that starts a node, and the spec of one process that runs all nodes of a robot, merged from their specs.

Its arguments are the specs as JSON, in the order of the graph. The program is cli/robot/one_process.py.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence

from hexapod_control.bringup.launch_arguments import ARGUMENTS, GraphError
from hexapod_control.bringup.node_graph import PACKAGE, WALKING, NodeSpec

ROBOT = "robot_process"
SIMULATION = "sim_process"
EXECUTABLES = (ROBOT, SIMULATION)
MODULE = f"{PACKAGE}.cli.robot.one_process"
# Of a computer on which the launch files start one process: separate ones take 280 MB, but may use more than one core.
MAX_MEMORY_GB = 1.5


def one_process_reason(graph: str, given: Mapping[str, str], memory: float) -> str:
    """Returns why a graph runs in one process; empty if it does not. `memory` is that of the computer [GB].

    Raises GraphError.
    """
    text = given.get("one_process", "")
    if graph not in WALKING or (text and not ARGUMENTS["one_process"].value(text)):
        return ""
    if text:
        return "all nodes run in one process"
    because = f"all nodes run in one process, as this computer has {memory:.1f} GB of memory"
    return f"{because}; one_process:=false starts one for each" if memory <= MAX_MEMORY_GB else ""


def merged(specs: Sequence[NodeSpec]) -> NodeSpec:
    """Returns the spec of one process for these nodes. Raises GraphError for nodes of other packages."""
    for spec in specs:
        if spec.package != PACKAGE:
            raise GraphError(f"one_process: must be false for {spec.executable}, which is not of {PACKAGE}")
    name = SIMULATION if any(spec.executable == "mujoco_sim" for spec in specs) else ROBOT
    return NodeSpec(name, arguments=tuple(map(_text, specs)), namespace=specs[0].namespace)


def in_one(specs: Sequence[NodeSpec]) -> list[NodeSpec]:
    """Returns the spec of one process for the nodes of this package, and those of other packages as they are."""
    return [
        merged([spec for spec in specs if spec.package == PACKAGE]),
        *(spec for spec in specs if spec.package != PACKAGE),
    ]


def _text(spec: NodeSpec) -> str:
    values = {"executable": spec.executable, "parameters": dict(spec.parameters), "remaps": dict(spec.remaps)}
    return json.dumps({**values, "params_file": spec.params_file, "needs": spec.needs})


def parts(texts: Sequence[str]) -> list[NodeSpec]:
    """Returns the nodes of a process from its arguments; their namespace is that of the process."""
    found = [NodeSpec(**json.loads(text)) for text in texts]
    return [dataclasses.replace(spec, needs=tuple(spec.needs)) for spec in found]


def ending_order(specs: Sequence[NodeSpec]) -> Iterator[NodeSpec]:
    """Yields the nodes so that each one comes before those that it needs."""
    left = {spec.executable: spec for spec in specs}
    while left:
        needed = {need for spec in left.values() for need in spec.needs}
        for name in [name for name in left if name not in needed] or list(left):
            yield left.pop(name)


def memory_gb() -> float:
    """Memory of this computer [GB = 2^30 bytes]."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30


def command_line(spec: NodeSpec) -> list[str]:
    """Returns the command that starts a node of this package with the running Python, from any working folder."""
    return [sys.executable, "-P", "-m", module_of(spec.executable), *spec.arguments, *ros_arguments(spec)]


def module_of(executable: str) -> str:
    """Returns the name of the module whose `main` runs a node, or a process with several nodes."""
    together = executable in EXECUTABLES
    return MODULE if together else f"{PACKAGE}.nodes.{executable}.{executable}"


def ros_arguments(spec: NodeSpec) -> list[str]:
    """Returns the part of the command from --ros-args on."""
    line = ["--ros-args"]
    for name, value in spec.parameters.items():
        line += ["-p", f"{name}:={json.dumps(value)}"]  # quoted as JSON, so that ROS does not read a text as a number
    for source, target in spec.remaps.items():
        line += ["-r", f"{source}:={target}"]
    line += ["--params-file", spec.params_file] if spec.params_file else []
    return [*line, "-r", f"__ns:={spec.namespace}"] if spec.namespace else line
