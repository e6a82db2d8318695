# SPDX-License-Identifier: Apache-2.0
"""The recordings of the page on the disk, and the addresses under which they are fetched."""

import shutil

import pytest

from hexapod_control.nodes.web.recordings.recording_folder import RecordingFolder
from hexapod_control.web.sessions.access_control import MAX_OFFERS, VALID_S, Download, Downloads
from hexapod_control.web.sessions.client_sessions import ClientSessions, Forward

METADATA = "rosbag2_bagfile_information:\n  version: 9\n  duration:\n    nanoseconds: 12300000000\n"


def made(folder, name, size=1000, metadata=METADATA):
    (folder / name).mkdir(parents=True)
    (folder / name / f"{name}.mcap").write_bytes(bytes(size))
    if metadata:
        (folder / name / "metadata.yaml").write_text(metadata)


@pytest.fixture
def folder(tmp_path):
    for name in ("b", "a"):
        made(tmp_path / "bags", name)
    made(tmp_path / "bags", "c", metadata="")
    made(tmp_path, "private")
    (tmp_path / "bags" / "other").mkdir()
    return RecordingFolder(tmp_path / "bags", 5000)


def test_recordings_are_listed_with_size_and_length_the_newest_first(folder):
    found = [(each.name, each.seconds) for each in folder.recordings()]
    assert found == [("c", None), ("b", 12.3), ("a", 12.3)]
    assert folder.recordings()[0].size == 1000
    assert RecordingFolder(folder.path / "none", 1).recordings() == []


@pytest.mark.parametrize("name", ["../private", "private", "other", "", ".", "..", "a/../../private", "/etc", "*"])
def test_only_names_of_the_list_are_found_or_deleted(folder, name):
    assert folder.find(name) is None
    assert "is not a recording" in folder.delete(name)
    assert len(folder.recordings()) == 3
    assert (folder.path.parent / "private").exists()


def test_a_deleted_recording_makes_room(folder):
    assert folder.full == ""
    made(folder.path, "d", 3000)
    assert folder.full.endswith("the recordings take 0 MB, their limit: delete some")
    assert folder.delete("d") == ""
    assert folder.find("d") is None
    assert folder.free_bytes == 5000 - 3000 - 2 * len(METADATA)


def test_a_recording_that_cannot_be_deleted_stays_with_a_reason(folder, monkeypatch):
    def refuse(path):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(shutil, "rmtree", refuse)
    assert folder.delete("a").endswith("a: cannot be deleted: Operation not permitted")


def test_an_address_is_valid_for_a_minute_and_the_oldest_ones_are_forgotten():
    downloads = Downloads()
    download = Download("a.mcap", "text/csv")
    ticket = downloads.offer(download, 100.0).rpartition("/")[2]
    assert downloads.find(ticket, 100.0 + VALID_S - 1.0) is download
    assert downloads.find(ticket, 100.0 + VALID_S + 1.0) is None
    assert downloads.find("guess", 100.0) is None
    for _ in range(MAX_OFFERS):
        downloads.offer(download, 101.0)
    assert downloads.find(ticket, 101.0) is None


def test_a_watcher_may_record_and_replay_but_only_the_driver_deletes():
    sessions = ClientSessions(lambda *_: "key", dict)
    driver, watcher = (sessions.connect("x", 0.0) for _ in range(2))
    for client in (driver, watcher):
        sessions.receive(client, '{"v": 2, "n": 1, "t": "hello"}', 0.0)
    sessions.receive(driver, '{"v": 2, "n": 2, "t": "control", "act": "take"}', 0.0)
    forwarded = {}
    for n, act in enumerate(("start", "keep", "bag", "delete"), 2):
        text = f'{{"v": 2, "n": {n}, "t": "recording", "act": "{act}", "name": "a"}}'
        forwarded[act] = any(isinstance(action, Forward) for action in sessions.receive(watcher, text, 1.0))
    assert forwarded == {"start": True, "keep": True, "bag": True, "delete": False}
