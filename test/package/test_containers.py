# SPDX-License-Identifier: Apache-2.0
"""The images, the compose file and the development container agree with the package and with each other."""

import json
import re
import shlex

import pytest
from ruamel.yaml import YAML
from support.paths import ROOT

from hexapod_control.bringup import nav2_graph, node_graph
from hexapod_control.cli.main import parser
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.waypoint_file import load_route

DOCKER = ROOT / "docker"
DOCKERFILE = (DOCKER / "Dockerfile").read_text()
STAGES = re.findall(r"^FROM \S+ AS (\w+)$", DOCKERFILE, re.M)
COMPOSE = YAML(typ="safe").load(ROOT / "compose.yaml")
SERVICES = COMPOSE["services"]
DEVCONTAINER = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
ALLOWED = [line[1:] for line in (DOCKER / "Dockerfile.dockerignore").read_text().splitlines() if line.startswith("!")]
COMMANDS = [service["command"] for service in SERVICES.values() if "command" in service]
TEXTS = [DOCKERFILE, *COMMANDS, *(path.read_text() for path in sorted(DOCKER.glob("*.sh")))]


def launches():
    """(launch file, arguments) of all launches in the Dockerfile, the compose file and the scripts."""
    for text in TEXTS:
        plain = re.sub(r'",? ?"?|\\\n', " ", text)
        for file, rest in re.findall(r"ros2 +launch +hexapod_control +(\w+)\.launch\.py(.*)", plain):
            yield file, set(re.findall(r"(\w+):=", rest))


def test_the_images_of_the_services_and_of_the_development_container_are_stages():
    targets = {service["build"]["target"] for service in SERVICES.values() if "build" in service}
    assert targets == {"simulation", "robot", "navigation"}
    assert targets | {DEVCONTAINER["build"]["target"]} <= set(STAGES)
    assert (ROOT / ".devcontainer" / DEVCONTAINER["build"]["dockerfile"]).resolve() == DOCKER / "Dockerfile"


def test_copied_files_exist_and_are_sent_to_the_build():
    copied = [source for line in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.M) for source in line.split()[:-1]]
    assert {"package.xml", "docker/walk.sh", "."} <= set(copied)
    for source in copied:
        assert (ROOT / source).exists() and (source == "." or source.split("/")[0] in ALLOWED), source
    assert all((ROOT / name).exists() for name in ALLOWED)


def test_files_that_setup_needs_are_sent_to_the_build():
    needed = {
        "package.xml",
        "setup.py",
        "setup.cfg",
        "hexapod_control",
        "config",
        "launch",
        "urdf",
        "resource",
        "scripts",
    }
    assert needed <= set(ALLOWED)


def test_every_image_runs_as_an_ordinary_user():
    for stage in re.split(r"^FROM ", DOCKERFILE, flags=re.M)[1:]:
        users = re.findall(r"^USER (\d+)$", stage, re.M)
        name = re.match(r"\S+ AS (\w+)", stage)[1]
        assert name in ("base", "build") or users[-1] == "1000", name


def test_the_page_is_open_on_localhost_only():
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert ports == ["127.0.0.1:8770:8771"]
    relay = (DOCKER / "walk.sh").read_text()
    assert "TCP-LISTEN:8771" in relay and "TCP:127.0.0.1:8770" in relay


def test_only_the_robot_gets_devices_and_only_when_it_is_asked_for():
    with_devices = {name for name, service in SERVICES.items() if "devices" in service}
    assert with_devices == {"robot", "robot-i2c"}
    assert {name for name, service in SERVICES.items() if "profiles" not in service} == {"simulation"}
    assert not any("privileged" in service for service in SERVICES.values())


def test_launches_have_arguments_that_exist():
    found = list(launches())
    assert [file for file, _ in found].count("bringup") == 3 and {"sim", "nav2"} <= {file for file, _ in found}
    for file, given in found:
        known = nav2_graph.arguments() if file == "nav2" else node_graph.arguments(file)
        assert given and given <= {argument.name for argument in known}, file


def test_the_robot_walks_around_the_square_with_a_command_that_exists():
    line = re.search(r"^hexapod (patrol .*) &$", (DOCKER / "walk.sh").read_text(), re.M)[1]
    options = parser("patrol").parse_args(shlex.split(line))
    assert options.blind and options.loops == 10_000
    assert len(load_route(DOCKER / "square.yaml").waypoints) == 4


def test_the_python_packages_of_the_images_are_those_of_setup():
    sim = re.search(r'"sim": \[(.*?)\]', (ROOT / "setup.py").read_text())[1]
    named = re.findall(r"'(\w+>=[\d.]+)'", DOCKERFILE)
    assert named and all(f'"{name}"' in sim for name in named)


@pytest.mark.parametrize("variable", ["ROBOT_FILE", "ROBOT"])
def test_the_default_robot_is_one_of_the_package(variable):
    default = re.search(rf"\$\{{{variable}:-([^}}]+)\}}", (ROOT / "compose.yaml").read_text())[1]
    name = re.sub(r"^\./", f"{ROOT}/", default)
    assert load(name).robot.name == "phantomx"


def test_every_variable_of_the_compose_file_has_a_default_and_is_described():
    text = (ROOT / "compose.yaml").read_text()
    variables = set(re.findall(r"\$\{(\w+)", text))
    assert not re.search(r"\$\{\w+(?!:-|\w)", text)
    rows = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "containers.md").read_text(), re.M))
    assert rows == variables | set(STAGES) - {"base", "build"}
