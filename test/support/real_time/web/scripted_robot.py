# SPDX-License-Identifier: Apache-2.0
"""A robot whose topics and services are scripted by the test, and its page in Chromium."""

import numpy as np
from chromium import Browser
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import Pose
from geometry_msgs.msg import Twist as TwistMessage
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, String
from std_srvs.srv import SetBool, Trigger
from support.page_messages import TOKEN
from support.phantomx import robot, standing_joints
from support.real_time.ros_bench import Bench, overrides, services_ready
from support.real_time.web.page_checks import PAUSE_S, STATE_RATE, draw_less
from visualization_msgs.msg import MarkerArray

from hexapod_control.core.kinematics.body_pose import NEUTRAL
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.kinematics.whole_body import joints_at_offset
from hexapod_control.nodes.web.web import WebNode
from hexapod_control.ros import messages
from hexapod_control.ros.qos import LATCHED
from hexapod_control.ros.row_messages import JointLayout

FINE = {
    "gait_planner": (0, "ok", {"pose": "requested", "lift scale": "1.00", "top speeds": "nan nan nan"}),
    "inverse_kinematics": (0, "ok", {}),
    "servo_driver": (0, "ok", {"torque": "True", "emergency stop": "no"}),
    "mujoco_sim": (0, "ok", {"torque": "True", "emergency stop": "no", "world": "flat"}),
}
PERIOD_S = 0.1
MOST = Twist(0.2, 0.1, 0.8)
MAX_STEP = 0.25  # [rad] of a joint per period: faster ones are rejected


def joints_at(height):
    """Joint angles (n, 3) [rad] with which the body is at a height [m] over the same footholds."""
    return np.array(joints_at_offset(robot(), [leg.foothold for leg in robot().legs], height - robot().walk.height))


class ScriptedRobot:
    """Publishes the state set by `tell`; `called` lists service calls, `velocities` received commands."""

    def __init__(self, folder):
        self.bench = bench = Bench()
        self.off = folder / "off"  # exists once the computer is switched off
        settings = {"port": 0, "token": TOKEN, "rate": STATE_RATE, "shutdown_command": f"touch '{self.off}'"}
        self.node = bench.add(WebNode(parameter_overrides=overrides(**settings)))
        latched = {"gait_state": String, "gaits": String, "gait_selected": String, "motions": String}
        self.latched = {topic: bench.publisher(kind, topic, LATCHED) for topic, kind in latched.items()}
        self.armed = bench.publisher(Bool, "armed", LATCHED)
        self.pose = bench.publisher(Pose, "body_pose_achieved", LATCHED)
        self.terrain = bench.publisher(MarkerArray, "terrain", LATCHED)
        self.joint_states = bench.publisher(JointState, "joint_states", matched=0)
        self.diagnostics = bench.publisher(DiagnosticArray, "/diagnostics", QoSProfile(depth=20))
        bench.publisher(TwistMessage, "velocity_limits", LATCHED).publish(messages.twist_message(MOST))
        self.velocities = bench.velocities()
        self.poses, self.motions = bench.listen(Pose, "body_pose"), bench.listen(String, "motion")
        self.called = []
        for name in ("stand", "sit", "recover", "stop", "arm", "reset_fault"):
            bench.probe.create_service(Trigger, name, self._taker(name, Trigger))
        bench.probe.create_service(SetBool, "estop", self._taker("estop", SetBool))
        bench.until(lambda: services_ready(self.node, "stand", "sit", "recover", "estop", "arm", "reset_fault"))
        self._layout = JointLayout(robot())
        self.joints = self.goal = standing_joints()
        self.nodes = dict(FINE)
        self.silent = False  # whether no joint angles are published
        self.latched["gaits"].publish(String(data="tripod,wave"))
        self.latched["gait_selected"].publish(String(data="tripod"))
        self.latched["motions"].publish(String(data="bow,wave"))
        bench.probe.create_timer(PERIOD_S, self._publish)
        self.browser = Browser(folder)
        self.url = f"http://127.0.0.1:{self.node.server.port}/#{TOKEN}"
        self.page = self.open(1280, 720)
        self.page.js("document.querySelector('#pictures [data-picture=space]').click()")  # however slow this machine is

    def _taker(self, name, kind):
        def take(request, response):
            self.called.append(f"{name} {request.data}" if kind is SetBool else name)
            response.success = True
            return response

        return take

    def _publish(self):
        stamp = self.bench.probe.get_clock().now().to_msg()
        self.joints = self.joints + np.clip(self.goal - self.joints, -MAX_STEP, MAX_STEP)
        if not self.silent:
            self.joint_states.publish(self._layout.message(self.joints, None, stamp))
        for name, (level, text, values) in self.nodes.items():
            self.diagnostics.publish(messages.diagnostics(f"/{name}", "", level, text, values, stamp))

    def tell(self, state="standing", armed=True, height=None, pose=NEUTRAL, **nodes):
        """Sets what the robot publishes; `nodes` are other (level, text, values) of a node, or None if it hangs."""
        self.latched["gait_state"].publish(String(data=state))
        self.armed.publish(Bool(data=armed))
        self.pose.publish(messages.body_pose_message(pose))
        self.goal = standing_joints() if height is None else joints_at(height)
        self.nodes = {name: each for name, each in {**FINE, **nodes}.items() if each is not None}
        self.called.clear()

    def open(self, width, height, touch=False, before=""):
        """Another page on the robot, in a browser context of its own; `before` is JavaScript that it runs first."""
        page = self.browser.page("about:blank", width, height, touch=touch)
        draw_less(page)
        if before:
            page.call("Page.addScriptToEvaluateOnNewDocument", source=before)
        page.call("Page.navigate", url=self.url)
        self.bench.until(lambda: page.js("globalThis.hexapod?.connection.state") == "open", 15.0, "an open page")
        return page

    def until(self, condition, seconds=8.0, what=""):
        """As Bench.until, but looks less often."""
        return self.bench.until(condition, seconds, what, PAUSE_S)

    def text(self, selector, page=None):
        return (page or self.page).js(f"document.querySelector('{selector}').textContent")

    def shows(self, sentence, tone, step, page=None):
        """Waits for a sentence, its colour and the next step."""

        def shown():
            tones = (page or self.page).js("document.querySelector('#sentence').dataset.tone")
            return self.text("#sentence-text", page), tones, self.text("#step", page)

        self.until(lambda: shown() == (sentence, tone, step), what=f"{sentence!r}, {tone}, {step}; is {shown()}")

    @property
    def velocity(self):
        """The newest command; at rest before the first one."""
        return messages.twist(self.velocities[-1]) if self.velocities else ZERO

    def rest(self):
        """Waits for a command of zero, and fails if another one follows."""
        self.until(lambda: self.velocity == ZERO, what="a velocity of zero")
        self.velocities.clear()
        self.bench.spin(0.2)
        assert self.velocity == ZERO

    def push_stick(self, page=None):
        """Pushes the left stick forward and releases it. Returns the hint that the page shows."""
        page = page or self.page
        page.js("document.querySelector('#hint').textContent = ''")
        x, y = page.spot("#left")
        page.mouse("Pressed", (x, y))
        page.mouse("Moved", (x, y - 40))
        self.bench.spin(0.2)
        page.mouse("Released", (x, y - 40), 0)
        return self.text("#hint", page)

    def close(self):
        self.browser.close()
        self.node.server.close()
        self.bench.close()
