"""The command that starts a node of a graph."""

from __future__ import annotations

import json
import sys

from hexapod_control.bringup import shared_process
from hexapod_control.bringup.node_graph import PACKAGE, NodeSpec


def command_line(spec: NodeSpec) -> list[str]:
    """Returns the command that starts a node of this package with the running Python, from any working folder."""
    return [sys.executable, "-P", "-m", module_of(spec.executable), *spec.arguments, *ros_arguments(spec)]


def module_of(executable: str) -> str:
    """Returns the name of the module whose `main` runs a node, or a process with several nodes."""
    together = executable in shared_process.EXECUTABLES
    return shared_process.MODULE if together else f"{PACKAGE}.nodes.{executable}.{executable}"


def ros_arguments(spec: NodeSpec) -> list[str]:
    """Returns the part of the command from --ros-args on."""
    line = ["--ros-args"]
    for name, value in spec.parameters.items():
        line += ["-p", f"{name}:={json.dumps(value)}"]  # quoted as JSON, so that ROS does not read a text as a number
    for source, target in spec.remaps.items():
        line += ["-r", f"{source}:={target}"]
    line += ["--params-file", spec.params_file] if spec.params_file else []
    return [*line, "-r", f"__ns:={spec.namespace}"] if spec.namespace else line
