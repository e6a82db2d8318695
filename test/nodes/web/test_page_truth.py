# SPDX-License-Identifier: Apache-2.0
"""The page in a real Chromium shows the true state of a scripted robot, and explains controls without effect."""

import itertools
import json
import math
import re
import threading

import mujoco
import numpy as np
import pytest
from geometry_msgs.msg import Point as PointMessage
from rclpy.duration import Duration
from sensor_msgs.msg import CameraInfo, CompressedImage
from std_msgs.msg import String
from support.phantomx import robot
from support.real_time.web.page_checks import COVERED, png
from support.real_time.web.scripted_robot import FINE
from visualization_msgs.msg import Marker, MarkerArray

from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.motions.motion_approval import ANSWER_TOPIC, PERIOD_S, REQUEST_TOPIC, MotionRequest
from hexapod_control.core.names import joint_names
from hexapod_control.core.refusal import Statement
from hexapod_control.nodes.web import camera_feed
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import SAID
from hexapod_control.ros.message_types import TFMessage
from hexapod_control.ros.qos import LATCHED
from hexapod_control.ros.terrain_messages import Lens, camera_info_message
from hexapod_control.sim.mujoco_model import FIELD_OF_VIEW_DEG, FRONT_CAMERA, front_camera_pose
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.world_settings import WorldSettings
from hexapod_control.web.robot_condition import MAX_NODE_SILENCE_S

pytestmark = [pytest.mark.browser, pytest.mark.heavy]

LATENCIES = """globalThis.late = [];
const send = hexapod.connection.send;
hexapod.connection.send = function (kind, fields) {
  if (fields?.what === "stop") late.push(performance.now() - event.timeStamp);
  return send.call(this, kind, fields);
};
globalThis.costs = [];
const drew = hexapod.scene.drew;
hexapod.scene.drew = function (frame) {
  costs.push(frame.cost);
  return drew.call(this, frame);
}; 0"""
HUGE = "Object.assign(document.querySelector('#space-canvas').style, {width: '8000px', height: '8000px'}); 0"
NO_3D = """{
  const usual = HTMLCanvasElement.prototype.getContext;
  HTMLCanvasElement.prototype.getContext = function (kind, ...more) {
    return kind === "2d" ? usual.call(this, kind, ...more) : null;
  };
  delete HTMLCanvasElement.prototype.transferControlToOffscreen;
}"""
OVER_IMAGE = """["left", "right", "stop", "estop", "step"].filter((id) => {
  const [a, b] = [id, "camera"].map((each) => document.getElementById(each).getBoundingClientRect());
  return a.left >= b.left && a.right <= b.right && a.top >= b.top && a.bottom <= b.bottom; })"""
PICTURE = "document.body.dataset.picture"
LATCHED_VALUES = {"torque": "False", "emergency stop": "latched"}
ESTOP = (2, "emergency stop: run hexapod reset, then hexapod arm", LATCHED_VALUES)


def test_an_emergency_stop_on_a_bus_is_shown_and_released_although_the_simulator_reports_none(told):
    told.tell(state="unknown", armed=False, servo_driver=ESTOP)
    told.shows("Torque off: E-STOP", "bad", "Release E-STOP …")
    assert told.page.js("document.querySelector('#margin').hidden")
    assert told.push_stick() == "The torque is off: press Release E-STOP."
    told.page.js("document.querySelector('[data-motion=wave]').click(); document.querySelector('#raise').click()")
    told.bench.spin(0.3)
    assert (told.velocities, told.motions, told.poses) == ([], [], [])
    told.page.click("#step")
    told.page.click("#arm-box button[value=yes]")
    told.until(lambda: told.called == ["estop False", "reset_fault", "arm"])
    assert "call " not in told.text("#diagnostics")


def test_the_page_names_who_pressed_the_emergency_stop(told):
    told.page.press(" ", "Space", 8)
    told.tell(state="unknown", armed=False, servo_driver=ESTOP)
    told.until(lambda: told.text("#sentence-text").startswith("Torque off: E-STOP by Linux "), what="who it was")


def test_torque_that_is_off_without_an_emergency_stop_is_switched_on_by_one_service(told):
    told.tell(state="unknown", armed=False)
    told.until(lambda: told.text("#step") == "Switch on …")
    assert told.push_stick().startswith("The torque is off")
    told.page.click("#step")
    told.page.click("#arm-box button[value=yes]")
    told.until(lambda: "arm" in told.called)


def test_torque_that_a_fault_has_switched_off_comes_back_without_releasing_an_emergency_stop(told):
    values = {"torque": "False", "emergency stop": "no"}
    told.tell(state="unknown", armed=False, servo_driver=(2, "the battery is empty: 8.5 V", values))
    told.shows("Torque off after a fault: the battery is empty: 8.5 V", "bad", "Reset and switch on …")
    told.page.click("#step")
    told.page.click("#arm-box button[value=yes]")
    told.until(lambda: told.called == ["reset_fault", "arm"])


def test_a_fallen_robot_gets_up_by_the_large_button(told):
    told.tell(state="fallen", gait_planner=(2, "the robot has fallen", {}))
    told.shows("Fallen: set it on its feet or its belly, then press Get up", "bad", "Get up")
    told.page.click("#step")
    told.until(lambda: told.called == ["recover"])


def test_what_a_node_says_is_german_on_the_german_page_by_its_kind_and_values_and_english_if_unknown(told):
    seen = Statement("ground_drop", "drop of {height:.0f} mm", height=92.0)
    text = "no foothold ahead of {leg}: {seen}; it stops: drive another way"
    warning = Statement("no_foothold_ahead", text, leg="left_front", seen=seen)
    page = told.open(390, 844, touch=True, before="localStorage.setItem('language', 'de')")
    for statement, shown in [
        (warning, "kein Tritt vor left_front: 92 mm tiefer; er hält an: anders fahren"),
        (Statement("of_a_later_version", "something {new}", new="else"), "something else"),
    ]:
        values = {**PLANNER, SAID: json.dumps([statement.as_json()])}
        told.tell(gait_planner=(1, str(statement), values))
        told.until(lambda german=shown: told.text("#sentence-text", page) == german, what=shown)
        assert told.text("#sentence-text") == str(statement)
    told.tell(
        gait_planner=(
            1,
            str(warning),
            {**PLANNER, SAID: '[{"kind": 3}, 7, {"kind": "x", "text": "y", "values": {"z": 1}}'},
        )
    )
    told.until(lambda: told.text("#sentence-text", page).startswith("kein Tritt vor"), what="nonsense is ignored")
    page.close()
    told.tell()


OFF = {"torque": "False", "emergency stop": "no"}
LOST_PORT = {"torque": "unknown", "emergency stop": "no", "power": "unknown"}
NO_PORT = {"torque": "False", "emergency stop": "latched", "power": "no port"}
PLANNER = FINE["gait_planner"][2]
ON = FINE["servo_driver"][2]


@pytest.mark.parametrize(
    ("told_of", "sentence", "tone", "step", "called"),
    [
        (
            {"servo_driver": (2, "id 5 is off: free the joint, then run hexapod reset", {**ON, "reset": "needed"})},
            "Fault in servo_driver: id 5 is off: free the joint, then press Reset and switch on",
            "bad",
            "Reset and switch on …",
            ["reset_fault", "arm"],
        ),
        (
            {"state": "carried", "gait_planner": (1, "lifted", {**PLANNER, "way out": "sit"})},
            "Lifted: set it down on its feet, or on its belly and press Sit",
            "warn",
            "Sit",
            ["sit"],
        ),
        (
            {"state": "fallen", "gait_planner": (2, "fallen", {**PLANNER, "way out": "sit"})},
            "Fallen, and the IMU is silent: lay it on its belly, then press Sit",
            "bad",
            "Sit",
            ["sit"],
        ),
        (
            {"gait_planner": (1, "no way; drive another way, or run hexapod stand", {**PLANNER, "way out": "stand"})},
            "no way; drive another way, or press Stand",
            "warn",
            "Stand",
            ["stand"],
        ),
        (
            {"armed": False, "servo_driver": (0, "ok", {**OFF, "calibration": "running"})},
            "A calibration is running: finish it where it was begun, or press End calibration",
            "warn",
            "End calibration …",
            [],
        ),
        (
            {"armed": False, "state": "unknown", "servo_driver": (2, "no port", NO_PORT)},
            "E-STOP could not be sent, as the servos are not connected: cut their power",
            "bad",
            "Release E-STOP …",
            ["estop False", "reset_fault", "arm"],
        ),
    ],
)
def test_every_state_off_the_usual_way_has_its_next_step(told, told_of, sentence, tone, step, called):
    told.tell(**told_of)
    told.shows(sentence, tone, step)
    told.page.click("#step")
    if told.page.js("document.querySelector('#arm-box').open"):
        told.page.click("#arm-box button[value=yes]")
    told.until(lambda: told.called == called)


def test_the_loss_of_the_port_is_named_although_no_joint_angles_arrive(told):
    told.tell(servo_driver=(2, "the port is gone: plug it in", LOST_PORT))
    told.silent = True
    told.shows("No joint angles: the port is gone: plug it in", "unknown", "E-STOP")
    told.silent = False
    told.tell()
    told.shows("Standing", "good", "Sit")


def test_a_long_sentence_is_whole_on_a_phone_and_where_it_is_cut_a_tap_shows_it(told):
    page = told.open(390, 844, touch=True)
    text = "no way is made, as " + "a leg is held by something that no sensor knows, " * 3 + "then run hexapod stand"
    told.tell(gait_planner=(1, text, {**PLANNER, "way out": "stand"}))
    whole = text.replace("run hexapod stand", "press Stand")
    told.until(lambda: told.text("#sentence-text", page) == whole)
    cut = (
        "(() => { const e = document.querySelector('#sentence-text'); return e.scrollHeight > e.clientHeight + 1; })()"
    )
    assert not page.js(cut) and page.js(COVERED) == []
    page.resize(844, 390, touch=True)
    assert page.js(cut)
    page.click("#sentence")
    assert told.text("#hint", page) == whole
    page.close()


def test_a_robot_that_walks_without_a_leg_says_so(told):
    legs = told.bench.publisher(String, "lost_legs", LATCHED)
    legs.publish(String(data="left_front"))
    told.shows("Walks without left_front: Drive, Return brings it back", "warn", "Sit")
    legs.publish(String(data=""))
    told.shows("Standing", "good", "Sit")


def test_a_robot_found_on_its_feet_at_25_mm_does_not_stand_and_is_not_driven(told):
    told.tell(height=0.025, gait_planner=(0, "ok", {"pose": "found"}))
    told.shows("Crouching at 25 mm: press Stand", "warn", "Stand")
    assert told.push_stick() == "The robot crouches: press Stand."
    told.page.press("i")
    assert told.velocities == []
    told.page.click("#step")
    told.until(lambda: told.called == ["stand"])


@pytest.mark.parametrize(
    ("state", "sentence", "step", "why"),
    [
        ("sitting", "Sitting: press Stand", "Stand", "The robot sits: press Stand."),
        ("rising", "Standing up", "Sit", "The robot is standing up."),
        ("sinking", "Sitting down", "Stand", "The robot is sitting down."),
    ],
)
def test_a_stick_without_effect_shows_the_reason(told, state, sentence, step, why):
    told.tell(state=state)
    told.shows(sentence, "calm", step)
    assert told.page.js("document.querySelector('#left').getAttribute('aria-disabled')") == "true"
    assert told.push_stick() == why
    assert told.velocities == []


def test_a_hung_node_is_named_every_control_is_locked_with_the_reason_and_the_next_step_is_e_stop(told):
    told.tell(inverse_kinematics=None)
    told.until(lambda: "inverse_kinematics has not answered" in told.text("#sentence-text"), 3.0, "a stale node")
    assert told.page.js("document.querySelector('#sentence').dataset.tone") == "unknown"
    told.until(lambda: told.text("#step") == "E-STOP", what="the next step")
    needy = "[data-needs]:not([data-needs=seat]):not([aria-disabled])"  # to save a place moves nothing
    live = f"[...document.querySelectorAll('{needy}')].map((e) => e.id || e.textContent)"
    assert told.page.js(live) == []
    why = "inverse_kinematics does not answer: press E-STOP, then start the robot's program again."
    assert told.push_stick() == why
    told.page.press("t")
    assert told.text("#hint") == why and told.called == [] and told.velocities == []
    told.page.click("#step")
    told.until(lambda: sorted(told.called) == ["estop True", "stop"])
    silence = MAX_NODE_SILENCE_S + 3.0
    told.until(lambda: "inverse_kinematicsno answer for" in told.text("#diagnostics"), silence, "its row in the list")
    told.tell()
    told.shows("Standing", "good", "Sit")
    assert told.page.js(live)
    told.page.click("#log-button")
    assert "inverse_kinematics does not answer" in told.text("#log-list")
    told.page.click("#log-button")


def test_the_hottest_servo_is_named_and_every_servo_has_its_temperature_and_load(told):
    degrees = [str(35 + (5 * index) % 18) for index in range(18)]
    names = joint_names(robot().leg_names)
    hottest = degrees.index("52")
    values = {**FINE["servo_driver"][2], "temperatures [degC]": " ".join(degrees), "loads": " ".join(["0.5"] * 18)}
    told.tell(servo_driver=(0, "ok", values))
    leg, joint = "".join(word[0] for word in names[hottest].split("_")[:2]).upper(), names[hottest].split("_")[2]
    told.until(lambda: told.text("#chip-servo") == f"{leg} {joint} 52 °C")
    cells = told.page.js("[...document.querySelectorAll('#servos td')].map((e) => e.textContent).filter(Boolean)")
    assert sorted(cell for cell in cells) == sorted(f"{each}°" for each in degrees)
    legend = "document.querySelector('[data-signal=temperature] .legend').textContent"
    told.page.js("document.querySelector('#charts').scrollIntoView()")
    told.until(lambda: told.page.js(legend) == f"{leg} {joint} 52", what="the hottest one of eighteen lines")
    heat = [tone for tones in told.page.js("hexapod.projections.heat") for tone in tones]
    assert heat == ["warn" if int(each) >= 45 else "good" for each in degrees], "the picture shows which are warm"


def test_the_scale_of_what_is_never_negative_has_no_negative_part(told):
    told.page.js("""hexapod.connection.dispatchEvent(new CustomEvent("status",
      {detail: {...hexapod.robot.status, loops: {web: 2}}}))""")
    scale = "(() => { const strip = hexapod.charts.strips.get('loops'); strip.refresh(); return strip.range(0); })()"
    low, high = told.page.js(scale)
    assert low == 0 and high >= 10


def test_the_number_on_the_log_counts_what_needs_action(told):
    page = told.page
    count = "Number(document.querySelector('#log-count').textContent)"
    before, newest = page.js(f"[{count}, Math.max(0, ...[...hexapod.log.events.keys()])]")
    event = {"at": 0.0, "node": "web", "values": None, "count": 1}
    for number, level in enumerate((1, 1, 1, 2, 0)):
        text = f"a report of level {level}"
        told.node.server.send(0, "event", {**event, "id": newest + 1 + number, "level": level, "text": text})
    told.until(lambda: page.js("[...hexapod.log.events.keys()].length") >= 5, what="the reports")
    told.until(lambda: page.js(count) == before + 1)
    page.click("#log-button")
    page.click("#log-button")


def test_a_phone_that_cannot_keep_its_screen_on_says_so_at_the_first_touch(told):
    page = told.open(390, 844, touch=True, before="delete Navigator.prototype.wakeLock")
    page.touch("Start", finger=page.spot("#chips"))
    page.touch("End")
    told.until(lambda: told.text("#hint", page).startswith("Without https the screen may go to sleep"))
    page.close()


def test_pose_gait_and_speed_are_those_of_the_robot_in_every_window_and_after_a_reload(told):
    told.tell(pose=BodyPose(z=0.04, roll=0.1))
    height = "document.querySelector('#pose-z').value"
    told.until(lambda: told.page.js(height) == "40")
    told.page.click("[data-speed='0.25']")
    told.until(lambda: told.page.js("hexapod.velocity.speed") == 0.25)
    told.page.choose("#signal", "left_front_femur")
    told.page.js("document.querySelector('[data-signal=vy] .close').click()")
    told.page.call("Page.reload")
    told.until(lambda: told.page.js("globalThis.hexapod?.robot.now?.say") == "standing", 15.0)
    told.until(lambda: told.page.js(height) == "40")
    plots = told.page.js("[...hexapod.charts.strips.keys()]")
    assert "left_front_femur" in plots and "vy" not in plots, "the choice of signals is remembered"
    told.until(lambda: told.page.js("hexapod.charts.state.column('left_front_femur').length") > 10)
    assert told.page.js("hexapod.velocity.speed") == 0.25
    told.page.js("document.querySelector('#raise').click()")
    told.until(lambda: told.poses, what="a pose request")
    assert told.poses[-1].position.z == pytest.approx(0.045)
    watcher = told.open(390, 844, touch=True)
    told.until(lambda: watcher.js(height) == "40", what="the height on another page")
    assert "drives" in told.text("#chip-driver", watcher)
    assert told.push_stick(watcher) == "Linux drives: press Request control."
    assert told.text("#step", watcher) == "Request control"
    watcher.click("#step")
    told.until(lambda: told.text("#banner-text") == "Linux 2 requests control.")
    told.until(lambda: told.text("#step", watcher) == "Cancel request", what="that the request waits")
    told.page.click("#banner-no")
    told.until(lambda: told.page.js("document.querySelector('#banner').hidden"))
    assert told.page.js("hexapod.people.drives")
    told.until(lambda: not watcher.js("hexapod.people.asking.length"), what="the refusal on the other page")
    told.until(lambda: "You are called Linux 2 here" in told.text("#banner-text", watcher), what="the question")
    watcher.click("#banner-yes")
    assert watcher.js("document.activeElement.id") == "my-name"
    watcher.call("Input.insertText", text="Ann B")
    watcher.press("Enter", "Enter")
    told.until(lambda: "Ann B" in told.text("#people"), what="the name on the other page")
    told.until(lambda: watcher.js("document.querySelector('#banner').hidden"), what="no more question")
    assert watcher.js("localStorage.getItem('name')") == "Ann B"
    watcher.press(" ", "Space")
    assert "stop" not in told.called
    watcher.js("document.activeElement.blur()")
    watcher.press(" ", "Space")
    told.until(lambda: told.text("#hint") == "STOP by Ann B", what="who has stopped it")
    watcher.js("document.querySelector('#seat').click()")
    told.until(lambda: not told.page.js("document.querySelector('#banner').hidden"))
    told.page.click("#banner-yes")
    told.until(lambda: watcher.js("hexapod.people.drives"))
    watcher.close()
    told.until(lambda: told.page.js("hexapod.people.people.length") == 1)


def test_after_an_outage_the_page_says_why_the_robot_stopped_and_the_log_keeps_it(told):
    x, y = told.page.spot("#left")
    told.page.mouse("Pressed", (x, y))
    told.page.mouse("Moved", (x, y - 40))
    told.until(lambda: told.velocities, what="a velocity")
    told.page.js("hexapod.connection.socket.close()")
    told.until(lambda: "the connection to Linux broke" in told.text("#banner-text"), what="the reason")
    told.page.mouse("Released", (x, y - 40), 0)
    told.page.click("#banner-yes")
    told.page.call("Page.reload")
    told.until(lambda: told.page.js("globalThis.hexapod?.robot.now?.say") == "standing", 15.0)
    told.until(lambda: int(told.text("#log-count") or 0) > 0)
    told.page.click("#log-button")
    assert "the connection to Linux broke" in told.text("#log-list")
    assert told.page.js("document.querySelector('#log-count').hidden")
    told.page.click("#log-button")
    told.velocities.clear()


def test_another_page_stops_and_takes_over_control_from_the_list_of_people(told):
    x, y = told.page.spot("#left")
    told.page.mouse("Pressed", (x, y))
    told.page.mouse("Moved", (x, y - 40))
    told.until(lambda: told.node.commands.driving, what="a velocity")
    other = told.open(768, 1024)
    assert "drives" in told.text("#chip-driver", other)
    other.press(" ", "Space")
    told.until(lambda: "stop" in told.called and not told.node.commands.driving, what="a stop")
    told.page.mouse("Released", (x, y - 40), 0)
    other.js("document.querySelector('#seat').click()")
    told.until(lambda: told.page.js("document.querySelectorAll('#people button').length") == 1)
    told.page.js("document.querySelector('#people button').click()")
    told.until(lambda: other.js("hexapod.people.drives"))
    other.close()
    told.until(lambda: told.page.js("hexapod.people.people.length") == 1)


@pytest.fixture
def assistant(told):
    """Asks for a motion as an assistant does. Returns the text of the banner with which the page shows it."""
    probe = told.bench.probe
    publisher = probe.create_publisher(String, REQUEST_TOPIC, 10)
    asked = []
    timer = probe.create_timer(PERIOD_S, lambda: asked and publisher.publish(String(data=asked[-1].text)))
    shown = "document.querySelector('#banner').hidden ? '' : document.querySelector('#banner-text').textContent"

    def ask(request):
        asked.append(request)
        told.until(lambda: told.page.js(shown), what=f"the banner for {request.motion}")
        return told.page.js(shown)

    yield ask
    probe.destroy_timer(timer)
    probe.destroy_publisher(publisher)


def test_a_motion_of_an_assistant_is_permitted_or_denied_on_the_page_and_a_stop_denies_it(told, assistant):
    answers = told.bench.listen(String, ANSWER_TOPIC)
    text = assistant(MotionRequest("a1", "walk", {"forward": -0.3, "left": 0.4}))
    assert text == "An assistant asks to walk 0.50 m ↙."
    told.page.click("#banner-yes")
    told.until(lambda: [answer.data for answer in answers] == ["a1 yes"], what="the permission")
    assert assistant(MotionRequest("b2", "turn", {"degrees": -90.0})) == "An assistant asks to turn by 90° ↻."
    told.page.click("#banner-no")
    told.until(lambda: [answer.data for answer in answers][1:] == ["b2 no"], what="the denial")
    assert assistant(MotionRequest("c3", "play", {"name": "bow"})) == "An assistant asks to play bow."
    told.page.click("#stop")
    told.until(lambda: [answer.data for answer in answers][2:] == ["c3 no"], what="the denial by a stop")
    assert told.page.js("document.querySelector('#banner').hidden")


def test_a_used_address_does_not_show_the_token_and_a_wrong_one_is_refused(told):
    assert told.page.js("location.hash") == ""
    other = told.browser.page(told.url.split("#")[0] + "#wrong")
    told.until(lambda: other.js("document.body?.dataset.link") == "refused")
    assert "no valid token" in told.text("#banner-text", other)
    other.close()


def test_a_lost_connection_is_shown_clearly_and_is_restored(told):
    page, hang = told.page, threading.Event()
    told.node.server.call_in_thread(hang.wait)
    try:
        told.until(lambda: page.js("document.body.dataset.link") == "lost", 5.0)
        assert "Connection lost" in told.text("#banner-text") and "lost" in page.js("document.title")
        assert "grayscale" in page.js("getComputedStyle(document.querySelector('main')).filter")
        assert told.text("#sentence-text").startswith("Connection lost")
    finally:
        hang.set()
    told.until(lambda: page.js("document.body.dataset.link === 'open' && document.querySelector('#banner').hidden"))


def test_keys_drive_at_once_and_the_question_mark_shows_the_key_map(told):
    for key, code in (("w", "KeyW"), ("ArrowUp", "ArrowUp")):
        told.velocities.clear()
        told.page.key("Down", key, code)
        told.until(lambda: told.velocities, what=f"a velocity by {key}")
        told.page.key("Up", key, code)
    told.page.press("?", "Slash")
    assert told.page.js("document.querySelector('#help-box').open")
    told.page.js("document.querySelector('#help-box').close()")
    told.velocities.clear()


def test_the_ground_of_the_simulator_is_drawn_in_3d_and_in_the_views(told):
    marker = Marker(type=Marker.CUBE_LIST, action=Marker.ADD)
    marker.scale.x = marker.scale.y = marker.scale.z = 0.3
    marker.pose.orientation.w = 1.0
    places = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
    marker.points = [PointMessage(x=0.3 * i, y=0.3 * j, z=0.01 * (i + j) - 0.15) for i, j in places]
    told.terrain.publish(MarkerArray(markers=[marker]))
    told.until(lambda: told.page.js("hexapod.projections.terrain.boxes.length") == 9)
    assert told.page.js("hexapod.projections.terrain.height(0.3, 0.3)") == pytest.approx(0.02)
    assert told.page.js("hexapod.projections.terrain.height(2, 2)") == 0
    told.until(lambda: told.page.js("hexapod.scene.earthMesh?.count") == 9 * 30, what="triangles in 3D")
    told.terrain.publish(MarkerArray())
    told.until(lambda: told.page.js("hexapod.projections.terrain.flat"))


def test_the_views_of_a_robot_at_rest_are_not_drawn_again_until_it_moves(told):
    frames, page = "hexapod.projections.frames", told.page
    told.bench.spin(0.5)
    before = page.js(frames)
    told.bench.spin(0.7)
    assert page.js(frames) == before
    told.tell(height=0.08)
    told.until(lambda: page.js(frames) > before, what="a frame")


def test_stop_waits_for_no_frame_of_a_slow_3d_view_which_gives_way_to_the_top_view(told):
    page = told.open(390, 844, touch=True)
    told.until(lambda: page.js("hexapod.scene?.frames"), 15.0, "a frame in 3D")
    page.js(f"{LATENCIES}; {HUGE}")
    page.js("document.querySelector('#pictures [data-picture=space]').click()")  # who wants it slow, keeps it
    place, presses = page.spot("#stop"), 50
    for k in range(presses):
        told.tell(height=0.05 + 0.01 * (k % 2))
        for kind in ("Pressed", "Released"):
            page.mouse(kind, place, int(kind == "Pressed"))
        told.bench.spin(0.03)
    told.until(lambda: len(page.js("costs")) > 1, what="frames")
    late, costs = page.js("[late, costs]")
    assert len(late) == presses and max(late) < 0.5 * max(costs) and page.js(PICTURE) == "space", (late, costs)
    page.js("document.querySelector('#pictures [data-picture=top]').click()")
    for _ in range(page.js("document.querySelectorAll('#pictures [data-picture]').length")):
        page.press("v")
        if page.js(PICTURE) == "space":
            break
    assert page.js(PICTURE) == "space"
    page.js("hexapod.scene.tolerated = 10")  # [ms]: no machine draws a canvas of this size faster without a GPU
    heights = itertools.cycle((0.05, 0.07))

    def given_way():
        told.tell(height=next(heights))
        return page.js(PICTURE) == "top"

    told.until(given_way, 20.0, "another picture")
    assert told.text("#hint", page).startswith("3D is slow in this browser")
    page.close()


def test_without_webgl_the_picture_is_the_top_view_and_says_so(told):
    page = told.open(390, 844, touch=True, before=NO_3D)
    told.until(lambda: page.js(PICTURE) == "top", what="another picture")
    why = "This browser has no WebGL; the views show the same robot."
    assert told.text("#hint", page) == why
    button = "document.querySelector('#pictures [data-picture=space]')"
    assert page.js(f"[{button}.getAttribute('aria-disabled'), {button}.dataset.why]") == ["true", why]
    page.js(f"{button}.click()")
    for _ in range(2):
        page.press("v")
        assert page.js(PICTURE) != "space"
    page.close()


def test_the_camera_is_shown_on_request_and_costs_nothing_otherwise(told, monkeypatch):
    monkeypatch.setattr(camera_feed, "MAX_IDLE_S", 0.5)
    assert told.page.js("document.querySelector('#camera-button').hidden")
    camera = told.bench.probe.create_publisher(CompressedImage, "image_raw/compressed", 1)
    told.until(lambda: not told.page.js("document.querySelector('#camera-button').hidden"), what="the button")
    assert camera.get_subscription_count() == 0
    told.page.click("#camera-button")

    stamp = told.bench.probe.get_clock().now().to_msg()
    frames = told.bench.probe.create_publisher(TFMessage, "/tf_static", LATCHED)
    placed = messages.transform_message("base_link", "eye_frame", BodyPose(0.15, 0.0, 0.05, -1.8, 0.0, -1.57), stamp)
    frames.publish(TFMessage(transforms=[placed]))
    infos = told.bench.probe.create_publisher(CameraInfo, "camera_info", 1)

    def shoot():
        image = CompressedImage(format="png", data=png(7, 3))
        image.header.frame_id = "eye_frame"
        image.header.stamp = (told.bench.probe.get_clock().now() - Duration(seconds=0.5)).to_msg()
        camera.publish(image)
        infos.publish(camera_info_message(Lens((6.0, 6.0), (3.0, 1.0), (7, 3)), "eye_frame", stamp))

    timer = told.bench.probe.create_timer(0.05, shoot)
    size = "[document.querySelector('#camera').naturalWidth, document.querySelector('#camera').naturalHeight]"
    told.until(lambda: told.page.js(size) == [7, 3], what="an image")
    told.until(lambda: re.match(r"image [5-9]\d\d ms old, ", told.text("#camera-note")), what="the age of the image")
    told.page.js("hexapod.map.route = [[0.6, 0], [1.2, 0.3]]; 0")
    told.until(lambda: told.page.js("hexapod.camera.lines.map(([kind]) => kind)") == ["horizon", "way"], what="the way")
    told.page.js("hexapod.map.route = []; 0")
    told.page.resize(844, 390, touch=True)
    assert told.page.js(OVER_IMAGE) == ["left", "right", "stop", "estop", "step"], "they lie over the image"
    assert told.page.js(COVERED) == []
    told.page.click("#camera")
    assert told.page.box("#camera")[2] < 422, "the image is small"
    told.page.resize(1280, 720)
    clip = "document.querySelector('#camera-clip')"
    told.page.js(
        "globalThis.clips = []; URL.createObjectURL = (blob) => (clips.push(blob), 'blob:x');"
        "HTMLAnchorElement.prototype.click = () => {}; 0"
    )
    told.page.js(f"{clip}.click()")
    told.until(lambda: told.page.js("hexapod.camera.film?.state") == "recording", what="the clip")
    told.bench.spin(0.5)
    told.page.js(f"{clip}.click()")
    told.until(lambda: told.page.js("clips.length") == 1, what="the saved clip")
    start = told.page.js("clips[0].slice(0, 4).arrayBuffer().then((data) => [...new Uint8Array(data)])")
    assert bytes(start) == b"\x1aE\xdf\xa3" and told.page.js("clips[0].size") > 500  # WebM
    told.page.click("#camera-button")
    told.until(lambda: camera.get_subscription_count() == 0, what="the end of the subscription")
    told.bench.probe.destroy_timer(timer)
    told.bench.spin(0.1)  # a callback that is already queued needs the publisher
    for publisher in (camera, frames, infos):
        told.bench.probe.destroy_publisher(publisher)


def test_the_way_and_the_next_footholds_lie_in_the_image_where_a_camera_of_the_physics_sees_them(told):
    file = load("phantomx")
    simulation = Simulation(file.robot, urdf(file), WorldSettings())
    (x, y, z), pitch = front_camera_pose(file.robot)
    tall = 1.0 / (2.0 * math.tan(math.radians(FIELD_OF_VIEW_DEG) / 2.0))
    axes = np.array(BodyPose(roll=-math.pi / 2.0 - pitch, yaw=-math.pi / 2.0).rotation()).ravel().tolist()
    view = {"at": [x, y, z], "axes": axes, "lens": [0.75 * tall, tall, 0.5, 0.5]}
    told.page.js("import('./drawing/eye.js').then((eye) => (globalThis.eye = eye)); 0")
    told.until(lambda: told.page.js("Boolean(globalThis.eye)"))
    for roll, pitch in ((0.0, 0.0), (0.1, -0.12), (-0.15, 0.08)):
        data = simulation.data
        body = BodyPose(z=0.12, roll=roll, pitch=pitch)
        data.qpos[:3] = 0.0, 0.0, body.z
        mujoco.mju_mat2Quat(data.qpos[3:7], np.array(body.rotation()).ravel())
        mujoco.mj_forward(simulation.model, data)
        camera = simulation.model.camera(FRONT_CAMERA).id
        points = np.array([[0.5, 0.1, 0.0], [1.0, -0.3, 0.0], [2.0, 0.0, 0.0]])
        right, up, back = ((points - data.cam_xpos[camera]) @ data.cam_xmat[camera].reshape(3, 3)).T
        expected = np.stack((0.5 + 0.75 * tall * right / -back, 0.5 - tall * up / -back), axis=1)
        scene = {"view": view, "body": [body.z, roll, pitch], "twist": [0, 0, 0], "width": 0.1, "odom": [0, 0, 0]}
        scene |= {"route": points[:, :2].tolist(), "steps": []}
        drawn = told.page.js(
            f"eye.overlay({json.dumps(scene)}).filter(([kind]) => kind === 'way').flatMap((l) => l[1])"
        )
        nearest = [np.abs(np.array(drawn) - each).max(axis=1).min() for each in expected]
        assert max(nearest) < 1e-3, "the corners of the way"


def test_the_next_footholds_are_those_of_a_steady_walk(told):
    told.page.js("import('./drawing/eye.js').then((eye) => (globalThis.eye = eye)); 0")
    told.until(lambda: told.page.js("Boolean(globalThis.eye)"))
    found = told.page.js("""(() => {
      const feet = new eye.NextFootholds();
      for (let now = 0; now <= 3000; now += 50)
        feet.update({ planted: [now % 1000 < 500 ? 0 : 1], legs: [[0, 0, 0, [0.2, 0.1, 0]]] }, [0.05, 0, 0], now);
      return feet.predict(3000);
    })()""")
    # The foot comes down at (0.2, 0.1) of the body every second, the last time at 2.5 s: next after 0.5 s.
    assert [place[:2] for place in found] == [
        [pytest.approx(0.2 + 0.05 * (0.5 + k), abs=0.001), pytest.approx(0.1)] for k in range(4)
    ]


def test_the_page_is_complete_in_german(told):
    told.page.js("hexapod.people.drives && document.querySelector('#seat').click()")
    page = told.open(1280, 720, before="localStorage.setItem('language', 'de')")
    told.shows("Steht", "good", "Hinsetzen", page)
    assert page.js("document.documentElement.lang") == "de"
    page.close()


def test_a_button_that_cannot_record_is_grey_and_says_why(told):
    page = told.page
    told.node.server.send(0, "recordings", {"list": [], "missing": "rosbags is missing: pip install rosbags"})
    told.until(lambda: "lacks. There: rosbags is missing" in told.text("#record-note"), what="the reason")
    for button in ("record", "keep-minute"):
        assert page.js(f"document.querySelector('#{button}').getAttribute('aria-disabled')") == "true"
    page.js("document.querySelector('#record').click()")
    assert told.text("#hint") == told.text("#record-note")
    told.node.server.send(0, "recordings", {"list": [], "missing": ""})
    told.until(lambda: not page.js("document.querySelector('#record').dataset.why"))


def test_a_recording_is_listed_fetched_and_replayed_while_the_live_state_stays(told):
    page, height = told.page, "hexapod.projections.state?.body[0] ?? 0"
    press = "document.querySelector('#record-list [data-act=record_{}]').click()".format
    told.until(lambda: page.js("hexapod.robot.status.buffered") >= 1, 10.0, "the recorder")
    page.js("document.querySelector('#record').click()")
    told.tell(height=0.05)
    told.until(lambda: (page.js("hexapod.robot.status.recording?.seconds") or 0) > 1.0, what="a recording")
    page.js("document.querySelector('#record').click()")
    told.until(lambda: page.js("document.querySelectorAll('#record-list [data-act=record_replay]').length") == 1)
    page.js(press("replay"))
    told.tell()
    told.until(lambda: (page.js("hexapod.recordings.replay?.frames.length") or 0) > 10, 20.0, "the frames")
    assert told.text("#replay-name").startswith("REPLAY of 20")
    page.js("hexapod.recordings.replay.playing = false; hexapod.recordings.replay.seek(100)")
    told.until(lambda: page.js(height) == pytest.approx(0.05, abs=0.005), what="the recorded height")
    told.shows("Standing", "good", "Sit")
    told.velocities.clear()
    assert told.push_stick() == "The picture shows a recording: press End replay."
    assert told.velocities == []
    page.press(" ", "Space")
    told.until(lambda: "stop" in told.called)
    page.click("#replay-end")
    told.until(lambda: page.js(height) == pytest.approx(robot().walk.height, abs=0.005), what="the height of the robot")
    page.js("""hexapod.recordings.fetch = async ({what, address}) =>
      (globalThis.got = [what, (await (await fetch(address)).text()).slice(0, 8)])""")
    for what, start in (("bag", "\ufffdMCAP0\r\n"), ("csv", "seconds,")):
        page.js(press(what))
        told.until(lambda what=what, start=start: page.js("globalThis.got") == [what, start], 20.0, what)
    page.js("hexapod.connection.send('recording', {act: 'bag', name: '../../../etc/passwd'})")
    told.until(lambda: "is not a recording" in told.text("#hint"))
    page.js(f"{press('delete')}; {press('delete')}")
    told.until(lambda: told.text("#record-list") == "No recordings yet.")
