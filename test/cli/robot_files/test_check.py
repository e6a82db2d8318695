# SPDX-License-Identifier: Apache-2.0
"""`hexapod check`: the most severe remark first, with line, key and remedy; the exit code reports a problem."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest
from support.phantomx import mistaken_file

from hexapod_control.cli.main import main
from hexapod_control.config.robots.robot_file import resolve


def test_an_implausible_value_is_listed_with_its_line_and_its_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = mistaken_file(tmp_path / "robot.yaml")
    assert main(["check", str(path), "--values"]) == 1
    head, line = capsys.readouterr().out.splitlines()
    assert head == f"{path}: 1 implausible value"
    assert line.startswith(f"wrong    {path}:49: leg.servo.stall_torque: is 15.3, ")
    assert line.endswith("looks like kg cm: 1.5 N m.")
    assert main(["check", str(path), "--values", "--json"]) == 1
    (remark,) = json.loads(capsys.readouterr().out)["remarks"]
    assert (remark["seriousness"], remark["figures"]) == ("wrong", {"line": 49, "key": "leg.servo.stall_torque"})


def test_a_confirmed_value_is_a_note_with_its_reason_and_no_longer_changes_the_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = mistaken_file(tmp_path / "robot.yaml")
    sound = path.read_text()
    path.write_text(f"{sound}\nconfirmed:\n  leg.servo.stall_torque: a gearbox\n")
    assert main(["check", str(path), "--values"]) == 0
    head, line = capsys.readouterr().out.splitlines()
    assert head == f"{path}: all values are plausible" and line.startswith("note     ")
    assert line.endswith("looks like kg cm: 1.5 N m; confirmed: a gearbox.")
    path.write_text(f"{sound}\nconfirmed:\n  leg.servo.stall_torque:\n")
    assert main(["check", str(path), "--values"]) == 2
    assert "confirmed.leg.servo.stall_torque: is empty" in capsys.readouterr().err


def test_a_sound_robot_passes_with_its_figures_and_the_report_is_one_page_with_all_remarks_and_plots(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "report.html"
    assert main(["check", "phantomx", "--json", "--report", str(path)]) == 0
    printed = capsys.readouterr()
    assert printed.err.startswith(f"{resolve('phantomx')}: all values are plausible\ncheck: reach\n")
    remarks = json.loads(printed.out)["remarks"]
    (walking,) = (remark["figures"] for remark in remarks if remark["topic"] == "walking")
    assert walking["gait"] == "tripod" and set(walking["rms_nm"]) == {"coxa", "femur", "tibia"}
    (battery,) = (remark["figures"]["walking_min"] for remark in remarks if remark["topic"] == "power")
    page = path.read_text()
    verdict = f"It walks: up to 0.25 m/s in tripod, about {battery:.0f} min on 24 Wh; nothing has to be changed."
    assert page.index(verdict) < page.index("<table>")
    assert all(html.escape(remark["text"]) in page for remark in remarks)
    assert page.count("<svg") == 4
    assert not re.search(r"(?:src|href)=['\"]?http|<link|<script", page.replace("xlink:href", "xlink"))


def test_a_payload_that_no_servo_carries_is_a_problem(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "quadruped", "--payload", "3"]) == 1
    head, verdict, worst, *_ = capsys.readouterr().out.splitlines()
    assert head.endswith("all values are plausible")
    assert re.fullmatch(r"It will not walk well: .* m/s in .* min on 24 Wh; [1-9] to change, .*", verdict)
    assert worst.startswith("problem  ") and "Change: servos of " in worst


def test_a_factor_on_the_odometry_that_no_calibration_finds_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "robot.yaml"
    path.write_text(f"{resolve('phantomx').read_text()}\nodometry_scale: {{distance: 0.5, turn: 1.0}}\n")
    assert main(["check", str(path), "--values"]) == 1
    assert "odometry_scale.distance: is 0.5, usual are 0.8 to 1.25" in capsys.readouterr().out


def test_a_report_without_the_checks_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "report.html"
    assert main(["check", "phantomx", "--values", "--report", str(path)]) == 2
    assert "--report: needs the checks that --values leaves out" in capsys.readouterr().err
    assert not path.exists()


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ("io: {imu: {chip: mpu6055}}", ': io.imu.chip: is "mpu6055", must be one of mpu6050'),
        ("servos: {protocol: pca9865}", ': servos.protocol: is "pca9865", must be one of feetech_st'),
    ],
)
def test_sections_of_servos_and_sensors_are_checked_too(
    section: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "robot.yaml"
    path.write_text(f"{resolve('phantomx').read_text()}\n{section}\n")
    assert main(["check", str(path), "--values"]) == 2
    assert words in capsys.readouterr().err
