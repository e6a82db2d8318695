# SPDX-License-Identifier: Apache-2.0
"""teleop on DDS: Joy in, commands out, with gait_planner behind it where the robot's answer counts."""

import math
import os
import signal
import subprocess
import sys

import pytest
import rclpy
from geometry_msgs.msg import Pose, TwistStamped
from rclpy.parameter import Parameter
from sensor_msgs.msg import Joy
from std_msgs.msg import String
from support.real_time.ros_bench import reports, services_ready, subscribed, wait_for_stop
from support.real_time.teleop_bench import (
    BACK,
    L1,
    LATE,
    R1,
    START,
    STOP,
    TOP,
    Pad,
    Robot,
    Y,
    connected,
    speeds,
    teleop,
)

from hexapod_control.bringup import node_graph
from hexapod_control.config.shipped_files import share
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.nodes.gamepad.settings import GamepadSettings
from hexapod_control.nodes.teleop.settings import TeleopSettings
from hexapod_control.ros import messages, parameters
from hexapod_control.ros.qos import LATCHED

UP, RIGHT = 11, 14


def ready(bench, node):
    """A robot, and a gamepad at rest."""
    robot, pad = Robot(bench), Pad(bench)
    known = node.teleop.robot
    bench.until(lambda: known.maxima == TOP and known.state and known.gaits and connected(node), what="robot and pad")
    bench.until(lambda: services_ready(node, "stand", "sit", "stop"), what="services")
    return robot, pad


# --- driving --------------------------------------------------------------------------------------------------


def test_the_dead_man_drives_at_a_share_of_the_robots_own_limits_and_its_release_is_one_zero(bench):
    node = teleop(bench)
    _, pad = ready(bench, node)
    received = bench.velocities()
    pad.touch(ly=1.0)
    count = len(received)
    bench.until(lambda: node.teleop.pressed is not None)
    pad.touch(L1, ly=1.0)
    bench.until(lambda: len(received) >= count + 5)
    assert speeds(received)[-1] == pytest.approx((0.1, 0.0, 0.0))
    pad.touch(L1, R1, ly=1.0, lx=1.0, rx=-1.0)
    bench.until(lambda: speeds(received)[-1] == pytest.approx(Twist(TOP.vx, TOP.vy, -TOP.wz)))
    pad.touch(ly=1.0)
    bench.until(lambda: speeds(received)[-1].is_zero, STOP)
    count = len(received)
    pad.touch(ly=0.9)
    pad.touch(L1)
    bench.until(lambda: len(received) > count)
    assert speeds(received)[count].is_zero  # nothing came from the stick alone


def test_stamped_commands_carry_stamp_and_frame(bench):
    node = teleop(bench, enable_stamped_cmd_vel=True, scale_linear__x=0.07)
    _, pad = ready(bench, node)
    received = bench.listen(TwistStamped, "cmd_vel")
    pad.touch(L1, ly=1.0)
    bench.until(lambda: received and received[-1].twist.linear.x > 0.0)
    assert received[-1].twist.linear.x == pytest.approx(0.07)
    assert received[-1].header.frame_id == "base_footprint"
    age = bench.probe.get_clock().now().nanoseconds - messages.nanoseconds(received[-1].header.stamp)
    assert 0 <= age < 1e9  # [ns] stamped within the last second


def test_other_numbers_and_scales_are_parameters_and_live_where_they_may_be(bench):
    node = teleop(bench, enable_button=2, axis_linear__x=3, require_enable_button=True)
    _, pad = ready(bench, node)
    received = bench.velocities()
    pad.touch(2, ry=1.0)
    bench.until(lambda: received and speeds(received)[-1].vx == pytest.approx(0.1))
    assert node.set_parameters([Parameter("scale_linear.x", value=0.02)])[0].successful
    bench.until(lambda: speeds(received)[-1].vx == pytest.approx(0.02))
    assert node.settings.scale_linear.x == 0.02
    for name, value in (("scale_linear.x", math.inf), ("expo", 2.0), ("enable_button", 5), ("joy_timeout", math.nan)):
        result = node.set_parameters([Parameter(name, value=value)])[0]
        assert not result.successful
        assert name in result.reason


def test_parameters_are_spelled_as_in_teleop_twist_joy():
    assert {row.name for row in parameters.table(TeleopSettings)} >= {
        "require_enable_button",
        "enable_button",
        "enable_turbo_button",
        "axis_linear.x",
        "axis_linear.y",
        "axis_angular.yaw",
        "scale_linear.x",
        "scale_linear_turbo.x",
        "scale_angular.yaw",
        "scale_angular_turbo.yaw",
    }


# --- the rest of the map --------------------------------------------------------------------------------------


def test_buttons_reach_pose_gait_and_services(bench):
    node = teleop(bench)
    robot, pad = ready(bench, node)
    poses, gaits = bench.listen(Pose, "body_pose"), bench.listen(String, "gait")
    bench.until(lambda: subscribed(node, "gait", "body_pose"))
    pad.tap(UP)
    bench.until(lambda: poses and poses[-1].position.z == pytest.approx(0.005))
    pad.tap(RIGHT)
    bench.until(lambda: gaits and gaits[-1].data == "ripple")
    pad.touch(L1, Y)
    pad.touch(L1, ly=1.0, rx=1.0)
    bench.until(lambda: messages.body_pose(poses[-1]).yaw == pytest.approx(0.3))
    assert poses[-1].position.x == pytest.approx(0.03)
    pad.tap(BACK)
    bench.until(lambda: poses[-1].position.x == 0.0)
    pad.tap(START)
    bench.until(lambda: robot.calls == ["sit"])
    robot.state("sitting")
    bench.until(lambda: node.teleop.robot.state == "sitting")
    pad.touch()
    pad.tap(START)
    bench.until(lambda: robot.calls == ["sit", "stand"])


# --- loss and ends --------------------------------------------------------------------------------------------


def test_a_pad_that_is_removed_with_the_stick_forward_is_a_stop(bench):
    planner, node = bench.planner(), teleop(bench)
    pad = Pad(bench)
    bench.until(lambda: connected(node) and node.teleop.robot.maxima.vx > 0.0)
    pad.touch(L1, ly=1.0)
    bench.until(lambda: planner.output.last.twist.vx > 0.04)
    pad.remove()
    bench.until(lambda: planner.velocity.filter.twist.is_zero, STOP, "a zero command")
    assert "no message for 0.3 s while driving" in node.last_report("silent")
    wait_for_stop(bench, planner)
    assert reports(planner) == []  # a command, not a timeout


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_joy_with_an_axis_that_is_not_finite_is_refused_and_ends_in_a_stop(bench, value):
    node = teleop(bench)
    _, pad = ready(bench, node)
    received = bench.velocities()
    pad.touch(L1, ly=1.0)
    bench.until(lambda: received and speeds(received)[-1].vx > 0.0)
    pad.touch(L1, ly=value)
    bench.until(lambda: speeds(received)[-1].is_zero, STOP + LATE)
    assert "is not finite; check the driver" in node.last_report("refused joy")
    assert all(math.isfinite(value) for speed in speeds(received) for value in speed)


@pytest.mark.parametrize("rest", [1.0, -1.0])
def test_triggers_that_rest_at_an_end_on_the_axis_of_a_stick_turn_nothing_and_the_axis_is_named(bench, rest):
    node = teleop(bench)
    pad = Pad(bench)
    pad.state = Joy(axes=[0.0, 0.0, rest, 0.0, 0.0, rest, 0.0, 0.0], buttons=[0] * 11)
    Robot(bench)
    bench.until(lambda: connected(node) and node.teleop.robot.maxima.vx > 0.0)
    received = bench.velocities()
    pad.state.buttons[L1] = 1
    bench.until(lambda: len(received) > 5)
    said = f"joy: axis 2 (axis_angular.yaw) is at {rest:.2f} and does not count before it rests at its center: "
    assert node.last_report("ignored axes").startswith(said)
    pad.state.axes[1] = 1.0
    bench.until(lambda: speeds(received)[-1].vx > 0.0)
    assert {speed.wz for speed in speeds(received)} == {0.0}


@pytest.mark.process
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_driving_ends_with_a_zero_and_exit_code_0(bench, number):
    command = [sys.executable, "-m", "hexapod_control.nodes.teleop.teleop"]
    process = subprocess.Popen(command, start_new_session=True, stderr=subprocess.PIPE, text=True, env=os.environ)
    try:
        received = bench.velocities()
        pad = Pad(bench)
        Robot(bench)
        pad.touch(L1, ly=1.0)
        bench.until(lambda: (pad.touch(), pad.touch(L1, ly=1.0)) and received and speeds(received)[-1].vx > 0.0, 10.0)
        pad.touch(L1, ly=1.0)
        bench.until(lambda: speeds(received)[-1].vx > 0.0)
        process.send_signal(number)
        bench.until(lambda: process.poll() is not None, 5.0, "end of teleop")
        bench.until(lambda: speeds(received)[-1].is_zero, 1.0, "a last zero")
        assert process.returncode == 0
    finally:
        process.kill()
        assert "Traceback" not in process.communicate(timeout=5.0)[1]


# --- active source -----------------------------------------------------------------------------------------------


def test_the_planner_shows_the_active_source_and_when_there_is_none_again(bench):
    planner, node = bench.planner(), teleop(bench)
    pad = Pad(bench)
    shown = bench.listen(String, "command_source", LATCHED)
    bench.until(lambda: connected(node) and node.teleop.robot.maxima.vx > 0.0 and shown)
    assert shown[-1].data == "none"
    pad.touch(L1, ly=1.0)
    bench.until(lambda: shown[-1].data == "joystick")
    assert planner.status()["driven by"] == "joystick"
    pad.touch()
    bench.until(lambda: shown[-1].data == "none")


@pytest.mark.parametrize("namespace", ["", "/spider"])
def test_the_twist_mux_file_reaches_its_node_in_every_namespace(bench, namespace):
    words = ["--ros-args", "--params-file", str(share("config", "twist_mux.yaml"))]
    options = {"allow_undeclared_parameters": True, "automatically_declare_parameters_from_overrides": True}
    node = bench.add(rclpy.create_node("twist_mux", namespace=namespace, cli_args=words, **options))
    assert node.get_parameter("topics.keyboard.priority").value == 90
    assert node.get_parameter("use_stamped").value is False


@pytest.mark.parametrize("name", ["teleop", "gamepad"])
def test_the_graph_sets_only_parameters_that_teleop_and_gamepad_have(name):
    known = {"teleop": TeleopSettings, "gamepad": GamepadSettings}
    for spec in node_graph.specs(name, {"device_name": "pad", "enable_stamped_cmd_vel": "true", "cmd_vel": "joy_vel"}):
        if spec.executable in known:
            assert set(spec.parameters) <= {row.name for row in parameters.table(known[spec.executable])} | {
                "use_sim_time"
            }
    assert spec.executable == "teleop"
    assert spec.remaps == {"cmd_vel": "joy_vel"}
