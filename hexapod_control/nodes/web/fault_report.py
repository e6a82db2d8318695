# SPDX-License-Identifier: Apache-2.0
"""A fault report as one file for an issue: log, state of all nodes, robot file, and the last minute as a bag."""

from __future__ import annotations

import io
import json
import platform
import time
import zipfile
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hexapod_control.config.file_replacement import replace_file
from hexapod_control.nodes.web.recordings.page_recorder import PageRecorder
from hexapod_control.nodes.web.recordings.recording_folder import RecordingFolder
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.web.sessions.access_control import Download, Downloads

MAX_BAG_BYTES = 50_000_000
ZIP = "application/zip"


class FaultReport:
    """Writes reports that pages request; `watch` is called every second."""

    def __init__(
        self,
        node: GuardedNode,
        recordings: tuple[PageRecorder, RecordingFolder],
        downloads: Downloads,
        files: tuple[Path, Path],
        collect: Callable[[], Mapping[str, Any]],
        send: Callable[[int, str, Mapping[str, Any]], None],
    ) -> None:
        """`files` are the robot file and the report; `collect` returns log and state as JSON fields.

        `send(client, kind, fields)` sends a message to a page.
        """
        self._node = node
        self._recorder, self._folder = recordings
        self._downloads = downloads
        self._robot, self._path = files
        self._collect = collect
        self._send = send
        self._pages: set[int] = set()  # that wait
        self._kept = False  # the last minute is being written

    def request(self, page: int) -> None:
        """Writes the last minute to a bag, and then a report for this page."""
        if not self._pages:
            self._kept = False
            self._recorder.keep_for_report()
        self._pages.add(page)

    def watch(self) -> None:
        """Begins the report when the bag is complete."""
        if self._pages and self._kept and not self._recorder.busy:
            content = json.dumps(self._collect(), indent=1, default=str, ensure_ascii=False)
            pages, self._pages = frozenset(self._pages), set()
            self._node.threads.run_outside(lambda: self._write(content), lambda name: self._offer(pages, name))
        self._kept = bool(self._pages)

    def _write(self, content: str) -> str:
        """Writes the file. Returns its name for the browser."""
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            system = {"hexapod_control": version("hexapod_control"), "python": platform.python_version()}
            archive.writestr("system.json", json.dumps({**system, "platform": platform.platform()}, indent=1))
            archive.writestr("state.json", content)
            archive.write(self._robot, self._robot.name)
            newest = next(iter(self._folder.recordings()), None)
            bag = self._folder.find(newest.name) if newest and newest.size < MAX_BAG_BYTES else None
            if bag is not None:
                archive.write(bag, bag.name)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(self._path, packed.getvalue())
        return time.strftime("hexapod_report_%Y-%m-%d_%H-%M-%S.zip")

    def _offer(self, pages: frozenset[int], name: str) -> None:
        for page in pages:
            address = self._downloads.offer(Download(name, ZIP, path=self._path), time.monotonic())
            self._send(page, "download", {"what": "report", "name": name, "file": name, "address": address})
