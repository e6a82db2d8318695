# SPDX-License-Identifier: Apache-2.0
"""Records the topics of the robot while a page is open: the last minute in memory, and a bag of any length."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from hexapod_control.bags.bag_file import BagError
from hexapod_control.bags.bag_saver import BagSaver, new_path
from hexapod_control.bags.long_recording import LongRecording
from hexapod_control.bags.ring_buffer import RecordedMessage, RingBuffer
from hexapod_control.nodes.recorder.topic_taps import TopicTaps
from hexapod_control.nodes.web.recordings.recording_folder import RecordingFolder
from hexapod_control.ros.guarded_node import GuardedNode

BUFFER_S = 60.0  # length of the recording in memory
MAX_BYTES = 64 * 1024 * 1024  # of the messages in memory
LARGE_KINDS = tuple(f"sensor_msgs/msg/{name}" for name in ("Image", "CompressedImage", "PointCloud2"))  # left out
MIN_BYTES = 1_000_000  # free disk space that a recording needs at least


class BagPlace(NamedTuple):
    """Where a new bag is written; without a path, why it is refused."""

    path: Path | None
    free_bytes: int
    refusal: str


class LiveRecorder:
    """Subscribes to all topics of a robot and writes bags on request; call `discover` and `poll` regularly."""

    def __init__(self, node: GuardedNode, folder: RecordingFolder, tell: Callable[[bool, str], None]) -> None:
        """`tell(good, text)` is called with the result of every recording."""
        self._node = node
        self._folder = folder
        self._tell = tell
        self._ring = RingBuffer(BUFFER_S, MAX_BYTES)
        self._taps = TopicTaps(node, self._take, self._ring.latch, LARGE_KINDS)
        self._saver = BagSaver(self._taps.namespace, tell)
        self._long: LongRecording | None = None
        self._closed = False

    def _take(self, message: RecordedMessage) -> None:
        self._ring.add(message)
        if self._long is not None:
            self._long.add(message)

    @property
    def buffered(self) -> float:
        """Length of the recording in memory [s]."""
        return self._ring.seconds

    @property
    def recording(self) -> dict[str, float] | None:
        """Duration [s] and size [B] of the bag that is being recorded; None if there is none."""
        if self._long is None:
            return None
        return {"seconds": round(time.monotonic() - self._long.since, 1), "bytes": self._long.size}

    def start(self) -> None:
        """Starts a bag, unless one is being recorded."""
        if self._long is None:
            self._node.threads.run_outside(partial(self._place, MIN_BYTES), self._begin)

    def _place(self, size: int) -> BagPlace:
        """The place of a new bag of at least `size` [B]. Reads the disk."""
        if self._folder.full:
            return BagPlace(None, 0, self._folder.full)
        try:
            return BagPlace(new_path(self._folder.path, size), self._folder.free_bytes, "")
        except BagError as error:
            return BagPlace(None, 0, str(error))

    def _begin(self, place: BagPlace) -> None:
        if place.path is None:
            self._tell(False, place.refusal)
        elif self._long is None and not self._closed:
            latched = self._ring.latched(time.monotonic_ns())
            self._long = LongRecording(place.path, self._taps.channels, latched, place.free_bytes)

    def stop(self) -> None:
        """Completes the bag."""
        if self._long is not None:
            self._long.end()

    def keep(self) -> None:
        """Writes the last minute to a bag."""
        self._node.threads.run_outside(partial(self._place, self._ring.size), self._save)

    def _save(self, place: BagPlace) -> None:
        if place.path is None:
            self._tell(False, place.refusal)
            return
        good, text = self._saver.save(self._ring, self._taps.channels.values(), place.path, "the last minute")
        if not good and self._saver.busy:
            self._tell(False, text)

    def discover(self) -> None:
        """Looks for new topics."""
        self._taps.discover()

    def poll(self) -> None:
        """Reports bags that are complete."""
        self._saver.poll()
        if self._long is not None and not self._long.running:
            ended = self._long
            self._long = None
            self._tell(not ended.reason, ended.reason or str(ended.path))

    @property
    def busy(self) -> bool:
        """True while a bag is being written."""
        return self._saver.busy or self._long is not None

    def close(self) -> None:
        """Ends all subscriptions and lets the present bag be completed."""
        self._closed = True
        self.stop()
        self._taps.close()
