# SPDX-License-Identifier: Apache-2.0
"""Commands to a standing robot over DDS: commanded feet, arcs, the cycle time, legs that would touch."""

import math

import numpy as np
import pytest
from geometry_msgs.msg import Transform, Vector3
from rclpy.parameter import Parameter
from sensor_msgs.msg import MultiDOFJointState
from std_msgs.msg import String
from support.phantomx import robot, standing_joints
from support.real_time.motion_bench import ALL, BREATH, Motions
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


def test_a_foot_command_that_would_tip_the_robot_is_refused_as_a_whole(bench):
    node = bench.planner()
    topic = bench.publisher(MultiDOFJointState, "foot_command")
    topic.publish(foot_command(**points_above_footholds("left_front", "left_middle", "left_rear")))
    bench.until(lambda: node.last_report("foot"))
    assert "would not support the robot" in node.last_report("foot")
    topic.publish(foot_command(left_front=(1.0, 0.0, 0.0)))
    bench.until(lambda: "out of reach" in node.last_report("foot"))
    for far in (1e5, 1e308, -1e308):
        topic.publish(foot_command(left_front=(far, 0.0, far)))
        bench.until(lambda value=far: f"{value:.3g}" in node.last_report("foot"), 1.0)
    assert not node.planner.view.walk.motion.guiding


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (foot_command(left_front=(math.nan, 0.0, 0.0)), "translation of foot 'left_front_foot' is nan"),
        (foot_command(tail=(0.1, 0.0, 0.0)), "foot 'tail_foot' is unknown; this robot has left_front_foot, "),
        (foot_command("map", left_front=(0.1, 0.0, 0.0)), "its frame is 'map'; send points in base_link"),
        (MultiDOFJointState(joint_names=["left_front_foot"]), "1 names but 0 transforms"),
    ],
)
def test_an_invalid_foot_command_is_refused_by_name_and_does_not_end_a_motion(bench, tmp_path, message, reason):
    motions = Motions(bench, tmp_path)
    motions.play(motions.write("breathe", BREATH, loops=0))
    motions.until("breathe pose")
    bench.publisher(MultiDOFJointState, "foot_command").publish(message)
    bench.until(lambda: motions.node.last_report("refused foot_command"))
    assert reason in motions.node.last_report("refused foot_command")
    assert motions.node.player.name == "breathe"


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


@pytest.mark.parametrize(("travel", "curvature"), [(0.04, 0.5), (0.04, -1.2), (-0.03, 0.3)])
def test_an_arc_steers_by_travel_and_curvature(bench, travel, curvature):
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


@pytest.mark.parametrize(
    ("arc", "reason"),
    [
        (Vector3(x=math.nan, y=0.0), "travel must be in [-0.5, 0.5] m, is nan"),
        (Vector3(x=0.04, y=2.5), "curvature must be in [-1.999, 1.999]"),
        (Vector3(x=0.04, y=0.0, z=0.3), "z must be 0, is 0.3"),
    ],
)
def test_an_arc_out_of_bounds_is_refused(bench, arc, reason):
    node = bench.planner()
    bench.publisher(Vector3, "arc").publish(arc)
    bench.until(lambda: node.velocity.last_refusal)
    assert node.velocity.last_refusal.startswith(f"arc: {reason}")
    assert node.output.last.twist.is_zero


def test_the_cycle_time_can_be_changed_while_walking(bench):
    node = bench.planner()
    stream = Stream(bench, lambda: twist(0.03))
    bench.until(lambda: node.output.last.twist.vx > 0.029)
    before = node.planner.view.walk.speed.swing_time
    assert node.set_parameters([Parameter("swing_time_scale", value=1.5)])[0].successful
    bench.until(lambda: node.planner.view.walk.speed.swing_time == pytest.approx(1.5 * before))
    assert not node.set_parameters([Parameter("swing_time_scale", value=0.5)])[0].successful
    assert node.output.last.twist.vx == pytest.approx(0.03)
    stream.stop()


def on_the_line(share):
    """A point 3 cm above the line from the left middle foot to the left front one."""
    feet = forward(robot(), standing_joints())
    front, middle = (feet[robot().leg_names.index(f"left_{place}")] for place in ("front", "middle"))
    return middle + share * (front - middle) + (0.0, 0.0, 0.03)


def test_a_leg_that_would_touch_its_neighbour_is_refused_and_both_are_named(bench):
    node = bench.planner()
    bench.publisher(MultiDOFJointState, "foot_command").publish(foot_command(left_front=on_the_line(0.1)))
    bench.until(lambda: node.last_report("foot"))
    assert "refused: left_front: at " in node.last_report("foot")
    assert " m on its path it would touch left_middle" in node.last_report("foot")
    assert not node.planner.view.walk.motion.guiding


def test_legs_about_to_collide_stop_the_robot_and_are_named(bench):
    node = bench.planner()
    topic = bench.publisher(MultiDOFJointState, "foot_command")
    topic.publish(foot_command(left_front=on_the_line(0.45), left_middle=on_the_line(0.5)))
    bench.until(lambda: node.last_report("blocked") or "refused" in node.last_report("foot"))
    assert "left_front and left_middle are " in node.last_report("blocked"), node.last_report("foot")
    assert " mm apart and would touch; the robot waits" in node.last_report("blocked")
