# SPDX-License-Identifier: Apache-2.0
"""A thread that writes to files, terminals and pipes, so that the thread that controls the robot never waits for one.

A terminal that is not read (Ctrl-S, a hung connection, a stopped pager), a slow card or a network drive that is gone
may block a write for ever.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable


class WriterThread:
    """Runs jobs one after the other. The queue is bounded: when it is full, the oldest job is dropped and counted."""

    def __init__(self, name: str, depth: int, on_dropped: Callable[[int], None] | None = None) -> None:
        """`depth` jobs can wait; with 1 only the newest counts.

        `on_dropped` is called by the thread, before its next job, with the number of jobs that were dropped since.
        """
        self.dropped = 0  # jobs, since the start
        self._jobs: deque[Callable[[], None]] = deque()
        self._depth = depth
        self._on_dropped = on_dropped
        self._reported = 0  # of the dropped jobs
        self._busy = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def put(self, job: Callable[[], None]) -> None:
        """Queues a job; never waits for another one. A job handles its own errors."""
        with self._changed:
            if len(self._jobs) >= self._depth:
                self._jobs.popleft()
                self.dropped += 1
            self._jobs.append(job)
            self._changed.notify_all()
            if self._thread.ident is None:
                self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Waits at most `seconds` [s] for the jobs put so far. Returns whether all are done."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while self._jobs or self._busy:
                left = deadline - time.monotonic()
                if left <= 0.0:
                    return False
                self._changed.wait(left)
        return True

    def _run(self) -> None:
        while True:
            with self._changed:
                self._busy = False
                self._changed.notify_all()
                while not self._jobs:
                    self._changed.wait()
                job = self._jobs.popleft()
                self._busy = True
                missing = self.dropped - self._reported
                self._reported = self.dropped
            if missing and self._on_dropped is not None:
                self._on_dropped(missing)
            job()
