# SPDX-License-Identifier: Apache-2.0
"""Finds the addresses under which the page can be opened, and encodes them as QR codes."""

from __future__ import annotations

import contextlib
import fcntl
import io
import socket
import struct
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hexapod_control.core.quantity import Quantity

# Addresses reserved for documentation (RFC 5737, RFC 3849): the route to them shows our own address; nothing is sent.
PROBES = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))
SIOCGIFCONF = 0x8912  # request for all interfaces that have an IPv4 address, netdevice(7)
RECORD_BYTES = 40  # of one interface in the reply: name, family, port, address
MAX_INTERFACES = 64
LOOPBACK = "127.0.0.1"
ALL_ADDRESSES = "0.0.0.0"
INTERFACES: tuple[tuple[str, ...], ...] = (
    ("wl", "ap"),
    ("en", "eth", "usb"),
    (),
    ("docker", "br-", "virbr", "veth", "tun", "tap", "wg", "zt"),
)  # prefixes of names: wireless, cable, others, containers and tunnels
OTHER = 2
PORT = Quantity("", 0, 65535, "port of the page, or the next free one; 0: any", 8770, whole=True)


def addresses() -> list[str]:
    """Returns the addresses of this computer on its networks, the best one first: see `ranked`."""
    default = ""
    for family, probe in reversed(PROBES):
        with socket.socket(family, socket.SOCK_DGRAM) as udp, contextlib.suppress(OSError):
            udp.connect((probe, 9))
            default = udp.getsockname()[0]
    found = [*_ip4_addresses(), *_ip6_addresses()]
    with contextlib.suppress(OSError):
        found += [("", str(info[4][0])) for info in socket.getaddrinfo(socket.gethostname(), None)]
    return ranked(found, default)


def ranked(found: Sequence[tuple[str, str]], default: str) -> list[str]:
    """Sorts addresses, given with their interfaces, by the chance that a phone can open them.

    The one of the default route comes first; without a default route the robot may be the access point itself, so
    wireless interfaces are next, then cables, and interfaces of containers and tunnels last. Loopback and link-local
    addresses are left out, as a browser cannot open them from another device.
    """
    usable = [("", default)] if default else []
    usable += [(interface, address) for interface, address in found]
    usable = [each for each in usable if not each[1].startswith(("127.", "fe80:")) and each[1] != "::1"]
    order = sorted(usable, key=lambda each: (each[1] != default, _kind(each[0]), ":" in each[1]))
    return list(dict.fromkeys(address for _, address in order))


def _kind(interface: str) -> int:
    """Index of the kind of an interface in INTERFACES, by its name; unknown names are OTHER."""
    known = next((index for index, starts in enumerate(INTERFACES) if interface.startswith(starts)), None)
    return OTHER if known is None else known


def _ip4_addresses() -> list[tuple[str, str]]:
    """All IPv4 addresses with their interfaces; empty where the system has no such call."""
    buffer = array("B", bytes(MAX_INTERFACES * RECORD_BYTES))
    request = struct.pack("iL", len(buffer), buffer.buffer_info()[0])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        try:
            used = struct.unpack("iL", fcntl.ioctl(udp, SIOCGIFCONF, request))[0]
        except OSError:
            return []
    rows = (buffer[at : at + RECORD_BYTES].tobytes() for at in range(0, used, RECORD_BYTES))
    return [(row[:16].split(b"\0")[0].decode(), socket.inet_ntoa(row[20:24])) for row in rows]


def _ip6_addresses() -> list[tuple[str, str]]:
    """All IPv6 addresses with their interfaces; empty where the system has no such file."""
    try:
        rows = [line.split() for line in Path("/proc/net/if_inet6").read_text().splitlines()]
    except OSError:
        return []
    return [(row[-1], socket.inet_ntop(socket.AF_INET6, bytes.fromhex(row[0]))) for row in rows]


def names(bind: str) -> list[str]:
    """Returns the host names under which a page bound to this address can be opened, besides localhost."""
    if bind not in ("0.0.0.0", "::"):
        return [bind]
    name = socket.gethostname()
    return [*addresses(), name, f"{name}.local"]


def urls(bind: str, port: int, token: str, scheme: str = "http") -> list[str]:
    """Returns the URLs of the page on all networks of an address to listen on, the best one first."""
    hosts = (addresses() or [LOOPBACK]) if bind == ALL_ADDRESSES else [bind]
    return [url(host, port, token, scheme) for host in hosts]


def url(host: str, port: int, token: str, scheme: str = "http") -> str:
    """Returns the URL of the page; the token is in the fragment, which browsers do not send to servers."""
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}/#{quote(token)}"


def invitation_lines(urls: Sequence[str], public: bool) -> list[str]:
    """Returns what is printed of the addresses of the page, the best one first."""
    first, *others = urls
    if not public:
        return [f"the page: {first}"]
    same = [f"the same on another network: {other}" for other in others]
    return [*qr_lines(first), f"the page, an invitation for one person: {first}", *same]


def qr_rows(text: str) -> list[str]:
    """Returns the QR code of a text as rows of 0 and 1, without a border; none where segno is not installed."""
    code = _qr_code(text)
    return ["".join(str(int(bool(module))) for module in row) for row in code.matrix] if code else []


def qr_lines(text: str) -> Sequence[str]:
    """Returns the QR code of a text as lines for a terminal, or a line that says why there is none."""
    code = _qr_code(text)
    if code is None:
        return ["no QR code: segno is missing: `hexapod doctor` has the command that installs it"]
    screen = io.StringIO()
    code.terminal(out=screen, compact=True, border=2)
    return screen.getvalue().splitlines()


def _qr_code(text: str) -> Any:
    try:
        import segno  # takes a tenth of the start of the page, and most pages show no code
    except ModuleNotFoundError:
        return None
    return segno.make(text, micro=False)
