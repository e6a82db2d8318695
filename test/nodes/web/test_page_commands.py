# SPDX-License-Identifier: Apache-2.0
"""Commands of the page as messages and calls of services, at times that the test sets."""

import math
from types import SimpleNamespace

import pytest
from rcl_interfaces.msg import SetParametersResult
from rclpy.parameter import parameter_value_to_python
from std_msgs.msg import String
from support.kits.plain_node import Moment, PlainNode

from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.steering.command_priorities import ANNOUNCEMENT_PERIOD_S
from hexapod_control.nodes.announcements import drive_announcement
from hexapod_control.nodes.announcements.drive_announcement import DriveAnnouncement
from hexapod_control.nodes.web import page_commands
from hexapod_control.nodes.web.page_commands import (
    FINAL_ZEROS,
    MAX_RESPONSE_TIME_S,
    PERIOD_S,
    START_SPEED,
    PageCommands,
)
from hexapod_control.ros import messages
from hexapod_control.ros.row_messages import xyz
from hexapod_control.web.protocol import (
    DriveMessage,
    GaitMessage,
    LegMessage,
    LiftMessage,
    LimitsMessage,
    PlayMessage,
    PoseMessage,
    PushMessage,
    RequestMessage,
    SpeedMessage,
    WorldMessage,
)
from hexapod_control.web.sessions.client_sessions import Forward

PAGE, OTHER = 3, 4
LIMITS = Twist(0.2, 0.1, 0.8)
VELOCITY_LIFETIME_S = 0.28  # for which a velocity of a page is good


class Page:
    """The commands of pages and the replies to them."""

    def __init__(self, monkeypatch, stamped=False):
        self.time, self.answers = Moment(), []
        for module in (page_commands, drive_announcement):
            monkeypatch.setattr(module, "time", self.time)
        self.node, self.feed = PlainNode(moment=self.time), SimpleNamespace(limits=LIMITS, motions=["bow", "wave"])
        self.commands = PageCommands(self.node, self.feed, lambda *answer: self.answers.append(answer), stamped)
        (self.timer,) = self.node.plain_timers

    def does(self, body, page=PAGE):
        self.commands.execute(Forward(page, body, self.time.now + VELOCITY_LIFETIME_S))

    def drives(self, *speeds):
        self.does(DriveMessage(True, *speeds))

    def later(self, seconds):
        """Lets time pass. Returns the velocities that are sent meanwhile."""
        count = len(self.node.sent("cmd_vel"))
        for _ in range(round(seconds / PERIOD_S)):
            self.time.now += PERIOD_S
            if self.timer.runs:
                self.timer.callback()
        return self.velocities[count:]

    @property
    def velocities(self):
        return [messages.twist(getattr(message, "twist", message)) for message in self.node.sent("cmd_vel")]

    def texts(self, topic):
        return [message.data for message in self.node.sent(topic)]

    def calls(self, name):
        """The requests of a service, with their futures."""
        return self.node.service_clients[name].calls

    def told(self):
        """The last reply: the page, the request, whether it succeeded, and the text."""
        to, kind, fields = self.answers[-1]
        assert kind == "answer"
        return to, fields["what"], fields["ok"], fields["text"]


@pytest.fixture
def page(monkeypatch):
    return Page(monkeypatch)


def reply(call, ok=True, text=""):
    call[1].set_result(SimpleNamespace(success=ok, message=text))


# --- velocity -------------------------------------------------------------------------------------------------


def test_a_velocity_is_sent_at_once_and_repeated_until_it_expires_then_zeros_then_nothing(page):
    assert (PERIOD_S, FINAL_ZEROS, START_SPEED) == (0.05, 10, 0.5) and page.timer.period == PERIOD_S
    assert not page.commands.driving and not page.timer.runs
    page.drives(0.5, -1.0, 0.25)
    assert page.velocities == [pytest.approx((0.1, -0.1, 0.2))] and page.commands.driving
    sent = page.later(2.0)
    assert [velocity.is_zero for velocity in sent] == [False] * 5 + [True] * FINAL_ZEROS
    assert sent[0] == pytest.approx((0.1, -0.1, 0.2))
    assert not page.commands.driving and not page.timer.runs and page.later(1.0) == []


def test_a_stamped_velocity_has_the_time_of_its_sending(monkeypatch):
    page = Page(monkeypatch, stamped=True)
    page.drives(0.5)
    page.later(PERIOD_S)
    first, second = (messages.nanoseconds(message.header.stamp) for message in page.node.sent("cmd_vel"))
    assert (first, second - first) == (1000 * 10**9, pytest.approx(1e9 * PERIOD_S, abs=1e3))


def test_the_release_of_the_stick_is_a_zero_at_once_and_is_repeated(page):
    page.does(DriveMessage(False))
    assert page.velocities == []  # nothing was driven
    page.drives(1.0)
    page.does(DriveMessage(False))
    assert [velocity.is_zero for velocity in page.velocities] == [False, True]
    assert [velocity.is_zero for velocity in page.later(2.0)] == [True] * FINAL_ZEROS
    page.commands.halt()
    assert page.later(1.0) == [] and len(page.velocities) == 2 + FINAL_ZEROS


def test_a_page_that_drives_again_during_the_zeros_has_all_of_them_after_it(page):
    page.drives(1.0)
    page.does(DriveMessage(False))
    page.later(0.2)
    page.drives(0.5)
    assert page.velocities[-1].vx == pytest.approx(0.1)
    assert [velocity.is_zero for velocity in page.later(2.0)].count(True) == FINAL_ZEROS


def test_after_its_end_nothing_is_driven_and_the_last_zero_is_delivered(page):
    page.drives(1.0)
    page.commands.end()
    page.drives(1.0)
    assert [velocity.is_zero for velocity in page.velocities] == [False, True, True]
    assert page.node.topics["cmd_vel"].waited == [pytest.approx(0.3)]


def test_a_source_announces_itself_four_times_a_second_at_most(page):
    for _ in range(10):
        page.drives(1.0)
        page.time.now += 0.1
    assert page.texts("driving") == ["tablet"] * 4 and ANNOUNCEMENT_PERIOD_S == 0.25
    announcement = DriveAnnouncement(page.node, "keyboard")
    announcement.announce()
    page.time.now += ANNOUNCEMENT_PERIOD_S
    announcement.announce()
    assert page.texts("driving")[4:] == ["keyboard"] * 2


# --- messages -------------------------------------------------------------------------------------------------


def test_pose_gait_push_and_speed_are_passed_on(page):
    page.does(PoseMessage(x=0.01, y=0.02, z=0.03, roll=0.1, pitch=0.2, yaw=0.3))
    page.does(GaitMessage("wave"))
    page.does(PushMessage(10.0, -5.0))
    page.does(SpeedMessage(0.3))
    (pose,), (push,) = page.node.sent("body_pose"), page.node.sent("mujoco_sim/push")
    assert tuple(messages.body_pose(pose)) == pytest.approx((0.01, 0.02, 0.03, 0.1, 0.2, 0.3))
    assert xyz(push.force) == (10.0, -5.0, 0.0) and page.texts("gait") == ["wave"]
    assert page.commands.speed == 0.3 and page.answers == []


def test_a_leg_is_lost_or_returned_and_the_last_page_that_asked_is_told_the_refusal(page):
    page.does(LegMessage("left_front", True), OTHER)
    page.does(LegMessage("left_rear", False))
    assert (page.texts("lose_leg"), page.texts("return_leg")) == (["left_front"], ["left_rear"])
    page.node.deliver("leg_refused", String(data="it tips"))
    assert page.told() == (PAGE, "leg", False, "it tips")


def test_motions_of_the_list_are_played_and_an_empty_name_ends_one(page):
    for name in ("bow", "", "dance"):
        page.does(PlayMessage(name))
    assert page.texts("motion") == ["bow", ""]
    assert page.told() == (PAGE, "motion", False, "'dance' is not a known motion, known: bow, wave")
    page.feed.motions = []
    page.does(PlayMessage("bow"))
    assert page.told()[3] == "'bow' is not a known motion, known: none: gait_planner is not running"


# --- services -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["stand", "sit", "stop", "cancel_motion", "arm"])
def test_a_button_calls_its_service_and_the_page_is_told_the_answer(page, what):
    for ok, text in ((True, "done"), (False, "no pose")):
        page.does(RequestMessage(what))
        reply(page.calls(what)[-1], ok, text)
        assert page.told() == (PAGE, what, ok, text)
    assert len(page.calls(what)) == len(page.answers) == 2


@pytest.mark.parametrize(
    ("what", "service", "owner"),
    [
        ("stand", "stand", "gait_planner"),
        ("arm", "arm", "the hardware node"),
        ("reset_world", "mujoco_sim/reset_world", "mujoco_sim"),
    ],
)
def test_a_service_that_is_not_there_or_does_not_respond_is_named_with_its_owner(page, what, service, owner):
    client = page.node.service_clients[service]
    client.ready = False
    page.does(RequestMessage(what))
    assert page.told() == (PAGE, what, False, f"{owner} is not running") and not client.calls
    client.ready = True
    page.does(RequestMessage(what))
    page.does(RequestMessage(what), OTHER)
    assert len(client.calls) == 1  # it has no response yet
    page.time.now += MAX_RESPONSE_TIME_S - 0.1
    page.commands.watch()
    assert len(page.answers) == 1 and not client.dropped and MAX_RESPONSE_TIME_S == 3.0
    page.time.now += 0.2
    page.commands.watch()
    page.commands.watch()
    assert page.told() == (PAGE, what, False, f"{owner} does not respond") and len(page.answers) == 2
    assert client.dropped == [client.calls[0][1]]
    page.does(RequestMessage(what))
    assert len(client.calls) == 2


def test_a_response_ends_the_wait_for_it(page):
    page.does(RequestMessage("stand"))
    reply(page.calls("stand")[0])
    page.time.now += MAX_RESPONSE_TIME_S + 1.0
    page.commands.watch()
    page.does(RequestMessage("stand"))
    assert len(page.answers) == 1 and len(page.calls("stand")) == 2


def test_an_emergency_stop_also_stops_the_walk(page):
    page.commands.press_estop(PAGE)
    page.does(RequestMessage("estop"))
    ((request, _),) = page.calls("estop")
    assert request.data is True and len(page.calls("stop")) == 1


def test_every_press_of_the_emergency_stop_calls_it_again_and_one_without_a_response_is_answered(page):
    page.commands.press_estop(PAGE)
    page.commands.press_estop(OTHER)
    assert len(page.calls("estop")) == 2
    reply(page.calls("estop")[1])
    page.time.now += MAX_RESPONSE_TIME_S + 1.0
    page.commands.watch()
    assert [(to, fields["ok"]) for to, _, fields in page.answers] == [(OTHER, True), (PAGE, False)]


def test_rearming_releases_resets_and_arms_one_after_the_other_while_all_goes_well(page):
    page.does(RequestMessage("rearm"))
    ((request, _),) = page.calls("estop")
    assert request.data is False and not page.calls("reset_fault") and not page.calls("arm")
    reply(page.calls("estop")[0])
    assert len(page.calls("reset_fault")) == 1 and not page.calls("arm")
    reply(page.calls("reset_fault")[0])
    reply(page.calls("arm")[0])
    assert [fields["what"] for _, _, fields in page.answers] == ["estop", "reset_fault", "arm"]
    assert {to for to, _, _ in page.answers} == {PAGE}
    page.does(RequestMessage("rearm"))
    reply(page.calls("estop")[1])
    reply(page.calls("reset_fault")[1], False, "servo 3 is hot")
    assert len(page.calls("arm")) == 1


def test_the_values_that_a_page_gives_are_set_as_parameters(page):
    page.does(WorldMessage(world="blocks", friction=0.4))
    page.does(LiftMessage(0.5))
    page.does(LimitsMessage(0.1, 0.05, 0.0))
    (world,), (lift, speeds) = page.calls("mujoco_sim/set_parameters"), page.calls("gait_planner/set_parameters")
    tops = [parameter_value_to_python(each.value) for each in speeds[0].parameters]
    assert tops[:4] == [0.1, -0.1, 0.05, -0.05] and all(map(math.isnan, tops[4:]))
    assert [each.name for each in speeds[0].parameters][4:] == ["angular.z.max_velocity", "angular.z.min_velocity"]
    values = [
        {each.name: parameter_value_to_python(each.value) for each in call[0].parameters} for call in (world, lift)
    ]
    assert values == [{"world": "blocks", "friction": 0.4}, {"lift_scale": 0.5}]
    results = [SetParametersResult(successful=ok, reason=why) for ok, why in ((True, ""), (False, "a"), (False, "b"))]
    world[1].set_result(SimpleNamespace(results=results))
    assert page.told() == (PAGE, "set_parameters", False, "a; b")
    lift[1].set_result(SimpleNamespace(results=results[:1]))
    assert page.told() == (PAGE, "set_parameters", True, "done")
