# SPDX-License-Identifier: Apache-2.0
"""Checks with the servos themselves whether a move or a change of torque has happened."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from hexapod_control.config.sentence import Sentence, refuse
from hexapod_control.core.refusal import Refusal
from hexapod_control.servos.bus.bus_interface import OFF_FAULTS, Bus, ServoFault, ServoQuantity, ServoReading
from hexapod_control.servos.calibration.dialog import name, servo_name
from hexapod_control.servos.settings.joint_calibration import JointCalibration

TRIES = 4  # of a reading
MAX_ERROR = math.radians(3.0)  # [rad] of a joint that carries nothing but its leg
MIN_ERROR = math.radians(1.0)  # [rad] that every servo may be off


def move_failure(
    bus: Bus, joint: JointCalibration, angle: float, begin: float, max_error: float = MAX_ERROR
) -> Refusal | None:
    """Why a joint with torque is not at an angle [rad] after its move from `begin` [rad].

    The permitted error is `max_error` [rad], and less after a short way, so that a joint that has not moved is found.
    None for servos that report no positions.
    """
    if not bus.can_read & ServoQuantity.POSITION:
        return None
    joint_name = name(joint.short_name)
    if bus.features.servo_ids:
        servo = Sentence("joint_and_id", joint=joint_name, id=joint.id)
    else:
        servo = Sentence("joint_and_servo", joint=joint_name, servo=servo_name(bus, joint.id))
    reading = _reading(bus, joint.id)
    if reading is None or reading.position is None:
        return refuse("servo_silent_after_move", servo=servo)
    where = joint.angle(reading.position)
    values = {"servo": servo, "place": math.degrees(where), "goal": math.degrees(angle)}
    if reading.fault & OFF_FAULTS:
        faults = " and ".join(str(each.name).lower() for each in ServoFault if each in reading.fault)
        return refuse("fault_after_move", faults=faults, **values)
    if joint.id in torque_missing(bus, [joint.id], True):
        return refuse("torque_lost_in_move", **values)
    if abs(where - angle) > min(max_error, max(MIN_ERROR, 0.5 * abs(angle - begin))):
        return refuse("goal_not_reached", **values)
    return None


def torque_missing(bus: Bus, servos: Sequence[int], wanted: bool) -> Mapping[int, bool | None]:
    """The servos whose torque is not as `wanted`, None for those that do not answer; empty if no servo reports it."""
    if not bus.features.torque:
        return {}
    found: dict[int, bool] = {}
    for _ in range(TRIES):
        found |= bus.torques(_without(servos, found))
        if len(found) == len(servos):
            break
    return {servo: found.get(servo) for servo in servos if found.get(servo) is not wanted}


def _reading(bus: Bus, servo: int) -> ServoReading | None:
    for _ in range(TRIES):
        answers = bus.read([servo], bus.can_read & (ServoQuantity.POSITION | ServoQuantity.FAULT))
        if servo in answers:
            return answers[servo]
    return None


def _without(servos: Sequence[int], known: Iterable[int]) -> list[int]:
    return [servo for servo in servos if servo not in set(known)]
