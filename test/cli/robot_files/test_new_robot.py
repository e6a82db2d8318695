# SPDX-License-Identifier: Apache-2.0
"""`hexapod new` as a program: in a terminal from the first question to the robot file, and with answers from a file."""

import io
import sys

import pytest
from support.real_time.programs import HEXAPOD
from support.real_time.terminal_window import Window

from hexapod_control.cli.main import main
from hexapod_control.config.robots.robot_file import load

NEW = ["new", "mine.yaml", "--values"]
KEPT = "mine.answers.json"


def test_answers_in_a_terminal_survive_quit_and_become_a_robot_file(tmp_path):
    window = Window([*HEXAPOD, *NEW], screen=True, folder=tmp_path)
    typed = ["4", "15 x 15 x 5 cm", "back", "16 x 15 x 5 cm", "0 0 45", "75 75 45", "quit"]
    proposals = ["6 rows", "150 150 50", "75 75 45", "15 x 15 x 5 cm", "80 75 45", "80 75 45", "-75 75 135"]
    try:
        for text, proposal in zip(typed, proposals, strict=True):
            window.until(lambda: window.text.endswith(f"[{proposal}]: "), f"the proposal {proposal}")  # noqa: B023
            window.type(f"{text}\n")
        window.until(lambda: window.process.poll() is not None, "the end")
        window.until(lambda: "to continue" in window.text, "the last line")
        assert window.process.returncode == 1 and "must differ" in " ".join(window.text.split())
        assert (
            "one of: 6 rows, 4 rows" in window.text
            and "forward" in window.text
            and KEPT in window.text
            and not (tmp_path / "mine.yaml").exists()
        )
    finally:
        window.close()
    window = Window([*HEXAPOD, *NEW], screen=True, folder=tmp_path)
    try:
        window.until(lambda: window.text.endswith("[-75 75 135]: "), "the question that was open")
        window.type("\n" * 9)
        window.until(lambda: "--demo" in window.text, "the next command")
        window.until(lambda: window.process.poll() is not None, "the end")
        assert window.process.returncode == 0 and "all values are plausible" in window.text
    finally:
        window.close()
    robot = load(tmp_path / "mine.yaml").robot
    assert len(robot.legs) == 4 and robot.body.size == pytest.approx((0.16, 0.15, 0.05))
    assert "from above" in (tmp_path / "mine.svg").read_text()


def test_answers_through_standard_input_replace_a_file_only_after_a_yes(tmp_path, monkeypatch, capsys):
    def refusal(lines):
        monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
        assert main(["new", "mine.yaml"]) == 2 and robot_file.read_text() == "mine"
        return capsys.readouterr().err

    monkeypatch.chdir(tmp_path)
    robot_file = tmp_path / "mine.yaml"
    robot_file.write_text("mine")
    assert "--force" in refusal("no\n")
    assert "question 3, hip left_front: " in refusal("yes\n\n\n0 0 45\n")
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n" * 12))
    assert main(["new", "mine.yaml", "--force"]) == 0
    printed = capsys.readouterr().out
    assert "wrong" not in printed and "Next, " in printed
    assert len(load(robot_file).robot.legs) == 6


def test_a_name_that_is_no_robot_file_is_refused(capsys):
    assert main(["new", "mine.txt"]) == 2
    assert "must end in .yaml or .yml" in capsys.readouterr().err
