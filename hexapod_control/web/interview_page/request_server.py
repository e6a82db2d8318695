"""Serves a page on loopback and replies to its requests, one after the other (aiohttp >= 3.8)."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from aiohttp import web

from hexapod_control.web.first_request import FirstRequestTimer
from hexapod_control.web.open_port import open_port
from hexapod_control.web.page_address import url
from hexapod_control.web.page_files import HEADERS, PageFiles, refuse, with_shared
from hexapod_control.web.protocol import RefusedMessage
from hexapod_control.web.sessions.access_control import HostPolicy, TokenAuthority

LOOPBACK = "127.0.0.1"
MAX_REQUEST_BYTES = 4096
MAX_REQUEST_TIME_S = 5.0  # for a complete first request
WATCH_PERIOD_S = 1.0
SCHEME = "Bearer "

Reply = Mapping[str, Any]
Answer = Callable[[Mapping[str, object]], Awaitable[Reply]]


class RequestServer:
    """A server of one page; `serve` runs until it is cancelled."""

    def __init__(self, answer: Answer) -> None:
        """`answer` replies to a request: both are JSON objects. It raises ValueError for an unknown one."""
        self._answer = answer
        self._policy = HostPolicy(())
        self._tokens = TokenAuthority(once=False)

    async def serve(self, port: int, opened: Callable[[str], None]) -> None:
        """Opens the port, or the next free one, and calls `opened` with the address of the page. Raises OSError."""
        timer = FirstRequestTimer(MAX_REQUEST_TIME_S)
        app = web.Application(client_max_size=MAX_REQUEST_BYTES, middlewares=[timer.note])
        app.router.add_post("/request", self._reply)
        app.router.add_get("/{path:.*}", PageFiles(self._policy, with_shared(Path(__file__).parent / "static")).answer)
        runner = web.AppRunner(app, access_log=None, keepalive_timeout=MAX_REQUEST_TIME_S)
        await runner.setup()
        try:
            opened(url(LOOPBACK, await open_port(runner, LOOPBACK, port), self._tokens.invite()))
            while True:
                timer.close_overdue(runner.server.connections if runner.server else (), time.monotonic())
                await asyncio.sleep(WATCH_PERIOD_S)
        finally:
            await runner.cleanup()

    async def _reply(self, request: web.Request) -> web.Response:
        try:
            self._policy.check_origin(request.headers)
            token = request.headers.get("Authorization", "").removeprefix(SCHEME)
            self._tokens.admit(token, "", request.remote or "", time.monotonic())
            reply = await self._answer(await _read(request))
        except RefusedMessage as refusal:
            return refuse(refusal)
        except ValueError as error:
            return refuse(RefusedMessage(400, str(error)))
        return web.json_response(reply, headers=HEADERS)


async def _read(request: web.Request) -> Mapping[str, object]:
    """The JSON object of a request. Raises RefusedMessage."""
    try:
        body = json.loads(await request.text())
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise RefusedMessage(400, "the request is no JSON object")
    return body
