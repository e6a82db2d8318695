# SPDX-License-Identifier: Apache-2.0
"""Attacks a port of this machine: `page_attack.py PORT`. Clients without a token come back as soon as they are closed.

A program of its own, so that it competes with the server as a stranger would.
"""

import asyncio
import subprocess
import sys
from contextlib import contextmanager

HALF_OPEN, SOCKETS = 300, 30
MASKED_GARBAGE = bytes([0x81, 0x84, 0, 0, 0, 0]) + b"oops"
READY = "attacks"


class _Attacker(asyncio.Protocol):
    def __init__(self, sent, leaves):
        self.sent, self.leaves, self.ended = sent, leaves, asyncio.Event()

    def connection_made(self, transport):
        self.transport = transport
        transport.write(self.sent)

    def data_received(self, data):
        if self.leaves:
            self.transport.abort()

    def connection_lost(self, error):
        self.ended.set()


async def _come_back(port, address, sent, leaves):
    while True:
        try:
            made = await asyncio.get_running_loop().create_connection(
                lambda: _Attacker(sent, leaves), "127.0.0.1", port, local_addr=(address, 0)
            )
            await made[1].ended.wait()
        except OSError:
            await asyncio.sleep(0.01)


async def _attack(port):
    host = f"127.0.0.1:{port}"
    start = f"GET /socket HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n".encode()
    upgrade = (
        start + b"Upgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    unfinished = [b"", start, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"]
    kinds = [(upgrade, False), (upgrade + MASKED_GARBAGE, False), (upgrade, True)]
    attackers = [(unfinished[i % 3], False) for i in range(HALF_OPEN)] + [kinds[i % 3] for i in range(SOCKETS)]
    asyncio.get_running_loop().call_later(0.5, lambda: print(READY, flush=True))
    addresses = [f"127.0.0.{1 + i % 3}" for i in range(len(attackers))]  # one of them that of the owner
    await asyncio.gather(*(_come_back(port, at, *each) for at, each in zip(addresses, attackers, strict=True)))


@contextmanager
def attack(port):
    """Attacks a port while the block runs."""
    program = subprocess.Popen([sys.executable, __file__, str(port)], stdout=subprocess.PIPE, text=True)
    try:
        assert program.stdout.readline().strip() == READY
        yield
    finally:
        program.kill()
        program.communicate()


if __name__ == "__main__":
    asyncio.run(_attack(int(sys.argv[1])))
