# SPDX-License-Identifier: Apache-2.0
"""TFMessage is the same on the wire as that of a ROS installation."""

import hashlib
import json
import os
import random
import subprocess
import sys
import time

import pytest
import rclpy
from ament_index_python.packages import get_package_share_path
from geometry_msgs.msg import TransformStamped
from rclpy.executors import SingleThreadedExecutor
from rclpy.serialization import deserialize_message, serialize_message
from support.paths import ROOT, TEST

from hexapod_control.ros.message_types import TFMessage
from hexapod_control.ros.tf2_shim import type_description, type_support
from hexapod_control.ros.tf2_shim.tf_message import WheelTFMessage

# Written with rosbags 0.11 (typestore ROS2_JAZZY) from the two transforms of `golden_message`.
GOLDEN = bytes.fromhex(
    "00010000020000000100000006000000050000006f646f6d000000000f000000626173655f666f6f747072696e74000000000000"
    "000000000000e03f000000000000d0bf000000000000000000000000000000000000000000000000333333333333e33f9a999999"
    "9999e93ffeffffff03000000010000000000000003000000c3a90000000000000000f03f00000000000000400000000000000840"
    "000000000000000000000000000000000000000000000000000000000000f03f"
)
ELEMENT = "geometry_msgs/msg/TransformStamped"
# What rosbags and the tf2_msgs of Jazzy call the type.
HASH = "e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087"
TALKER = """
import sys
sys.path[:0] = sys.argv[1:]
import rclpy
from test_tf2_shim import drive
rclpy.init()
drive(rclpy.create_node("talker"))
"""


def transform(sec, nanosec, frame, child, translation, rotation):
    item = TransformStamped()
    item.header.stamp.sec, item.header.stamp.nanosec = sec, nanosec
    item.header.frame_id, item.child_frame_id = frame, child
    move, turn = item.transform.translation, item.transform.rotation
    move.x, move.y, move.z = translation
    turn.x, turn.y, turn.z, turn.w = rotation
    return item


def golden_message(kind=WheelTFMessage):
    return kind(
        transforms=[
            transform(1, 6, "odom", "base_footprint", (0.5, -0.25, 0.0), (0.0, 0.0, 0.6, 0.8)),
            transform(-2, 3, "", "é", (1.0, 2.0, 3.0), (0.0, 0.0, 0.0, 1.0)),
        ]
    )


def drive(node):
    """The talker's process: publishes until its reader has gone."""
    publisher = node.create_publisher(TFMessage, "tf", 10)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    node.create_timer(0.02, lambda: publisher.publish(golden_message(TFMessage)))
    deadline = time.monotonic() + 30.0
    seen = False
    while time.monotonic() < deadline and (publisher.get_subscription_count() or not seen):
        seen = seen or publisher.get_subscription_count() > 0
        executor.spin_once(timeout_sec=0.1)


@pytest.fixture
def node():
    rclpy.init()
    node = rclpy.create_node("test_tf2_messages")
    yield node
    node.destroy_node()
    rclpy.try_shutdown()


PROBE = """
import sys
import hexapod_control.nodes.odometry.odometry
import tf2_msgs.msg
from hexapod_control.ros.message_types import TFMessage, message_class
assert TFMessage is tf2_msgs.msg.TFMessage is message_class("tf2_msgs/msg/TFMessage")
print(*(name for name in sys.modules if "tf2_shim" in name), end="")
"""


def test_the_shim_is_not_imported_where_tf2_msgs_is_installed(tmp_path):
    (tmp_path / "tf2_msgs").mkdir()
    (tmp_path / "tf2_msgs" / "msg.py").write_text("class TFMessage:\n    pass\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    done = subprocess.run(
        [sys.executable, "-c", PROBE], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_bytes_are_those_of_another_implementation():
    assert serialize_message(golden_message()) == GOLDEN


def test_bytes_of_another_implementation_are_read():
    assert deserialize_message(GOLDEN, WheelTFMessage) == golden_message()


def test_the_type_hash_is_that_of_the_description():
    element = json.loads(get_package_share_path("geometry_msgs").joinpath("msg", "TransformStamped.json").read_text())
    element = element["type_description_msg"]
    referenced = [element["type_description"], *element["referenced_type_descriptions"]]
    for individual in referenced:
        for field in individual["fields"]:
            del field["default_value"]
    nested = {"type_id": 145, "capacity": 0, "string_capacity": 0, "nested_type_name": ELEMENT}
    top = {"type_name": "tf2_msgs/msg/TFMessage", "fields": [{"name": "transforms", "type": nested}]}
    referenced.sort(key=lambda individual: individual["type_name"])
    whole = {"type_description": top, "referenced_type_descriptions": referenced}
    assert hashlib.sha256(json.dumps(whole, separators=(", ", ": ")).encode()).hexdigest() == HASH
    assert type_description.TYPE_HASH == HASH


def test_an_empty_message_survives_the_wire():
    assert deserialize_message(serialize_message(WheelTFMessage()), WheelTFMessage).transforms == []


def test_damaged_bytes_are_refused_and_never_crash():
    chance = random.Random(7)
    for _ in range(2000):
        damaged = bytearray(GOLDEN[: chance.randrange(5, len(GOLDEN) + 1)])
        damaged[chance.randrange(4, len(damaged))] = chance.randrange(256)
        try:
            message = deserialize_message(bytes(damaged), WheelTFMessage)
        except Exception as error:  # rclpy has no class for this error
            assert "deserialize" in str(error)
        else:
            assert len(message.transforms) == int.from_bytes(damaged[4:8], "little")


@pytest.mark.parametrize("end", range(4, len(GOLDEN) - 4, 7))
def test_a_cut_body_is_malformed(end):
    with pytest.raises(type_support.MalformedError):
        type_support.decode(GOLDEN[4:end])


def test_only_transforms_are_taken():
    with pytest.raises(TypeError, match="TransformStamped, not int"):
        WheelTFMessage(transforms=[3])


def test_a_message_made_invalid_after_construction_is_not_published(node):
    publisher = node.create_publisher(WheelTFMessage, "tf", 1)
    message = WheelTFMessage()
    message.transforms.append(3)
    with pytest.raises(RuntimeError):
        publisher.publish(message)


def test_no_memory_is_lost_by_publishing(node):
    publisher = node.create_publisher(WheelTFMessage, "tf", 1)
    held = next(thing for thing in type_description.ALIVE if isinstance(thing, type_support.Messages))
    before = len(held)
    kept = len(type_description.ALIVE)
    for _ in range(100):
        publisher.publish(golden_message())
    assert (len(held), len(type_description.ALIVE)) == (before, kept)


@pytest.mark.process
def test_another_process_receives_what_was_sent(node):
    received = []
    node.create_subscription(TFMessage, "tf", received.append, 10)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    folders = [str(TEST), str(TEST / "ros" / "tf2_shim")]
    talker = subprocess.Popen([sys.executable, "-c", TALKER, *folders], start_new_session=True)
    try:
        deadline = time.monotonic() + 30.0
        while len(received) < 20 and time.monotonic() < deadline:
            executor.spin_once(timeout_sec=0.1)
        assert len(received) >= 20
        assert all(message == golden_message(TFMessage) for message in received)
        [publisher] = node.get_publishers_info_by_topic("/tf")
        assert publisher.topic_type == "tf2_msgs/msg/TFMessage"
        assert bytes(publisher.topic_type_hash.value).hex() == HASH
    finally:
        talker.kill()
        talker.wait(timeout=10)
