"""The last pose of odometry outlives a crash of its node, but not its graph."""

import json

import numpy as np
import pytest

from hexapod_control.bringup.graph_identity import VARIABLE, new_graph, remove_state, started_graph
from hexapod_control.core.kinematics.se2 import Pose
from hexapod_control.nodes.odometry.pose_memory import PERIOD_S, UNSEEN_SPEED, PoseMemory

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
    kept = json.loads(next(tmp_path.rglob("one-odometry.json")).read_text())
    changed(tmp_path, time=kept["time"] - 2.0)
    found = PoseMemory(NAME).recall()
    assert found.pose == POSE
    assert 2.0 <= found.age < 12.0
    assert found.covariance == pytest.approx(COVARIANCE + np.diag([(v * found.age) ** 2 for v in UNSEEN_SPEED]))
    assert UNSEEN_SPEED == (0.3, 0.3, 1.0)
    assert PoseMemory("/two/odometry").recall() is None


def test_poses_are_written_ten_times_a_second_at_most(tmp_path):
    memory = PoseMemory(NAME)
    memory.keep(POSE, COVARIANCE)
    memory.keep(Pose(9.0, 0.0, 0.0), COVARIANCE)
    assert memory.recall().pose == POSE
    assert PERIOD_S == 0.1


@pytest.mark.parametrize("fields", [{"pose": [1.0]}, {"covariance": [1.0]}, {"time": "now"}, {"pose": None}])
def test_a_file_that_cannot_be_used_is_no_pose(tmp_path, fields):
    PoseMemory(NAME).keep(POSE, COVARIANCE)
    changed(tmp_path, **fields)
    assert PoseMemory(NAME).recall() is None


def test_without_a_graph_and_after_its_end_nothing_is_kept(monkeypatch, tmp_path):
    memory = PoseMemory(NAME)
    memory.keep(POSE, COVARIANCE)
    remove_state(started_graph())
    assert memory.recall() is None
    monkeypatch.delenv(VARIABLE)
    alone = PoseMemory(NAME)
    alone.keep(POSE, COVARIANCE)
    assert alone.recall() is None and not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_no_fault(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "missing" / "folder"))
    memory = PoseMemory(NAME)
    memory.keep(POSE, COVARIANCE)
    assert memory.recall() is None
