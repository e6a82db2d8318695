"""A second `hexapod sim` in the same domain and namespace: it refuses to drive, and the first robot is not affected."""

import os
import re
import socket
import subprocess
import sys
import time

import pytest
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from support.real_time.programs import PROGRAM
from support.real_time.ros_bench import assert_sound

from hexapod_control.bringup import node_graph
from hexapod_control.bringup.process_supervisor import Supervisor
from hexapod_control.bringup.shared_process import SIMULATION, merged
from hexapod_control.ros.qos import LATCHED

pytestmark = [pytest.mark.heavy, pytest.mark.physics]

MAX_WAIT_S = 60.0  # for anything
REFUSAL = re.compile(
    r"refuses to drive: /(\w+) of another robot runs in this namespace and in ROS_DOMAIN_ID (\d+), "
    r"on host '(.+)', process (\d+): .* ROS_DOMAIN_ID or with namespace:=NAME"
)


def test_a_second_robot_in_the_same_domain_and_namespace_refuses_to_drive_and_leaves_the_first_alone(bench):
    lines = []
    specs = node_graph.specs("sim", {"web": False, "stand_on_start": True})
    with Supervisor((merged(specs),), lines.append) as first:
        states = bench.listen(String, "gait_state", LATCHED)
        bench.until(lambda: states and states[-1].data == "standing", MAX_WAIT_S, "standing")
        rows, seen = bench.listen(JointState, "joint_targets", QoSProfile(depth=50)), len(states)
        command = [sys.executable, "-c", PROGRAM, "sim", "--demo", "--no-web"]
        began = time.monotonic()
        second = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=-1, stderr=subprocess.STDOUT, text=True)
        bench.until(lambda: second.poll() is not None, MAX_WAIT_S, "the end of the second robot")
        text = second.communicate(timeout=5.0)[0]
        first.check()
        assert second.returncode == 1
        found = REFUSAL.search(text)
        assert found, text
        assert found.groups()[1:] == (os.environ["ROS_DOMAIN_ID"], socket.gethostname(), str(first.pids[SIMULATION]))
        assert found[1] in {spec.executable for spec in specs}
        assert "refused to start for the reason above" in text
        assert "Traceback" not in text
        assert time.monotonic() - began < 20.0
        assert not states[seen:]  # it stood all the time, and no planner of the second robot has started
        bench.until(lambda: len(rows) > 50)
        assert_sound(rows)
    assert not [line for line in lines if "ERROR" in line or "died" in line]
