# SPDX-License-Identifier: Apache-2.0
"""Panels of the page in Chromium, on a phone: a dance is composed, played and kept; settings, profiles and undo."""

import json
import math
import re
import struct

import numpy as np
import pytest
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import parameter_value_to_python
from sensor_msgs.msg import MultiDOFJointState
from std_msgs.msg import String
from support.phantomx import robot
from support.real_time.ros_bench import services_ready
from support.real_time.web.page_checks import HIDDEN_ROBOT, PAGE_SIZE, SMALL

from hexapod_control.config.motion_file import load_motion_text
from hexapod_control.core.motions.motion_steps import PoseStep, WaitStep, WalkStep

pytestmark = [pytest.mark.browser, pytest.mark.heavy]

KINDS = """Object.fromEntries(Object.entries(hexapod.dances.tracks).map(([track, steps]) =>
  [track, steps.map((step) => Object.keys(step)[0])]))"""


@pytest.fixture
def phone(told):
    told.page.resize(390, 844, touch=True)
    yield told.page
    told.page.js("hexapod.sheets.show('')")
    told.page.resize(1280, 720)


@pytest.fixture
def space(told):
    """A page that shows the robot in 3D, for as long as the test needs it: without a GPU that takes a whole core."""
    press(told.page, "#pictures [data-picture=space]")
    yield told.page
    press(told.page, "#pictures [data-picture=views]")
    told.page.js("hexapod.dances.pose(false); hexapod.dances.edit('', []); hexapod.body.neutral(); 0")


def press(page, selector):
    page.js(f"document.querySelector('{selector}').click()")


def test_a_dance_of_poses_and_walks_is_composed_played_and_kept(told, phone):
    phone.click("[data-sheet=moves]")
    phone.click("#dance-open")
    phone.js("hexapod.body.set({ z: 0.02, roll: 0.1 })")
    for kind in ("pose", "walk", "pose"):
        press(phone, f"#add-{kind}")
    told.poses.clear()
    phone.js(
        "const slider = document.querySelectorAll('#dance-values input')[1]; slider.value = -0.01; slider.oninput(); 0"
    )
    told.until(lambda: told.poses and told.poses[-1].position.z == pytest.approx(-0.01), what="the robot follows")
    assert phone.js(KINDS) == {"body": ["pose", "wait", "pose"], "legs": ["wait", "walk"]}  # one after the other
    assert phone.js(PAGE_SIZE) == [390, 844] and phone.js(SMALL) == []
    press(phone, "#step-earlier")
    assert phone.js(KINDS)["body"] == ["pose", "pose", "wait"]  # beside the walk
    phone.js("const e = document.querySelector('#dance-values input'); e.value = 2.5; e.oninput(); 0")
    press(phone, "#dance-play")
    told.until(lambda: told.motions, what="a motion")
    request = json.loads(told.motions[-1].data)
    (together,) = load_motion_text(request["file"], request["text"], robot()).steps
    body, legs = (repeat.steps for repeat in together.steps)
    assert [[type(step) for step in track] for track in (body, legs)] == [[PoseStep, PoseStep], [WaitStep, WalkStep]]
    assert (body[0].z, body[1].duration, legs[0].duration) == (pytest.approx(0.02), 2.5, 1.0)
    press(phone, "#dance-save")
    told.until(lambda: phone.js("hexapod.dances.saved.map(({name}) => name)") == ["Dance 1"])
    press(phone, "#step-remove")
    assert phone.js(KINDS)["body"] == ["pose", "wait"]
    press(phone, "#dance-new")
    assert phone.js(KINDS) == {"body": [], "legs": []}
    phone.click("[data-sheet=moves]")
    press(phone, "[data-act=dance_edit]")
    assert phone.js(KINDS) == {"body": ["pose", "pose"], "legs": ["wait", "walk"]}
    for play in ("press", "gamepad"):
        told.motions.clear()
        if play == "press":
            press(phone, "#dances [data-act=play]")
        else:
            pressed = ["true" if number in (4, 2) else "false" for number in range(17)]
            phone.js(
                "hexapod.pads.lastPressed = Array(17).fill(false); hexapod.pads.ready = true; "
                f"hexapod.pads.press([{', '.join(pressed)}])"
            )
        told.until(lambda: told.motions, what=f"the kept dance by {play}")
    for _ in range(2):
        press(phone, "#dances [data-act=record_delete]")
    told.until(lambda: phone.js("hexapod.dances.saved") == [])


def drag(page, view, start, way):
    """Drags on a view from a place [px in it] by a way [px]."""
    left, top, *_ = page.box("#space-canvas" if view == "space" else f"#view-{view}")
    x, y = left + start[0], top + start[1]
    page.mouse("Moved", (x, y), 0)
    page.mouse("Pressed", (x, y))
    page.mouse("Moved", (x + way[0] / 2, y + way[1] / 2))
    page.mouse("Moved", (x + way[0], y + way[1]))
    page.mouse("Released", (x + way[0], y + way[1]), 0)


def test_dragging_the_body_or_a_foot_on_a_picture_poses_the_robot_and_makes_steps(told, phone):
    feet = told.bench.listen(MultiDOFJointState, "foot_command")
    phone.click("[data-sheet=moves]")
    phone.click("#dance-open")
    phone.js("hexapod.dances.edit('', [])")
    assert phone.js("document.body.dataset.picture") == "views" and phone.js(HIDDEN_ROBOT) == []
    phone.js("hexapod.projections.places = {}; hexapod.projections.stale = true; 0")
    told.until(lambda: phone.js("Object.keys(hexapod.projections.places).length") >= 3, what="the views of this size")
    spot = "hexapod.projections.places.{0}({1})"
    box = "hexapod.projections.pose.box"
    middle = f"[0, 1, 2].map((k) => {box}.reduce((sum, corner) => sum + corner[k] / 8, 0))"
    phone.js("hexapod.body.neutral()")
    told.until(lambda: told.poses and told.poses[-1].position.z == 0, what="the neutral pose")
    told.velocities.clear()
    scale = phone.js("hexapod.projections.scale.side")
    drag(phone, "side", phone.js(spot.format("side", middle)), (8, -6))
    told.until(lambda: told.poses and told.poses[-1].position.z > 0, what="a pose")
    wanted = (pytest.approx(8 / scale, abs=2e-3), pytest.approx(6 / scale, abs=2e-3))
    assert (told.poses[-1].position.x, told.poses[-1].position.z) == wanted
    drag(phone, "top", phone.js(spot.format("top", f"{box}[7]")), (-12, 0))  # the left front corner, to the left
    told.until(lambda: told.poses[-1].orientation.z > 0.01, what="a turn to the left")
    foot = "hexapod.projections.pose.legs[0][3]"
    before = phone.js(foot)
    drag(phone, "top", phone.js(spot.format("top", foot)), (0, -10))
    told.until(lambda: feet, what="a foot")
    assert feet[-1].joint_names == ["left_front_foot"]
    scale = phone.js("hexapod.projections.scale.top")
    assert feet[-1].transforms[0].translation.x == pytest.approx(before[0] + 10 / scale, abs=2e-3)
    assert phone.js(KINDS) == {"body": ["pose"], "legs": ["wait", "leg"]}
    step = phone.js("hexapod.dances.step.leg")
    assert step["name"] == "left_front" and step["x"] > 0.005 and step["z"] > 0.02
    assert not told.velocities  # it does not steer
    phone.js("document.querySelector('#dance-body button').click()")  # the step without a lifted foot
    told.until(lambda: feet[-1].joint_names == [], what="the foot comes down")
    press(phone, "#dance-drag")
    assert phone.js("hexapod.dances.posing") is False
    phone.js("hexapod.dances.edit('', [])")
    told.tell()


EYE = """import('./controls/posing.js').then(({spaceEye}) => {
  const {resembled, screen, canvas} = hexapod.scene;
  globalThis.eye = spaceEye(resembled, screen, [canvas.clientWidth, canvas.clientHeight]); })"""
FOOT_OF_STEP = """(() => {
  const {dances, robot: {shape}} = hexapod, {name, x, out, z} = dances.step.leg;
  const leg = shape.legs.findIndex((each) => each.name === name), {foothold} = shape.legs[leg];
  return [foothold[0] + x, foothold[1] + out * dances.side(leg), z + shape.foot_radius];
})()"""


def test_dragging_in_3d_poses_what_is_grabbed_and_turns_the_camera_beside_the_robot(told, space):
    page = space
    page.js("document.querySelector('#dance-open').click(); hexapod.dances.edit('', []); hexapod.body.neutral(); 0")
    left = "[0, 0.85 * Math.max(...hexapod.projections.pose.box.map(([, y]) => y)), hexapod.projections.pose.box[0][2]]"
    for azimuth in (0.1, 3.0):  # from ahead, and from behind
        page.js(f"Object.assign(hexapod.scene.camera, {{azimuth: {azimuth}, elevation: 0.3}})")
        page.js("hexapod.scene.screen = null; hexapod.scene.stale = true; 0")
        told.until(lambda: page.js("hexapod.scene.screen !== null"), what="a frame")
        page.js(EYE)
        page.js("hexapod.dances.edit('', []); hexapod.body.neutral(); 0")
        drag(page, "space", page.js(f"eye.at({left})"), (0, -8))
        assert page.js("hexapod.dances.step.pose.roll_deg") > 1, "its left side goes up"
    page.js("hexapod.dances.edit('', []); hexapod.body.neutral(); 0")
    foot = page.js("eye.at(hexapod.projections.pose.legs[0][3])")
    drag(page, "space", foot, (14, -18))
    assert page.js(f"eye.at({FOOT_OF_STEP})") == pytest.approx([foot[0] + 14, foot[1] - 18], abs=1.0)
    azimuth = page.js("hexapod.scene.camera.azimuth")
    assert azimuth == 3
    drag(page, "space", (3, 3), (30, 0))
    assert page.js("hexapod.scene.camera.azimuth") < azimuth


def drums(path, seconds=8.0, period=0.5, first=0.2, rate=8000):
    """Writes music (.wav): a drum on every beat, with a quieter one between."""
    wave = np.zeros(int(seconds * rate))
    noise = np.random.default_rng(1).normal(0.0, 1.0, 400) * np.exp(-np.arange(400) / 120.0)
    for number, at in enumerate(np.arange(first, seconds - 0.1, period / 2)):
        wave[int(at * rate) :][:400] += (0.05 if number % 2 else 0.3) * noise
    data = (32767 * np.clip(wave, -1.0, 1.0)).astype("<i2").tobytes()
    head = struct.pack(
        "<4sI8sIHHIIHH4sI", b"RIFF", 36 + len(data), b"WAVEfmt ", 16, 1, 1, rate, 2 * rate, 2, 16, b"data", len(data)
    )
    path.write_bytes(head + data)


def test_a_dance_has_the_beats_of_a_file_of_this_device_and_its_steps_end_on_them(told, phone, tmp_path):
    drums(tmp_path / "song.wav")
    phone.click("[data-sheet=moves]")
    phone.click("#dance-open")
    phone.js("hexapod.dances.edit('', [])")
    for kind in ("pose", "wait", "pose"):
        press(phone, f"#add-{kind}")
    field = phone.call("Runtime.evaluate", expression="document.querySelector('#music-file')")["result"]["objectId"]
    phone.call("DOM.setFileInputFiles", files=[str(tmp_path / "song.wav")], objectId=field)
    told.until(lambda: phone.js("hexapod.dances.beats.length") >= 14, what="the beats")
    assert "120 a minute" in told.text("#music-note")
    assert phone.js(PAGE_SIZE) == [390, 844] and phone.js(SMALL) == []
    phone.choose("#dance-values input", "1.3")
    beats, ends = phone.js(
        "import('./panels/tracks.js').then(({ends}) => [hexapod.dances.beats, ends(hexapod.dances.steps)])"
    )
    off = [min(abs(end - beat) for beat in beats) for end in ends]
    assert max(off) < 1e-3, (ends, beats)
    assert ends == pytest.approx([1.0, 1.5, 3.0], abs=0.08)
    press(phone, "#dance-save")
    told.until(lambda: phone.js("hexapod.dances.saved.length") == 1)
    text = phone.js("hexapod.dances.saved[0].text")
    assert len(load_motion_text("dance.yaml", text, robot()).steps) == 3 and "beats: [0, 0.5" in text
    press(phone, "#dance-new")
    assert phone.js("hexapod.dances.beats") == []
    press(phone, "[data-act=dance_edit]")
    assert phone.js("hexapod.dances.beats.length") == 7  # within the dance
    for _ in range(2):
        press(phone, "#dances [data-act=record_delete]")
    told.until(lambda: phone.js("hexapod.dances.saved") == [])


def test_a_file_that_is_no_music_is_refused(told, phone, tmp_path):
    phone.js("hexapod.dances.open(new File(['no music'], 'text.mp3')).then(() => 0)")
    assert told.text("#music-note") == "This browser cannot play text.mp3"
    phone.js("hexapod.dances.edit('', [])")


def test_health_has_the_version_and_says_whether_a_newer_one_exists_when_it_is_asked(told, phone):
    phone.click("[data-sheet=health]")
    told.until(lambda: told.text("#version").startswith("Version 0."), what="the version")
    assert told.text("#updates-note") == ""
    press(phone, "#updates")
    answers = r"\S+ is the newest version\.|There is a newer version|It cannot be told: "
    told.until(lambda: re.match(answers, told.text("#updates-note")), 15.0, "an answer")


# --- settings ------------------------------------------------------------------------------------------------------


@pytest.fixture
def parameters(told):
    """The values of parameters that gait_planner was told, newest last; it reports its top speeds."""
    found = []

    def take(request, response):
        found.append({each.name: parameter_value_to_python(each.value) for each in request.parameters})
        speeds = [found[-1].get(f"{axis}.max_velocity", math.nan) for axis in ("linear.x", "linear.y", "angular.z")]
        values = {"lift scale": "1.00", "top speeds": " ".join(f"{speed:.3f}" for speed in speeds)}
        told.nodes["gait_planner"] = (0, "ok", values)
        response.results = [SetParametersResult(successful=True) for _ in request.parameters]
        return response

    service = told.bench.probe.create_service(SetParameters, "gait_planner/set_parameters", take)
    told.until(lambda: services_ready(told.node, "gait_planner/set_parameters"), what="the service")
    yield found
    told.bench.probe.destroy_service(service)


@pytest.fixture
def settings(phone):
    phone.click("[data-sheet=drive]")
    press(phone, "#settings-button")
    yield phone
    phone.js("hexapod.settings.change({dead_zone: 6, curve: 0, sounds: 0}); hexapod.settings.undone = []; 0")


def move(page, slider, value):
    found = f"document.querySelector('{slider}')"
    page.js(f"{found}.value = {value}; {found}.dispatchEvent(new Event('input')); 0")


def test_a_top_speed_holds_for_every_driver_and_is_undone(told, settings, parameters):
    assert settings.js(PAGE_SIZE) == [390, 844] and settings.js(SMALL) == []
    told.until(lambda: told.text("#top-vx-text") == "as fast as it can")
    move(settings, "#top-vx", 0.5)
    told.until(lambda: parameters, what="parameters of gait_planner")
    assert (parameters[0]["linear.x.max_velocity"], parameters[0]["linear.x.min_velocity"]) == (0.1, -0.1)
    assert math.isnan(parameters[0]["angular.z.max_velocity"])
    told.until(lambda: settings.js("hexapod.robot.status.top_speeds") == [0.1, None, None], what="as it reports")
    assert told.text("#top-vx-text") == "0.10 m/s" and told.text("#undo") == "Undo: top speeds"
    press(settings, "#undo")
    told.until(lambda: math.isnan(parameters[-1]["linear.x.max_velocity"]))
    told.until(lambda: told.text("#top-vx-text") == "as fast as it can")
    press(settings, "#undo")
    told.until(lambda: told.text("#hint") == "Nothing has been changed.")


def test_dead_zone_and_curve_shape_the_sticks_and_every_change_is_undone_in_turn(told, settings):
    def command(deflection):
        return settings.js(f"hexapod.shape({deflection})")

    straight = command(0.5)
    move(settings, "#dead_zone", 20)
    move(settings, "#curve", 100)
    assert (command(0.19), command(-0.2), command(1.0), command(-1.0)) == (0.0, 0.0, 1.0, -1.0)
    assert command(0.6) == pytest.approx(0.5**3) and command(-0.6) == -command(0.6)
    told.until(lambda: told.text("#curve-text") == "100 %")
    settings.js("hexapod.sheets.show('')")
    x, y = settings.spot("#left")
    settings.touch("Start", thumb=(x, y))
    settings.touch("Move", thumb=(x, y - 0.6 * 0.36 * settings.box("#left")[2]))
    told.until(lambda: told.velocity.vx == pytest.approx(0.5**3 * 0.5 * 0.2, rel=0.1), what="the command of the curve")
    settings.touch("End")
    told.rest()
    settings.js("hexapod.sheets.open('settings')")
    press(settings, "#undo")
    assert command(0.5) == straight


def test_a_gamepad_is_shown_as_it_is_read(told, settings):
    told.until(lambda: told.text("#pad-live") == "No gamepad: press one of its buttons.")
    pressed = [{"pressed": index in (4, 12), "value": 0.0} for index in range(17)]
    pad = {"id": "Pad X", "index": 0, "connected": True, "mapping": "standard", "axes": (0, -1, 0.5, 0)}
    pad["buttons"] = pressed
    settings.js(f"navigator.getGamepads = () => {json.dumps([pad])}; 0")
    told.until(lambda: told.text("#pad-live").startswith("Pad X"))
    _, mode, axes, buttons = told.text("#pad-live").split("\n")
    assert axes.split() == ["0.00", "-1.00", "0.47", "0.00"] and buttons == "L1 ▲" and "walk" in mode.lower()
    settings.js("navigator.getGamepads = () => []; 0")
    told.until(lambda: told.text("#pad-live").startswith("No gamepad"))
    settings.js("delete navigator.getGamepads; 0")
    told.rest()


def test_sounds_tell_of_stops_and_alarms_only_if_they_are_wanted(told, settings):
    settings.click("#stop")
    told.until(lambda: "stop" in told.called)
    assert settings.js("hexapod.played") == []
    press(settings, "#sounds")
    settings.click("#stop")
    told.until(lambda: settings.js("hexapod.played.at(-1)") == "stop")
    told.tell("fallen")
    told.until(lambda: settings.js("hexapod.played.at(-1)") == "warn", what="an alarm")


def test_a_profile_keeps_all_settings_on_the_robot_and_one_press_uses_it(told, settings, parameters):
    gaits = told.bench.listen(String, "gait")
    move(settings, "#curve", 50)
    settings.js("document.querySelector('#profile-name').value = 'Kind'")
    press(settings, "#profile-save")
    told.until(lambda: "Kind" in told.text("#profiles"))
    move(settings, "#curve", 0)
    assert settings.js("hexapod.feel.curve") == 0
    press(settings, "#profiles button")
    told.until(lambda: gaits and parameters, what="the settings of the robot")
    assert gaits[-1].data == "tripod" and settings.js("hexapod.feel.curve") == 50
    press(settings, "#undo")
    assert settings.js("hexapod.feel.curve") == 0
    kept = settings.js("JSON.stringify(hexapod.settings.profiles)")
    move(settings, "#curve", 80)
    settings.js("document.querySelector('#profile-name').value = 'Ki/nd'")  # the name of the same file
    press(settings, "#profile-save")
    told.until(lambda: settings.js("hexapod.settings.profiles[0].values.curve") == 80)
    assert told.text("#undo") == "Undo: profile Kind"
    press(settings, "#undo")
    told.until(lambda: settings.js("hexapod.settings.profiles[0].values.curve") == 50)
    for _ in range(2):
        press(settings, "#profiles [data-act=record_delete]")
    told.until(lambda: told.text("#profiles") == "")
    press(settings, "#undo")
    told.until(lambda: "Kind" in told.text("#profiles"))
    unsaved = "hexapod.settings.profiles.map(({ saved, ...rest }) => rest)"
    assert settings.js(unsaved) == [{k: v for k, v in each.items() if k != "saved"} for each in json.loads(kept)]
    settings.js("document.querySelector('#profile-name').value = 'New'")
    press(settings, "#profile-save")
    told.until(lambda: "New" in told.text("#profiles"))
    press(settings, "#undo")
    told.until(lambda: "New" not in told.text("#profiles"), what="a new profile is gone again")
    for _ in range(2):
        press(settings, "#profiles [data-act=record_delete]")
    told.until(lambda: told.text("#profiles") == "")


# --- life of the robot ---------------------------------------------------------------------------------------------


def test_the_computer_is_switched_off_after_a_question_and_once_the_robot_sits(told, phone):
    phone.click("[data-sheet=drive]")
    press(phone, "#shutdown")
    assert told.text("#arm-title") == "Switch the computer off?"
    phone.click("#arm-box button[value=no]")
    told.bench.spin(0.2)
    assert told.called == []
    press(phone, "#shutdown")
    phone.click("#arm-box button[value=yes]")
    told.until(lambda: told.called == ["sit"], what="the robot sits down")
    assert not told.off.exists()
    told.tell("sitting")
    told.until(told.off.exists, what="the computer is off")
    told.off.unlink()


def test_what_the_owner_does_not_allow_is_grey_and_a_node_that_cannot_be_restarted_is_named(told, phone):
    phone.js("""hexapod.connection.dispatchEvent(new CustomEvent("status",
      { detail: { ...hexapod.robot.status, shutdown: false, restartable: ["odometry", "recorder"] } })); 0""")
    press(phone, "#shutdown")
    assert told.text("#hint").startswith("Not allowed: the owner starts the robot with web_shutdown")
    phone.js("document.querySelector('#restart-node').value = 'recorder'; 0")
    press(phone, "#restart-one")
    assert told.text("#arm-title") == "Restart recorder?"
    phone.click("#arm-box button[value=yes]")
    told.until(lambda: told.text("#hint") == "recorder cannot be restarted from here.")
    told.until(lambda: told.page.js("document.querySelector('#restart-row').hidden"), what="the truth again")


KEPT = """caches.open("page").then((kept) => kept.keys()).then((keys) => {
  globalThis.kept = keys.map(({ url }) => new URL(url).pathname); }); 0"""


def test_the_files_of_the_page_are_kept_for_the_home_screen(told):
    page = told.open(390, 844)
    page.js("""navigator.serviceWorker.register("sw.js").then(() => navigator.serviceWorker.ready)
      .then(() => { globalThis.ready = true; }); 0""")
    told.until(lambda: page.js("globalThis.ready"), what="the service worker")
    page.call("Page.reload")
    told.until(lambda: page.js("globalThis.hexapod?.connection.state") == "open", 15.0, "the page again")
    told.until(
        lambda: page.js(KEPT) == 0 and {"/", "/main.js", "/texts/en.json"} <= set(page.js("globalThis.kept") or ())
    )
    page.js("navigator.serviceWorker.getRegistration().then((each) => each.unregister()); caches.delete('page'); 0")
    page.close()


def test_battery_and_gait_go_into_the_robot_file_or_the_reason_is_told(told, phone):
    phone.js("hexapod.sheets.show('settings')")
    phone.js("hexapod.settings.status({...hexapod.robot.status, battery_limits: [10.5, 9.9]})")
    assert phone.js("['battery-low', 'battery-end'].map((id) => document.getElementById(id).value)") == ["10.5", "9.9"]
    assert phone.js(PAGE_SIZE) == [390, 844] and phone.js(SMALL) == []
    press(phone, "#robot-save")
    told.until(lambda: "comes with the package" in told.text("#hint"), what="why it is not written")
    assert told.text("#undo") == "Undo: robot file"
