# SPDX-License-Identifier: Apache-2.0
"""The node gamepad at times that the test sets: when a state is sent, how a device is found, and the end."""

import pytest
from support.kits.direct_topics import DirectTopics
from support.kits.plain_node import Moment
from support.real_time.ros_bench import overrides

from hexapod_control.core.steering.gamepad_map import GamepadState
from hexapod_control.nodes.gamepad import gamepad
from hexapod_control.nodes.gamepad.evdev_gamepad import GamepadLostError
from hexapod_control.nodes.gamepad.gamepad import GamepadNode
from hexapod_control.ros.guarded_node import ReportLevel
from hexapod_control.ros.parameters import ParameterError

REST = ([0.0] * 6, [0] * 21)


class Pad:
    """Stands in for a gamepad."""

    def __init__(self, name="Test Pad", usable=True):
        self.name, self.usable, self.closed, self.fault = name, usable, False, None
        self.state = GamepadState([0.5] * 6, [1] * 21)

    def read(self):
        if self.fault:
            raise self.fault

    def close(self):
        self.closed = True


class Rig:
    """The node, the gamepads that it may find, and what it publishes."""

    def __init__(self, bench, monkeypatch, *pads, **parameters):
        self.time, self.topics, self.pads = Moment(), DirectTopics(monkeypatch), list(pads)
        monkeypatch.setattr(gamepad, "time", self.time)
        monkeypatch.setattr(gamepad, "EvdevGamepad", self._opened)
        self.node = bench.add(GamepadNode(lambda: self.pads, parameter_overrides=overrides(**parameters)))

    def _opened(self, device, deadzone):
        self.deadzone = deadzone
        if isinstance(device, Exception):
            raise device
        return device

    def polls(self, *seconds):
        """Polls after each of these times. Returns how many messages were sent at each."""
        counts = []
        for after in seconds:
            before = len(self.sent)
            self.time.now += after
            self.node.poll()
            counts.append(len(self.sent) - before)
        return counts

    @property
    def sent(self):
        return [(list(message.axes), list(message.buttons)) for message in self.topics.sent["joy"]]

    def report(self, kind):
        found = self.node.sent_reports.get(kind)
        return found and (found.level, found.text)


@pytest.fixture
def make(bench, monkeypatch):
    return lambda *pads, **parameters: Rig(bench, monkeypatch, *pads, **parameters)


def test_a_changed_state_is_sent_at_once_and_an_unchanged_one_at_the_rate(make):
    rig = make(Pad(), autorepeat_rate=20.0, deadzone=0.2)
    assert rig.polls(0.0, 0.01, 0.03, 0.011, 0.04, 0.011) == [1, 0, 0, 1, 0, 1] and rig.deadzone == 0.2
    rig.pads[0].state = GamepadState([0.25] * 6, [0] * 21)
    assert rig.polls(0.001, 0.001) == [1, 0] and rig.sent[-1] == ([0.25] * 6, [0] * 21)
    assert {message.header.frame_id for message in rig.topics.sent["joy"]} == {"joy"}
    assert all(message.header.stamp.sec > 0 for message in rig.topics.sent["joy"])


def test_a_gamepad_that_is_removed_is_one_message_at_rest_and_then_none(make):
    pad = Pad()
    rig = make(pad)
    rig.polls(0.0)
    pad.fault = GamepadLostError("No such device")
    assert rig.polls(0.01, 1.0, 1.0) == [1, 0, 0] and rig.sent[-1] == REST
    text = "gamepad Test Pad was removed (No such device): all controls at rest; plug it in again"
    assert rig.report("lost") == (ReportLevel.ERROR, text) and pad.closed
    assert rig.node.status() == {"gamepad": "none"}


def test_the_end_is_a_message_at_rest_if_there_is_a_gamepad(make):
    rig = make()
    rig.node.request_stop()
    assert rig.sent == []
    rig = make(Pad())
    rig.node.request_stop()
    assert rig.sent == [REST]


def test_the_first_usable_device_with_the_name_is_used_and_the_others_are_closed(make):
    lost, denied = GamepadLostError("gone"), OSError("no permission")
    mouse, other, wanted, later = Pad("Brand B mouse", usable=False), Pad("A"), Pad("A brand B pad"), Pad("brand b")
    rig = make(lost, denied, mouse, other, wanted, later, device_name="BRAND b")
    assert rig.node.status() == {"gamepad": "A brand B pad"}
    assert rig.report("found") == (ReportLevel.OK, "gamepad A brand B pad") and not rig.report("none")
    assert [pad.closed for pad in (mouse, other, wanted, later)] == [True, True, False, False]


@pytest.mark.parametrize(("name", "which"), [("", ""), ("Brand B", " with 'Brand B' in its name")])
def test_without_a_gamepad_the_remedy_is_reported(make, name, which):
    rig = make(Pad("A", usable=bool(name)), device_name=name)
    remedy = "plug one in; if there is one, may this user read /dev/input/event* (group input)?"
    assert rig.report("none") == (ReportLevel.WARNING, f"no gamepad{which}: {remedy}")
    assert rig.polls(1.0) == [0]


def test_the_device_is_polled_a_hundred_times_a_second_and_searched_for_every_second(make):
    rig = make(Pad())
    assert {10_000_000, 1_000_000_000} <= {timer.timer_period_ns for timer in rig.node.timers}


@pytest.mark.parametrize(("name", "lower", "upper"), [("deadzone", 0.0, 0.9), ("autorepeat_rate", 5.0, 200.0)])
def test_numeric_parameters_have_bounds(make, name, lower, upper):
    for good in (lower, upper):
        assert getattr(make(**{name: good}).node.settings, name) == good
    for bad in (lower - 0.01, upper + 0.01):
        with pytest.raises(ParameterError, match=name):
            make(**{name: bad})
