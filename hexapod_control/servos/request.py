"""Something the driver's thread is asked to do, and its answer."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Request:
    """Done once, by the thread; waited for by who asks."""

    def __init__(self, act: Callable[[Request], None]) -> None:
        self.act = act
        self.answer = ""
        self.done = threading.Event()

    def serve(self) -> None:
        """Does it; an exception is an answer, too."""
        try:
            self.act(self)
        except Exception as error:
            self.finish(str(error))
            raise

    def finish(self, answer: str = "") -> None:
        """Answers; empty is success."""
        self.answer = answer
        self.done.set()
