# SPDX-License-Identifier: Apache-2.0
"""The processes of ros2_control.launch.py."""

import pytest
from ruamel.yaml import YAML
from support import launch_stubs
from support.robots.head import head_file

from hexapod_control.bringup import control_graph, node_graph
from hexapod_control.bringup.launch_arguments import GraphError
from hexapod_control.config.robots.urdf import EXTRA_CONTROLLER, HARDWARE
from hexapod_control.config.shipped_files import share


@pytest.mark.parametrize(("hardware", "node"), [("sim", "mujoco_sim"), ("real", "servo_driver"), ("mock", "")])
def test_each_hardware_has_its_joints_a_description_with_its_plugin_and_controllers(tmp_path, hardware, node):
    found = control_graph.specs({"robot": "quadruped", "hardware": hardware, "namespace": "left"}, tmp_path)
    specs = {spec.executable: spec for spec in found}
    assert set(specs) - {"robot_state_publisher", "ros2_control_node", "spawner"} == ({node} if node else set())
    assert {spec.namespace for spec in found} == {"/left"}
    plugin = HARDWARE["topics" if node else "mock"]
    assert f"<plugin>{plugin}</plugin>" in specs["robot_state_publisher"].parameters["robot_description"]
    file = specs["ros2_control_node"].params_file
    assert specs["spawner"].arguments == (*control_graph.CONTROLLERS, "--param-file", file)
    parameters = YAML(typ="safe").load((tmp_path / "controllers.yaml").read_text())
    types = parameters["/**/controller_manager"]["ros__parameters"]
    assert set(control_graph.CONTROLLERS) <= set(types)
    assert len(parameters["/**/joint_trajectory_controller"]["ros__parameters"]["joints"]) == 12


def test_extra_joints_have_a_controller_also_beside_a_robot_that_walks(tmp_path):
    robot = str(head_file(tmp_path))
    found = {spec.executable: spec for spec in control_graph.specs({"robot": robot}, tmp_path)}
    assert found["spawner"].arguments[:3] == (*control_graph.CONTROLLERS, EXTRA_CONTROLLER)
    alone = control_graph.specs({"robot": robot, "joints": "extra"}, tmp_path)
    assert [spec.executable for spec in alone] == ["ros2_control_node", "spawner"]
    assert alone[1].arguments[0] == EXTRA_CONTROLLER and "joint_trajectory_controller" not in alone[1].arguments
    graphs = {name: node_graph.specs(name, {"robot": robot}, in_launch_file=True) for name in ("sim", "bringup")}
    for specs in graphs.values():
        published = [spec for spec in specs if spec.executable in ("robot_state_publisher", "link_frames")]
        assert len(published) == 1
    text = node_graph.robot_description(robot)
    assert text.count("<ros2_control ") == 1 and "extra_joint_targets" in text
    with pytest.raises(GraphError, match=r"joints: must be all, is extra; .*phantomx.yaml has no section extra_joints"):
        control_graph.specs({"joints": "extra"}, tmp_path)


def test_unknown_hardware_and_a_urdf_are_refused(tmp_path):
    with pytest.raises(GraphError, match="hardware: must be one of sim, real, mock, is 'gazebo'"):
        control_graph.specs({"hardware": "gazebo"}, tmp_path)
    with pytest.raises(GraphError, match=r"robot: must be a robot file, is my.urdf; hexapod import makes one"):
        control_graph.specs({"robot": "my.urdf"}, tmp_path)


def test_the_launch_file_ends_with_each_of_its_processes_but_the_spawner(monkeypatch):
    launch_stubs.install(monkeypatch)
    nodes = launch_stubs.Include(robot="phantomx", hardware="mock").start(share("launch", "ros2_control.launch.py"))
    with pytest.raises(GraphError, match="robt: unknown argument of ros2_control, did you mean robot"):
        launch_stubs.Include(robt="article").start(share("launch", "ros2_control.launch.py"))
    ends = {node.named["executable"]: node.named["on_exit"] is not None for node in nodes}
    assert ends == {"robot_state_publisher": True, "ros2_control_node": True, "spawner": False}
