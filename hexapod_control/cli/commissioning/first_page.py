# SPDX-License-Identifier: Apache-2.0
"""`hexapod first --page`: the first evening on a page in the browser, led from one window at a time."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Mapping
from typing import Any

from hexapod_control.cli.commissioning.page_dialog import PageDialog
from hexapod_control.config.sentence import Sentence
from hexapod_control.core.names import JOINTS
from hexapod_control.servos.calibration.dialog import Typed
from hexapod_control.servos.commissioning.commissioning_session import BEGIN
from hexapod_control.servos.commissioning.stages import STAGES, StageMachine
from hexapod_control.web.dialog_pages.request_server import Reply

ACTS = ("show", "answer", "stop", "lead")
# longest wait of `show` for a change, and period of looking for one
WAIT_S = 8.0
POLL_S = 0.05
SILENCE_S = 3.0 * WAIT_S  # a window without a request for this long no longer leads
MAX_TEXT_LENGTH = 200
END_S = 2.0  # time for a window to fetch the end


class FirstPage:
    """Answers the requests of the page, in the thread of the server."""

    def __init__(self, name: str, legs: tuple[str, ...], dialog: PageDialog, machine: StageMachine) -> None:
        """`name` is that of the robot file."""
        self._name = name
        self._legs = legs
        self._dialog = dialog
        self._machine = machine
        self._leader = ""  # the window that leads
        self._heard = -math.inf  # when it was last heard of [s]
        self._end: Mapping[str, object] = {}
        self._fetched = threading.Event()  # the end

    async def reply(self, request: Mapping[str, object]) -> Reply:
        """Replies to a request. Raises ValueError for one that no page sends."""
        act = request.get("act")
        window = request.get("window")
        text = request.get("text", "")
        if act not in ACTS or not isinstance(window, str) or not window or not isinstance(text, str):
            raise ValueError("the request: its act or its window is not known, or its text is none")
        if len(text) > MAX_TEXT_LENGTH or len(window) > MAX_TEXT_LENGTH:
            raise ValueError(f"the request: its text is longer than {MAX_TEXT_LENGTH} characters")
        if act == "stop":
            self._dialog.stop()
        elif act == "lead":
            self._leader = window
        leads = self._leads(window)
        if act == "answer" and leads:
            number = request.get("number")
            self._dialog.answer_number(number if isinstance(number, int) else 0, text)
        await self._changed(str(request.get("seen", "")))
        return self._view(window)

    def _leads(self, window: str) -> bool:
        """True if a window leads; it takes over from one that sends no requests."""
        now = time.monotonic()
        if window != self._leader and now - self._heard > SILENCE_S:
            self._leader = window
        if window == self._leader:
            self._heard = now
        return window == self._leader

    async def _changed(self, seen: str) -> None:
        """Waits until something differs from what a window has seen."""
        deadline = time.monotonic() + WAIT_S
        while seen == self._state and time.monotonic() < deadline:
            await asyncio.sleep(POLL_S)

    @property
    def _state(self) -> str:
        return f"{self._dialog.changes}.{self._dialog.state.prompt is None}.{self._leader}.{bool(self._end)}"

    def _view(self, window: str) -> dict[str, Any]:
        dialog = self._dialog
        stage = self._machine.current
        done = self._machine.progress.done
        seen = self._state
        prompt = dialog.state.prompt
        shown: dict[str, Any] = {
            "seen": seen,
            "order": dialog.changes,
            "robot": self._name,
            "stages": [
                {
                    "key": each.key,
                    "title": each.title.as_json(),
                    "minutes": each.minutes,
                    "result": done[each.key].as_json() if each.key in done else None,
                }
                for each in STAGES
            ],
            "stage": None
            if stage is None
            else {
                "key": stage.key,
                "title": stage.title.as_json(),
                "text": stage.text.as_json(),
                "otherwise": stage.otherwise.as_json(),
            },
            "pictures": dialog.pictures,
            "number": 0 if prompt is None else dialog.state.number,
            "prompt": None if prompt is None else prompt.as_json(),
            "begins": prompt is BEGIN,
            "legs": self._legs if prompt is not None and prompt.typed in (Typed.JOINT, Typed.SIGNED_JOINT) else (),
            "joints": JOINTS,
            "record": [
                (kind, said.as_json() if isinstance(said, Sentence) else said) for kind, said in tuple(dialog.record)
            ],
            "leads": self._leads(window),
            "stopping": dialog.stopping,
            **self._end,
        }
        if self._end:
            self._fetched.set()
        return shown

    def end(self, text: Sentence, report: str = "", command: str = "") -> None:
        """Shows the end, and waits until a window has fetched it, if there is one."""
        self._end = {"end": text.as_json(), "report": report, "command": command}
        if time.monotonic() - self._heard < SILENCE_S:
            self._fetched.wait(END_S)
