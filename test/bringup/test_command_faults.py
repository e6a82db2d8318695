# SPDX-License-Identifier: Apache-2.0
"""Invalid commands and clocks on real DDS: non-finite fields, extreme values, wrong order, a stepped clock."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
import rclpy.clock
from geometry_msgs.msg import Twist as TwistMessage
from geometry_msgs.msg import TwistStamped
from rclpy.duration import Duration
from sensor_msgs.msg import JointState
from support.phantomx import LIMITS, standing_joints
from support.real_time.ros_bench import STEP, Stream, assert_sound, recorded_angles, twist, wait_for_stop

from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.nodes.inverse_kinematics.inverse_kinematics import InverseKinematicsNode
from hexapod_control.ros import messages


def broken(field, value):
    """A walking command with one field that is not finite."""
    message = twist(0.08)
    group, axis = field.split(".")
    setattr(getattr(message, group), axis, value)
    return message


def test_extreme_finite_commands_stay_within_every_limit(bench):
    node, _, _ = bench.planner(), bench.add(InverseKinematicsNode()), bench.driver(standing_joints())
    targets = bench.listen(JointState, "joint_targets")
    stream, most = Stream(bench, lambda: twist()), node.planner.view.maxima()
    for field, value in itertools.product(("linear.x", "linear.y", "angular.z"), (1e308, -1e308, 5e-324)):
        stream.command = lambda field=field, value=value: broken(field, value)
        count = len(targets)
        bench.until(lambda count=count: len(targets) > count + 20, 30.0)
        assert all(abs(done) <= able * 1.001 for done, able in zip(node.output.last.twist, most, strict=True))
    assert_sound(targets)
    assert node.velocity.last_refusal == ""


COUNTING = """
import rclpy, signal
from geometry_msgs.msg import Twist
rclpy.init()
node = rclpy.create_node("counting")
publisher = node.create_publisher(Twist, "cmd_vel", 1)
while not publisher.get_subscription_count():
    rclpy.spin_once(node, timeout_sec=0.01)
message = Twist()
for count in range(5001):
    message.linear.x = 4e-6 * count
    publisher.publish(message)
publisher.wait_for_all_acked(rclpy.duration.Duration(seconds=5.0))
print("sent", flush=True)
signal.pause()
"""


@pytest.mark.heavy
def test_only_the_newest_command_of_a_flood_is_used(bench):
    node = bench.planner(enable_stamped_cmd_vel=False)
    process = subprocess.Popen([sys.executable, "-c", COUNTING], start_new_session=True)
    try:
        last = pytest.approx(0.02, abs=1e-9)  # of five thousand
        bench.until(lambda: node.velocity.filter.twist.vx == last, 30.0, "the last one")
    finally:
        process.kill()
        process.wait(10.0)
    wait_for_stop(bench, node)


@pytest.mark.parametrize("step", [-3600.0, 3600.0])
@pytest.mark.parametrize("stamped", [False, True])
def test_a_step_of_the_wall_clock_while_walking_is_no_stop_and_no_jump(bench, monkeypatch, stamped, step):
    """A time server steps all clocks of the machine but the steady one."""
    node = bench.planner(enable_stamped_cmd_vel=stamped, control_rate=50.0)
    rows = recorded_angles(node)

    def command():
        if not stamped:
            return twist(0.08)
        return messages.twist_stamped_message(Twist(0.08, 0.0, 0.0), bench.probe.get_clock().now().to_msg())

    Stream(bench, command, kind=TwistStamped if stamped else TwistMessage)
    bench.until(lambda: node.output.last.twist.vx > 0.07, 20.0)
    now = rclpy.clock.Clock.now

    def stepped(clock):
        steady = clock.clock_type == rclpy.clock.ClockType.STEADY_TIME
        return now(clock) if steady else now(clock) + Duration(seconds=step)

    monkeypatch.setattr(rclpy.clock.Clock, "now", stepped)
    count, before = len(rows), node.last_report("cmd_vel timeout")
    bench.until(lambda: len(rows) >= count + 60, 20.0)
    assert node.output.last.twist.vx > 0.07
    assert node.last_report("cmd_vel timeout") == before == ""
    assert (np.abs(np.diff(np.array(rows), axis=0)) <= 1.05 * LIMITS[..., 2] * 2 * STEP).all()
