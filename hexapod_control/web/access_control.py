"""Access control of the page: host names, origins, tokens. Pure except for the random numbers of new tokens."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from collections import deque
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from hexapod_control.web.protocol import RefusedMessage

MIN_TOKEN_CHARACTERS = 16  # of a token chosen by the user
MAX_KEYS = 64  # of clients that may reconnect; the oldest are dropped
MAX_INVITATIONS = 16  # open at a time; the oldest become invalid
MAX_FAILURES = 10  # of one address with one wrong token within FAILURE_WINDOW_S
FAILURE_WINDOW_S = 60.0
MAX_REMEMBERED = 256  # pairs of address and wrong token; the oldest are dropped
LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")


def host_name(host: str) -> str:
    """The name in a Host header or in an origin's network location, lower case, without port; empty if unusable."""
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def loopback(name: str) -> bool:
    """True for an address that only this machine can reach."""
    return name == "localhost" or (_is_address(name) and ipaddress.ip_address(name).is_loopback)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class HostPolicy:
    """Checks the headers Host and Origin of requests, against DNS rebinding and foreign pages."""

    def __init__(self, hosts: Iterable[str], literal: bool = False) -> None:
        """`hosts` are the names under which the page may be opened, besides those of this machine itself.

        With `literal` every numeric address is allowed, too: the machine may get another one at any time, and DNS
        rebinding needs a name.
        """
        self._hosts = {host.lower() for host in (*LOCAL_HOSTS, *hosts) if host}
        self._literal = literal

    def check_host(self, headers: Mapping[str, str]) -> None:
        """Raises RefusedMessage for an unknown host, such as a foreign DNS name that points here."""
        host = headers.get("Host", "")
        name = host_name(host)
        if name not in self._hosts and not (self._literal and _is_address(name)):
            known = ", ".join(sorted(self._hosts))
            raise RefusedMessage(
                403, f"host {host[:80]!r} is not allowed, known are {known}; see the parameter allowed_hosts"
            )

    def check_origin(self, headers: Mapping[str, str]) -> None:
        """Raises RefusedMessage unless the page was loaded from this server: Origin == Host."""
        self.check_host(headers)
        origin = headers.get("Origin", "")
        try:
            parts = urlsplit(origin)
            same = parts.scheme in ("http", "https") and parts.netloc.lower() == headers["Host"].lower()
        except ValueError:
            same = False
        if not same:
            raise RefusedMessage(403, f"origin {origin[:80]!r} is not this page")


class TokenAuthority:
    """Issues and checks tokens and keys.

    A token is an invitation. With `once` every token admits one client, which gets a key for reconnecting. Without it,
    one token stays valid: for a page that is not on the network, or a token chosen by the user.
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
        """A token that admits one more client."""
        if self._fixed:
            return self._fixed
        self._invitations.append(secrets.token_urlsafe(18))
        return self._invitations[-1]

    def admit(self, token: str, key: str, address: str, now: float) -> str:
        """The key of a client with this token or key, at a time [s]. Raises RefusedMessage.

        A valid token always works. Behind a proxy all clients have the same address, so failures count per token.
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
            raise RefusedMessage(
                429, f"too many attempts from {address} with the same wrong token: open the printed address"
            )
        raise RefusedMessage(401, "this address has no valid token: open the one that is printed where the robot runs")

    def _new_key(self) -> str:
        self._keys.append(secrets.token_urlsafe(18))
        return self._keys[-1]

    def _fails_too_often(self, attempt: tuple[str, str], now: float) -> bool:
        """Notes a failure, and tells whether there were too many before."""
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
