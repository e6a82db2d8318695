# SPDX-License-Identifier: Apache-2.0
"""Requests to gait_planner on its topics and services, each passed on once, and what is reported about them."""

import math
from concurrent.futures import Future
from types import SimpleNamespace

import numpy as np
import pytest
from geometry_msgs.msg import Pose, Transform, Vector3
from sensor_msgs.msg import MultiDOFJointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from support.kits.plain_node import PlainNode
from support.phantomx import LEGS, robot

from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.posture.walking_legs import WalkingLegs
from hexapod_control.core.refusal import Refusal
from hexapod_control.core.sensing.mishap_watch import Mishap, MishapKind
from hexapod_control.nodes.gait_planner import request_input
from hexapod_control.nodes.gait_planner.planner_output import STUCK_PAUSE_S, MishapReports
from hexapod_control.nodes.gait_planner.request_input import LegInput, PoseGaitFootInput, PostureServices
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import ReportLevel
from hexapod_control.ros.row_messages import FootLayout, MessageError


class Commands:
    """Records the requests; `refusal` is the answer to each."""

    def __init__(self):
        self.asked, self.refusal = [], None

    def __getattr__(self, name):
        def ask(*values, **options):
            self.asked.append((name, *values, *options.items()))
            return self.refusal

        return ask


# --- legs -----------------------------------------------------------------------------------------------------


class Tables:
    """Stands in for the tables of the remaining legs, which a thread computes; the test decides when."""

    def __init__(self, **options):
        assert options["max_workers"] == 1
        self.waiting, self.rows = [], []

    def submit(self, compute, machine, rows):
        assert (compute, machine) == (WalkingLegs.without, robot())
        self.rows.append(set(rows))
        self.waiting.append(Future())
        return self.waiting[-1]


class Legs:
    """The input of lost legs, with a planner that the test changes."""

    def __init__(self, monkeypatch):
        pools = []
        monkeypatch.setattr(
            request_input, "ThreadPoolExecutor", lambda **options: pools.append(Tables(**options)) or pools[-1]
        )
        self.view = SimpleNamespace(lost_legs=(), changing_legs=False)
        self.node, self.commands = PlainNode(), Commands()
        self.input = LegInput(self.node, self.commands, SimpleNamespace(robot=robot(), view=self.view))
        (self.tables,) = pools

    def ask(self, topic, leg):
        self.node.deliver(topic, String(data=leg))

    def compute(self, error=None):
        """Completes the newest tables; a tick follows."""
        future = self.tables.waiting[-1]
        future.set_exception(error) if error else future.set_result("tables")
        self.input.watch()

    def texts(self, topic):
        return [message.data for message in self.node.sent(topic)]


@pytest.fixture
def legs(monkeypatch):
    return Legs(monkeypatch)


@pytest.mark.parametrize(
    ("topic", "lost", "leg", "rows"),
    [
        ("lose_leg", (), "right_front", {3}),
        ("lose_leg", ("left_front",), "left_rear", {0, 2}),
        ("return_leg", ("left_front", "left_rear"), "left_front", {2}),
        ("return_leg", (), "left_front", set()),
        ("lose_leg", (), "tail", set()),
    ],
)
def test_a_request_is_passed_on_exactly_once_when_the_tables_of_the_remaining_legs_are_there(
    legs, topic, lost, leg, rows
):
    expected = {LEGS.index(name) for name in (*lost, leg) if name in LEGS} if topic == "lose_leg" else rows
    legs.view.lost_legs = lost
    legs.ask(topic, leg)
    legs.input.watch()
    assert legs.tables.rows == [expected] and not legs.commands.asked
    legs.compute()
    for _ in range(3):
        legs.input.watch()
    assert legs.commands.asked == [("change_leg", leg, ("lost", topic == "lose_leg"), ("remaining", "tables"))]
    assert len(legs.tables.rows) == 1 and legs.texts("leg_refused") == []


def test_a_request_waits_while_a_leg_is_folded_and_its_tables_are_computed_again_for_the_legs_lost_then(legs):
    legs.ask("lose_leg", "left_front")
    legs.view.changing_legs = True
    legs.compute()
    assert not legs.commands.asked
    legs.view.changing_legs, legs.view.lost_legs = False, ("right_rear",)
    legs.input.watch()
    assert not legs.commands.asked
    assert legs.tables.rows == [{LEGS.index("left_front")}, {LEGS.index("left_front"), LEGS.index("right_rear")}]
    legs.compute()
    assert legs.commands.asked == [("change_leg", "left_front", ("lost", True), ("remaining", "tables"))]


def test_of_two_requests_the_newer_one_counts(legs):
    legs.ask("lose_leg", "left_front")
    legs.ask("lose_leg", "left_rear")
    legs.compute()
    legs.input.watch()
    assert legs.commands.asked == [("change_leg", "left_rear", ("lost", True), ("remaining", "tables"))]


def test_a_refusal_is_reported_and_published_whoever_refuses(legs):
    legs.ask("lose_leg", "left_front")
    legs.compute(ValueError("they do not support the robot"))
    assert legs.texts("leg_refused") == ["they do not support the robot"] and not legs.commands.asked
    legs.commands.refusal = Refusal("unknown_leg", "unknown leg")
    legs.ask("lose_leg", "tail")
    legs.compute()
    assert legs.texts("leg_refused")[1:] == ["unknown leg"]
    assert legs.node.report_of("leg") == (ReportLevel.WARNING, "lose_leg or return_leg refused: unknown leg")


def test_lost_legs_are_published_when_they_change(legs):
    for lost in ((), ("left_front", "left_rear"), ("left_front", "left_rear"), ()):
        legs.view.lost_legs = lost
        legs.input.watch()
    assert legs.texts("lost_legs") == ["", "left_front,left_rear", ""]
    assert legs.node.reports["lost legs"] == [
        (ReportLevel.WARNING, "the robot walks without left_front and left_rear"),
        (ReportLevel.OK, "the robot walks on all legs"),
    ]


# --- pose, gait, feet and posture -----------------------------------------------------------------------------


@pytest.fixture
def body():
    node, commands = PlainNode(), Commands()
    PoseGaitFootInput(node, commands, robot(), "one/base_link")
    return node, commands


def test_a_pose_is_requested_and_a_clamped_one_reported_with_the_values_that_are_not_zero(body):
    node, commands = body
    node.deliver("body_pose", messages.body_pose_message(BodyPose(z=0.01, roll=0.1)))
    assert not node.reports
    ((name, pose),) = commands.asked
    assert name == "request_pose" and tuple(pose) == pytest.approx((0.0, 0.0, 0.01, 0.1, 0.0, 0.0))
    commands.refusal = Refusal("clamped", "clamped")
    node.deliver("body_pose", Pose(position=messages.body_pose_message(BodyPose(x=-0.25, z=0.01)).position))
    assert node.report_of("pose") == (ReportLevel.WARNING, "body_pose (x -0.25, z 0.01): clamped")


def test_a_gait_is_requested_and_a_refusal_reported(body):
    node, commands = body
    node.deliver("gait", String(data="wave"))
    assert commands.asked == [("change_gait", "wave")] and not node.reports
    commands.refusal = Refusal("unknown_gait", "unknown gait")
    node.deliver("gait", String(data="gallop"))
    assert node.report_of("gait") == (ReportLevel.WARNING, "gait refused: unknown gait")


def test_feet_are_guided_in_the_frame_of_the_body(body):
    node, commands = body
    message = FootLayout(robot()).message(np.ones((6, 3)), np.zeros((6, 3)), np.zeros(6), messages.time(1))
    for frame in ("", "one/base_link"):
        message.header.frame_id = frame
        node.deliver("foot_command", message)
    assert commands.asked == [("guide_feet", dict.fromkeys(LEGS, (1.0, 1.0, 1.0)))] * 2 and not node.reports
    message.header.frame_id = "base_link"
    with pytest.raises(MessageError, match="its frame is 'base_link'; send points in one/base_link"):
        node.deliver("foot_command", message)
    commands.refusal = Refusal("out_of_reach", "out of reach")
    node.deliver("foot_command", MultiDOFJointState())
    assert node.report_of("foot") == (ReportLevel.WARNING, "foot_command refused: out of reach")


@pytest.mark.parametrize(
    ("names", "points", "reason"),
    [
        (["left_front_foot"], [Vector3(x=math.nan)], "translation of foot 'left_front_foot' is nan"),
        (["tail_foot"], [Vector3(x=0.1)], "foot 'tail_foot' is unknown; this robot has left_front_foot, "),
        (["left_front_foot"], [], "1 names but 0 transforms"),
    ],
)
def test_an_invalid_foot_command_is_refused_by_name(body, names, points, reason):
    node, commands = body
    message = MultiDOFJointState(joint_names=names, transforms=[Transform(translation=point) for point in points])
    with pytest.raises(MessageError, match=reason):
        node.deliver("foot_command", message)
    assert commands.asked == []


@pytest.mark.parametrize(
    ("service", "asked", "words"),
    [
        ("stand", ("stand", ("after_fall", False)), "standing up"),
        ("sit", ("sit",), "sitting down"),
        ("recover", ("stand", ("after_fall", True)), "recovering"),
    ],
)
def test_a_posture_is_requested_by_its_service_and_only_sitting_down_blocks_velocities(service, asked, words):
    node, commands, blocked = PlainNode(), Commands(), []
    PostureServices(node, commands, lambda: blocked.append(True))
    response = node.call(service, Trigger.Request())
    assert (response.success, response.message) == (True, f"{words}, gait_state reports when it is done")
    assert commands.asked == [asked] and len(blocked) == (service == "sit")
    commands.refusal = Refusal("no_pose", "no pose")
    response = node.call(service, Trigger.Request())
    assert (response.success, response.message) == (False, "no pose") and len(blocked) == (service == "sit")


# --- mishaps --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "level", "stops"),
    [
        (MishapKind.FALLEN, ReportLevel.ERROR, True),
        (MishapKind.CARRIED, ReportLevel.WARNING, True),
        (MishapKind.STUCK, ReportLevel.ERROR, True),
        (MishapKind.SLOWED, ReportLevel.WARNING, False),
    ],
)
def test_a_mishap_is_reported_as_long_as_it_lasts_and_ends_commands_once_if_it_stops_the_robot(kind, level, stops):
    node, commands, blocked, view = PlainNode(), Commands(), [], SimpleNamespace(mishap=None)
    pauses = []
    planner = SimpleNamespace(view=view)
    reports = MishapReports(node, commands, planner, lambda: blocked.append(True), lambda *what: pauses.append(what))
    reports.watch()
    reports.repeat()
    assert not node.reports and not blocked
    for again in (1, 2):
        view.mishap = Mishap(kind, "what has happened")
        for _ in range(2):
            reports.watch()
        paused = kind is MishapKind.STUCK
        assert len(blocked) == again * (stops and not paused) and len(commands.asked) == len(blocked)
        assert pauses == [(kind.value, "what has happened", STUCK_PAUSE_S)] * (again * paused)
        assert len(node.reports[kind.value]) == 1
        reports.repeat()
        assert node.reports[kind.value] == [(level, "what has happened")] * 2
        view.mishap = None
        reports.watch()
        assert not node.reports, "what is over is not shown any longer"
    assert len(blocked) + len(pauses) == 2 * stops
