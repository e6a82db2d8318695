# SPDX-License-Identifier: Apache-2.0
"""The HTTP and WebSocket server of the page (aiohttp >= 3.8), in its own thread.

The thread of the server calls `forward` with every allowed command, and `state` for the newest state while there is a
client. Any thread may send messages to clients with `send`. Every client has its own send queue, so that a slow client
does not delay others.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from aiohttp import WSCloseCode, WSMsgType, web

from hexapod_control.web import protocol
from hexapod_control.web.certificate import AUTHORITY, context
from hexapod_control.web.doorway import MAX_CLOSE_TIME_S, Doorway
from hexapod_control.web.page_files import DownloadFiles, PageFile, PageFiles, pages, refuse
from hexapod_control.web.protocol import RefusedMessageError
from hexapod_control.web.sessions.access_control import ROUTE, Downloads, HostPolicy
from hexapod_control.web.sessions.client_sessions import Action, ClientSessions, Disconnect, Forward, Send

MAX_SEND_TIME_S = 5.0  # time limit for one message
MAX_MESSAGES = 64  # queued messages besides the state; with more, the connection is aborted
CLOSE_TIME_S = 1.0  # time limit for the last messages
StateSource = Callable[[], Mapping[str, Any] | None]
HEARTBEAT_S = 2.0  # ping after this silence of a client; disconnect if there is no reply within half of it
TICK_S = 0.2
MAX_START_TIME_S = 5.0  # time limit for the socket to open


def _no_state() -> None:
    """The state of a server that shows none."""


class PageServer:
    """The server of the page; `start` opens the socket, `close` ends all connections and the thread."""

    def __init__(
        self,
        sessions: ClientSessions,
        policy: HostPolicy,
        forward: Callable[[Forward], None],
        watch: Callable[[int], None],
        state: StateSource = _no_state,
        rate: float = 30.0,
        certificate: Path | None = None,
    ) -> None:
        """Calls, in its own thread, `forward` with every allowed command and `watch` with the number of clients.

        `state` returns the fields of a state, or None; it is called at `rate` [Hz] while there is a client.
        `certificate` is the folder of one, to serve by https. Raises CertificateError.
        """
        self._has_clients = asyncio.Event()
        self._state = state
        self._period = 1.0 / rate
        self._sessions = sessions
        self._policy = policy
        self._forward = forward
        self._watch = watch
        self.downloads = Downloads()
        app = web.Application(client_max_size=protocol.MAX_MESSAGE_BYTES)
        self._door = Doorway(app, context(certificate) if certificate else None)
        app.router.add_get("/socket", self._socket)
        app.router.add_get(ROUTE, DownloadFiles(policy, self.downloads, self._door.admit).answer)
        app.router.add_get("/{path:.*}", PageFiles(policy, _files(certificate)).answer)
        self._queues: dict[int, SendQueue] = {}
        self._count = 0  # admitted clients
        self._sequence = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="web", daemon=True)
        self._address = ("", 0)
        self._opened = threading.Event()
        self._error: OSError | None = None
        self._ended: asyncio.Event | None = None
        self.port = 0

    # --- from other threads -----------------------------------------------------------------------------------

    def start(self, bind: str, port: int) -> None:
        """Starts the thread and opens the socket. Port 0 means any free port; a port in use, the next free one.

        Raises OSError.
        """
        self._address = bind, port
        self._thread.start()
        if not self._opened.wait(MAX_START_TIME_S):
            raise OSError("the web server did not start")
        if self._error is not None:
            raise self._error

    @property
    def displaced(self) -> int:
        """Connections without a valid token that were closed to keep room."""
        return self._door.displaced

    def close(self) -> None:
        """Closes all connections and the socket, and waits for the thread."""
        if self._thread.is_alive():
            self.call_in_thread(lambda: self._ended.set() if self._ended else None)
            self._thread.join(MAX_CLOSE_TIME_S)

    def send(self, client: int, kind: str, fields: Mapping[str, Any]) -> None:
        """Sends a message to one client, or to all admitted ones (client 0)."""
        message = Send(client, kind, dict(fields))
        self.call_in_thread(lambda: self._act([message]))

    def call_in_thread(self, call: Callable[[], Any]) -> None:
        """Calls a function in the server's thread as soon as possible."""
        try:
            self._loop.call_soon_threadsafe(call)
        except RuntimeError:
            return  # the loop has ended

    # --- the server's thread ------------------------------------------------------------------------------------

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        except OSError as error:
            self._error = error
        finally:
            self._opened.set()
            self._cancel_all()
            self._loop.close()

    def _cancel_all(self) -> None:
        """Ends the remaining tasks of closed connections."""
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))

    async def _serve(self) -> None:
        self._ended = asyncio.Event()
        try:
            self.port = await self._door.open(*self._address)
            self._opened.set()
            stream = asyncio.ensure_future(self._send_states())
            while not self._ended.is_set():
                self._act(self._sessions.tick(time.monotonic()))
                for queue in list(self._queues.values()):
                    queue.abort_if_stalled(time.monotonic())
                self._door.check()
                try:
                    await asyncio.wait_for(self._ended.wait(), TICK_S)
                except TimeoutError:
                    continue
            for queue in list(self._queues.values()):
                await queue.close(WSCloseCode.GOING_AWAY, "the server on the robot ends")
            stream.cancel()
        finally:
            await self._door.close()

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        try:
            self._policy.check_origin(request.headers)
        except RefusedMessageError as refusal:
            return refuse(refusal)
        number = self._sessions.connect(request.remote or "", time.monotonic())
        socket = web.WebSocketResponse(heartbeat=HEARTBEAT_S, max_msg_size=protocol.MAX_MESSAGE_BYTES, compress=False)
        queue = self._queues[number] = SendQueue(socket, request.transport)
        sender: asyncio.Task[None] | None = None
        try:
            await socket.prepare(request)
            sender = asyncio.ensure_future(queue.run())
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    self._act(self._sessions.receive(number, message.data, time.monotonic()))
                elif message.type is WSMsgType.BINARY:
                    self._act([Disconnect(number, WSCloseCode.UNSUPPORTED_DATA, "text messages only")])
            await queue.wait_closed()
        finally:
            if sender is not None:
                sender.cancel()
            del self._queues[number]
            self._act(self._sessions.disconnect(number, time.monotonic()))
            self._update_client_count()
        return socket

    async def _send_states(self) -> None:
        """Sends states periodically while there is a client."""
        due = time.monotonic()
        while True:
            await self._has_clients.wait()
            fields = self._state()
            if fields is not None:
                self._sequence += 1
                self._send_state(protocol.encode("state", self._sequence, **fields))
            due = max(due + self._period, time.monotonic())
            await asyncio.sleep(due - time.monotonic())

    # --- actions --------------------------------------------------------------------------------------------------

    def _act(self, actions: list[Action]) -> None:
        for action in actions:
            if isinstance(action, Forward):
                self._forward(action)
            elif isinstance(action, Send):
                self._send(action)
            elif action.client in self._queues:
                self._queues[action.client].start_closing(action.code, action.text)

    def _send(self, message: Send) -> None:
        self._sequence += 1
        text = protocol.encode(message.kind, self._sequence, **message.fields)
        for number, queue in list(self._queues.items()):
            client = self._sessions.clients.get(number)
            if number == message.client or (message.client == 0 and client is not None and client.admitted):
                queue.put_message(text)
        if message.kind == "welcome":
            self._door.admit(self._queues[message.client].transport)
            self._update_client_count()

    def _send_state(self, state: str) -> None:
        for number, queue in self._queues.items():
            client = self._sessions.clients.get(number)
            if client is not None and client.admitted:
                queue.put_state(state)

    def _update_client_count(self) -> None:
        count = sum(client.admitted for client in self._sessions.clients.values())
        if count == self._count:
            return
        self._count = count
        if count:
            self._has_clients.set()
        else:
            self._has_clients.clear()
        self._watch(count)


def _files(certificate: Path | None) -> dict[str, PageFile]:
    """The files of the page, and the authority that phones have to trust."""
    authority = certificate / AUTHORITY if certificate else None
    if authority is None or not authority.is_file():  # the certificate comes from elsewhere
        return pages()
    return {**pages(), f"/{AUTHORITY}": PageFile.of(authority.read_bytes(), "application/x-x509-ca-cert")}


class SendQueue:
    """Sends messages to one client; `run` is a task that lasts as long as the connection."""

    def __init__(self, socket: web.WebSocketResponse, transport: asyncio.Transport | None) -> None:
        self._socket = socket
        self.transport = transport
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
                state = self._state
                self._state = None
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
