# SPDX-License-Identifier: Apache-2.0
"""Measures the page of a running robot: frames, CPU, latency of stick and STOP, memory, spectators, a stalled one."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import random
import socket
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

import aiohttp
from chromium import Browser, BrowserPage
from process_group import cpu_seconds, session_cpu_seconds

from hexapod_control.web.page_files import STATIC, pages
from hexapod_control.web.protocol import VERSION

WINDOW_S = 5.0  # per figure
SPECTATORS = 5
PUSHES = 40  # of the stick
STOP_PRESSES = 50
STOP_WITHIN_MS = 100.0
HEAP_MINUTES = (4, 30)  # of walking, after which the memory of the page is measured; a history has three minutes
WALKED_MINUTES = 2  # at once: the browser answers within its time limit
LOAD_TIMEOUT_S = 20.0  # for the page to draw
STICK_TIMEOUT_S = 2.0  # for a velocity to arrive
STOPS = """(() => {
  const {connection} = hexapod, send = connection.send.bind(connection);
  globalThis.stops = [];
  connection.send = (kind, body) => {
    if (body?.what === "stop") stops.push(performance.now() - event.timeStamp);
    return send(kind, body);
  };
})()"""
SHOW_3D = "document.querySelector('#pictures [data-picture=space]').click()"

# Minutes of states of a walking robot, as fast as the page takes them. The clock of the page is moved with them.
WALKED = """(async () => {
  const {connection, robot} = hexapod;
  const next = () => new Promise((done) => connection.addEventListener("state", (e) => done(e.detail), {once: true}));
  const state = await next(), status = robot.status;
  let now = performance.now();
  performance.now = () => now;
  for (let k = 0; k < %d * 60 * 30; k++) {
    now += 1000 / 30;
    const planted = state.planted.map((_, leg) => Number((k >> 4) %% 2 === leg %% 2));
    const odom = [0.002 * k, 0, 0.001 * k], margin = 0.05 + 0.001 * (k %% 9);
    connection.dispatchEvent(new CustomEvent("state", {detail: {...state, planted, odom, margin}}));
    if (k %% 15 === 0) connection.dispatchEvent(new CustomEvent("status", {detail: {...status}}));
  }
})()"""


class VelocityWatch(Protocol):
    """Listens to cmd_vel."""

    def wait(self, after: float, *, moving: bool) -> float | None:
        """The steady time [s] of the first command of (no) motion after that time; None: none came in time."""


def measure(url: str, pid: int, watch: VelocityWatch, progress: Callable[[str], None]) -> dict[str, object]:
    """Returns the figures of the page at `url` (with its token), which process `pid` serves without other clients.

    The robot stands, turns and takes a few steps. Raises BrowserError or TimeoutError.
    """
    progress("the server with five spectators")
    spectators = asyncio.run(_spectators(url, pid))
    progress("the page in Chromium")
    with tempfile.TemporaryDirectory(prefix="hexapod_", ignore_cleanup_errors=True) as folder:
        browser = Browser(Path(folder, "profile"))
        try:
            page = open_page(browser, url)
            desktop = drawing(browser, page, "projections")
            page.resize(390, 844, touch=True)
            page.js(SHOW_3D)
            progress("the page at the size of a phone: 3D, stick, STOP")
            phone = drawing(browser, page, "scene")
            pushes = stick_latencies(page, watch)
            stops = stop_latencies(page)
            progress("the memory of the page")
            heap = _heap(page)
        finally:
            browser.close()
    return {
        **spectators,
        "page_bytes": sum(path.stat().st_size for path in STATIC.rglob("*") if path.is_file()),
        "page_bytes_sent": sum(len(page.compressed) for path, page in pages().items() if path != "/"),
        "desktop": desktop,
        "phone_3d": phone,
        "stick_to_cmd_vel_ms": {"p50": round(median(pushes), 1), "p95": round(quantiles(pushes, n=20)[-1], 1)},
        "stop_ms": {
            "largest": round(max(stops), 1),
            "in_time": f"{sum(value <= STOP_WITHIN_MS for value in stops)} of {STOP_PRESSES}",
        },
        "heap_mb": heap,
    }


def open_page(browser: Browser, url: str) -> BrowserPage:
    """Opens the page and waits until it draws."""
    page = browser.page(url, 1280, 800)
    deadline = time.monotonic() + LOAD_TIMEOUT_S
    while not page.js("globalThis.hexapod?.projections.frames"):
        if time.monotonic() > deadline:
            raise TimeoutError(f"the page draws nothing: {page.errors}")
        time.sleep(0.1)
    return page


def drawing(browser: Browser, page: BrowserPage, counter: str) -> dict[str, float]:
    """Frames per second of a part of the page, and CPU load of the browser, for a turning robot: at rest none is."""
    count = f"[hexapod.{counter}.frames, performance.now()]"
    page.js("hexapod.velocity.set('bench', 0, 0, 0.3)")
    before = page.js(count)
    busy = session_cpu_seconds(browser.process.pid)
    start = time.monotonic()
    time.sleep(WINDOW_S)
    after = page.js(count)
    load = session_cpu_seconds(browser.process.pid) - busy
    passed = time.monotonic() - start
    page.js("hexapod.velocity.release('bench')")
    frames = 1000.0 * (after[0] - before[0]) / (after[1] - before[1])
    return {"frames_per_s": round(frames, 1), "browser_cpu_percent": round(100.0 * load / passed, 1)}


def stick_latencies(page: BrowserPage, watch: VelocityWatch) -> list[float]:
    """Times [ms] from a finger that pushes the left stick until the velocity arrives at the robot."""
    x, y = page.spot("#left")
    found = []
    for _ in range(PUSHES):
        page.touch("Start", finger=(x, y))
        start = time.monotonic()
        page.touch("Move", finger=(x, y - 30))
        seen = watch.wait(start, moving=True)
        end = time.monotonic()
        page.touch("End")
        watch.wait(end, moving=False)
        time.sleep(0.02 + 0.06 * random.random())
        if seen is None:
            raise TimeoutError("no velocity came from the stick")
        found.append(1000.0 * (seen - start))
    return found


def stop_latencies(page: BrowserPage) -> list[float]:
    """Times [ms] from a finger on STOP until the page sends it, while a turning robot is drawn."""
    page.js(STOPS)
    for _ in range(STOP_PRESSES):
        page.js("hexapod.velocity.set('bench', 0, 0, 0.3)")
        time.sleep(0.2 + 0.2 * random.random())
        page.touch("Start", finger=page.spot("#stop"))
        page.touch("End")
    page.js("hexapod.velocity.release('bench')")
    found: list[float] = page.js("stops")
    if len(found) != STOP_PRESSES:
        raise TimeoutError(f"{len(found)} of {STOP_PRESSES} STOPs were sent")
    return found


def _heap(page: BrowserPage) -> dict[str, float]:
    """Memory [MB] of the page after minutes of states of a walking robot, as fast as it takes them."""
    found = {}
    for minutes in range(WALKED_MINUTES, max(HEAP_MINUTES) + 1, WALKED_MINUTES):
        page.js(WALKED % WALKED_MINUTES)
        if minutes in HEAP_MINUTES:
            found[f"after {minutes} min"] = heap(page)
    return found


def heap(page: BrowserPage) -> float:
    """Memory [MB] that the scripts of the page use."""
    page.call("HeapProfiler.collectGarbage")
    return round(float(page.call("Runtime.getHeapUsage")["usedSize"]) / 1e6, 2)


# --- spectators -------------------------------------------------------------------------------------------------


async def _spectators(url: str, pid: int) -> dict[str, object]:
    """CPU load of five spectators, and the rate of their states, also with an additional stalled client."""
    parts = urlsplit(url)
    hello = json.dumps({"v": VERSION, "n": 1, "t": "hello", "token": unquote(parts.fragment)})
    async with aiohttp.ClientSession() as session:
        alone = await _share(pid)
        counts = [0] * SPECTATORS
        tasks = [asyncio.ensure_future(_spectator(session, parts.netloc, hello, counts, i)) for i in range(SPECTATORS)]
        await asyncio.sleep(1.0)
        counts[:] = [0] * SPECTATORS
        with_them = await _share(pid)
        rate = min(counts) / WINDOW_S
        stalled = _stalled(parts.netloc, hello)
        counts[:] = [0] * SPECTATORS
        await asyncio.sleep(WINDOW_S)
        beside = min(counts) / WINDOW_S
        stalled.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return {
        "server_cpu_percent": {"none": round(100.0 * alone, 2), "five": round(100.0 * with_them, 2)},
        "states_per_s": {"five": round(rate, 1), "beside a stalled one": round(beside, 1)},
    }


async def _share(pid: int) -> float:
    """CPU load of a process, as a share of one core."""
    before = cpu_seconds(pid)
    start = time.monotonic()
    await asyncio.sleep(WINDOW_S)
    return (cpu_seconds(pid) - before) / (time.monotonic() - start)


async def _spectator(session: aiohttp.ClientSession, host: str, hello: str, counts: list[int], row: int) -> None:
    async with session.ws_connect(f"http://{host}/socket", origin=f"http://{host}", max_msg_size=0) as connection:
        await connection.send_str(hello)
        async for message in connection:
            counts[row] += '"t":"state"' in str(message.data)[:60]


def _stalled(host: str, hello: str) -> Any:
    """Opens a connection that sends hello and never reads."""
    name, _, port = host.rpartition(":")
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    raw.connect((name, int(port)))
    key = base64.b64encode(os.urandom(16)).decode()
    raw.sendall(
        f"GET /socket HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nUpgrade: websocket\r\n"
        f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
    )
    raw.recv(1024)
    raw.sendall(bytes([0x81, 0x80 | len(hello)]) + bytes(4) + hello.encode())
    return raw
