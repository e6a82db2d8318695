# SPDX-License-Identifier: Apache-2.0
"""The last pose of odometry outlives a crash of its node, but not its graph."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState
from support.phantomx import robot, standing_joints

from hexapod_control.core.kinematics.se2 import Pose
from hexapod_control.nodes.odometry import stored_values
from hexapod_control.nodes.odometry.odometry import OdometryNode
from hexapod_control.nodes.odometry.stored_values import UNSEEN_SPEED, PoseMemory
from hexapod_control.ros import messages
from hexapod_control.ros.monitoring.graph_identity import VARIABLE, new_graph, remove_state, started_graph
from hexapod_control.ros.row_messages import JointLayout

NAME = "/one/odometry"
POSE = Pose(1.0, -2.0, 0.5)
COVARIANCE = np.diag([0.01, 0.02, 0.03])


@pytest.fixture(autouse=True)
def graph(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv(VARIABLE, new_graph())


def changed(tmp_path, **fields):
    """Changes fields of the file."""
    (file,) = tmp_path.rglob("*.json")
    file.write_text(json.dumps(json.loads(file.read_text()) | fields))


def test_a_restarted_node_finds_its_pose_with_a_covariance_for_where_the_robot_may_have_gone_meanwhile(tmp_path):
    memory = PoseMemory(NAME)
    assert memory.recall() is None
    memory.keep(POSE, COVARIANCE)
    memory.close()
    kept = json.loads(next(tmp_path.rglob("one-odometry.json")).read_text())
    changed(tmp_path, time=kept["time"] - 2.0)
    found = PoseMemory(NAME).recall()
    assert found.pose == POSE
    assert 2.0 <= found.age < 12.0
    assert found.covariance == pytest.approx(COVARIANCE + np.diag([(v * found.age) ** 2 for v in UNSEEN_SPEED]))
    assert UNSEEN_SPEED == (0.3, 0.3, 1.0)
    assert PoseMemory("/two/odometry").recall() is None


def test_odom_continues_from_the_last_pose_after_a_crash(bench):
    memory = PoseMemory("/odometry")
    memory.keep(POSE, COVARIANCE)
    memory.close()
    node = bench.add(OdometryNode())
    assert re.match(r"restarted: odom continues from its last pose, \d\.\d s old", node.last_report("restart"))
    odom, joints = bench.listen(Odometry, "odom"), bench.publisher(JointState, "joint_states")
    bench.until(lambda: bench.probe.count_publishers("odom"))
    layout = JointLayout(robot())
    bench.probe.create_timer(0.02, lambda: joints.publish(layout.message(standing_joints(), None, messages.time(0))))
    bench.until(lambda: odom)
    place = odom[-1].pose.pose
    assert (place.position.x, place.position.y) == pytest.approx(POSE[:2])
    assert messages.roll_pitch_yaw(place.orientation)[2] == pytest.approx(POSE.yaw)
    assert odom[-1].pose.covariance[7] > COVARIANCE[1, 1] and odom[-1].header.stamp.sec > 0


def test_poses_are_written_ten_times_a_second_at_most_over_the_last_one(monkeypatch, tmp_path):
    clock = [100.0]  # [s]
    monkeypatch.setattr(stored_values, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    memory, kept = PoseMemory(NAME), []
    for clock[0] in (100.0, 100.09, 100.11, 100.2, 100.22):
        memory.keep(Pose(clock[0], 0.0, 0.0), COVARIANCE)
        memory.close()
        kept.append(memory.recall().pose.x)
    assert kept == [100.0, 100.0, 100.11, 100.11, 100.22]
    (file,) = tmp_path.rglob("*.json")
    size, clock[0] = file.stat().st_size, 1000.0
    memory.keep(Pose(1.0 / 3.0, -2.0 / 3.0, 1e-17 / 3.0), np.full((3, 3), -1e-17 / 3.0))
    memory.close()
    assert memory.recall().pose.x == 1.0 / 3.0 and file.stat().st_size == size


@pytest.mark.parametrize("fields", [{"pose": [1.0]}, {"covariance": [1.0]}, {"time": "now"}, {"pose": None}])
def test_a_file_that_cannot_be_used_is_no_pose(tmp_path, fields):
    memory = PoseMemory(NAME)
    memory.keep(POSE, COVARIANCE)
    memory.close()
    changed(tmp_path, **fields)
    assert PoseMemory(NAME).recall() is None


def test_without_a_graph_and_after_its_end_nothing_is_kept(monkeypatch, tmp_path):
    memory = PoseMemory(NAME)
    memory.keep(POSE, COVARIANCE)
    memory.close()
    remove_state(started_graph())
    assert memory.recall() is None
    monkeypatch.delenv(VARIABLE)
    alone = PoseMemory(NAME)
    alone.keep(POSE, COVARIANCE)
    alone.close()
    assert alone.recall() is None and not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_no_fault(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "missing" / "folder"))
    memory = PoseMemory(NAME)
    memory.keep(POSE, COVARIANCE)
    memory.close()
    assert memory.recall() is None
