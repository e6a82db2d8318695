# SPDX-License-Identifier: Apache-2.0
"""What teleop sends and reports for each state of the gamepad, at times that the test sets."""

import dataclasses
import json
import os
from types import SimpleNamespace

import pytest
from geometry_msgs.msg import Pose
from rclpy.client import Client
from rclpy.task import Future
from sensor_msgs.msg import Joy
from std_msgs.msg import String
from support.kits.direct_topics import DirectTopics
from support.kits.plain_node import Moment
from support.real_time.ros_bench import overrides

from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.core.steering.gamepad_teleop import GamepadScaling, GamepadTeleop, TeleopCommands
from hexapod_control.nodes.odometry.stored_values import usage_folder
from hexapod_control.nodes.teleop import teleop
from hexapod_control.nodes.teleop.settings import PoseScale, TeleopSettings
from hexapod_control.nodes.teleop.teleop import TeleopNode
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import ReportLevel
from hexapod_control.ros.parameters import table

NOTHING = TeleopCommands()


class Scripted:
    """The node; the commands of its controls are set by the test."""

    def __init__(self, bench, monkeypatch, **parameters):
        self.time, self.topics, self.calls, self.ready = Moment(), DirectTopics(monkeypatch), [], True
        monkeypatch.setattr(teleop, "time", self.time)
        monkeypatch.setattr(Client, "service_is_ready", lambda client: self.ready)
        monkeypatch.setattr(Client, "call_async", lambda client, request: self._called(client, request))
        self.node = bench.add(TeleopNode(parameter_overrides=overrides(enable_stamped_cmd_vel=False, **parameters)))
        self.commands, self.lost = NOTHING, TeleopCommands(twist=Twist(0.0, 0.0, 0.0))
        monkeypatch.setattr(GamepadTeleop, "update", lambda controls, pad: self.commands)
        monkeypatch.setattr(GamepadTeleop, "lost", lambda controls: self.lost)

    def _called(self, client, request):
        self.calls.append((client.srv_name, request, Future()))
        return self.calls[-1][2]

    def does(self, buttons=21, **commands):
        """A state of the gamepad by which this is commanded."""
        self.commands = TeleopCommands(**commands)
        self.topics.deliver("joy", Joy(axes=[0.0] * 6, buttons=[0] * buttons))

    def report(self, kind):
        found = self.node.sent_reports.get(kind)
        return found and (found.level, found.text)

    @property
    def velocities(self):
        return [messages.twist(message) for message in self.topics.sent["cmd_vel"]]


@pytest.fixture
def pad(bench, monkeypatch):
    return Scripted(bench, monkeypatch)


def driving(monkeypatch, value):
    monkeypatch.setattr(GamepadTeleop, "driving", value)


def test_only_commanded_values_are_sent(pad):
    pad.does()
    sent = {
        topic: len(messages) for topic, messages in pad.topics.sent.items() if topic in ("cmd_vel", "body_pose", "gait")
    }
    assert not any(sent.values()) and not pad.calls and not pad.report("hint")
    pad.does(twist=Twist(0.1, 0.0, -0.2), pose=BodyPose(z=0.01), gait="wave", hint="hold L1")
    assert pad.velocities == [pytest.approx((0.1, 0.0, -0.2))]
    assert messages.body_pose(pad.topics.sent["body_pose"][-1]).z == 0.01
    assert pad.topics.sent["gait"][-1].data == "wave" and pad.report("hint") == (ReportLevel.OK, "hold L1")


def test_the_button_for_motions_plays_the_dance_saved_last_or_the_motion_that_is_set(bench, pad, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    played = pad.topics.sent["motion"]
    pad.does(motion=True)
    bench.until(lambda: pad.report("motion"))
    assert pad.report("motion")[1].startswith("no dance is kept") and not played
    for number, name in enumerate(("Zumba", "Alone")):
        path = usage_folder() / "dances" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"name: {name}\nsteps:\n  - wait: {{duration: 1}}\n")
        os.utime(path, (number, 1000 - number))
    pad.does(motion=True)
    bench.until(lambda: played)
    assert "Zumba" in json.loads(played[-1].data)["text"]
    pad.node.settings = dataclasses.replace(pad.node.settings, motion="bow")
    pad.does(motion=True)
    bench.until(lambda: len(played) == 2)
    assert played[-1].data == "bow"


@pytest.mark.parametrize("drives", [True, False])
def test_a_source_is_announced_while_it_drives(pad, monkeypatch, drives):
    driving(monkeypatch, drives)
    pad.does(twist=Twist(0.1, 0.0, 0.0))
    assert [message.data for message in pad.topics.sent["driving"]] == ["joystick"] * drives


def test_a_posture_is_a_call_of_its_service_and_a_refusal_is_reported(pad):
    pad.ready = False
    pad.does(call="sit")
    assert pad.report("no sit") == (ReportLevel.ERROR, "no node offers the service sit; is gait_planner running?")
    pad.ready = True
    for response in (SimpleNamespace(success=True, message="sitting down"), None):
        pad.does(call="sit")
        pad.calls[-1][2].set_result(response)
        assert not pad.report("sit")
    pad.does(call="stand")
    name, _, future = pad.calls[-1]
    future.set_result(SimpleNamespace(success=False, message="no pose"))
    assert name.endswith("stand") and pad.report("stand") == (ReportLevel.WARNING, "stand refused: no pose")


def test_the_step_height_is_set_as_a_parameter_of_the_planner(pad):
    pad.ready = False
    pad.does(lift=0.7)
    assert pad.report("lift") == (ReportLevel.WARNING, "lift_scale cannot be set: is gait_planner running?")
    assert not pad.calls
    pad.ready = True
    pad.does(lift=0.7)
    ((name, request, _),) = pad.calls
    (parameter,) = request.parameters
    assert name.endswith("gait_planner/set_parameters")
    assert (parameter.name, parameter.value.type, parameter.value.double_value) == ("lift_scale", 3, 0.7)
    assert pad.report("lift") == (ReportLevel.OK, "steps at 70 % of the robot's step height")


@pytest.mark.parametrize("drives", [True, False])
def test_a_silent_gamepad_is_a_stop_once_and_reported_if_it_was_driving(pad, monkeypatch, drives):
    driving(monkeypatch, drives)
    pad.node.watch()
    assert pad.velocities == [] and pad.node.status()["gamepad"] == "silent"  # it was never heard
    pad.does()
    pad.time.now += 0.29
    pad.node.watch()
    assert pad.velocities == [] and pad.node.status()["gamepad"] == "connected"
    pad.time.now += 0.02
    for _ in range(2):
        pad.node.watch()
    assert pad.velocities == [(0.0, 0.0, 0.0)] and pad.node.status()["gamepad"] == "silent"
    text = (
        "joy: no message for 0.3 s while driving: stopped; is the gamepad connected, and autorepeat_rate of its driver "
    )
    assert pad.report("silent") == ((ReportLevel.WARNING, f"{text}above 0?") if drives else None)
    assert pad.node.status()["driving"] == ("yes" if drives else "no")


def test_the_silence_of_a_gamepad_is_looked_for_fifty_times_a_second(pad):
    assert 20_000_000 in {timer.timer_period_ns for timer in pad.node.timers}


def test_missing_controls_are_named_when_a_gamepad_is_heard_first(pad):
    pad.does(buttons=11)
    assert pad.report("missing")[1].startswith("joy: this gamepad has no ")
    pad.node.withdraw("missing")
    pad.does(buttons=11)
    assert not pad.report("missing")
    pad.time.now += 1.0
    pad.node.watch()
    pad.does()
    assert not pad.report("missing")


@pytest.mark.parametrize("drives", [True, False])
def test_a_failure_or_the_end_is_a_zero_if_it_was_driving(pad, monkeypatch, drives):
    driving(monkeypatch, drives)
    lost = []  # after this a dead-man that is held drives no more
    monkeypatch.setattr(GamepadTeleop, "lost", lambda controls: lost.append(controls))
    pad.node.safe_stop("on_joy")
    pad.node.request_stop()
    assert pad.velocities == [(0.0, 0.0, 0.0)] * (2 * drives) and len(lost) == 2


@pytest.mark.parametrize("state", ["", *(state.value for state in RobotState)])
def test_start_means_sit_only_on_the_feet_or_while_rising(pad, state):
    pad.topics.deliver("gait_state", String(data=state))
    assert pad.node.teleop.robot.upright is (state in ("rising", "standing", "walking", "moving"))


def test_the_published_limits_gaits_state_and_pose_of_the_robot_are_used(pad):
    limits = messages.twist_message(Twist(0.2, 0.1, 1.0))
    pad.topics.deliver("velocity_limits", limits)
    for topic, text in (("gaits", "tripod, ,wave"), ("gait_selected", "auto"), ("gait_state", "walking")):
        pad.topics.deliver(topic, String(data=text))
    pose = messages.body_pose_message(BodyPose(z=0.01, yaw=0.2))
    pad.topics.deliver("body_pose_achieved", Pose(position=pose.position, orientation=pose.orientation))
    robot = pad.node.teleop.robot
    assert robot.maxima == (0.2, 0.1, 1.0) and robot.gaits == ("tripod", "wave")
    assert (robot.gait, robot.state) == ("auto", "walking")
    assert tuple(robot.pose) == pytest.approx((0.0, 0.0, 0.01, 0.0, 0.0, 0.2))
    assert pad.node.status()["velocity limits"] == "0.2 0.1 1"
    for bad in (-0.001, 100.001):
        pad.topics.deliver("velocity_limits", messages.twist_message(Twist(0.2, 0.1, bad)))
        assert "are not velocity limits; send numbers from 0 to 100" in pad.report("refused velocity_limits")[1]
    assert robot.maxima == (0.2, 0.1, 1.0)
    for good in (0.0, 100.0):
        pad.topics.deliver("velocity_limits", messages.twist_message(Twist(0.2, 0.1, good)))
        assert robot.maxima.wz == good


# --- settings -------------------------------------------------------------------------------------------------

BOUNDS = {  # of the parameters: smallest and largest value
    "scale_linear.x": (0.0, 10.0),
    "scale_linear_turbo.y": (0.0, 10.0),
    "scale_angular.yaw": (0.0, 20.0),
    "scale_pose.x": (0.0, 0.5),
    "scale_pose.y": (0.0, 0.5),
    "scale_pose.z": (0.0, 0.5),
    "scale_pose.roll": (0.0, 1.0),
    "scale_pose.pitch": (0.0, 1.0),
    "scale_pose.yaw": (0.0, 1.0),
    "joy_timeout": (0.1, 2.0),
    "expo": (0.0, 1.0),
    "height_step": (0.0, 0.05),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_numeric_parameters_are_accepted_within_their_bounds(name):
    (row,) = [row for row in table(TeleopSettings) if row.name == name]
    lower, upper = BOUNDS[name]
    assert (row.value(lower), row.value(upper)) == (lower, upper)
    for bad in (lower - 1e-3, upper + 1e-3):
        with pytest.raises(ValueError, match=name):
            row.value(bad)


def test_speeds_and_poses_at_full_deflection_are_those_of_the_parameters():
    usual = TeleopSettings().scaling
    assert usual.pose == GamepadScaling().pose and usual.dead_man is True
    assert (usual.height_step, usual.expo) == (GamepadScaling().height_step, GamepadScaling().expo)
    assert PoseScale(*(0.1 * k for k in range(6))).yaw == 0.5
    assert TeleopSettings().joy_timeout == 0.3 and TeleopSettings().frame == "base_footprint"
