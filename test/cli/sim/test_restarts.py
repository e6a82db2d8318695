# SPDX-License-Identifier: Apache-2.0
"""Nodes of a walking robot are killed: the robot walks on, or holds and walks again on command; its file may be edited.

All nodes of one `hexapod sim`, one after the other: a graph of processes costs more to start than to run. The simulator
is the last one, as it ends the command.
"""

import math
import os
import signal

import pytest
from nav_msgs.msg import Odometry
from std_msgs.msg import String
from support.real_time.frame_tree import FrameTree
from support.real_time.programs import MAX_WAIT_S, processes

from hexapod_control.config.robots.robot_file import load
from hexapod_control.ros import messages
from hexapod_control.ros.qos import LATCHED

pytestmark = [pytest.mark.heavy, pytest.mark.physics]

FALLEN_M = 0.07  # of base_link; a lower robot has sunk
NODES = {"mujoco_sim", "gait_planner", "inverse_kinematics", "odometry", "link_frames"}
STARTS_AGAIN = "died with exit code -9 (SIGKILL): it starts again"


class WalkingRobot:
    """What is seen of a robot that a command drives ahead all the time."""

    def __init__(self, bench):
        self.bench = bench
        self.states = bench.listen(String, "gait_state", LATCHED)
        self.truth = bench.listen(Odometry, "simulator/floating_base_state")
        self.odometry = bench.listen(Odometry, "odom")
        self.until(lambda: self.walks() and self.odometry and place(self.truth[-1])[0] > 0.05, "walking")

    def until(self, condition, what):
        self.bench.until(condition, MAX_WAIT_S, what)

    def walks(self):
        return self.states and self.states[-1].data == "walking"

    def walk(self, distance):
        """Waits until the robot has walked so far [m] from here."""
        start = place(self.truth[-1])
        self.until(lambda: math.dist(start, place(self.truth[-1])) > distance, f"{distance} m of way")

    def truth_at(self, message):
        """The true place [m] of the robot at the time of a message, or soon after it."""
        then = stamp(message)
        return place(next((each for each in self.truth if stamp(each) >= then), self.truth[-1]))


def place(message):
    position = message.pose.pose.position
    return position.x, position.y


def stamp(message):
    return messages.nanoseconds(message.header.stamp)


def test_nodes_that_are_killed_under_a_walking_robot_come_back(start, bench, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    file = tmp_path / "mine.yaml"
    file.write_text(load("phantomx").path.read_text())
    command = start("--demo", "--no-web", "--segment", "60", "--robot", str(file))
    tree = FrameTree(bench)
    robot, pids = WalkingRobot(bench), processes()
    robot.until(tree.whole, "all links in the frame tree")
    assert set(pids) == NODES
    assert any(tmp_path.glob("hexapod_*"))
    file.write_text("nodes that are started again must not read this: [")
    os.kill(pids["odometry"], signal.SIGKILL)
    seen = place(robot.truth[-1])
    robot.walk(0.02)
    assert robot.walks()  # without odometry
    count, low = len(robot.odometry), len(robot.truth)
    os.kill(pids["inverse_kinematics"], signal.SIGKILL)
    robot.until(lambda: processes().get("inverse_kinematics", 0) not in (0, pids["inverse_kinematics"]), "it again")
    robot.walk(0.02)
    robot.until(lambda: robot.walks() and len(robot.odometry) > count, "walking with odometry")
    again = processes()
    assert set(again) == NODES
    assert {name for name in NODES if again[name] == pids[name]} == {"mujoco_sim", "link_frames"}
    assert min(message.pose.pose.position.z for message in robot.truth[low:]) > FALLEN_M
    back = robot.odometry[count]
    assert back.pose.pose.position.x > 0.5 * seen[0]  # not from the origin again
    unseen = math.dist(seen, robot.truth_at(back))  # way without odometry, within the covariance
    last = robot.odometry[-1]
    assert math.dist(place(last), robot.truth_at(last)) < unseen + 0.05
    edited = f"{file} was changed: this robot keeps the one with which it was started"
    command.wait_for(lambda: edited in command.text, "the report of the edited file")
    os.kill(again["mujoco_sim"], signal.SIGKILL)
    assert command.end() == 1
    assert "mujoco_sim died with exit code -9 (SIGKILL): the robot holds" in command.text
    assert all(f"{name} {STARTS_AGAIN}" in command.text for name in ("odometry", "inverse_kinematics"))
    assert "odom continues from its last pose" in command.text
    assert "Traceback" not in command.text
    assert not processes()
    assert command.text.count(edited) == 1
    assert not any(tmp_path.glob("hexapod_*"))
