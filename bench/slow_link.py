# SPDX-License-Identifier: Apache-2.0
"""A link of limited speed between a browser and a server of this machine: a port that passes on what comes."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

PIECE = 2048  # [bytes] that are passed on at once: about one packet
BUFFER = 16384  # [bytes] that the sockets keep: little, so that the server notices a slow link
START_TIMEOUT_S = 5.0


class SlowLink:
    """Passes connections to its `port` on to another port of this machine; answers are passed on at a limited speed."""

    def __init__(self, target: int) -> None:
        self.speed = float("inf")  # [bytes/s] of answers, of all connections together; may be changed
        self._target = target
        self._loop = asyncio.new_event_loop()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._free = 0.0  # [s] time of the loop from which the link is free
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> SlowLink:
        self._thread.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(START_TIMEOUT_S)
        self._listener.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(asyncio.start_server(self._pass_on, sock=self._listener, limit=BUFFER))
        self._loop.run_forever()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0.0))

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        other = socket.create_connection(("127.0.0.1", self._target))
        for each in (other, writer.get_extra_info("socket")):
            each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        answers, requests = await asyncio.open_connection(sock=other, limit=BUFFER)
        await asyncio.gather(self._copy(reader, requests, limited=False), self._copy(answers, writer, limited=True))

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, limited: bool) -> None:
        try:
            while data := await reader.read(PIECE):
                if limited:
                    self._free = max(self._free, self._loop.time()) + len(data) / self.speed
                    await asyncio.sleep(max(0.0, self._free - self._loop.time()))
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()
