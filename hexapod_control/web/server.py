"""The HTTP and WebSocket server of the page (aiohttp >= 3.8), in a thread of its own.

Commands go out through `do`, called in the server's thread, which also asks for the states while somebody looks;
answers come in from any thread through `tell`. Every client has a mailbox in which a new state replaces one that was
not sent yet, and a task that empties it: who does not read gets less, and delays nobody.
"""

from __future__ import annotations

import asyncio
import gzip
import math
import mimetypes
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import WSCloseCode, WSMsgType, web

from hexapod_control.web import protocol
from hexapod_control.web.access import Gate
from hexapod_control.web.desk import Action, Close, Desk, Do, Tell
from hexapod_control.web.protocol import Refused

Look = Callable[[], Mapping[str, Any] | None]
STATIC = Path(__file__).parent / "static"
HEARTBEAT = 2.0  # [s] after which a silent client is asked, and half of it later cut off
TICK = 0.2  # [s]
START = 5.0  # [s] for the socket to open
STALLED = 5.0  # [s] without taking a message
MAIL = 64  # messages beside the state that wait for one client; one that has more is cut off
TYPES = {".js": "text/javascript", ".svg": "image/svg+xml", ".webmanifest": "application/manifest+json"}
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "gamepad=(self), camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-cache",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; manifest-src 'self'; "
    "connect-src 'self' ws://{host} wss://{host}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


@dataclass(frozen=True, slots=True)
class Page:
    """One file of the page."""

    data: bytes
    packed: bytes  # by gzip
    kind: str


def pages() -> dict[str, Page]:
    """All files of the page by path."""
    found: dict[str, Page] = {}
    for path in sorted(file for file in STATIC.rglob("*") if file.is_file()):
        kind = TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        data = path.read_bytes()
        found[f"/{path.relative_to(STATIC).as_posix()}"] = Page(data, gzip.compress(data, mtime=0), kind)
    return {**found, "/": found["/index.html"]}


@dataclass(slots=True)
class Mailbox:
    """What waits for one client."""

    socket: web.WebSocketResponse
    transport: asyncio.Transport | None
    sending: float = math.inf  # [s] since when the newest message has not got through
    ending: asyncio.Task[None] | None = None
    state: str | None = None
    letters: deque[str] = field(default_factory=deque)
    ready: asyncio.Event = field(default_factory=asyncio.Event)


class Server:
    """The server; `start` opens the socket, `close` ends everything."""

    def __init__(self, desk: Desk, gate: Gate, do: Callable[[Do], None], watch: Callable[[int], None]) -> None:
        """`do` gets every allowed command, `watch` the number of people who look; both in the server's thread."""
        self._people = 0
        self._somebody = asyncio.Event()
        self._desk, self._gate, self._do, self._watch = desk, gate, do, watch
        self._pages = pages()
        self._boxes: dict[int, Mailbox] = {}
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
        told = Tell(client, kind, dict(fields))
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
        app.router.add_get("/{path:.*}", self._file)
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
                self._cut_stalled(time.monotonic())
                try:
                    await asyncio.wait_for(self._ended.wait(), TICK)
                except asyncio.TimeoutError:  # noqa: UP041 - another class before Python 3.11
                    continue
            for box in list(self._boxes.values()):
                await self._shut(box, WSCloseCode.GOING_AWAY, "the robot's server ends")
            stream.cancel()
        finally:
            await runner.cleanup()

    async def _file(self, request: web.Request) -> web.Response:
        try:
            self._gate.check_host(request.headers)
        except Refused as refusal:
            return _refusal(refusal)
        page = self._pages.get(request.path)
        if page is None:
            return _refusal(Refused(404, "there is no such page"))
        headers = {**HEADERS, "Content-Security-Policy": POLICY.format(host=request.headers["Host"])}
        headers["Vary"] = "Accept-Encoding"
        packed = "gzip" in request.headers.get("Accept-Encoding", "") and len(page.packed) < len(page.data)
        if packed:
            headers["Content-Encoding"] = "gzip"
        headers["Content-Type"] = page.kind if not page.kind.startswith("text/") else f"{page.kind}; charset=utf-8"
        return web.Response(body=page.packed if packed else page.data, headers=headers)

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        try:
            self._gate.check_origin(request.headers)
            number = self._desk.connect(request.remote or "", time.monotonic())
        except Refused as refusal:
            return _refusal(refusal)
        socket = web.WebSocketResponse(heartbeat=HEARTBEAT, max_msg_size=protocol.LARGEST, compress=False)
        box = self._boxes[number] = Mailbox(socket, request.transport)
        sender: asyncio.Task[None] | None = None
        try:
            await socket.prepare(request)
            sender = asyncio.ensure_future(self._send(box))
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    self._act(self._desk.receive(number, message.data, time.monotonic()))
                elif message.type is WSMsgType.BINARY:
                    self._act([Close(number, WSCloseCode.UNSUPPORTED_DATA, "texts only")])
            if box.ending is not None:  # else this task would say goodbye first, with another code
                await asyncio.wait([box.ending])
        finally:
            if sender is not None:
                sender.cancel()
            del self._boxes[number]
            self._act(self._desk.disconnect(number, time.monotonic()))
            self._count()
        return socket

    @staticmethod
    async def _send(box: Mailbox) -> None:
        """Empties a mailbox for ever."""
        try:
            while True:
                await box.ready.wait()
                box.ready.clear()
                box.sending = time.monotonic()
                while box.letters:
                    await box.socket.send_str(box.letters.popleft())
                state, box.state = box.state, None
                if state is not None:
                    await box.socket.send_str(state)
                box.sending = math.inf
        except (ConnectionError, RuntimeError):
            return  # it has gone; its reader notices

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
            if isinstance(action, Do):
                self._do(action)
            elif isinstance(action, Tell):
                self._tell(action)
            elif action.client in self._boxes:
                box = self._boxes[action.client]
                box.ending = box.ending or asyncio.ensure_future(self._shut(box, action.code, action.text))

    def _tell(self, told: Tell) -> None:
        self._sequence += 1
        text = protocol.encode(told.kind, self._sequence, **told.fields)
        for number, box in list(self._boxes.items()):
            client = self._desk.clients.get(number)
            if number == told.client or (told.client == 0 and client is not None and client.known):
                box.letters.append(text)
                box.ready.set()
                if len(box.letters) > MAIL:
                    self._cut(box)
        if told.kind == "welcome":
            self._count()

    def _spread(self, state: str) -> None:
        for number, box in self._boxes.items():
            client = self._desk.clients.get(number)
            if client is not None and client.known:
                box.state = state
                box.ready.set()

    def _count(self) -> None:
        self._people = sum(client.known for client in self._desk.clients.values())
        if self._people:
            self._somebody.set()
        else:
            self._somebody.clear()
        self._watch(self._people)

    @staticmethod
    async def _shut(box: Mailbox, code: int, text: str) -> None:
        """Closes a connection after what was still to be said; who does not listen is cut off."""

        async def end() -> None:
            while box.letters:
                await box.socket.send_str(box.letters.popleft())
            await box.socket.close(code=code, message=text.encode()[:120])

        try:
            await asyncio.wait_for(end(), 1.0)
        except (asyncio.TimeoutError, ConnectionError, RuntimeError):  # noqa: UP041
            Server._cut(box)

    def _cut_stalled(self, now: float) -> None:
        for box in list(self._boxes.values()):
            if now - box.sending > STALLED:
                self._cut(box)

    @staticmethod
    def _cut(box: Mailbox) -> None:
        if box.transport is not None:
            box.transport.abort()


def _refusal(refusal: Refused) -> web.Response:
    headers = {**HEADERS, "Content-Security-Policy": "default-src 'none'"}
    return web.Response(status=refusal.code, text=f"{refusal.text}\n", headers=headers)
