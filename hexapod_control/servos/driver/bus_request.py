"""A request of another thread to the thread that owns the bus."""

from __future__ import annotations

import threading
from collections.abc import Callable


class BusRequest:
    """Served once by the bus thread; the caller waits for `done` and reads `answer`."""

    def __init__(self, act: Callable[[BusRequest], None], *, urgent: bool = False) -> None:
        """`act` is called by the bus thread; it calls `finish`, at once or later.

        An `urgent` request does not wait for late replies.
        """
        self.act, self.urgent = act, urgent
        self.answer = ""
        self.done = threading.Event()

    def serve(self) -> None:
        """Runs the request. An exception becomes the answer and is raised again for the driver."""
        try:
            self.act(self)
        except Exception as error:
            self.finish(str(error))
            raise

    def finish(self, answer: str = "") -> None:
        """Answers the caller; an empty text is success."""
        self.answer = answer
        self.done.set()
