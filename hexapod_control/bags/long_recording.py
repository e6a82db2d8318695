# SPDX-License-Identifier: Apache-2.0
"""A recording of any length: a thread writes its messages to a bag while they arrive, within a limit of the disk."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from queue import SimpleQueue

from hexapod_control.bags import bag_file
from hexapod_control.bags.bag_file import SPARE_BYTES, BagChannel, BagWriter
from hexapod_control.bags.ring_buffer import RecordedMessage

MAX_WAITING = 50_000  # messages that are not written yet
CHECK_PERIOD_S = 0.5  # between two checks of the size and the free disk space
MAX_END_TIME_S = 10.0  # time limit for the thread to complete the bag


class LongRecording:
    """Writes until `end` is called, the size limit is reached or the disk is full; the bag is then complete."""

    def __init__(
        self, path: Path, channels: Mapping[str, BagChannel], first: Sequence[RecordedMessage], max_bytes: int
    ) -> None:
        """`channels` by topic may grow; `first` are messages from before the start, such as latched ones."""
        self.path = path
        self._channels = channels
        self._max_bytes = max_bytes
        self.since = time.monotonic()  # [s] steady time
        self.size = 0  # [B] on the disk
        self.reason = ""  # why it has ended by itself
        self.failed = False  # True if it was not written, for that reason
        self._queue: SimpleQueue[RecordedMessage | None] = SimpleQueue()
        self._offset = time.time_ns() - time.monotonic_ns()
        for message in first:
            self._queue.put(message)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        """False once the bag is complete, or was not written."""
        return self._thread.is_alive()

    def add(self, message: RecordedMessage) -> None:
        """Appends a message; it is dropped if the disk is far too slow, which ends the recording."""
        if self._queue.qsize() < MAX_WAITING:
            self._queue.put(message)
        elif not self.reason:
            self.reason = f"{self.path.parent}: the disk is too slow, so the recording has ended; use a faster one"
            self._queue.put(None)

    def end(self) -> None:
        """Lets the thread complete the bag; `running` is then False."""
        self._queue.put(None)

    def wait(self) -> None:
        """Waits until the bag is complete."""
        self._thread.join(MAX_END_TIME_S)

    def _run(self) -> None:
        try:
            with bag_file.writing(self.path, self._offset) as out:
                self._write(out)
        except Exception as error:  # a thread has no caller: every failure becomes a message
            self.reason = str(error)
            self.failed = True

    def _write(self, out: BagWriter) -> None:
        due = 0.0
        while (message := self._queue.get()) is not None:
            channel = self._channels.get(message.topic)
            if channel is not None and not out.has(message.topic):
                out.add(channel)
            out.write(message)
            now = time.monotonic()
            if now >= due:
                due = now + CHECK_PERIOD_S
                self.reason = self.reason or self._full()
                if self.reason:
                    return

    def _full(self) -> str:
        """The reason why nothing more can be written; empty if there is room."""
        folder = self.path.parent
        self.size = sum(file.stat().st_size for file in self.path.iterdir())
        if self.size > self._max_bytes:
            return f"{folder}: its recordings are at their limit, so this one has ended; delete some"
        free = shutil.disk_usage(folder).free
        full = f"{folder}: the disk is full ({free / 1e6:.0f} MB are free), so the recording has ended; make room"
        return full if free < SPARE_BYTES else ""
