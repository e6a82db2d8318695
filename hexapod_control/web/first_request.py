"""Closes connections that never complete a request (aiohttp >= 3.8).

aiohttp limits the time for the second and later requests of a connection, but in old versions not for the first one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class FirstRequestTimer:
    """Limits the time between the start of a connection and its first complete request."""

    def __init__(self, limit: float) -> None:
        """`limit` [s]."""
        self._limit = limit
        self._since: dict[web.RequestHandler, float] = {}  # [s] when a connection was first seen
        self._served: set[web.RequestHandler] = set()

    @web.middleware
    async def note(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Middleware: notes that the connection of a request has sent one."""
        self._served.add(request.protocol)
        return await handler(request)

    def close_overdue(self, connections: Iterable[web.RequestHandler], now: float) -> None:
        """Closes what is overdue at a time [s]; call it regularly with all open connections."""
        present = set(connections)
        self._served &= present
        self._since = {one: self._since.get(one, now) for one in present - self._served}
        for connection, since in self._since.items():
            if now - since >= self._limit:
                connection.force_close()
