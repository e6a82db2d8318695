# SPDX-License-Identifier: Apache-2.0
"""What nav2.launch.py starts: which processes, with which parameters, remaps, frames and namespaces."""

import re
import shutil
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from support import launch_stubs
from support.parameter_files import flat
from support.paths import DATA, ROOT

from hexapod_control.bringup import nav2_graph
from hexapod_control.bringup.launch_arguments import ARGUMENTS, GraphError
from hexapod_control.config.robots.nav2_parameters import TREES
from hexapod_control.config.robots.robot_file import resolve
from hexapod_control.config.shipped_files import share

FACTS = YAML(typ="safe").load(DATA / "nav2_parameters.yaml")
NODES = FACTS["nodes"]
SHIPPED = share("config", "nav2.yaml")


@pytest.fixture
def map_file(tmp_path):
    path = tmp_path / "map.yaml"
    path.write_text("image: map.pgm\n")
    return path


def parameters(planned, name):
    return planned.parameters[name]["ros__parameters"]


@pytest.mark.parametrize("process", [*nav2_graph.SERVERS, *nav2_graph.SAVED_MAP, *nav2_graph.SLAM, nav2_graph.EKF])
def test_every_process_is_an_executable_of_its_package(process):
    assert (process.package, process.executable) == tuple(NODES[process.name][k] for k in ("package", "executable"))


def test_velocity_goes_through_smoother_and_collision_monitor():
    planned = nav2_graph.plan({"slam": "true"})
    remaps = {process.name: process.remaps for process in planned.processes}
    assert remaps["controller_server"] == remaps["behavior_server"] == {"cmd_vel": "cmd_vel_nav"}
    assert remaps["velocity_smoother"] == {"cmd_vel": "cmd_vel_nav"}  # it publishes cmd_vel_smoothed
    assert parameters(planned, "/collision_monitor")["cmd_vel_in_topic"] == "cmd_vel_smoothed"
    assert parameters(planned, "/collision_monitor")["cmd_vel_out_topic"] == "cmd_vel"
    assert not remaps["collision_monitor"]


def test_every_process_has_parameters_of_its_own(map_file):
    for given in ({"slam": "true", "ekf": "true"}, {"map": map_file}):
        planned = nav2_graph.plan(given)
        assert {f"/{process.name}" for process in planned.processes} < set(planned.parameters)


def test_a_saved_map_is_served_and_amcl_localizes_on_it(map_file):
    planned = nav2_graph.plan({"map": map_file})
    assert parameters(planned, "/map_server")["yaml_filename"] == str(map_file)
    assert parameters(planned, "/lifecycle_manager_localization")["node_names"] == ["map_server", "amcl"]
    assert "/slam_toolbox" not in planned.parameters


def test_slam_takes_the_place_of_map_and_amcl():
    planned = nav2_graph.plan({"slam": "true"})
    assert parameters(planned, "/lifecycle_manager_localization")["node_names"] == ["slam_toolbox"]
    assert parameters(planned, "/slam_toolbox")["use_lifecycle_manager"] is True
    assert not {"map_server", "amcl"} & {process.name for process in planned.processes}


@pytest.mark.parametrize("given", [{}, {"map": "no.yaml"}, {"map": __file__, "slam": "true"}, {"mapp": "x"}])
def test_a_bad_argument_is_named(given):
    with pytest.raises(GraphError, match=r"^map"):
        nav2_graph.plan(given)


@pytest.mark.parametrize("stamped", [False, True])
def test_all_nodes_of_the_chain_agree_on_the_type_of_commands(stamped):
    planned = nav2_graph.plan({"slam": True, "enable_stamped_cmd_vel": stamped})
    found = {name: p["ros__parameters"].get("enable_stamped_cmd_vel") for name, p in planned.parameters.items()}
    assert {name for name, value in found.items() if value is stamped} == {f"/{name}" for name in nav2_graph.STAMPED}
    publishers = {name for name, facts in NODES.items() if "enable_stamped_cmd_vel" in facts["parameters"]}
    assert set(nav2_graph.STAMPED) == publishers


def test_commands_are_stamped_by_default_where_those_of_the_robot_are():
    default = {argument.name: argument.default for argument in nav2_graph.arguments()}["enable_stamped_cmd_vel"]
    assert default == ARGUMENTS["enable_stamped_cmd_vel"].default


def test_namespace_and_frame_prefix_reach_every_node_that_needs_them():
    given = {"slam": "true", "namespace": "/spider/", "tf_frame_prefix": "spider/", "use_sim_time": "true"}
    planned = nav2_graph.plan(given)
    assert planned.namespace == "spider"
    assert all(name.startswith("/spider/") for name in planned.parameters)
    assert all(p["ros__parameters"]["use_sim_time"] is True for p in planned.parameters.values())
    frames = {v for p in planned.parameters.values() for k, v in flat(p) if k.split(".")[-1] in nav2_graph.FRAME_KEYS}
    assert frames == {"spider/map", "spider/odom", "spider/base_footprint"}
    costmap = parameters(planned, "/spider/local_costmap/local_costmap")
    assert costmap["obstacle_layer"]["scan"]["topic"] == "/spider/scan"
    assert costmap["terrain_layer"]["map_topic"] == "/spider/traversability"


def test_the_ground_that_a_robot_sees_is_a_layer_of_the_costmap_that_rolls_with_it(tmp_path):
    eyed = tmp_path / "eyed.yaml"
    camera = "cameras:\n  eye: {position: [0.1, 0, 0.1], rpy_deg: [0, 40, 0]}\n"
    eyed.write_text(f"{resolve('phantomx').read_text()}\n{camera}")
    for given, seen in (
        ({}, False),
        ({"terrain_map": "true"}, True),
        ({"robot": eyed}, True),
        ({"robot": eyed, "terrain_map": "false"}, False),
    ):
        planned = nav2_graph.plan({"slam": "true", **given})
        costmap = parameters(planned, "/local_costmap/local_costmap")
        assert costmap["terrain_layer"]["enabled"] is seen
        assert costmap["rolling_window"] is True and costmap["plugins"].index("terrain_layer") == 0
        assert "terrain_layer" not in parameters(planned, "/global_costmap/global_costmap")["plugins"]


def test_robots_share_the_frame_of_a_saved_map(map_file):
    planned = nav2_graph.plan({"map": map_file, "tf_frame_prefix": "spider/"})
    assert parameters(planned, "/amcl")["global_frame_id"] == "map"
    assert parameters(planned, "/amcl")["odom_frame_id"] == "spider/odom"


def test_with_robot_localization_nav2_subscribes_to_its_odometry():
    planned = nav2_graph.plan({"slam": "true", "ekf": "true"})
    moved = {process.name for process in planned.processes if process.remaps.get("odom") == "odometry/filtered"}
    with_odom = {name for name, facts in NODES.items() if "odom_topic" in facts["parameters"]}
    assert moved == with_odom | {"controller_server"}  # which has no parameter for the topic
    assert "/ekf_filter_node" in planned.parameters


def test_the_topic_for_a_mux_is_the_output_of_the_last_node():
    planned = nav2_graph.plan({"slam": "true", "cmd_vel": "nav_vel"})
    assert [p.name for p in planned.processes if "nav_vel" in p.remaps.values()] == ["collision_monitor"]


def test_a_parameter_file_of_the_user_overrides_all_others(tmp_path):
    mine = tmp_path / "mine.yaml"
    mine.write_text(re.sub(r"vx_max: [\d.]+", "vx_max: 0.05", SHIPPED.read_text()) + "\n    use_sim_time: true\n")
    planned = nav2_graph.plan({"slam": "true", "params_file": mine, "robot": "article"})
    assert parameters(planned, "/controller_server")["FollowPath"]["vx_max"] == 0.05
    assert parameters(planned, "/controller_server")["use_sim_time"] is False


def test_the_behaviour_trees_of_nav2_get_the_times_of_the_robot(tmp_path, map_file):
    """Not a test of the times: test_nav2_trees.py."""
    for name in TREES.values():
        (tmp_path / name).write_text('<root><Sequence><Spin spin_dist="1.57"/></Sequence></root>')
    given = {"map": map_file, "gait": "wave", "namespace": "spider"}
    planned = nav2_graph.plan(given, tmp_path)
    written = planned.write(tmp_path)
    section = YAML(typ="safe").load(written)["/spider/bt_navigator"]["ros__parameters"]
    for parameter, name in TREES.items():
        assert Path(section[parameter]) == tmp_path / name
        assert "time_allowance" in (tmp_path / name).read_text()


def test_a_behaviour_tree_of_the_user_stays(tmp_path):
    mine = tmp_path / "mine.yaml"
    mine.write_text(
        SHIPPED.read_text().replace("bt_loop_duration", "default_nav_to_pose_bt_xml: x.xml\n    bt_loop_duration")
    )
    for name in TREES.values():
        (tmp_path / name).write_text("<root/>")
    planned = nav2_graph.plan({"slam": "true", "params_file": mine}, tmp_path)
    assert set(planned.trees) == {"default_nav_through_poses_bt_xml"}
    assert parameters(planned, "/bt_navigator")["default_nav_to_pose_bt_xml"] == "x.xml"


def test_an_unreadable_behaviour_tree_is_reported(tmp_path):
    (tmp_path / next(iter(TREES.values()))).write_text("<root>")
    with pytest.raises(GraphError, match="is not XML"):
        nav2_graph.plan({"slam": "true"}, tmp_path)


def test_the_launch_file_starts_the_processes_of_the_graph(monkeypatch, map_file):
    launch_stubs.install(monkeypatch)
    given = {"map": str(map_file), "namespace": "spider", "use_sim_time": "true"}
    include = launch_stubs.Include(**given)
    path = share("launch", "nav2.launch.py")
    assert [a.given[0] for a in include.execute(path)[:-1]] == [a.name for a in nav2_graph.arguments()]
    started = include.start(path)
    planned = nav2_graph.plan(given)
    assert [n.named["name"] for n in started] == [p.name for p in planned.processes]
    assert all(n.named["namespace"] == "spider" and n.named["on_exit"] for n in started)
    [file] = {Path(n.named["parameters"][0]) for n in started}
    assert YAML(typ="safe").load(file) == dict(planned.parameters)
    shutil.rmtree(file.parent)


def test_the_commands_of_the_documentation_have_arguments_that_exist():
    page = (ROOT / "docs" / "nav2.md").read_text()
    known = {argument.name for argument in nav2_graph.arguments()}
    commands = re.findall(r"nav2\.launch\.py(.*)", page)
    assert sum(":=" in words for words in commands) >= 4
    assert {name for words in commands for name in re.findall(r"(\w+):=", words)} <= known
    message = re.search(r"\| argument of `nav2.launch.py`.*?\n\n", page, re.S)[0]
    assert known - {"use_sim_time"} <= set(re.findall(r"`(\w+)`", message))
