# SPDX-License-Identifier: Apache-2.0
"""How nodes end: on request they run until the robot is at rest, then send their last message; or they do not start."""

import runpy
import signal
import sys

import pytest
from sensor_msgs.msg import JointState, MultiDOFJointState
from std_msgs.msg import Bool, String
from std_srvs.srv import Trigger
from support.phantomx import robot, standing_joints
from support.real_time.ros_bench import DOWN, LATE, RAMP, STEP, walking
from support.real_time.teleop_bench import L1, Pad, Robot, connected, speeds, teleop

from hexapod_control.config.errors import END_SIGNALS
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.nodes.announcements import graph_presence
from hexapod_control.nodes.gait_planner.gait_planner import MAX_STOP_S
from hexapod_control.nodes.servo_driver.servo_driver import TARGET_SILENCE_S
from hexapod_control.ros import messages
from hexapod_control.ros.qos import LATCHED
from hexapod_control.ros.row_messages import FootLayout, JointLayout


def test_a_planner_sets_the_feet_down_ignores_commands_and_ends_with_a_zero(bench):
    node = bench.planner(publish_limited_velocity=True)
    walking(bench, node)  # commands go on
    assert not node.stopped()
    node.request_stop()
    bench.until(node.stopped, RAMP + DOWN + 2.0 * LATE)
    assert all(node.output.last.planted) and node.planner.state is RobotState.STANDING
    velocities = bench.velocities("cmd_vel_out")
    targets = bench.listen(MultiDOFJointState, "foot_targets")
    bench.until(lambda: velocities and targets)
    count = len(velocities), len(targets)
    bench.until(lambda: node.publish_final_state() or (len(velocities) > count[0] and len(targets) > count[1]))
    assert messages.twist(velocities[-1]).is_zero
    assert FootLayout(robot()).feet(targets[-1]).velocities == pytest.approx(0.0)


def test_a_planner_that_has_to_sit_down_has_not_stopped_before_it_sits(bench):
    node = bench.planner(sit_on_exit=True)
    node.request_stop()
    while node.planner.state is not RobotState.SITTING:
        assert not node.stopped()
        node.planner.step(STEP)
    node.tick()
    bench.until(node.stopped, 1.0)
    assert bench.planner(False, sit_on_exit=True).stopped()  # nothing is known of its robot


def test_a_planner_that_cannot_come_to_rest_ends_after_a_while(bench):
    node = bench.planner()
    walking(bench, node)
    plan = node.output.last
    node.planner.step = lambda dt: plan
    node.request_stop()
    assert bench.until(node.stopped, MAX_STOP_S + LATE) > 0.9 * MAX_STOP_S


class Ending:
    """A driver that holds a standing robot, which has to sit down before the torque goes off."""

    def __init__(self, bench):
        self.bench, self.asked = bench, 0
        self.node = bench.driver(standing_joints())
        self.state = bench.publisher(String, "gait_state", LATCHED)
        self.holds = bench.listen(Bool, "armed", LATCHED)
        bench.until(lambda: self.node.driver.armed and self.holds and self.holds[-1].data)
        assert not self.node.last_report("start")

    def serve(self):
        self.bench.probe.create_service(Trigger, "sit", self._sit)

    def _sit(self, request, response):
        self.asked += 1
        response.success = True
        return response

    def finish(self):
        """The last message; the torque is off, also for a tick that was requested before."""
        self.node.publish_final_state()
        self.node.tick()
        self.bench.until(lambda: not self.holds[-1].data)
        assert not self.node.driver.armed


def test_a_driver_ends_once_the_planner_reports_that_the_robot_sits(bench):
    ending = Ending(bench)
    ending.serve()
    ending.state.publish(String(data="standing"))
    ending.node.request_stop()
    bench.until(lambda: ending.asked)
    for state in ("sinking", "sitting"):
        bench.spin(1.2 * TARGET_SILENCE_S)
        assert not ending.node.stopped()
        ending.state.publish(String(data=state))
    bench.until(ending.node.stopped, 1.0)
    ending.finish()


def test_without_a_planner_a_driver_ends_when_no_targets_arrive(bench):
    ending = Ending(bench)
    targets, message = bench.publisher(JointState, "joint_targets"), JointLayout(robot())
    timer = bench.probe.create_timer(
        0.05, lambda: targets.publish(message.message(standing_joints(), None, messages.time(0)))
    )
    ending.node.request_stop()
    bench.spin(1.5 * TARGET_SILENCE_S)
    assert not ending.node.stopped()
    bench.probe.destroy_timer(timer)
    assert bench.until(ending.node.stopped, 1.0) > 0.5 * TARGET_SILENCE_S
    ending.finish()
    assert ending.node.stopped()


def test_a_teleop_ends_with_a_zero_and_a_held_dead_man_drives_no_more(bench):
    node = teleop(bench)
    Robot(bench)
    pad = Pad(bench)
    received = bench.velocities()
    bench.until(lambda: connected(node) and node.teleop.robot.maxima.vx > 0.0)
    pad.touch(L1, ly=1.0)
    bench.until(lambda: received and speeds(received)[-1].vx > 0.0)
    node.request_stop()
    assert node.stopped()
    bench.until(lambda: speeds(received)[-1].is_zero, 0.3)
    count, sent = len(received), node.received["joy"]
    bench.until(lambda: node.received["joy"] > sent + 3)
    node.publish_final_state()
    assert len(received) == count


@pytest.fixture
def handlers():
    """Restores the handlers of the signals that end a program."""
    before = {number: signal.getsignal(number) for number in END_SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.filterwarnings("ignore:.* found in sys.modules")
@pytest.mark.parametrize(
    ("program", "argument", "words"),
    [
        ("gait_planner", "robot:=nowhere", "nowhere"),
        ("inverse_kinematics", "robot:=nowhere", "nowhere"),
        ("servo_driver", "protocol:=none", "protocol"),
        ("mujoco_sim", "rate:=1.0", "rate must be in"),
        ("odometry", "mode:=wheels", "mode must be one of"),
        ("imu_driver", "rate:=1.0", "rate must be in"),
        ("teleop", "expo:=9.0", "expo must be in"),
        ("gamepad", "deadzone:=9.0", "deadzone must be in"),
        ("web", "port:=70000", "port must be in"),
    ],
)
def test_a_program_whose_node_cannot_start_ends_with_code_2_and_one_sentence(
    monkeypatch, capsys, handlers, program, argument, words
):
    monkeypatch.setattr(graph_presence, "LISTENING_TIME_S", 0.0)
    monkeypatch.setattr(sys, "argv", [program, "--ros-args", "-p", argument])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module(f"hexapod_control.nodes.{program}.{program}", run_name="__main__")
    assert ended.value.code == 2
    (sentence,) = capsys.readouterr().err.splitlines()
    assert words in sentence
