"""Opens the port of a server (aiohttp >= 3.8)."""

from __future__ import annotations

import errno
from typing import Any

from aiohttp import web

MAX_PORT = 65535
MAX_CLOSE_TIME_S = 3.0  # time limit for the thread of a server to end
PORTS_TRIED = 20  # the requested port and those after it


async def open_port(runner: web.AppRunner, bind: str, first: int) -> int:
    """Opens the requested port, or the next free one; 0 means any. Returns its number. Raises OSError."""
    last = min(first + PORTS_TRIED - 1, MAX_PORT) if first else first
    for port in range(first, last + 1):
        try:
            await web.TCPSite(runner, bind, port).start()
            break
        except OSError as error:
            if error.errno != errno.EADDRINUSE or port == last:
                raise
    sockets: Any = runner.addresses
    return int(sockets[0][1])
