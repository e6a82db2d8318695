"""A command of this package as a child process: its output, the address of its page, and its end."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

from hexapod_control.bringup.process_supervisor import end_with_parent

ADDRESS = re.compile(r"the page(?:, an invitation for one person)?: (http://\S+)")
MAX_LINES = 6
END_S = 30.0  # time limit; the robot sits down first


class StartedProgram:
    """One run of a command; `changed` is called after each change of its attributes."""

    def __init__(self, words: Sequence[str], changed: Callable[[], None]) -> None:
        """`words` follow `hexapod` on the command line."""
        self.lines: deque[str] = deque(maxlen=MAX_LINES)  # the last ones of its output
        self.url = ""  # of its page
        self.code: int | None = None  # exit code, once it has ended
        self._words, self._changed = words, changed
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Starts it, in a session of its own: Ctrl-C reaches it once, from `end`."""
        command = (sys.executable, "-m", "hexapod_control.cli.main", *self._words)
        self._process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            start_new_session=True,
            preexec_fn=partial(end_with_parent, os.getpid()),
        )
        self._reader = asyncio.create_task(self._read(self._process))

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while line := await process.stdout.readline():
            text = line.decode(errors="replace").rstrip()
            print(text, file=sys.stderr, flush=True)
            found = ADDRESS.search(text)
            if found and not self.url:
                self.url = found[1]
            if text and not found:
                self.lines.append(text)
            self._changed()
        self.code = await process.wait()
        self._changed()

    async def end(self) -> None:
        """Ends it as Ctrl-C does, and waits; kills it after END_S."""
        if self._process is None or self._reader is None:
            return
        if self._process.returncode is None:
            self._process.send_signal(signal.SIGINT)
        try:
            await asyncio.wait_for(asyncio.shield(self._reader), END_S)
        except TimeoutError:
            self._process.kill()
            await self._reader
