# SPDX-License-Identifier: Apache-2.0
"""The commands of the documentation, and the checks that what they name exists in the code."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from functools import cache
from itertools import groupby
from pathlib import Path

from support.paths import ROOT

from hexapod_control.bringup import control_graph, gazebo_graph, nav2_graph, node_graph
from hexapod_control.cli import main
from hexapod_control.config.robots.moveit import moveit_files
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf

PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
DISTRIBUTIONS = ("jazzy", "kilted", "lyrical")
PLACE_OF_SOURCES = "~/ws/src/hexapod_control/"  # on the page for the Raspberry Pi


@cache
def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@cache
def reference() -> dict[str, str]:
    """Topics, services, parameters and launch arguments of the reference, with the type in the second column."""
    rows = re.findall(r"^\| (`[^|]+) \| `?([^`|]*)`? \|", text("docs/reference.md"), re.M)
    found = [(name, second) for names, second in rows for name in re.findall(r"`([^` ]+)`", names)]
    return dict(reversed(found))  # the first table with a name has its type


def blocks(page: Path) -> str:
    return "\n".join(re.findall(r"^ *```(?:bash|sh)\n(.*?)^ *```", page.read_text(encoding="utf-8"), re.S | re.M))


def commands(page: Path) -> Iterator[list[str]]:
    """Words of the commands in code blocks; without comments, redirections and the path of the venv."""
    left_out = r"^\s*(?:[A-Z_0-9]+=(?:\$\([^)]*\)|\S)+ )+|\s(?:>\s*\S+|&)(?=\s|$)"
    for line in blocks(page).replace("\\\n", " ").splitlines():
        words = shlex.split(re.sub(left_out, "", line), comments=True)
        for is_operator, command in groupby(words, "&&".__eq__):
            if not is_operator:
                first, *others = command
                yield [first.removeprefix(".venv/bin/"), *others]


def spans(page: Path) -> Iterator[str]:
    """Commands of this package within a sentence; often with placeholders, so that only their names can be checked."""
    prose = re.sub(r"^ *```.*?^ *```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    yield from re.findall(r"`((?:hexapod|make) [a-z][^`\n]*)`", prose)


def parse_hexapod(words: list[str]) -> None:
    main.parser(words[1]).parse_args(words[1:])


def find_target(words: list[str]) -> None:
    assert re.search(rf"^{words[1]}:", text("Makefile"), re.M)
    arguments = shlex.split(next((word.removeprefix("ARGS=") for word in words if word.startswith("ARGS=")), ""))
    if words[1] == "sim":
        parse_hexapod(["hexapod", "sim", *arguments])
    assert all((ROOT / word).exists() for word in arguments if word.startswith("test/"))


def plan_launch(words: list[str]) -> None:
    graph = words[3].removesuffix(".launch.py")
    arguments = dict(os.path.expandvars(word).split(":=", 1) for word in words[4:])
    assert (ROOT / "launch" / words[3]).is_file()
    others = {"nav2": nav2_graph, "ros2_control": control_graph, "gazebo": gazebo_graph}
    if graph in others:
        assert arguments.keys() <= {argument.name for argument in others[graph].arguments()}
    else:
        node_graph.specs(graph, arguments)


def find_node(words: list[str]) -> None:
    assert words[3] in {row.executable for rows in node_graph.GRAPHS.values() for row in rows}
    assert {word.partition(":=")[0] for word in words if ":=" in word} <= reference().keys()


def find_names(words: list[str]) -> None:
    """Of a topic, a service or an action, with its type, or of a parameter of a node."""
    named = [word.strip("/") for word in words if word.strip("/") in reference()]
    types = [re.sub("/(msg|srv|action)/", "/", word) for word in words if re.search("/(msg|srv|action)/", word)]
    assert len(named) == 1 and types in ([], [reference()[named[0]]])


def find_module(words: list[str]) -> None:
    assert (ROOT / words[1]).is_file() if words[1] != "-m" else importlib.util.find_spec(words[2])


def find_source(words: list[str]) -> None:
    assert (ROOT / words[1].removeprefix(PLACE_OF_SOURCES)).is_file()


def find_requirements(words: list[str]) -> None:
    known = text("setup.py") + text(".pre-commit-config.yaml")
    assert all(word in known for word in words[2:] if not word.startswith("-"))


def find_keys(words: list[str]) -> None:
    skipped = words[words.index("--skip-keys") + 1].split() if "--skip-keys" in words else []
    assert all(f">{key}<" in text("package.xml") for key in skipped)


def find_system_packages(words: list[str]) -> None:
    """Packages of ROS are those of a known distribution, the others those that CI installs."""
    released = re.findall(r"ros-([a-z]+)-", " ".join(words))
    assert set(released) <= set(DISTRIBUTIONS)
    if not released:
        assert {word for word in words[3:] if word not in ("git", "--no-install-recommends")} <= set(
            re.findall(r"[\w+-]+", text("scripts/ci/packages.sh"))
        )


def find_distribution(words: list[str]) -> None:
    assert words[1].split("/")[3] in DISTRIBUTIONS


def find_service(words: list[str]) -> None:
    """A service of compose.yaml, and the command that runs in it."""
    services = re.findall(r"^  ([a-z][a-z0-9-]*):$", text("compose.yaml").partition("\nservices:\n")[2], re.M)
    if "hexapod" in words:
        parse_hexapod(words[words.index("hexapod") :])
    named = [word for word in words[3:] if re.match("[a-z]", word)]
    assert not named or named[0] in services
    assert all((ROOT / "docker" / Path(word).name).is_file() for word in words if word.endswith(".sh"))


def find_image(words: list[str]) -> None:
    file, target = (words[words.index(option) + 1] for option in ("--file", "--target"))
    assert f" AS {target}\n" in text(file)


def find_controllers(words: list[str]) -> None:
    named = re.findall(r"\b(?:joint_\w+_(?:controller|broadcaster)|[a-z_]+_joint)\b", " ".join(words))
    assert named and all(name in text("config/ros2_control.yaml") for name in named)


def parse_inner(words: list[str]) -> None:
    (inner,) = re.findall(r"\$\((hexapod [^)]*)\)", " ".join(words))
    parse_hexapod(inner.split())


def find_generated(words: list[str]) -> None:
    """A launch file of the package that `hexapod urdf --moveit` writes."""
    name = words[2].removesuffix("_moveit_config")
    assert f"launch/{words[3]}" in moveit_files(load(name))


def find_package(words: list[str]) -> None:
    if words[-1].endswith("_moveit_config"):
        assert load(words[-1].removesuffix("_moveit_config"))
        return
    both = ["--base-paths", "src", f"src/{node_graph.PACKAGE}/msgs"]
    assert words[2:] in ([], ["--packages-select", node_graph.PACKAGE], both) and (ROOT / "msgs").is_dir()


def find_unit(words: list[str]) -> None:
    assert (ROOT / "config" / "systemd" / f"{words[-1]}.service").is_file()


def find_shared_file(words: list[str]) -> None:
    (name,) = re.findall(r"--share hexapod_control\)(\S+)", " ".join(words))
    assert (ROOT / name.strip("/")).is_file()


def find_variables(words: list[str]) -> None:
    """Variables that the ROS client library or the manifest of this package reads."""
    folders = [*os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep), sys.prefix]
    library = next(path for folder in folders if (path := Path(folder, "lib", "librcl.so")).is_file())
    known = library.read_bytes() + text("package.xml").encode()
    named = {word.partition("=")[0] for word in words[1:]} - {"PIP_BREAK_SYSTEM_PACKAGES"}  # of pip
    assert named and all(name.encode() in known for name in named)


def find_path(words: list[str]) -> None:
    """The folder into which `make install-user` links the command."""
    folder = words[1].removeprefix("PATH=").removesuffix(":$PATH")
    assert f"{folder}/hexapod" in text("Makefile")


def find_container(words: list[str]) -> None:
    """An image of ROS of a known distribution, and scripts that run in it."""
    (distribution,) = re.findall(r"\bros:([a-z]+)-ros-base\b", " ".join(words))
    assert distribution in DISTRIBUTIONS
    assert all((ROOT / script).is_file() for script in re.findall(r"scripts/ci/\S+", " ".join(words)))


def find_completion(words: list[str]) -> None:
    assert importlib.util.find_spec("argcomplete") and words[-1].endswith("register-python-argcomplete hexapod)")
    assert "# PYTHON_ARGCOMPLETE_OK\n" in text("hexapod_control/cli/main.py")[:1024]  # argcomplete reads no further


def find_controller_manager(words: list[str]) -> None:
    assert f"{words[2]}:" in text("config/ros2_control.yaml")


def find_frame(words: list[str]) -> None:
    assert f'<link name="{words[words.index("--frame-id") + 1]}"' in urdf(load("phantomx"))


def find_clone(words: list[str]) -> None:
    assert f"{words[-1]}/" == PLACE_OF_SOURCES


CHECKS: dict[str, Callable[[list[str]], None]] = {  # by regular expressions, the first that fits
    "hexapod ": parse_hexapod,
    "make ": find_target,
    "ros2 launch hexapod_control ": plan_launch,
    "ros2 launch .*_moveit_config ": find_generated,
    "ros2 run hexapod_control ": find_node,
    "ros2 run .*--share hexapod_control": find_shared_file,
    "ros2 run .*[$][(]hexapod ": parse_inner,
    "ros2 .* /?joint_(trajectory_controller|state_broadcaster)": find_controllers,
    "ros2 (topic|service|param|action) ": find_names,
    "source /opt/ros/": find_distribution,
    "sudo apt install ": find_system_packages,
    "docker compose ": find_service,
    "docker build ": find_image,
    "python ": find_module,
    "cp ": find_source,
    "pip install (?!~)|pre-commit install": find_requirements,
    "rosdep install ": find_keys,
    "colcon build": find_package,
    "(sudo systemctl|journalctl) ": find_unit,
    "export PATH=": find_path,
    "export (?!ZENOH)": find_variables,
    "docker run ": find_container,
    "eval ": find_completion,
    "ros2 run controller_manager ros2_control_node ": find_controller_manager,
    "ros2 run tf2_ros static_transform_publisher ": find_frame,
    "git clone ": find_clone,
}


def check_of(words: list[str]) -> Callable[[list[str]], None] | None:
    """The check of a command, if it has one."""
    return next((check for pattern, check in CHECKS.items() if re.match(pattern, " ".join(words))), None)
