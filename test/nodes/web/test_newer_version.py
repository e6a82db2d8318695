# SPDX-License-Identifier: Apache-2.0
"""Whether a newer version exists, by real git and by what apt-cache prints."""

import os
import subprocess

import pytest

from hexapod_control.nodes.web import newer_version

POLICY = """ros-jazzy-hexapod-control:
  Installed: {0}
  Candidate: {1}
  Version table:
 *** {0} 100
        100 /var/lib/dpkg/status
"""


def git(folder, *words):
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *identity, "-C", str(folder), *words], check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path):
    """A checkout, and the repository that it came from."""
    origin = tmp_path / "origin"
    origin.mkdir()
    git(origin, "init")
    git(origin, "commit", "--allow-empty", "-m", "one")
    git(tmp_path, "clone", str(origin), "robot")
    return tmp_path / "robot", origin


def test_a_checkout_is_compared_with_its_origin(checkout):
    robot, origin = checkout
    assert newer_version.by_git(robot)["text"] == "update_none"
    git(robot, "commit", "--allow-empty", "-m", "a change of one's own")
    assert newer_version.by_git(robot)["text"] == "update_none"
    git(origin, "commit", "--allow-empty", "-m", "two")
    answer = newer_version.by_git(robot)
    assert answer["text"] == "update_there" and answer["values"]["how"] == f"git -C {robot} pull"


def test_without_an_origin_it_says_so(checkout):
    robot, origin = checkout
    origin.rename(origin.with_name("gone"))
    answer = newer_version.by_git(robot)
    assert answer["text"] == "update_unknown" and answer["values"]["reason"]


@pytest.mark.parametrize(
    ("versions", "key"),
    [
        (("0.1.0-1", "0.1.0-1"), "update_none"),
        (("0.1.0-1", "0.2.0-1"), "update_there"),
        (("(none)", "0.2"), "update_unknown"),
    ],
)
def test_a_package_of_apt_is_compared_with_the_lists_of_apt(tmp_path, monkeypatch, versions, key):
    program = tmp_path / "apt-cache"
    program.write_text(f"#!/bin/sh\ncat <<'EOF'\n{POLICY.format(*versions)}EOF\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert newer_version.by_apt("ros-jazzy-hexapod-control")["text"] == key


def test_this_installation_gives_an_answer_of_the_page():
    assert newer_version.newer_version()["text"] in ("update_none", "update_there", "update_unknown")
