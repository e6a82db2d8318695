# SPDX-License-Identifier: Apache-2.0
"""Measures the page of a running robot: frame rates, drag latency, memory, CPU load of spectators, a stalled one."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import socket
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from typing import Any
from urllib.parse import unquote, urlsplit

import aiohttp
from chromium import Browser, BrowserPage
from process_group import cpu_seconds

from hexapod_control.web.page_files import STATIC, pages
from hexapod_control.web.protocol import VERSION

WINDOW_S = 5.0  # per figure
SPECTATORS = 5
DRAGS = 40
HEAP_MINUTES = (4, 6)  # of walking, after each of which the memory of the page is measured
LOAD_TIMEOUT_S = 20.0  # for the page to draw
DRAG_TIMEOUT_S = 1.0  # for the page to receive the velocity of its own drag
DRAG = """(async () => {
  const canvas = document.querySelector("#view-top"), box = canvas.getBoundingClientRect();
  const event = (name, y, buttons) => canvas.dispatchEvent(new PointerEvent(name, {bubbles: true, pointerId: 1, buttons,
    clientX: box.left + box.width / 2, clientY: box.top + y * box.height}));
  const next = (moves) => new Promise((done) => {
    const give = () => {
      clearTimeout(timer); hexapod.connection.removeEventListener("state", look); done(performance.now());
    };
    const look = ({detail}) => (detail.commanded[0] !== 0) === moves && give();
    const timer = setTimeout(give, %d);
    hexapod.connection.addEventListener("state", look);
  });
  const start = performance.now();
  event("pointerdown", 0.2, 1);
  const seen = await next(true);
  event("pointerup", 0.2, 0);
  await next(false);
  await new Promise((done) => setTimeout(done, 20 + 60 * Math.random()));
  return seen - start;
})()"""

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


def measure(url: str, pid: int, progress: Callable[[str], None]) -> dict[str, object]:
    """Returns the figures of the page at `url` (with its token), which process `pid` serves without other clients.

    The robot stands, turns and takes a few steps. Raises BrowserError or TimeoutError.
    """
    progress("the server with five spectators")
    spectators = asyncio.run(_spectators(url, pid))
    progress("the page in Chromium")
    with tempfile.TemporaryDirectory(prefix="hexapod_", ignore_cleanup_errors=True) as folder:
        browser = Browser(Path(folder, "profile"))
        try:
            page = _open(browser, url)
            frames = _frames(page)
            drags = [float(page.js(DRAG % (1000 * DRAG_TIMEOUT_S))) for _ in range(DRAGS)]
            progress("the page at the size of a phone, and its memory")
            phone = _phone(page)
        finally:
            browser.close()
    return {
        **spectators,
        "page_bytes": sum(path.stat().st_size for path in STATIC.rglob("*") if path.is_file()),
        "page_bytes_sent": sum(len(page.compressed) for path, page in pages().items() if path != "/"),
        "frames_per_s": round(frames, 1),
        **phone,
        "drag_to_cmd_vel_and_back_ms": {
            "p50": round(median(drags), 1),
            "p95": round(quantiles(drags, n=20)[-1], 1),
        },
    }


def _open(browser: Browser, url: str) -> BrowserPage:
    page = browser.page(url, 1280, 800)
    deadline = time.monotonic() + LOAD_TIMEOUT_S
    while not page.js("globalThis.hexapod?.projections.frames"):
        if time.monotonic() > deadline:
            raise TimeoutError(f"the page draws nothing: {page.errors}")
        time.sleep(0.1)
    return page


def _frames(page: BrowserPage, counter: str = "projections") -> float:
    """Frames per second of the four views, or another part of the page, of a turning robot: at rest none is drawn."""
    count = f"[hexapod.{counter}.frames, performance.now()]"
    page.js("hexapod.velocity.set('bench', 0, 0, 0.3)")
    before = page.js(count)
    time.sleep(WINDOW_S)
    after = page.js(count)
    page.js("hexapod.velocity.release('bench')")
    return float(1000.0 * (after[0] - before[0]) / (after[1] - before[1]))


def _phone(page: BrowserPage) -> dict[str, object]:
    """Frames of the 3D view of a turning robot, and memory after minutes of walking; a history has three minutes."""
    page.resize(390, 844, touch=True)
    frames = _frames(page, "scene")
    heap = {}
    walked = 0
    for minutes in HEAP_MINUTES:
        page.js(WALKED % minutes)
        page.call("HeapProfiler.collectGarbage")
        walked += minutes
        heap[f"after {walked} min"] = round(page.call("Runtime.getHeapUsage")["usedSize"] / 1e6, 2)
    return {"frames_per_s_3d_phone": round(frames, 1), "heap_mb": heap}


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
