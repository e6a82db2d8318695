# SPDX-License-Identifier: Apache-2.0
"""The recorder with stand-ins for topics and bags, at times that the test sets: which faults become a bag, and when."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.serialization import serialize_message
from std_msgs.msg import String
from support.kits.plain_node import Moment

from hexapod_control.bags.ring_buffer import RecordedMessage
from hexapod_control.nodes.recorder import recorder
from hexapod_control.nodes.recorder.recorder import LAST_MESSAGES_S, MAX_FAULT_BAGS, RecorderNode, RecorderSettings
from hexapod_control.ros.guarded_node import ReportLevel


class Saver:
    """Stands in for the writer of bags."""

    def __init__(self, namespace, tell):
        self.namespace, self.tell, self.saved, self.busy, self.calls = namespace, tell, [], False, []

    def save(self, ring, channels, folder, reason):
        self.saved.append((list(channels), folder, reason))
        self.calls.append("save")
        return True, f"saving: {reason}"

    def poll(self):
        self.calls.append("poll")

    def wait(self, seconds):
        assert seconds == 60.0
        self.calls.append("wait")


class Recording:
    """The recorder of a robot in namespace /r."""

    def __init__(self, bench, monkeypatch, **settings):
        self.time, self.told, self.discovered, timers = Moment(), [], [], []
        monkeypatch.setattr(recorder, "time", self.time)
        monkeypatch.setattr(recorder, "TopicTaps", self._taps)
        monkeypatch.setattr(recorder, "BagSaver", self._saver)
        create = RecorderNode.create_timer

        def create_timer(node, period, callback, **options):
            timers.append((period, callback))
            return create(node, period, callback, **options)

        monkeypatch.setattr(RecorderNode, "create_timer", create_timer)
        self.node = bench.add(RecorderNode(RecorderSettings(**settings), self.told.append, namespace="/r"))
        self.timers = dict(timers)

    def _taps(self, node, take, latch):
        self.take = take
        found = self.discovered
        return SimpleNamespace(namespace="/r/", channels={"/r/a": "channel a"}, discover=lambda: found.append("topics"))

    def _saver(self, namespace, tell):
        self.saver = Saver(namespace, tell)
        return self.saver

    def hear(self, topic, message):
        self.take(RecordedMessage(self.time.monotonic_ns(), topic, serialize_message(message)))

    def state(self, text):
        self.hear("/r/gait_state", String(data=text))

    def diagnose(self, name, level):
        status = DiagnosticStatus(name=name, level=bytes([level]), message="it is hot")
        self.hear("/diagnostics", DiagnosticArray(status=[status]))

    def later(self, seconds):
        """Lets time pass. Returns the reasons of the bags so far."""
        self.time.now += seconds
        self.timers[0.1]()
        return [reason for _, _, reason in self.saver.saved]


@pytest.fixture
def make(bench, monkeypatch):
    return lambda **settings: Recording(bench, monkeypatch, **settings)


@pytest.mark.parametrize("state", ["fault", "fallen"])
def test_a_fault_in_the_state_is_a_bag_two_seconds_later_once(make, state):
    recording = make()
    for shown in ("walking", state, state):
        recording.state(shown)
    assert recording.later(1.9) == []
    assert recording.later(0.2) == [f"gait_state is {state}"]
    assert recording.later(10.0) == [f"gait_state is {state}"]


def test_faults_within_the_length_of_the_buffer_share_a_bag_and_later_ones_have_their_own(make):
    recording, found = make(seconds=30.0), []
    for pause in (0.0, 27.0, 2.0, 0.0):
        recording.later(pause)
        recording.state("fault")
        recording.state("standing")
        found.append(len(recording.later(2.1)))
    assert found == [1, 1, 2, 2]


def test_an_error_of_a_node_of_this_robot_is_a_fault_until_it_is_gone(make):
    recording = make(seconds=1.0)
    for name, level in (("/other/servo_driver", 2), ("/r/recorder", 2), ("/r/servo_driver", 1), ("/r/odometry", 0)):
        recording.diagnose(name, level)
    assert recording.later(2.1) == []
    recording.diagnose("/r/servo_driver", 2)
    assert recording.later(2.1) == ["/r/servo_driver: it is hot"]
    recording.diagnose("/r/servo_driver", 2)
    assert len(recording.later(2.1)) == 1
    recording.diagnose("/r/servo_driver", 0)
    recording.diagnose("/r/servo_driver", 2)
    assert len(recording.later(2.1)) == 2


def test_after_ten_bags_of_faults_no_more_are_written_which_is_reported_once(make):
    recording, reports = make(seconds=1.0), []
    for number in range(1, 14):
        recording.state("fault")
        recording.state("standing")
        assert len(recording.later(2.1)) == min(number, 10) and MAX_FAULT_BAGS == 10
        reports.append(recording.node.sent_reports.get("fault limit"))
    assert reports[9] is None and reports[10] is reports[12] and reports[10].level is ReportLevel.WARNING
    assert reports[10].text.startswith("10 faults have been recorded: further ones are not")


def test_the_bag_of_a_fault_waits_for_the_one_that_is_being_written(make):
    recording = make()
    recording.state("fault")
    recording.saver.busy = True
    assert recording.later(5.0) == []
    recording.saver.busy = False
    assert len(recording.later(0.1)) == 1


def test_messages_are_kept_and_topics_looked_for_four_times_a_second(make, tmp_path):
    recording = make(out=tmp_path, seconds=30.0)
    assert set(recording.timers) >= {0.25, 0.1} and len(recording.discovered) == 1
    recording.timers[0.25]()
    assert len(recording.discovered) == 2 and RecorderSettings().seconds == 60.0
    for second in range(41):
        recording.time.now = 1000.0 + second
        recording.state("walking")
    assert len(recording.node.ring) == 31
    assert recording.node.status() == {"seconds": 30.0, "topics": 1, "bytes": recording.node.ring.size}
    assert recording.node.save("by key") == (True, "saving: by key")
    assert [(names, path.parent, why) for names, path, why in recording.saver.saved] == [
        (["channel a"], tmp_path, "by key")
    ] and recording.saver.namespace == "/r/"
    assert RecorderSettings().max_bytes == 256 * 2**20 and RecorderSettings().out == Path()


@pytest.mark.parametrize(
    ("good", "kind", "level", "text"),
    [(True, "saved", ReportLevel.OK, "written: bag"), (False, "not saved", ReportLevel.ERROR, "bag")],
)
def test_every_bag_is_announced_and_reported(make, good, kind, level, text):
    recording = make()
    assert recording.node.failed_last is False
    for _ in range(2):
        recording.saver.tell(good, "bag")
    report = recording.node.sent_reports[kind]
    assert recording.told == ["bag"] * 2 and recording.node.failed_last is not good
    assert (report.level, report.text) == (level, text) and report.logged == report.when


def test_at_its_end_the_recorder_waits_for_the_last_messages_and_then_for_its_bags(make):
    recording = make()
    assert recording.node.stopped()
    recording.node.request_stop()
    for after, stopped in ((0.29, False), (0.02, True)):
        recording.time.now += after
        assert recording.node.stopped() is stopped
    recording.state("fault")
    recording.node.publish_final_state()
    assert recording.saver.calls == ["wait", "save", "wait"]
    assert recording.later(2.1) == ["end of the recording"] and LAST_MESSAGES_S == 0.3
