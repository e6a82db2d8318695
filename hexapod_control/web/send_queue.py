"""What waits for one client of the page: a new state replaces one that was not sent yet, other messages queue.

A task empties the box. Who does not read gets less, and is cut off in the end; nobody else waits for him.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque

from aiohttp import web

STALLED = 5.0  # [s] without taking a message
MAIL = 64  # messages beside the state that wait for one client; one that has more is cut off
GOODBYE = 1.0  # [s] for the last messages


class SendQueue:
    """The mailbox of one connection."""

    def __init__(self, socket: web.WebSocketResponse, transport: asyncio.Transport | None) -> None:
        self._socket, self._transport = socket, transport
        self._sending = math.inf  # [s] since when the newest message has not got through
        self._state: str | None = None
        self._letters: deque[str] = deque()
        self._ready = asyncio.Event()
        self._ending: asyncio.Task[None] | None = None

    def show(self, state: str) -> None:
        """A new state, in the place of the last one."""
        self._state = state
        self._ready.set()

    def add(self, letter: str) -> None:
        """A message that must not be left out."""
        self._letters.append(letter)
        self._ready.set()
        if len(self._letters) > MAIL:
            self.cut()

    async def deliver(self) -> None:
        """Empties the box for ever."""
        try:
            while True:
                await self._ready.wait()
                self._ready.clear()
                self._sending = time.monotonic()
                while self._letters:
                    await self._socket.send_str(self._letters.popleft())
                state, self._state = self._state, None
                if state is not None:
                    await self._socket.send_str(state)
                self._sending = math.inf
        except (ConnectionError, RuntimeError):
            return  # it has gone; its reader notices

    def end(self, code: int, text: str) -> None:
        """Closes the connection, once."""
        self._ending = self._ending or asyncio.ensure_future(self.shut(code, text))

    async def ended(self) -> None:
        """Waits for the goodbye, if there is one: else who reads would say it first, with another code."""
        if self._ending is not None:
            await asyncio.wait([self._ending])

    async def shut(self, code: int, text: str) -> None:
        """Closes the connection after what was still to be said; who does not listen is cut off."""
        try:
            await asyncio.wait_for(self._say_goodbye(code, text), GOODBYE)
        except (asyncio.TimeoutError, ConnectionError, RuntimeError):  # noqa: UP041 - another class before Python 3.11
            self.cut()

    async def _say_goodbye(self, code: int, text: str) -> None:
        while self._letters:
            await self._socket.send_str(self._letters.popleft())
        await self._socket.close(code=code, message=text.encode()[:120])

    def cut_if_stalled(self, now: float) -> None:
        """Cuts off who has not taken a message for too long, at a steady time [s]."""
        if now - self._sending > STALLED:
            self.cut()

    def cut(self) -> None:
        """Ends the connection at once."""
        if self._transport is not None:
            self._transport.abort()
