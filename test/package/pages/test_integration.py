# SPDX-License-Identifier: Apache-2.0
"""What docs/integration.md promises: files for other tools that fit this package, and conventions with tests."""

import importlib
import json
import re

import pytest
from ruamel.yaml import YAML
from support.paths import ROOT, test_file

from hexapod_control.bringup.node_graph import GRAPHS, PACKAGE

REFERENCE = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
TYPES = dict(re.findall(r"^\| `/?([\w/]+)` \| `(\w+/\w+)` \|", REFERENCE, re.M))  # of topics and services, by name
OF_OTHERS = {"robot_description", "map", "goal_pose"}  # robot_state_publisher, localization, Nav2
LAYOUT = json.loads((ROOT / "config" / "foxglove.json").read_text(encoding="utf-8"))
PANELS = LAYOUT["configById"]


def leaves(tree):
    """Names of the panels of a layout of Foxglove."""
    return [tree] if isinstance(tree, str) else leaves(tree["first"]) + leaves(tree["second"])


def values_of(tree, *keys):
    """All values below one of these keys."""
    if isinstance(tree, list):
        return [value for each in tree for value in values_of(each, *keys)]
    if not isinstance(tree, dict):
        return []
    own = [value for key, value in tree.items() if key in keys and isinstance(value, str)]
    return own + [value for each in tree.values() for value in values_of(each, *keys)]


def test_the_layout_of_foxglove_shows_each_of_its_panels_once():
    assert sorted(leaves(LAYOUT["layout"])) == sorted(PANELS)


def test_topics_and_services_of_the_layout_are_those_of_the_robot():
    named = values_of(PANELS, "topic", "poseTopic", "topicToRender", "serviceName") + list(PANELS["3D!robot"]["topics"])
    assert len(named) > 8
    assert {name.strip("/") for name in named} <= TYPES.keys() | OF_OTHERS


@pytest.mark.parametrize("path", [path for path in values_of(PANELS, "value") if path.startswith("/")])
def test_every_plotted_field_is_one_of_its_message(path):
    topic, *fields = path.strip("/").split(".")
    package, kind = TYPES[topic].split("/")
    value = getattr(importlib.import_module(f"{package}.msg"), kind)()
    for field in fields:
        value = getattr(value, field)
    assert isinstance(value, (float, str))


def test_every_node_is_in_one_group_of_the_diagnostics():
    parameters = YAML(typ="safe").load(ROOT / "config" / "diagnostic_aggregator.yaml")["/**"]["ros__parameters"]
    groups = [group["contains"] for group in parameters.values() if isinstance(group, dict)]
    nodes = {row.executable for rows in GRAPHS.values() for row in rows if row.package == PACKAGE}
    for node in nodes:
        assert sum(text in f"/left/{node}" for group in groups for text in group) == 1, node


def test_each_rep_of_the_conventions_has_tests():
    page = (ROOT / "docs" / "integration.md").read_text(encoding="utf-8")
    reps = re.findall(r"^\| (\d+), \w", page, re.M)
    sections = re.findall(r"^# --- REP-(\d+):", test_file("test_reps.py").read_text(encoding="utf-8"), re.M)
    assert reps == sections == ["103", "105", "107", "145", "2004"]


def test_the_reference_names_only_launch_files_that_exist():
    table = re.search(r"<!-- launch arguments -->(.*?)<!-- end -->", REFERENCE, re.S)[1]
    files = {name for cell in re.findall(r"^\| `\w+` \| [^|]* \| ([^|]*) \|", table, re.M) for name in cell.split(", ")}
    assert files == {path.name.partition(".")[0] for path in (ROOT / "launch").glob("*.py")} - {"nav2", "ros2_control"}
