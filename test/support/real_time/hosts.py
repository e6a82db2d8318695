# SPDX-License-Identifier: Apache-2.0
"""Two hosts on one cable: network namespaces joined by a veth pair, made and removed by the test; needs root.

Run as a program, it is one of the programs on a host: `hosts.py robot`, `hosts.py witness FILE`, `hosts.py page URL`.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from hexapod_control.ros.transport.loopback import profile_variable

SUBNET = "10.77.0"
STEP = 0.05  # [s]
SILENT = 2.0  # [s] without a message after which a client reconnects


class Host:
    """One end of the cable."""

    def __init__(self, name: str, interface: str, number: int, peer: int) -> None:
        self.name, self.interface, self.address = name, interface, f"{SUBNET}.{number}"
        self._peer = f"{SUBNET}.{peer}"

    def up(self) -> None:
        """Sets the address; the default route is the other host."""
        ip("link", "set", self.interface, "netns", self.name)
        self.ip("link", "set", "lo", "up")
        self.ip("addr", "add", f"{self.address}/24", "dev", self.interface)
        self.ip("link", "set", self.interface, "up")
        self.ip("route", "add", "default", "via", self._peer)

    def ip(self, *words: str) -> None:
        ip("-n", self.name, *words)

    def command(self, *words: str) -> list[str]:
        """Command line of a program on this host."""
        return ["ip", "netns", "exec", self.name, *words]

    def environment(self) -> dict[str, str]:
        """Environment with ROS discovery over the cable."""
        inherited = {name: value for name, value in os.environ.items() if name != profile_variable()}
        return {**inherited, "ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET", "FASTDDS_BUILTIN_TRANSPORTS": "UDPv4"}


class Cable:
    """Context manager: the two hosts `robot` and `desk`."""

    def __init__(self) -> None:
        tag = f"hx{os.getpid()}"
        self.robot = Host(f"{tag}r", f"{tag}r", 1, 2)
        self.desk = Host(f"{tag}d", f"{tag}d", 2, 1)

    def __enter__(self) -> Cable:
        try:
            for host in (self.robot, self.desk):
                ip("netns", "add", host.name)
            ip("link", "add", self.robot.interface, "type", "veth", "peer", "name", self.desk.interface)
            self.robot.up()
            self.desk.up()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *reason: object) -> None:
        for host in (self.robot, self.desk):
            with contextlib.suppress(subprocess.CalledProcessError):
                ip("netns", "del", host.name)  # its interface, and with that the other end, goes with it

    def pull(self) -> float:
        """Takes the link down at the desk. Returns the steady time [s]."""
        self.desk.ip("link", "set", self.desk.interface, "down")
        return time.monotonic()

    def plug(self) -> None:
        """Takes the link up again."""
        self.desk.ip("link", "set", self.desk.interface, "up")
        self.desk.ip("route", "replace", "default", "via", self.robot.address)


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


# --- programs ----------------------------------------------------------------------------------------------------


def robot() -> int:
    """The simulated robot with its page, open to the network."""
    from hexapod_control.bringup import node_graph
    from hexapod_control.bringup.process_supervisor import run
    from hexapod_control.bringup.shared_process import merged

    given = {"enable_stamped_cmd_vel": "false", "web_lan": "true", "web_port": "0"}
    world, *others = node_graph.specs("sim", given)
    world = dataclasses.replace(world, parameters={**world.parameters, "rate": 50.0})  # [Hz] the lowest
    return run((merged((world, *others)),))


def witness(path: str) -> int:
    """Writes a line with steady time [s], x, y [m], yaw [rad] of the truth and gait_state, 20 times a second.

    Nothing is written while no truth arrives: a simulation without processor time is not a robot that stands still.
    """
    from hexapod_control.clients.connection_options import ConnectionOptions
    from hexapod_control.clients.robot_client import SimulationClient

    with SimulationClient(ConnectionOptions()) as watcher, Path(path).open("w") as file:
        written = 0
        while True:
            watcher.spin(STEP)
            if len(watcher.truth) > written:
                written = len(watcher.truth)
                file.write(json.dumps([time.monotonic(), *watcher.truth.last.pose, watcher.state]) + "\n")
                file.flush()


async def page(url: str) -> int:
    """A client that stands the robot up, drives it forward at 20 Hz, and reconnects when it is disconnected."""
    import aiohttp  # not needed by the other programs, and slow to import

    address, _, token = url.partition("/#")
    key = ""
    while True:
        try:
            key = await visit(address, {"token": token, "key": key})
        except (aiohttp.ClientError, TimeoutError, OSError):
            await asyncio.sleep(STEP)


async def visit(address: str, hello: dict[str, str]) -> str:
    """One connection, until it is closed or silent. Returns the key for the next one."""
    import aiohttp

    key, received_at = hello["key"], time.monotonic()
    async with aiohttp.ClientSession() as session:
        async with asyncio.timeout(SILENT):
            client = await session.ws_connect(f"{address}/socket", origin=address, max_msg_size=0)

        async def read() -> None:
            nonlocal key, received_at
            async for message in client:
                content, received_at = json.loads(message.data), time.monotonic()
                key = content.get("key", key)

        reader = asyncio.ensure_future(read())
        await client.send_str(json.dumps({"v": 2, "n": 1, "t": "hello", **hello}))
        number, asked = 1, 0.0
        while not reader.done() and time.monotonic() - received_at < SILENT:
            number += 1
            what = {"t": "drive", "on": True, "vx": 0.5}
            if time.monotonic() - asked > 8.0:
                asked, what = time.monotonic(), {"t": "request", "what": "stand"}
            await client.send_str(json.dumps({"v": 2, "n": number, **what}))
            await asyncio.wait({reader}, timeout=STEP)
        reader.cancel()
        client.get_extra_info("socket").shutdown(socket.SHUT_RDWR)  # no closing handshake over a line that may be dead
    return key


if __name__ == "__main__":
    role, *words = sys.argv[1:]
    sys.exit(asyncio.run(page(*words)) if role == "page" else {"robot": robot, "witness": witness}[role](*words))
