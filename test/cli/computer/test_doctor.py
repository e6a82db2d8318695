# SPDX-License-Identifier: Apache-2.0
"""`hexapod doctor`: what is missing is named with its remedy, and only what every robot needs counts."""

import sys

import pytest

from hexapod_control.cli.main import main
from hexapod_control.config.missing_modules import install_command

pytestmark = pytest.mark.process  # looks for OpenGL in a program of its own


@pytest.mark.parametrize(
    ("module", "code", "remedy"),
    [
        ("smbus2", 0, f"for I2C: smbus2 is missing: {install_command('smbus2')}"),
        ("rclpy", 1, "for all nodes: rclpy is missing: source a ROS 2 installation"),
    ],
)
def test_a_missing_module_has_its_purpose_and_its_remedy(monkeypatch, capsys, module, code, remedy):
    monkeypatch.setitem(sys.modules, module, None)  # as if it were not installed
    assert main(["doctor"]) == code
    output = capsys.readouterr().out
    (line,) = (each for each in output.splitlines() if each.startswith(f"{module} "))
    assert line.split()[1] == "MISSING" and remedy in line
    assert "group dialout" in output and "OpenGL" in output and "ruamel.yaml        works" in output
