# SPDX-License-Identifier: Apache-2.0
"""package.xml, setup.py, the sources and the installed files agree."""

import ast
import importlib.metadata
import importlib.util
import os
import re
import stat
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from support.paths import ROOT, SOURCES, syntax_nodes

import hexapod_control
from hexapod_control.bringup.node_graph import GRAPHS, PACKAGE
from hexapod_control.config.shipped_files import share

MANIFEST = ElementTree.parse(ROOT / "package.xml").getroot()
SETUP = next(
    node
    for node in ast.walk(ast.parse((ROOT / "setup.py").read_text()))
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "setup"
)
KEYWORDS = {keyword.arg: keyword.value for keyword in SETUP.keywords}
SCRIPTS = [entry for entry in importlib.metadata.distribution("hexapod_control").entry_points]
# import name -> rosdep key, where they differ
KEYS = {
    "aiohttp": "python3-aiohttp",
    "argcomplete": "python3-argcomplete",
    "evdev": "python3-evdev",
    "PIL": "python3-pil",
    "matplotlib": "python3-matplotlib",
    "mujoco": "python3-mujoco-pip",
    "numpy": "python3-numpy",
    "ruamel": "python3-ruamel.yaml",
    "segno": "python3-segno",
    "serial": "python3-serial",
    "smbus2": "python3-smbus2",
    "yaml": "python3-yaml",
}
# extras of pip without a rosdep key; imported only where needed, with a remedy in the message
OPTIONAL = {"av", "gpiod", "gymnasium", "mcp", "onnx", "onnxruntime", "pydantic", "rosbags", "trimesh"}
FILES = [
    path.relative_to(ROOT)
    for folder in ("config", "launch", "urdf")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.is_file() and "__pycache__" not in path.parts
]


def dependencies(*kinds):
    return {element.text for kind in kinds for element in MANIFEST.iter(kind)}


def imported():
    """Top-level modules that the package's sources import."""
    found = set()
    for path in SOURCES:
        for node in syntax_nodes(path):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.split(".")[0])
    return found - set(sys.stdlib_module_names) - {"hexapod_control", "__future__"}


def test_name_version_and_licence_are_the_same_everywhere():
    assert ast.literal_eval(KEYWORDS["version"]) == MANIFEST.findtext("version")
    assert importlib.metadata.version(MANIFEST.findtext("name")) == MANIFEST.findtext("version")
    assert ast.literal_eval(KEYWORDS["license"]) == MANIFEST.findtext("license")
    assert "Apache License" in (ROOT / "LICENSE").read_text()


def test_a_release_has_one_maintainer_one_version_and_addresses_of_one_place():
    addresses = {url.get("type"): url.text for url in MANIFEST.iter("url")}
    assert set(addresses) == {"website", "repository", "bugtracker"}
    assert all(text.startswith(addresses["website"]) for text in addresses.values())
    citation = YAML(typ="safe").load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == MANIFEST.findtext("version") and citation["license"] == MANIFEST.findtext("license")
    assert citation["repository-code"] == addresses["repository"]
    email = MANIFEST.find("maintainer").get("email")
    holders = [path.name for path in ROOT.iterdir() if path.is_file() and email in path.read_text(errors="replace")]
    assert holders == ["package.xml"]


def test_the_changelog_has_the_form_that_release_tools_read():
    head, *titles = re.findall(r"^(\S.*)\n[-^]{3,}$", (ROOT / "CHANGELOG.rst").read_text(), re.M)
    assert head == f"Changelog for package {MANIFEST.findtext('name')}"
    assert titles[0] == "Forthcoming"
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\)", title) for title in titles[1:])


def test_the_tested_package_is_the_installed_one():
    assert not Path(hexapod_control.__file__).is_relative_to(ROOT / "hexapod_control")


def test_the_installed_package_has_the_modules_and_data_of_the_sources_and_no_others():
    installed_files, source_files = (package_files(Path(p)) for p in (hexapod_control.__path__[0], ROOT / PACKAGE))
    assert sorted(installed_files.keys() ^ source_files.keys()) == []
    assert [path for path in source_files if installed_files[path] != source_files[path]] == []


def package_files(folder):
    """Files below a package, with their contents. A folder without `__init__.py` is not installed."""
    files = [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_every_import_is_a_dependency_of_the_manifest():
    keys = {KEYS.get(name, name) for name in imported() - OPTIONAL}
    assert keys - dependencies("exec_depend", "depend") == set()


def test_the_manifest_names_each_dependency_once():
    named = [element.text for element in MANIFEST if element.tag.endswith("depend")]
    assert sorted(named) == sorted(set(named))


def test_ros_is_not_installed_by_pip_over_a_sourced_one():
    assert not [text for text in ast.literal_eval(KEYWORDS["install_requires"]) if "ros" in text]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_every_console_script_has_a_module_with_main(script):
    module = importlib.util.find_spec(script.module)
    assert module is not None
    tree = ast.parse(Path(module.origin).read_text())
    assert script.attr in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_executable_of_the_graph_is_installed_for_ros2_run():
    wanted = {row.executable for rows in GRAPHS.values() for row in rows if row.package == PACKAGE}
    folder = installed() / "lib" / PACKAGE
    assert wanted <= {path.name for path in folder.iterdir() if path.stat().st_mode & stat.S_IXUSR}


@pytest.mark.parametrize("path", FILES, ids=str)
def test_every_file_is_installed(path):
    assert (installed() / "share" / "hexapod_control" / path).read_bytes() == (ROOT / path).read_bytes()


def test_the_package_is_in_the_ament_index():
    assert (installed() / "share/ament_index/resource_index/packages/hexapod_control").is_file()
    assert (installed() / "share/hexapod_control/package.xml").is_file()


def test_the_share_folder_is_found():
    assert share("launch", "sim.launch.py").is_file()


def installed():
    """The prefix that the package under test was installed to, by pip or by colcon."""
    prefixes = [Path(prefix) for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if prefix]
    marker = "share/ament_index/resource_index/packages/hexapod_control"
    found = [prefix for prefix in prefixes if (prefix / marker).is_file()]
    assert found, "hexapod_control is in no prefix of AMENT_PREFIX_PATH: run the tests with make test"
    return found[0]
