# SPDX-License-Identifier: Apache-2.0
"""Commands to a standing robot over DDS: commanded feet and arcs."""

import math

import numpy as np
import pytest
from geometry_msgs.msg import Transform, Vector3
from sensor_msgs.msg import MultiDOFJointState
from std_msgs.msg import String
from support.phantomx import robot, standing_joints
from support.real_time.motion_bench import ALL
from support.real_time.ros_bench import Stream, reports, twist

from hexapod_control.core.kinematics.leg_kinematics import forward
from hexapod_control.core.kinematics.se2 import turn_radius
from hexapod_control.ros.row_messages import FootLayout


def foot_command(frame="", **points):
    message = MultiDOFJointState(joint_names=[f"{leg}_foot" for leg in points])
    message.header.frame_id = frame
    for x, y, z in points.values():
        message.transforms.append(Transform(translation=Vector3(x=float(x), y=float(y), z=float(z))))
    return message


def points_above_footholds(*legs, by=0.05):
    """Points of feet straight above their neutral footholds."""
    feet = forward(robot(), standing_joints())
    return {leg: feet[robot().leg_names.index(leg)] + (0.0, 0.0, by) for leg in legs}


def test_a_foot_goes_to_a_commanded_point_and_comes_back_when_it_is_released(bench):
    node = bench.planner()
    rows = bench.listen(MultiDOFJointState, "foot_targets")
    states = bench.listen(String, "gait_state", ALL)
    topic = bench.publisher(MultiDOFJointState, "foot_command")
    goal = points_above_footholds("left_front")["left_front"]
    topic.publish(foot_command("base_link", left_front=goal))
    layout, leg = FootLayout(robot()), robot().leg_names.index("left_front")
    bench.until(lambda: rows and np.linalg.norm(layout.feet(rows[-1]).positions[leg] - goal) < 2e-3)
    assert states[-1].data == "moving"
    assert layout.feet(rows[-1]).forces[leg] == 0.0
    topic.publish(foot_command())
    bench.until(lambda: states[-1].data == "standing")
    assert reports(node) == []


def test_a_velocity_brings_the_foot_down_before_the_robot_walks(bench):
    node = bench.planner()
    topic = bench.publisher(MultiDOFJointState, "foot_command")
    topic.publish(foot_command(**points_above_footholds("right_rear")))
    bench.until(lambda: node.planner.view.guided_foot_arrived("right_rear") and not all(node.output.last.planted))
    plans = []
    original = node.player.step
    node.player.step = lambda dt: plans.append(original(dt)) or plans[-1]
    stream = Stream(bench, lambda: twist(0.06))
    bench.until(lambda: node.output.last.twist.vx > 0.05)
    stream.stop()
    first = next(k for k, plan in enumerate(plans) if not plan.twist.is_zero)
    down = next(k for k, plan in enumerate(plans) if all(plan.planted))
    assert down < first


# --- live while walking -------------------------------------------------------------------------------------------


def test_an_arc_steers_by_travel_and_curvature(bench):
    travel, curvature = -0.03, 0.3
    node = bench.planner()
    topic = bench.publisher(Vector3, "arc")
    timer = bench.probe.create_timer(0.05, lambda: topic.publish(Vector3(x=travel, y=curvature)))
    bench.until(lambda: abs(node.output.last.twist.wz) > 0.9 * abs(node.planner.view.arc_twist(travel, curvature).wz))
    bench.until(
        lambda: node.output.last.twist == pytest.approx(node.planner.view.arc_twist(travel, curvature), abs=1e-6)
    )
    executed = node.output.last.twist
    assert executed.vx / executed.wz == pytest.approx(-turn_radius(travel, curvature))
    assert math.copysign(1.0, executed.vx) == math.copysign(1.0, travel)
    assert node.status()["command source"] == "/probe"
    bench.probe.destroy_timer(timer)
    bench.until(lambda: node.output.last.twist.is_zero, 3.0)
    assert reports(node) == ["arc: nothing usable for 0.5 s while walking: stopping; is its sender running?"]
