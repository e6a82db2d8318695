# SPDX-License-Identifier: Apache-2.0
"""Switching the computer off from a page: only with a command of the owner, and only once the robot sits."""

from types import SimpleNamespace

import pytest
from support.kits.plain_node import Moment, PlainNode

from hexapod_control.nodes.web import computer_shutdown
from hexapod_control.nodes.web.computer_shutdown import DOWN, MAX_SIT_S, ComputerShutdown
from hexapod_control.web.protocol import DriveMessage, GaitMessage


class Computer:
    """A computer that is off as soon as a file exists, and its robot."""

    def __init__(self, monkeypatch, folder, command="touch '{}'"):
        self.time, self.log, self.sat, self.file = Moment(), [], 0, folder / "off now"
        monkeypatch.setattr(computer_shutdown, "time", self.time)
        self.feed = SimpleNamespace(posture="walking")
        self.shutdown = ComputerShutdown(
            PlainNode(moment=self.time),
            command.format(self.file),
            self.feed,
            self.sit,
            lambda level, key, values: self.log.append(key),
        )

    def sit(self):
        self.sat += 1

    def later(self, seconds=1.0):
        self.time.now += seconds
        self.shutdown.watch()

    @property
    def off(self):
        return self.file.exists()


@pytest.fixture
def computer(monkeypatch, tmp_path):
    return Computer(monkeypatch, tmp_path)


def test_a_walking_robot_sits_before_the_computer_is_switched_off(computer):
    assert computer.shutdown.request("Ada") and computer.shutdown.request("Ada")
    computer.later()
    assert (computer.sat, computer.log, computer.off) == (1, ["log_shutdown"], False)
    computer.feed.posture = "sitting"
    computer.later()
    assert computer.off and computer.log == ["log_shutdown"]
    computer.file.unlink()
    computer.later()
    assert not computer.off


@pytest.mark.parametrize("posture", DOWN)
def test_a_robot_that_is_down_is_not_moved(computer, posture):
    computer.feed.posture = posture
    computer.shutdown.request("Ada")
    computer.later()
    assert computer.off and computer.sat == 0


def test_a_command_that_moves_the_robot_keeps_the_computer_on_and_others_do_not(computer):
    computer.shutdown.overrule(DriveMessage(True, 1.0), "Bob")
    computer.shutdown.request("Ada")
    computer.shutdown.overrule(GaitMessage("wave"), "Bob")
    assert computer.log == ["log_shutdown"]
    computer.shutdown.overrule(DriveMessage(True, 1.0), "Bob")
    computer.feed.posture = "sitting"
    computer.later()
    assert not computer.off and computer.log == ["log_shutdown", "log_shutdown_ended"]


def test_a_robot_that_does_not_sit_keeps_the_computer_on(computer):
    computer.shutdown.request("Ada")
    computer.later(MAX_SIT_S + 0.1)
    computer.feed.posture = "sitting"
    computer.later()
    assert not computer.off and computer.log[-1] == "log_shutdown_standing"


def test_without_a_command_it_is_refused_and_a_command_that_fails_is_reported(monkeypatch, tmp_path):
    assert not Computer(monkeypatch, tmp_path, "").shutdown.request("Ada")
    for command in ("false", "no_such_program_here"):
        computer = Computer(monkeypatch, tmp_path, command)
        computer.feed.posture = "sitting"
        computer.shutdown.request("Ada")
        computer.later()
        assert computer.log[-1] == "log_shutdown_failed"
