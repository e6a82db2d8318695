# SPDX-License-Identifier: Apache-2.0
"""Writes a ring buffer to a bag from a copy of it, in a thread of its own, so that no message is lost meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from pathlib import Path

from hexapod_control.bags import bag_file
from hexapod_control.bags.bag_file import BagChannel
from hexapod_control.bags.ring_buffer import RingBuffer


def new_path(folder: Path, size: int) -> Path:
    """Returns an unused path in a folder, named after the present time. Raises BagError as `new_bag_path`."""
    return bag_file.new_bag_path(folder.expanduser().absolute(), size, time.strftime("hexapod_%Y-%m-%d_%H-%M-%S"))


class BagSaver:
    """Writes one bag at a time."""

    def __init__(self, namespace: str, finished: Callable[[bool, str], None]) -> None:
        """`namespace` is the recorded namespace, for messages.

        `finished(good, text)` is called in `poll`, and at once for a bag that cannot be started.
        """
        self._namespace = namespace
        self._finished = finished
        self._thread: threading.Thread | None = None
        self._result: tuple[bool, str] | None = None

    @property
    def busy(self) -> bool:
        """True while a bag is being written."""
        return self._thread is not None

    def save(self, ring: RingBuffer, channels: Collection[BagChannel], path: Path, reason: str) -> tuple[bool, str]:
        """Starts writing the buffer to a new bag. Returns (True if it has started, message for the user)."""
        if self.busy:
            return False, "a bag is being written: save again when it is complete"
        ring.expire(time.monotonic_ns())
        messages = ring.snapshot()
        if not messages:
            text = f"no message has arrived below {self._namespace} yet: nothing to write"
            self._finished(False, text)
            return False, text
        topics = tuple(channels)
        offset = time.time_ns() - time.monotonic_ns()
        text = f"{path}: {ring.seconds:.0f} s with {len(messages)} messages ({reason})"

        def work() -> None:
            try:
                bag_file.write(path, topics, messages, offset)
                self._result = True, text
            except Exception as error:  # a thread has no caller: every failure becomes a message
                self._result = False, str(error)

        self._thread = threading.Thread(target=work, daemon=True)
        self._thread.start()
        return True, text

    def poll(self) -> None:
        """Reports a bag that is complete; call it regularly."""
        if self._result is not None and self._thread is not None:
            self._thread.join()
            result = self._result
            self._thread = None
            self._result = None
            self._finished(*result)

    def wait(self, seconds: float) -> None:
        """Waits at most `seconds` [s] for the present bag."""
        if self._thread is not None:
            self._thread.join(seconds)
            if self._result is None:
                self._result = False, f"the bag is not complete after {seconds:g} s: is the disk too slow?"
            self.poll()
