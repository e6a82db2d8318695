"""What the stages of the first evening need of the computer and the robot."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from hexapod_control.servos.bus.bus_interface import Bus
from hexapod_control.servos.line_search.line_sweep import LineFinding
from hexapod_control.servos.settings.servo_section import ServoSettings


class Hardware(Protocol):
    """Access to the bus, and to the programs of the robot."""

    def open(self, settings: ServoSettings) -> AbstractContextManager[Bus]:
        """An open bus. Raises PortGoneError or BusError."""

    def ports(self) -> Sequence[str]:
        """Serial ports and I2C buses of this computer."""

    def findings(self, port: str) -> Sequence[LineFinding]:
        """What answers at a port, at any baud and in any protocol."""

    def drive(self, settings: ServoSettings, what: str) -> str:
        """Starts the programs of the robot, lets it stand_up, step or walk and sit. Returns the line of the report.

        Raises StageError.
        """
