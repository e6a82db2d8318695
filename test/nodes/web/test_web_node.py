# SPDX-License-Identifier: Apache-2.0
"""The node web on real DDS: requests of clients reach the robot, and it stops when they end."""

import base64
import contextlib
import io
import json
import math
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import zipfile
from urllib.parse import unquote

import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import Pose, TwistStamped, Wrench
from geometry_msgs.msg import Twist as TwistMessage
from hypothesis import HealthCheck, given, settings
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import parameter_value_to_python
from rclpy.qos import QoSProfile
from sensor_msgs.msg import BatteryState, CompressedImage, JointState
from std_msgs.msg import Bool, String
from std_srvs.srv import SetBool, Trigger
from support.page_messages import MESSAGES, TOKEN
from support.phantomx import robot, standing_joints
from support.real_time.programs import read_line
from support.real_time.ros_bench import overrides, services_ready, subscribed, wait_for_stop
from support.real_time.web.web_bench import Loop, Visitor
from support.suite.soak import SOAK
from visualization_msgs.msg import Marker, MarkerArray

from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.nodes.web import camera_feed, page_commands
from hexapod_control.nodes.web.recordings import page_recorder
from hexapod_control.nodes.web.web import STATUS_PERIOD_S, WebNode
from hexapod_control.ros import messages
from hexapod_control.ros.parameters import ParameterError
from hexapod_control.ros.qos import DISPLAY, LATCHED
from hexapod_control.ros.row_messages import JointLayout
from hexapod_control.web.page_state import shape
from hexapod_control.web.protocol import DriveMessage
from hexapod_control.web.sessions.client_sessions import DEAD_MAN_S, Forward

MANY = QoSProfile(depth=50)
MOST = Twist(0.2, 0.1, 0.8)
SLACK_S = 0.5  # for a busy machine


class WebBench:
    """A web node and its clients."""

    def __init__(self, bench, **parameters):
        self.bench = bench
        self.node = bench.add(WebNode(parameter_overrides=overrides(**{"port": 0, "token": TOKEN} | parameters)))
        sessions = self.node.sessions  # page 0 is all pages, and 1 is none from here on
        sessions.disconnect(sessions.connect("an earlier page", 0.0), 0.0)
        self.velocities = bench.velocities("cmd_vel", MANY)
        limits = bench.publisher(TwistMessage, "velocity_limits", LATCHED)
        limits.publish(messages.twist_message(MOST))
        bench.until(lambda: self.node.feed.limits == MOST)
        bench.until(lambda: subscribed(self.node, "cmd_vel"))
        self.loop = Loop()
        self.visitors = []

    def visit(self, **options):
        visitor = Visitor(self.loop, self.node.server.port, **options)
        self.visitors.append(visitor)
        return visitor

    def until(self, condition, seconds=5.0):
        return self.bench.until(condition, seconds)

    def close(self):
        for visitor in self.visitors:
            with contextlib.suppress(TimeoutError):
                visitor.close()
        self.node.server.close()
        self.loop.close()

    @property
    def speed(self):
        return self.velocities[-1].linear.x if self.velocities else 0.0


def stops(visitor):
    """The stops in the log that a page shows: their kind, their level, and who caused them."""
    shown = [event for event in visitor.received("event") if event["values"] and "by" in event["values"]]
    return [(event["text"], event["level"], event["values"]["by"]) for event in shown if event["node"] == "web"]


@pytest.fixture
def make_web(bench):
    """Makes a web node with parameters, and its clients."""
    made = []

    def make(**parameters):
        made.append(WebBench(bench, **parameters))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def web(make_web):
    return make_web()


def test_a_drag_becomes_a_share_of_the_velocity_limits(web):
    web.visit().send("drive", on=True, vx=0.5, vy=-1.0, wz=0.25)
    web.until(lambda: web.velocities)
    assert messages.twist(web.velocities[-1]) == pytest.approx((0.1, -0.1, 0.2))


def test_without_limits_nothing_moves(web):
    web.node.feed.limits = Twist(0.0, 0.0, 0.0)
    web.visit().send("drive", on=True, vx=1.0)
    web.until(lambda: web.velocities)
    assert web.speed == 0.0


def test_a_silent_driver_is_a_stop_within_the_dead_man_time_and_then_no_more_velocities_are_sent(web):
    visitor = web.visit(name="Ada")
    visitor.send("drive", on=True, vx=1.0)
    web.until(lambda: web.speed > 0.0)
    assert web.until(lambda: web.speed == 0.0) <= DEAD_MAN_S + SLACK_S
    web.until(lambda: not web.node.commands.driving)
    quiet = [len(web.velocities)]
    web.bench.probe.create_timer(0.3, lambda: quiet.append(len(web.velocities)))
    web.until(lambda: len(quiet) == 4)
    assert quiet[2] == quiet[3]
    assert [message.linear.x == 0.0 for message in web.velocities].count(True) == page_commands.FINAL_ZEROS
    assert stops(visitor) == [("log_silence", 1, "Ada")]


def test_the_dead_man_works_even_if_the_servers_thread_hangs(web):
    visitor = web.visit()
    visitor.send("drive", on=True, vx=1.0)
    web.until(lambda: web.speed > 0.0)
    hang = threading.Event()
    web.node.server.call_in_thread(lambda: hang.wait(3.0))
    assert web.until(lambda: web.speed == 0.0) <= DEAD_MAN_S + SLACK_S
    hang.set()


@pytest.mark.parametrize("way", ["release", "close", "cable", "failure"])
def test_releasing_closing_a_broken_connection_and_a_failed_callback_are_a_stop(web, way):
    visitor, watcher = web.visit(name="Ada"), web.visit()
    web.until(lambda: watcher.received("log"))
    visitor.send("drive", on=True, vx=1.0)
    web.until(lambda: web.speed > 0.0)
    if way == "release":
        visitor.send("drive", on=False)
    elif way == "close":
        visitor.close()
    elif way == "failure":
        web.node.safe_stop("tick")
    else:
        visitor.drop()
    web.until(lambda: web.speed == 0.0, 0.4)
    expected = [("log_link", 1, "Ada")] if way in ("close", "cable") else []
    web.until(lambda: stops(watcher) == expected)


def test_a_stream_of_nan_is_a_stop(web):
    visitor = web.visit()
    visitor.send("drive", on=True, vx=1.0)
    web.until(lambda: web.speed > 0.0)
    count = [1]

    def nan():
        count[0] += 1
        visitor.text(f'{{"v":2,"n":{count[0] + 10},"t":"drive","on":true,"vx":NaN}}')

    web.bench.probe.create_timer(0.05, nan)
    web.until(lambda: web.speed == 0.0, DEAD_MAN_S + SLACK_S)
    assert all(math.isfinite(value) for sent in web.velocities for value in messages.twist(sent))


def test_pose_gait_motion_and_push_reach_their_topics(web):
    poses, gaits = web.bench.listen(Pose, "body_pose"), web.bench.listen(String, "gait")
    motions = web.bench.listen(String, "motion")
    pushes = web.bench.listen(Wrench, "mujoco_sim/push")
    web.bench.publisher(String, "motions", LATCHED).publish(String(data="bow,wave"))
    web.until(lambda: subscribed(web.node, "body_pose", "gait", "motion", "mujoco_sim/push"))
    visitor = web.visit()
    web.until(lambda: visitor.received("status") and visitor.received("status")[-1]["motions"])
    assert visitor.received("status")[-1]["speed"] == 0.5
    visitor.send("speed", share=0.3)
    visitor.send("pose", z=0.01, roll=0.1)
    visitor.send("gait", name="wave")
    visitor.send("play", name="bow")
    visitor.send("push", x=10.0, y=-5.0)
    web.until(lambda: poses and gaits and motions and pushes)
    assert messages.body_pose(poses[-1]) == pytest.approx((0.0, 0.0, 0.01, 0.1, 0.0, 0.0))
    assert gaits[-1].data == "wave"
    assert motions[-1].data == "bow"
    assert (pushes[-1].force.x, pushes[-1].force.y) == (10.0, -5.0)
    visitor.send("play", name="")  # ends the motion
    web.until(lambda: len(motions) == 2)
    assert motions[-1].data == "" and not visitor.received("answer")
    web.until(lambda: visitor.received("status")[-1]["speed"] == 0.3)


def test_a_leg_is_lost_and_returns_and_the_page_that_asked_is_told_why_not(web):
    lost, back = (web.bench.listen(String, topic) for topic in ("lose_leg", "return_leg"))
    refusals = web.bench.publisher(String, "leg_refused")
    web.until(lambda: subscribed(web.node, "lose_leg", "return_leg"))
    visitor = web.visit()
    visitor.send("leg", name="left_front", lost=True)
    visitor.send("leg", name="left_rear", lost=False)
    web.until(lambda: lost and back)
    assert (lost[-1].data, back[-1].data) == ("left_front", "left_rear")
    refusals.publish(String(data="without left_front it tips"))
    web.until(lambda: visitor.received("answer"))
    answer = visitor.received("answer")[-1]
    assert (answer["what"], answer["ok"], answer["text"]) == ("leg", False, "without left_front it tips")


def test_only_motions_of_the_list_are_played(web):
    names = ["../../etc/passwd", "/dev/zero", "./bow.yaml", '{"file": "a", "text": "b"}', "Bow"]
    motions = web.bench.listen(String, "motion")
    web.bench.publisher(String, "motions", LATCHED).publish(String(data="bow,wave"))
    web.until(lambda: subscribed(web.node, "motion"))
    visitor = web.visit()
    web.until(lambda: visitor.received("status") and visitor.received("status")[-1]["motions"])
    for name in (*names, "wave"):
        visitor.send("play", name=name)
    web.until(lambda: motions and len(visitor.received("answer")) == len(names))
    assert [message.data for message in motions] == ["wave"]
    refusals = [f"{name!r} is not a known motion, known: bow, wave" for name in names]
    assert [answer["text"] for answer in visitor.received("answer")] == refusals


def test_the_page_sees_motions_how_far_they_are_and_why_they_are_refused(web, bench):
    visitor, other = web.visit(), web.visit()
    bench.publisher(String, "motions", LATCHED).publish(String(data="bow,wave"))
    state = bench.publisher(String, "motion_state", LATCHED)
    state.publish(String(data="bow pose 40"))
    web.until(lambda: visitor.received("state") and visitor.received("state")[-1]["motion"])
    assert visitor.received("state")[-1]["motion"] == {"name": "bow", "phase": "pose", "percent": 40.0}
    web.until(lambda: visitor.received("status") and visitor.received("status")[-1]["motions"] == ["bow", "wave"])
    state.publish(String(data="wave refused 0 wave.yaml:7: leg: too far (1.2 s after the start)"))
    web.until(lambda: visitor.received("answer"))
    answer = visitor.received("answer")[-1]
    assert (answer["what"], answer["ok"]) == ("wave", False)
    assert answer["text"] == "wave.yaml:7: leg: too far (1.2 s after the start)"
    web.until(lambda: other.received("answer"))
    state.publish(String(data="walk tripod 30"))
    web.until(lambda: visitor.received("state")[-1]["motion"] is None)


class Services:
    """The services of a planner and a hardware node; records the calls."""

    def __init__(self, bench):
        self.called, self.refused = [], {"sit"}
        for name in ("stand", "sit", "stop", "arm", "reset_fault"):
            bench.probe.create_service(Trigger, name, self._taker(name))
        bench.probe.create_service(SetBool, "estop", self._estop)

    def _taker(self, name):
        def take(request, response):
            self.called.append(name)
            response.success = name not in self.refused
            response.message = "no"
            return response

        return take

    def _estop(self, request, response):
        self.called.append(f"estop {request.data}")
        response.success = True
        return response


def test_buttons_call_services_and_refusals_come_back(web):
    services, diagnostics = Services(web.bench), web.bench.publisher(DiagnosticArray, "/diagnostics", MANY)
    web.bench.publisher(Bool, "armed", LATCHED).publish(Bool(data=False))
    web.until(lambda: services_ready(web.node, "stand", "sit", "estop"))
    visitor = web.visit()
    for what in ("stand", "sit"):
        visitor.send("request", what=what)
    web.until(lambda: len(visitor.received("answer")) == 2)
    assert sorted(services.called) == ["sit", "stand"]
    assert {a["what"]: a["ok"] for a in visitor.received("answer")} == {"stand": True, "sit": False}
    needed, stamp = {"gait_planner", "inverse_kinematics"}, web.bench.probe.get_clock().now().to_msg()
    for name in needed:
        diagnostics.publish(messages.diagnostics(f"/{name}", "", 0, "ok", {}, stamp))
    web.until(lambda: needed <= {row["name"] for row in visitor.received("status")[-1]["diagnostics"]})
    visitor.send("request", what="estop")
    web.until(lambda: visitor.received("state")[-1]["now"]["say"] == "estop_by")
    assert visitor.received("state")[-1]["now"]["values"]["by"] == "visitor"
    web.until(lambda: len(services.called) == 4)
    assert set(services.called[2:]) == {"stop", "estop True"}
    visitor.send("request", what="rearm")
    web.until(lambda: len(services.called) == 7)
    assert services.called[4:] == ["estop False", "reset_fault", "arm"]
    web.until(lambda: visitor.received("answer")[-1]["what"] == "arm")
    assert stops(visitor) == [("log_estop", 2, "visitor")]
    services.refused.add("reset_fault")  # the fault persists
    visitor.send("request", what="rearm")
    web.until(lambda: visitor.received("answer")[-1]["what"] == "reset_fault")
    visitor.send("request", what="arm")
    web.until(lambda: len(services.called) == 10)
    assert services.called[7:] == ["estop False", "reset_fault", "arm"]
    late = web.visit()
    web.until(lambda: late.received("log"))
    logged = [(event["text"], event["values"].get("text")) for event in late.received("log")[-1]["events"]]
    assert logged == [("log_refused", "no"), ("log_estop", None), ("log_refused", "no")]


class Values:
    """The parameters of a node; numbers above a half are refused."""

    def __init__(self, bench, node):
        self.set = {}
        bench.probe.create_service(SetParameters, f"{node}/set_parameters", self._take)

    def _take(self, request, response):
        for each in request.parameters:
            value = parameter_value_to_python(each.value)
            good = not isinstance(value, float) or value <= 0.5
            response.results.append(
                SetParametersResult(successful=good, reason="" if good else f"{each.name}: too much")
            )
            self.set[each.name] = value
        return response


def test_world_and_step_height_are_set_as_parameters_and_refusals_come_back(web):
    worlds, steps = Values(web.bench, "mujoco_sim"), Values(web.bench, "gait_planner")
    web.until(lambda: services_ready(web.node, "mujoco_sim/set_parameters", "gait_planner/set_parameters"))
    visitor = web.visit()
    for kind, fields in (
        ("world", {"world": "blocks", "friction": 0.4}),
        ("lift", {"share": 0.5}),
        ("world", {"payload": 1.0}),
    ):
        count = len(visitor.received("answer"))
        visitor.send(kind, **fields)
        web.until(lambda count=count: len(visitor.received("answer")) > count)
    assert worlds.set == {"world": "blocks", "friction": 0.4, "payload": 1.0} and steps.set == {"lift_scale": 0.5}
    answers = [(answer["what"], answer["ok"], answer["text"]) for answer in visitor.received("answer")]
    assert answers[:2] == [("set_parameters", True, "done")] * 2
    assert answers[2] == ("set_parameters", False, "payload: too much")


def test_a_service_that_does_not_respond_is_reported_and_asked_once_meanwhile(web, monkeypatch):
    monkeypatch.setattr(page_commands, "MAX_RESPONSE_TIME_S", 0.2)
    calls = []
    owner = rclpy.create_node("busy")  # its callbacks never run
    owner.create_service(Trigger, "mujoco_sim/reset_world", lambda request, response: calls.append(request) or response)
    web.until(lambda: services_ready(web.node, "mujoco_sim/reset_world"))
    visitor = web.visit()
    visitor.send("request", what="reset_world")
    visitor.send("request", what="reset_world")
    web.until(lambda: visitor.received("answer"))
    assert [answer["text"] for answer in visitor.received("answer")] == ["mujoco_sim does not respond"]
    assert visitor.received("answer")[0]["what"] == "reset_world"
    web.bench.add(owner)  # it responds at last
    web.until(lambda: calls)
    web.bench.spin(0.05)
    assert len(calls) == len(visitor.received("answer")) == 1


def test_a_node_that_is_asked_to_end_stops_the_robot_and_closes_the_page(web):
    visitor = web.visit()
    visitor.send("drive", on=True, vx=1.0)
    web.until(lambda: web.speed > 0.0)
    web.node.request_stop()
    web.until(lambda: web.speed == 0.0, 0.4)
    web.until(lambda: visitor.code is not None)
    web.node.commands.execute(Forward(1, DriveMessage(True, 1.0), time.monotonic() + DEAD_MAN_S))
    web.node.publish_final_state()
    web.until(lambda: not web.node.commands.driving)
    assert web.node.stopped() and web.speed == 0.0


def test_a_missing_service_is_reported(web):
    visitor = web.visit()
    visitor.send("request", what="stand")
    web.until(lambda: visitor.received("answer"))
    assert visitor.received("answer")[0]["text"] == "gait_planner is not running"


def test_slowly_changing_values_are_collected_only_while_a_page_is_open(web):
    timers = [timer for timer in web.node.timers if timer.timer_period_ns == STATUS_PERIOD_S * 1e9]
    resting = [timer for timer in timers if timer.is_canceled()]
    visitor = web.visit()
    web.until(lambda: any(not timer.is_canceled() for timer in resting))
    started = [timer for timer in resting if not timer.is_canceled()]
    visitor.drop()
    web.until(lambda: any(timer.is_canceled() for timer in started))


def test_a_watcher_stops_the_driver(web):
    services = Services(web.bench)
    web.until(lambda: services_ready(web.node, "stop"))
    driver, watcher = web.visit(), web.visit()
    driver.send("drive", on=True, vx=1.0)
    web.until(lambda: web.speed > 0.0)
    watcher.send("request", what="stop")
    web.until(lambda: web.speed == 0.0, 0.4)
    web.until(lambda: services.called == ["stop"])
    web.until(lambda: driver.received("stopped") and stops(driver))
    assert stops(driver) == [("log_stop", 0, "visitor 2")]


def test_two_drivers_do_not_mix(web):
    first, second = web.visit(), web.visit()
    web.until(lambda: second.received("welcome"))
    first.send("drive", on=True, vx=1.0)
    web.until(lambda: web.speed > 0.0)
    second.send("drive", on=True, vx=-1.0)
    web.until(lambda: second.received("refused"))
    web.until(lambda: web.speed == 0.0)
    assert min(message.linear.x for message in web.velocities) >= 0.0


def test_the_page_sees_joints_feet_battery_and_the_sentences_of_diagnostics(web, bench):
    visitor = web.visit()
    joints = bench.publisher(JointState, "joint_states")
    battery = bench.publisher(BatteryState, "battery_state")
    diagnostics = bench.publisher(DiagnosticArray, "/diagnostics", QoSProfile(depth=10))
    layout = JointLayout(robot())
    stamp = bench.probe.get_clock().now().to_msg()
    values = {"loop [Hz]": "49.9", "left_front_coxa_joint temperature [C]": "41.5"}

    def say():
        joints.publish(layout.message(standing_joints(), None, stamp))
        battery.publish(BatteryState(voltage=11.1, percentage=math.nan))
        diagnostics.publish(messages.diagnostics("/servo_driver", "", 1, "a servo is warm", values, stamp))

    bench.probe.create_timer(0.02, say)
    web.until(lambda: visitor.received("state") and visitor.received("state")[-1]["joints"])
    web.until(lambda: visitor.received("status") and visitor.received("status")[-1]["battery"])
    state, status = visitor.received("state")[-1], visitor.received("status")[-1]
    assert state["joints"] == pytest.approx(standing_joints().ravel(), abs=1e-3)
    assert state["planted"] == [1] * 6
    assert state["body"] == pytest.approx([robot().walk.height, 0.0, 0.0], abs=1e-3)
    assert status["battery"]["volts"] == pytest.approx(11.1)
    assert status["battery"]["share"] is None
    assert status["loops"]["servo_driver"] == 49.9
    assert status["temperatures"] == {"left_front_coxa_joint": 41.5}
    assert {"name": "servo_driver", "level": 1, "text": "a servo is warm", "age": 0} in status["diagnostics"]


def test_a_page_gets_the_model_of_the_robot_and_an_invitation_for_others_when_it_asks(web):
    visitor, other = web.visit(), web.visit()
    web.until(lambda: visitor.received("terrain") and other.received("terrain") and other.received("recordings"))
    before = len(other.messages), len(visitor.received("terrain"))
    for what in ("urdf", "invite", "terrain"):
        visitor.send("query", what=what)
    web.until(lambda: visitor.received("urdf") and visitor.received("invitation"))
    web.until(lambda: len(visitor.received("terrain")) > before[1])
    assert visitor.received("terrain")[before[1] :] == [{**visitor.received("terrain")[-1], "boxes": []}]
    assert not {"urdf", "invitation", "terrain"} & {message["t"] for message in other.messages[before[0] :]}
    box = Marker(type=Marker.CUBE)
    web.bench.publisher(MarkerArray, "terrain", LATCHED).publish(MarkerArray(markers=[box]))
    web.until(lambda: all(len(each.received("terrain")[-1]["boxes"]) == 1 for each in (visitor, other)))
    assert visitor.received("urdf")[0]["text"].count("<joint ") >= 18
    invitation = visitor.received("invitation")[0]
    assert unquote(invitation["url"]) == f"http://127.0.0.1:{web.node.server.port}/#{TOKEN}"
    assert not invitation["once"] and len(invitation["rows"]) > 20


def test_an_image_goes_to_the_page_that_asks_for_it_and_what_no_page_needs_is_received_no_longer(
    web, bench, monkeypatch
):
    monkeypatch.setattr(camera_feed, "MAX_IDLE_S", 0.5)
    monkeypatch.setattr(page_recorder, "IDLE_S", 0.0)
    recorded = bench.probe.create_publisher(String, "recorded", 1)
    camera = bench.probe.create_publisher(CompressedImage, "image_raw/compressed", DISPLAY)
    visitor, other = web.visit(), web.visit()
    web.until(lambda: visitor.received("status") and visitor.received("status")[-1]["camera"])
    visitor.send("query", what="camera")
    web.until(camera.get_subscription_count)
    camera.publish(CompressedImage(format="jpeg", data=b"image"))
    web.until(lambda: visitor.received("image"))
    assert base64.b64decode(visitor.received("image")[0]["data"]) == b"image" and not other.received("image")
    web.until(recorded.get_subscription_count)
    for each in (visitor, other):
        each.drop()
    web.until(lambda: not (camera.get_subscription_count() or recorded.get_subscription_count()))


def test_recordings_of_the_folder_are_listed_and_deleted_and_a_refusal_is_logged(make_web, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "a.mcap").write_bytes(bytes(7))
    web = make_web(recordings=str(tmp_path), recordings_limit=10.0)
    visitor = web.visit()
    web.until(lambda: visitor.received("recordings"))
    assert visitor.received("recordings")[0]["list"] == [{"name": "a", "size": 7, "seconds": None}]
    visitor.send("recording", act="bag", name="b")
    visitor.send("control", act="take")
    visitor.send("recording", act="delete", name="a")
    web.until(lambda: visitor.received("recordings")[-1]["list"] == [] and visitor.received("event"))
    assert not list(tmp_path.iterdir())
    (event,) = visitor.received("event")
    assert (event["node"], event["level"], event["text"]) == ("web", 1, "log_refused")
    assert event["values"] == {"what": "recording", "text": "'b' is not a recording"}
    (tmp_path / "large").mkdir()
    with (tmp_path / "large" / "large.mcap").open("wb") as file:
        file.truncate(10_000_001)

    def answer():
        web.bench.spin(0.1)
        visitor.send("recording", act="keep")
        return visitor.received("answer")[-1]["text"]

    web.until(lambda: answer().endswith("the recordings take 10 MB, their limit: delete some"))


def fault_report(web, visitor):
    """Requests a report. Returns its name and its files by name."""
    count = len(visitor.received("download"))
    visitor.send("query", what="report")
    web.until(lambda: len(visitor.received("download")) > count, 15.0)
    offer = visitor.received("download")[-1]
    address = f"http://127.0.0.1:{web.node.server.port}{offer['address']}"
    with urllib.request.urlopen(address, timeout=5.0) as answer, zipfile.ZipFile(io.BytesIO(answer.read())) as archive:
        return offer["file"], {name: archive.read(name) for name in archive.namelist()}


def test_a_report_has_log_state_robot_file_and_the_last_minute_and_anybody_may_ask_for_it(make_web, bench, tmp_path):
    web = make_web(recordings=str(tmp_path))
    driver, watcher = web.visit(), web.visit()
    driver.send("control", act="take")
    driver.send("recording", act="bag", name="none of them")
    topic = bench.probe.create_publisher(String, "recorded", 1)
    web.until(topic.get_subscription_count, 15.0)
    topic.publish(String(data="before the fault"))
    web.until(lambda: (watcher.received("status")[-1:] or [{}])[-1].get("buffered"), 15.0)
    file, parts = fault_report(web, watcher)
    assert file.startswith("hexapod_report_2") and file.endswith(".zip") and not driver.received("download")
    assert {"system.json", "state.json", "phantomx.yaml"} < set(parts)
    state = json.loads(parts["state.json"])
    assert state["log"][0]["values"]["text"] == "'none of them' is not a recording" and "diagnostics" in state
    (bag,) = (content for name, content in parts.items() if name.endswith(".mcap"))
    assert b"before the fault" in bag or len(bag) > 500


def test_the_page_opens_under_its_address_and_the_host_names_that_are_allowed(make_web):
    port = make_web(allowed_hosts="robot.example, other.example").node.server.port
    for host, code in (("127.0.0.1", 200), ("robot.example", 200), ("other.example", 200), ("third.example", 403)):
        request = urllib.request.Request(f"http://127.0.0.1:{port}/", headers={"Host": host})
        try:
            found = urllib.request.urlopen(request, timeout=5.0).status
        except urllib.error.HTTPError as error:
            found = error.code
        assert found == code, host


def test_a_page_server_that_ends_completes_the_recording(make_web, tmp_path):
    web = make_web(recordings=str(tmp_path))
    visitor = web.visit()

    def records():
        visitor.send("recording", act="start")
        return visitor.received("status")[-1:] and visitor.received("status")[-1]["recording"]

    web.until(lambda: web.bench.spin(0.1) and records())
    web.node.request_stop()
    assert not web.node.stopped()
    web.until(web.node.stopped)
    (bag,) = tmp_path.iterdir()
    assert (bag / "metadata.yaml").exists()


def test_on_a_network_each_invitation_admits_one_device_and_the_next_one_is_printed(make_web, capfd):
    web = make_web(lan=True, token="")
    printed = re.findall(r"invitation for one person: http://\S+/#(\S+)", capfd.readouterr().out)
    first, second = (web.visit(token=unquote(printed[0])) for _ in range(2))
    web.until(lambda: first.received("welcome") and second.code)
    assert second.code == 4401 and web.node.public
    printed += re.findall(r"invitation for one person: http://\S+/#(\S+)", capfd.readouterr().out)
    assert len(set(printed)) == 2
    first.send("query", what="invite")
    web.until(lambda: first.received("invitation"))
    invitation = first.received("invitation")[0]
    assert invitation["once"] and invitation["url"] == invitation["urls"][0]
    third = web.visit(token=unquote(invitation["url"].partition("#")[2]))
    web.until(lambda: third.received("welcome"))


def test_diagnostics_show_who_drives_and_how_many_pages_are_open(web):
    port = web.node.server.port
    assert web.node.status() == {"pages": 0, "driver": "none", "port": port}
    visitor = web.visit(name="Ada")
    web.visit()
    visitor.send("control", act="take")
    web.until(lambda: web.node.status() == {"pages": 2, "driver": "Ada", "port": port})


def test_a_state_that_cannot_be_computed_is_reported_and_the_page_stays_open(web, monkeypatch):
    visitor = web.visit()
    web.until(lambda: visitor.received("state"))
    monkeypatch.setattr(web.node.feed, "state", lambda: 1 / 0)
    web.until(lambda: "callback state failed with ZeroDivisionError" in web.node.last_report("failed state"))
    monkeypatch.undo()
    count = len(visitor.received("state"))
    web.until(lambda: len(visitor.received("state")) > count + 1)


def test_stamped_velocities_are_sent_where_they_are_wanted(bench):
    node = bench.add(WebNode(parameter_overrides=overrides(port=0, enable_stamped_cmd_vel=True)))
    received = bench.listen(TwistStamped, "cmd_vel")
    bench.until(lambda: subscribed(node, "cmd_vel"))
    node.feed.limits = MOST
    node.commands.execute(Forward(1, DriveMessage(True, 0.5, -1.0, 0.25), time.monotonic() + DEAD_MAN_S))
    bench.until(lambda: received)
    assert messages.twist(received[0].twist) == pytest.approx((0.1, -0.1, 0.2))
    age = bench.probe.get_clock().now().nanoseconds - messages.nanoseconds(received[0].header.stamp)
    assert 0 <= age < 1e9  # [ns] stamped within the last second
    node.server.close()


def test_a_robot_that_is_silent_is_shown_as_silent(web):
    visitor = web.visit()
    web.until(lambda: visitor.received("state"))
    assert visitor.received("state")[-1]["silent"]
    assert visitor.received("state")[-1]["joints"] is None


def test_the_shape_has_every_leg():
    assert [leg["name"] for leg in shape(robot())["legs"]] == list(robot().leg_names)
    json.dumps(shape(robot()), allow_nan=False)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"token": "short"}, "token must have at least 16 characters"),
        ({"port": 70000}, "port must be in"),
    ],
)
def test_bad_parameters_are_refused_at_the_start(bench, parameters, sentence):
    with pytest.raises(ParameterError, match=sentence):
        WebNode(parameter_overrides=overrides(**parameters))


@pytest.mark.parametrize("busy", [True, False], ids=["port in use", "address of another machine"])
def test_without_its_port_the_page_is_elsewhere_or_absent_and_the_node_runs_on(bench, capfd, busy):
    reports = bench.listen(DiagnosticArray, "/diagnostics", MANY)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        node = bench.add(WebNode(parameter_overrides=overrides(bind="127.0.0.1" if busy else "192.0.2.1", port=port)))
        found = node.server.port
        text = (
            f"port {port} is in use by another program: the page is at port {found}"
            if busy
            else f"the page is absent: 192.0.2.1:{port} cannot be opened"
        )
        assert text in node.last_report("page")
        bench.until(lambda: any(text in message.status[0].message for message in reports))
        bench.until(lambda: len(reports) >= 2)
    printed = capfd.readouterr()
    assert printed.err.count(text) == 1
    assert (f"the page: http://127.0.0.1:{found}/#" in printed.out) == busy
    node.server.close()


@pytest.mark.soak
@settings(max_examples=60 if SOAK else 30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(message=MESSAGES)
def test_no_message_raises_an_exception_in_the_node(web, message):
    visitor = web.visitors[0] if web.visitors and web.visitors[0].code is None else None
    if visitor is None:
        web.visitors.insert(0, visitor := web.visit())
    visitor.text(message)
    web.bench.executor.spin_once(timeout_sec=0.005)
    assert not [kind for kind in web.node.sent_reports if kind.startswith("failed")]


# --- as a process -------------------------------------------------------------------------------------------------


class Process:
    """The node as a process of its own."""

    def __init__(self):
        words = ["--ros-args", "-p", "port:=0", "-p", f"token:='{TOKEN}'"]
        command = [sys.executable, "-u", "-m", "hexapod_control.nodes.web.web", *words]
        self.process = subprocess.Popen(
            command, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        line = read_line(self.process)
        assert "the page: http://127.0.0.1:" in line, line
        self.port = int(line.split("127.0.0.1:")[1].split("/")[0])

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        return self.process.communicate(timeout=5.0)[0]


@pytest.fixture
def walking(bench):
    """A planner that walks on a command of a page: bench, planner, process, loop."""
    planner, process, loop = bench.planner(), Process(), Loop()
    visitor = Visitor(loop, process.port)
    received = bench.velocities("cmd_vel", MANY)

    def drive():
        with contextlib.suppress(ConnectionError):  # the process may have ended
            visitor.send("drive", on=True, vx=0.5)

    timer = bench.probe.create_timer(0.05, drive)
    bench.until(lambda: planner.output.last.twist.vx > 0.01, 10.0)
    yield planner, process, received
    bench.probe.destroy_timer(timer)
    process.end()
    visitor.close()
    loop.close()


@pytest.mark.process
def test_a_terminated_page_server_sends_a_zero(bench, walking):
    planner, process, received = walking
    process.process.send_signal(signal.SIGINT)
    bench.until(lambda: process.process.poll() is not None, 4.0, "end of the node")
    assert process.process.returncode == 0
    bench.until(lambda: received[-1].linear.x == 0.0, 1.0)
    wait_for_stop(bench, planner)
    assert "Traceback" not in process.end()


@pytest.mark.process
def test_a_killed_page_server_is_a_stop(bench, walking):
    planner, process, _ = walking
    process.process.kill()
    wait_for_stop(bench, planner)
