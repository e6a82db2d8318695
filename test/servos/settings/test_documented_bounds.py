# SPDX-License-Identifier: Apache-2.0
"""The numbers of the sections `servos` and `io` of a robot file: bounds, units and defaults as in the reference."""

import pytest

from hexapod_control.servos.settings.io_section import io_lines
from hexapod_control.servos.settings.servo_section import section_lines

SERVOS = """
    baud: 1200 to 4.5e+06 bit/s whole number, default that of the protocol
    rate: 5 to 500 Hz number, default 50
    lost_after: 0.05 to 10 s number, default 0.5
    max_temperature: 30 to 120 degC number, default 70
    silence_time: 0.2 to 3600 s number, default 10
    battery.warn: 1 to 100 V number, default by the servos' rated voltage
    battery.critical: 1 to 100 V number, default by the servos' rated voltage
    battery.time: 0.5 to 60 s number, default 2
    joints.LEG.JOINT.id: 0 to 253 - whole number, default required
    joints.LEG.JOINT.direction: -1 to 1 - whole number, default required
    joints.LEG.JOINT.center: -1e+06 to 1e+06 raw units number, default the middle of the protocol's servo
    joints.LEG.JOINT.units_per_rad: 1 to 1e+06 raw units per rad number, default that of the protocol's servo
    joints.LEG.JOINT.units_per_rad_neg: 1 to 1e+06 raw units per rad number, default units_per_rad
    joints.LEG.JOINT.q_center_deg: -180 to 180 deg number, default 0
    joints.LEG.JOINT.trim_deg: -45 to 45 deg number, default 0
    joints.LEG.JOINT.low: -1e+06 to 1e+06 raw units whole number, default the minimum of the protocol's servo
    joints.LEG.JOINT.high: -1e+06 to 1e+06 raw units whole number, default the maximum of the protocol's servo
    joints.LEG.JOINT.offset: -1e+06 to 1e+06 raw units whole number, default not compared
    options.acceleration: 0 to 254 - whole number, default that of the protocol
    options.degrees: 90 to 360 deg number, default that of the protocol
    options.divider: 0.01 to 100 - number, default that of the protocol
    options.device: 0 to 127 - whole number, default that of the protocol
    options.addresses: 64 to 119 - whole number, or a list of up to 4, default that of the protocol
    options.oscillator: 20 to 30 MHz number, or a list of up to 4, default that of the protocol
    options.frequency: 50 to 330 Hz number, default that of the protocol
"""
IO = """
    imu.address: 8 to 119 - whole number, default the usual one of the chip
    imu.mounting_deg: -180 to 180 deg 3 numbers, default [0, 0, 0]
    battery.address: 8 to 119 - whole number, default the usual one of the chip
    battery.shunt: 1e-05 to 10 ohm number, default 0.1
    battery.channel: 0 to 7 - whole number, default 0
    battery.divider: 0.01 to 100 - number, default 1
    battery.reference: 1 to 6 V number, default 5
    feet.address: 8 to 119 - whole number, default the usual one of the chip
    feet.bounce: 0 to 0.2 s number, default 0.01
    feet.pins.LEG: 0 to 63 - whole number, default required
"""


@pytest.mark.parametrize(("lines", "documented"), [(section_lines, SERVOS), (io_lines, IO)], ids=["servos", "io"])
def test_numbers_of_a_robot_file_have_the_bounds_units_and_defaults_of_the_reference(lines, documented):
    found = [
        f"{line.key}: {line.bound} {line.unit or '-'} {line.kind}, default {line.default}"
        for line in lines()
        if line.kind not in ("word", "text")
    ]
    assert found == [row.strip() for row in documented.strip().splitlines()]
