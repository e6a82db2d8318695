# SPDX-License-Identifier: Apache-2.0
"""Missing requirements of a machine are reported with the remedy."""

import importlib.util
import platform
import shutil
import sys

import pytest
from support.paths import ROOT

SCRIPT = ROOT / "scripts" / "machine.py"


@pytest.fixture
def machine(monkeypatch):
    spec = importlib.util.spec_from_file_location("machine", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.delenv("ROS_DISTRO", raising=False)
    monkeypatch.delenv("REQUIRE_ALL", raising=False)
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/" + name)
    monkeypatch.setattr(module, "renders", lambda: True)
    monkeypatch.setattr(module, "namespaces", lambda: True)
    return module


def without(monkeypatch, *names):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in names else found(name))


def run(machine, monkeypatch, word):
    monkeypatch.setattr(sys, "argv", ["machine.py", word])
    return machine.main()


def test_a_complete_machine_gets_no_report(machine, monkeypatch, capsys):
    assert run(machine, monkeypatch, "venv") == run(machine, monkeypatch, "test") == 0
    assert capsys.readouterr().err == ""


def test_missing_venv_names_the_package(machine, monkeypatch, capsys):
    without(monkeypatch, "ensurepip")
    assert run(machine, monkeypatch, "venv") == 1
    assert "apt install python3-venv" in capsys.readouterr().err


@pytest.mark.parametrize(("version", "sentence"), [((3, 10), "is too old"), ((3, 15), "no ROS wheels")])
def test_a_python_without_wheels_is_refused(machine, monkeypatch, capsys, version, sentence):
    monkeypatch.setattr(sys, "version_info", version)
    assert run(machine, monkeypatch, "venv") == 1
    assert sentence in (error := capsys.readouterr().err)
    assert "make PYTHON=/path/to/python3.12" in error


def test_another_processor_needs_a_ros_installation(machine, monkeypatch, capsys):
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert run(machine, monkeypatch, "venv") == 1
    assert "source a ROS 2 installation" in capsys.readouterr().err


def test_another_processor_with_a_sourced_ros_is_fine(machine, monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    monkeypatch.setenv("ROS_DISTRO", "jazzy")
    assert run(machine, monkeypatch, "venv") == 0


def test_a_python_that_is_not_that_of_the_sourced_ros_is_refused(machine, monkeypatch, capsys):
    monkeypatch.setenv("ROS_DISTRO", "jazzy")
    without(monkeypatch, "rclpy")
    assert run(machine, monkeypatch, "venv") == 1
    assert "make PYTHON=/usr/bin/python3" in capsys.readouterr().err


def test_missing_tools_deselect_tests_and_are_reported_with_the_remedy(machine, monkeypatch, capsys):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(machine, "renders", lambda: False)
    assert run(machine, monkeypatch, "test") == 0
    output = capsys.readouterr()
    assert output.out == "not compiler and not browser and not gl and not netns\n"
    assert "apt install gcc" in output.err and "apt install iproute2" in output.err
    assert "apt install chromium-headless-shell" in output.err
    assert "apt install libegl1 libopengl0 libgl1-mesa-dri" in output.err


def test_gaps_are_failures_when_everything_is_required(machine, monkeypatch):
    monkeypatch.setattr(machine, "renders", lambda: False)
    monkeypatch.setenv("REQUIRE_ALL", "1")
    assert run(machine, monkeypatch, "test") == 1


def test_namespaces_that_are_not_permitted_are_reported(machine, monkeypatch, capsys):
    monkeypatch.setattr(machine, "namespaces", lambda: False)
    assert run(machine, monkeypatch, "test") == 0
    output = capsys.readouterr()
    assert output.out == "not netns\n" and "be root to have them" in output.err
