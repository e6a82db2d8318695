# SPDX-License-Identifier: Apache-2.0
"""gazebo.launch.py: bridges, controllers and URDF fit each other and our nodes. Gazebo itself does not run here."""

import xml.etree.ElementTree as ET

import pytest
from ruamel.yaml import YAML
from support import launch_stubs
from support.robots.head import head_file

from hexapod_control.bringup import gazebo_graph
from hexapod_control.bringup.launch_arguments import GraphError
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import HARDWARE
from hexapod_control.config.shipped_files import share
from hexapod_control.core.names import joint_names

SENSORS = {"imu": "gz.msgs.IMU", "force_torque": "gz.msgs.Wrench"}  # what Gazebo's sensors publish
ROS_TYPES = {  # of the table of ros_gz_bridge
    "gz.msgs.Clock": "rosgraph_msgs/msg/Clock",
    "gz.msgs.IMU": "sensor_msgs/msg/Imu",
    "gz.msgs.Wrench": "geometry_msgs/msg/WrenchStamped",
}
SYSTEMS = {"imu": "gz-sim-imu-system", "force_torque": "gz-sim-forcetorque-system"}
WORLD = ET.parse(share("config", "gazebo_world.sdf")).getroot().find("world")


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """A folder in the place of ros_gz_sim."""
    monkeypatch.setattr(gazebo_graph, "get_package_share_directory", lambda name: str(tmp_path / name))


@pytest.fixture
def planned(installed, tmp_path):
    return gazebo_graph.plan({"robot": str(head_file(tmp_path)), "headless": "true"}, tmp_path)


def program(planned, name):
    (found,) = [spec for spec in planned.programs if spec.executable == name]
    return found


def test_every_sensor_of_the_urdf_is_bridged_with_its_type_and_has_its_system_in_the_world(planned, tmp_path):
    description = ET.fromstring(program(planned, "robot_state_publisher").parameters["robot_description"])
    sensors = {sensor.findtext("topic"): sensor.get("type") for sensor in description.iter("sensor")}
    bridges = YAML(typ="safe").load((tmp_path / "bridge.yaml").read_text())
    assert program(planned, "parameter_bridge").parameters["config_file"] == str(tmp_path / "bridge.yaml")
    by_topic = {row["gz_topic_name"].lstrip("/"): row for row in bridges}
    assert set(by_topic) == {*sensors, "clock"} and len(sensors) == 1 + 6
    for topic, kind in sensors.items():
        assert by_topic[topic]["gz_type_name"] == SENSORS[kind]
    for row in bridges:
        assert row["ros_type_name"] == ROS_TYPES[row["gz_type_name"]] and row["direction"] == "GZ_TO_ROS"
    loaded = {plugin.get("filename") for plugin in WORLD.findall("plugin")}
    assert set(SYSTEMS.values()) | {"gz-sim-physics-system", "gz-sim-user-commands-system"} <= loaded


def test_bridged_topics_are_those_that_our_nodes_subscribe_to(planned, bench, tmp_path):
    from support.real_time.ros_bench import overrides

    from hexapod_control.nodes.gazebo_driver.gazebo_driver import GazeboDriverNode

    (spec,) = [spec for spec in planned.nodes if spec.executable == "gazebo_driver"]
    node = bench.add(GazeboDriverNode(parameter_overrides=overrides(**spec.parameters)))
    subscribed = {
        s.topic_name.lstrip("/"): f"{s.msg_type.__module__.split('.')[0]}/msg/{s.msg_type.__name__}"
        for s in node.all_subscriptions
    }
    rows = {
        row["ros_topic_name"].lstrip("/"): row["ros_type_name"]
        for row in gazebo_graph.bridges(load(str(spec.parameters["robot"])).robot)
    }
    of_others = {"clock", "imu/data"}
    assert {topic: subscribed[topic] for topic in rows.keys() - of_others} == {
        t: rows[t] for t in rows.keys() - of_others
    }
    assert [p.topic_name for p in node.publishers if p.topic_name.startswith("/position_controller")] == [
        "/position_controller/commands"
    ]


def test_all_nodes_run_on_simulated_time_and_one_node_publishes_the_frames(planned):
    names = [spec.executable for spec in planned.nodes]
    assert {"gazebo_driver", "gait_planner", "inverse_kinematics", "odometry"} <= set(names)
    assert not {"mujoco_sim", "servo_driver", "link_frames", "robot_state_publisher"} & set(names)
    assert all(spec.parameters["use_sim_time"] is True for spec in planned.nodes)
    assert program(planned, "robot_state_publisher").parameters["use_sim_time"] is True


def test_the_controller_moves_all_joints_in_the_order_of_the_driver_and_gazebo_loads_its_file(planned, tmp_path):
    parameters = YAML(typ="safe").load((tmp_path / "controllers.yaml").read_text())
    controller = parameters["/**/position_controller"]["ros__parameters"]
    legs = load(str(tmp_path / "head.yaml")).robot.leg_names
    assert controller == {"joints": [*joint_names(legs), "pan_joint", "tilt_joint"], "interface_name": "position"}
    manager = parameters["/**/controller_manager"]["ros__parameters"]
    spawned = program(planned, "spawner").arguments
    assert set(gazebo_graph.CONTROLLERS) < set(manager) and set(gazebo_graph.CONTROLLERS) < set(spawned)
    assert parameters["/**/joint_state_broadcaster"]["ros__parameters"]["use_local_topics"] is False
    description = ET.fromstring(program(planned, "robot_state_publisher").parameters["robot_description"])
    plugin = description.find("gazebo/plugin")
    assert plugin.findtext("parameters") == str(tmp_path / "controllers.yaml")
    hardware = {each.findtext("hardware/plugin") for each in description.findall("ros2_control")}
    assert hardware == {HARDWARE["gazebo"]}
    starts = [
        interface.find("param[@name='initial_value']")
        for interface in description.iter("state_interface")
        if interface.get("name") == "position"
    ]
    assert len(starts) == 20 and all(start is not None for start in starts)


def test_arguments_of_the_world_go_to_gazebo_and_all_others_are_checked(planned, installed, tmp_path):
    assert planned.simulator_arguments["gz_args"] == f"-r -s {share('config', 'gazebo_world.sdf')}"
    own = gazebo_graph.plan({"world_file": "mine.sdf", "gait": "wave", "web": "false"}, tmp_path)
    assert own.simulator_arguments["gz_args"] == "-r mine.sdf"
    (planner,) = [spec for spec in own.nodes if spec.executable == "gait_planner"]
    assert planner.parameters["gait"] == "wave" and "web" not in [spec.executable for spec in own.nodes]
    for given, reason in (
        ({"headles": "true"}, "headles: unknown argument of gazebo, did you mean headless?"),
        ({"gait": "gallop"}, "gait: "),
        ({"robot": "mine.urdf"}, "robot: must be a robot file, is mine.urdf"),
    ):
        with pytest.raises(GraphError) as refused:
            gazebo_graph.plan(given, tmp_path)
        assert str(refused.value).startswith(reason)


def test_without_gazebo_the_packages_are_named(tmp_path):
    with pytest.raises(GraphError, match="Gazebo is not installed: sudo apt install ros-jazzy-ros-gz"):
        gazebo_graph.plan({}, tmp_path)


def test_the_launch_file_starts_it_and_ends_with_gazebo_and_its_bridge(monkeypatch, installed):
    launch_stubs.install(monkeypatch)
    started = launch_stubs.Include(robot="phantomx").start(share("launch", "gazebo.launch.py"))
    simulator, *nodes = started
    assert dict(simulator.launch_arguments)["on_exit_shutdown"] == "true"
    ends = {node.named["executable"]: node.named["on_exit"] is not None for node in nodes}
    assert not ends["create"] and not ends["spawner"]
    assert ends["parameter_bridge"] and ends["robot_state_publisher"] and ends["gait_planner"]
