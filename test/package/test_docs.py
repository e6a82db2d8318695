# SPDX-License-Identifier: Apache-2.0
"""The documentation agrees with the code: names, types, tables, commands, files and tests that it mentions exist."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
from support.drives import GAIT_NAMES
from support.paths import ROOT, SOURCES, source_text, syntax_nodes, syntax_tree, test_file

from hexapod_control.bringup import node_graph
from hexapod_control.clients import keyboard_pilot as keyboard
from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.core.sensing.joint_plausibility import SETTLING_TIME_S
from hexapod_control.core.sensing.mishap_watch import LAG_S, MAX_ERROR_RAD
from hexapod_control.core.walking.gait_change import FULL_SHARE, MORE_STABLE_SHARE
from hexapod_control.servos.bus.pulse_board import LATE_WINDOW_S
from hexapod_control.servos.driver.boards import MIN_SILENCE_S
from hexapod_control.servos.driver.bus_connection import MAX_BACK_OFF_S, MIN_BACK_OFF_S
from hexapod_control.servos.driver.monitors import HEAT_WARNING_MARGIN, MAX_RETRIES, RETRY_WINDOW_S
from hexapod_control.servos.driver.servo_health import ALL_SILENT_S, LEG_LOST_S
from hexapod_control.servos.driver.target_follower import ARMING_RAMP_S, TARGET_TIMEOUT_S

PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
ARTICLES = re.compile(r"\bArticles? ((?:[A-D]\d+(?:, | and )?)+)")
REMEDY = "python docs/tables.py generates the tables"


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def section(page: str, title: str) -> str:
    """Text below a heading, up to the next one of its level."""
    level = "#" * (len(title) - len(title.lstrip("#")))
    found = re.search(rf"^{re.escape(title)}\n(.*?)(?=^#{{1,{len(level)}}} |\Z)", text(page), re.S | re.M)
    assert found, f"{page} has no section '{title}'"
    return found[1]


def rows(markdown: str) -> list[list[str]]:
    """Cells of the rows of all tables, without the header rows."""
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    rules = [k for k, row in enumerate(cells) if set("".join(row)) <= set("-: ")]
    return [row for k, row in enumerate(cells) if k not in rules and k + 1 not in rules]


def module(path: str) -> ModuleType:
    """A script of the repository as a module."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec and spec.loader
    found = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = found
    spec.loader.exec_module(found)
    return found


@pytest.fixture(scope="module")
def tables() -> ModuleType:
    return module("docs/tables.py")


def test_the_tables_of_the_reference_are_those_of_the_code(tables):
    """Topics and services as the nodes create them, parameters as declared, arguments, options and keys as parsed."""
    reference = text("docs/reference.md")
    for page, of_page in tables.PAGES.items():
        assert tables.filled(page.read_text(encoding="utf-8"), of_page) == page.read_text(encoding="utf-8"), REMEDY
    assert tables.MISSING not in reference
    described = {name for name in tables.interfaces()[0] if tables.TOPICS[name].startswith("latched")}
    assert described == {name for name, item in tables.interfaces()[0].items() if True in item.latched}


def test_the_security_policy_names_single_topics_and_services_not_rows_of_the_reference():
    names = set(re.findall(r"<(?:topic|service)>(.*?)</", text("config/sros2_policy.xml")))
    assert {f"{leg}_foot/wrench" for leg in load("phantomx").robot.leg_names} <= names
    assert not [name for name in names if not re.fullmatch(r"[a-z0-9_/~*]+", name)]


def test_the_topics_of_the_readme_are_those_of_the_reference():
    known = {(topic, kind) for topic, kind, *_ in rows(section("docs/reference.md", "## Topics"))}
    shown = {(topic, kind) for topic, kind, *_ in rows(section("README.md", "## Topics and services"))}
    services = {(name, kind) for name, kind, *_ in rows(section("docs/reference.md", "## Services"))}
    assert shown and shown <= known | services


def test_states_gaits_and_robots_are_named_as_in_the_code():
    line = next(row[-1] for row in rows(section("docs/reference.md", "## Topics")) if row[0] == "`gait_state`")
    assert set(line.removeprefix("latched: ").split(", ")) == {state.value for state in RobotState}
    readme = text("README.md")
    assert ", ".join(GAIT_NAMES) in readme


def test_the_picture_of_the_data_flow_has_only_names_that_exist(tables):
    picture = re.search(r"```text\n(.*?)```", section("README.md", "## How it fits together"), re.S)
    assert picture
    known = set(tables.interfaces()[0])
    known |= {executable for rows in node_graph.GRAPHS.values() for row in rows for executable in [row.executable]}
    found = set(re.findall(r"/?[a-z][a-z0-9]*[_/][a-z0-9_/]*", picture[1]))
    assert len(found) > 8 and found <= known | {"robot_description"}, found - known


def test_the_keys_of_the_readme_are_those_of_the_keyboard():
    documented: dict[str, str] = {}
    for key, what in rows(section("README.md", "## Drive it")):
        for name in re.findall(r"`([^`]+)`", key):
            documented[{"space": " ", "Ctrl-C": ""}.get(name, name)] = what
    directions = {
        "forward": (1, 0, 0),
        "back": (-1, 0, 0),
        "turn left": (0, 0, 1),
        "turn right": (0, 0, -1),
        "forward, turning left": (1, 0, 1),
        "forward, turning right": (1, 0, -1),
        "back, turning left": (-1, 0, 1),
        "back, turning right": (-1, 0, -1),
        "left": (0, 1, 0),
        "right": (0, -1, 0),
        "forward left": (1, 1, 0),
        "forward right": (1, -1, 0),
        "back left": (-1, 1, 0),
        "back right": (-1, -1, 0),
        "stop, feet back to neutral": (0, 0, 0),
    }
    assert {key: directions.get(documented.get(key, "")) for key in keyboard.DIRECTIONS} == keyboard.DIRECTIONS
    assert {key: documented[key].split(",")[0] for key in keyboard.REQUESTS} == {
        "t": "stand up",
        "g": "sit down",
        " ": "halt",
        "E": "E-STOP",
        "R": "torque on again",
    }
    assert {"q", "z", "1", "4", ""} <= set(documented) - set(keyboard.DIRECTIONS)


def test_the_system_packages_of_the_readme_are_those_of_the_build():
    """Those to type, and those that CI installs."""
    packages = " ".join(re.findall(r"\bPACKAGES\+?=\((?!chromium-browser)(.*?)\)", text("scripts/ci/packages.sh")))
    installed = " ".join(re.findall(r"apt install --no-install-recommends ([^\n`]+)", text("README.md")))
    optional = {"git"}  # to get the project; the build has it already
    assert set(installed.split()) - optional == set(packages.split()) > {"make"}


def docstrings(file: Path) -> dict[str, str]:
    """Docstrings of the tests of a file."""
    return {
        node.name: ast.get_docstring(node) or ""
        for node in syntax_tree(file).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def cited(docstring: str) -> set[str]:
    """Rows of the articles, as in `Articles A2 and D4`."""
    return set(re.findall(r"[A-D]\d+", " ".join(ARTICLES.findall(docstring))))


def test_every_rule_of_the_articles_is_listed_with_tests_that_cite_it():
    listed = {row[0]: row for row in rows(text("docs/sources.md"))}
    wanted = {
        f"{article}{k}" for article, count in zip("ABCD", (8, 8, 8, 11), strict=True) for k in range(1, count + 1)
    }
    assert set(listed) == wanted
    for name, (_, _, code, tests) in listed.items():
        named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", tests)
        assert named, f"{name}: no test"
        for file, test in named:
            described = docstrings(test_file(file))
            assert test in described, f"{name}: {file} has no {test}"
            assert name in cited(described[test]), f"{name}: the docstring of {file}::{test} does not cite it"
        for path in re.findall(r"`([\w/.]+)`", code):
            assert (ROOT / path).is_file() or (ROOT / "hexapod_control" / path).is_file(), f"{name}: no {path}"


def test_every_test_that_cites_a_rule_is_listed_at_it():
    listed = {row[0]: row[-1] for row in rows(text("docs/sources.md"))}
    paths = sorted((ROOT / "test").rglob("test_*.py"))
    assert len({path.name for path in paths}) == len(paths), "two files of tests have the same name"
    for path in paths:
        if not ARTICLES.search(source_text(path)):  # parsing takes far longer
            continue
        for test, docstring in docstrings(path).items():
            for name in cited(docstring):
                assert f"{path.name}::{test}" in listed[name], f"docs/sources.md does not list {test} at {name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_pictures_lead_to_files_and_headings(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        path, _, heading = target.partition("#")
        file = page.parent / path if path else page
        assert file.exists(), f"{page.name}: no {target}"
        if heading:
            titles = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.M)
            slugs = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
            assert heading in slugs, f"{page.name}: no heading for {target}"


def citations() -> list[tuple[str, str, str]]:
    """(file, page, section or nothing) of every page that a docstring of the package cites."""
    found = []
    for file in SOURCES:
        for node in syntax_nodes(file) if "docs/" in source_text(file) else ():
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                words = " ".join((ast.get_docstring(node) or "").split())
                cited_here = re.findall(r'(docs/[\w/-]+\.md)(?:, "([^"]+)")?', words)
                found += [(str(file.relative_to(ROOT)), page, title) for page, title in cited_here]
    return found


def test_docstrings_cite_pages_and_sections_that_exist():
    cited_pages = citations()
    assert len(cited_pages) > 10, "the pattern of a citation matches nothing"
    for file, page, title in cited_pages:
        assert (ROOT / page).is_file(), f"{file} cites {page}"
        titles = re.findall(r"^#+ (.*)$", text(page), re.M)
        assert not title or title in titles, f'{file} cites {page}, "{title}"'


@cache
def messages() -> tuple[str, ...]:
    """All texts of the package, its page and the scripts, adjacent literals joined, with ... for inserted values."""
    page = json.loads((ROOT / "hexapod_control/web/static/texts/en.json").read_text(encoding="utf-8"))
    found = [re.sub(r"\{\w+\}", "...", text) for text in page.values()]
    for path in (*SOURCES, *sorted((ROOT / "scripts").rglob("*.py"))):
        for node in syntax_nodes(path):
            if isinstance(node, ast.JoinedStr):
                found.append("".join(str(p.value) if isinstance(p, ast.Constant) else "..." for p in node.values))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(re.sub(r"\{\w+(:[^{}]*)?\}", "...", node.value))
    return tuple(found)


def test_the_messages_quoted_in_troubleshooting_are_messages_of_the_code():
    """In code spans; ... stands for what varies."""
    table = rows(section("docs/troubleshooting.md", "## Messages"))
    quoted = [part for row in table for part in re.findall(r"`([^`]+)`", row[0])]
    assert quoted
    for message in quoted:
        assert any(message in text for text in messages()), f"no text of the code contains: {message}"


@pytest.mark.parametrize(
    ("page", "sentence", "values"),
    [
        ("faults.md", "the port is reopened after {:g} s, then up to every {:g} s", (MIN_BACK_OFF_S, MAX_BACK_OFF_S)),
        ("faults.md", "| `lost_after` (at least {:g} s) | holds without goals", (MIN_SILENCE_S,)),
        ("faults.md", "all replies late but valid, those of a board by up to {:g} s", (LATE_WINDOW_S,)),
        ("faults.md", "| all servos are silent on an open port | {:g} s | holds without goals", (ALL_SILENT_S,)),
        ("faults.md", "a servo does not answer for {:g} s, with `on_lost: leg`", (LEG_LOST_S,)),
        ("faults.md", "reads the pose and ramps from there over {:g} s", (ARMING_RAMP_S,)),
        ("faults.md", "real or simulated | {:g} s | holds", (TARGET_TIMEOUT_S,)),
        ("faults.md", "of the speed from {:g} degC below the limit", (HEAT_WARNING_MARGIN,)),
        ("faults.md", "a joint is {:g} rad from its targets of the last {:g} s", (MAX_ERROR_RAD, LAG_S)),
        ("faults.md", "a real jump is followed after {:g} s", (SETTLING_TIME_S,)),
        (
            "how-it-walks.md",
            "Above {:g} % of the top speed of a gait the robot changes to the next one",
            (100 * FULL_SHARE,),
        ),
        ("how-it-walks.md", "been below {:g} % for a second", (100 * MORE_STABLE_SHARE,)),
    ],
)
def test_numbers_in_sentences_are_those_of_the_code(page, sentence, values):
    assert sentence.format(*values) in text(f"docs/{page}")


def test_an_overloaded_servo_is_restarted_as_often_as_the_page_says():
    assert "at most three times in 5 minutes" in text("docs/faults.md") and (MAX_RETRIES, RETRY_WINDOW_S) == (3, 300.0)


def test_every_page_is_listed_in_the_index():
    index = text("docs/index.md")
    linked = {(ROOT / "docs" / target).resolve() for target in re.findall(r"\]\(([^)#\s]+)\)", index)}
    assert {page.resolve() for page in PAGES} - {(ROOT / "docs" / "index.md").resolve()} <= linked


def test_the_hooks_before_a_commit_are_the_tools_of_make_style():
    hooks = set(re.findall(r"entry: \.venv/bin/(\S+)", text(".pre-commit-config.yaml")))
    style = re.search(r"^style:.*\n((?:\t.*\n)+)", text("Makefile"), re.M)
    assert style and hooks == set(re.findall(r"\$\(BIN\)/(\S+)", style[1]))


def test_no_page_names_a_local_path_or_an_issue():
    for page in (*PAGES, ROOT / "CHANGELOG.rst", ROOT / "docs" / "tables.py", ROOT / "docs" / "figures" / "plots.py"):
        assert not re.search(r"/tmp\b|/home/|issues? #?\d", page.read_text(encoding="utf-8")), page.name
