"""Detects a Pololu Maestro before servo frames are sent: it would read the bytes after an FF as a channel and target.

Servos ignore the request as noise. Source: Pololu Maestro User's Guide, "Get Errors" and "Mini SSC Protocol".
"""

from __future__ import annotations

import time

from hexapod_control.servos.bus.model_numbers import WrongModelError
from hexapod_control.servos.bus.serial_port import Port

GET_ERRORS = b"\xa1"  # reply: the error word, two bytes, which is then cleared
CLEARED = b"\x00\x00"
ANSWER_WAIT_S = 0.03


class BoardProbe:
    """Queries the port once, before the first frame."""

    def __init__(self, port: Port) -> None:
        self._port = port
        self._done = False

    def check(self) -> None:
        """Raises WrongModelError if a Maestro answers."""
        if not self._done and self._answer() and self._answer() == CLEARED:
            raise WrongModelError("the port answers like a Pololu Maestro: use protocol maestro")
        self._done = True

    def _answer(self) -> bytes:
        """The error word of a Maestro; empty without a complete reply."""
        self._port.clear()
        self._port.write(GET_ERRORS)
        reply = self._port.read(len(CLEARED), time.monotonic() + ANSWER_WAIT_S)
        return reply if len(reply) == len(CLEARED) else b""
