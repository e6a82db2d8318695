# SPDX-License-Identifier: Apache-2.0
"""`hexapod estop`, `reset` and `arm`, and the keys of the keyboard for them, with a simulated robot on real DDS."""

import contextlib
import subprocess
import sys
import time

import pytest
from std_msgs.msg import Bool
from support.real_time.programs import PROGRAM
from support.real_time.ros_bench import overrides
from support.real_time.terminal_window import KEYBOARD, LIMIT, Window

from hexapod_control.bringup import node_graph
from hexapod_control.nodes.mujoco_sim.mujoco_sim import MujocoSimNode
from hexapod_control.ros.qos import LATCHED


@pytest.fixture
def armed(bench):
    """Values of the topic `armed` of a simulated robot, whose torque is on."""
    spec = next(spec for spec in node_graph.specs("sim", {"web": False}) if spec.executable == "mujoco_sim")
    bench.add(MujocoSimNode(parameter_overrides=overrides(**spec.parameters)))
    armed = bench.listen(Bool, "armed", LATCHED)
    bench.until(lambda: armed and armed[-1].data, LIMIT, "armed")
    return armed


def result(bench, command):
    """Exit code and output of a command of its own process."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", PROGRAM, command], **pipes) as process:
        bench.until(lambda: process.poll() is not None, LIMIT, f"the end of hexapod {command}")
        return process.returncode, "".join(process.communicate())


@pytest.mark.process
def test_torque_goes_off_by_estop_and_comes_on_again_after_reset_and_arm(bench, armed):
    assert result(bench, "estop")[0] == 0
    bench.until(lambda: not armed[-1].data, LIMIT, "torque off")
    code, text = result(bench, "arm")  # the emergency stop is latched
    assert code == 1 and "the emergency stop is latched" in text
    assert result(bench, "reset")[0] == 0
    assert not armed[-1].data
    assert result(bench, "arm") == (0, "torque is on\n")
    bench.until(lambda: armed[-1].data, LIMIT, "torque on")


@pytest.mark.process
def test_the_keyboard_switches_the_torque_off_and_on_again_also_without_a_planner(bench, armed):
    with contextlib.closing(Window(KEYBOARD)) as window:
        bench.until(
            lambda: window.read() or "status" in window.text or "robot" in window.text, LIMIT, "the status line"
        )
        pressed = [time.monotonic()]

        def is_off():
            window.read()  # a full terminal would block the program
            if time.monotonic() - pressed[-1] > 1.0:  # it may not have discovered the service before
                window.type("E")
                pressed.append(time.monotonic())
            return not armed[-1].data

        bench.until(is_off, LIMIT, "torque off")
        window.type("R")
        bench.until(lambda: armed[-1].data, LIMIT, "torque on")
        bench.until(lambda: window.read() or "torque is on" in window.text, LIMIT, "the answer")


@pytest.mark.process
def test_the_keyboard_stops_a_robot_from_a_terminal_that_is_no_longer_read(bench, armed):
    with contextlib.closing(Window(KEYBOARD)) as window:
        pressed = []

        def is_off():
            window.type("g")  # refused in a line each time, which fills the terminal
            if len(pressed) > 1000 and len(pressed) % 100 == 0:
                window.type("E")
            pressed.append("g")
            return not armed[-1].data

        bench.until(is_off, 2 * LIMIT, "torque off")
        assert len(pressed) > 1000


def test_without_a_robot_the_command_says_so(capfd):
    from hexapod_control.cli.main import main

    assert main(["estop"]) == 1
    assert "no robot offers estop: " in capfd.readouterr().err
