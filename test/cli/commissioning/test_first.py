# SPDX-License-Identifier: Apache-2.0
"""`hexapod first` in a terminal over an emulated bus: it ends and goes on, refuses bad input, and drives the robot."""

import time
from functools import partial

import pytest
from support.phantomx import narrow_file

from hexapod_control.cli.commissioning.first_drive import drive
from hexapod_control.config.robots.robot_file import load, resolve
from hexapod_control.servos.calibration.dialog import TorqueStop
from hexapod_control.servos.commissioning.commissioning_progress_file import CommissioningProgressFile
from hexapod_control.servos.emulated_robot.robot_emulator import emulate
from hexapod_control.servos.settings.servo_section import servo_settings

STEP_US = 5.0  # of the pulses of a PCA9685
LATE_S = 5.0  # in which the torque is off and all nodes have ended, also on a busy machine


@pytest.fixture
def path(tmp_path):
    made = tmp_path / "mine.yaml"
    made.write_text(resolve("phantomx").read_text())
    return made


@pytest.fixture
def wire(path):
    """Emulated servos on a pty."""
    link = path.with_name("bus")
    file = load(path)
    emulation = emulate(file.robot, servo_settings(file, "feetech_st", str(link)), link)
    yield emulation
    emulation.pty.close()


@pytest.fixture
def typed(type_into):
    """Runs the command with lines on its standard input."""
    return partial(type_into, "first")


def test_commissioning_that_ends_at_any_stage_continues_there(path, wire, typed, capsys):
    words = [str(path), "--protocol", "feetech_st", "--port", wire.pty.path, "--pace", "50"]
    assert typed(["", "", "", "", "", "11.1", "", "", "quit"], *words) == 1
    output = capsys.readouterr().out
    assert "== 1/15  The robot on a stand" in output and "all feet hang free" in output
    assert "4 of 15 stages are done: run the same command again to continue" in output
    done = CommissioningProgressFile(path).read().done
    assert str(done["supply"]) == "11.1 V without load"
    assert str(done["bus"]).startswith("18 servos answer (STS3215), feetech_st at 1000000 baud")
    assert typed(["quit"], *words) == 1
    assert "== 5/15  Which servo is which joint" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("answers", "place"),
    [(["1520", ""], 1520), (["+20", ""], 1520), (["3020", "", ""], 1500), (["3020", "y", ""], 2500)],
)
def test_a_position_typed_in_the_calibration_of_hobby_servos_is_where_the_servo_goes(
    path, typed, capsys, answers, place
):
    narrow_file(path)
    file, link = load(path), path.with_name("bus")
    emulation = emulate(file.robot, servo_settings(file, "pca9685", str(link)), link)
    moved, goal = [], emulation.world.goal
    emulation.world.goal = lambda index, raw, duration: (moved.append((index, raw)), goal(index, raw, duration))
    try:
        words = [str(path), "--protocol", "pca9685", "--port", emulation.pty.path, "--pace", "50"]
        lines = ["", "", "", "", "", "", *answers, "quit"]  # begins, hands off, then four joints are there
        assert typed(lines, *words, "--stage", "calibration") == 1
    finally:
        emulation.pty.close()
    output = capsys.readouterr().out
    assert "left_middle_femur to level (1500 us): " in output and f"left_middle_femur to level ({place} us): " in output
    far = "Move left_middle_femur from 1500 to 2500 us, by 90 deg? [y/N] " in output
    assert far == ("left_middle_femur cannot go to 3020: 2500 is used instead" in output) == (answers[0] == "3020")
    assert all(abs(raw - 1500.0) < STEP_US for index, raw in moved if index != 4)
    assert max((raw for index, raw in moved if index == 4), default=1500.0) == pytest.approx(place, abs=STEP_US)
    assert not emulation.world.torques.any()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["phantomx"], "copy it first: cp "),
        (["OWN", "--stage", "fly"], "invalid choice: 'fly'"),
        (["OWN", "--baud", "12"], "--baud: must be in [1200, 4500000] bit/s, is 12"),
    ],
)
def test_bad_input_is_refused_in_one_line(path, typed, capsys, words, message):
    arguments = [str(path) if word == "OWN" else word for word in words]
    try:
        code = typed([], *arguments)
    except SystemExit as end:
        code = end.code
    assert code == 2
    assert message in capsys.readouterr().err


def test_a_port_that_cannot_be_opened_is_named_and_the_stage_is_offered_again(path, typed, capsys):
    words = [str(path), "--protocol", "feetech_st", "--port", "/dev/none", "--stage", "bus"]
    assert typed(["", "quit"], *words) == 1
    output = capsys.readouterr().out
    assert "Not yet: /dev/none: there is no such port" in output
    assert output.count("== 2/15") == 2


@pytest.mark.process
def test_the_nodes_start_and_the_robot_makes_a_step_and_sits(path, wire):
    file = load(path)
    lines = []
    result = drive(file, servo_settings(file, "feetech_st", wire.pty.path), "step", lines.append)
    assert str(result).startswith("one step with each leg at 0.0")
    assert not wire.world.torques.any()


@pytest.mark.process
def test_stop_while_the_robot_stands_up_switches_the_torque_off_at_once(path, wire):
    file = load(path)
    pressed, lines = [], []

    def check():
        if wire.world.torques.all():
            pressed.append(time.monotonic())
            raise TorqueStop

    with pytest.raises(TorqueStop):
        drive(file, servo_settings(file, "feetech_st", wire.pty.path), "walk", lines.append, check)
    assert not wire.world.torques.any() and time.monotonic() - pressed[0] < LATE_S
    assert any("emergency stop: torque is off" in line for line in lines)  # before the nodes were ended
