# SPDX-License-Identifier: Apache-2.0
"""What the page gets of a recording: frames to draw, and a table of all signals."""

import csv
import io
import json
import math
import os
import sys

import numpy as np
import pytest
from support.phantomx import robot, standing_joints

from hexapod_control.bags import bag_file
from hexapod_control.bags.long_recording import LongRecording
from hexapod_control.bags.ring_buffer import RecordedMessage
from hexapod_control.config.robots.urdf_import.joint_mapping import JointMapping
from hexapod_control.core.names import foot_name, joint_names
from hexapod_control.nodes.web.recordings.recording_export import frames, main, write_replay, write_table

MS = 1_000_000  # [ns]
TYPES = bag_file.TYPES.types
NAMES = joint_names(robot().leg_names)
FEET = [foot_name(leg) for leg in robot().leg_names]
KINDS = {
    "joint_states": "sensor_msgs/msg/JointState",
    "foot_states": "sensor_msgs/msg/MultiDOFJointState",
    "foot_targets": "sensor_msgs/msg/MultiDOFJointState",
    "cmd_vel": "geometry_msgs/msg/Twist",
    "odom": "nav_msgs/msg/Odometry",
    "stability_margin": "std_msgs/msg/Float64",
    "gait_state": "std_msgs/msg/String",
}


def header():
    return TYPES["std_msgs/msg/Header"](TYPES["builtin_interfaces/msg/Time"](0, 0), "")


def joint_state(angles, names=NAMES):
    return TYPES[KINDS["joint_states"]](header(), list(names), np.ravel(angles), np.zeros(0), np.zeros(0))


def forces(values):
    vector, wrench = TYPES["geometry_msgs/msg/Vector3"], TYPES["geometry_msgs/msg/Wrench"]
    rows = [wrench(vector(0.0, 0.0, value), vector(0.0, 0.0, 0.0)) for value in values]
    return TYPES[KINDS["foot_states"]](header(), FEET, [], [], rows)


def velocity(vx, vy, wz):
    vector = TYPES["geometry_msgs/msg/Vector3"]
    return TYPES[KINDS["cmd_vel"]](vector(vx, vy, 0.0), vector(0.0, 0.0, wz))


def odometry(x, y, yaw, *speeds):
    point, turn = TYPES["geometry_msgs/msg/Point"], TYPES["geometry_msgs/msg/Quaternion"]
    pose = TYPES["geometry_msgs/msg/Pose"](point(x, y, 0.0), turn(0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2)))
    placed = TYPES["geometry_msgs/msg/PoseWithCovariance"](pose, np.zeros(36))
    moving = TYPES["geometry_msgs/msg/TwistWithCovariance"](velocity(*speeds), np.zeros(36))
    return TYPES[KINDS["odom"]](header(), "base_footprint", placed, moving)


def number(value):
    return TYPES[KINDS["stability_margin"]](value)


def text(words):
    return TYPES[KINDS["gait_state"]](words)


@pytest.fixture
def recorded(tmp_path):
    """Records messages, given as (time [ms], topic, message), and opens the bag."""
    opened = []

    def record(*messages):
        channels = {f"/{topic}": bag_file.BagChannel(f"/{topic}", kind) for topic, kind in KINDS.items()}
        recording = LongRecording(tmp_path / "bag", channels=channels, first=[], max_bytes=10**9)
        for at, topic, message in messages:
            data = bytes(bag_file.TYPES.serialize_cdr(message, KINDS[topic]))
            recording.add(RecordedMessage(at * MS, f"/{topic}", data))
        recording.end()
        recording.wait()
        opened.append(bag_file.open_bag(tmp_path / "bag"))
        return opened[-1].__enter__()

    yield record
    for each in opened:
        each.__exit__(None, None, None)


def joint_samples(*angles, names=NAMES):
    """Joint states every 10 ms."""
    return [(at, "joint_states", joint_state(angles, names)) for at in range(0, 220, 10)]


def test_a_frame_has_what_was_newest_at_its_time(recorded):
    standing = standing_joints()
    planned, measured = [6.0, 0.0, 5.0, 0.0, 4.04, 0.0], [1.0, 2.0, 3.0, 4.0, 5.06, 0.0]
    bag = recorded(
        *joint_samples(standing),
        (221, "foot_targets", forces(planned)),
        (222, "foot_states", forces(measured)),
        (223, "cmd_vel", velocity(0.1, -0.02, 0.3)),
        (224, "stability_margin", number(0.04321)),
        (225, "gait_state", text("walking")),
        (226, "odom", odometry(1.0, -2.0, 0.5, 0.04, 0.03, -0.2)),
        (330, "joint_states", joint_state(standing)),
    )
    found = list(frames(bag, robot(), None))
    assert [frame["at"] for frame in found] == pytest.approx([0.05 * k for k in range(len(found))])
    first, last = found[0], found[-1]
    assert first["joints"] == last["joints"] == pytest.approx(standing.ravel().tolist(), abs=1e-4)
    assert (first["commanded"], first["margin"], first["state"], first["forces"]) == ([0.0, 0.0, 0.0], None, "", None)
    assert (last["commanded"], last["margin"], last["state"]) == ([0.1, -0.02, 0.3], 0.0432, "walking")
    assert last["forces"] == [1.0, 2.0, 3.0, 4.0, 5.1, 0.0]
    assert first["achieved"] is None is first["odom"]
    assert (last["odom"], last["achieved"]) == ([1.0, -2.0, 0.5], [0.04, 0.03, -0.2])
    assert last["planted"] == [1, 0, 1, 0, 1, 0]


def test_joints_of_an_imported_robot_are_drawn_with_its_signs_and_offsets(recorded):
    names = tuple(f"motor_{k}" for k in range(18))
    signs = np.where(np.arange(18) % 2, -1.0, 1.0).reshape(-1, 3)
    offsets = np.linspace(-0.2, 0.2, 18).reshape(-1, 3)
    mapping = JointMapping(names, signs, offsets, {})
    bag = recorded(*joint_samples(standing_joints() * signs + offsets, names=names))
    for frame in frames(bag, robot(), mapping):
        assert frame["joints"] == pytest.approx(standing_joints().ravel().tolist(), abs=1e-4)


@pytest.mark.parametrize("names", [NAMES[:-1], ["other", *NAMES[1:]]])
def test_a_recording_of_another_robot_is_refused(recorded, names):
    bag = recorded(*joint_samples(standing_joints().ravel()[: len(names)], names=names))
    with pytest.raises(bag_file.BagError, match="has other joints than phantomx: start the page with the recorded"):
        list(frames(bag, robot(), None))


def test_a_replay_is_a_list_of_frames_without_nan(recorded):
    bag = recorded((0, "stability_margin", number(math.nan)), *joint_samples(standing_joints()))
    out = io.StringIO()
    write_replay(bag, robot(), None, out)
    found = json.loads(out.getvalue(), parse_constant=pytest.fail)
    assert len(found) == len(list(frames(bag, robot(), None))) > 2
    assert found[0]["margin"] is None and found[0]["joints"] is not None


def test_the_table_has_a_column_for_every_signal_from_whenever_it_came(recorded):
    bag = recorded(
        *joint_samples(standing_joints()),
        (150, "gait_state", text("standing")),
        (160, "stability_margin", number(1.0 / 3.0)),
    )
    out = io.StringIO()
    write_table(bag, out)
    columns, *rows = csv.reader(io.StringIO(out.getvalue()))
    assert columns == ["seconds", *(f"{name} [rad]" for name in NAMES), "state", "margin [m]"]
    assert [float(row[0]) for row in rows] == pytest.approx([0.02 * k for k in range(len(rows))])
    assert rows[0][-2:] == ["", ""] and rows[-1][-2:] == ["standing", "0.33333"]
    assert float(rows[-1][1]) == pytest.approx(standing_joints()[0, 0], abs=1e-5)


@pytest.fixture
def program(monkeypatch, capsys):
    """Runs the program in this process. Returns its exit code, its output and its errors."""
    niceness = []
    monkeypatch.setattr(os, "nice", niceness.append)

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["recording_export", *words])
        code, (out, errors) = main(), capsys.readouterr()
        assert niceness.pop() > 0  # at lower priority than the robot's nodes
        return code, out, errors

    return run


def test_the_program_writes_a_table_or_a_replay_and_refuses_what_it_cannot_use(recorded, program, tmp_path):
    bag = recorded(*joint_samples(standing_joints()))
    table, replay = io.StringIO(), io.StringIO()
    write_table(bag, table)
    write_replay(bag, robot(), None, replay)
    path = str(tmp_path / "bag")
    assert program("csv", path, "phantomx", "") == (0, table.getvalue(), "")
    assert program("replay", path, "phantomx", "") == (0, replay.getvalue(), "")
    for words in (("csv", "/no/such/bag", "phantomx", ""), ("replay", path, "nowhere", "")):
        code, out, errors = program(*words)
        assert (code, out, errors.count("\n")) == (2, "", 1)
        assert ("/no/such/bag" if words[0] == "csv" else "nowhere") in errors
