"""The connection of one client of the page, with its message rate limit."""

from __future__ import annotations

from dataclasses import dataclass

MAX_RATE, MAX_BURST = 90.0, 120.0  # messages of a client per second, and in a burst; more are dropped
LONG_AGO = -1e9  # [s]


@dataclass(slots=True)
class PageClient:
    """The connection of one client."""

    number: int
    address: str
    since: float  # [s]
    name: str = ""
    admitted: bool = False  # has presented a valid token
    sequence: int = -1
    quota: float = MAX_BURST  # messages that are accepted now (token bucket)
    refilled: float = 0.0  # [s]
    dropped: int = 0
    invalid: int = 0
    refused_at: float = LONG_AGO  # [s] time of the last refusal sent to it

    def within_rate(self, now: float) -> bool:
        """Counts a message at time `now` [s]. Returns False if it is one too many."""
        self.quota = min(MAX_BURST, self.quota + MAX_RATE * max(0.0, now - self.refilled))
        self.refilled = now
        if self.quota < 1.0:
            return False
        self.quota -= 1.0
        return True
