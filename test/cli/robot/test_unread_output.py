# SPDX-License-Identifier: Apache-2.0
"""A robot whose output nothing reads goes on, and an emergency stop reaches the wire at once.

A write blocks for ever in a terminal in which somebody has pressed Ctrl-S, and on a pipe to a program that has stopped.
"""

import fcntl
import os
import sys
import time

import pytest
from geometry_msgs.msg import Pose, Quaternion
from rcl_interfaces.msg import Log
from std_msgs.msg import String
from std_srvs.srv import SetBool
from support.phantomx import standing_joints
from support.real_time.programs import HEXAPOD
from support.real_time.terminal_window import Window
from support.real_time.wires import ENDING, START, spawned

from hexapod_control.ros.qos import LATCHED, LATCHED_HISTORY

pytestmark = pytest.mark.heavy

REFUSED = Pose(orientation=Quaternion(w=0.0))  # a rotation without a length: refused with a warning
STAYS = "Ctrl-Z does not stop a program that moves a robot: end it with Ctrl-C"
WARNING_S = 1.0  # of requests that are refused with a warning
STOP_S, LOADED_S = 0.1, 0.4  # [s] from the call until the torque is off; allowed for a loaded machine in addition


# A shell with job control: Ctrl-Z would stop its job, which the system does not do to a session without a shell.
SHELL = """
import os, signal, subprocess, sys
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
job = subprocess.Popen(sys.argv[1:], process_group=0)
os.tcsetpgrp(0, job.pid)
signal.signal(signal.SIGTERM, lambda *_: job.terminate())
sys.exit(job.wait())
"""


@pytest.fixture
def full_pipe():
    """The writing end of a pipe of 4 kB that is full and is not read."""
    read_end, write_end = os.pipe()
    fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, 4096)
    os.write(write_end, bytes(4096))
    yield write_end
    os.close(read_end)
    os.close(write_end)


def words(wire):
    """The command for one process on emulated servos."""
    port = wire.parameters["port"]
    return [*HEXAPOD, "robot", "phantomx", "servo_protocol:=feetech_st", f"servo_port:={port}"]


def wait_until_standing(bench, process):
    """Waits for it; fails with what the nodes have logged, as nothing reads their output."""
    states, logged = bench.listen(String, "gait_state", LATCHED), bench.listen(Log, "/rosout", LATCHED_HISTORY)
    try:
        bench.until(lambda: (states and states[-1].data == "standing") or process.poll() is not None, START)
    except AssertionError as error:
        raise AssertionError([*states, *(f"{each.name}: {each.msg}" for each in logged)]) from error
    assert process.poll() is None, "the robot ended"


def warn_and_stop(bench, wire, process):
    """Makes the robot warn, then stops it in an emergency and ends it."""
    poses = bench.publisher(Pose, "body_pose")
    end = time.monotonic() + WARNING_S
    while time.monotonic() < end:
        poses.publish(REFUSED)
        bench.spin(0.1)
    assert process.poll() is None and wire.world.torques.all()
    assert bench.call(SetBool, "estop", SetBool.Request(data=False)).success  # the service is discovered
    pressed = time.monotonic()
    assert bench.call(SetBool, "estop", SetBool.Request(data=True)).success
    bench.until(lambda: not wire.world.torques.any(), what="torque off")
    assert time.monotonic() - pressed < STOP_S + LOADED_S
    process.terminate()
    bench.until(lambda: process.poll() is not None, ENDING, "the end")
    assert process.returncode == 0


def test_a_terminal_that_is_stopped_stops_neither_the_robot_nor_an_emergency_stop(bench, wire):
    wire = wire(start=standing_joints())
    window = Window([sys.executable, "-c", SHELL, *words(wire)], screen=True)
    try:
        wait_until_standing(bench, window.process)
        window.type("\x1a")  # Ctrl-Z
        window.until(lambda: STAYS in window.text, STAYS)
        window.type("\x13")  # Ctrl-S
        warn_and_stop(bench, wire, window.process)
        window.type("\x11")  # Ctrl-Q
    finally:
        window.close()


def test_a_full_pipe_stops_neither_the_robot_nor_an_emergency_stop(bench, wire, full_pipe):
    wire = wire(start=standing_joints())
    process = spawned(words(wire), full_pipe)
    try:
        wait_until_standing(bench, process)
        warn_and_stop(bench, wire, process)
    finally:
        process.kill()
        process.wait(10.0)


def test_a_full_pipe_behind_separate_processes_stops_neither_the_robot_nor_an_emergency_stop(launched, full_pipe):
    robot = launched(standing_joints(), output=full_pipe)
    wait_until_standing(robot.bench, robot.process)
    warn_and_stop(robot.bench, robot.wire, robot.process)
