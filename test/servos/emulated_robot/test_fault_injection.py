# SPDX-License-Identifier: Apache-2.0
"""Faults of emulated servos by name: parsing, bounds, and what each of them changes."""

import errno
import math
from dataclasses import fields
from types import SimpleNamespace

import pytest
from support.kits.memory_wire import Kit

from hexapod_control.servos.bus.bus_interface import RawScale, ServoFault
from hexapod_control.servos.emulated_robot.robot_emulator import HOT_TEMPERATURE, KINDS, Emulation, parse_fault
from hexapod_control.servos.emulator.devices.i2c_adapter import I2cAdapter
from hexapod_control.servos.emulator.emulated_line import WireFaults
from hexapod_control.servos.emulator.servo_world import LagWorld
from hexapod_control.servos.i2c.i2c_port import I2cRead, I2cWrite

IDS = (3, 5, 8)
CHIP = ("nack", "ack", "reset", "stuck")
ROBOT = ("new", "turn", "lift", "lower")  # need servos with ids and their joints, or a whole robot
WIRE = ("drop", "flip", "corrupt", "truncate", "double", "glue", "split", "echo", "noise", "slow", "late", "mute")


@pytest.fixture
def emulation():
    calls = []
    world = LagWorld(RawScale("tick", 0, 4095, 2048, 650.0), 3)
    pty = SimpleNamespace(faults=WireFaults(), calls=calls, device=I2cAdapter(world, IDS))
    pty.hang_up, pty.come_back = (lambda: calls.append("hang up")), (lambda: calls.append("come back"))
    return Emulation(pty, world, IDS)


def switch(emulation, text):
    parse_fault(text).act(emulation)
    return emulation.pty.faults


def test_a_line_has_no_faults_at_first():
    assert not any(getattr(WireFaults(), item.name) for item in fields(WireFaults))


@pytest.mark.parametrize("name", ["drop", "flip", "corrupt", "truncate", "double"])
@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_a_share_of_replies_is_set_within_0_and_1(emulation, name, share):
    expected = WireFaults()
    setattr(expected, name, share)
    assert switch(emulation, f"{name}={share}") == expected
    for wrong in ("-0.01", "1.01", "nan"):
        with pytest.raises(ValueError, match=r"must be in \[0, 1\]"):
            switch(emulation, f"{name}={wrong}")
    assert emulation.pty.faults == expected


@pytest.mark.parametrize("name", ["glue", "split", "echo", "mute"])
def test_a_switch_changes_its_own_fault_only(emulation, name):
    expected = WireFaults()
    setattr(expected, name, True)
    assert switch(emulation, name) == expected


def test_noise_is_hexadecimal_and_slow_is_in_milliseconds(emulation):
    switch(emulation, "noise=FF0a")
    assert switch(emulation, "slow=20") == WireFaults(noise=b"\xff\x0a", slow=0.02)
    for wrong in ("slow=-1", "slow=inf", "slow=nan", "noise=xyz"):
        with pytest.raises(ValueError, match=r"must be a number from 0 on|hexadecimal"):
            switch(emulation, wrong)
    assert switch(emulation, "slow=0").slow == 0.0


def test_faults_of_a_servo_go_to_the_one_with_that_id(emulation):
    world = emulation.world
    switch(emulation, "unplug=5")
    switch(emulation, "twin=8")
    assert [world.answers(index) for index in range(3)] == [1, 0, 2]
    switch(emulation, "plug=5")
    assert world.answers(1) == 1
    switch(emulation, "overload=3")
    switch(emulation, "heat=8")
    assert [world.fault(index) for index in range(3)] == [ServoFault.OVERLOAD, ServoFault.NONE, ServoFault.HEAT]
    assert [world.temperature(index) for index in range(3)] == [35.0, 35.0, HOT_TEMPERATURE]


def test_an_id_without_a_servo_is_refused_with_those_that_there_are(emulation):
    for wrong in ("4", "x", "-3"):
        with pytest.raises(ValueError, match="one of 3, 5, 8, is"):
            switch(emulation, f"unplug={wrong}")
    in_order = Emulation(emulation.pty, emulation.world, (2, 3, 4))
    with pytest.raises(ValueError, match="one of 2 to 4, is '5'"):
        switch(in_order, "unplug=5")


def test_power_cable_and_delay_are_set_by_name(emulation):
    switch(emulation, "power=7.4")
    assert emulation.world.voltage(2) == 7.4
    switch(emulation, "hangup")
    switch(emulation, "comeback")
    assert emulation.pty.calls == ["hang up", "come back"]
    assert parse_fault("mute").after == 0.0
    assert parse_fault(" unplug=5@2.5 ").after == 2.5
    assert parse_fault("mute@0").after == 0.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "unknown fault ''; known: drop, flip, "),
        ("drip", "unknown fault 'drip'; known: drop, flip, "),
        ("drop", "drop needs a value: drop=SHARE"),
        ("echo=1", "echo takes no value"),
        ("mute@soon", "mute@soon: @ must be followed by a number of seconds, not 'soon'"),
        ("mute@-1", "a number of seconds, not '-1'"),
        ("mute@inf", "a number of seconds, not 'inf'"),
    ],
)
def test_a_fault_that_is_unknown_or_has_a_wrong_value_is_refused_with_what_is_known(text, message):
    with pytest.raises(ValueError, match=message):
        parse_fault(text)


def test_the_word_well_ends_every_fault(emulation):
    values = {"SHARE": "0.5", "HEX": "FF", "MS": "3", "ID": "5", "VOLTS": "5", "ADDRESS": "0x40", "": ""}
    world = emulation.world
    world.torque(0, True)
    world.loads[0] = 0.5
    for name, kind in KINDS.items():
        if name not in ("well", *ROBOT):
            switch(emulation, f"{name}={values[kind.value]}" if kind.value else name)
    world.duplicate_id(2)
    emulation.pty.calls.clear()
    assert switch(emulation, "well") == WireFaults()
    assert emulation.pty.calls == ["come back"]
    assert emulation.pty.device.wire.transfer([I2cRead(0x40, 1)]) == (0, b"\x11")
    for index in range(3):
        assert (world.answers(index), world.voltage(index), world.temperature(index)) == (1, 11.1, 35.0)
        assert (world.fault(index), world.load(index), world.has_torque(index)) == (ServoFault.NONE, 0.0, False)


def test_every_fault_of_the_line_has_a_name():
    assert (
        set(WIRE)
        <= set(KINDS)
        == {*WIRE, *CHIP, "unplug", "plug", "twin", "overload", "heat", "power", "hangup", "comeback", "well"}
        | {"alone", *ROBOT}
    )


def test_faults_of_an_i2c_bus_go_to_the_chip_with_that_address(emulation):
    wire = emulation.pty.device.wire
    ask = I2cWrite(0x40, b"\x02"), I2cRead(0x40, 1)
    assert wire.transfer(ask) == (0, b"\xe2")
    switch(emulation, "nack=0x40")
    assert wire.transfer(ask) == (errno.EREMOTEIO, b"")
    switch(emulation, "ack=64")
    wire.transfer([I2cWrite(0x40, b"\x02\x00")])
    assert wire.transfer(ask) == (0, b"\x00")
    switch(emulation, "reset=0x40")
    assert wire.transfer(ask) == (0, b"\xe2")
    switch(emulation, "stuck")
    assert wire.transfer(ask) == (errno.ETIMEDOUT, b"")
    for wrong in ("nack=0x41", "nack=x"):
        with pytest.raises(ValueError, match="must be the address of a chip"):
            switch(emulation, wrong)
    emulation.pty.device = None
    with pytest.raises(ValueError, match="needs servos on an I2C bus: use protocol pca9685"):
        switch(emulation, "stuck")


def test_only_the_servo_that_is_alone_has_power(emulation):
    switch(emulation, "unplug=8")
    for text, present in (("alone=5", [0, 1, 0]), ("alone=8", [0, 0, 1])):
        switch(emulation, text)
        assert [emulation.world.answers(index) for index in range(3)] == present
    emulation.world.torque(2, True)
    switch(emulation, "alone=8")
    assert emulation.world.has_torque(2)  # it had power all the time


def test_all_servos_are_new_with_the_first_id_and_a_board_has_no_ids():
    kit = Kit()
    kit.fault("new")
    assert {memory[5] for memory in kit.port.device.memories} == {1}
    with pytest.raises(ValueError, match="needs servos with ids: these are channels of a board"):
        Kit("ssc32").fault("new")


@pytest.mark.parametrize(
    ("text", "angles"),
    [
        ("turn=lf coxa,10", {0: 10}),
        ("turn=rr tibia,-180", {17: -180}),
        ("turn=rf,10,-20.5,180", {9: 10, 10: -20.5, 11: 180}),
        ("turn=lf,1,2,3", {0: 1, 1: 2, 2: 3}),
    ],
)
def test_joints_are_turned_by_hand_to_angles_in_degrees(text, angles):
    kit = Kit(changes=[(row, {"id": 18 - row}) for row in range(18)])
    kit.fault(text)
    assert [math.degrees(kit.angle(row)) for row in range(18)] == pytest.approx(
        [angles.get(row, 0) for row in range(18)]
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lf coxa,10,20", "must be a joint and its angle, or a leg and three angles, is 'lf coxa,10,20'"),
        ("lf", "must be a joint and its angle"),
        ("xx,1,2,3", "must be a joint and its angle"),
        ("xx,1", "names no joint"),
        ("lf coxa,181", "left_front_coxa_joint: is 181 deg, must be from -180 to 180"),
        ("lf,0,-180.1,0", "left_front_femur_joint: is -180.1 deg, must be from -180 to 180"),
        ("lf coxa,nan", "must be from -180 to 180"),
        ("lf coxa,x", "could not convert"),
        ("rf coxa,1", "right_front_coxa_joint has torque: switch it off first"),
    ],
)
def test_a_turn_without_a_joint_beyond_half_a_turn_or_under_torque_is_refused(text, message):
    kit = Kit()
    kit.world.torque(kit.index(kit.mounted[9].id), True)
    with pytest.raises(ValueError, match=message):
        kit.fault(f"turn={text}")
