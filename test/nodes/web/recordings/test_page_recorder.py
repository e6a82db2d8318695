# SPDX-License-Identifier: Apache-2.0
"""Recording for the page on real DDS: the last minute and bags of any length, files, and what is refused."""

import sys
import time

import pytest
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import CompressedImage, JointState
from std_msgs.msg import String

from hexapod_control.bags import bag_file
from hexapod_control.config.missing_modules import missing_module
from hexapod_control.nodes.web.recordings import page_recorder
from hexapod_control.nodes.web.recordings.page_recorder import PACKAGE, PageRecorder
from hexapod_control.nodes.web.recordings.recording_folder import RecordingFolder
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.qos import LATCHED
from hexapod_control.web.protocol import RecordingMessage
from hexapod_control.web.sessions.access_control import Downloads

PAGE = 3
SHORT_POLL_PERIOD_S = 0.05  # between two looks for topics and complete bags
JOINTS, STATE = "/r/joint_states", "/r/gait_state"
ROBOT = ("robot.yaml", "mapping.yaml")


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    monkeypatch.setattr(page_recorder, "POLL_PERIOD_S", SHORT_POLL_PERIOD_S)


class Page:
    """A page of a robot in namespace /r that publishes its state, joints and images."""

    def __init__(self, bench, folder, limit=10**9):
        self.bench, self.sent, self.downloads = bench, [], Downloads()
        self.folder = RecordingFolder(folder, limit)
        self.joints = bench.probe.create_publisher(JointState, JOINTS, 10)
        self.state = bench.probe.create_publisher(String, STATE, LATCHED)
        self.images = bench.probe.create_publisher(CompressedImage, "/r/image_raw/compressed", 10)
        self.state.publish(String(data="standing"))
        self.node = bench.add(GuardedNode("web", namespace="/r"))
        self.recorder = PageRecorder(self.node, self.folder, self.downloads, ROBOT, self._send)

    def _send(self, *message):
        self.sent.append(message)

    def ask(self, act, name=""):
        """Requests something and waits for the work on files that follows."""
        self.recorder.execute(PAGE, RecordingMessage(act, name))
        self.settle()

    def settle(self):
        """Waits for the work on files that is under way, and for the work that its result starts."""
        for _ in range(2):
            done = []
            self.node.threads.run_outside(lambda: None, done.append)
            self.bench.until(lambda: done)  # noqa: B023 - called at once

    def got(self, kind):
        """The messages of a kind, each with the page to which it was sent."""
        return [(page, fields) for page, sent, fields in self.sent if sent == kind]

    def refused(self):
        """Why the last request of this page was refused."""
        page, answer = self.got("answer")[-1]
        assert (page, answer["what"], answer["ok"]) == (PAGE, "recording", False)
        return answer["text"]

    def open(self):
        """Opens the page, and waits until the recorder receives what the robot publishes."""
        self.recorder.watch(1)
        self.bench.until(lambda: all(topic.get_subscription_count() for topic in (self.joints, self.state)))

    def publish(self, angle):
        self.joints.publish(JointState(name=["a"], position=[angle]))

    def told(self, good=True):
        """Waits for the result of a recording. Returns its text; all pages also get the new list."""
        self.sent.clear()
        self.bench.until(lambda: self.got("recordings"), 10.0, "a bag")
        ((page, answer),) = self.got("answer")
        assert (page, answer["what"], answer["ok"]) == (0, "recording", good)
        assert self.got("recordings")[-1][0] == 0
        return answer["text"]


def written(path):
    """The topics of a bag, and the joint angles and states in it."""
    with bag_file.open_bag(path) as bag:
        angles = [deserialize_message(data, JointState).position[0] for _, _, data in bag.raw({JOINTS})]
        return {c.topic for c in bag.channels}, angles, [message.data for _, message in bag.messages(STATE)]


def test_while_a_page_is_open_the_last_minute_is_kept_and_bags_are_recorded(bench, tmp_path):
    page = Page(bench, tmp_path)
    assert page.recorder.status() == {"recording": None, "buffered": None}
    page.ask("start")
    assert page.refused() == "the recorder is starting: try again in a moment"
    page.open()
    page.sent.clear()
    page.publish(1.0)
    bench.spin(0.6)
    page.publish(2.0)
    bench.until(lambda: page.recorder.status() == {"recording": None, "buffered": 1})
    page.ask("keep")
    page.ask("keep")
    assert page.recorder.busy
    ((_, second),) = page.got("answer")
    assert not second["ok"] and second["text"] == "a bag is being written: save again when it is complete"
    text = page.told()
    (kept,) = tmp_path.iterdir()
    assert text.startswith(f"{kept}: 1 s with ") and text.endswith(" messages (the last minute)")
    assert not page.recorder.busy
    topics, angles, states = written(kept)
    assert topics >= {JOINTS, STATE, "/diagnostics"} and "/r/image_raw/compressed" not in topics
    assert (angles, states) == ([1.0, 2.0], ["standing"])
    began = time.monotonic()
    page.ask("start")
    page.ask("start")  # already does
    assert page.recorder.busy
    assert page.recorder.status()["recording"]["seconds"] <= time.monotonic() - began + 0.05
    page.publish(3.0)
    page.publish(4.0)
    bench.until(lambda: page.recorder.status()["recording"]["seconds"] >= 0.2)
    assert time.monotonic() - began > 0.1
    page.ask("stop")
    recorded = bag_file.Path(page.told())
    assert {kept, recorded} == set(tmp_path.iterdir())
    _, angles, states = written(recorded)
    assert (angles, states) == ([3.0, 4.0], ["standing"])
    assert page.recorder.status()["recording"] is None


def test_without_a_page_nothing_is_recorded_after_a_while_but_a_bag_is_completed(bench, tmp_path, monkeypatch):
    monkeypatch.setattr(page_recorder, "IDLE_S", 0.2)
    page = Page(bench, tmp_path)
    page.recorder.watch(0)
    page.open()
    page.recorder.watch(1)
    page.recorder.watch(0)
    page.ask("start")
    assert page.recorder.busy
    bench.spin(0.25)
    page.recorder.watch(0)
    assert page.recorder.status()["recording"]
    page.ask("stop")
    page.told()
    page.recorder.watch(0)
    assert page.recorder.status() == {"recording": None, "buffered": None} and not page.recorder.busy
    page.ask("keep")
    assert "try again" in page.refused()
    bench.until(lambda: not page.joints.get_subscription_count())
    page.open()
    page.publish(1.0)
    page.ask("start")
    page.recorder.close()
    assert page.recorder.busy
    assert page.told() == str(max(tmp_path.iterdir()))
    bench.spin(3.0 * SHORT_POLL_PERIOD_S)
    assert not page.recorder.busy and not page.joints.get_subscription_count()


def test_when_the_recordings_are_at_their_limit_nothing_more_is_recorded(bench, tmp_path):
    page = Page(bench, tmp_path, limit=0)
    page.open()
    for act in ("start", "keep"):
        page.settle()
        page.sent.clear()
        page.ask(act)
        ((to, answer),) = page.got("answer")
        assert (to, answer["ok"]) == (0, False) and answer["text"].endswith("0 MB, their limit: delete some")
    assert not page.recorder.busy and not list(tmp_path.iterdir())


def test_without_the_library_of_bags_every_page_gets_the_remedy(bench, tmp_path, monkeypatch):
    page = Page(bench, tmp_path)
    monkeypatch.delitem(sys.modules, f"{PACKAGE}.live_recorder", raising=False)
    monkeypatch.delitem(sys.modules, "hexapod_control.bags.bag_file")
    monkeypatch.setitem(sys.modules, "rosbags.interfaces", None)
    page.recorder.watch(1)
    bench.until(lambda: page.sent)
    ((to, answer),) = page.got("recordings")
    assert (to, answer) == (0, {"list": [], "missing": missing_module(ModuleNotFoundError(name="rosbags"))})
    page.recorder.watch(1)
    page.ask("start")
    assert page.refused() == answer["missing"]


def test_recordings_are_offered_as_a_bag_a_table_and_a_replay_of_this_robot(bench, tmp_path):
    bag = tmp_path / "a" / "a_0.mcap"
    bag.parent.mkdir()
    bag.write_bytes(bytes(7))
    page = Page(bench, tmp_path)
    kinds = {
        "bag": ("mcap", "application/octet-stream"),
        "csv": ("csv", "text/csv"),
        "replay": ("replay", "application/json"),
    }
    for act, (ending, kind) in kinds.items():
        page.ask(act, "a")
        to, offer = page.got("download")[-1]
        address = offer.pop("address")
        assert (to, offer) == (PAGE, {"what": act, "name": "a", "file": f"a.{ending}"})
        found = page.downloads.find(address.rpartition("/")[2], time.monotonic())
        assert (found.name, found.kind) == (f"a.{ending}", kind)
        program = (sys.executable, "-m", f"{PACKAGE}.recording_export", act, str(bag), *ROBOT)
        assert (found.path, found.command) == ((bag, ()) if act == "bag" else (None, program))
        page.ask(act, "b")
        assert page.refused() == "'b' is not a recording"
    page.recorder.send_list(5)
    page.settle()
    listed = {"list": [{"name": "a", "size": 7, "seconds": None}], "missing": ""}
    assert page.got("recordings") == [(5, listed)]


def test_a_deleted_recording_leaves_the_lists_of_all_pages_and_an_unknown_one_is_refused(bench, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "a.mcap").touch()
    page = Page(bench, tmp_path)
    page.ask("delete", "b")
    assert page.refused() == "'b' is not a recording"
    page.ask("delete", "a")
    assert [(to, len(fields["list"])) for to, fields in page.got("recordings")] == [(0, 1), (0, 0)]
    assert len(page.got("answer")) == 1
