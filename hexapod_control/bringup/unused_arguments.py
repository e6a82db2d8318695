"""Launch arguments, and sections of a parameter file, that are valid but have no effect on what a graph starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from hexapod_control.bringup.launch_arguments import ARGUMENTS
from hexapod_control.bringup.node_graph import NodeSpec
from hexapod_control.config.parameter_file import node_sections
from hexapod_control.config.schema import did_you_mean
from hexapod_control.core.names import quoted
from hexapod_control.servos.settings.io_section import has_sensors
from hexapod_control.sim.world_settings import ONLY_IN, WorldSettings


def unused_arguments(specs: Sequence[NodeSpec], given: Mapping[str, object]) -> Iterator[str]:
    """Yields a sentence for each given argument that has no effect on these nodes; `given` are checked already."""
    values = {
        name: str(value) for name, value in given.items() if value is not None and str(value) != ARGUMENTS[name].default
    }
    nodes = [spec.executable for spec in specs]
    for name in filter(values.get, values):
        if name.startswith("web_") and "web" not in nodes:
            yield f"{name} has no effect without the page: add web:=true"
        elif name in ONLY_IN and (world := values.get("world", WorldSettings().world)) not in ONLY_IN[name]:
            yield f"{name} has no effect in the world {world}: add world:={' or '.join(ONLY_IN[name])}"
        elif name == "servo_port" and "mujoco_sim" in nodes and "servo_driver" not in nodes:
            yield "servo_port has no effect without an emulated bus: add bus:=PROTOCOL"
        elif name == "i2c_bus" and "imu_driver" not in nodes and not has_sensors(values.get("robot", "phantomx")):
            yield "i2c_bus has no effect, as the robot file has no sensor on I2C: add its section io"
    for file in dict.fromkeys(spec.params_file for spec in specs if spec.params_file):
        yield from _unused_sections(Path(file), nodes)


def _unused_sections(path: Path, nodes: Sequence[str]) -> Iterator[str]:
    """Yields a sentence for each section of a parameter file that is for none of these nodes."""
    for name, section in node_sections(path):
        if "*" not in name and name not in nodes:
            hint = did_you_mean(name, nodes) or f"the nodes are {', '.join(nodes)}"
            yield f"{path}:{section.line}: no node {quoted(name)} is started, so its parameters have no effect; {hint}"
