# SPDX-License-Identifier: Apache-2.0
"""Bags: the ring buffer, writing and reading, and the comparison of two runs."""

import errno
import math
import os
import random
import resource
import shutil
from collections import namedtuple

import numpy as np
import pytest
from rosbags.rosbag2 import Reader

from hexapod_control.bags import bag_file
from hexapod_control.bags.recorded_run import load_run
from hexapod_control.bags.ring_buffer import OVERHEAD_BYTES, RecordedMessage, RingBuffer
from hexapod_control.bags.run_comparison import compare_runs, mean_velocities
from hexapod_control.cli.main import main
from hexapod_control.core.kinematics.se2 import Pose, Twist, exp

SECOND = 1_000_000_000
START = 1_800_000_000 * SECOND  # [ns] of the bags
TYPES = bag_file.TYPES.types


def cdr(kind, **fields):
    return bytes(bag_file.TYPES.serialize_cdr(TYPES[kind](**fields), kind))


def text(words):
    return cdr("std_msgs/msg/String", data=words)


# --- the ring -------------------------------------------------------------------------------------------------


def test_the_ring_buffer_keeps_the_last_seconds():
    ring = RingBuffer(2.0)
    for k in range(100):
        ring.add(RecordedMessage(k * SECOND // 10, "/a", b"x"))
    kept = ring.snapshot()
    assert [message.at for message in kept] == [k * SECOND // 10 for k in range(79, 100)]
    assert ring.seconds == pytest.approx(2.0)
    assert ring.size == len(kept) * (1 + OVERHEAD_BYTES)


def test_the_ring_buffer_is_bounded_in_bytes():
    ring = RingBuffer(60.0, max_bytes=10_000)
    for k in range(1000):
        ring.add(RecordedMessage(k, "/camera", bytes(1000)))
    assert ring.size <= 10_000
    assert ring.snapshot()[-1].at == 999


def test_latched_messages_older_than_the_window_are_kept_at_its_beginning():
    ring = RingBuffer(1.0)
    ring.latch("/gait_state")
    for at, topic, data in ((0, "/gait_state", b"old"), (1, "/gait_state", b"new"), (2, "/odom", b"x")):
        ring.add(RecordedMessage(at * SECOND // 100, topic, data))
    ring.add(RecordedMessage(9 * SECOND, "/odom", b"y"))
    assert ring.snapshot() == [
        RecordedMessage(9 * SECOND, "/gait_state", b"new"),
        RecordedMessage(9 * SECOND, "/odom", b"y"),
    ]


# --- writing and reading --------------------------------------------------------------------------------------


def write(path, messages, *channels):
    return bag_file.write(path, channels, messages, START)


def test_a_bag_returns_the_bytes_times_types_and_qos_that_were_written(tmp_path):
    rng = random.Random(7)
    channels = (
        bag_file.BagChannel("/a/gait_state", "std_msgs/msg/String", True, True),
        bag_file.BagChannel("/odom", "x/msg/Y"),
    )
    channels = (channels[0], bag_file.BagChannel("/tf", "tf2_msgs/msg/TFMessage", False, False))
    tf = cdr("tf2_msgs/msg/TFMessage", transforms=[])
    messages = [
        RecordedMessage(k * 1000, *((channels[0].topic, text(f"state {k}")) if rng.random() < 0.5 else ("/tf", tf)))
        for k in range(500)
    ]
    assert write(tmp_path / "bag", messages, *channels) == 500
    for place in (tmp_path / "bag", tmp_path / "bag" / "bag.mcap"):
        with bag_file.open_bag(place) as bag:
            assert list(bag.raw({"/a/gait_state", "/tf"})) == [(START + m.at, m.topic, m.data) for m in messages]
            assert set(bag.channels) == set(channels)
            assert bag.namespace == "/a"
            assert next(message.data for _, message in bag.messages("/a/gait_state")).startswith("state ")
    assert b"geometry_msgs/TransformStamped[] transforms" in definitions(tmp_path / "bag")


def definitions(path):
    """Texts of the message definitions in a bag."""
    with Reader(path) as reader:
        return b"\n".join(connection.msgdef.data.encode() for connection in reader.connections)


def test_a_full_disk_is_reported_in_one_line_before_anything_is_written(tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(1, 1, 3_000_000))
    with pytest.raises(bag_file.BagError, match=r"may take 50 MB and 3 MB are free; make room") as failure:
        bag_file.new_bag_path(tmp_path, 50_000_000, "bag")
    assert "\n" not in str(failure.value)
    assert not list(tmp_path.iterdir())


def test_a_disk_that_fills_up_while_writing_leaves_no_partial_bag(tmp_path):
    rng = random.Random(3)
    noise = [RecordedMessage(k, "/n", text(rng.randbytes(3000).hex())) for k in range(800)]
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        with pytest.raises(
            bag_file.BagError, match=f"the bag was not written: .*{os.strerror(errno.EFBIG)}; make room"
        ):
            write(tmp_path / "bag", noise, bag_file.BagChannel("/n", "std_msgs/msg/String"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not list(tmp_path.iterdir())


def test_a_read_only_folder_is_reported_in_one_line(tmp_path, monkeypatch):
    with pytest.raises(
        bag_file.BagError, match=r"^/proc/bags: no bag can be written there: .*; choose another folder$"
    ):
        bag_file.new_bag_path(bag_file.Path("/proc/bags"), 1, "bag")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    with pytest.raises(bag_file.BagError, match="it is read-only"):
        bag_file.new_bag_path(tmp_path, 1, "bag")


def test_bags_of_the_same_second_have_different_names(tmp_path):
    (tmp_path / "bag").mkdir()
    assert bag_file.new_bag_path(tmp_path, 1, "bag") == tmp_path / "bag_2"


@pytest.mark.parametrize("content", [None, b"", b"no bag at all"])
def test_an_invalid_bag_is_bad_input_in_one_line(tmp_path, capsys, content):
    path = tmp_path / "x.mcap"
    if content is not None:
        path.write_bytes(content)
    assert main(["replay", str(path)]) == 2
    message = capsys.readouterr().err
    assert message.startswith(f"hexapod: {path}: ") and message.count("\n") == 1


# --- two runs -------------------------------------------------------------------------------------------------


def drive(path, commanded, executed, seconds=5.0, late=1.0, lag=0.0, turned=0.0):
    """A bag of a twist that is commanded after `late` [s] and of a robot that executes another one exactly."""
    pose, header = Pose(2.0, -1.0, turned), stamped_header()
    messages = []
    for k in range(round((late + seconds) * 50)):
        at, since = k * 0.02, max(0.0, k * 0.02 - late)
        moving = k * 0.02 >= late
        here = pose @ exp(executed, since)
        if k % 5 == 0 or (moving and (k - 1) * 0.02 < late):
            messages.append(
                ("/r/cmd_vel", at, "geometry_msgs/msg/Twist", {"twist": commanded if moving else Twist(0, 0, 0)})
            )
        messages.append(("/r/odom", at, "nav_msgs/msg/Odometry", {"pose": here, "twist": executed if moving else None}))
        joints = [math.sin(3.0 * since - lag), 0.5]
        messages.append(("/r/joint_states", at, "sensor_msgs/msg/JointState", {"joints": joints}))
    kinds = {topic: kind for topic, _, kind, _ in messages}
    raw = [
        RecordedMessage(round(at * SECOND), topic, cdr(kind, **fields(kind, header, **values)))
        for topic, at, kind, values in messages
    ]
    write(path, raw, *(bag_file.BagChannel(topic, kind) for topic, kind in kinds.items()))
    return path


def stamped_header():
    return TYPES["std_msgs/msg/Header"](stamp=TYPES["builtin_interfaces/msg/Time"](sec=1, nanosec=0), frame_id="odom")


def twist_of(value):
    vector = TYPES["geometry_msgs/msg/Vector3"]
    x, y, z = value or (0.0, 0.0, 0.0)
    return TYPES["geometry_msgs/msg/Twist"](linear=vector(x=x, y=y, z=0.0), angular=vector(x=0.0, y=0.0, z=z))


def fields(kind, header, twist=None, pose=None, joints=None):
    if kind.endswith("Twist"):
        message = twist_of(twist)
        return {"linear": message.linear, "angular": message.angular}
    if kind.endswith("JointState"):
        none = np.zeros(0)
        return {"header": header, "name": ["a", "b"], "position": np.array(joints), "velocity": none, "effort": none}
    point = TYPES["geometry_msgs/msg/Point"](x=pose.x, y=pose.y, z=0.0)
    turn = TYPES["geometry_msgs/msg/Quaternion"](x=0.0, y=0.0, z=math.sin(pose.yaw / 2), w=math.cos(pose.yaw / 2))
    place = TYPES["geometry_msgs/msg/Pose"](position=point, orientation=turn)
    zeros = np.zeros(36)
    return {
        "header": header,
        "child_frame_id": "base",
        "pose": TYPES["geometry_msgs/msg/PoseWithCovariance"](pose=place, covariance=zeros),
        "twist": TYPES["geometry_msgs/msg/TwistWithCovariance"](twist=twist_of(twist), covariance=zeros),
    }


def test_two_runs_are_compared_from_their_first_command_wherever_and_whenever_they_began(tmp_path):
    twist = Twist(0.1, 0.0, 0.3)
    one = load_run(drive(tmp_path / "one", twist, twist))
    other = load_run(drive(tmp_path / "other", twist, twist, late=2.34, turned=2.0))
    found = compare_runs(one, other)
    assert np.abs(found.odometry_difference).max() < 1e-3
    assert np.abs(found.joint_difference).max() < 0.07  # a sample's time at 3 rad/s
    assert found.times[-1] == pytest.approx(5.0, abs=0.1)


def test_known_differences_of_two_runs_are_measured(tmp_path, capsys):
    commanded = Twist(0.1, 0.0, 0.0)
    drive(tmp_path / "one", commanded, commanded)
    drive(tmp_path / "two", commanded, Twist(0.09, 0.0, 0.0), lag=0.1)
    picture = tmp_path / "both.png"
    assert main(["replay", str(tmp_path / "one"), str(tmp_path / "two"), "--compare", "--plot", str(picture)]) == 0
    rows = {line[:31].strip(): line[31:].split() for line in capsys.readouterr().out.splitlines()}
    assert rows["commanded vx m/s"] == ["0.100", "0.100", "+0.000"]
    assert rows["achieved vx m/s"] == ["0.100", "0.090", "-0.010"]
    assert rows["ratio vx"] == ["1.000", "0.900", "-0.100"]
    assert float(rows["path distance at end m"][0]) == pytest.approx(0.05, abs=0.001)
    assert rows["maximum joint difference"][0] == "a"
    assert float(rows["maximum joint difference"][1]) == pytest.approx(math.degrees(0.1 / math.sqrt(2)), rel=0.1)
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 20_000


def test_a_run_without_commands_has_no_means(tmp_path):
    run = load_run(drive(tmp_path / "one", Twist(0.0, 0.0, 0.0), Twist(0.0, 0.0, 0.0)))
    commanded, executed = mean_velocities(run)
    assert not commanded.any() and not executed.any()


def test_compare_takes_two_bags(capsys):
    assert main(["replay", "a", "--compare"]) == 2
    assert main(["replay", "a", "b"]) == 2
    assert "hexapod replay BAG OTHER --compare" in capsys.readouterr().err
