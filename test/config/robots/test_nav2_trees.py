# SPDX-License-Identifier: Apache-2.0
"""Recoveries of Nav2's behaviour trees have the time that a gait needs."""

from functools import cache
from xml.etree import ElementTree

import pytest
from support.drives import GAITS

from hexapod_control.cli.main import main
from hexapod_control.config.robots.nav2_parameters import NAV2_ALLOWANCE_S, TreeError, describe, fill_tree
from hexapod_control.config.robots.robot_file import known_robots, load
from hexapod_control.core.workspace.capabilities import Capabilities

TREE = """<root BTCPP_format="4">
  <BehaviorTree ID="MainTree">
    <RoundRobin name="RecoveryActions">
      <Spin spin_dist="1.57" error_code_id="{spin_error_code}"/>
      <Wait wait_duration="5.0"/>
      <BackUp backup_dist="0.30" backup_speed="0.15" error_code_id="{backup_code_id}"/>
      <DriveOnHeading dist_to_travel="{far}" speed="{fast}"/>
    </RoundRobin>
  </BehaviorTree>
</root>"""
WALKS = [
    (robot, gait) for robot in known_robots() for gait in GAITS if gait in Capabilities.of(load(robot).robot).gaits
]


@cache
def described(robot, gait):
    return describe(load(robot).robot, gait)


def filled(robot, gait):
    root = ElementTree.fromstring(fill_tree(TREE, described(robot, gait)))
    return {tag: root.find(f".//{tag}") for tag in ("Spin", "BackUp", "DriveOnHeading", "Wait")}


@pytest.mark.parametrize(("robot", "gait"), WALKS)
def test_a_recovery_has_twice_the_time_that_the_limits_need(robot, gait):
    limits, nodes = described(robot, gait), filled(robot, gait)
    speed = float(nodes["BackUp"].get("backup_speed"))
    assert speed == min(0.15, limits.velocity.vx)
    for tag, least in (("Spin", 1.57 / limits.velocity.wz), ("BackUp", 0.30 / speed)):
        assert float(nodes[tag].get("time_allowance")) >= max(NAV2_ALLOWANCE_S, 2.0 * least)


def test_a_slow_gait_has_the_time_that_it_was_measured_to_need():
    """Of phantomx with the real behaviours in simulation: 19.1 s for the turn, 13.5 s backwards."""
    nodes = filled("phantomx", "wave")
    assert float(nodes["Spin"].get("time_allowance")) > 1.2 * 19.1
    assert float(nodes["BackUp"].get("time_allowance")) > 1.2 * 13.5


def test_what_comes_from_the_blackboard_and_all_else_stays():
    nodes = filled("phantomx", "wave")
    assert nodes["DriveOnHeading"].get("dist_to_travel") == "{far}"
    assert nodes["DriveOnHeading"].get("speed") == "{fast}"
    assert nodes["Spin"].get("error_code_id") == "{spin_error_code}"
    assert nodes["Wait"].attrib == {"wait_duration": "5.0"}


def test_a_tree_that_is_not_xml_is_refused():
    with pytest.raises(TreeError, match="is not XML"):
        fill_tree("<root>", described("phantomx", "tripod"))


def test_the_command_fills_in_a_tree(tmp_path, capsys):
    mine = tmp_path / "tree.xml"
    mine.write_text(TREE)
    assert main(["nav2-params", "--gait", "wave", "--tree", str(mine)]) == 0
    assert capsys.readouterr().out == fill_tree(TREE, described("phantomx", "wave"))
    mine.write_text("<root>")
    assert main(["nav2-params", "--tree", str(mine)]) == 2
    assert "tree.xml: is not XML" in capsys.readouterr().err
