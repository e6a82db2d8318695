# SPDX-License-Identifier: Apache-2.0
"""Serves a page and replies to its requests (aiohttp >= 3.8), on loopback or for the network."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

from aiohttp import web

from hexapod_control.web import page_address
from hexapod_control.web.doorway import MAX_CLOSE_TIME_S, Doorway
from hexapod_control.web.page_files import HEADERS, PageFiles, refuse, with_shared
from hexapod_control.web.protocol import RefusedMessageError
from hexapod_control.web.sessions.access_control import HostPolicy, TokenAuthority

PAGES = Path(__file__).parent / "pages"
PORT = 8780  # or the next free one
MAX_REQUEST_BYTES = 4096
WATCH_PERIOD_S = 1.0  # between two checks for overdue connections
SCHEME = "Bearer "
KEY = "Hexapod-Key"  # header of a reply: the key that admits this client from then on

Reply = Mapping[str, Any]
Answer = Callable[[Mapping[str, object]], Awaitable[Reply]]


class RequestServer:
    """A server of one of PAGES; `serve` runs until it is cancelled."""

    def __init__(
        self,
        answer: Answer,
        page: str,
        *,
        said: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
        lan: bool = False,
        max_bytes: int = MAX_REQUEST_BYTES,
    ) -> None:
        """`answer` replies to a request: both are JSON objects. It raises ValueError for an unknown one.

        `said` are the texts of its sentences, by language and key.
        With `lan` the page is open to the network, and each invitation admits one person. `max_bytes` limits a request.
        """
        self._answer = answer
        self._lan = lan
        self._bind = page_address.ALL_ADDRESSES if lan else page_address.LOOPBACK
        self._policy = HostPolicy(page_address.names(self._bind), literal=lan)
        self._tokens = TokenAuthority(once=lan)
        self._port = 0
        app = web.Application(client_max_size=max_bytes)
        self._door = Doorway(app)
        app.router.add_post("/request", self._reply)
        files = with_shared(PAGES / "common", PAGES / page, said)
        app.router.add_get("/{path:.*}", PageFiles(self._policy, files).answer)
        self._replies: set[asyncio.Task[object]] = set()  # that wait for a change
        self._ends = False  # refuse requests: a page asks again at once, and the end would wait for these replies

    async def serve(self, port: int, hint: str, opened: Callable[[], None] = lambda: None) -> None:
        """Opens the port, or the next free one, and prints the address and a hint. Raises OSError."""
        try:
            self._port = await self._door.open(self._bind, port)
            self._invite(hint)
            opened()
            while True:
                self._door.check()
                await asyncio.sleep(WATCH_PERIOD_S)
        finally:
            self._ends = True
            for reply in self._replies:
                reply.cancel()  # cleanup would wait for them
            await self._door.close()

    @contextmanager
    def in_background(self, port: int, hint: str) -> Iterator[None]:
        """Serves in a thread of its own. Raises OSError if no port can be opened."""
        loop = asyncio.new_event_loop()
        opened = threading.Event()
        failures = list[OSError]()
        task = loop.create_task(self.serve(port, hint, opened.set))

        def run() -> None:
            try:
                loop.run_until_complete(task)
            except asyncio.CancelledError:
                pass
            except OSError as error:
                failures.append(error)
            finally:
                opened.set()
                loop.close()

        thread = threading.Thread(target=run, name="page", daemon=True)
        thread.start()
        try:
            opened.wait()
            if failures:
                raise failures[0]
            yield
        finally:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(task.cancel)
            thread.join(MAX_CLOSE_TIME_S)

    def _invite(self, *hints: str) -> None:
        urls = page_address.urls(self._bind, self._port, self._tokens.invite())
        print(*page_address.invitation_lines(urls, self._lan), *hints, sep="\n", flush=True)

    async def _reply(self, request: web.Request) -> web.Response:
        try:
            self._policy.check_origin(request.headers)
            word = request.headers.get("Authorization", "").removeprefix(SCHEME)
            key = self._tokens.admit(word, word, request.remote or "", time.monotonic())
            self._door.admit(request.transport)
            if key != word and self._lan:
                self._invite()  # the last invitation is used up
            reply = await self._shown(await _read(request))
        except RefusedMessageError as refusal:
            return refuse(refusal)
        except ValueError as error:
            return refuse(RefusedMessageError(400, str(error)))
        return web.json_response(reply, headers={**HEADERS, KEY: key})

    async def _shown(self, request: Mapping[str, object]) -> Reply:
        if self._ends:
            raise ValueError("the request: this program ends")
        task = asyncio.ensure_future(self._answer(request))
        self._replies.add(task)
        try:
            return await task
        finally:
            self._replies.discard(task)


async def _read(request: web.Request) -> Mapping[str, object]:
    """The JSON object of a request. Raises RefusedMessageError."""
    try:
        body = json.loads(await request.text())
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise RefusedMessageError(400, "the request is no JSON object")
    return body
