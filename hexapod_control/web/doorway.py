# SPDX-License-Identifier: Apache-2.0
"""Opens the port of a server and keeps room in it for those who have a valid token (aiohttp >= 3.8).

Every connection is a stranger until `admit`. Strangers wait in two small pools, those with a complete request and those
without one, so that neither kind displaces the other; in a full pool the one that was silent for longest gives way.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
import time
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web
from aiohttp.http import HttpProcessingError

MAX_STRANGERS = 192  # connections without a valid token in each of the two pools
ACCEPTED_AT_ONCE = 12  # new connections between two looks at those that are open; far fewer than a pool holds
MAX_QUEUED = 1024  # connections that the kernel keeps until they are accepted
MAX_REQUEST_TIME_S = 5.0  # time limit for a complete request; then the connection is closed
MAX_BODY_TIME_S = 1.0  # time limit for the body of a refused request
MAX_PORT = 65535
MAX_CLOSE_TIME_S = 3.0  # time limit for the thread of a server to end
PORTS_TRIED = 20  # the requested port and those after it

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def _own_fault(record: logging.LogRecord) -> bool:
    """Returns False for invalid requests, which get status 400, and for clients that are gone."""
    return not (record.exc_info and isinstance(record.exc_info[1], (HttpProcessingError, ConnectionError)))


LOGGER = logging.getLogger(__name__)
LOGGER.addFilter(_own_fault)


class Doorway:
    """The open port of an application; used in one event loop only."""

    def __init__(self, app: web.Application, tls: ssl.SSLContext | None = None) -> None:
        """With `tls` the connections are encrypted."""
        self._tls = tls
        app.middlewares.append(self._note)
        self._runner = web.AppRunner(
            app,
            access_log=None,
            logger=LOGGER,
            keepalive_timeout=MAX_REQUEST_TIME_S,
            lingering_time=MAX_BODY_TIME_S,
        )
        self._arrived: dict[asyncio.Transport, float] = {}  # without a complete request: steady time [s] of arrival
        self._served: dict[asyncio.Transport, None] = {}  # the one whose last request is oldest first
        self._server: asyncio.Server | None = None
        self.displaced = 0  # strangers that had to give way

    async def open(self, bind: str, first: int) -> int:
        """Opens the requested port, or the next free one; 0 means any. Returns its number. Raises OSError."""
        await self._runner.setup()
        last = min(first + PORTS_TRIED - 1, MAX_PORT) if first else first
        for port in range(first, last + 1):
            try:
                listener = socket.create_server((bind, port), family=_family(bind))
                break
            except OSError as error:
                if error.errno != errno.EADDRINUSE or port == last:
                    raise
        make_server = asyncio.get_running_loop().create_server
        patience = MAX_REQUEST_TIME_S if self._tls else None
        self._server = await make_server(
            self._arrival, sock=listener, backlog=ACCEPTED_AT_ONCE, ssl=self._tls, ssl_handshake_timeout=patience
        )
        listener.listen(MAX_QUEUED)  # asyncio takes one number for both
        return int(listener.getsockname()[1])

    async def close(self) -> None:
        """Closes the port and all connections."""
        if self._server is not None:
            self._server.close()
        for transport in self._arrived:
            transport.abort()
        await self._runner.cleanup()

    def admit(self, transport: asyncio.Transport | None) -> None:
        """The connection has a valid token: it gives way to no other one."""
        if transport is not None:
            self._served.pop(transport, None)

    def check(self) -> None:
        """Closes the connections that have sent no complete request in time; call it regularly."""
        now = time.monotonic()
        for transport in [one for one, since in self._arrived.items() if now - since >= MAX_REQUEST_TIME_S]:
            transport.abort()
        for pool in (self._arrived, self._served):
            _forget_closed(pool)

    def arrive(self, transport: asyncio.Transport) -> None:
        """A new connection."""
        self._make_room(self._arrived)
        self._arrived[transport] = time.monotonic()

    @web.middleware
    async def _note(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Moves a stranger with a complete request to the others of its kind, as the newest one."""
        transport: Any = request.transport
        if self._arrived.pop(transport, None) is not None:
            self._make_room(self._served)
            self._served[transport] = None
        elif transport in self._served:
            del self._served[transport]
            self._served[transport] = None
        return await handler(request)

    def _make_room(self, pool: dict[asyncio.Transport, Any]) -> None:
        if len(pool) >= MAX_STRANGERS:
            _forget_closed(pool)
        if len(pool) >= MAX_STRANGERS:
            oldest = next(iter(pool))
            del pool[oldest]
            oldest.abort()
            self.displaced += 1

    def _arrival(self) -> asyncio.Protocol:
        assert self._runner.server is not None
        return _Arrival(self, self._runner.server)


class _Arrival(asyncio.Protocol):
    """A connection that has sent nothing yet; its first bytes get it a request handler, which costs more."""

    def __init__(self, doorway: Doorway, make_handler: Callable[[], Any]) -> None:
        self._doorway = doorway
        self._make_handler = make_handler
        self._transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """As in asyncio."""
        self._transport = transport
        self._doorway.arrive(self._transport)

    def data_received(self, data: bytes) -> None:
        """As in asyncio."""
        handler = self._make_handler()
        self._transport.set_protocol(handler)
        handler.connection_made(self._transport)
        handler.data_received(data)


def _family(bind: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in bind else socket.AF_INET


def _forget_closed(pool: dict[asyncio.Transport, Any]) -> None:
    for transport in [one for one in pool if one.is_closing()]:
        del pool[transport]
