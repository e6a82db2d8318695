# SPDX-License-Identifier: Apache-2.0
"""Requests of a page to its recorder, with stand-ins for bags and topics: what each starts, and what is refused."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from support.kits.plain_node import Moment, PlainNode

from hexapod_control.bags.bag_file import BagError
from hexapod_control.bags.ring_buffer import RecordedMessage
from hexapod_control.nodes.web.recordings import live_recorder, page_recorder
from hexapod_control.nodes.web.recordings.live_recorder import BUFFER_S, LARGE_KINDS, MAX_BYTES, MIN_BYTES, LiveRecorder
from hexapod_control.nodes.web.recordings.page_recorder import IDLE_S, PageRecorder
from hexapod_control.nodes.web.recordings.recording_folder import RecordingFolder
from hexapod_control.web.protocol import RecordingMessage
from hexapod_control.web.sessions.access_control import Downloads

PAGE = 3


class Live:
    """Stands in for the recorder in memory."""

    def __init__(self, node, folder, tell):
        self.tell, self.asked, self.busy, self.recording, self.buffered = tell, [], False, None, 7.6

    def __getattr__(self, name):
        return lambda: self.asked.append(name)


class Thread:
    """Stands in for the thread that imports the recorder; it runs at once."""

    def __init__(self, target, daemon):
        assert daemon
        self.start = target


class Page:
    """The recorder of a page whose node has no middleware."""

    def __init__(self, monkeypatch, folder):
        self.time, self.sent, self.made, self.missing = Moment(), [], [], None
        monkeypatch.setattr(page_recorder, "time", self.time)
        monkeypatch.setattr(page_recorder, "threading", SimpleNamespace(Thread=Thread))
        monkeypatch.setattr(page_recorder, "import_module", self._imported)
        self.node, self.downloads = PlainNode(moment=self.time), Downloads()
        self.folder = RecordingFolder(folder, 10**9)
        self.recorder = PageRecorder(self.node, self.folder, self.downloads, ("robot.yaml", ""), self._send)
        (self.timer,) = self.node.plain_timers

    def _imported(self, name):
        assert name == "hexapod_control.nodes.web.recordings.live_recorder"
        if self.missing:
            raise self.missing
        return SimpleNamespace(LiveRecorder=lambda *what: self.made.append(Live(*what)) or self.made[-1])

    def _send(self, *message):
        self.sent.append(message)

    def ask(self, act, name=""):
        self.sent.clear()
        self.recorder.execute(PAGE, RecordingMessage(act, name))
        return self.sent

    def refused(self):
        ((to, kind, fields),) = [message for message in self.sent if message[1] == "answer"]
        assert (to, kind, fields["what"], fields["ok"]) == (PAGE, "answer", "recording", False)
        return fields["text"]


@pytest.fixture
def page(monkeypatch, tmp_path):
    return Page(monkeypatch, tmp_path)


def test_with_a_page_topics_are_recorded_and_looked_for_twice_a_second(page):
    assert page.timer.period == 0.5 and not page.timer.runs and not page.recorder.busy
    page.recorder.watch(0)
    assert not page.made and page.recorder.status() == {"recording": None, "buffered": None}
    for _ in range(2):
        page.recorder.watch(1)
    (live,) = page.made
    assert live.asked == ["discover"] and page.timer.runs
    page.timer.callback()
    assert live.asked == ["discover", "poll", "discover"]
    live.recording = {"seconds": 1.0, "bytes": 9}
    assert page.recorder.status() == {"recording": {"seconds": 1.0, "bytes": 9}, "buffered": 8}


def test_a_minute_after_the_last_page_nothing_is_recorded_unless_a_bag_is_being_written(page):
    page.recorder.watch(1)
    (live,) = page.made
    page.time.now += 59.9
    page.recorder.watch(0)
    live.busy = True
    assert page.recorder.busy and IDLE_S == 60.0
    page.time.now += 0.2
    page.recorder.watch(0)
    assert "close" not in live.asked
    live.busy = False
    page.recorder.watch(0)
    assert live.asked[-1] == "close" and not page.timer.runs and not page.recorder.busy
    page.timer.callback()
    page.recorder.watch(1)
    assert len(page.made) == 2 and page.timer.runs


def test_at_the_end_no_new_topics_are_looked_for_until_the_bag_is_complete(page):
    page.recorder.close()
    page.recorder.watch(1)
    (live,) = page.made
    page.recorder.close()
    assert live.asked[-1] == "close"
    page.timer.callback()
    assert live.asked[-1] == "poll"


@pytest.mark.parametrize("act", ["start", "stop", "keep"])
def test_a_request_to_record_goes_to_the_recorder_once_there_is_one(page, act):
    page.ask(act)
    assert page.refused() == "the recorder is starting: try again in a moment"
    page.recorder.watch(1)
    page.ask(act)
    assert page.made[0].asked == ["discover", act] and not page.sent


def test_the_result_of_a_recording_goes_to_all_pages_with_the_new_list(page):
    page.recorder.watch(1)
    page.made[0].tell(True, "written")
    assert page.sent == [
        (0, "answer", {"what": "recording", "ok": True, "text": "written"}),
        (0, "recordings", {"list": [], "missing": ""}),
    ]


def test_without_its_libraries_nothing_can_be_recorded_and_all_pages_know_why(page):
    page.missing = ModuleNotFoundError("No module named 'rosbags'", name="rosbags")
    page.recorder.watch(1)
    ((to, kind, fields),) = page.sent
    assert (to, kind) == (0, "recordings") and "rosbags" in fields["missing"]
    page.recorder.watch(1)
    page.ask("start")
    assert page.refused() == fields["missing"] and not page.made


def test_only_recordings_of_the_list_are_offered_or_deleted(page, tmp_path):
    for act in ("bag", "csv", "replay"):
        page.ask(act, "b")
        assert page.refused() == "'b' is not a recording" and len(page.sent) == 1
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "a.mcap").touch()
    for act, file in (("bag", "a.mcap"), ("csv", "a.csv"), ("replay", "a.replay")):
        ((to, kind, fields),) = page.ask(act, "a")
        assert (to, kind, fields["what"], fields["name"], fields["file"]) == (PAGE, "download", act, "a", file)
    page.ask("delete", "b")
    assert page.refused() == "'b' is not a recording"
    assert [kind for _, kind, _ in page.sent] == ["answer", "recordings"]
    assert page.ask("delete", "a") == [(0, "recordings", {"list": [], "missing": ""})]


# --- in memory ------------------------------------------------------------------------------------------------


class Bag:
    """Stands in for a bag that is being recorded."""

    def __init__(self, path, channels, first, max_bytes):
        self.path, self.channels, self.first, self.max_bytes = path, channels, first, max_bytes
        self.added, self.size, self.since, self.running, self.reason = [], 123, 1000.0, True, ""

    def add(self, message):
        self.added.append(message)

    def end(self):
        self.running = False


class Saver:
    """Stands in for the saver of the last minute."""

    busy, answer = False, (True, "started")

    def __init__(self, namespace, tell):
        self.namespace, self.tell, self.saved, self.polls = namespace, tell, [], 0

    def save(self, ring, channels, path, reason):
        self.saved.append((list(channels), path, reason))
        return self.answer

    def poll(self):
        self.polls += 1


class Memory:
    """The recorder in memory, with stand-ins for topics and bags."""

    def __init__(self, monkeypatch, folder):
        self.time, self.told, self.bags, self.full, self.unusable = Moment(), [], [], "", None
        monkeypatch.setattr(live_recorder, "time", self.time)
        monkeypatch.setattr(live_recorder, "TopicTaps", self._taps)
        monkeypatch.setattr(live_recorder, "BagSaver", self._saver)
        monkeypatch.setattr(live_recorder, "LongRecording", lambda *what: self.bags.append(Bag(*what)) or self.bags[-1])
        monkeypatch.setattr(live_recorder, "new_path", self._path)
        self.folder = SimpleNamespace(path=folder, free_bytes=5000, full="")
        self.node = PlainNode(moment=self.time)
        self.recorder = LiveRecorder(self.node, self.folder, lambda *what: self.told.append(what))

    def _taps(self, node, take, latch, skipped):
        assert (node, skipped) == (self.node, LARGE_KINDS)
        self.take, self.latch, self.asked = take, latch, []
        return SimpleNamespace(
            namespace="/r/",
            channels={"/r/a": "channel a"},
            discover=lambda: self.asked.append("discover"),
            close=lambda: self.asked.append("close"),
        )

    def _saver(self, namespace, tell):
        assert namespace == "/r/"
        self.saver = Saver(namespace, tell)
        return self.saver

    def _path(self, folder, size):
        assert size in (MIN_BYTES, 0)  # of a new bag, and of the empty buffer
        if self.unusable:
            raise self.unusable
        return folder / "new"

    def hear(self, at, topic="/r/a"):
        message = RecordedMessage(round(1e9 * at), topic, b"data")
        self.take(message)
        return message


@pytest.fixture
def memory(monkeypatch, tmp_path):
    return Memory(monkeypatch, tmp_path)


def test_the_last_minute_is_kept_in_memory_and_large_images_are_not(memory):
    for second in range(100):
        memory.hear(900.0 + second)
    assert (
        memory.recorder.buffered == pytest.approx(60.0)
        and BUFFER_S == 60.0
        and MAX_BYTES == 64 * 2**20
        and MIN_BYTES == 10**6
    )
    assert "sensor_msgs/msg/CompressedImage" in LARGE_KINDS and len(LARGE_KINDS) == 3
    memory.recorder.discover()
    assert memory.asked == ["discover"]


def test_a_bag_has_what_comes_from_its_start_to_its_end_after_what_is_latched(memory, tmp_path):
    memory.latch("/r/state")
    state, before = memory.hear(990.0, "/r/state"), memory.hear(999.0)
    memory.recorder.stop()
    assert memory.recorder.recording is None and not memory.recorder.busy
    for _ in range(2):
        memory.recorder.start()
    (bag,) = memory.bags
    assert (bag.path, bag.channels, bag.max_bytes) == (tmp_path / "new", {"/r/a": "channel a"}, 5000)
    assert bag.first == [state._replace(at=1000 * 10**9)] and before not in bag.added
    memory.time.now += 2.34
    assert memory.recorder.recording == {"seconds": 2.3, "bytes": 123} and memory.recorder.busy
    after = memory.hear(1001.0)
    assert bag.added == [after]
    memory.recorder.poll()
    assert not memory.told
    memory.recorder.stop()
    memory.recorder.poll()
    assert memory.told == [(True, str(tmp_path / "new"))] and memory.recorder.recording is None
    assert not memory.recorder.busy and memory.saver.polls == 2


def test_a_bag_that_ends_by_itself_is_reported_with_its_reason(memory):
    memory.recorder.start()
    memory.bags[0].running, memory.bags[0].reason = False, "the disk is full"
    memory.recorder.poll()
    memory.recorder.poll()
    assert memory.told == [(False, "the disk is full")]


def test_nothing_is_started_in_a_folder_that_is_full_or_cannot_be_used(memory):
    memory.unusable = BagError("no bag can be written there")
    memory.recorder.start()
    memory.folder.full = "the recordings are at their limit"
    memory.recorder.start()
    memory.recorder.keep()
    assert memory.told == [(False, text) for text in (str(memory.unusable), *[memory.folder.full] * 2)]
    assert not memory.bags and not memory.saver.saved


@pytest.mark.parametrize(("answer", "busy", "told"), [
    ((True, "started"), False, []),
    ((False, "nothing to write"), False, []),  # the reply of the saver
    ((False, "a bag is being written"), True, [(False, "a bag is being written")]),
])  # fmt: skip
def test_the_last_minute_is_saved_and_a_second_request_meanwhile_refused(memory, tmp_path, answer, busy, told):
    memory.saver.answer, memory.saver.busy = answer, busy
    memory.recorder.keep()
    assert memory.saver.saved == [(["channel a"], tmp_path / "new", "the last minute")] and memory.told == told
    assert memory.recorder.busy is busy


def test_at_its_end_the_bag_is_completed_and_nothing_more_is_received(memory):
    memory.recorder.start()
    memory.recorder.close()
    assert not memory.bags[0].running and memory.asked == ["close"] and memory.recorder.busy
    assert Path(memory.bags[0].path).name == "new"
