"""`hexapod servos models`: the servo table."""

from __future__ import annotations

from hexapod_control.config.errors import DONE
from hexapod_control.config.robots.servo_table import KG_CM, RPM, CatalogServo, servo_table

HEAD = ("model", "protocol", "V", "rad/s", "rpm", "N m", "kg cm", "range deg", "g", "source")


def show() -> int:
    """Prints a row per listed supply of every servo, as CSV."""
    print(",".join(HEAD))
    for servo in servo_table():
        for row in _rows(servo):
            print(",".join(row))
    return DONE


def _rows(servo: CatalogServo) -> list[tuple[str, ...]]:
    return [
        (
            servo.model,
            servo.protocol,
            f"{each.voltage:g}",
            f"{each.no_load_speed:.2f}",
            f"{each.no_load_speed / RPM:.0f}",
            f"{each.stall_torque:.3f}",
            f"{each.stall_torque / KG_CM:.1f}",
            f"{servo.turn:g}",
            f"{1000.0 * servo.mass:g}",
            servo.source,
        )
        for each in servo.figures
    ]
