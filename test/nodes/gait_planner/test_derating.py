# SPDX-License-Identifier: Apache-2.0
"""Hot servos slow the whole robot down; heat and an empty battery make it sit, then switch the torque off."""

import math

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import Twist as TwistMessage
from rclpy.qos import QoSProfile
from std_msgs.msg import Float64
from std_srvs.srv import Trigger
from support.drives import standing_planner
from support.phantomx import lying, standing_joints
from support.real_time.ros_bench import walking

from hexapod_control.config.robots.robot_file import load, resolve
from hexapod_control.config.section_writer import with_section
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.workspace.twist_limits import AxisLimits, TwistLimits, derate_limits
from hexapod_control.nodes.gait_planner.request_input import SPEED_LIMIT, SpeedDerating
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.qos import LATCHED
from hexapod_control.servos.driver.monitors import HOT_SPEED_SHARE
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.save_servo_section import section
from hexapod_control.servos.settings.servo_section import servo_settings

MOST = Twist(0.2, 0.1, 1.0)


def test_limits_are_slowed_from_what_the_robot_can_do_or_from_those_it_was_given():
    free = derate_limits(TwistLimits(), MOST, 0.5)
    assert [axis.max_velocity for axis in free.axes] == pytest.approx([0.1, 0.05, 0.5])
    assert [axis.min_velocity for axis in free.axes] == pytest.approx([-0.1, -0.05, -0.5])
    given = derate_limits(TwistLimits(AxisLimits(0.08, -0.02, 0.3), AxisLimits(9.0, -9.0)), MOST, 0.5)
    assert (given.linear_x.max_velocity, given.linear_x.min_velocity) == pytest.approx((0.04, -0.01))
    assert given.linear_x.max_acceleration == 0.3
    assert (given.linear_y.max_velocity, given.linear_y.min_velocity) == pytest.approx((0.05, -0.05))
    assert derate_limits(TwistLimits(), MOST, 0.0).axes[0].max_velocity == 0.0


def test_a_share_is_at_most_one_zero_if_it_is_tiny_and_reported_when_it_changes(bench):
    node, planner = bench.add(GuardedNode("derated")), standing_planner("phantomx")
    derating = SpeedDerating(node, planner)
    for sent, share, level in (
        (0.25, 0.25, ReportLevel.WARNING),
        (0.01, 0.01, ReportLevel.WARNING),
        (0.0099, 0.0, ReportLevel.WARNING),
        (-1.0, 0.0, ReportLevel.WARNING),
        (7.0, 1.0, ReportLevel.OK),
        (0.999, 0.999, ReportLevel.WARNING),
    ):
        derating.on_speed_share(messages.number(sent))
        report = node.sent_reports["speed_share"]
        assert derating.value == planner.view.settings.speed_share == share
        assert (report.level, report.text) == (level, f"the servos allow {100 * share:.0f} % of the speed")
        derating.on_speed_share(messages.number(sent))
        assert node.sent_reports["speed_share"] is report


@pytest.mark.parametrize("servos_first", [True, False])
def test_the_least_share_of_servos_and_ground_counts_and_is_the_speed_limit_of_nav2(bench, servos_first):
    node, planner = bench.add(GuardedNode("derated")), standing_planner("phantomx")
    derating = SpeedDerating(node, planner)
    calls = (lambda: derating.on_speed_share(messages.number(0.6)), lambda: derating.on_ground(0.4))
    for call in calls if servos_first else calls[::-1]:
        call()
    assert derating.value == planner.view.settings.speed_share == 0.4
    derating.on_ground(1.0)
    assert derating.value == planner.view.settings.speed_share == 0.6


@pytest.mark.skipif(SPEED_LIMIT is None, reason="the optional package nav2_msgs is not installed")
def test_nav2_hears_of_the_share_as_a_speed_limit_once_it_listens(bench):
    node, planner = bench.add(GuardedNode("derated")), standing_planner("phantomx")
    derating = SpeedDerating(node, planner)
    derating.every_second()
    assert node.count_publishers("speed_limit") == 0
    limits = bench.listen(SPEED_LIMIT, "speed_limit", QoSProfile(depth=10))  # as Nav2 subscribes
    for share, percent in ((1.0, 100.0), (0.25, 25.0), (0.0, 1.0)):  # 0 would be no limit
        derating.on_speed_share(messages.number(share))

        def limited(percent=percent):
            derating.every_second()
            return limits and limits[-1].percentage and limits[-1].speed_limit == percent

        bench.until(limited, pause=0.05)


def test_the_planner_follows_the_share_through_a_change_of_gait_and_of_its_own_limits(bench):
    node = bench.planner()
    limits = bench.listen(TwistMessage, "velocity_limits", LATCHED)
    bench.until(lambda: limits and limits[-1].linear.x > 0.0)
    full = limits[-1].linear.x
    shares = bench.publisher(Float64, "speed_share", LATCHED)
    walking(bench, node)
    shares.publish(messages.number(0.25))
    bench.until(lambda: limits[-1].linear.x == pytest.approx(0.25 * full, rel=1e-2))
    assert 0.25 * full < 0.08
    bench.until(lambda: node.output.last.twist.vx == pytest.approx(0.25 * full, rel=1e-2), 3.0, "walking slower")
    node.planner.change_gait("wave")
    bench.until(lambda: node.planner.view.active_gait == "wave", 8.0)
    bench.until(lambda: 0.0 < limits[-1].linear.x < 0.2 * full)
    for bad in (math.nan, math.inf):
        shares.publish(messages.number(bad))
        refusal = f"must be a number from 0 to 1, is {bad}"
        bench.until(lambda refusal=refusal: refusal in node.last_report("refused speed_share"))
    slow = limits[-1].linear.x
    shares.publish(messages.number(7.0))  # a share above 1 counts as 1
    bench.until(lambda: limits[-1].linear.x == pytest.approx(4.0 * slow, rel=2e-2))
    assert node.status()["speed share"] == "1.00"


def settled_value(bench, received):
    """The last value once there are ten that hardly differ."""
    bench.until(
        lambda: len(received) >= 10 and np.ptp([m.linear.x for m in received[-10:]]) < 1e-4, 10.0, "a steady speed"
    )
    return received[-1].linear.x


def test_a_robot_whose_servos_heat_up_walks_slower_recovers_and_at_the_limit_sits_with_torque_off(launched, tmp_path):
    parameters = tmp_path / "parameters.yaml"
    parameters.write_text("gait_planner:\n  ros__parameters:\n    publish_limited_velocity: true\n")
    robot_ = launched(standing_joints(), params_file=str(parameters))
    bench, world = robot_.bench, robot_.world
    executed = bench.velocities("cmd_vel_out")
    limits = bench.listen(TwistMessage, "velocity_limits", LATCHED)
    shares = bench.listen(Float64, "speed_share", LATCHED)
    robot_.walk(vx=0.5)  # as fast as it can
    full = limits[-1].linear.x
    assert 0.85 * full < settled_value(bench, executed) <= 1.001 * full  # keeping feet planted costs some speed
    assert shares[-1].data == 1.0

    world.temperatures[4] = 55.0
    before = len(executed)
    bench.until(lambda: len(executed) > before + 50, 10.0)
    assert limits[-1].linear.x == full  # warm is not hot
    world.temperatures[4] = 61.0
    bench.until(lambda: shares[-1].data == HOT_SPEED_SHARE, 10.0, "derated")
    bench.until(lambda: limits[-1].linear.x == pytest.approx(HOT_SPEED_SHARE * full, rel=1e-2), 3.0, "slower limits")
    bench.until(lambda: 0.0 < executed[-1].linear.x < 1.01 * HOT_SPEED_SHARE * full, 5.0, "walking slower")

    world.temperatures[4] = 54.0
    bench.until(lambda: shares[-1].data == 1.0, 10.0, "cooler")
    bench.until(lambda: executed[-1].linear.x > 0.85 * full, 10.0, "fast again")

    world.temperatures[4] = 70.0
    bench.until(lambda: robot_.states[-1].data == "sinking", 10.0, "sitting down")
    bench.until(lambda: not world.torques.any(), 15.0, "torque off")
    assert np.abs(world.angles() - lying()).max() < 0.05
    assert robot_.process.poll() is None


def test_a_robot_whose_battery_runs_down_walks_on_with_a_warning_then_sits_with_torque_off(launched, tmp_path):
    """Low is not empty: what counts is a voltage below `critical` for some seconds."""
    path = tmp_path / "robot.yaml"
    path.write_text(resolve("phantomx").read_text())
    file = load(path)
    data = section(file, servo_settings(file, "feetech_st", str(tmp_path / "bus")), PROTOCOLS["feetech_st"].scale)
    data["battery"] = {"warn": 10.5, "critical": 9.9, "time": 0.5}
    path.write_text(with_section(path.read_text(), "servos", data))
    robot_ = launched(standing_joints(), robot=str(path))
    bench, world = robot_.bench, robot_.world
    received = bench.listen(DiagnosticArray, "/diagnostics", QoSProfile(depth=10))
    robot_.walk()

    def reported(text):
        return any(text in status.message for message in received for status in message.status)

    world.voltages[:] = 10.2
    bench.until(
        lambda: reported("the battery is at 10.2 V, warning at 10.5 V, critical at 9.9 V: charge it"), 10.0, "warning"
    )
    assert robot_.states[-1].data == "walking"
    world.voltages[:] = 9.5
    bench.until(lambda: robot_.states[-1].data == "sinking", 10.0, "sitting down")
    bench.until(lambda: not world.torques.any(), 15.0, "torque off")
    assert np.abs(world.angles() - lying()).max() < 0.05
    answer = bench.call(Trigger, "arm")
    assert not answer.success and "the battery is empty (9.5 V): charge it" in answer.message
