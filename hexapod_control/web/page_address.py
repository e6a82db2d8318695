"""Finds the addresses under which the page can be opened, and encodes them as QR codes."""

from __future__ import annotations

import contextlib
import io
import socket
from collections.abc import Sequence
from urllib.parse import quote

import segno

# Addresses reserved for documentation (RFC 5737, RFC 3849): the route to them shows our own address; nothing is sent.
PROBES = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))


def addresses() -> list[str]:
    """Returns the addresses of this computer on its networks, the one of the default route first."""
    found: list[str] = []
    for family, probe in PROBES:
        with socket.socket(family, socket.SOCK_DGRAM) as udp:
            try:
                udp.connect((probe, 9))
            except OSError:
                continue
            found.append(udp.getsockname()[0])
    with contextlib.suppress(OSError):
        found += [str(info[4][0]) for info in socket.getaddrinfo(socket.gethostname(), None)]
    return [a for a in dict.fromkeys(found) if not a.startswith(("127.", "fe80:")) and a != "::1"]


def names(bind: str) -> list[str]:
    """Returns the host names under which a page bound to this address can be opened, besides localhost."""
    if bind not in ("0.0.0.0", "::"):
        return [bind]
    name = socket.gethostname()
    return [*addresses(), name, f"{name}.local"]


def url(host: str, port: int, token: str) -> str:
    """Returns the URL of the page; the token is in the fragment, which browsers do not send to servers."""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/#{quote(token)}"


def qr_rows(text: str) -> list[str]:
    """Returns the QR code of a text as rows of 0 and 1, without a border."""
    return ["".join(str(int(bool(module))) for module in row) for row in segno.make(text, micro=False).matrix]


def qr_lines(text: str) -> Sequence[str]:
    """Returns the QR code of a text as lines for a terminal."""
    screen = io.StringIO()
    segno.make(text, micro=False).terminal(out=screen, compact=True, border=2)
    return screen.getvalue().splitlines()
