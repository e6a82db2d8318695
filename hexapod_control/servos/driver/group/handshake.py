"""Checks that all servos respond before any torque is switched on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hexapod_control.servos.bus.bus_interface import Bus, BusError
from hexapod_control.servos.bus.id_addressing import duplicate_ids
from hexapod_control.servos.settings.joint_calibration import JointCalibration


def check_presence(bus: Bus, joints: Sequence[JointCalibration]) -> dict[int, str]:
    """Pings the servos of all joints. Returns their models by id.

    Raises BusError that names missing servos and probable duplicate ids.
    """
    present = dict(bus.identify())
    if any(joint.id not in present for joint in joints):  # one corrupt reply does not mean a missing servo
        present.update(bus.identify())
    absent = [joint for joint in joints if joint.id not in present]
    duplicates = duplicate_ids(bus, [joint.id for joint in absent])
    reasons = []
    if duplicates:
        names = describe(joint for joint in absent if joint.id in duplicates)
        reasons.append(f"{names} gives corrupt replies, probably two servos have this id: connect only one, set its id")
    missing = [joint for joint in absent if joint.id not in duplicates]
    if missing:
        found = ", ".join(map(str, sorted(present))) or "none"
        reasons.append(
            f"no answer from {len(missing)} of {len(joints)} servos: {describe(missing)}; ids found: {found}; "
            "check cables, power and the ids in servos.joints"
        )
    if reasons:
        raise BusError("; ".join(reasons))
    return present


def describe(joints: Iterable[JointCalibration]) -> str:
    """Joints by name and servo id."""
    return ", ".join(f"{joint.joint} (id {joint.id})" for joint in joints)
