# SPDX-License-Identifier: Apache-2.0
"""WebSocket clients of the page in a thread of their own, with bounded waits."""

import asyncio
import base64
import json
import os
import socket
import threading
import time

import aiohttp
from support.page_messages import TOKEN

MAX_WAIT_S = 5.0  # for a reply of the server


class Loop:
    """An event loop in a thread."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(MAX_WAIT_S)

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(MAX_WAIT_S)
        self.loop.close()


class Visitor:
    """One client of the server at a port of this machine."""

    def __init__(self, loop, port, origin=None, host="127.0.0.1", greet=True, **hello):
        self.loop, self.messages, self.code, self.sequence = loop, [], None, 0
        self.host = f"{host}:{port}"
        loop.run(self._open(port, f"http://{self.host}" if origin is None else origin))
        if greet:
            self.send("hello", **({"token": TOKEN} | hello))

    async def _open(self, port, origin):
        self.session = aiohttp.ClientSession()
        try:
            self.socket = await self.session.ws_connect(
                f"http://127.0.0.1:{port}/socket", origin=origin, headers={"Host": self.host}, max_msg_size=0
            )
        except aiohttp.ClientError:
            await self.session.close()
            raise
        self.reader = asyncio.ensure_future(self._read())

    async def _read(self):
        async for message in self.socket:
            self.messages.append(json.loads(message.data))
        self.code = self.socket.close_code

    def send(self, kind, n=None, v=2, **fields):
        self.sequence = self.sequence + 1 if n is None else n
        self.text(json.dumps({"v": v, "n": self.sequence, "t": kind, **fields}))

    def text(self, text):
        self.loop.run(self._send(text))

    async def _send(self, text):
        if not self.socket.closed:
            await self.socket.send_str(text)

    def received(self, kind):
        """All messages of a kind."""
        return [message for message in list(self.messages) if message["t"] == kind]

    def wait(self, condition, spin=lambda: time.sleep(0.005), seconds=MAX_WAIT_S):
        """Waits for a condition; `spin` is called between two checks."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"waited in vain; received {self.messages[-3:]}, close code {self.code}"
            spin()

    def drop(self):
        """Breaks the connection without a closing handshake."""
        self.loop.loop.call_soon_threadsafe(self.socket.get_extra_info("socket").shutdown, socket.SHUT_RDWR)

    def close(self):
        self.loop.run(self.session.close())


def stalled_socket(port, token=TOKEN):
    """A socket that has sent the hello message and never reads."""
    raw = socket.create_connection(("127.0.0.1", port))
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    key = base64.b64encode(os.urandom(16)).decode()
    host = f"127.0.0.1:{port}"
    raw.sendall(
        f"GET /socket HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nUpgrade: websocket\r\n"
        f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
    )
    assert b"101" in raw.recv(64)
    text = json.dumps({"v": 2, "n": 1, "t": "hello", "token": token}).encode()
    mask = bytes(4)
    raw.sendall(bytes([0x81, 0x80 | len(text)]) + mask + text)
    return raw
