"""Access to the computer and the robot, as the commissioning stages need it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from hexapod_control.core.sentence import Sentence
from hexapod_control.servos.bus.bus_interface import Bus
from hexapod_control.servos.line_search import LineFinding
from hexapod_control.servos.settings.servo_section import ServoSettings


class Hardware(Protocol):
    """The bus, the ports of the computer, and the nodes of the robot."""

    def open(self, settings: ServoSettings) -> AbstractContextManager[Bus]:
        """An open bus. Raises PortGoneError or BusError."""

    def ports(self) -> Sequence[str]:
        """Serial ports and I2C buses of this computer."""

    def findings(self, port: str) -> Sequence[LineFinding]:
        """The servos and boards that answer on a port, at all baud rates and with all protocols."""

    def drive(self, settings: ServoSettings, motion: str) -> Sentence:
        """Starts the nodes, performs a motion (stand_up, step or walk), and sits down. Returns its result.

        Raises StageError.
        """
