"""`hexapod check`: implausible values with line, key and remedy; the exit code says whether there are any."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hexapod_control.cli.main import main
from hexapod_control.config.robots.robot_file import resolve


def mistaken(path: Path) -> Path:
    """Phantomx with a torque in kg cm."""
    path.write_text(resolve("phantomx").read_text().replace("stall_torque: 1.5 ", "stall_torque: 15.3 "))
    return path


def test_an_implausible_value_is_listed_with_its_line_and_its_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = mistaken(tmp_path / "robot.yaml")
    assert main(["check", str(path)]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"{path}:49: leg.servo.stall_torque: is 15.3, ")
    assert line.endswith("looks like kg cm: 1.5 N m")
    assert main(["check", str(path), "--json"]) == 1
    (value,) = json.loads(capsys.readouterr().out)["implausible"]
    assert (value["line"], value["key"]) == (49, "leg.servo.stall_torque")


def test_a_sound_file_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "phantomx"]) == 0
    assert capsys.readouterr().out.endswith(": all values are plausible\n")
