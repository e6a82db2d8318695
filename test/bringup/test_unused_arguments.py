# SPDX-License-Identifier: Apache-2.0
"""Launch arguments and parameters that are valid but have no effect are named, with what to do."""

import pytest

from hexapod_control.bringup import node_graph
from hexapod_control.bringup.node_graph import unused_arguments
from hexapod_control.core.simulated_world import WORLDS
from hexapod_control.sim.world_settings import ONLY_IN


def notes(graph, **given):
    return list(unused_arguments(node_graph.specs(graph, given), given))


@pytest.mark.parametrize("graph", node_graph.GRAPHS)
def test_no_argument_at_its_default_is_reported(graph):
    assert notes(graph, **{each.name: each.default for each in node_graph.arguments(graph)}) == []


@pytest.mark.parametrize("name", [name for name in ONLY_IN if name in {a.name for a in node_graph.arguments("sim")}])
@pytest.mark.parametrize("world", WORLDS)
def test_an_argument_of_another_ground_is_named_with_its_worlds(name, world):
    remedy = " or ".join(ONLY_IN[name])
    note = f"{name} has no effect in the world {world}: add world:={remedy}"
    assert notes("sim", world=world, **{name: "0"}) == ([] if world in ONLY_IN[name] else [note])


@pytest.mark.parametrize(
    ("graph", "name", "value", "remedy"),
    [
        ("bringup", "web_port", "9000", {"web": "true"}),
        ("bringup", "web_lan", "true", {"web": "true"}),
        ("sim", "web_bind", "127.0.0.1", {"web": "true"}),
        ("sim", "servo_port", "/tmp/bus", {"bus": "feetech_st"}),
        ("bringup", "i2c_bus", "/dev/i2c-1", {"imu": "true"}),
    ],
)
def test_an_argument_that_nothing_uses_is_named_until_the_remedy_is_given(graph, name, value, remedy):
    off = {"web": "false"} if name == "web_bind" else {}
    [note] = notes(graph, **{name: value}, **off)
    assert note.startswith(f"{name} has no effect")
    assert notes(graph, **{name: value}, **remedy) == []


def test_a_section_of_a_parameter_file_for_a_misspelt_node_is_named_with_its_line(tmp_path):
    path = tmp_path / "parameters.yaml"
    path.write_text(
        "/**:\n  ros__parameters: {gait: wave}\nodometry:\n  ros__parameters: {mode: legs}\n"
        "left:\n  gait_planer:\n    ros__parameters: {gait: wave}\n"
    )
    text = "no node 'gait_planer' is started, so its parameters have no effect; did you mean gait_planner?"
    assert notes("sim", params_file=str(path)) == [f"{path}:7: {text}"]
