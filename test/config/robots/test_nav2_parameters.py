# SPDX-License-Identifier: Apache-2.0
"""Nav2: every key of our files exists, and limits and footprint match the robot file.

test/data/nav2_parameters.yaml is the table of what the nodes and plugins of Jazzy declare.
"""

import itertools
import json
import math
from functools import cache

import pytest
from support.drives import GAITS, ROBOTS
from support.parameter_files import flat, listed, nav2_facts, parsed, sections

from hexapod_control.bringup import nav2_graph
from hexapod_control.cli.main import main
from hexapod_control.config.robots import nav2_parameters
from hexapod_control.config.robots.nav2_parameters import Nav2FileError, fill, values
from hexapod_control.config.robots.robot_file import known_robots, load
from hexapod_control.config.shipped_files import share
from hexapod_control.core.kinematics.body_pose import NEUTRAL
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.kinematics.whole_body import joints_at_offset
from hexapod_control.core.walking.walk_controller import WalkController
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.nodes.gait_planner.settings import PlannerSettings
from hexapod_control.nodes.odometry.settings import OdometrySettings
from hexapod_control.sim.world_settings import LidarSettings

FACTS = nav2_facts()
NODES, PLUGINS = FACTS["nodes"], FACTS["plugins"]
FILES = ("nav2", "slam_toolbox", "robot_localization")
SHIPPED = share("config", "nav2.yaml")
WALKS = list(itertools.product(ROBOTS, GAITS))
CONTROLLER = "controller_server.ros__parameters"
LAG = 0.4  # share of the full speed that a walk may lack at its start, before its feet reach their stride centers
SETTLING_TIME_S = 4.0
KINDS = {
    "string": lambda value: isinstance(value, str),
    "double": lambda value: isinstance(value, float) and math.isfinite(value),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "bool": lambda value: isinstance(value, bool),
    "strings": lambda value: all(isinstance(item, str) for item in value),
    "doubles": lambda value: all(isinstance(item, float) for item in value),
    "bools": lambda value: all(isinstance(item, bool) for item in value),
}


@cache
def nodes(name):
    """Parameters of a file by the last part of the node's name."""
    return sections(share("config", f"{name}.yaml").read_text())


ALL = {name: section for file in FILES for name, section in nodes(file).items()}
NAV2 = nodes("nav2")
PATH = NAV2["controller_server"]["FollowPath"]


def under(name, parameters):
    return {f"{name}.{key}": kind for key, kind in parameters.items()}


def declared(node, section):
    """Names and types of what a node with these plugins declares."""
    facts = NODES[node]
    known = {**FACTS["everywhere"], **facts["parameters"]}
    for name in [part for parts in facts.get("lists", ()) for part in listed(section, parts)]:
        known |= plugin(node, name, section[name])
    for kind, endings in facts.get("sensors", {}).items():
        count = sum(name.removeprefix(kind).isdigit() for name in section)
        known |= {f"{kind}{k}{ending}": type_ for k in range(count) for ending, type_ in endings.items()}
    return known


def plugin(node, name, section):
    if node == "collision_monitor":
        return under(name, PLUGINS[f"collision_monitor {section['type']}"]["parameters"])
    facts = PLUGINS[section["plugin"]]
    known = {f"{name}.plugin": "string", **under(name, facts["parameters"]), **facts.get("on_node", {})}
    for critic in section.get("critics", []):
        known |= under(f"{name}.{critic}", PLUGINS[f"mppi::critics::{critic}"]["parameters"])
    if "source_parameters" in facts:
        for source in listed(section, "observation_sources"):
            known |= under(f"{name}.{source}", facts["source_parameters"])
    return known


@pytest.mark.parametrize("node", ALL)
def test_every_key_is_a_parameter_of_its_node_or_plugin_and_has_its_type(node):
    known = declared(node, ALL[node])
    for name, value in flat(ALL[node]):
        assert name in known, f"{node} of Jazzy has no parameter {name}"
        assert KINDS[known[name]](value), f"{node}: {name} must be a {known[name]}, is {value!r}"


@pytest.mark.parametrize("key", ["controler_frequency", "FollowPath.vy_maxx", "FollowPath.CostCritic.weight"])
def test_a_misspelled_key_is_found(key):
    section, found = NAV2["controller_server"], dict(flat(NAV2["controller_server"]))
    assert key not in declared("controller_server", section)
    assert set(found) <= set(declared("controller_server", section))


def test_every_fact_names_its_source():
    for node in NODES.values():
        assert node["source"] in FACTS["sources"]
    assert all(facts["files"] for facts in (*NODES.values(), *PLUGINS.values()))
    assert FACTS["sources"]["navigation2"]["branch"] == "jazzy"


def test_every_motion_model_is_omnidirectional():
    assert PATH["motion_model"] == "Omni"
    assert ALL["amcl"]["robot_model_type"] == "nav2_amcl::OmniMotionModel"
    assert NAV2["controller_server"]["min_y_velocity_threshold"] == 0.001
    assert PATH["vy_max"] > 0.0
    assert NAV2["velocity_smoother"]["max_velocity"][1] > 0.0
    assert NAV2["velocity_smoother"]["max_accel"][1] > 0.0


def test_the_progress_checker_allows_for_the_slowest_gait():
    checker = NAV2["controller_server"]["progress_checker"]
    assert (checker["required_movement_radius"], checker["movement_time_allowance"]) == (0.1, 15.0)
    slowest = min(describe(robot, gait).velocity.vy for robot, gait in WALKS)
    assert slowest * checker["movement_time_allowance"] > 2 * checker["required_movement_radius"]


def test_the_controller_s_period_is_a_step_of_its_model():
    assert NAV2["controller_server"]["controller_frequency"] * PATH["model_dt"] == pytest.approx(1.0)


def test_commands_are_published_faster_than_they_time_out_and_the_smoother_brakes_before_they_do():
    smoother, timeout = NAV2["velocity_smoother"], PlannerSettings().cmd_vel_timeout
    assert smoother["smoothing_frequency"] >= 4 / timeout
    assert 2 / NAV2["controller_server"]["controller_frequency"] < smoother["velocity_timeout"] < timeout
    assert smoother["feedback"] == "OPEN_LOOP"


def test_all_nodes_wait_equally_long_for_late_odometry_and_longer_for_a_scan_that_needs_it():
    """One that waited less long would stop the robot while the others still let it walk."""
    found = {name: value for section in NAV2.values() for name, value in flat(section)}
    [tolerance] = {value for name, value in found.items() if name.split(".")[-1] == "transform_tolerance"}
    assert sum(name.split(".")[-1] == "transform_tolerance" for node in NAV2.values() for name, _ in flat(node)) == 7
    assert tolerance >= 10.0 / OdometrySettings().publish_rate
    assert NAV2["collision_monitor"]["source_timeout"] >= tolerance + 1.0 / LidarSettings().scan_rate
    assert NAV2["collision_monitor"]["FootprintApproach"]["time_before_collision"] > tolerance


def test_every_frame_is_one_of_the_tree():
    frames = {value for section in ALL.values() for key, value in flat(section) if key in nav2_graph.FRAME_KEYS}
    assert frames == {"map", "odom", "base_footprint"}


def test_likely_values_are_in_their_ranges():
    amcl, smoother = ALL["amcl"], NAV2["velocity_smoother"]
    assert all(0.0 < amcl[f"alpha{k}"] < 1.0 for k in range(1, 6))
    assert sum(amcl[f"z_{part}"] for part in ("hit", "rand", "max", "short")) == pytest.approx(1.1)
    assert amcl["min_particles"] < amcl["max_particles"]
    assert all(v > 0.0 > w for v, w in zip(smoother["max_velocity"], smoother["min_velocity"], strict=True))
    assert all(a > 0.0 > d for a, d in zip(smoother["max_accel"], smoother["max_decel"], strict=True))
    assert len(ALL["ekf_filter_node"]["odom0_config"]) == len(ALL["ekf_filter_node"]["imu0_config"]) == 15


# --- what comes from the robot file ---------------------------------------------------------------------------


@cache
def describe(robot, gait=""):
    return nav2_parameters.describe(load(robot).robot, gait)


@cache
def values_of(robot, gait=""):
    every = values(describe(robot, gait), PATH["model_dt"], PATH["time_steps"])
    return {name: value for name, value in every.items() if name not in nav2_parameters.LATER}


def section_of(name, robot, gait=""):
    """Those values whose keys start with this name."""
    prefix, every = f"{name}.", values_of(robot, gait)
    return {key.removeprefix(prefix): value for key, value in every.items() if key.startswith(prefix)}


def corners(text):
    return [tuple(point) for point in json.loads(text)]


def contains(polygon, point):
    """True if a convex counter-clockwise polygon contains a point."""
    pairs = zip(polygon, polygon[1:] + polygon[:1], strict=True)
    return all((bx - ax) * (point[1] - ay) - (by - ay) * (point[0] - ax) >= 0.0 for (ax, ay), (bx, by) in pairs)


def test_the_shipped_file_is_generated_for_phantomx():
    assert fill(SHIPPED.read_text(), describe("phantomx")) == SHIPPED.read_text()


@pytest.mark.parametrize("robot", known_robots())
def test_the_footprint_contains_every_stance_region(robot):
    capabilities = Capabilities.of(load(robot).robot)
    stance = capabilities.stances.at(capabilities.robot.walk.height)
    path = section_of(f"{CONTROLLER}.FollowPath", robot)
    for costmap in ("local_costmap", "global_costmap"):
        parameters = section_of(f"{costmap}.{costmap}.ros__parameters", robot)
        polygon = corners(parameters["footprint"])
        for (x, y), radius in zip(stance.footholds, stance.radii, strict=True):
            for k in range(90):
                angle = k * math.tau / 90
                assert contains(polygon, (x + radius * math.cos(angle), y + radius * math.sin(angle)))
        farthest = max(math.hypot(*corner) for corner in polygon) + NAV2[costmap]["footprint_padding"]
        assert parameters["inflation_layer.inflation_radius"] > farthest
        assert parameters.get("width", 99) / 2 > farthest + path["prune_distance"]


@pytest.mark.parametrize(("robot", "gait"), WALKS)
def test_limits_do_not_exceed_what_the_robot_can_do(robot, gait):
    capabilities = Capabilities.of(load(robot).robot)
    row = capabilities.gaits[gait]
    most = capabilities.envelope.maxima(row, capabilities.robot.walk.height, capabilities.region_share(row))
    path = section_of(f"{CONTROLLER}.FollowPath", robot, gait)
    smoother = section_of("velocity_smoother.ros__parameters", robot, gait)
    spin = section_of("behavior_server.ros__parameters", robot, gait)
    assert [path["vx_max"], path["vy_max"], path["wz_max"]] == smoother["max_velocity"]
    assert [-path["vx_min"], path["vy_max"], path["wz_max"]] == [-v for v in smoother["min_velocity"]]
    assert spin["max_rotational_vel"] == path["wz_max"]
    for limit, bound in zip(smoother["max_velocity"], most, strict=True):
        assert 0.8 * bound < limit <= bound


@pytest.mark.parametrize(("robot", "gait"), WALKS)
def test_a_command_within_the_limits_is_followed(robot, gait):
    capabilities = Capabilities.of(load(robot).robot)
    limits = describe(robot, gait)
    footholds = capabilities.stances.at(capabilities.robot.walk.height).footholds
    for axis in range(3):
        walk, row = (
            WalkController(capabilities, footholds, NEUTRAL, capabilities.gaits[gait]),
            joints_at_offset(capabilities.robot, footholds, 0.0),
        )
        top, rate, dt = limits.velocity[axis], limits.acceleration[axis], 0.02
        for tick in range(1, int((top / rate + SETTLING_TIME_S) / dt)):
            wanted = min(top, rate * tick * dt)
            walk.drive(Twist(*(wanted if k == axis else 0.0 for k in range(3))))
            row = walk.advance(dt, row).joints
            assert walk.speed.twist[axis] > wanted - LAG * top
        assert walk.speed.twist[axis] == wanted


def test_the_limits_are_those_of_the_gait():
    """That they follow the robot file: test_single_source.py."""
    assert describe("phantomx", "wave").velocity.vx < 0.5 * describe("phantomx").velocity.vx


def test_the_command_writes_a_file_that_keeps_comments_and_own_values(tmp_path):
    mine, out = tmp_path / "mine.yaml", tmp_path / "out.yaml"
    mine.write_text(SHIPPED.read_text().replace("batch_size: 1000", "batch_size: 700  # a small computer"))
    assert main(["nav2-params", "--robot", "article", "--params", str(mine), "--out", str(out)]) == 0
    assert "batch_size: 700  # a small computer" in out.read_text()
    assert [line.split("# ")[1:] for line in mine.read_text().splitlines() if "# " in line] == [
        line.split("# ")[1:] for line in out.read_text().splitlines() if "# " in line
    ]
    before, after = (dict(flat(parsed(file.read_text()))) for file in (SHIPPED, out))
    assert after == before | values_of("article") | {f"{CONTROLLER}.FollowPath.batch_size": 700}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--gait", "gallop"], "unknown gait 'gallop'; known: tripod"),
        (["--params", "nowhere.yaml"], "nowhere.yaml: there is no such file"),
        (["--params", str(share("config", "slam_toolbox.yaml"))], "FollowPath.model_dt: is missing"),
    ],
)
def test_bad_input_is_reported_in_one_line(words, sentence, capsys):
    assert main(["nav2-params", *words]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("text", ["a: [", "", "controller_server: 3"])
def test_a_file_that_is_not_a_nav2_file_is_refused(text):
    with pytest.raises(Nav2FileError):
        fill(text, describe("phantomx"))
