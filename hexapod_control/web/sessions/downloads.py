"""Addresses under which an admitted page fetches one file each, for a short time. No sockets and no clock in it.

The address is a random ticket: it needs no token, and nothing that a page sends becomes a path or a command.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path

ROUTE = "/download/{ticket}"
VALID_S = 60.0  # in which a download has to begin
MAX_OFFERS = 32


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
