# SPDX-License-Identifier: Apache-2.0
"""Access control of the page: host names, origins, tokens and tickets. Independent of sockets and clocks.

A ticket is the random address of one file for a short time: it needs no token, and nothing that a page sends becomes a
path or a command.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from hexapod_control.web.protocol import RefusedMessageError

MIN_TOKEN_CHARACTERS = 16  # of a token chosen by the user
MAX_KEYS = 64  # keys for reconnecting; the oldest become invalid
MAX_INVITATIONS = 16  # unused tokens; the oldest become invalid
MAX_FAILURES = 10  # attempts of one address with the same wrong token within FAILURE_WINDOW_S
FAILURE_WINDOW_S = 60.0
MAX_REMEMBERED = 256  # pairs of address and wrong token; the oldest are forgotten
LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")
ROUTE = "/download/{ticket}"
VALID_S = 60.0  # in which a download has to begin
MAX_OFFERS = 32


def host_name(host: str) -> str:
    """Returns the host name of a Host header or an origin, in lower case and without port; empty if it is invalid."""
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def is_loopback(name: str) -> bool:
    """Returns True for a host name or address that only this computer can reach."""
    return name == "localhost" or (_is_address(name) and ipaddress.ip_address(name).is_loopback)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class HostPolicy:
    """Checks the headers Host and Origin of requests, which prevents DNS rebinding and requests from foreign pages."""

    def __init__(self, hosts: Iterable[str], literal: bool = False) -> None:
        """`hosts` are the names under which the page may be opened, besides those of loopback.

        `literal` also allows every numeric address: this computer may get another one at any time, and DNS rebinding
        needs a name.
        """
        self._hosts = {host.lower() for host in (*LOCAL_HOSTS, *hosts) if host}
        self.literal = literal

    def check_host(self, headers: Mapping[str, str]) -> None:
        """Raises RefusedMessageError for an unknown host, such as a foreign DNS name that points to this computer."""
        host = headers.get("Host", "")
        name = host_name(host)
        if name not in self._hosts and not (self.literal and _is_address(name)):
            known = ", ".join(sorted(self._hosts))
            raise RefusedMessageError(
                403, f"host {host[:80]!r} is not allowed, known are {known}; see the parameter allowed_hosts"
            )

    def check_origin(self, headers: Mapping[str, str]) -> None:
        """Raises RefusedMessageError unless the page was loaded from this server, i.e. Origin and Host are the same."""
        self.check_host(headers)
        origin = headers.get("Origin", "")
        try:
            parts = urlsplit(origin)
            same = parts.scheme in ("http", "https") and parts.netloc.lower() == headers["Host"].lower()
        except ValueError:
            same = False
        if not same:
            raise RefusedMessageError(403, f"origin {origin[:80]!r} is not this page")


class TokenAuthority:
    """Issues and checks the tokens and keys of clients.

    A token is an invitation. With `once`, each token admits one client, which gets a key for reconnecting. Without it,
    the same token admits all clients: for a page that is not on the network, or a token chosen by the user.
    """

    def __init__(self, token: str = "", once: bool = True) -> None:
        if token and len(token) < MIN_TOKEN_CHARACTERS:
            raise ValueError(
                f"token must have at least {MIN_TOKEN_CHARACTERS} characters, or be empty for a random one"
            )
        self._keys: deque[str] = deque(maxlen=MAX_KEYS)
        self._invitations: deque[str] = deque(maxlen=MAX_INVITATIONS)
        self._fixed = token if token or once else secrets.token_urlsafe(18)
        self._failures: dict[tuple[str, str], deque[float]] = {}  # [s] times by address and wrong token

    def invite(self) -> str:
        """Returns a token that admits one more client."""
        if self._fixed:
            return self._fixed
        self._invitations.append(secrets.token_urlsafe(18))
        return self._invitations[-1]

    def admit(self, token: str, key: str, address: str, now: float) -> str:
        """Checks the token or key of a client at time `now` [s]. Returns its key. Raises RefusedMessageError.

        A valid token is never blocked. Failures count per address and token, as behind a proxy all clients have the
        same address.
        """
        if key and any([_same(key, known) for known in self._keys]):
            return key
        if token and self._fixed and _same(token, self._fixed):
            return self._new_key()
        used = next((known for known in self._invitations if token and _same(token, known)), "")
        if used:
            self._invitations.remove(used)
            return self._new_key()
        if self._fails_too_often((address, token or key), now):
            raise RefusedMessageError(
                429, f"too many attempts from {address} with the same wrong token: open the printed address"
            )
        raise RefusedMessageError(
            401, "this address has no valid token: open the one that is printed where the robot runs"
        )

    def _new_key(self) -> str:
        self._keys.append(secrets.token_urlsafe(18))
        return self._keys[-1]

    def _fails_too_often(self, attempt: tuple[str, str], now: float) -> bool:
        """Records a failed attempt. Returns True if there were too many before."""
        if attempt not in self._failures and len(self._failures) >= MAX_REMEMBERED:
            del self._failures[next(iter(self._failures))]
        failures = self._failures.setdefault(attempt, deque(maxlen=MAX_FAILURES))
        while failures and now - failures[0] > FAILURE_WINDOW_S:
            failures.popleft()
        blocked = len(failures) >= MAX_FAILURES
        if not blocked:
            failures.append(now)
        return blocked


def _same(given: str, known: str) -> bool:
    return hmac.compare_digest(given.encode(), known.encode())


@dataclass(frozen=True, slots=True)
class Download:
    """A file, or the output of a command."""

    name: str  # file name for the browser
    kind: str  # MIME type
    path: Path | None = None
    command: tuple[str, ...] = ()


class Downloads:
    """The files that are offered now; any thread may use it."""

    def __init__(self) -> None:
        self._offers: dict[str, tuple[Download, float]] = {}  # by ticket, with the time [s] until which it is valid

    def offer(self, download: Download, now: float) -> str:
        """Returns the address of a download, valid from now [s] on."""
        offers = [offer for offer in self._offers.items() if offer[1][1] > now]
        ticket = secrets.token_urlsafe(16)
        self._offers = {**dict(offers[-MAX_OFFERS + 1 :]), ticket: (download, now + VALID_S)}
        return ROUTE.format(ticket=ticket)

    def find(self, ticket: str, now: float) -> Download | None:
        """Returns the download of a ticket at time `now` [s]; None if it is unknown or too old."""
        download, until = self._offers.get(ticket, (None, 0.0))
        return download if now < until else None
