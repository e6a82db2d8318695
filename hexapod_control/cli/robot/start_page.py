# SPDX-License-Identifier: Apache-2.0
"""The page of `hexapod start`: a gallery of robots, what can be started with them, and the started program."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from hexapod_control.bringup.process_supervisor import end_with_parent
from hexapod_control.cli.robot.robot_gallery import RobotGallery
from hexapod_control.cli.servos.bus_access import ports
from hexapod_control.config.errors import FileError
from hexapod_control.web.dialog_pages.request_server import Reply

ADDRESS = re.compile(r"the page(?:, an invitation for one person)?: (http://\S+)")
MAX_LINES = 6
END_S = 30.0  # time limit; the robot sits down first
# longest wait of `show` for a change, and period of looking for one
WAIT_S = 8.0
POLL_S = 0.1
Words = list[str]


class StartPage:
    """Replies to the requests of the page. Names in a request are looked up in lists, never used as paths."""

    def __init__(self, gallery: RobotGallery, *, lan: bool) -> None:
        self._gallery = gallery
        self._lan = lan
        self._changes = 0
        self._program: StartedProgram | None = None
        self._shown: Mapping[str, str] = {}  # what the program is, and its robot
        self._acts: Mapping[str, Callable[[Mapping[str, object]], Any]] = {
            "show": self._show,
            "robots": self._robots,
            "upload": self._upload,
            "start": self._start,
            "end": self._end,
        }
        self._commands: Mapping[str, Callable[[str, str], Words]] = {
            "sim": lambda robot, port: ["sim", "--stay", "--robot", gallery.path(robot), *self._flag("--lan")],
            "first": self._first,
            "identify": lambda robot, port: [*self._first(robot, port), "--stage", "identify"],
            "measure": lambda robot, port: [*self._first(robot, port), "--stage", "measure"],
            "robot": lambda robot, port: [
                *("robot", gallery.path(robot), "web:=true"),
                *([f"servo_port:={port}"] if port else []),
                *self._flag("web_lan:=true"),
            ],
            "new": lambda robot, port: ["new", str(gallery.unused()), "--page", *self._flag("--lan")],
        }

    async def reply(self, request: Mapping[str, object]) -> Reply:
        """Replies to a request. Raises ValueError for one that no page sends."""
        act = self._acts.get(str(request.get("act")))
        if act is None:
            raise ValueError("the request: its act is not known")
        reply: Reply = await act(request)
        return reply

    async def end(self) -> None:
        """Ends the started program."""
        if self._program is not None:
            await self._program.end()

    def _first(self, robot: str, port: str) -> Words:
        port_words = ["--port", port] if port else []
        return ["first", str(self._gallery.own(robot)), "--page", *port_words, *self._flag("--lan")]

    def _flag(self, word: str) -> Words:
        return [word] if self._lan else []

    def _count_change(self) -> None:
        self._changes += 1

    async def _show(self, request: Mapping[str, object]) -> Reply:
        deadline = time.monotonic() + WAIT_S
        while str(self._changes) == request.get("seen") and time.monotonic() < deadline:
            await asyncio.sleep(POLL_S)
        program = self._program
        shown: dict[str, Any] = {"seen": str(self._changes), "ports": ports(), "program": None}
        if program is not None:
            state = {"url": program.url, "lines": list(program.lines), "code": program.code}
            shown["program"] = {**self._shown, **state}
        return shown

    async def _robots(self, _: Mapping[str, object]) -> Reply:
        entries = await asyncio.to_thread(lambda: self._gallery.entries)
        return {"robots": [asdict(entry) for entry in entries.values()]}

    async def _upload(self, request: Mapping[str, object]) -> Reply:
        text = request.get("text")
        if not isinstance(text, str):
            raise ValueError("the request: it has no text")
        try:
            return {"name": await asyncio.to_thread(self._gallery.add, text)}
        except FileError as error:
            return {"refusal": error.said.as_json()}
        except OSError as error:
            return {"refusal": str(error)}

    async def _start(self, request: Mapping[str, object]) -> Reply:
        what, robot, port = (request.get(key, "") for key in ("what", "robot", "port"))
        command = self._commands.get(str(what))
        if command is None or port not in ("", *ports()):
            raise ValueError("the request: what it starts, or the port, is not in the list")
        if self._program is None or self._program.code is not None:
            words = await asyncio.to_thread(command, str(robot), str(port))
            self._program = StartedProgram(words, self._count_change)
            self._shown = {"what": str(what), "robot": str(robot)}
            await self._program.start()
            self._count_change()
        return await self._show({})

    async def _end(self, _: Mapping[str, object]) -> Reply:
        await self.end()
        self._program = None
        self._count_change()
        return await self._show({})


class StartedProgram:
    """One run of a command; `changed` is called after each change of its attributes."""

    def __init__(self, words: Sequence[str], changed: Callable[[], None]) -> None:
        """`words` follow `hexapod` on the command line."""
        self.lines: deque[str] = deque(maxlen=MAX_LINES)  # the last ones of its output
        self.url = ""  # of its page
        self.code: int | None = None  # exit code, once it has ended
        self._words = words
        self._changed = changed
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
