"""Nodes of a walking robot are killed: the robot walks on, or holds and walks again on command.

All nodes of one graph, one after the other: a graph of processes costs more to start than to run. The simulator is the
last one, as it ends the graph.
"""

import math
import os
import signal
import time

import pytest

from hexapod_control.bringup import node_graph
from hexapod_control.bringup.process_supervisor import NodeExitError, Supervisor
from hexapod_control.clients.connection_options import ConnectionOptions
from hexapod_control.clients.robot_client import SimulationClient
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.ros.distribution import stamped_by_default

pytestmark = [pytest.mark.heavy, pytest.mark.physics]

MAX_WAIT_S = 60.0  # for anything
FORWARD = Twist(0.12, 0.0, 0.0)
FALLEN_M = 0.07  # of base_link; a lower robot has sunk


class WalkingRobot:
    """A graph in processes of its own, and an operator who drives all the time."""

    def __init__(self, supervisor, operator, lines):
        self.supervisor, self.operator, self.lines = supervisor, operator, lines
        self.until(lambda: not operator.missing(), "the nodes")
        operator.request("stand")
        self.until(lambda: operator.state == "standing" and operator.maxima.vx > 0.0, "standing")
        operator.twist = FORWARD
        self.walk(0.1)

    def until(self, condition, what):
        deadline = time.monotonic() + MAX_WAIT_S
        while not condition():
            assert time.monotonic() < deadline, f"waited in vain for {what}: {self.lines[-8:]}"
            self.supervisor.check()
            self.operator.spin(0.02)

    def walk(self, distance):
        """Waits until the robot has walked so far [m] from here."""
        start = self.operator.truth.last.pose
        self.until(lambda: math.dist(start[:2], self.operator.truth.last.pose[:2]) > distance, f"{distance} m of way")

    def kill(self, name):
        """Kills a node and waits until it runs again."""
        before = self.supervisor.pids[name]
        os.kill(before, signal.SIGKILL)
        self.until(lambda: self.supervisor.pids[name] != before, f"{name} again")
        assert [line for line in self.lines if f"{name} died with exit code -9 (SIGKILL): it starts again" in line]

    def drift(self):
        """Distance [m] between odometry and truth."""
        return math.dist(self.operator.odometry.last.pose[:2], self.operator.truth.last.pose[:2])


def test_nodes_that_are_killed_under_a_walking_robot_come_back(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    lines = []
    specs = node_graph.specs("sim", {"web": False})
    with (
        Supervisor(specs, lines.append) as supervisor,
        SimulationClient(ConnectionOptions("", stamped_by_default())) as operator,
    ):
        robot = WalkingRobot(supervisor, operator, lines)
        seen = operator.truth.last.pose
        robot.kill("odometry")
        count = len(operator.odometry)
        robot.until(lambda: len(operator.odometry) > count and operator.state == "walking", "odometry")
        assert operator.odometry.last.pose.x > 0.5 * seen.x  # not from the origin again
        unseen = math.dist(seen[:2], operator.truth.last.pose[:2])  # way without odometry, within the covariance
        assert robot.drift() < unseen + 0.05
        low, planner = len(operator.truth), supervisor.pids["gait_planner"]
        robot.kill("inverse_kinematics")
        robot.walk(0.05)
        assert supervisor.pids["gait_planner"] != planner
        heights = [sample.height for sample in operator.truth.between(0.0, math.inf)[low:]]
        assert min(heights) > FALLEN_M
        assert any(tmp_path.iterdir())
        pids = list(supervisor.pids.values())
        os.kill(supervisor.pids["mujoco_sim"], signal.SIGKILL)
        with pytest.raises(NodeExitError, match=r"mujoco_sim died with exit code -9 \(SIGKILL\)"):
            robot.until(lambda: False, "the end of the graph")
    assert not [pid for pid in pids if os.path.exists(f"/proc/{pid}")]
    assert not any(tmp_path.iterdir())
    assert [line for line in lines if "odom continues from its last pose" in line]
