# SPDX-License-Identifier: Apache-2.0
"""The emulated PCA9685 against the tables and examples of its data sheet (NXP, revision 4)."""

import errno
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hexapod_control.servos.emulator.chips.i2c_wire import I2cWire
from hexapod_control.servos.emulator.chips.pca9685_chip import LedPulse, Pca9685Chip
from hexapod_control.servos.i2c.i2c_port import I2cRead, I2cWrite

ADDRESS = 0x41
AWAKE = b"\x00\x21"  # MODE1: auto-increment, all-call
PULSE = bytes([0x06, 0x00, 0x00, 0x33, 0x01])  # channel 0, steps 0 to 307


class Rig:
    """A chip on a bus, and the recorded levels of its outputs."""

    def __init__(self, *addresses):
        self.shown = []
        self.chips = [Pca9685Chip(address, self._show) for address in addresses or (ADDRESS,)]
        self.wire = I2cWire(self.chips)
        self.chip = self.chips[0]

    def _show(self, channel, pulse):
        self.shown.append((channel, pulse))

    def write(self, *data, address=ADDRESS):
        number, _ = self.wire.transfer([I2cWrite(address, bytes(each)) for each in data])
        return number

    def read(self, register, count=1):
        number, data = self.wire.transfer([I2cWrite(ADDRESS, bytes([register])), I2cRead(ADDRESS, count)])
        assert number == 0
        return data

    def steps(self, channel):
        """Width of the output in steps of its period."""
        pulse = self.chip.pulse(channel)
        return pulse.width / pulse.period * 4096


def test_after_power_on_the_registers_are_those_of_the_tables():
    rig = Rig()
    assert [rig.read(register) for register in range(6)] == [b"\x11", b"\x04", b"\xe2", b"\xe4", b"\xe8", b"\xe0"]
    assert [rig.read(register) for register in range(6, 10)] == [b"\x00", b"\x00", b"\x00", b"\x10"]
    assert rig.read(0xFE) == b"\x1e"  # 200 Hz
    assert rig.chip.period == pytest.approx(1e6 / 200.0, rel=0.02)
    assert not rig.shown


def test_the_example_of_the_data_sheet_has_a_delay_of_10_and_a_duty_cycle_of_20_percent():
    rig = Rig()
    rig.write(AWAKE, bytes([0x06, 0x99, 0x01, 0xCC, 0x04]))
    assert rig.chip.pulse(0).width / rig.chip.pulse(0).period == pytest.approx(0.20, abs=1.0 / 4096)
    rig.write(bytes([0x06, 0x99, 0x01, 0x99, 0x11]))  # full off has precedence
    assert rig.chip.pulse(0).width == 0.0
    rig.write(bytes([0x06, 0x00, 0x10, 0x00, 0x00]))
    assert rig.chip.pulse(0).width == math.inf


def test_registers_go_on_by_themselves_only_with_auto_increment():
    rig = Rig()
    rig.write(b"\x06\x01\x02\x03\x04")
    assert rig.read(0x06, 3) == b"\x04\x04\x04"
    rig.write(AWAKE)
    rig.write(b"\x06\x01\x02\x03\x04")
    assert rig.read(0x06, 4) == b"\x01\x02\x03\x04"
    assert rig.read(0x45, 3) == b"\x10\x21\x04"  # after the last channel comes MODE1


def test_the_prescaler_is_taken_only_in_sleep_and_is_at_least_3():
    rig = Rig()
    rig.write(b"\xfe\x79")
    assert rig.read(0xFE) == b"\x79"
    rig.write(AWAKE)
    rig.write(b"\xfe\x1e")
    assert rig.read(0xFE) == b"\x79"
    assert rig.chip.period == pytest.approx(20_000, rel=0.01)
    rig.write(b"\x00\x31", b"\xfe\x00")
    assert rig.read(0xFE) == b"\x03"


def test_pulses_change_together_at_the_stop_unless_mode_2_asks_for_the_acknowledge():
    rig = Rig()
    rig.write(AWAKE)
    rig.chip.write(ADDRESS, PULSE)
    assert not rig.shown
    rig.chip.stop()
    assert [channel for channel, _ in rig.shown] == [0]
    rig.write(b"\x01\x0c")
    rig.shown.clear()
    rig.chip.write(ADDRESS, bytes([0x0A, 0, 0, 0x33, 0x01]))
    assert [channel for channel, _ in rig.shown] == [1]


def test_a_chip_that_slept_with_pulses_has_none_until_it_is_restarted():
    rig = Rig()
    rig.write(AWAKE, PULSE)
    assert rig.steps(0) == pytest.approx(307)
    rig.write(b"\x00\x31")
    assert rig.chip.pulse(0).width == 0.0
    rig.write(b"\x00\x21")
    assert rig.read(0x00) == b"\xa1"  # RESTART is set
    assert rig.chip.pulse(0).width == 0.0
    rig.write(b"\x00\xa1")
    assert rig.read(0x00) == b"\x21"
    assert rig.steps(0) == pytest.approx(307)


def test_the_external_clock_is_taken_only_asleep_and_stays_until_a_reset():
    rig = Rig()
    rig.write(AWAKE, b"\x00\x61")
    assert rig.read(0x00) == b"\x21"
    rig.write(b"\x00\x71")  # only SLEEP takes effect: the chip was awake
    assert rig.read(0x00) == b"\x31"
    rig.write(b"\x00\x71")
    assert rig.read(0x00) == b"\x71"
    rig.write(AWAKE)
    assert rig.read(0x00) == b"\x61"


def test_the_registers_of_all_channels_are_written_at_once_and_read_as_zero():
    rig = Rig()
    rig.write(AWAKE, bytes([0xFA, 0x00, 0x00, 0x33, 0x01]))
    assert {round(rig.steps(channel)) for channel in range(16)} == {307}
    assert rig.read(0xFA, 4) == bytes(4)
    rig.write(b"\xfd\x10")
    assert {rig.chip.pulse(channel).width for channel in range(16)} == {0.0}


def test_chips_answer_to_their_own_address_the_call_of_all_and_the_reset_of_all():
    rig = Rig(0x41, 0x42)
    assert rig.write(b"\x01\x00", address=0x70) == 0
    assert [chip.registers[0x01] for chip in rig.chips] == [0x00, 0x00]
    rig.write(b"\x00\x20")  # without all-call
    rig.write(b"\x01\x1f", address=0x70)
    assert [chip.registers[0x01] for chip in rig.chips] == [0x00, 0x1F]
    assert rig.write(b"\x06", address=0x00) == 0
    assert [chip.registers[0x01] for chip in rig.chips] == [0x04, 0x04]
    assert rig.write(b"\x00", address=0x43) == errno.EREMOTEIO


def test_a_chip_answers_to_the_addresses_of_groups_that_are_switched_on():
    rig = Rig()
    groups = (0x71, 0x72, 0x74)  # SUBADR1 to SUBADR3 after power-on
    for bits, there in ((0x00, ()), (0x08, groups[:1]), (0x04, groups[1:2]), (0x02, groups[2:]), (0x0E, groups)):
        rig.write(bytes((0x00, 0x20 | bits)))
        found = [address for address in range(1, 128) if rig.chip.acknowledges(address)]
        assert found == sorted({ADDRESS, *there})
    rig.write(b"\x03\x60")
    assert rig.chip.acknowledges(0x30) and not rig.chip.acknowledges(0x72)
    rig.write(b"\x05\x62", b"\x00\x21")
    assert rig.chip.acknowledges(0x31) and not rig.chip.acknowledges(0x70)


def test_only_the_reset_byte_alone_resets_chips_by_the_general_call():
    rig = Rig()
    rig.write(b"\x01\x00")
    for data in (b"", b"\x05", b"\x06\x06"):
        assert rig.write(data, address=0x00) == 0
        assert rig.read(0x01) == b"\x00"
    rig.write(b"\x06", address=0x00)
    assert rig.read(0x01) == b"\x04"


def test_bits_without_a_meaning_are_not_stored():
    rig = Rig()
    for register, stored in ((0x01, 0x1F), (0x02, 0xFE), (0x05, 0xFE), (0x06, 0xFF), (0x07, 0x1F), (0x08, 0xFF)):
        rig.write(bytes((register, 0xFF)))
        assert rig.read(register) == bytes((stored,))
    for register, stored in ((0x44, 0xFF), (0x45, 0x1F), (0x46, 0x00), (0xF9, 0x00), (0xFF, 0x00)):
        rig.write(bytes((register, 0xFF)))
        assert rig.read(register) == bytes((stored,))


def test_a_pulse_may_begin_late_in_one_period_and_end_in_the_next():
    rig = Rig()
    rig.write(AWAKE, bytes([0x06, 0xA0, 0x0F, 0x64, 0x00]))  # 4000 to 100
    assert rig.steps(0) == pytest.approx(196)
    rig.write(bytes([0x42, 0x64, 0x00, 0x64, 0x08]))  # channel 15, 100 to 2148
    assert rig.steps(15) == pytest.approx(2048)
    assert rig.chip.pulse(1) == LedPulse(0.0, rig.chip.period)
    assert [channel for channel, _ in rig.shown] == [0, 15]


def test_two_chips_at_one_address_both_answer_and_low_levels_win():
    rig = Rig(ADDRESS, ADDRESS)
    rig.chips[0].registers[0x02] = 0xF0
    rig.chips[1].registers[0x02] = 0x3E
    assert rig.read(0x02) == b"\x30"


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 255), st.binary(max_size=6)), max_size=12))
def test_whatever_is_written_a_reset_brings_the_values_after_power_on_back(writes):
    rig, fresh = Rig(), Rig()
    for register, data in writes:
        rig.write(bytes([register]) + data)
        assert rig.chip.registers[0xFE] >= 3
        assert all(pulse.width <= pulse.period or pulse.width == math.inf for _, pulse in rig.shown)
    rig.write(b"\x06", address=0x00)
    assert rig.chip.registers == fresh.chip.registers
    assert all(rig.chip.pulse(channel) == LedPulse(0.0, fresh.chip.period) for channel in range(16))
