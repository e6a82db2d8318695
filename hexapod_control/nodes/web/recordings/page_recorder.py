# SPDX-License-Identifier: Apache-2.0
"""Carries out the page's requests about recordings: start, stop, keep the last minute, delete, download, replay.

The last minute is kept in memory while a page is open, and for a minute after the last one was closed. Reading and
writing bags needs a library that takes long to import: that is done in a thread when the first page opens.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from hexapod_control.config.missing_modules import missing_module
from hexapod_control.core.names import quoted
from hexapod_control.nodes.web.recordings.recording_folder import Recording, RecordingFolder
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.web.protocol import RecordingMessage
from hexapod_control.web.sessions.access_control import Download, Downloads

PACKAGE = __name__.rpartition(".")[0]
POLL_PERIOD_S = 0.5
IDLE_S = 60.0  # time without a page after which the recording in memory ends
CSV = "text/csv"
JSON = "application/json"
MCAP = "application/octet-stream"


class PageRecorder:
    """Carries out the requests of pages; `watch` starts and ends the recording in memory."""

    def __init__(
        self,
        node: GuardedNode,
        folder: RecordingFolder,
        downloads: Downloads,
        robot: tuple[str, str],
        send: Callable[[int, str, Mapping[str, Any]], None],
    ) -> None:
        """`robot` are the robot file and its joint mapping; `send(client, kind, fields)` sends a message to a page."""
        self._node = node
        self._folder = folder
        self._downloads = downloads
        self._robot = robot
        self._send = send
        self._live: Any = None  # a LiveRecorder
        self._thread: threading.Thread | None = None  # imports it
        self._closed = False
        self._missing = ""  # why nothing can be recorded
        self._page_at = 0.0  # [s] steady time at which a page was open
        self._timer = node.create_timer(POLL_PERIOD_S, self._poll, clock=node.steady)
        self._timer.cancel()  # runs while something is recorded
        self._acts: Mapping[str, Callable[[int, str], None]] = {
            "start": lambda page, name: self._record(page, "start"),
            "stop": lambda page, name: self._record(page, "stop"),
            "keep": lambda page, name: self._record(page, "keep"),
            "delete": self._delete,
            "bag": self._offer,
            "csv": self._offer_table,
            "replay": self._offer_replay,
        }

    def execute(self, page: int, message: RecordingMessage) -> None:
        """Carries out a request of a page."""
        self._acts[message.act](page, message.name)

    def status(self) -> dict[str, Any]:
        """The fields of a `status` message; `buffered` [s] is None while there is no recorder."""
        live = self._live
        return {"recording": live and live.recording, "buffered": round(live.buffered) if live else None}

    def send_list(self, page: int) -> None:
        """Sends the list of recordings to a page, or to all of them (0)."""
        self._node.threads.run_outside(self._folder.recordings, partial(self._send_found, page))

    def _send_found(self, page: int, recordings: Sequence[Recording]) -> None:
        self._send(page, "recordings", {"list": [asdict(each) for each in recordings], "missing": self._missing})

    # --- recording ------------------------------------------------------------------------------------------------

    def watch(self, pages: int) -> None:
        """Records in memory while there are pages; call it regularly."""
        now = time.monotonic()
        if pages:
            self._page_at = now
            if self._live is None and self._thread is None and not self._missing:
                self._thread = threading.Thread(target=self._load, daemon=True)
                self._thread.start()
        elif self._live is not None and not self._live.busy and now - self._page_at > IDLE_S:
            self.close()
            self._live = None
            self._timer.cancel()

    def _load(self) -> None:
        try:
            recorder_class = import_module(f"{PACKAGE}.live_recorder").LiveRecorder
            self._node.run_in_executor(lambda: self._begin(recorder_class))
        except ModuleNotFoundError as error:
            self._missing = missing_module(error) or str(error)
            self._node.run_in_executor(lambda: self.send_list(0))

    def _begin(self, recorder_class: Callable[..., Any]) -> None:
        self._thread = None
        self._live = recorder_class(self._node, self._folder, self._tell)
        self._closed = False
        self._live.discover()
        self._timer.reset()

    def _poll(self) -> None:
        if self._live is not None:
            self._live.poll()
            if not self._closed:
                self._live.discover()

    def close(self) -> None:
        """Ends the recording in memory; the present bag is still completed, during which `busy` is true."""
        self._closed = True
        if self._live is not None:
            self._live.close()

    @property
    def busy(self) -> bool:
        """True while a bag is being written."""
        return self._live is not None and bool(self._live.busy)

    def _record(self, page: int, act: str) -> None:
        if self._live is None:
            self._refuse(page, self._missing or "the recorder is starting: try again in a moment")
        else:
            getattr(self._live, act)()

    def keep_for_report(self) -> None:
        """Writes the last minute to a bag, if there is one in memory and none is being written."""
        if self._live is not None and self._live.buffered and not self.busy:
            self._live.keep()

    def _tell(self, good: bool, text: str) -> None:
        self._send(0, "answer", {"what": "recording", "ok": good, "text": text})
        self.send_list(0)

    def _refuse(self, page: int, text: str) -> None:
        self._send(page, "answer", {"what": "recording", "ok": False, "text": text})

    # --- files ----------------------------------------------------------------------------------------------------

    def _delete(self, page: int, name: str) -> None:
        self._node.threads.run_outside(partial(self._folder.delete, name), partial(self._deleted, page))

    def _deleted(self, page: int, refusal: str) -> None:
        if refusal:
            self._refuse(page, refusal)
        self.send_list(0)

    def _offer(self, page: int, name: str) -> None:
        self._find(
            page, name, lambda file: self._announce(page, "bag", name, Download(f"{name}.mcap", MCAP, path=file))
        )

    def _offer_table(self, page: int, name: str) -> None:
        self._offer_export(page, name, "csv", CSV)

    def _offer_replay(self, page: int, name: str) -> None:
        self._offer_export(page, name, "replay", JSON)

    def _offer_export(self, page: int, name: str, export: str, media_type: str) -> None:
        """Offers a download that another process converts from the bag, so that the robot is not disturbed."""

        def offer(file: Path) -> None:
            command = (sys.executable, "-m", f"{PACKAGE}.recording_export", export, str(file), *self._robot)
            self._announce(page, export, name, Download(f"{name}.{export}", media_type, command=command))

        self._find(page, name, offer)

    def _find(self, page: int, name: str, use: Callable[[Path], None]) -> None:
        """Passes the bag of this name on, or refuses the request."""

        def found(file: Path | None) -> None:
            if file is None:
                self._refuse(page, f"{quoted(name)} is not a recording")
            else:
                use(file)

        self._node.threads.run_outside(partial(self._folder.find, name), found)

    def _announce(self, page: int, kind: str, name: str, download: Download) -> None:
        address = self._downloads.offer(download, time.monotonic())
        self._send(page, "download", {"what": kind, "name": name, "file": download.name, "address": address})
