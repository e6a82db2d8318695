# SPDX-License-Identifier: Apache-2.0
"""A second `hexapod sim` in the same domain and namespace: it refuses to drive, and the first robot is not affected."""

import os
import re
import socket
import subprocess
import time

import pytest
from rcl_interfaces.msg import Log
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from support.phantomx import standing_joints
from support.real_time.programs import HEXAPOD
from support.real_time.ros_bench import assert_sound

from hexapod_control.nodes.announcements.graph_presence import GraphPresence
from hexapod_control.nodes.inverse_kinematics.inverse_kinematics import InverseKinematicsNode
from hexapod_control.ros.qos import LATCHED

pytestmark = [pytest.mark.heavy, pytest.mark.physics]  # of the second robot

MAX_WAIT_S = 60.0  # for anything
REFUSAL = re.compile(
    r"refuses to drive: /(\w+) of another robot runs in this namespace and in ROS_DOMAIN_ID (\d+), "
    r"on host '(.+)', process (\d+): .* ROS_DOMAIN_ID or with namespace:=NAME"
)


@pytest.fixture
def robot(bench):
    """The names of the nodes of a robot with loopback servos that stands, in this process."""
    nodes = [bench.driver(standing_joints()), bench.add(InverseKinematicsNode()), bench.planner()]
    for node in nodes:
        GraphPresence(node)
    return {node.get_name() for node in nodes}


def test_a_second_robot_in_the_same_domain_and_namespace_refuses_to_drive_and_leaves_the_first_alone(bench, robot):
    states, log = bench.listen(String, "gait_state", LATCHED), bench.listen(Log, "/rosout", QoSProfile(depth=100))
    bench.until(lambda: states and states[-1].data == "standing", what="standing")
    rows, seen = bench.listen(JointState, "joint_targets", QoSProfile(depth=50)), len(states)
    command, began = [*HEXAPOD, "sim", "--demo", "--no-web", "--one-process"], time.monotonic()
    second = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=-1, stderr=subprocess.STDOUT, text=True)
    bench.until(lambda: second.poll() is not None, MAX_WAIT_S, "the end of the second robot")
    text = second.communicate(timeout=5.0)[0]
    assert second.returncode == 1
    found = REFUSAL.search(text)
    assert found, text
    assert found.groups()[1:] == (os.environ["ROS_DOMAIN_ID"], socket.gethostname(), str(os.getpid()))
    assert found[1] in robot
    assert "refused to start for the reason above" in text
    assert "Traceback" not in text
    assert time.monotonic() - began < 20.0
    assert not states[seen:]  # it stood all the time, and no planner of the second robot has started
    bench.until(lambda: len(rows) > 50)
    assert_sound(rows)
    assert not [entry.msg for entry in log if entry.level >= Log.ERROR[0]]
