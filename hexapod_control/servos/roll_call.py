"""Who is there before anybody gets torque."""

from __future__ import annotations

from collections.abc import Sequence

from hexapod_control.servos.addressing import twins
from hexapod_control.servos.bus import Bus, BusError
from hexapod_control.servos.calibration import Calibration


def roll_call(bus: Bus, joints: Sequence[Calibration]) -> None:
    """Asks for the servos of all joints. Raises BusError naming who is missing, and who seems to be there twice."""
    there = dict(bus.identify())
    if any(joint.id not in there for joint in joints):  # one disturbed moment is no missing servo
        there.update(bus.identify())
    away = [joint for joint in joints if joint.id not in there]
    double = twins(bus, [joint.id for joint in away])
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


def _names(joints: Sequence[Calibration]) -> str:
    return ", ".join(f"{joint.joint} (id {joint.id})" for joint in joints)
