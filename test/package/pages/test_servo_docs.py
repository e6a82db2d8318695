# SPDX-License-Identifier: Apache-2.0
"""docs/servos.md agrees with the code (protocols, limits); the files for a Raspberry Pi are valid."""

import configparser
import importlib.util
import re
from pathlib import Path

import pytest
from support.paths import ROOT

from hexapod_control.bringup import node_graph
from hexapod_control.config.shipped_files import share
from hexapod_control.servos.protocol_registry import PROTOCOLS

PAGE = (ROOT / "docs" / "servos.md").read_text(encoding="utf-8")
REMEDY = "python docs/figures/wires.py prints the table"


def module(path):
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_the_table_of_the_wires_is_that_of_the_protocols():
    assert module("docs/figures/wires.py").table() in PAGE, REMEDY


@pytest.mark.parametrize("name", [name for name in PROTOCOLS if name != "loopback"])
def test_every_protocol_has_its_wiring(name):
    assert f"\n### {name}\n" in PAGE


def test_the_unit_boots_to_a_robot_without_torque_with_arguments_that_exist():
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read_string(share("config", "systemd", "hexapod.service").read_text())
    line = unit["Service"]["ExecStart"]
    given = dict(re.findall(r"(\w+):=(\S+?)'?(?=\s|$)", line))
    assert given["arm_on_start"] == "false" and given["robot"].endswith("robot.yaml")
    (driver,) = (
        s for s in node_graph.specs("bringup", {**given, "robot": "phantomx"}) if s.executable == "servo_driver"
    )
    assert driver.parameters["arm_on_start"] is False and driver.parameters["wait_for_port"] is True
    assert unit["Service"]["KillSignal"] == "SIGINT"


def test_the_udev_rules_are_pairs_of_keys_and_values():
    rules = share("config", "udev", "99-hexapod.rules").read_text().splitlines()
    lines = [line for line in rules if line and not line.startswith("#")]
    pair = r'[A-Z]+(\{[\w]+\})?(==|!=|=|\+=)"[^"]*"'
    assert all(re.fullmatch(rf"{pair}(, {pair})*", line) for line in lines)
    assert any('ATTR{latency_timer}="1"' in line for line in lines)
