# SPDX-License-Identifier: Apache-2.0
"""Fault reports as files, with a recorder that the test plays; over the real node: test_web_node.py."""

import json
import zipfile
from types import SimpleNamespace

import pytest
from support.kits.plain_node import PlainNode

from hexapod_control.config.robots.robot_file import load
from hexapod_control.nodes.web.fault_report import MAX_BAG_BYTES, FaultReport
from hexapod_control.nodes.web.recordings.recording_folder import RecordingFolder
from hexapod_control.web.sessions.access_control import Downloads

ROBOT = load("phantomx").path


class Reports:
    """The reports of a node, and what was sent to pages."""

    def __init__(self, folder):
        self.sent, self.kept = [], 0
        self.folder, self.path = folder / "bags", folder / "state" / "report.zip"
        self.recorder = SimpleNamespace(busy=False, keep_for_report=self.keep)
        files = RecordingFolder(self.folder, 10**9)
        self.report = FaultReport(
            PlainNode(),
            (self.recorder, files),
            Downloads(),
            (ROBOT, self.path),
            lambda: {"log": ["fallen"]},
            lambda *message: self.sent.append(message),
        )

    def keep(self):
        self.kept += 1

    def record(self, size):
        (self.folder / "bag").mkdir(parents=True)
        with (self.folder / "bag" / "bag.mcap").open("wb") as file:
            file.truncate(size)

    def files(self):
        with zipfile.ZipFile(self.path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture
def reports(tmp_path):
    return Reports(tmp_path)


def test_all_pages_that_ask_get_one_report_once_the_last_minute_is_written(reports):
    reports.record(10)
    reports.report.watch()
    reports.report.request(3)
    reports.report.request(4)
    assert reports.kept == 1
    reports.recorder.busy = True
    for _ in range(3):
        reports.report.watch()
    assert not reports.path.exists() and not reports.sent
    reports.recorder.busy = False
    reports.report.watch()
    assert sorted(page for page, *_ in reports.sent) == [3, 4]
    files = reports.files()
    assert set(files) == {"system.json", "state.json", "phantomx.yaml", "bag.mcap"}
    assert json.loads(files["state.json"]) == {"log": ["fallen"]} and files["phantomx.yaml"] == ROBOT.read_bytes()
    reports.report.watch()
    assert len(reports.sent) == 2


@pytest.mark.parametrize("size", [0, MAX_BAG_BYTES])
def test_without_a_recording_or_with_a_huge_one_the_report_has_the_rest(reports, size):
    if size:
        reports.record(size)
    reports.report.request(3)
    reports.report.watch()
    reports.report.watch()
    assert set(reports.files()) == {"system.json", "state.json", "phantomx.yaml"}
