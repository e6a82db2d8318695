"""Closes connections that never complete their first request (aiohttp >= 3.8).

Old versions of aiohttp limit the time only for the second and later requests of a connection.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from aiohttp import web

MAX_REQUEST_TIME_S = 5.0  # time limit for a complete request; then the connection is closed

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class FirstRequestTimer:
    """Limits the time between the start of a connection and its first complete request."""

    def __init__(self, limit: float) -> None:
        """`limit` is in [s]."""
        self._limit = limit
        self._since: dict[web.RequestHandler, float] = {}  # [s] first observation of a connection
        self._served: set[web.RequestHandler] = set()

    @web.middleware
    async def note(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Middleware that records that a connection has sent a complete request."""
        self._served.add(request.protocol)
        return await handler(request)

    def close_overdue(self, connections: Iterable[web.RequestHandler], now: float) -> None:
        """Closes overdue connections at time `now` [s]; call it regularly with all open connections."""
        present = set(connections)
        self._served &= present
        self._since = {one: self._since.get(one, now) for one in present - self._served}
        for connection, since in self._since.items():
            if now - since >= self._limit:
                connection.force_close()
