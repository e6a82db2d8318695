# SPDX-License-Identifier: Apache-2.0
"""The checks of configuration registers one by one: where they are, which values pass, and what is restored."""

import dataclasses

import pytest

from hexapod_control.servos.preflight import (
    calibrated_offset,
    checks,
    narrow_range,
    reaches_high,
    reaches_low,
    unknown_offset,
    wide_high,
    wide_low,
)
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.joint_calibration import JointCalibration

# 200 units per radian: the joint gets goals from 400.0 to 599.8, its servo may go from 300 to 650.
JOINT = JointCalibration("joint", 1, 500.0, 1, 200.0, 200.0, 0.0, 0.0, 300, 650, -0.5, 0.499)

OF_THE_JOINT = {reaches_low, reaches_high, wide_low, wide_high, calibrated_offset, unknown_offset}

# Register: effect, values that pass, values that do not, and what is restored.
VALUES = {
    "feetech_st": """
        mode@33:1 danger 0|1,2,3|0 torque@40:1 torque 1|0|1 minimum@9:2 danger 0,400|401,4095|300
        maximum@11:2 danger 4095,599|598,0|650 minimum@9:2 advice 400,382|381,0|382
        maximum@11:2 advice 599,617|618,4095|617 offset@31:2 danger 7|8,0,-7|7 offset@31:2 warning 0,1|-|-
        maximum@16:2 warning 1000|999,0|1000 torque@48:2 warning 1000|999,0|1000 return@7:1 warning 0|1,250|0
        response@8:1 warning 1|0,2|1
    """,
    "feetech_sc": """
        torque@40:1 torque 1|0|1 maximum@11:2 danger 1,1023|0|650 minimum@9:2 danger 0,400|401|300
        maximum@11:2 danger 1023,599|598|650 minimum@9:2 advice 400,382|381,0|382
        maximum@11:2 advice 599,617|618,1023|617 maximum@16:2 warning 1000|999,0|1000 return@7:1 warning 0|1,250|0
        response@8:1 warning 1|0,2|1
    """,
    "dynamixel1": """
        torque@24:1 torque 1|0|1 counter-clockwise@8:2 danger 1,1023|0|650 clockwise@6:2 danger 0,400|401|300
        counter-clockwise@8:2 danger 1023,599|598|650 clockwise@6:2 advice 400,382|381,0|382
        counter-clockwise@8:2 advice 599,617|618,1023|617 maximum@14:2 warning 1023|1022,0|1023
        torque@34:2 warning 1023|1022,0|1023 return@5:1 warning 0|1,250|0 status@16:1 warning 2|0,1|2
    """,
    "dynamixel2": """
        operating@11:1 danger 3|0,1,4,5,16|3 torque@64:1 torque 1|0|1 minimum@52:4 danger 0,400|401|300
        maximum@48:4 danger 4095,599|598|650 minimum@52:4 advice 400,382|381,0|382
        maximum@48:4 advice 599,617|618,4095|617 homing@20:4 danger 7|8,0,-7|7 homing@20:4 warning 0,1|-|-
        PWM@36:2 warning 885|884,0|885 return@9:1 warning 0|1,250|0 status@68:1 warning 2|0,1|2
    """,
    "lx16a": """
        mode@30:2 danger 0|1|0 torque@32:1 torque 1|0|1 minimum@21:2 danger 0,400|401|300
        maximum@21:2 danger 1000,599|598|650 minimum@21:2 advice 400,382|381,0|382
        maximum@21:2 advice 599,617|618,1000|617 offset@19:1 danger 7|8,0,-7|7 offset@19:1 warning 0,1|-|-
    """,
}


def numbers(text):
    return [int(number) for number in text.split(",")] if text != "-" else []


@pytest.mark.parametrize("protocol", VALUES)
def test_every_check_has_its_register_its_effect_and_its_values(protocol):
    words = iter(VALUES[protocol].split())
    rows = list(zip(words, words, words, strict=True))
    table = PROTOCOLS[protocol].registers
    assert len(rows) == len(checks(table))
    joint = dataclasses.replace(JOINT, offset=7)
    for check, (place, effect, row) in zip(checks(table), rows, strict=True):
        register = check.register
        good, wrong, wanted = row.split("|")
        assert (f"{register.name.split()[0]}@{register:d}:{register.size}", check.effect.value) == (place, effect)
        assert [check.problem(value, joint) for value in numbers(good)] == [None] * len(numbers(good)), place
        assert all(check.problem(value, joint) for value in numbers(wrong)), place
        assert [check.wanted(joint)] == (numbers(wanted) or [None])
        assert check.any_joint == (check.problem not in OF_THE_JOINT)
        for value in numbers(good) + numbers(wrong):
            size = register.length
            data = table.replaced(register, bytes(range(1, 1 + size)), value)
            assert len(data) == size and table.value(register, data) == value
            others = [at for at in range(size) if not register.at <= at < register.at + register.size]
            assert [data[at] for at in others] == [1 + at for at in others]


@pytest.mark.parametrize(
    ("changes", "narrow"),
    [
        ({}, (382, 617)),
        ({"direction": -1}, (383, 618)),
        ({"units_per_rad_neg": 300.0}, (323, 626)),
        ({"low": 390, "high": 610}, (390, 610)),
        ({"low": 410, "high": 590}, (410, 590)),
    ],
)
def test_narrow_angle_limits_leave_five_degrees_of_room_within_the_range_of_the_servo(changes, narrow):
    assert narrow_range(dataclasses.replace(JOINT, **changes)) == narrow


def test_an_offset_is_unknown_only_if_there_is_one_that_was_not_recorded():
    assert [bool(unknown_offset(value, JOINT)) for value in (0, 1, -1)] == [False, True, True]
    assert [calibrated_offset(value, JOINT) for value in (0, 1)] == [None, None]
