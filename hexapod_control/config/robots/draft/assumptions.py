# SPDX-License-Identifier: Apache-2.0
"""Default assumptions for a drafted robot: mass shares, radii of the links, and the position loop of its servo."""

from __future__ import annotations

import math
from collections.abc import Mapping

from hexapod_control.config.robots.draft.leg_draft import LegGeometry
from hexapod_control.config.robots.draft.robot_draft import DraftServo, Origin, SourcedValue
from hexapod_control.config.robots.plausibility.check_values import THICKEST
from hexapod_control.config.robots.servo_table import version_for
from hexapod_control.core.names import JOINTS

LEG_SHARES = {"coxa": 0.35, "femur": 0.325, "tibia": 0.325}  # of the mass of a leg
RADIUS_SHARES = {"coxa": 0.16, "femur": 0.16, "tibia": 0.05, "foot": 0.06}  # of the length of femur or tibia
FULL_TORQUE_ERROR = math.radians(5.0)  # [rad] position error at which a servo outputs its stall torque
LINK_DENSITY = 4000.0  # [kg/m3] of a link that is as thick as its mass needs
MIN_LENGTH_M = 0.01  # of a link, for its thickness
STIFFNESS_NOTE = f"stall torque at an error of {math.degrees(FULL_TORQUE_ERROR):g} deg"


def assumed_radii(
    leg: LegGeometry, foot: SourcedValue | None, masses: Mapping[str, SourcedValue]
) -> dict[str, SourcedValue]:
    """Radii [m] of coxa, femur, tibia and foot for collisions and drawings, thick enough for the mass of each link.

    `foot` replaces the assumed one.
    """
    lengths = {"coxa": leg.femur, "femur": leg.femur, "tibia": leg.tibia, "foot": leg.tibia}
    found = {
        name: SourcedValue(max(0.001, share * lengths[name]), Origin.ASSUMED, "a share of the length")
        for name, share in RADIUS_SHARES.items()
    }
    for name, length in zip(JOINTS, (leg.coxa, leg.femur, leg.tibia), strict=True):
        length = max(length, MIN_LENGTH_M)
        least = min(math.sqrt(masses[name].value / (math.pi * length * LINK_DENSITY)), THICKEST[name] * length)
        if found[name].value < least:
            found[name] = SourcedValue(least, Origin.ASSUMED, "by the mass")
    if foot is not None:
        found["foot"] = foot
    largest = leg.tibia / 2.0 - found["foot"].value  # a robot file needs a tibia longer than 2 x (tibia + foot radius)
    if found["tibia"].value >= 0.8 * largest:
        found["tibia"] = SourcedValue(max(0.001, 0.5 * largest), Origin.ASSUMED, "a share of the length")
    return found


def table_servo(model: str, voltage: float) -> DraftServo:
    """A servo of the table at a permitted supply [V]."""
    row = version_for(model, voltage)
    assert row is not None  # checked by the callers
    figures = row.at(voltage)
    values = (figures.no_load_speed, figures.stall_torque, row.stiffness(voltage))
    return DraftServo(model, voltage, *(SourcedValue(value, Origin.GIVEN, "servo table") for value in values))


def unlisted_servo(speed: SourcedValue, torque: SourcedValue) -> DraftServo:
    """A servo outside the table, with no-load speed [rad/s] and stall torque [N m]."""
    stiffness = SourcedValue(torque.value / FULL_TORQUE_ERROR, Origin.ASSUMED, STIFFNESS_NOTE)
    return DraftServo("unknown", None, speed, torque, stiffness)
