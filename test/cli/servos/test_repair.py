# SPDX-License-Identifier: Apache-2.0
"""`hexapod servos repair` and the checks of `move` and `calibrate`, over an emulated bus."""

import io
import shutil

import pytest
from ruamel.yaml import YAML

from hexapod_control.cli.main import main
from hexapod_control.config.robots.robot_file import load, resolve
from hexapod_control.servos.emulated_robot.robot_emulator import emulate
from hexapod_control.servos.settings.servo_section import servo_settings

MODE, OFFSET, TORQUE_LIMIT, LOW_LIMIT = 33, 31, 48, 9  # registers of an STS3215


@pytest.fixture
def robot(tmp_path):
    return shutil.copy(resolve("phantomx"), tmp_path / "mine.yaml")


@pytest.fixture
def wire(tmp_path, robot):
    link = tmp_path / "bus"
    emulation = emulate(load(robot).robot, servo_settings(load(robot), "feetech_st", str(link)), link)
    yield emulation
    emulation.pty.close()


def servos(wire, robot, *arguments):
    return main(["servos", "--robot", str(robot), "--protocol", "feetech_st", "--port", wire.pty.path, *arguments])


def test_repair_asks_first_writes_a_backup_and_can_restore_it(wire, robot, capsys, monkeypatch):
    memories = wire.pty.device.memories
    memories[4][MODE], memories[6][TORQUE_LIMIT], memories[6][TORQUE_LIMIT + 1] = 1, 100, 0
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    assert servos(wire, robot, "repair") == 1
    output = capsys.readouterr().out
    assert "left_middle_femur      id   5  mode                          1 -> 0  (wheel mode" in output
    assert "left_rear_coxa         id   7  torque limit                100 -> 1000  (the servo" in output
    assert "write these 2 registers? [y/N] nothing was written" in output
    assert memories[4][MODE] == 1 and [p.name for p in robot.parent.glob("*registers*")] == []
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert servos(wire, robot, "repair") == 0
    assert "2 of 2 registers restored; their old values are in " in capsys.readouterr().out
    assert memories[4][MODE] == 0
    (backup,) = robot.parent.glob("mine_servo_registers_*.yaml")
    rows = YAML(typ="safe").load(backup.read_text())["registers"]
    assert [(row["id"], row["address"], row["value"]) for row in rows] == [(5, MODE, 1), (7, TORQUE_LIMIT, 100)]
    assert servos(wire, robot, "repair", "--yes") == 0
    assert "the registers of 18 servos fit the robot" in capsys.readouterr().out


def test_repair_never_writes_if_the_backup_cannot_be_stored(wire, capsys):
    wire.pty.device.memories[4][MODE] = 1
    assert servos(wire, "phantomx", "repair", "--yes") == 2
    assert "copy it first" in capsys.readouterr().err
    assert wire.pty.device.memories[4][MODE] == 1


def test_repair_reports_problems_that_it_cannot_fix(wire, robot, capsys):
    wire.pty.device.memories[4][OFFSET] = 100
    wire.world.unplug(5)
    assert servos(wire, robot, "repair", "--yes") == 1
    output = capsys.readouterr().out
    assert "left_middle_tibia_joint (id 6) does not answer: check its cable and power" in output
    assert "left_middle_femur_joint (id 5): offset is 100: the robot file does not say" in output


def test_a_joint_is_not_moved_where_its_servo_would_not_stop(wire, robot, capsys):
    wire.pty.device.memories[4][MODE] = 1
    assert servos(wire, robot, "move", "left_middle", "femur", "5") == 2
    assert "left_middle_femur_joint (id 5): mode is 1: wheel mode" in capsys.readouterr().err
    assert not wire.world.torques.any()
    assert main(["calibrate", "--robot", str(robot), "--protocol", "feetech_st", "--port", wire.pty.path]) == 2
    assert "servo (id 5): mode is 1: wheel mode" in capsys.readouterr().err
