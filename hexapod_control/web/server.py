"""The HTTP and WebSocket server of the page (aiohttp >= 3.8), in a thread of its own.

Commands go out through `do`, called in the server's thread, which also asks for the states while somebody looks;
answers come in from any thread through `tell`. Every client has a mailbox: who does not read delays nobody.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from aiohttp import WSCloseCode, WSMsgType, web

from hexapod_control.web import protocol
from hexapod_control.web.access_control import HostPolicy
from hexapod_control.web.client_sessions import Action, ClientSessions, Disconnect, Forward, Send
from hexapod_control.web.page_files import PageFiles, refuse
from hexapod_control.web.protocol import RefusedMessage
from hexapod_control.web.send_queue import SendQueue

Look = Callable[[], Mapping[str, Any] | None]
HEARTBEAT = 2.0  # [s] after which a silent client is asked, and half of it later cut off
TICK = 0.2  # [s]
START = 5.0  # [s] for the socket to open


class PageServer:
    """The server; `start` opens the socket, `close` ends everything."""

    def __init__(
        self, desk: ClientSessions, gate: HostPolicy, do: Callable[[Forward], None], watch: Callable[[int], None]
    ) -> None:
        """`do` gets every allowed command, `watch` the number of people who look; both in the server's thread."""
        self._people = 0
        self._somebody = asyncio.Event()
        self._desk, self._gate, self._do, self._watch = desk, gate, do, watch
        self._files = PageFiles(gate)
        self._boxes: dict[int, SendQueue] = {}
        self._sequence = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="web", daemon=True)
        self._opened = threading.Event()
        self._error: OSError | None = None
        self._ended: asyncio.Event | None = None
        self.port = 0

    # --- from other threads -----------------------------------------------------------------------------------

    def start(self, bind: str, port: int, look: Look | None = None, rate: float = 30.0) -> None:
        """Opens the socket, port 0 takes a free one. Raises OSError.

        `look` gives the fields of a state, or None; it is asked at this rate [Hz] while somebody looks.
        """
        self._look, self._period = look, 1.0 / rate
        self._bind = (bind, port)
        self._thread.start()
        if not self._opened.wait(START):
            raise OSError("the web server did not start")
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """Closes all connections; waits for it."""
        if self._thread.is_alive():
            self._later(lambda: self._ended.set() if self._ended else None)
            self._thread.join(3.0)

    def show(self, fields: Mapping[str, Any]) -> None:
        """A new state for everybody."""
        self._sequence += 1
        text = protocol.encode("state", self._sequence, **fields)
        self._later(lambda: self._spread(text))  # for who has states of another source

    def tell(self, client: int, kind: str, fields: Mapping[str, Any]) -> None:
        """A message to one client, or to all who are let in (client 0)."""
        told = Send(client, kind, dict(fields))
        self._later(lambda: self._act([told]))

    def _later(self, call: Callable[[], Any]) -> None:
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
            self._loop.close()

    async def _serve(self) -> None:
        self._ended = asyncio.Event()
        app = web.Application(client_max_size=protocol.LARGEST)
        app.router.add_get("/socket", self._socket)
        app.router.add_get("/{path:.*}", self._files.answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        try:
            site = web.TCPSite(runner, *self._bind)
            await site.start()
            sockets: Any = runner.addresses
            self.port = int(sockets[0][1])
            self._opened.set()
            stream = asyncio.ensure_future(self._stream())
            while not self._ended.is_set():
                self._act(self._desk.tick(time.monotonic()))
                for box in list(self._boxes.values()):
                    box.cut_if_stalled(time.monotonic())
                try:
                    await asyncio.wait_for(self._ended.wait(), TICK)
                except asyncio.TimeoutError:  # noqa: UP041 - another class before Python 3.11
                    continue
            for box in list(self._boxes.values()):
                await box.shut(WSCloseCode.GOING_AWAY, "the robot's server ends")
            stream.cancel()
        finally:
            await runner.cleanup()

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        try:
            self._gate.check_origin(request.headers)
            number = self._desk.connect(request.remote or "", time.monotonic())
        except RefusedMessage as refusal:
            return refuse(refusal)
        socket = web.WebSocketResponse(heartbeat=HEARTBEAT, max_msg_size=protocol.LARGEST, compress=False)
        box = self._boxes[number] = SendQueue(socket, request.transport)
        sender: asyncio.Task[None] | None = None
        try:
            await socket.prepare(request)
            sender = asyncio.ensure_future(box.deliver())
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    self._act(self._desk.receive(number, message.data, time.monotonic()))
                elif message.type is WSMsgType.BINARY:
                    self._act([Disconnect(number, WSCloseCode.UNSUPPORTED_DATA, "texts only")])
            await box.ended()
        finally:
            if sender is not None:
                sender.cancel()
            del self._boxes[number]
            self._act(self._desk.disconnect(number, time.monotonic()))
            self._count()
        return socket

    async def _stream(self) -> None:
        """States, while somebody looks."""
        due = time.monotonic()
        while self._look is not None:
            await self._somebody.wait()
            fields = self._look()
            if fields is not None:
                self._sequence += 1
                self._spread(protocol.encode("state", self._sequence, **fields))
            due = max(due + self._period, time.monotonic())
            await asyncio.sleep(due - time.monotonic())

    # --- actions --------------------------------------------------------------------------------------------------

    def _act(self, actions: list[Action]) -> None:
        for action in actions:
            if isinstance(action, Forward):
                self._do(action)
            elif isinstance(action, Send):
                self._tell(action)
            elif action.client in self._boxes:
                self._boxes[action.client].end(action.code, action.text)

    def _tell(self, told: Send) -> None:
        self._sequence += 1
        text = protocol.encode(told.kind, self._sequence, **told.fields)
        for number, box in list(self._boxes.items()):
            client = self._desk.clients.get(number)
            if number == told.client or (told.client == 0 and client is not None and client.known):
                box.add(text)
        if told.kind == "welcome":
            self._count()

    def _spread(self, state: str) -> None:
        for number, box in self._boxes.items():
            client = self._desk.clients.get(number)
            if client is not None and client.known:
                box.show(state)

    def _count(self) -> None:
        self._people = sum(client.known for client in self._desk.clients.values())
        if self._people:
            self._somebody.set()
        else:
            self._somebody.clear()
        self._watch(self._people)
