# SPDX-License-Identifier: Apache-2.0
"""What the page shows of messages, at times that the test sets: how long they count, and what follows from them."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.serialization import serialize_message
from sensor_msgs.msg import BatteryState, CompressedImage, Imu
from std_msgs.msg import Bool, Float64, String
from support.kits.plain_node import Moment, PlainNode
from support.phantomx import lying, robot, standing_joints
from visualization_msgs.msg import Marker, MarkerArray

from hexapod_control.core.kinematics.body_pose import BodyPose, Placement
from hexapod_control.core.kinematics.leg_kinematics import forward
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.robot import Camera
from hexapod_control.nodes.web import camera_feed, robot_feed
from hexapod_control.nodes.web.camera_feed import CameraFeed
from hexapod_control.nodes.web.robot_feed import (
    DIAGNOSTICS_DEPTH,
    ESTOP_REPORT_S,
    LATCHED_TEXTS,
    MAX_AGE_S,
    MAX_BATTERY_AGE_S,
    MAX_SILENCE_S,
    MAX_STALL_S,
    RobotFeed,
)
from hexapod_control.ros import messages
from hexapod_control.ros.message_types import TFMessage
from hexapod_control.ros.row_messages import FootLayout, JointLayout
from hexapod_control.ros.terrain_messages import Lens, camera_info_message

STAMP = messages.time(7_000_000_000)
DRAWN = ("joint_states", "foot_targets", "foot_states", "odom", "simulator/floating_base_state", "cmd_vel")
DRAWN += ("stability_margin", "joint_targets", "imu/data")
ZEROS = np.zeros((6, 3))


class Feed:
    """The feed of a page on a node without middleware."""

    def __init__(self, monkeypatch):
        self.time, self.refused = Moment(), []
        monkeypatch.setattr(robot_feed, "time", self.time)
        self.node = PlainNode(moment=self.time)
        self.feed = RobotFeed(self.node, robot(), False, lambda *what: self.refused.append(what))

    def hear(self, topic, message):
        """Hands over a message; those that are drawn are raw."""
        raw = self.node.options[topic].get("raw", False)
        self.node.deliver(topic, serialize_message(message) if raw else message)

    def odometry(self, topic, pose, velocity=(0.0, 0.0, 0.0)):
        covariance, (vx, vy, wz) = np.zeros((6, 6)), velocity
        speeds = ((vx, vy, 0.0), (0.0, 0.0, wz))
        self.hear(topic, messages.odometry_message(pose, speeds, (covariance, covariance), ("odom", "base"), STAMP))

    def stand(self):
        self.hear("joint_states", JointLayout(robot()).message(standing_joints(), None, STAMP))

    def loads(self, topic, loaded):
        self.hear(topic, FootLayout(robot()).message(ZEROS, ZEROS, 5.25 * np.array(loaded), STAMP))

    def diagnose(self, *nodes, **values):
        for name in nodes:
            level, text = (2, "it is hot") if values.get("hot") == name else (0, "ok")
            shown = {key: value for key, value in values.items() if key != "hot"}
            status = messages.diagnostics(f"/one/{name}", "", level, text, shown, STAMP)
            self.hear("/diagnostics", DiagnosticArray(status=status.status))

    @property
    def says(self):
        self.feed.evaluate_diagnostics()
        now = self.feed.state()["now"]
        return now["say"], now["values"]


@pytest.fixture
def page(monkeypatch):
    return Feed(monkeypatch)


@pytest.fixture
def drawn(page):
    page.feed.watch(wanted=True)
    return page


def test_topics_that_are_only_drawn_are_subscribed_to_while_a_page_is_open_and_the_others_always(page):
    always = {
        "battery_state",
        *LATCHED_TEXTS,
        "motion_state",
        "velocity_limits",
        "body_pose_achieved",
        "armed",
        "terrain",
        "stopped_by",
        "assistant_request",
    }
    always |= {"/diagnostics"}
    assert set(page.node.callbacks) == always and DIAGNOSTICS_DEPTH == 20
    page.feed.watch(wanted=False)
    for _ in range(2):
        page.feed.watch(wanted=True)
        assert set(page.node.callbacks) == always | set(DRAWN)
    page.stand()
    assert not page.feed.state()["silent"]
    page.feed.watch(wanted=False)
    assert set(page.node.callbacks) == always
    page.feed.watch(wanted=True)
    assert page.feed.state()["silent"]  # what was heard before is forgotten


@pytest.mark.parametrize(
    ("topic", "field", "most"),
    [
        ("foot_targets", "planted", MAX_AGE_S),
        ("foot_states", "forces", MAX_AGE_S),
        ("cmd_vel", "commanded", MAX_AGE_S),
        ("stability_margin", "margin", MAX_AGE_S),
        ("simulator/floating_base_state", "truth", MAX_AGE_S),
        ("joint_states", "silent", MAX_SILENCE_S),
    ],
)
def test_a_value_is_shown_as_long_as_it_is_recent(drawn, topic, field, most):
    assert (MAX_AGE_S, MAX_SILENCE_S) == (0.3, 1.0)
    drawn.stand()
    drawn.time.now += most + 0.1
    drawn.stand() if topic != "joint_states" else None
    absent = drawn.feed.state()[field]
    if topic == "cmd_vel":
        drawn.hear(topic, messages.twist_message(Twist(0.1, -0.05, 0.4)))
    elif topic == "stability_margin":
        drawn.hear(topic, Float64(data=0.0312))
    elif topic == "joint_states":
        drawn.stand()
    elif topic.startswith("foot"):
        drawn.loads(topic, [1, 1, 0, 1, 1, 0])
    else:
        drawn.odometry(topic, BodyPose(x=1.23456, y=-2.0, yaw=0.5))
    expected = {
        "planted": [1, 1, 0, 1, 1, 0],
        "forces": [5.2, 5.2, 0.0, 5.2, 5.2, 0.0],
        "commanded": [0.1, -0.05, 0.4],
        "margin": 0.0312,
        "truth": [1.2346, -2.0, 0.5],
        "silent": False,
    }[field]
    assert drawn.feed.state()[field] == expected
    drawn.time.now += most - 0.01
    assert drawn.feed.state()[field] == expected
    drawn.time.now += 0.02
    assert drawn.feed.state()[field] == absent != expected


def test_the_last_place_and_the_last_joints_stay_in_the_picture(drawn):
    drawn.stand()
    drawn.odometry("odom", BodyPose(x=1.0, y=-2.0, yaw=0.5), (0.1, -0.05, 0.4))
    for _ in range(2):
        state = drawn.feed.state()
        assert (state["odom"], state["achieved"]) == ([1.0, -2.0, 0.5], [0.1, -0.05, 0.4])
        assert state["joints"] == pytest.approx(standing_joints().ravel().tolist(), abs=1e-4)
        drawn.time.now += 100.0


def test_a_message_that_cannot_be_used_is_refused_once_and_shows_nothing(drawn):
    drawn.hear("stability_margin", Float64(data=0.03))
    assert drawn.feed.state()["margin"] == 0.03
    drawn.hear("odom", messages.odometry_message(
        BodyPose(x=1.0), ((0.0,) * 3,) * 2, (np.zeros((6, 6)),) * 2, ("odom", "base"), STAMP
    ))  # fmt: skip
    assert drawn.feed.state()["odom"] == [1.0, 0.0, 0.0]
    broken = JointLayout(robot()).message(np.full((6, 3), 100.0), None, STAMP)
    drawn.hear("joint_states", broken)
    for _ in range(2):
        assert drawn.feed.state()["joints"] is None
    assert len(drawn.node.reports["refused joint_states"]) == 1


def test_inverse_kinematics_that_converts_nothing_while_it_gets_targets_is_named_within_a_second(drawn):
    hears = ("gait_planner", "inverse_kinematics", "servo_driver")
    for _ in range(3):
        drawn.diagnose(*hears, torque="True")
        drawn.stand()
        drawn.loads("foot_targets", [1] * 6)
        drawn.hear("joint_targets", JointLayout(robot()).message(standing_joints(), None, STAMP))
        assert drawn.says[0] != "stale"
        drawn.time.now += MAX_STALL_S + 0.1  # all are silent: no one is named yet
        assert drawn.says[0] != "stale"
        drawn.loads("foot_targets", [1] * 6)
        drawn.stand()
        assert drawn.says == ("stale", {"node": "inverse_kinematics", "age": 1})
        assert drawn.feed.hung == "inverse_kinematics"


@pytest.mark.parametrize("roll", [-2.4, 0.0, 1.5, math.pi - 0.1])
def test_a_fallen_robot_is_drawn_as_the_imu_measures_it_with_its_lowest_point_on_the_ground(drawn, roll):
    drawn.stand()
    drawn.hear("gait_state", String(data="fallen"))
    upright = drawn.feed.state()["body"]
    assert upright[1] == pytest.approx(0.0, abs=0.01)  # as the feet tell, without an IMU
    drawn.hear("imu/data", Imu(orientation=messages.quaternion(roll, 0.2, 0.0)))
    height, *tilt = drawn.feed.state()["body"]
    assert tilt == pytest.approx([roll, 0.2], abs=1e-3)
    pose = Placement(BodyPose(roll=roll, pitch=0.2), height)
    feet = [pose.to_footprint(*foot)[2] - robot().foot_radius for foot in forward(robot(), standing_joints())]
    x, y, z = (size / 2.0 for size in robot().body.size)
    corners = [(a * x, b * y, c * z) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)]
    middle = np.array(robot().body.center)
    lowest = min(*feet, *(pose.to_footprint(*(middle + corner))[2] for corner in corners))
    assert lowest == pytest.approx(0.0, abs=2e-4)
    drawn.hear("gait_state", String(data="standing"))
    assert drawn.feed.state()["body"] == upright


def test_a_low_battery_is_the_sentence_of_a_standing_robot(drawn):
    drawn.diagnose(
        "gait_planner", "inverse_kinematics", "servo_driver", torque="True", **{"battery limits [V]": "10.5 9.9"}
    )
    drawn.hear("gait_state", String(data="standing"))
    drawn.stand()
    drawn.hear("battery_state", BatteryState(voltage=10.9))
    assert drawn.says[0] == "standing"
    drawn.hear("battery_state", BatteryState(voltage=10.2))
    assert drawn.says == ("battery_low", {"volts": 10.2})


def test_the_battery_is_shown_for_five_seconds(page):
    page.hear("battery_state", BatteryState(voltage=11.5, percentage=0.75))
    page.time.now += MAX_BATTERY_AGE_S - 0.1
    assert page.feed.status()["battery"] == {"volts": 11.5, "share": 0.75} and MAX_BATTERY_AGE_S == 5.0
    page.time.now += 0.2
    assert page.feed.status()["battery"] is None


def test_the_status_has_the_latched_texts_limits_pose_and_whether_there_is_a_simulator(page):
    texts = {"gait_state": "walking", "gait_active": "wave", "gait_selected": "auto", "gaits": "wave,,auto"}
    texts |= {"lost_legs": "left_front", "motions": "bow,wave", "command_source": "tablet"}
    for topic, text in texts.items():
        page.hear(topic, String(data=text))
    page.hear("velocity_limits", messages.twist_message(Twist(0.2, 0.1, 1 / 3)))
    page.hear("body_pose_achieved", messages.body_pose_message(BodyPose(z=0.012345, roll=0.1)))
    page.node.publishers_of["simulator/floating_base_state"] = [1]
    status = page.feed.status()
    expected = {
        "state": "walking",
        "gait": "wave",
        "selected_gait": "auto",
        "gaits": ["wave", "auto"],
        "lost_legs": ["left_front"],
        "motions": ["bow", "wave"],
        "source": "tablet",
        "limits": [0.2, 0.1, 0.3333],
        "pose": [0.0, 0.0, 0.0123, 0.1, 0.0, 0.0],
        "simulated": True,
    }
    assert {name: status[name] for name in expected} == expected
    assert page.feed.limits == (0.2, 0.1, pytest.approx(1 / 3)) and page.feed.motions == ["bow", "wave"]
    page.node.publishers_of.clear()
    assert page.feed.status()["simulated"] is False


def test_a_motion_is_shown_and_a_refusal_sent_once(page):
    page.hear("motion_state", String(data="bow pose 40"))
    assert page.feed.state()["motion"] == {"name": "bow", "phase": "pose", "percent": 40} and not page.refused
    page.hear("motion_state", String(data="wave refused 0 too far"))
    assert page.refused == [("wave", "too far")]
    for own in ("walk tripod 30", "none standing 0"):
        page.hear("motion_state", String(data=own))
        assert page.feed.state()["motion"] is None
    assert len(page.refused) == 1


def test_the_terrain_is_sent_when_it_changes(page):
    told = []
    page.feed.on_terrain = lambda: told.append(len(page.feed.terrain))
    for count in (2, 0):
        page.hear("terrain", MarkerArray(markers=[Marker(type=Marker.CUBE)] * count))
    assert told == [2, 0]


# --- the condition --------------------------------------------------------------------------------------------

NODES = ("gait_planner", "inverse_kinematics", "servo_driver")


@pytest.fixture
def healthy(drawn):
    """A robot that stands and whose nodes all report OK."""
    drawn.diagnose(*NODES, torque="True")
    drawn.hear("gait_state", String(data="standing"))
    drawn.stand()
    assert drawn.says == ("standing", {})
    return drawn


def test_torque_is_off_at_once_and_an_emergency_stop_known_before_the_driver_reports_it(healthy):
    healthy.hear("armed", Bool(data=False))
    assert healthy.says == ("torque_went", {})  # no one is told to press Switch on before the driver has said why
    healthy.feed.note_estop("Ada")
    assert healthy.says == ("estop_by", {"by": "Ada", "age": 0})
    healthy.time.now += ESTOP_REPORT_S - 0.1
    healthy.diagnose(*NODES)
    healthy.stand()
    assert healthy.says == ("estop_by", {"by": "Ada", "age": 2}) and ESTOP_REPORT_S == 2.0
    healthy.time.now += 0.2
    healthy.stand()
    assert healthy.says == ("torque_off", {})
    healthy.diagnose("servo_driver", **{"torque": "False", "emergency stop": "latched"})
    healthy.time.now += 0.4
    assert healthy.says == ("estop_by", {"by": "Ada", "age": 2})
    healthy.diagnose("servo_driver", torque="True")
    healthy.hear("armed", Bool(data=True))
    assert healthy.says == ("standing", {})


def test_an_emergency_stop_before_the_torque_goes_off_is_not_shown_yet(healthy):
    healthy.feed.note_estop("Ada")
    assert healthy.says == ("standing", {})


def test_motion_speed_and_turning_are_shown(healthy):
    healthy.hear("motion_state", String(data="bow pose 40"))
    assert healthy.says == ("motion", {"motion": "bow"})
    healthy.hear("motion_state", String(data="bow done 100"))
    assert healthy.says == ("standing", {})
    healthy.hear("gait_state", String(data="walking"))
    healthy.odometry("odom", BodyPose(), (0.03, 0.04, 9.0))
    assert healthy.says == ("walking_at", {"speed": 0.05})
    healthy.hear("cmd_vel", messages.twist_message(Twist(0.0, 0.0, 0.3)))
    assert healthy.says == ("turning", {})
    healthy.time.now += MAX_AGE_S + 0.1
    assert healthy.says == ("walking_at", {"speed": 0.05})


def test_a_robot_found_on_its_feet_too_low_is_shown_as_low(drawn):
    drawn.diagnose(*NODES, torque="True", pose="found")
    drawn.hear("gait_state", String(data="standing"))
    drawn.hear("joint_states", JointLayout(robot()).message(lying(), None, STAMP))
    assert drawn.says[0] == "low"


def test_errors_and_silence_are_shown(healthy):
    healthy.diagnose(*NODES, torque="True", pose="found", hot="servo_driver")
    assert healthy.says == ("error", {"node": "servo_driver", "text": "it is hot"})
    assert {name: status.level for name, status in healthy.feed.statuses.items()} == {
        **dict.fromkeys(NODES, 0),
        "servo_driver": 2,
    }
    healthy.time.now += 4.0
    healthy.diagnose(*NODES, torque="True")
    assert healthy.says == ("silent", {"age": 4})
    healthy.time.now += 4.0
    assert healthy.says[0] == "stale"


def test_a_node_is_silent_only_if_neither_its_status_nor_its_stream_arrives(healthy):
    healthy.time.now += 1.9
    healthy.stand()
    healthy.hear("joint_targets", JointLayout(robot()).message(standing_joints(), None, STAMP))
    assert healthy.says == ("stale", {"node": "gait_planner", "age": 2}) and healthy.feed.hung == "gait_planner"
    healthy.loads("foot_targets", [True] * 6)
    assert healthy.says == ("standing", {}) and healthy.feed.hung == ""
    healthy.time.now += 1.9
    healthy.stand()
    healthy.diagnose("gait_planner")
    assert healthy.says == ("stale", {"node": "inverse_kinematics", "age": 4})


# --- the camera -----------------------------------------------------------------------------------------------


@pytest.fixture
def camera(monkeypatch):
    time, sent = Moment(), []
    monkeypatch.setattr(camera_feed, "time", time)
    node = PlainNode(moment=time)
    return SimpleNamespace(
        feed=CameraFeed(node, robot(), lambda *what: sent.append(what)), node=node, time=time, sent=sent
    )


def test_an_image_goes_once_to_each_page_that_asked_and_in_the_format_that_it_has(camera):
    assert not camera.feed.available and not camera.node.callbacks
    camera.node.publishers_of["image_raw/compressed"] = [1]
    assert camera.feed.available
    for page in (1, 2, 1):
        camera.feed.request(page)
    for data, kind in ((b"a", "rgb8; jpeg compressed bgr8"), (b"b", "jpeg")):
        camera.node.deliver("image_raw/compressed", CompressedImage(format=kind, data=data))
    assert sorted(camera.sent) == [(page, "image", {"format": "jpeg", "data": "YQ=="}) for page in (1, 2)]
    camera.feed.request(2)
    camera.node.deliver("image_raw/compressed", CompressedImage(format="png", data=b"c"))
    assert camera.sent[2:] == [(2, "image", {"format": "png", "data": "Yw=="})]


def test_a_camera_is_released_after_five_seconds_without_a_request(camera):
    camera.feed.watch()
    camera.feed.request(1)
    camera.time.now += 4.9
    camera.feed.watch()
    assert set(camera.node.callbacks) == {"image_raw/compressed", "camera_info", "/tf_static"}
    camera.feed.request(2)
    camera.time.now += 4.9
    camera.feed.watch()
    assert camera.node.callbacks
    camera.time.now += 0.2
    camera.feed.watch()
    camera.feed.watch()
    assert not camera.node.callbacks
    camera.feed.request(3)
    camera.node.deliver("image_raw/compressed", CompressedImage(format="jpeg", data=b"a"))
    assert [to for to, *_ in camera.sent] == [3]


def shot(camera, frame):
    """What a page that asks is told of the view of an image with a frame id."""
    camera.feed.request(1)
    image = CompressedImage(format="jpeg", data=b"a")
    image.header.frame_id = frame
    camera.node.deliver("image_raw/compressed", image)
    return camera.sent[-1][2].get("view")


def test_the_view_of_an_image_is_that_of_its_frame_and_lens_or_of_the_camera_in_the_robot_file(camera):
    assert shot(camera, "camera_optical_frame") is None
    ahead = Camera("other", (0.1, 0.0, 0.1), (0.0, 0.0, 0.0), fov=(math.pi / 2, math.pi / 3))
    down = Camera("nose", (0.2, 0.0, 0.1), (0.0, math.pi / 2, 0.0))
    camera.feed = CameraFeed(
        camera.node, replace(robot(), cameras=(ahead, down)), lambda *what: camera.sent.append(what)
    )
    usual = shot(camera, "unknown")
    assert usual["at"] == ahead.position and usual["lens"] == pytest.approx([0.5, math.sqrt(3) / 2, 0.5, 0.5])
    assert usual["axes"] == [0, 0, 1, -1, 0, 0, 0, -1, 0]
    assert shot(camera, "a/nose_color_optical_frame")["at"] == down.position
    pose = BodyPose(0.3, 0.1, 0.2, -math.pi / 2, 0.0, -math.pi / 2)
    stamp = messages.time(0)
    placed = messages.transform_message("a/base_link", "a/nose_color_optical_frame", pose, stamp)
    camera.node.deliver("/tf_static", TFMessage(transforms=[placed]))
    camera.node.deliver("camera_info", camera_info_message(Lens((320.0, 240.0), (319.5, 239.5), (640, 480)), "", stamp))
    exact = shot(camera, "a/nose_color_optical_frame")
    assert exact == {"at": (0.3, 0.1, 0.2), "axes": pytest.approx(usual["axes"], abs=1e-5), "lens": [0.5] * 4}
