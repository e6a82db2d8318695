"""The send queue of one client of the page: a new state replaces an unsent one, other messages are queued.

Slow clients receive fewer states and are disconnected if they stall; they delay no other client.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque

from aiohttp import web

MAX_SEND_TIME_S = 5.0  # time limit for one message
MAX_MESSAGES = 64  # queued messages besides the state; with more, the connection is aborted
CLOSE_TIME_S = 1.0  # time limit for the last messages


class SendQueue:
    """Sends messages to one client; `run` is a task that lasts as long as the connection."""

    def __init__(self, socket: web.WebSocketResponse, transport: asyncio.Transport | None) -> None:
        self._socket, self.transport = socket, transport
        self._sending = math.inf  # [s] steady time at which the present message was started
        self._state: str | None = None
        self._messages: deque[str] = deque()
        self._ready = asyncio.Event()
        self._closing: asyncio.Task[None] | None = None

    def put_state(self, state: str) -> None:
        """Queues a state in place of an unsent one."""
        self._state = state
        self._ready.set()

    def put_message(self, message: str) -> None:
        """Queues a message that must not be lost."""
        self._messages.append(message)
        self._ready.set()
        if len(self._messages) > MAX_MESSAGES:
            self.abort()

    async def run(self) -> None:
        """Sends queued messages and states until the connection ends or the task is cancelled."""
        try:
            while True:
                await self._ready.wait()
                self._ready.clear()
                self._sending = time.monotonic()
                while self._messages:
                    await self._socket.send_str(self._messages.popleft())
                state, self._state = self._state, None
                if state is not None:
                    await self._socket.send_str(state)
                self._sending = math.inf
        except (ConnectionError, RuntimeError):
            return  # the connection has ended, which the receiving task reports

    def start_closing(self, code: int, text: str) -> None:
        """Starts to close the connection; further calls have no effect."""
        self._closing = self._closing or asyncio.ensure_future(self.close(code, text))

    async def wait_closed(self) -> None:
        """Waits until the connection is closed, if `start_closing` was called, so that its close code is sent."""
        if self._closing is not None:
            await asyncio.wait([self._closing])

    async def close(self, code: int, text: str) -> None:
        """Closes the connection after the queued messages; aborts it if the client does not read them."""
        try:
            await asyncio.wait_for(self._send_rest_and_close(code, text), CLOSE_TIME_S)
        except (TimeoutError, ConnectionError, RuntimeError):
            self.abort()

    async def _send_rest_and_close(self, code: int, text: str) -> None:
        while self._messages:
            await self._socket.send_str(self._messages.popleft())
        await self._socket.close(code=code, message=text.encode()[:120])

    def abort_if_stalled(self, now: float) -> None:
        """Aborts the connection if the present message takes too long, at steady time `now` [s]."""
        if now - self._sending > MAX_SEND_TIME_S:
            self.abort()

    def abort(self) -> None:
        """Ends the connection at once."""
        if self.transport is not None:
            self.transport.abort()
