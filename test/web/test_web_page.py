# SPDX-License-Identifier: Apache-2.0
"""The page in a real Chromium drives the simulated robot over the real graph; ground truth is compared."""

import dataclasses
import math

import pytest
from chromium import Browser
from nav_msgs.msg import Odometry
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from support.phantomx import robot
from support.real_time.ros_bench import Bench
from support.real_time.web.page_checks import PAUSE_S, STATE_RATE, draw_less

from hexapod_control.bringup import node_graph
from hexapod_control.bringup.process_supervisor import Supervisor
from hexapod_control.bringup.shared_process import merged
from hexapod_control.core.motions.motion_topics import MotionRequest
from hexapod_control.ros import messages

pytestmark = [pytest.mark.browser, pytest.mark.heavy, pytest.mark.physics]

HEIGHT = robot().walk.height
RATES = {"mujoco_sim": 50.0, "web": STATE_RATE}  # [Hz] the world is simulated at the lowest rate
SPY = """for (const name of ["drawLeg", "drawTraces", "drawSupport", "drawMass", "drawTurn"]) {
  const draw = hexapod.projections[name];
  globalThis.drawn = {};
  hexapod.projections[name] = function (view, ...rest) {
    const counts = (globalThis.drawn[view.name] ??= {});
    counts[name] = (counts[name] ?? 0) + 1;
    return draw.call(this, view, ...rest);
  };
}"""
STEP = "document.querySelector('#step').textContent"
WORLD = "hexapod.robot.status.world"
BOW = """name: bow
description: Bows once.
for_height: 0.1
steps:
  - pose: {pitch_deg: 8, duration: 0.6}
  - pose: {duration: 0.6}
"""
PLAYING = """(() => {
  const [box, name, bar] = ["", "-name", "-bar"].map((part) => document.querySelector(`#playing${part}`));
  return box.hidden ? null : [name.textContent, bar.value];
})()"""
SAID = [f"document.querySelector('{part}').textContent" for part in ("#sentence", "#hint", "#step", "#log")]
SHOW_3D = "document.querySelector('#space-canvas').style.display = '{}'; 0".format


def at_low_rate(spec):
    """The spec of a node with the rate of RATES."""
    rate = {"rate": RATES[spec.executable]} if spec.executable in RATES else {}
    return dataclasses.replace(spec, parameters={**spec.parameters, **rate})


class Stage:
    """The graph, the browser and the ground truth."""

    def __init__(self, folder):
        self.lines = []
        self.bench = Bench()
        self.truth, self.joints = [], []
        # One process needs less than half of the processor time of five. The robot stands up while Chromium starts.
        specs = [at_low_rate(spec) for spec in node_graph.specs("sim", {"web_port": 0, "stand_on_start": True})]
        self.supervisor = Supervisor((merged(specs),), self.lines.append)
        self.supervisor.__enter__()
        self.bench.probe.create_subscription(
            Odometry, "simulator/floating_base_state", lambda m: self.truth.append(m), QoSProfile(depth=500)
        )
        self.bench.probe.create_subscription(JointState, "joint_states", lambda m: self.joints.append(m), 5)
        self.until(lambda: any("the page: " in line for line in self.lines), 20.0)
        self.url = next(line for line in self.lines if "the page: " in line).split("the page: ")[1]
        self.browser = Browser(folder)
        self.page = self.browser.page(self.url)
        draw_less(self.page)
        self.until(lambda: self.page.js("globalThis.hexapod?.connection.state") == "open", 15.0)
        self.until(lambda: self.page.js("hexapod.projections.frames") > 2, 15.0)
        self.page.js(SHOW_3D("none"))
        self.until(lambda: self.truth, 10.0)

    def close(self):
        self.browser.close()
        self.supervisor.stop()
        self.bench.close()

    def until(self, condition, seconds=8.0, what=""):
        """As Bench.until, but looks less often; a failure shows the output of the nodes and of the page."""
        try:
            return self.bench.until(condition, seconds, what, PAUSE_S)
        except AssertionError:
            print(*self.lines, *map(self.page.js, SAID), sep="\n")
            raise

    @property
    def pose(self):
        place = self.truth[-1].pose.pose
        roll, pitch, yaw = messages.roll_pitch_yaw(place.orientation)
        return place.position.x, place.position.y, place.position.z, roll, pitch, yaw

    @property
    def speed(self):
        """Speed of the body over the last quarter of a second [m/s], [rad/s]; the truth comes at half of the rate."""
        new, old = self.truth[-1], self.truth[-7]
        seconds = (messages.nanoseconds(new.header.stamp) - messages.nanoseconds(old.header.stamp)) * 1e-9
        move = [getattr(new.pose.pose.position, k) - getattr(old.pose.pose.position, k) for k in "xy"]
        turn = [messages.roll_pitch_yaw(m.pose.pose.orientation)[2] for m in (old, new)]
        return math.hypot(*move) / seconds, math.remainder(turn[1] - turn[0], math.tau) / seconds

    def moved(self, since):
        """Displacement forward and to the left [m] and turn [rad] since an earlier pose."""
        x, y, *_, yaw = self.pose
        dx, dy, c, s = x - since[0], y - since[1], math.cos(since[5]), math.sin(since[5])
        return c * dx + s * dy, -s * dx + c * dy, math.remainder(yaw - since[5], math.tau)

    def state(self):
        return self.page.js("hexapod.robot.state")

    def stand(self):
        """Stands up from any posture, also after a reset of the world: the robot may be lifted, or have a stuck leg."""
        at_rest = ("sitting", "standing", "moving", "carried", "fallen")
        self.until(lambda: self.state() in at_rest, 20.0, "a robot at rest")
        if self.state() == "sitting":
            self.until(lambda: self.page.js(STEP) == "Stand", what="all nodes have reported")
            self.page.click("#step")
        elif self.state() == "moving":
            assert self.bench.call(Trigger, "stand").success
        elif self.state() in ("carried", "fallen"):
            self.until(lambda: self.bench.call(Trigger, "recover").success, 20.0, "a recovery on the ground")
        self.until(lambda: self.state() == "standing", 20.0, "standing up")

    def rest(self, seconds=2.5):
        self.until(lambda: self.speed[0] < 0.005 and abs(self.speed[1]) < 0.03, seconds, "the robot stands still")


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    stage = Stage(tmp_path_factory.mktemp("chromium"))
    yield stage
    stage.close()


@pytest.fixture
def page(stage):
    stage.stand()
    yield stage.page
    assert stage.page.errors == []


@pytest.fixture
def view_3d(page):
    """Shows the 3D view, which without a GPU takes a third of the processor time of the page."""
    page.js(SHOW_3D(""))
    page.js("document.querySelector('#pictures [data-picture=space]').click()")  # however slow this machine is
    yield
    page.js(SHOW_3D("none"))


def test_dragging_on_the_top_view_walks_until_the_button_is_released(stage, page):
    """Article A7: the mouse over the top view steers."""
    since, place = stage.pose, page.spot("#view-top", 0.5, 0.12)
    page.mouse("Pressed", place)
    stage.until(lambda: stage.moved(since)[0] > 0.05)
    page.mouse("Released", place, 0)
    stage.rest()
    assert abs(stage.moved(since)[1]) < 0.03


def test_dragging_aside_turns_and_leaving_the_view_ends_it(stage, page):
    """Article A7: leaving the view returns the turn to zero."""
    since, (x, y) = stage.pose, page.spot("#view-top", 0.2, 0.5)
    page.mouse("Pressed", (x, y))
    page.mouse("Moved", (x + 1, y))
    stage.until(lambda: stage.moved(since)[2] > 0.1)
    assert page.js("hexapod.projections.pose.commanded[2]") > 0.0
    page.mouse("Moved", page.spot("#stop", 0.5, 0.2))
    stage.rest()
    page.mouse("Released", page.spot("#stop", 0.5, 0.2), 0)


def test_the_views_draw_legs_traces_support_and_turn_center(stage, page, view_3d):
    """Article A7: four views, every leg, traces of 50 foot positions, the turn center as a point."""
    page.js(SPY)
    place = page.spot("#view-top", 0.35, 0.15)
    page.mouse("Pressed", place)
    stage.until(lambda: page.js("hexapod.robot.state") == "walking")
    stage.until(lambda: all(page.js("hexapod.projections.traces.map((trace) => trace.length === 50)")))
    assert page.js("hexapod.projections.pose.legs.every((points) => points.length === 4)")
    stage.until(lambda: 0 < page.js("hexapod.projections.pose.planted.filter(Boolean).length") < 6)
    stage.until(lambda: set(page.js("globalThis.drawn")) == {"front", "side", "top"}, what="a frame of all views")
    drawn = page.js("globalThis.drawn")
    assert all(drawn[name]["drawLeg"] >= 6 and drawn[name]["drawTraces"] >= 1 for name in drawn)
    assert drawn["top"]["drawSupport"] >= 1
    x, y = page.js("(([vx, vy, wz]) => [-vy / wz, vx / wz])(hexapod.projections.pose.commanded)")
    assert (x, y) == (pytest.approx(0.0, abs=1e-6), pytest.approx(abs(y)))
    page.mouse("Released", place, 0)
    stage.rest()


def test_unknown_values_are_not_drawn_and_cause_no_error(stage, page):
    page.js("""(async () => {
      const {interpolate: between} = await import("./drawing/leg_geometry.js");
      const known = {joints: [0], body: [0, 0, 0], mass: [0, 0, 0], odom: [0, 0, 3]};
      const unknown = {...known, odom: null, joints: null};
      for (const pair of [[unknown, known], [known, unknown], [unknown, unknown]]) between(...pair, 0.5);
      globalThis.turned = between(known, {...known, odom: [0, 0, -3]}, 0.5).odom[2];
    })()""")
    assert page.js("turned") == pytest.approx(math.pi, abs=1e-6)


def test_dragging_on_the_front_view_sets_the_height_until_the_view_is_left(stage, page):
    """Article A7: the mouse over the front view sets the height, leaving it returns the height to zero."""
    x, y = page.spot("#view-front", 0.5, 0.5)
    page.mouse("Moved", (x, y), 0)
    page.mouse("Pressed", (x, y))
    page.mouse("Moved", (x, y - 12))
    stage.until(lambda: stage.pose[2] > HEIGHT + 0.008)
    page.mouse("Released", (x, y - 12), 0)
    page.mouse("Moved", (x, y - 20), 0)
    page.mouse("Moved", page.spot("#view-side"), 0)
    stage.until(lambda: abs(stage.pose[2] - HEIGHT) < 0.004)


def test_two_thumbs_on_two_sticks_walk_an_arc(stage, page):
    """Article C8: a person drives with a phone."""
    page.resize(360, 740, touch=True)
    since = stage.pose
    left, right = page.spot("#left"), page.spot("#right")
    page.touch("Start", left=left)
    page.touch("Start", left=left, right=right)
    page.touch("Move", left=(left[0], left[1] - 40), right=(right[0] - 40, right[1]))
    stage.until(lambda: stage.moved(since)[0] > 0.04 and stage.moved(since)[2] > 0.08)
    page.touch("End")
    stage.rest()
    page.resize(1280, 800)


def test_the_list_changes_the_gait_and_a_key_does_too(stage, page):
    page.choose("#gait", "wave")
    stage.until(lambda: page.js("hexapod.robot.gait") == "wave")
    page.press("1", "Digit1")
    stage.until(lambda: page.js("hexapod.robot.gait") == "tripod")


def test_a_bar_shows_how_far_a_motion_has_come(stage, page):
    shown, pitches = [], []

    def look():
        shown.append(page.js(PLAYING))
        pitches.append(stage.pose[4])
        return shown[-1]

    motion = String(data=MotionRequest(file="bow.yaml", text=BOW).data)
    stage.bench.publisher(String, "motion").publish(motion)
    stage.until(lambda: "done" in str(look()), 25.0, "the end of the motion")
    values = [found[1] for found in shown if found and found[0] == "Bow · pose"]
    assert values == sorted(values)
    assert values[-1] > 80
    assert max(pitches) > math.radians(5), "the simulated robot bows"
    stage.until(lambda: look() is None)
    stage.until(lambda: abs(stage.pose[4]) < 0.02)


def test_a_button_plays_a_motion_another_cancels_it_and_a_refusal_is_shown(stage, page):
    shown = []

    def look():
        shown.append((page.js(PLAYING) or [""])[0])
        return shown[-1]

    page.js("document.querySelector('[data-motion=wave]').click()")
    stage.until(lambda: look() == "Wave · leg", 12.0)
    assert {"Wave · rehearse", "Wave · pose"} <= set(shown)
    page.click("#cancel")
    stage.until(lambda: page.js(PLAYING) is None)
    stage.until(lambda: stage.state() == "standing")
    page.js("hexapod.connection.send('play', {name: 'moonwalk'})")
    text = "document.querySelector('#hint').textContent"
    stage.until(lambda: page.js(text).startswith("motion: 'moonwalk' is not a known motion"), what="a refusal")


def test_the_stability_margin_is_a_number_with_a_bar_that_is_red_when_it_is_low(stage, page):
    stage.until(lambda: page.js("document.querySelector('#margin').dataset.tone") == "good")
    text, margin = page.js("[document.querySelector('#margin b').textContent, hexapod.projections.pose.margin]")
    assert int(text.removeprefix("margin ").removesuffix(" mm")) == pytest.approx(1000 * margin, abs=0.51)
    # The next message of the robot shows the truth again: the low number is looked at before one can come.
    color, bad, width = page.js("""(() => {
      hexapod.motionPanel.showMargin(12);
      const bar = document.querySelector("#margin i");
      const found = document.createElement("i");
      found.style.color = "var(--bad)";
      document.body.append(found);
      const bad = getComputedStyle(found).color;
      found.remove();
      return [getComputedStyle(bar).backgroundColor, bad, bar.style.width];
    })()""")
    assert color == bad
    assert width == "10%"
    stage.until(lambda: page.js("document.querySelector('#margin').dataset.tone") == "good")


def test_height_buttons_and_pose_sliders_move_the_body(stage, page):
    for _ in range(3):
        page.js("document.querySelector('#raise').click()")
    stage.until(lambda: stage.pose[2] > HEIGHT + 0.01)
    page.choose("#pose-roll", "8")
    stage.until(lambda: stage.pose[3] > math.radians(5))
    page.press("c")
    stage.until(lambda: abs(stage.pose[2] - HEIGHT) < 0.004 and abs(stage.pose[3]) < 0.02)


def test_a_walk_on_the_map_that_another_program_stops_says_so_and_by_whom(stage, page):
    page.js("hexapod.map.mark([[5.0, 0.0]]); document.querySelector('#goal-walk').click()")
    stage.until(lambda: stage.speed[0] > 0.02, what="a walk")
    assert stage.bench.call(Trigger, "stop").success
    said = f"{stage.bench.probe.get_name()} ended the walk to ⚑"
    ended = "document.querySelector('#goal-text').textContent"
    stage.until(lambda: page.js(ended).startswith(said), 2.0, f"{said}; {page.js(ended)}")
    stage.rest()


def test_a_page_that_is_frozen_in_the_middle_of_a_drag_is_a_stop(stage, page):
    since, place = stage.pose, page.spot("#view-top", 0.5, 0.1)
    page.mouse("Pressed", place)
    stage.until(lambda: stage.moved(since)[0] > 0.03)
    page.call("Debugger.enable")
    page.call("Debugger.pause")
    stage.rest(2.5)
    page.call("Debugger.disable")
    stage.until(lambda: page.js("hexapod.connection.state") == "open")
    page.mouse("Released", place, 0)


def test_a_push_moves_the_robot_and_the_world_can_be_changed_and_reset(stage, page):
    top = len(stage.truth)
    page.choose("#force", "60")
    page.js("document.querySelector('[data-push=\"90\"]').click()")
    stage.until(lambda: any(abs(message.twist.twist.linear.y) > 0.02 for message in stage.truth[top:]))
    page.choose("#friction", "0.3")
    page.choose("#payload", "1")
    stage.until(lambda: page.js(WORLD) == {"world": "flat", "friction": "0.3", "payload": "1", "reality": "ideal"})
    assert abs(stage.pose[2] - HEIGHT) < 0.02
    page.choose("#friction", "0.8")
    page.choose("#payload", "0")
    page.choose("#world", "bumps")
    page.choose("#reality", "typical")
    changed = {"world": "bumps", "friction": "0.8", "payload": "0", "reality": "typical"}
    stage.until(lambda: page.js(WORLD) == changed)
    page.choose("#world", "flat")
    page.choose("#reality", "ideal")
    stage.until(lambda: page.js(WORLD)["world"] == "flat" and page.js(WORLD)["reality"] == "ideal")
    page.js("document.querySelector('#reset').click()")
    stage.until(lambda: math.hypot(*stage.pose[:2]) < 0.02)
    stage.until(lambda: abs(stage.pose[2] - HEIGHT) < 0.01)


def test_the_emergency_stop_cuts_the_torque_until_it_is_switched_on_again(stage, page):
    page.click("#estop")
    stage.until(lambda: not any(stage.joints[-1].effort), what="no torque")
    stage.until(lambda: stage.pose[2] < 0.5 * HEIGHT, 20.0, "the body on the ground")
    stage.until(lambda: page.js(STEP) == "Release E-STOP …")
    assert page.js("document.querySelector('#sentence').innerText").startswith("Torque off: E-STOP by ")
    for _ in range(3):  # neither a stick nor a motion has an effect
        page.press("i")
    page.js("document.querySelector('[data-motion=wave]').click()")
    assert "Release E-STOP" in page.js("document.querySelector('#hint').textContent")
    page.click("#step")
    page.click("#arm-box button[value=yes]")
    stage.until(lambda: any(stage.joints[-1].effort), what="torque")
    stage.until(lambda: page.js(STEP) == "Stand")
    stage.rest()
    assert stage.pose[2] < 0.5 * HEIGHT  # it stays as it lies
    page.click("#step")
    stage.until(lambda: abs(stage.pose[2] - HEIGHT) < 0.01, 12.0, "standing up")


def test_the_3d_view_draws_the_urdf(stage, page, view_3d):
    stage.until(lambda: page.js("hexapod.scene?.frames ?? 0") > 2, 10.0)
    link = "(l) => l.visuals.length + l.children.reduce((sum, j) => sum + f(j.link), 0)"
    assert page.js(f"(() => {{ const f = {link}; return f(hexapod.scene.root); }})()") >= 18


def test_an_invitation_is_shown_as_a_code(stage, page):
    page.click("#share")
    stage.until(lambda: page.js("document.querySelector('#share-box').open"))
    assert page.js("document.querySelector('#share-urls').textContent") == stage.url
    page.js("document.querySelector('#share-box').close()")


def test_sitting_down_works(stage, page):  # the last test: the others need a standing robot
    page.press("g")
    stage.until(lambda: stage.state() == "sitting", 10.0)
    stage.until(lambda: stage.pose[2] < HEIGHT - 0.02, what="a low body")
    assert not [line for line in stage.lines if "Traceback" in line]
