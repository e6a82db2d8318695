# SPDX-License-Identifier: Apache-2.0
"""The Nav2 parameters of every distribution have the keys that its Nav2 declares.

test/data/nav2/*.json, written by scripts/nav2_parameters.py, lists what each release declares in each source file.
"""

import json
from functools import cache

import pytest
from support.parameter_files import flat, listed, nav2_facts, sections
from support.paths import DATA

from hexapod_control.cli.main import main
from hexapod_control.config.robots.nav2_parameters import Nav2FileError, describe, fill
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.shipped_files import share
from hexapod_control.ros.distribution import NAMES, NAV2_CHANGES

FACTS = nav2_facts()
NODES, PLUGINS = FACTS["nodes"], FACTS["plugins"]
SHIPPED = share("config", "nav2.yaml")
EVERY_PLUGIN = {"plugin", "type"}


@cache
def phantomx():
    return describe(load("phantomx").robot)


@cache
def written(distribution):
    changes = NAV2_CHANGES[distribution]
    return fill(SHIPPED.read_text(), phantomx(), changes.renamed, changes.added)


@cache
def parameters(distribution):
    """Parameters by the last part of the node's name."""
    return sections(written(distribution))


@cache
def table(distribution):
    return json.loads((DATA / "nav2" / f"{distribution}.json").read_text())["files"]


class Release:
    """What the Nav2 of a distribution declares for the sections of a parameter file."""

    def __init__(self, distribution):
        self.files = table(distribution)

    def names(self, owner):
        return {name for file in owner["files"] for name in self.files.get(file, ())}

    def known(self, node, section):
        found = {name for name in self.names(NODES[node]) if not name.startswith(".")} | set(FACTS["everywhere"])
        for parts in NODES[node].get("lists", ()):
            if parts in found:
                for name in listed(section, parts):
                    found |= self.of_plugin(name, section[name])
        return found

    def of_plugin(self, name, section):
        kind = section.get("plugin") or f"collision_monitor {section['type']}"
        found = {f"{name}.{key}" for key in EVERY_PLUGIN}
        for declared in self.names(PLUGINS[kind]):
            if declared.startswith(".."):
                found |= {f"{name}.{each}{declared[1:]}" for each in listed(section, "observation_sources")}
            else:
                found.add(f"{name}{declared}" if declared.startswith(".") else declared)
        for critic in section.get("critics", ()):
            own = self.names(PLUGINS[f"mppi::critics::{critic}"])
            found |= {f"{name}.{critic}{declared}" for declared in own}
        if self.motion_models:
            found.add(f"{name}.{section.get('motion_model')}.plugin")
        return found

    @property
    def motion_models(self):
        """True if the motion model of MPPI is a plugin with a section of its own."""
        return PLUGINS["mppi::OmniMotionModel"]["files"][0] in self.files


@pytest.mark.parametrize("distribution", NAMES)
def test_every_key_is_declared_by_the_nav2_of_the_distribution(distribution):
    release = Release(distribution)
    found = parameters(distribution)
    unknown = [
        f"{node}.{name}" for node in found for name in set(dict(flat(found[node]))) - release.known(node, found[node])
    ]
    assert not unknown


@pytest.mark.parametrize("distribution", NAMES[1:])
def test_a_key_is_left_out_only_if_the_release_does_not_declare_it(distribution):
    release = Release(distribution)
    for node, section in parameters("jazzy").items():
        own = parameters(distribution)[node]
        known, values = release.known(node, own), dict(flat(own))
        for name, value in flat(section):
            assert values.get(name) == (value if name in known else None), f"{node}.{name}"


@pytest.mark.parametrize(
    ("distribution", "broken"),
    [
        ("kilted", {"bt_navigator.error_code_names"}),
        ("lyrical", {"bt_navigator.error_code_names", "controller_server.FollowPath.prune_distance"}),
    ],
)
def test_the_keys_of_jazzy_are_found_to_be_unknown_elsewhere(distribution, broken):
    release, found = Release(distribution), parameters("jazzy")
    unknown = {
        f"{node}.{name}" for node in found for name in set(dict(flat(found[node]))) - release.known(node, found[node])
    }
    assert broken <= unknown


def test_where_the_motion_model_is_a_plugin_it_has_its_type():
    for distribution in NAMES:
        path = parameters(distribution)["controller_server"]["FollowPath"]
        plugin = path.get(path["motion_model"], {}).get("plugin")
        assert plugin == ("mppi::OmniMotionModel" if Release(distribution).motion_models else None)


def test_the_path_handler_of_lyrical_has_the_distance_of_the_robot():
    controller = parameters("lyrical")["controller_server"]
    assert controller["path_handler_plugins"] == ["PathHandler"]
    expected = parameters("jazzy")["controller_server"]["FollowPath"]["prune_distance"]
    assert controller["PathHandler"]["prune_distance"] == expected


@pytest.mark.parametrize("distribution", NAMES)
def test_a_file_of_the_distribution_is_filled_in_again_without_a_change(distribution):
    changes = NAV2_CHANGES[distribution]
    again = fill(written(distribution), phantomx(), changes.renamed, changes.added)
    assert again == written(distribution)


def test_the_command_writes_the_file_of_a_distribution(capsys):
    assert main(["nav2-params", "--distro", "lyrical"]) == 0
    assert capsys.readouterr().out == written("lyrical")


def test_a_file_without_a_controller_is_refused_for_every_distribution():
    with pytest.raises(Nav2FileError, match="start from a copy of"):
        fill("controller_server: 3", phantomx(), added=NAV2_CHANGES["lyrical"].added)
