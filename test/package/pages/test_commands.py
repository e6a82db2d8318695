"""Every command of the documentation agrees with the code, or is named here with the reason why it is not checked.

A check takes the words of a command and fails if a subcommand, option, launch argument, node, topic, service,
parameter, module or file that it names does not exist.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from itertools import groupby
from pathlib import Path

import pytest
from support.paths import ROOT

from hexapod_control.bringup import nav2_graph, node_graph
from hexapod_control.cli import main
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf

PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
DISTRIBUTIONS = ("jazzy", "kilted", "lyrical")
LEAST_SHARE = 0.9  # of all commands that are checked
PLACE_OF_SOURCES = "~/ws/src/hexapod_control/"  # on the page for the Raspberry Pi
NOT_CHECKED = {  # beginnings of commands
    "sudo apt update": "a program of Ubuntu, without a name of this package",
    "sudo apt install docker.io": "a package of Ubuntu",
    "sudo rosdep": "a program of ROS, without a name of this package",
    "rosdep update": "a program of ROS, without a name of this package",
    "source install/setup.bash": "a file that colcon makes",
    "export": "variables of ROS, read by its libraries",
    "ros2 security": "SROS2, which ROS's wheels do not contain",
    "ros2 launch": "a launch file of another package",
    "ros2 run": "a program of another package",
    "docker run": "a container of ROS, needs its registry",
    "mkdir": "a folder of the reader",
    "cd": "a folder of the reader",
    "git clone": "an address that the reader fills in",
    "eval": "a program of argcomplete",
}


@cache
def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@cache
def reference() -> dict[str, str]:
    """Topics, services, parameters and launch arguments of the reference, with the type in the second column."""
    found = re.findall(r"^\| `([^` ]+)` \| `?([^`|]*)`? \|", text("docs/reference.md"), re.M)
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
    if graph == "nav2":
        assert arguments.keys() <= {argument.name for argument in nav2_graph.arguments()}
    else:
        node_graph.specs(graph, arguments)


def find_node(words: list[str]) -> None:
    assert words[3] in {row.executable for rows in node_graph.GRAPHS.values() for row in rows}
    assert {word.partition(":=")[0] for word in words if ":=" in word} <= reference().keys()


def find_names(words: list[str]) -> None:
    """Of a topic or a service, with its type, or of a parameter of a node."""
    named = [word.strip("/") for word in words if word.strip("/") in reference()]
    types = [word.replace("/msg/", "/").replace("/srv/", "/") for word in words if re.search("/(msg|srv)/", word)]
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
        assert {word for word in words[3:] if word != "git"} <= set(
            re.findall(r"[\w-]+", text("scripts/ci/packages.sh"))
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


def find_package(words: list[str]) -> None:
    assert words[2:] in ([], ["--packages-select", node_graph.PACKAGE])


def find_unit(words: list[str]) -> None:
    assert (ROOT / "config" / "systemd" / f"{words[-1]}.service").is_file()


def find_shared_file(words: list[str]) -> None:
    (name,) = re.findall(r"--share hexapod_control\)(\S+)", " ".join(words))
    assert (ROOT / name.strip("/")).is_file()


CHECKS: dict[str, Callable[[list[str]], None]] = {  # by regular expressions, the first that fits
    "hexapod ": parse_hexapod,
    "make ": find_target,
    "ros2 launch hexapod_control ": plan_launch,
    "ros2 run hexapod_control ": find_node,
    "ros2 run .*--share hexapod_control": find_shared_file,
    "ros2 run .*[$][(]hexapod ": parse_inner,
    "ros2 .* /?joint_(trajectory_controller|state_broadcaster)": find_controllers,
    "ros2 (topic|service|param) ": find_names,
    "source /opt/ros/": find_distribution,
    "sudo apt install (?!docker)": find_system_packages,
    "docker compose ": find_service,
    "docker build ": find_image,
    "python ": find_module,
    "cp ": find_source,
    "pip install |pre-commit install": find_requirements,
    "rosdep install ": find_keys,
    "colcon build": find_package,
    "(sudo systemctl|journalctl) ": find_unit,
}


def executed() -> dict[Path, list[list[str]]]:
    """Commands that neither wait nor need a running robot or a device, each on the first page that has it."""
    found: dict[tuple[str, ...], Path] = {}
    for page in PAGES:
        for words in commands(page):
            if re.match("hexapod (check|gaits|walk|urdf|nav2-params|play --(list|check)) ?", " ".join(words)):
                found.setdefault(tuple(words), page)
    return {page: [list(words) for words in found if found[words] == page] for page in dict.fromkeys(found.values())}


@pytest.mark.parametrize(("page", "run"), executed().items(), ids=lambda value: getattr(value, "name", ""))
def test_commands_that_only_compute_succeed(page, run, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "config" / "robots" / "phantomx.yaml", "my_robot.yaml")
    shutil.copy(ROOT / "config" / "motions" / "wave.yaml", "my_motion.yaml")
    for words in run:
        assert main.main(words[1:]) == 0, f"{' '.join(words)}: {capsys.readouterr().err}"


def check_of(words: list[str]) -> Callable[[list[str]], None] | None:
    return next((check for pattern, check in CHECKS.items() if re.match(pattern, " ".join(words))), None)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_the_commands_of_a_page_name_exists(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    Path("my_robot.urdf").write_text(urdf(load("phantomx")), encoding="utf-8")  # the reader's own
    for name in ("my_robot.yaml", "robot.yaml"):
        shutil.copy(ROOT / "config" / "robots" / "phantomx.yaml", name)
    Path("pad.yaml").write_text("/**:\n  ros__parameters: {}\n", encoding="utf-8")
    for words in commands(page):
        check = check_of(words)
        if check is not None:
            try:
                check(words)
            except (Exception, SystemExit) as error:
                pytest.fail(f"{' '.join(words)}: {error}", pytrace=False)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_subcommands_targets_and_options_within_sentences_exist(page):
    for span in spans(page):
        program, name, *_ = span.split()
        if program == "make":
            assert re.search(rf"^{name}:", text("Makefile"), re.M), span
            name = "sim" if name == "sim" else ""
        else:
            assert name in main.COMMANDS, span
        if name not in ("", "servos", "i2c"):  # have subcommands with options of their own
            assert set(re.findall(r"(?<=[\s\"])--[a-z][a-z-]*", span)) <= options_of(name), span


@cache
def options_of(command: str) -> set[str]:
    """Options that the help text of a subcommand lists."""
    with pytest.raises(SystemExit), contextlib.redirect_stdout(io.StringIO()) as out:
        main.main([command, "--help"])
    return set(re.findall(r"^  (?:-\w, )?(--[a-z][a-z-]*)", out.getvalue(), re.M))


def test_at_least_nine_of_ten_commands_are_checked_and_the_others_have_a_reason():
    found = [words for page in PAGES for words in commands(page)]
    others = [" ".join(words) for words in found if check_of(words) is None]
    reasons = {line: [start for start in NOT_CHECKED if re.match(rf"{re.escape(start)}\b", line)] for line in others}
    assert [line for line, starts in reasons.items() if not starts] == []
    assert sorted(NOT_CHECKED.keys() - {start for starts in reasons.values() for start in starts}) == []
    total = len(found) + sum(1 for page in PAGES for _ in spans(page))
    assert 1.0 - len(others) / total >= LEAST_SHARE, f"{len(others)} of {total} commands are not checked: {others}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_code_block_names_its_language(page):
    fences = re.findall(r"^ *```(.*)$", page.read_text(encoding="utf-8"), re.M)
    assert all(fences[::2]) and not any(fences[1::2])
