# SPDX-License-Identifier: Apache-2.0
"""Properties of the table of nodes and of the command lines made from it."""

import ast
import importlib
import inspect
import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from support.drives import GAIT_NAMES
from support.paths import ROOT

from hexapod_control.bringup import launch_arguments, node_graph
from hexapod_control.bringup.launch_arguments import ARGUMENTS
from hexapod_control.bringup.shared_process import command_line, in_one, parts
from hexapod_control.config.errors import FileError, RobotFileError
from hexapod_control.config.shipped_files import share
from hexapod_control.core.names import STANDARD, joint_names
from hexapod_control.core.simulated_world import WORLDS
from hexapod_control.ros import parameters
from hexapod_control.ros.distribution import stamped_by_default

ROWS = [(name, row) for name, rows in node_graph.GRAPHS.items() for row in rows]
WALKING = ("sim", "bringup")


def by_name(name, in_launch_file=False, **given):
    return {spec.executable: spec for spec in node_graph.specs(name, given, in_launch_file=in_launch_file)}


@pytest.mark.parametrize(("name", "row"), ROWS, ids=lambda value: getattr(value, "executable", value))
def test_every_row_leads_to_known_arguments_and_nodes(name, row):
    assert {*row.parameters.values(), *row.remaps.values()} <= set(ARGUMENTS)
    assert set(row.needs) <= {other.executable for other in node_graph.GRAPHS[name]}


@pytest.mark.parametrize(("name", "row"), ROWS, ids=lambda value: getattr(value, "executable", value))
def test_topic_names_are_relative(name, row):
    assert not [topic for topic in row.remaps if topic.startswith("/")]


@pytest.mark.parametrize("name", node_graph.GRAPHS)
def test_dependencies_of_nodes_have_no_cycle(name):
    rows = {row.executable: set(row.needs) for row in node_graph.GRAPHS[name]}
    while rows:
        free = [executable for executable in rows if not any(executable in needs for needs in rows.values())]
        assert free, f"circle among {', '.join(rows)}"
        for executable in free:
            del rows[executable]


@pytest.mark.parametrize("name", node_graph.GRAPHS)
def test_every_argument_has_a_description(name):
    assert all(argument.description for argument in node_graph.arguments(name))


@pytest.mark.parametrize("name", node_graph.GRAPHS)
def test_every_default_is_a_value_of_its_kind(name):
    for argument in node_graph.arguments(name):
        if argument.default:
            argument.value(argument.default)


def test_imu_driver_is_started_if_the_robot_file_has_an_imu_or_on_request():
    kit = ROOT / "config" / "robots" / "freenove.yaml"
    assert "imu_driver" in by_name("bringup", robot=kit)
    assert "imu_driver" not in by_name("bringup", robot=kit, imu="false")
    nodes = by_name("bringup", robot=kit, i2c_bus="/dev/i2c-3")
    assert nodes["imu_driver"].parameters["bus"] == nodes["servo_driver"].parameters["i2c_bus"] == "/dev/i2c-3"
    assert "imu_driver" not in by_name("bringup", robot="phantomx")
    assert "imu_driver" in by_name("bringup", robot="phantomx", imu="true")


def test_the_ground_is_mapped_and_the_map_is_used_if_there_is_a_depth_camera_or_on_request(tmp_path):
    eyed = tmp_path / "eyed.yaml"
    phantomx = (ROOT / "config" / "robots" / "phantomx.yaml").read_text()
    eyed.write_text(f"{phantomx}\ncameras:\n  eye: {{position: [0.1, 0.0, 0.1], rpy_deg: [0, 40, 0]}}\n")
    mounted = {"robot": eyed}
    given = (("sim", {"depth_camera": "front"}), ("sim", mounted), ("bringup", mounted), ("gazebo", mounted))
    clouds = {"point_clouds": "lidar/points"}
    for graph, arguments in (*given, ("bringup", {"terrain_map": "true"}), ("sim", clouds)):
        nodes = by_name(graph, **arguments)
        assert "terrain_map" in nodes
        assert nodes["odometry"].parameters["mode"] == "legs_imu_3d"
        planner = nodes["gait_planner"].parameters
        assert planner["map_footholds"] is planner["adaptive_touch_down"] is True
    assert by_name("sim", **clouds)["terrain_map"].parameters["point_clouds"] == "lidar/points"
    blind = by_name("sim", robot=eyed, map_footholds="false", adaptive_touch_down="false")["gait_planner"].parameters
    assert blind["map_footholds"] is blind["adaptive_touch_down"] is False
    assert "map_footholds" not in by_name("sim", robot=eyed, terrain_map="false")["gait_planner"].parameters
    assert by_name("sim", depth_camera="front", odometry_mode="legs")["odometry"].parameters["mode"] == "legs"
    assert "terrain_map" not in by_name("sim", depth_camera="front", terrain_map="false")
    for graph in WALKING:
        assert "terrain_map" not in by_name(graph)


def test_simulation_and_real_robot_differ_only_in_the_hardware_node_and_the_page():
    simulated, real = (set(by_name(name)) for name in WALKING)
    assert simulated ^ real == {"mujoco_sim", "servo_driver", "web"}


def test_the_page_is_started_in_simulation_and_on_request():
    assert "web" not in by_name("sim", web=False)
    nodes = by_name("bringup", web="true", web_lan="true", web_port=0)
    assert nodes["web"].parameters["lan"] is True
    assert nodes["web"].parameters["port"] == 0


def test_parameters_without_a_value_keep_the_default_of_the_node():
    assert set(by_name("sim")["mujoco_sim"].parameters) == {"robot", "publish_clock"}


def test_arguments_become_typed_parameters():
    spec = by_name("sim", world="blocks", seed="7", friction="0.5", use_sim_time="true")["mujoco_sim"]
    assert spec.parameters == {
        "robot": "phantomx",
        "world": "blocks",
        "seed": 7,
        "friction": 0.5,
        "publish_clock": True,
    }


def test_the_simulator_never_waits_for_the_clock_it_makes():
    nodes = by_name("sim", use_sim_time=True)
    assert "use_sim_time" not in nodes.pop("mujoco_sim").parameters
    assert all(spec.parameters["use_sim_time"] is True for spec in nodes.values())


def test_the_namespace_reaches_every_node():
    assert {spec.namespace for spec in node_graph.specs("sim", {"namespace": "/spider/"})} == {"/spider"}


def test_a_robot_file_is_found_from_every_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(share("config", "robots", "phantomx.yaml"), "mine.yaml")
    assert by_name("sim", robot="mine.yaml")["gait_planner"].parameters["robot"] == str(Path("mine.yaml").absolute())


@pytest.mark.parametrize(
    ("graph", "given", "message"),
    [
        ("sim", {"robt": "article"}, "robt: unknown argument of sim, did you mean robot?"),
        ("teleop", {"zzz": "x"}, "zzz: unknown argument of teleop, known are namespace, use_sim_time"),
        ("sim", {"seed": "many"}, 'seed: must be in [0, 2147483647], is "many"'),
        ("sim", {"use_sim_time": "maybe"}, "use_sim_time: must be true or false, is 'maybe'"),
        ("sim", {"world": "moon"}, f"world must be one of {', '.join(WORLDS)}, is 'moon'"),
        ("sim", {"servo_model": "rocket"}, "servo_model must be one of ax12, mg90s, "),
        ("sim", {"friction": "nan"}, "friction: must be in [0.01, 5], is nan"),
        ("sim", {"bus": "loopback"}, "bus: must be one of feetech_st, "),
        ("sim", {"gait": "trot"}, f"gait: unknown gait 'trot'; known: {', '.join(GAIT_NAMES)}"),
        (
            "bringup",
            {"odometry_mode": "gps"},
            "odometry_mode: must be one of commanded, legs, legs_imu, legs_imu_3d, is 'gps'",
        ),
        ("bringup", {"servo_protocol": "feetech"}, 'servo_protocol: is "feetech", must be one of feetech_st, '),
        ("bringup", {"servo_protocol": "lx16a"}, "servo_port: must be given with lx16a, which is not in the section"),
    ],
)
def test_a_bad_argument_is_named_before_anything_starts(graph, given, message):
    with pytest.raises(node_graph.GraphError, match=f"^{re.escape(message)}"):
        node_graph.specs(graph, given)


def test_a_joint_mapping_that_cannot_be_read_is_refused_before_anything_starts():
    with pytest.raises(FileError, match=r"^none\.yaml: there is no such file"):
        node_graph.specs("sim", {"joint_mapping": "none.yaml"})


def test_with_a_parameter_file_the_nodes_decide_what_suits_the_robot(tmp_path):
    """The file may name another robot than the arguments."""
    file = tmp_path / "four_legs.yaml"
    file.write_text("/**: {ros__parameters: {robot: quadruped}}\n")
    assert by_name("sim", params_file=file, gait="crawl")["gait_planner"].parameters["gait"] == "crawl"


def test_a_command_line_has_all_parameters_remaps_and_the_namespace():
    spec = by_name("sim", namespace="a", cmd_vel="cmd_vel_nav", gait="wave", enable_stamped_cmd_vel="false")[
        "gait_planner"
    ]
    arguments = command_line(spec)
    assert arguments[:4] == [sys.executable, "-P", "-m", "hexapod_control.nodes.gait_planner.gait_planner"]
    assert " ".join(arguments[4:]) == (
        '--ros-args -p robot:="phantomx" -p use_sim_time:=false -p gait:="wave" -p enable_stamped_cmd_vel:=false '
        "-r cmd_vel:=cmd_vel_nav -r __ns:=/a"
    )


def test_a_parameter_file_comes_last_on_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text("/**: {}\n")
    arguments = command_line(by_name("sim", params_file="mine.yaml")["odometry"])
    assert arguments[-2:] == ["--params-file", str(Path("mine.yaml").absolute())]


@pytest.mark.parametrize("graph", [*WALKING, "display"])
@pytest.mark.parametrize(
    ("robot", "sentence"),
    [("nope", "nope: is not a known robot, known: article"), ("./nope.yaml", "nope.yaml: there is no such file")],
)
def test_a_robot_that_cannot_be_loaded_is_refused_before_anything_starts(graph, robot, sentence):
    with pytest.raises(RobotFileError, match=re.escape(sentence)):
        node_graph.specs(graph, {"robot": robot})


def test_a_text_that_looks_like_a_number_stays_a_text():
    words = command_line(by_name("sim", tf_frame_prefix="42")["gait_planner"])
    [value] = [word for word in words if word.startswith("tf_frame_prefix:=")]
    assert json.loads(value.removeprefix("tf_frame_prefix:=")) == "42"


@pytest.mark.parametrize(
    ("distribution", "stamped"),
    [("humble", False), ("jazzy", False), ("kilted", True), ("lyrical", True), ("rolling", True)],
)
def test_commands_are_stamped_from_kilted_on(monkeypatch, distribution, stamped):
    monkeypatch.setenv("ROS_DISTRO", distribution)
    assert stamped_by_default() is stamped


def view_of(file):
    return YAML(typ="safe").load(Path(file))["Visualization Manager"]


FRAMES = {"robot_state_publisher", "link_frames"}


@pytest.fixture(params=[True, False], ids=["installed", "not installed"])
def installed(request, tmp_path, monkeypatch):
    """Whether robot_state_publisher is found."""
    index = tmp_path / "share" / "ament_index" / "resource_index" / "packages"
    index.mkdir(parents=True)
    (index / "robot_state_publisher").touch() if request.param else None
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"{tmp_path}{os.pathsep}{os.environ['AMENT_PREFIX_PATH']}")
    return request.param


@pytest.mark.parametrize("graph", WALKING)
def test_one_node_publishes_the_frames_of_the_links_the_standard_one_where_a_launch_file_can_start_it(installed, graph):
    given = {argument.name: "" for argument in node_graph.arguments(graph)} | {"tf_frame_prefix": "a/"}
    off = {**given, "robot_state_publisher": "false"}
    for in_launch_file in (False, True):
        nodes = by_name(graph, in_launch_file=in_launch_file, **given)
        name = "robot_state_publisher" if installed and in_launch_file else "link_frames"
        assert FRAMES & set(nodes) == {name}
        assert nodes[name].parameters["tf_frame_prefix" if name == "link_frames" else "frame_prefix"] == "a/"
        assert nodes[name].parameters.get("robot_description", "<joint" * 18).count("<joint") >= 18
        assert not FRAMES & set(by_name(graph, in_launch_file=in_launch_file, **off))


def test_of_a_robot_with_a_joint_mapping_our_frames_are_published_on_request(installed, tmp_path):
    rows = [f"  {name}: {{name: {name}, sign: 1, offset: 0.0}}\n" for name in joint_names(STANDARD)]
    (tmp_path / "mine.joints.yaml").write_text("joints:\n" + "".join(rows))
    mapped = {"joint_mapping": str(tmp_path / "mine.joints.yaml")}
    assert not FRAMES & set(by_name("sim", in_launch_file=True, **mapped))
    on_request = by_name("sim", in_launch_file=True, robot_state_publisher="true", **mapped)
    assert FRAMES & set(on_request) == {"link_frames"}


def test_in_one_process_the_standard_program_runs_beside_it_and_ours_within(installed):
    merged, *others = in_one(node_graph.specs("bringup", in_launch_file=True))
    assert {spec.executable for spec in others} == ({"robot_state_publisher"} if installed else set())
    assert ("link_frames" in {part.executable for part in parts(merged.arguments)}) is not installed


def test_display_publishes_frames_only_of_what_the_robot_does_not():
    assert "robot_state_publisher" not in by_name("display", robot="phantomx")
    nodes = by_name("display", robot="phantomx", robot_state_publisher="true")
    assert nodes["robot_state_publisher"].parameters["robot_description"].count("<joint") >= 18
    config, frame = nodes["rviz2"].arguments[1], nodes["rviz2"].arguments[3]
    assert (Path(config), frame) == (share("config", "rviz", "hexapod.rviz"), "odom")


def test_display_shows_a_robot_whose_frames_have_a_prefix():
    nodes = by_name("display", robot="phantomx", tf_frame_prefix="spider/", robot_state_publisher=True)
    assert nodes["robot_state_publisher"].parameters["frame_prefix"] == "spider/"
    config, frame = nodes["rviz2"].arguments[1], nodes["rviz2"].arguments[3]
    view, shipped = view_of(config), view_of(share("config", "rviz", "hexapod.rviz"))
    Path(config).unlink()
    assert frame == "spider/odom"
    assert view["Views"]["Current"].pop("Target Frame") == "spider/base_footprint"
    assert shipped["Views"]["Current"].pop("Target Frame") == "base_footprint"
    prefixes = [[d.pop("TF Prefix") for d in each["Displays"] if "TF Prefix" in d] for each in (view, shipped)]
    assert prefixes == [["spider"], [""]]  # RViz adds the slash
    assert view == shipped


def test_display_adds_the_tags_of_ros2_control_to_the_urdf_of_a_robot_file_only():
    for wanted in (False, True):
        nodes = by_name("display", robot="quadruped", ros2_control=wanted, robot_state_publisher=True)
        assert ("<ros2_control" in nodes["robot_state_publisher"].parameters["robot_description"]) is wanted
    with pytest.raises(node_graph.GraphError, match=r"^ros2_control: must be false for a URDF, robot is my\.urdf"):
        by_name("display", robot="my.urdf", ros2_control=True)


def test_rviz_shows_the_robot_the_scan_the_terrain_and_the_nav2_path_and_sends_goals():
    view = view_of(share("config", "rviz", "hexapod.rviz"))
    topics = {
        item["Class"].split("/")[1]: (item.get("Topic") or item["Description Topic"])["Value"]
        for item in (*view["Displays"], *view["Tools"])
        if "Topic" in item or "Description Topic" in item
    }
    own = {"RobotModel": "robot_description", "MarkerArray": "foot_markers", "Odometry": "odom", "LaserScan": "scan"}
    own["PointCloud2"] = "terrain_map"
    of_nav2 = {"Map": "map", "Path": "plan", "SetInitialPose": "initialpose", "SetGoal": "goal_pose"}
    assert topics == {**own, **of_nav2}


def declared(executable):
    """The parameters that a node declares, by name: the settings it gives to `declare`."""
    module = importlib.import_module(f"hexapod_control.nodes.{executable}.{executable}")
    calls = [node for node in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(node, ast.Call)]
    calls = [call for call in calls if ast.unparse(call.func).split(".")[-1] == "declare"]
    assert calls, f"{executable} declares no parameters"
    kinds = [eval(ast.unparse(call.args[1]), vars(module)) for call in calls]
    return {row.name: row for kind in kinds for row in parameters.table(kind)}


OWN = [row for name in WALKING for row in node_graph.GRAPHS[name] if row.package == node_graph.PACKAGE]


@pytest.mark.parametrize("row", OWN, ids=lambda row: row.executable)
def test_every_parameter_of_the_graph_is_declared_by_its_node(row):
    kinds = {"text": str, "number": float, "whole number": int, "truth": bool}
    wanted = {name: kinds[ARGUMENTS[source].kind] for name, source in row.parameters.items()}
    wanted.pop("use_sim_time", None)  # of every node of ROS
    found = {name: type(parameter.default) for name, parameter in declared(row.executable).items()}
    assert wanted == {name: found.get(name, "not declared") for name in wanted}


@pytest.mark.parametrize("row", OWN, ids=lambda row: row.executable)
def test_the_bounds_of_a_parameter_are_those_of_its_launch_argument(row):
    found = declared(row.executable)
    for name, source in row.parameters.items():
        quantity = found[name].quantity if name in found else None
        for bound, outwards in ((quantity.lower, -1), (quantity.upper, 1)) if quantity else ():
            launch_arguments.argument_values("sim", [ARGUMENTS[source]], {source: bound})
            with pytest.raises(node_graph.GraphError, match=rf"^{source}: must be in \["):
                launch_arguments.argument_values("sim", [ARGUMENTS[source]], {source: bound + outwards})


def test_the_urdf_of_another_program_is_shown_as_it_is(tmp_path):
    """RViz then shows its joints with the joint mapping of the nodes."""
    (tmp_path / "robot.urdf").write_text('<robot name="other"><link name="base"/></robot>')
    spec = by_name("display", robot=str(tmp_path / "robot.urdf"))["robot_state_publisher"]
    assert spec.parameters["robot_description"] == '<robot name="other"><link name="base"/></robot>'


def test_the_joint_mapping_reaches_every_node_that_reads_or_writes_joints(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"  {name}: {{name: {name}, sign: 1, offset: 0.0}}\n" for name in joint_names(STANDARD)]
    Path("mine.joints.yaml").write_text("joints:\n" + "".join(rows))
    specs = by_name("bringup", joint_mapping="mine.joints.yaml", web=True)
    given = {name for name, spec in specs.items() if "joint_mapping" in spec.parameters}
    assert given >= {"servo_driver", "inverse_kinematics", "gait_planner", "odometry", "web"}
    assert specs["odometry"].parameters["joint_mapping"] == str(Path("mine.joints.yaml").absolute())
