# SPDX-License-Identifier: Apache-2.0
"""`hexapod play`: the list, the check, and a motion on a planner that runs, in a pseudo-terminal."""

import os
import re
import signal
import sys

import pytest
from support.real_time.programs import PROGRAM
from support.real_time.terminal_window import LIMIT, Window

from hexapod_control.cli.main import main
from hexapod_control.clients import motion_client
from hexapod_control.clients.motion_client import MotionProgress, ProgressBar
from hexapod_control.config.motion_file import known_motions
from hexapod_control.core.motions.motion_topics import MotionState
from hexapod_control.core.planner.tick_plan import RobotState

PLAY = [sys.executable, "-c", PROGRAM, "play"]
QUICK = """name: quick
description: Nods.
steps:
  - pose: {pitch_deg: 4, duration: 0.6}
  - pose: {duration: 0.6}
"""
ENDLESS = """name: endless
description: Nods for ever.
loops: 0
steps:
  - pose: {pitch_deg: 4, duration: 0.6}
  - pose: {duration: 0.6}
"""


@pytest.fixture
def play():
    windows = []

    def begin(*arguments):
        windows.append(Window([*PLAY, *arguments]))
        return windows[-1]

    yield begin
    for window in windows:
        window.close()


def result_of(bench, window):
    """Exit code, everything on the screen, and the standard output."""
    bench.until(lambda: window.read() or window.process.poll() is not None, LIMIT, "the end of hexapod play")
    window.read()
    return window.process.returncode, window.text, window.process.stdout.read().decode()


def file(folder, text):
    path = folder / "my motion.yaml"  # a name with a blank
    path.write_text(text, encoding="utf-8")
    return str(path)


# --- without a robot ----------------------------------------------------------------------------------------------


def test_the_list_has_every_motion_with_its_description(capsys):
    assert main(["play", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(known_motions())
    assert all(len(line.split()) > 3 for line in lines)


@pytest.mark.parametrize("robot", ["phantomx", "article"])
def test_a_check_prints_the_duration_of_a_motion(capsys, robot, tmp_path):
    assert main(["play", "--check", "--robot", robot, file(tmp_path, QUICK)]) == 0
    assert re.match(rf"quick: 1\.[1-4] s on {robot}, ", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("pose: {pich_deg: 4}", ":4: steps[0].pose.pich_deg: is unknown"),
        ("leg: {name: left_front, x: 0.3, z: 0.1}", ":4: leg: left_front: "),
    ],
)
def test_a_check_of_a_bad_file_prints_the_line_and_exits_with_code_two(capsys, tmp_path, line, message):
    path = file(tmp_path, QUICK.replace("pose: {pitch_deg: 4, duration: 0.6}", line))
    assert main(["play", "--check", path]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith(path + message)
    assert output.err.count("\n") == 1


@pytest.mark.parametrize("arguments", [[], ["wafe"], ["./nowhere.yaml"], ["--check"]])
def test_unknown_motions_are_bad_input(capsys, arguments):
    assert main(["play", *arguments]) == 2
    assert capsys.readouterr().err.count("\n") == 1


# --- with a planner that runs -------------------------------------------------------------------------------------


@pytest.mark.process
def test_a_file_is_played_to_its_end_with_a_progress_bar(bench, play, tmp_path):
    node = bench.planner()
    pitches = []
    node.create_timer(0.05, lambda: pitches.append(node.output.last.pose.pitch))
    code, screen, out = result_of(bench, play(file(tmp_path, QUICK)))
    assert (code, out) == (0, "quick: done\n")
    assert max(pitches) == pytest.approx(0.07, abs=0.005)
    assert "quick  [" in screen
    assert "pose" in screen
    assert "100 %  done" in screen


@pytest.mark.process
def test_ctrl_c_ends_the_motion_and_the_robot_rests(bench, play, tmp_path):
    """Other signals are handled alike, see test_keyboard.py."""
    node = bench.planner()
    window = play(file(tmp_path, ENDLESS))
    bench.until(lambda: window.read() or "pose" in window.text, LIMIT, "the motion")
    os.kill(window.process.pid, signal.SIGINT)
    code, screen, _ = result_of(bench, window)
    assert code == 1
    assert "endless was cancelled" in screen
    bench.until(lambda: not node.player.name and node.planner.state is RobotState.STANDING, LIMIT, "the rest")


@pytest.mark.process
def test_a_refusal_of_the_robot_is_printed_with_line_and_time(bench, play, tmp_path):
    bench.planner()
    path = file(tmp_path, QUICK.replace("pose: {duration: 0.6}", "pose: {x: 0.2}"))
    code, screen, _ = result_of(bench, play(path))
    assert code == 1
    assert f"quick was refused: {path}:5: pose: " in " ".join(screen.split("\r\n"))
    assert "(0.6" in screen


@pytest.mark.process
def test_an_endless_motion_ends_at_the_end_of_its_cycle_for_a_newer_one_or_on_request(bench, play, tmp_path):
    node = bench.planner()
    first = play(file(tmp_path, ENDLESS))
    bench.until(lambda: first.read() or "pose" in first.text, LIMIT, "the first motion")
    second = play(file(tmp_path, ENDLESS.replace("endless", "newer")))
    bench.until(lambda: second.read() or "waits for the end of endless" in second.text, LIMIT, "the second")
    code, _, out = result_of(bench, first)
    assert (code, out) == (0, "endless: done\n")
    bench.until(lambda: second.read() or "pose" in second.text, LIMIT, "the second motion")
    assert result_of(bench, play("--stop"))[0] == 0
    code, _, out = result_of(bench, second)
    assert (code, out) == (0, "newer: done\n")
    assert node.player.name == ""


@pytest.mark.waits
def test_a_missing_robot_is_reported(monkeypatch, capsys):
    monkeypatch.setattr(motion_client, "DISCOVERY_S", 0.5)
    assert main(["play", "wave"]) == 1
    assert "no robot subscribes to the topic motion" in capsys.readouterr().err


# --- how motion_state is interpreted ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("states", "over", "failure"),
    [
        (["none standing 0", "bow rehearse 0", "bow pose 40"], False, ""),
        (["bow pose 98", "bow done 100"], True, ""),
        (["bow refused 0 bow.yaml:3: pose: out of reach (1.0 s after the start)"], True, "bow was refused: bow.yaml:3"),
        (["bow pose 40", "bow cancelled 40"], True, "bow was cancelled"),
        (["bow pose 40", "wave pose 0"], True, "bow was ended"),
        (["bow pose 40", "walk tripod 10"], True, "bow was ended"),
        (["wave pose 40", "wave done 100", "bow pose 0"], False, ""),
        ([""], False, ""),
    ],
)
def test_the_end_of_the_motion_is_recognised(states, over, failure):
    progress = MotionProgress(["bow"], 5.0)
    for line in states:
        progress.update(MotionState.parse(line))
    assert progress.over is over
    assert progress.failure.startswith(failure) and bool(progress.failure) is bool(failure)


def test_play_gives_up_if_the_motion_does_not_start_unless_another_one_plays():
    progress = MotionProgress(["bow"], 5.0)
    progress.update(MotionState.parse("wave pose 40"))
    progress.pass_time(60.0)
    assert not progress.over
    progress.update(MotionState.parse("none standing 0"))
    progress.pass_time(4.9)
    assert not progress.over
    progress.pass_time(0.2)
    assert progress.failure == "the robot did not begin bow"


def test_without_a_terminal_one_line_is_printed_per_phase(capsys):
    progress = MotionProgress(["bow"], 5.0)
    with ProgressBar(sys.stderr) as bar:
        for line in ("bow rehearse 0", "bow pose 2", "bow pose 4", "bow done 100"):
            progress.update(MotionState.parse(line))
            bar.show(progress)
    assert capsys.readouterr().err == "bow: rehearse\nbow: pose\nbow: done\n"
