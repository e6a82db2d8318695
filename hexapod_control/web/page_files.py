# SPDX-License-Identifier: Apache-2.0
"""Serves the files of the page, and downloads, over HTTP with security headers (aiohttp >= 3.8)."""

from __future__ import annotations

import asyncio
import gzip
import json
import mimetypes
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from hexapod_control.web.protocol import RefusedMessageError
from hexapod_control.web.sessions.access_control import Downloads, HostPolicy

STATIC = Path(__file__).parent / "static"
TYPES = {".js": "text/javascript", ".svg": "image/svg+xml", ".webmanifest": "application/manifest+json"}
SHARED = ("/styles/theme.css", "/texts/texts.js", "/icon.svg")
MAX_RUN_S = 300.0  # of the command of a download, including the time that the browser takes
CHUNK_BYTES = 1 << 16
PROBES = {  # paths by which phones and computers ask whether a network has a page to sign in
    "/generate_204",
    "/gen_204",
    "/hotspot-detect.html",
    "/library/test/success.html",
    "/connecttest.txt",
    "/ncsi.txt",
    "/redirect",
    "/canonical.html",
    "/success.txt",
}
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "gamepad=(self), camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-cache",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src blob:; "
    "manifest-src 'self'; connect-src 'self' ws://{host} wss://{host}; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)


@dataclass(frozen=True, slots=True)
class PageFile:
    """One file of the page."""

    data: bytes
    compressed: bytes  # gzip
    kind: str

    @classmethod
    def of(cls, data: bytes, kind: str) -> PageFile:
        """A file with this content, of a MIME type."""
        return cls(data, gzip.compress(data, mtime=0), kind)


def pages(folder: Path = STATIC) -> dict[str, PageFile]:
    """Returns all files of a page by URL path."""
    found = files(folder)
    return {**found, "/": found["/index.html"]}


def files(folder: Path) -> dict[str, PageFile]:
    """Returns all files of a folder by URL path."""
    found: dict[str, PageFile] = {}
    for path in sorted(file for file in folder.rglob("*") if file.is_file()):
        kind = TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        data = path.read_bytes()
        found[f"/{path.relative_to(folder).as_posix()}"] = PageFile.of(data, kind)
    return found


def with_shared(common: Path, folder: Path, said: Mapping[str, Mapping[str, str]]) -> dict[str, PageFile]:
    """Returns the files of a dialog page: its own, those of all dialog pages, and those of the robot's page.

    Its texts in a language include what its program says, `said`, by language and key.
    """
    shared = files(STATIC)
    found = {**{name: shared[name] for name in SHARED}, **files(common), **pages(folder)}
    for language, texts in said.items():
        path = f"/texts/{language}.json"
        table = {**texts, **json.loads(found[path].data)}
        found[path] = PageFile.of(json.dumps(table, ensure_ascii=False).encode(), found[path].kind)
    return found


class PageFiles:
    """Handles requests for files; refuses hosts that the policy does not allow."""

    def __init__(self, policy: HostPolicy, files: Mapping[str, PageFile]) -> None:
        self._policy = policy
        self._pages = files

    async def answer(self, request: web.Request) -> web.Response:
        """Returns the requested file, or a refusal."""
        try:
            self._policy.check_host(request.headers)
        except RefusedMessageError as refusal:
            return (self._portal(request) if request.path in PROBES else None) or refuse(refusal)
        page = self._pages.get(request.path)
        if page is None:
            return refuse(RefusedMessageError(404, "there is no such page"))
        headers = {**HEADERS, "Content-Security-Policy": POLICY.format(host=request.headers["Host"])}
        headers["Vary"] = "Accept-Encoding"
        compress = "gzip" in request.headers.get("Accept-Encoding", "") and len(page.compressed) < len(page.data)
        if compress:
            headers["Content-Encoding"] = "gzip"
        headers["Content-Type"] = page.kind if not page.kind.startswith("text/") else f"{page.kind}; charset=utf-8"
        return web.Response(body=page.compressed if compress else page.data, headers=headers)

    def _portal(self, request: web.Request) -> web.Response | None:
        """Sends a phone that asks another host on the robot's hotspot to the page; None if the page is not public."""
        address = request.transport.get_extra_info("sockname") if request.transport else None
        if not self._policy.literal or not address:
            return None
        host = f"[{address[0]}]" if ":" in address[0] else address[0]
        return web.Response(status=302, headers={**HEADERS, "Location": f"{request.scheme}://{host}:{address[1]}/"})


class DownloadFiles:
    """Handles requests for downloads, which are offered for a short time."""

    def __init__(
        self, policy: HostPolicy, downloads: Downloads, admit: Callable[[asyncio.Transport | None], None]
    ) -> None:
        """`admit` is called with the connection of every valid ticket."""
        self._policy = policy
        self._downloads = downloads
        self._admit = admit

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Sends the download of the requested ticket, or a refusal."""
        try:
            self._policy.check_host(request.headers)
        except RefusedMessageError as refusal:
            return refuse(refusal)
        download = self._downloads.find(request.match_info["ticket"], time.monotonic())
        if download is None:
            return refuse(RefusedMessageError(404, "this address is not valid any more: press the button again"))
        self._admit(request.transport)
        attachment = f'attachment; filename="{download.name}"'
        headers = {**HEADERS, "Content-Disposition": attachment, "Content-Type": download.kind}
        if download.path is not None:
            if not download.path.is_file():
                return refuse(RefusedMessageError(404, "the recording was deleted"))
            return web.FileResponse(download.path, headers=headers)
        return await _output(request, download.command, headers)


async def _output(request: web.Request, command: tuple[str, ...], headers: dict[str, str]) -> web.StreamResponse:
    """Runs a command and sends its output while it runs; an error before any output becomes a refusal."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)
    assert process.stdout is not None and process.stderr is not None
    try:
        async with asyncio.timeout(MAX_RUN_S):
            chunk = await process.stdout.read(CHUNK_BYTES)
            if not chunk:
                reason = (await process.stderr.read(CHUNK_BYTES)).decode(errors="replace").strip()
                return refuse(RefusedMessageError(500, reason.splitlines()[-1] if reason else "the recording is empty"))
            response = web.StreamResponse(headers=headers)
            response.enable_compression()
            await response.prepare(request)
            while chunk:
                await response.write(chunk)
                chunk = await process.stdout.read(CHUNK_BYTES)
            if await process.wait() and request.transport is not None:
                request.transport.abort()  # so that the browser does not take it for complete
        return response
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def refuse(refusal: RefusedMessageError) -> web.Response:
    """Returns the response to a refused request."""
    headers = {**HEADERS, "Content-Security-Policy": "default-src 'none'"}
    return web.Response(status=refusal.code, text=f"{refusal.text}\n", headers=headers)
