# SPDX-License-Identifier: Apache-2.0
"""Every command of the documentation agrees with the code, or is named here with the reason why it is not checked.

A check takes the words of a command and fails if a subcommand, option, launch argument, node, topic, service,
parameter, module or file that it names does not exist.
"""

from __future__ import annotations

import contextlib
import io
import re
import shutil
from functools import cache
from pathlib import Path

import pytest
from support.documented_commands import PAGES, check_of, commands, spans, text
from support.paths import ROOT

from hexapod_control.cli import main
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf

MIN_SHARE = 0.9  # of the commands in code blocks
NOT_CHECKED = {  # beginnings of commands
    "sudo apt update": "a program of Ubuntu, without a name of this package",
    "sudo rosdep": "a program of ROS, without a name of this package",
    "rosdep update": "a program of ROS, without a name of this package",
    "source install/setup.bash": "a file that colcon makes",
    "ros2 security": "SROS2, which ROS's wheels do not contain",
    "ros2 launch": "a launch file of another package",
    "ros2 run": "a program of another package",
    "python3 -m venv": "a folder of the reader",
    "source ~/hexapod_venv": "a folder of the reader",
    "pip install ~": "the checkout of the reader",
    "mkdir": "a folder of the reader",
    "cd": "a folder of the reader",
}


def executed() -> dict[Path, list[list[str]]]:
    """Commands that neither wait nor need a running robot or a device, each on the first page that has it.

    The reader's copy of phantomx counts as phantomx. A command is one of another that goes on as it does, and of one on
    another page that has all of its words. The checks on a page are one with the options of all.
    """
    found: dict[str, tuple[Path, list[str]]] = {}
    for page in PAGES:
        for words in commands(page):
            line = " ".join(words)
            if re.match("hexapod (check|gaits|walk|urdf|nav2-params|play --(list|check)) ?", line):
                found.setdefault(line.replace("./my_robot.yaml", "phantomx"), (page, words))

    def contains(other: str, line: str) -> bool:
        on_other_pages = found[other][0] != found[line][0] and {*line.split()} < {*other.split()}
        return on_other_pages or other.startswith(f"{line} ")

    longest = [found[line] for line in found if not any(contains(other, line) for other in found)]
    pages = dict.fromkeys(page for page, _ in longest)
    return {page: with_one_check([words for on, words in longest if on == page]) for page in pages}


def with_one_check(lines: list[list[str]]) -> list[list[str]]:
    """The same commands, but only the first `hexapod check`, with the options of all: none excludes another."""
    checks = [words for words in lines if words[1] == "check"]
    options = [option for words in checks for option in words[3:]]
    return [[*words[:3], *options] for words in checks[:1]] + [words for words in lines if words not in checks]


@pytest.mark.parametrize(("page", "run"), executed().items(), ids=lambda value: getattr(value, "name", ""))
def test_commands_that_only_compute_succeed(page, run, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "config" / "robots" / "phantomx.yaml", "my_robot.yaml")
    shutil.copy(ROOT / "config" / "motions" / "wave.yaml", "my_motion.yaml")
    Path("my_tree.xml").write_text("<root><Spin/></root>")
    for words in run:
        assert main.main(words[1:]) == 0, f"{' '.join(words)}: {capsys.readouterr().err}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_names_in_the_commands_of_a_page_exist(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    Path("my_robot.urdf").write_text(urdf(load("phantomx")), encoding="utf-8")  # the reader's own
    for name in ("my_robot.yaml", "robot.yaml"):
        shutil.copy(ROOT / "config" / "robots" / "phantomx.yaml", name)
    for name in ("pad.yaml", "qos.yaml"):
        Path(name).write_text("/**:\n  ros__parameters: {}\n", encoding="utf-8")
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
        if name:
            assert set(re.findall(r"(?<=[\s\"])--[a-z][a-z-]*", span)) <= options_of(name, action_of(span)), span


def action_of(span: str) -> str:
    """What a command is to do, where it has a choice, as in `hexapod servos --robot FILE watch`."""
    _, name, *words = span.split()
    actions = set(re.findall(r"^    ([a-z][a-z-]*)\b", help_of(name), re.M))
    if actions and words and words[0][0].isalpha():
        assert words[0] in actions, span
    return next((word for word in words if word in actions), "")


@cache
def help_of(*words: str) -> str:
    with pytest.raises(SystemExit), contextlib.redirect_stdout(io.StringIO()) as out:
        main.main([*words, "--help"])
    return out.getvalue()


def options_of(*words: str) -> set[str]:
    """Options that the help text of a subcommand lists."""
    return set(re.findall(r"^  (?:-\w, )?(--[a-z][a-z-]*)", help_of(*filter(None, words)), re.M))


def test_at_least_nine_of_ten_commands_are_checked_and_the_others_have_a_reason():
    found = [words for page in PAGES for words in commands(page)]
    others = [" ".join(words) for words in found if check_of(words) is None]
    reasons = {line: [start for start in NOT_CHECKED if re.match(rf"{re.escape(start)}", line)] for line in others}
    assert [line for line, starts in reasons.items() if not starts] == []
    assert sorted(NOT_CHECKED.keys() - {start for starts in reasons.values() for start in starts}) == []
    assert 1.0 - len(others) / len(found) >= MIN_SHARE, f"of {len(found)} commands are not checked: {others}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_code_block_names_its_language(page):
    fences = re.findall(r"^ *```(.*)$", page.read_text(encoding="utf-8"), re.M)
    assert all(fences[::2]) and not any(fences[1::2])
