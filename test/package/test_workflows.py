# SPDX-License-Identifier: Apache-2.0
"""The workflows call only pinned actions and scripts that run anywhere; the release checks refuse what they should."""

import importlib.util
import os
import re
import shutil
import subprocess

import pytest
from ruamel.yaml import YAML
from support.paths import ROOT

FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
SCRIPTS = sorted((ROOT / "scripts" / "ci").iterdir())
SOURCED = {"underlay.bash"}
WORKFLOWS = {path.name: YAML(typ="safe").load(path) for path in FILES}
JOBS = {f"{file}:{name}": job for file, workflow in WORKFLOWS.items() for name, job in workflow["jobs"].items()}
STEPS = [(job, step) for job, content in JOBS.items() for step in content["steps"]]
# The tags of these commits were compared with the repositories of the actions.
PINNED = {
    "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1": "v7.0.1",
    "actions/cache@27d5ce7f107fe9357f9df03efb73ab90386fccae": "v5.0.5",
}
CALL = re.compile(r"scripts/ci/[\w-]+\.(?:sh|py)(?: [\w.-]+)*")
ADDRESSES = ("package.xml", "CITATION.cff", "README.md", "msgs/hexapod_msgs/package.xml")
RELEASE_FILES = (*ADDRESSES, "setup.py", "CHANGELOG.rst")


def calls():
    """The commands of all steps that run one."""
    return [step["run"] for _, step in STEPS if "run" in step]


@pytest.mark.parametrize(("job", "step"), STEPS, ids=lambda value: value if isinstance(value, str) else "")
def test_a_step_is_a_pinned_action_or_calls_a_script_and_nothing_else(job, step):
    assert ("uses" in step) != ("run" in step)
    assert step.keys() <= {"uses", "with", "run", "env", "name"}
    if "uses" in step:
        assert step["uses"] in PINNED
    else:
        assert CALL.fullmatch(step["run"]), step["run"]
        assert os.access(ROOT / step["run"].split()[0], os.X_OK), step["run"]


def test_the_version_of_an_action_stands_beside_its_commit():
    lines = [line.strip() for path in FILES for line in path.read_text().splitlines() if "uses:" in line]
    assert set(lines) == {f"- uses: {action} # {version}" for action, version in PINNED.items()}


def test_every_script_is_called_by_a_workflow():
    named = {call.split()[0].rpartition("/")[2] for call in calls()}
    assert named | SOURCED == {path.name for path in SCRIPTS if path.name != "__pycache__"}


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_may_only_read(name):
    assert WORKFLOWS[name]["permissions"] == {"contents": "read"}
    assert "pull_request_target" not in WORKFLOWS[name]["on"]


@pytest.mark.parametrize("name", JOBS)
def test_a_job_is_bounded_in_time_and_keeps_no_credentials(name):
    job = JOBS[name]
    assert "permissions" not in job and 0 < job["timeout-minutes"] <= 180
    checkouts = [step for step in job["steps"] if step.get("uses", "").startswith("actions/checkout@")]
    assert [step["with"] for step in checkouts] == [{"persist-credentials": False}]


def test_every_distribution_has_a_job_in_an_official_container():
    job = JOBS["ci.yml:ros"]
    assert job["container"] == "ros:${{ matrix.distribution }}-ros-base"
    assert job["strategy"]["matrix"]["distribution"] == ["jazzy", "kilted", "lyrical"]


@pytest.mark.parametrize("name", ["ci.yml:debian", "ci.yml:ubuntu"])
def test_every_system_runs_the_suite_on_the_wheels_of_every_distribution_that_has_some(name):
    makefile = (ROOT / "Makefile").read_text()
    with_wheels = re.search(r"DISTRO must be (\w+) or (\w+)", makefile).groups()
    job = JOBS[name]
    assert tuple(job["strategy"]["matrix"]["distribution"]) == with_wheels
    assert job["env"] == {"DISTRO": "${{ matrix.distribution }}"}
    assert "scripts/ci/suite.sh" in [step.get("run") for step in job["steps"]]


def test_nav2_reaches_its_goal_on_every_distribution():
    job = JOBS["containers.yml:nav2"]
    assert job["strategy"]["matrix"] == JOBS["ci.yml:ros"]["strategy"]["matrix"]
    [step] = [step for step in job["steps"] if "run" in step]
    assert step["env"] == {"ROS_DISTRO": "${{ matrix.distribution }}"}


@pytest.mark.parametrize("path", [p for p in SCRIPTS if p.suffix in (".sh", ".bash")], ids=lambda path: path.name)
def test_a_script_is_valid_bash_and_stops_at_the_first_error(path):
    subprocess.run(["bash", "-n", str(path)], check=True)
    assert path.name in SOURCED or "\nset -euo pipefail\n" in path.read_text()


def test_targets_that_scripts_give_to_make_exist():
    targets = {call.split()[1] for call in calls() if call.startswith("scripts/ci/suite.sh ")}
    makefile = (ROOT / "Makefile").read_text()
    assert targets and all(re.search(rf"^{target}:", makefile, re.M) for target in targets)


@pytest.mark.parametrize(("marked", "kept"), [({}, True), ({"_ROS_WHEELS_BOOTSTRAP_COMPLETE": "1"}, False)])
def test_make_does_not_hand_on_the_libraries_of_the_ros_wheels_that_it_was_started_from(marked, kept):
    given = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": "/other/lib", **marked}
    command = ["make", "--eval", "environment: ; @env", "environment"]
    lines = subprocess.run(command, cwd=ROOT, env=given, capture_output=True, text=True, check=True).stdout.splitlines()
    assert ("LD_LIBRARY_PATH=/other/lib" in lines) is kept
    assert not [line for line in lines if line.startswith("_ROS_WHEELS")]


@pytest.fixture
def tree(tmp_path):
    for name in RELEASE_FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


@pytest.fixture(scope="module")
def release():
    spec = importlib.util.spec_from_file_location("release", ROOT / "scripts" / "ci" / "release.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def edit(tree, name, pattern, replacement):
    text = (tree / name).read_text()
    changed = re.sub(pattern, replacement, text, flags=re.M)
    assert changed != text
    (tree / name).write_text(changed)


def prepare(tree):
    """What the maintainer does before a tag: real addresses, and a section with version and date."""
    for name in ADDRESSES:
        edit(tree, name, "example.org", "hexapods.net")
    edit(tree, "CHANGELOG.rst", r"^Forthcoming\n-+$", "0.2.0 (2026-12-01)\n------------------")


def test_this_tree_agrees_with_itself(release):
    assert release.faults(ROOT) == []


def test_a_prepared_tree_is_ready_for_its_tag(release, tree):
    prepare(tree)
    assert release.faults(tree, "0.2.0") == []


@pytest.mark.parametrize(
    ("name", "pattern", "replacement", "words"),
    [
        ("setup.py", '^    version="[^"]*"', '    version="9.0.0"', "setup.py: version is 9.0.0"),
        ("CITATION.cff", "^version:.*", "version: 9.0.0", "CITATION.cff: version is 9.0.0"),
        ("package.xml", "<version>.*</version>", "<version>v2</version>", "is not of the form"),
        ("CHANGELOG.rst", "^------------------$", "----", "as long as the title"),
        ("CHANGELOG.rst", r"^0\.2\.0 \(2026-12-01\)", "version 2 (december)", "a version with its date"),
        ("CHANGELOG.rst", r"^(\* |  ).*\n", "", "is empty"),
        ("CHANGELOG.rst", r"\Z", "\n0.3.0 (2026-12-02)\n------------------\n* Later.\n", "must descend"),
        ("CHANGELOG.rst", r"^0\.2\.0 \(2026-12-01\)\n-+$", "Forthcoming\n-----------", "the first section must be"),
        ("package.xml", "hexapods.net", "example.org", "package.xml: contains addresses"),
        ("CITATION.cff", "hexapods.net", "example.org", "CITATION.cff: contains addresses"),
        ("CITATION.cff", "^repository-code:.*", "repository-code: https://a.net", "CITATION.cff: the repository is"),
        ("README.md", "hexapods.net", "example.org", "README.md: the website is https://example.org"),
        ("README.md", r"^\[!\[CI.*", "", "README.md: the website is missing"),
        (ADDRESSES[-1], "<version>.*</version>", "<version>9.0.0</version>", "hexapod_msgs/package.xml: version is 9"),
    ],
)
def test_a_fault_of_a_release_is_named(release, tree, name, pattern, replacement, words):
    prepare(tree)
    edit(tree, name, pattern, replacement)
    assert any(words in line for line in release.faults(tree, "0.2.0"))


def test_a_tag_is_the_version(release, tree):
    prepare(tree)
    [fault] = [line for line in release.faults(tree, "v0.2.0") if line.startswith("tag")]
    assert "v0.2.0" in fault and "0.2.0" in fault


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_one_command_sets_address_and_maintainer_everywhere(release, tree):
    load("set_project").set_project(tree, "https://github.com/hexapods/hexapod_control", "A & B", "walk@hexapods.net")
    assert not [name for name in RELEASE_FILES if "example.org" in (tree / name).read_text()]
    assert '<maintainer email="walk@hexapods.net">A &amp; B</maintainer>' in (tree / "package.xml").read_text()
    assert release.faults(tree) == []
    edit(tree, "CHANGELOG.rst", r"^Forthcoming\n-+$", "0.2.0 (2026-12-01)\n------------------")
    assert release.faults(tree, "0.2.0") == []


def test_files_with_a_line_of_the_licence_keep_their_first_lines(tmp_path):
    spdx = load("spdx")
    heads = {"a.sh": b"#!/bin/sh\n", "b.html": b"<!doctype html>\n", "c.xacro": b'<?xml version="1.0"?>\n', "d.py": b""}
    for name, head in heads.items():
        path = tmp_path / name
        path.write_bytes(head + b"text\n")
        spdx.add(path, spdx.line(ROOT, path.suffix))
        assert path.read_bytes() == head + spdx.line(ROOT, path.suffix) + b"text\n"


def test_every_source_file_names_the_licence():
    assert not load("spdx").missing(ROOT), "run scripts/spdx.py"


def test_every_dependency_has_a_rule_of_rosdep_on_debian_and_rhel():
    rules = YAML(typ="safe").load(ROOT / "test" / "data" / "rosdistro.yaml")
    own = YAML(typ="safe").load(ROOT / "scripts" / "rosdep.yaml")
    needed = re.findall(r"<\w+_depend>(python3-[\w.-]+)<", (ROOT / "package.xml").read_text())
    assert needed
    for key in needed:
        found = {**rules[key], **own.get(key, {})}
        assert {"debian", "rhel", "ubuntu"} <= set(found), key
