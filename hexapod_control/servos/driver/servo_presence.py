"""Who is there before anybody gets torque."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from hexapod_control.servos.bus.bus_interface import BoardSilent, Bus, BusError
from hexapod_control.servos.bus.id_addressing import duplicate_ids
from hexapod_control.servos.settings.joint_calibration import JointCalibration
from hexapod_control.servos.settings.servo_section import ServoSettings


def roll_call(bus: Bus, joints: Sequence[JointCalibration]) -> None:
    """Asks for the servos of all joints. Raises BusError naming who is missing, and who seems to be there twice."""
    there = dict(bus.identify())
    if any(joint.id not in there for joint in joints):  # one disturbed moment is no missing servo
        there.update(bus.identify())
    away = [joint for joint in joints if joint.id not in there]
    double = duplicate_ids(bus, [joint.id for joint in away])
    reasons = []
    if double:
        names = _names([joint for joint in away if joint.id in double])
        reasons.append(f"{names} answers garbled, likely two servos have this id: connect one alone and set its id")
    missing = [joint for joint in away if joint.id not in double]
    if missing:
        found = ", ".join(map(str, sorted(there))) or "none"
        reasons.append(
            f"no answer from {len(missing)} of {len(joints)} servos: {_names(missing)}; ids found: {found}; "
            "check cables, power and the ids in servos.joints"
        )
    if reasons:
        raise BusError("; ".join(reasons))


def _names(joints: Sequence[JointCalibration]) -> str:
    return ", ".join(f"{joint.joint} (id {joint.id})" for joint in joints)


QUESTION_PERIOD = 0.1  # [s] between two questions
MIN_SILENCE = 0.4  # [s] at least, for three questions without an answer


@runtime_checkable
class PulseBoardPresence(Protocol):
    """A bus whose servos tell nothing, but whose board can."""

    def answers(self) -> bool | None:
        """Whether the board answers; None if it cannot be asked now."""


class BoardWatch:
    """Asks a board now and then, and every cycle once it does not answer."""

    def __init__(self, bus: Bus, settings: ServoSettings, clock: Callable[[], float]) -> None:
        """Where the servos themselves answer, there is nothing to watch."""
        self._board = bus if isinstance(bus, PulseBoardPresence) else None
        self._port, self._patience = settings.port, max(settings.lost_after, MIN_SILENCE)
        self._clock, self._heard, self._due = clock, clock(), -math.inf

    def look(self) -> None:
        """Raises BoardSilent if the board has not answered for so long that a servo would be lost."""
        now = self._clock()
        if self._board is None or now < self._due:
            return
        if self._board.answers():
            self._heard, self._due = self._clock(), now + QUESTION_PERIOD
            return
        silence = self._clock() - self._heard
        if silence >= self._patience:
            raise BoardSilent(
                f"{self._port}: the port is there, but the board behind it is silent for {silence:.1f} s: "
                "check the board's power, press its reset"
            )
