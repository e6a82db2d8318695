# SPDX-License-Identifier: Apache-2.0
"""The fast encoding and decoding of messages against rclpy's own."""

import itertools
import random

import pytest
from geometry_msgs.msg import Quaternion, Transform, Twist, Vector3, Wrench
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState, MultiDOFJointState

from hexapod_control.bags.bag_file import TYPES
from hexapod_control.ros.transport.decoding import FootDecoder
from hexapod_control.ros.transport.encoding import encode

FRAMES = ("", "a", "base", "base_link", "füße")
COUNTS = ((0, 0, 0, 0), (1, 1, 1, 1), (6, 6, 6, 6), (3, 0, 2, 1), (2, 5, 0, 0), (0, 1, 0, 3))


def message(seed, frame="base_link", counts=(6, 6, 6, 6)):
    draw = random.Random(seed)

    def vector():
        return Vector3(x=draw.gauss(0, 1), y=draw.gauss(0, 1), z=float("inf"))

    names, transforms, twists, wrenches = counts
    found = MultiDOFJointState(
        joint_names=["f" * draw.randrange(20) for _ in range(names)],
        transforms=[Transform(translation=vector(), rotation=Quaternion(x=draw.random())) for _ in range(transforms)],
        twist=[Twist(linear=vector(), angular=vector()) for _ in range(twists)],
        wrench=[Wrench(force=vector(), torque=vector()) for _ in range(wrenches)],
    )
    found.header.frame_id = frame
    found.header.stamp.sec, found.header.stamp.nanosec = draw.randrange(-5, 2**31), draw.randrange(10**9)
    return found


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("counts", COUNTS)
def test_rclpy_decodes_what_is_encoded_here_and_the_other_way_round(frame, counts):
    sent = message(1, frame, counts)
    assert deserialize_message(encode(sent), MultiDOFJointState) == sent
    assert FootDecoder()(serialize_message(sent)) == sent


def test_a_decoder_follows_messages_of_changing_layout():
    decode, draw = FootDecoder(), random.Random(2)
    for seed in range(200):
        sent = message(seed, draw.choice(FRAMES), draw.choice(COUNTS))
        for number in range(draw.randrange(1, 4)):
            sent.header.stamp.sec = number
            assert decode(draw.choice((encode, serialize_message))(sent)) == sent


def test_the_same_layout_is_decoded_into_the_same_message():
    decode = FootDecoder()
    same = message(1)
    first = decode(encode(same))
    same.wrench[3].torque.y = 7.0
    assert decode(encode(same)) is first
    assert first == same


@pytest.mark.parametrize("change", [lambda d: d[:-1], lambda d: b"\0\0" + d[2:], lambda d: d[:40]])
def test_bytes_that_rclpy_refuses_are_refused_after_good_ones(change):
    decode, data = FootDecoder(), encode(message(1))
    decode(data)
    try:
        expected = deserialize_message(change(data), MultiDOFJointState)
    except Exception as error:
        with pytest.raises(type(error)):
            decode(change(data))
    else:
        assert decode(change(data)) == expected


def joint_state(seed, frame="base_link", names=18):
    draw = random.Random(seed)
    found = JointState(name=["j" * draw.randrange(20) for _ in range(names)])
    found.header.frame_id = frame
    found.header.stamp.sec, found.header.stamp.nanosec = draw.randrange(-5, 2**31), draw.randrange(10**9)
    for part in ("position", "velocity", "effort"):
        setattr(found, part, [draw.gauss(0, 1) for _ in range(draw.choice((0, names)))])
    return found


@pytest.mark.parametrize("present", list(itertools.product((0, 18), repeat=3)))
def test_a_bag_holds_joints_as_they_were_encoded_whatever_is_unknown(present):
    """A reader of bags refuses bytes after the end of a message."""
    sent = joint_state(5)
    for part, count in zip(("position", "velocity", "effort"), present, strict=True):
        setattr(sent, part, [0.5] * count)
    data = encode(sent)
    assert deserialize_message(data, JointState) == sent
    read = TYPES.deserialize_cdr(data, "sensor_msgs/msg/JointState")
    assert tuple(map(len, (read.position, read.velocity, read.effort))) == present and read.name == sent.name


def test_a_decoder_of_forces_follows_the_forces():
    decode, draw = FootDecoder(forces_only=True), random.Random(4)
    for seed in range(50):
        sent = message(seed, draw.choice(FRAMES), draw.choice(COUNTS))
        sent.joint_names = ["foot"] * len(sent.wrench)
        for force in range(draw.randrange(1, 4)):
            for wrench in sent.wrench:
                wrench.force.z = float(force)
            assert decode(encode(sent)).wrench == sent.wrench
