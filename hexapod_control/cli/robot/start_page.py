"""The page of `hexapod start`: a gallery of robots, what can be started with them, and the started program."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from hexapod_control.cli.robot.robot_gallery import RobotGallery
from hexapod_control.cli.robot.started_program import StartedProgram
from hexapod_control.cli.servos.bus_access import ports
from hexapod_control.config.errors import FileError
from hexapod_control.web.dialog_pages.request_server import Reply

WAIT_S, POLL_S = 8.0, 0.1  # longest wait of `show` for a change, and period of looking for one
Words = list[str]


class StartPage:
    """Replies to the requests of the page. Names in a request are looked up in lists, never used as paths."""

    def __init__(self, gallery: RobotGallery, *, lan: bool) -> None:
        self._gallery, self._lan = gallery, lan
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
            "first": lambda robot, port: [
                *("first", str(gallery.own(robot)), "--page"),
                *(["--port", port] if port else []),
                *self._flag("--lan"),
            ],
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
        except (FileError, OSError) as error:
            return {"refusal": str(error)}

    async def _start(self, request: Mapping[str, object]) -> Reply:
        what, robot, port = (request.get(key, "") for key in ("what", "robot", "port"))
        command = self._commands.get(str(what))
        if command is None or port not in ("", *ports()):
            raise ValueError("the request: what it starts, or the port, is not in the list")
        if self._program is None or self._program.code is not None:
            words = await asyncio.to_thread(command, str(robot), str(port))
            self._program, self._shown = (
                StartedProgram(words, self._count_change),
                {"what": str(what), "robot": str(robot)},
            )
            await self._program.start()
            self._count_change()
        return await self._show({})

    async def _end(self, _: Mapping[str, object]) -> Reply:
        await self.end()
        self._program = None
        self._count_change()
        return await self._show({})
