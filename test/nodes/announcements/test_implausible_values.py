# SPDX-License-Identifier: Apache-2.0
"""Implausible values of a robot file: every node warns if started alone; in a graph only one node warns."""

import pytest
from support.phantomx import mistaken_file
from support.real_time.ros_bench import overrides

from hexapod_control.bringup.node_graph import GRAPHS
from hexapod_control.nodes.announcements.robot_file_reports import REPORTING_NODE
from hexapod_control.nodes.gait_planner.gait_planner import GaitPlannerNode
from hexapod_control.nodes.mujoco_sim.mujoco_sim import MujocoSimNode
from hexapod_control.nodes.servo_driver.servo_driver import ServoDriverNode
from hexapod_control.ros.monitoring.graph_identity import VARIABLE, new_graph

STARTERS = (GaitPlannerNode, ServoDriverNode, MujocoSimNode)


def warnings(bench, path):
    nodes = [bench.add(kind(parameter_overrides=overrides(robot=str(path)))) for kind in STARTERS]
    return {node.get_name(): node.last_report("robot") for node in nodes if node.last_report("robot")}


@pytest.mark.physics
def test_a_node_that_is_started_alone_warns_of_an_implausible_value(bench, tmp_path):
    path = mistaken_file(tmp_path / "robot.yaml")
    found = warnings(bench, path)
    assert set(found) == {"gait_planner", "servo_driver", "mujoco_sim"}
    (text,) = set(found.values())
    assert text.startswith(f"implausible: {path}:49: leg.servo.stall_torque: is 15.3, ")
    assert text.endswith(f"looks like kg cm: 1.5 N m; `hexapod check {path}` explains")


@pytest.mark.physics
def test_of_nodes_that_are_started_together_one_warns(bench, tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, new_graph())
    assert set(warnings(bench, mistaken_file(tmp_path / "robot.yaml"))) == {REPORTING_NODE}


def test_every_graph_that_moves_a_robot_has_the_node_that_warns():
    for rows in GRAPHS.values():
        names = {row.executable for row in rows}
        assert REPORTING_NODE in names or not names & {"servo_driver", "mujoco_sim"}
