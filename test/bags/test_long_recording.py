# SPDX-License-Identifier: Apache-2.0
"""Recordings of any length, and the samples of their signals."""

import shutil
from collections import namedtuple

import numpy as np
import pytest

from hexapod_control.bags import bag_file
from hexapod_control.bags.long_recording import LongRecording
from hexapod_control.bags.recorded_run import samples
from hexapod_control.bags.ring_buffer import RecordedMessage, RingBuffer

MS = 1_000_000  # [ns]
TYPES = bag_file.TYPES.types
STATE, JOINTS = "/gait_state", "/joint_states"
CHANNELS = {
    STATE: bag_file.BagChannel(STATE, "std_msgs/msg/String", True, True),
    JOINTS: bag_file.BagChannel(JOINTS, "sensor_msgs/msg/JointState"),
}


def state(at, text):
    kind = "std_msgs/msg/String"
    return RecordedMessage(at, STATE, bytes(bag_file.TYPES.serialize_cdr(TYPES[kind](data=text), kind)))


def angle(at, value):
    kind = "sensor_msgs/msg/JointState"
    header = TYPES["std_msgs/msg/Header"](TYPES["builtin_interfaces/msg/Time"](0, 0), "")
    message = TYPES[kind](header, ["a_joint"], np.array([value]), np.zeros(0), np.zeros(0))
    return RecordedMessage(at, JOINTS, bytes(bag_file.TYPES.serialize_cdr(message, kind)))


def recorded(path, messages, **options):
    options = {"channels": CHANNELS, "first": [], "max_bytes": 10**9} | options
    recording = LongRecording(path, **options)
    for message in messages:
        recording.add(message)
    recording.end()
    recording.wait()
    assert not recording.running
    return recording


def test_a_recording_has_all_messages_and_the_latched_ones_from_before(tmp_path):
    ring = RingBuffer(1.0)
    ring.latch(STATE)
    for message in (state(0, "sitting"), state(1, "standing"), angle(2, 0.5)):
        ring.add(message)
    walk = [angle(k * 20 * MS, 0.01 * k) for k in range(1, 200)]
    recording = recorded(tmp_path / "bag", walk, first=ring.latched(5))
    assert (recording.reason, recording.failed) == ("", False)
    with bag_file.open_bag(tmp_path / "bag") as bag:
        assert [message.data for _, message in bag.messages(STATE)] == ["standing"]
        assert [data for _, _, data in bag.raw({JOINTS})] == [message.data for message in walk]


def test_a_recording_ends_at_its_limit_or_on_a_full_disk_and_is_complete(tmp_path, monkeypatch):
    walk = [angle(k * 20 * MS, 0.0) for k in range(50)]
    recording = recorded(tmp_path / "small", walk, max_bytes=-1)
    assert recording.reason.endswith("its recordings are at their limit, so this one has ended; delete some")
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(1, 1, 3_000_000))
    recording = recorded(tmp_path / "full", walk)
    assert "the disk is full (3 MB are free), so the recording has ended; make room" in recording.reason
    for name in ("small", "full"):
        with bag_file.open_bag(tmp_path / name) as bag:
            assert 0 < len(list(bag.raw([channel.topic for channel in bag.channels]))) < 50


def test_a_recording_that_cannot_be_written_has_a_reason(tmp_path):
    (tmp_path / "taken").mkdir()
    recording = recorded(tmp_path / "taken", [angle(0, 0.0)])
    assert recording.failed and "the bag was not written" in recording.reason


def test_signals_are_sampled_with_their_newest_values(tmp_path):
    walk = [angle(k * 20 * MS, 0.01 * k) for k in range(1, 101)]
    recorded(tmp_path / "bag", [state(0, "walking"), *walk])
    with bag_file.open_bag(tmp_path / "bag") as bag:
        rows = list(samples(bag, 0.1))
    times, values = [at for at, _ in rows], [row["a_joint [rad]"] for _, row in rows]
    assert np.allclose(np.diff(times), 0.1)
    assert {row["state"] for _, row in rows} == {"walking"}
    assert np.allclose(np.diff(values), 0.05)


def test_a_bag_without_joint_states_is_refused(tmp_path):
    recorded(tmp_path / "bag", [state(0, "walking")])
    with (
        bag_file.open_bag(tmp_path / "bag") as bag,
        pytest.raises(bag_file.BagError, match="has no joint_states below /: nothing to show"),
    ):
        list(samples(bag, 0.1))
