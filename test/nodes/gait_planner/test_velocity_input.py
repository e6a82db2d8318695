# SPDX-License-Identifier: Apache-2.0
"""Velocity commands of gait_planner on their topics: stamps, timeouts, arcs, and who sends them."""

import math
from types import SimpleNamespace

import pytest
from geometry_msgs.msg import TwistStamped, Vector3
from hypothesis import given
from hypothesis import strategies as st
from rclpy.qos import ReliabilityPolicy
from std_msgs.msg import String
from support.drives import standing_planner
from support.kits.plain_node import Moment, PlainNode

from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.refusal import Refusal
from hexapod_control.core.steering.command_priorities import ANNOUNCEMENT_TIMEOUT_S
from hexapod_control.nodes.gait_planner import planner_output, velocity_input
from hexapod_control.nodes.gait_planner.planner_output import CommandSourceDisplay
from hexapod_control.nodes.gait_planner.velocity_input import VelocityInput
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import ReportLevel

FORWARD = Twist(0.05, 0.0, 0.0)
TIMEOUT_S = 0.5
PLAIN, STAMPED = "geometry_msgs/msg/Twist", "geometry_msgs/msg/TwistStamped"


class Commands:
    """Records the velocities that are passed on."""

    def __init__(self):
        self.twists, self.timeouts, self.ignored = [], 0, None

    def velocity(self, twist):
        self.twists.append(twist)
        return self.ignored

    def velocity_timed_out(self):
        self.timeouts += 1


class Input:
    """The velocity input at times that the test sets."""

    def __init__(self, monkeypatch, stamped=False):
        self.time = Moment()
        for module in (velocity_input, planner_output):
            monkeypatch.setattr(module, "time", self.time)
        self.node, self.commands, self.planner = PlainNode(moment=self.time), Commands(), standing_planner("phantomx")
        self.input = VelocityInput(self.node, self.commands, self.planner, stamped, TIMEOUT_S)
        self.watch = self.node.plain_timers[0]

    def send(self, twist=FORWARD, topic="cmd_vel", **beside):
        message = messages.twist_message(twist)
        for name, value in beside.items():
            vector, axis = name.split("_")
            setattr(getattr(message, vector), axis, value)
        self.node.deliver(topic, message)

    def pass_time(self, seconds, step=0.05):
        for _ in range(round(seconds / step)):
            self.time.now += step
            self.watch.callback()


@pytest.fixture
def made(monkeypatch):
    return Input(monkeypatch)


def publisher(name, kind=PLAIN, reliability=ReliabilityPolicy.RELIABLE):
    return SimpleNamespace(
        node_name=name, node_namespace="/", topic_type=kind, qos_profile=SimpleNamespace(reliability=reliability)
    )


def test_a_command_is_passed_on_until_nothing_has_come_for_its_timeout(made):
    made.send()
    assert made.commands.twists == [FORWARD] and made.watch.period == 0.05
    made.pass_time(TIMEOUT_S - 0.05)
    assert not made.commands.timeouts
    made.pass_time(0.15)
    assert made.commands.timeouts == 1
    level, text = made.node.report_of("cmd_vel timeout")
    assert (level, text.partition(";")[0]) == (
        ReportLevel.WARNING,
        "cmd_vel: nothing usable for 0.5 s while walking: stopping",
    )


@pytest.mark.parametrize(("pause", "late"), [(0.19, 1), (0.21, 0)])
def test_after_a_pause_of_this_process_waiting_commands_are_read_first(made, pause, late):
    made.send()
    made.pass_time(TIMEOUT_S - 0.05)
    made.time.now += pause
    made.watch.callback()
    assert made.commands.timeouts == late
    made.pass_time(0.05)
    assert made.commands.timeouts == 1


@given(gaps=st.lists(st.floats(0.01, 3.0), min_size=2, max_size=20))
def test_with_any_gaps_between_checks_at_most_one_check_after_the_timeout_is_skipped(gaps):
    with pytest.MonkeyPatch.context() as patch:
        made = Input(patch)
        made.send()
        start, checks = made.time.now, 0
        for gap in gaps:
            made.pass_time(gap, gap)
            checks += made.time.now - start > TIMEOUT_S
            assert made.commands.timeouts <= (checks > 0)
            assert made.commands.timeouts == 1 or checks < 2


def test_a_command_that_the_robot_cannot_follow_now_is_explained(made):
    made.commands.ignored = Refusal("ignored", "ignored while sitting: run hexapod stand first")
    made.send()
    assert made.node.report_of("not standing") == (ReportLevel.OK, f"cmd_vel {made.commands.ignored}")
    assert made.input.last_refusal == ""


@pytest.mark.parametrize(("age", "accepted"), [(0.0, True), (0.45, True), (0.55, False), (-0.15, True), (-0.25, False)])
def test_a_stamp_is_compared_with_the_clock_of_the_node(monkeypatch, age, accepted):
    made = Input(monkeypatch, stamped=True)
    message = TwistStamped(twist=messages.twist_message(FORWARD))
    message.header.stamp = messages.time(round(1e9 * (made.time.now - age)))
    made.node.deliver("cmd_vel", message)
    assert made.commands.twists == ([FORWARD] if accepted else [])
    assert bool(made.input.last_refusal) is not accepted


@pytest.mark.parametrize("name", ["linear_z", "angular_x", "angular_y"])
def test_components_outside_the_plane_are_reported_once_and_a_planar_command_never(made, name):
    made.send()
    assert not made.node.reports
    for _ in range(2):
        made.send(**{name: 0.1})
    assert made.commands.twists == [FORWARD] * 3 and len(made.node.reports["cmd_vel non_planar"]) == 1
    assert made.input.last_refusal == ""


def test_a_refusal_is_remembered_and_reported_every_time(made):
    for _ in range(2):
        made.send(Twist(math.nan, 0.0, 0.0))
    made.send(Twist(math.inf, 0.0, 0.0), linear_z=0.1)
    assert not made.commands.twists and len(made.node.reports["cmd_vel not finite"]) == 3
    assert made.input.last_refusal == "cmd_vel: linear.x is inf: refused; send finite numbers"
    assert "cmd_vel non_planar" not in made.node.reports


def test_an_arc_is_passed_on_as_its_twist(made):
    made.node.deliver("arc", Vector3(x=0.03, y=0.5))
    assert made.commands.twists == [made.planner.view.arc_twist(0.03, 0.5)]
    for refused, reason in (
        (Vector3(x=math.nan), "travel must be in [-0.5, 0.5] m, is nan: refused"),
        (Vector3(x=0.04, y=2.5), "curvature must be in [-1.999, 1.999]"),
        (Vector3(x=0.04, z=0.3), "z must be 0, is 0.3: refused"),
    ):
        made.node.deliver("arc", refused)
        assert made.input.last_refusal.startswith(f"arc: {reason}")
    assert len(made.commands.twists) == 1
    assert len(made.node.reports["arc bounds"]) == 2 and len(made.node.reports["arc arc_z"]) == 1
    made.pass_time(TIMEOUT_S + 0.1)
    assert made.commands.timeouts == 1 and made.node.report_of("arc timeout")


# --- senders --------------------------------------------------------------------------------------------------


def test_the_sources_are_those_of_the_topic_in_force_looked_up_once_a_second_or_when_their_number_changes(made):
    made.node.publishers_of["cmd_vel"] = [publisher("b"), publisher("a"), publisher("a")]
    made.node.publishers_of["arc"] = [publisher("c")]
    assert made.input.sources == ["/a", "/b"]
    made.node.publishers_of["cmd_vel"] = [publisher("d"), publisher("a"), publisher("a")]
    made.time.now += 0.9
    assert made.input.sources == ["/a", "/b"]
    made.time.now += 0.2
    assert made.input.sources == ["/a", "/d"]
    made.node.publishers_of["cmd_vel"] = [publisher("e")]
    assert made.input.sources == ["/e"]
    made.node.deliver("arc", Vector3(x=0.03))
    assert made.input.sources == ["/c"]
    made.send()
    assert made.input.sources == ["/e"]


@pytest.mark.parametrize(
    ("stamped", "own", "other", "remedy"), [(False, PLAIN, STAMPED, "true"), (True, STAMPED, PLAIN, "false")]
)
def test_a_sender_of_the_other_type_is_named_with_the_remedy(monkeypatch, stamped, own, other, remedy):
    made = Input(monkeypatch, stamped)
    made.node.publishers_of["cmd_vel"] = [publisher("good", own), publisher("bad", other)]
    made.input.check_publishers()
    (kind,) = made.node.reports
    level, text = made.node.report_of(kind)
    assert (kind, level) == ("type of /bad", ReportLevel.ERROR)
    assert text == (
        f"/bad publishes {other} on cmd_vel, not {own}: it is not received; "
        f"start gait_planner with enable_stamped_cmd_vel:={remedy}, or change the sender"
    )
    made.node.publishers_of["cmd_vel"] = [publisher("_NODE_NAME_UNKNOWN_", other)]
    made.input.check_publishers()
    assert made.node.report_of("type of an unknown node")[1].startswith(f"an unknown node publishes {other} on cmd_vel")


def test_several_senders_at_once_are_named_unless_they_announce_that_they_drive(made):
    both = [publisher("nav"), publisher("pad")]

    def reported(cmd_vel, driving=()):
        made.node.reports.clear()
        made.node.publishers_of.update(cmd_vel=cmd_vel, driving=driving)
        made.input.check_publishers()
        return [text for reports in made.node.reports.values() for _, text in reports]

    text = "/nav and /pad publish cmd_vel at once: the newest message wins; put a twist_mux between"
    assert reported(both) == reported(both, [publisher("pad")]) == [text]
    assert reported(both, both) == reported([publisher("nav")]) == []
    assert reported([publisher("nav"), publisher("pad", reliability=ReliabilityPolicy.BEST_EFFORT)]) == []
    assert reported([publisher("nav"), publisher("_NODE_NAME_UNKNOWN_")]) == []  # not discovered completely yet


# --- command_source -------------------------------------------------------------------------------------------


class Display(Input):
    """The display of the source, which publishes when it changes."""

    def __init__(self, monkeypatch):
        super().__init__(monkeypatch)
        self.display = CommandSourceDisplay(self.node, self.input)

    def announce(self, name):
        self.node.deliver("driving", String(data=name))

    @property
    def shown(self):
        return [message.data for message in self.node.sent("command_source")]

    def later(self, seconds):
        self.time.now += seconds
        self.node.plain_timers[1].callback()


@pytest.fixture
def display(monkeypatch):
    return Display(monkeypatch)


def test_of_the_sources_that_were_announced_in_the_last_second_the_one_with_priority_is_shown(display):
    assert display.node.plain_timers[1].period == 0.2 and ANNOUNCEMENT_TIMEOUT_S == 1.0
    for name in ("navigation", "keyboard", "navigation"):
        display.announce(name)
    display.later(0.5)
    display.announce("navigation")
    display.later(0.4)
    assert display.shown == ["none", "navigation", "keyboard"]
    display.later(0.2)
    assert display.shown[-1] == "navigation"
    display.later(0.5)
    assert display.shown[-1] == "none" and len(display.shown) == 5


def test_without_an_announcement_the_nodes_are_shown_while_the_velocity_is_not_zero(display):
    display.send()
    display.later(0.1)
    assert display.shown == ["none"]
    display.node.publishers_of["cmd_vel"] = [publisher("b"), publisher("a")]
    display.later(0.1)
    assert display.shown[-1] == "/a, /b" == display.display.name
    display.send(Twist(0.0, 0.0, 0.0))
    display.later(0.1)
    assert display.shown[-1] == "none"


def test_names_are_shortened_and_few_are_stored(display):
    for name in ("", "\n", "x" * 41, "a\x1bb", *map(str, range(30)), "keyboard", "0"):
        display.announce(name)
    names = list(display.display.announced)
    assert names == ["x" * 40, "ab", *map(str, range(14)), "keyboard"]
    display.time.now += 0.7
    display.announce("0")
    display.time.now += 0.7
    assert display.display.name == "0"
