# SPDX-License-Identifier: Apache-2.0
"""PCA9685 boards on an emulated bus: bytes of the data sheet, pulses, order of writes and lost boards."""

import errno
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.kits.memory_wire import Kit

from hexapod_control.servos.bus.bus_interface import BusError, NoAnswerError, ServoQuantity
from hexapod_control.servos.emulator.devices.i2c_adapter import I2cAdapter
from hexapod_control.servos.emulator.servo_world import LagWorld
from hexapod_control.servos.i2c import pwm_chip
from hexapod_control.servos.i2c.adapter_frames import REPLY, REQUEST, encode_messages, frame
from hexapod_control.servos.i2c.i2c_port import I2cPort, I2cRead, I2cWrite, failure
from hexapod_control.servos.i2c.pwm_chip import Pca9685, prescale
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.protocols.pca9685 import Pca9685Bus

IDS = (0, 3, 15, 16, 17, 40)  # on three boards
ADDRESSES = (0x40, 0x55, 0x41)
MISSES = 3  # consecutive transfers that fail, after which a board is lost
OFF = ADDRESSES[0], b"\xfd\x10"


class WirePort(I2cPort):
    """A port whose transfers reach emulated chips at once; records what is written."""

    path, baud = "/dev/i2c-1", 400_000

    def __init__(self, wire):
        self.wire, self.written, self.closed = wire, [], False

    def transfer(self, *messages):
        self.written += [(each.address, each.data) for each in messages if not isinstance(each, I2cRead)]
        number, data = self.wire.transfer(messages)
        if number:
            raise failure(self.path, messages[0].address, number)
        return data

    def close(self):
        self.closed = True


class Boards:
    """Emulated boards with servos, and the bus that drives them."""

    def __init__(self, ids=IDS, addresses=ADDRESSES, real=25.0, **options):
        self.world = LagWorld(PROTOCOLS["pca9685"].scale, len(ids), lag=1e-3, speed=1e4)
        self.device = I2cAdapter(self.world, ids, addresses=addresses, oscillator=(real,))
        self.wire, self.port = self.device.wire, WirePort(self.device.wire)
        self.bus, self.ids = Pca9685Bus(self.port, ids, addresses=addresses, **options), ids

    def armed(self, pulse=1500):
        self.bus.identify()
        self.bus.write_goals(dict.fromkeys(self.ids, pulse), 0.0)
        self.bus.torque(self.ids, True)
        return self

    def torques(self):
        return [self.world.has_torque(i) for i in range(len(self.ids))]

    def pulses(self):
        return [round(self.world.target(i)) for i in range(len(self.ids))]


def test_the_prescaler_is_that_of_the_data_sheet():
    assert [prescale(25.0, hertz) for hertz in (200, 1526, 24)] == [0x1E, 0x03, 0xFD]
    assert prescale(25.0, 50.0) == 121
    assert [prescale(25.0, hertz) for hertz in (3000, 10)] == [3, 255]


def test_a_board_gets_half_a_millisecond_to_wake_up_once(monkeypatch):
    slept = []
    monkeypatch.setattr(pwm_chip, "time", SimpleNamespace(sleep=slept.append))
    boards = Boards((5,), (0x40,)).armed()
    assert slept == [0.0005]
    boards.bus.torque((5,), False)
    boards.bus.torque((5,), True)
    assert slept == [0.0005]  # it runs


def test_a_board_is_configured_asleep_and_its_pulses_are_written_in_one_transfer():
    boards = Boards((0, 1, 3), (0x40,))
    boards.bus.identify()
    boards.port.written.clear()
    boards.bus.write_goals({0: 1500, 1: 500, 3: 2500}, 0.0)
    assert boards.port.written == []
    boards.bus.torque((0, 1, 3), True)
    frames = [data.hex(" ").upper() for _, data in boards.port.written]
    assert frames == [
        "00",  # MODE1 is read
        "FD 10",  # all off
        "00 30",  # sleep, auto-increment
        "FE 79",  # 50 Hz
        "01 04",
        "00 20",
        "06 00 00 33 01 00 00 66 00",  # 307 and 102 steps of 4.88 us
        "12 00 00 00 02",
    ]


@settings(max_examples=60)
@given(st.floats(50.0, 330.0), st.floats(20.0, 30.0), st.integers(500, 2500))
def test_a_pulse_is_as_long_as_ordered_within_half_a_step_at_every_frequency(frequency, oscillator, pulse):
    boards = Boards((5,), (0x40,), real=oscillator, oscillator=(oscillator,), frequency=frequency).armed(pulse)
    chip = boards.wire.chips[0]
    step = chip.period / 4096
    assert abs(chip.pulse(5).width - pulse) <= 0.5 * step + 1e-6
    assert 1e6 / chip.period == pytest.approx(frequency, rel=0.05)
    assert boards.bus.read((5,), ServoQuantity.POSITION)[5].position == pytest.approx(pulse, abs=0.5 * step + 0.51)


def test_a_channel_without_a_pulse_has_only_the_bit_that_switches_it_off():
    chip = Pca9685(Boards().port, 0x40, 25.0, 50.0)
    assert chip.led(0) == bytes([0, 0, 0, 0x10])
    assert chip.led(99999) == bytes([0, 0, 0xFF, 0x0F])  # the last step of a period


def test_an_oscillator_that_is_not_measured_lengthens_all_pulses_by_its_error():
    boards = Boards((5,), (0x40,), real=27.0).armed(1500)
    assert boards.wire.chips[0].pulse(5).width == pytest.approx(1500 * 25.0 / 27.0, abs=3.0)


def test_no_servo_has_a_pulse_before_all_have_goals_and_after_the_torque_is_off():
    boards = Boards()
    boards.bus.identify()
    boards.bus.write_goals({i: 1500 for i in IDS if i != 40}, 0.0)
    with pytest.raises(BusError, match=r"servos \[40\] have no goal yet"):
        boards.bus.torque((0,), True)
    assert not any(boards.torques())
    boards.bus.write_goals({40: 1600}, 0.0)
    boards.bus.torque((0, 40), True)
    assert boards.torques() == [True, False, False, False, False, True]
    boards.bus.torque((0,), False)
    assert boards.torques() == [False] * 5 + [True]
    boards.bus.torque(IDS, True)
    boards.port.written.clear()
    boards.bus.relax()
    assert not any(boards.torques())
    assert boards.port.written == 3 * [(address, b"\xfd\x10") for address in ADDRESSES]
    boards.bus.write_goals(dict.fromkeys(IDS, 1500), 0.0)
    assert not any(boards.torques())


def test_goals_go_to_the_channel_of_their_board_and_are_clamped():
    boards = Boards().armed()
    boards.bus.write_goals({0: 1000, 15: 1100, 16: 1200, 40: 9999}, 0.02)
    assert boards.pulses() == pytest.approx([1000, 1500, 1100, 1200, 1500, 2500], abs=3)
    found = boards.bus.read(IDS, ServoQuantity.POSITION)
    assert [found[i].position for i in IDS] == pytest.approx([1000, 1500, 1100, 1200, 1500, 2500], abs=3)
    assert boards.bus.read(IDS, ServoQuantity.VOLTAGE) == {}


def test_boards_that_run_keep_their_pulses_when_a_driver_starts():
    boards = Boards().armed(1400)
    again = Pca9685Bus(boards.port, IDS, addresses=ADDRESSES)
    again.identify()
    again.write_goals(dict.fromkeys(IDS, 1400), 0.0)
    boards.port.written.clear()
    again.torque((0,), True)
    assert all(boards.torques())
    assert not any(len(data) == 2 for _, data in boards.port.written)  # nothing is configured


def test_a_missing_board_is_named_with_what_is_found_instead():
    boards = Boards()
    boards.wire.unplug(0x55)
    with pytest.raises(NoAnswerError, match=r"/dev/i2c-1: no PCA9685 answers at address 0x55; found: 0x40, 0x41, 0x70"):
        boards.bus.identify()


def test_another_chip_at_the_address_is_not_written_to():
    boards = Boards()
    boards.wire.chips[1].registers[2:6] = b"\x01\x02\x03\x04"
    with pytest.raises(BusError, match=r"at address 0x55 is no PCA9685, its registers 2 to 5 are 01 02 03 04 instead"):
        boards.bus.identify()
    assert all(len(data) == 1 for _, data in boards.port.written)


def test_a_stuck_bus_is_named_with_its_remedy():
    boards = Boards()
    boards.wire.stuck = True
    with pytest.raises(BusError, match=r"the I2C bus is stuck, SDA or SCL is held low: switch the power"):
        boards.bus.identify()


def test_no_servo_gets_a_pulse_while_a_board_cannot_be_configured():
    boards = Boards()
    boards.bus.identify()
    boards.bus.write_goals(dict.fromkeys(IDS, 1500), 0.0)
    boards.wire.unplug(0x41)
    with pytest.raises(BusError, match="no chip answers at address 0x41"):
        boards.bus.torque((0,), True)
    assert not any(boards.torques())


def test_failed_transfers_are_counted_and_three_in_a_row_lose_the_board_alone():
    boards = Boards().armed()
    boards.wire.faulty[0x55] = errno.EIO
    for _ in range(MISSES):
        assert boards.bus.lost_boards() == {}
        boards.bus.write_goals(dict.fromkeys(IDS, 1600), 0.02)
    assert boards.bus.lost_boards() == {"PCA9685 at 0x55": (16, 17)}
    assert boards.bus.counters.bad == MISSES
    assert [boards.bus.counters.misses[i] for i in (16, 17)] == [MISSES] * 2
    assert boards.pulses() == pytest.approx([1600, 1600, 1600, 1500, 1500, 1600], abs=3)
    assert boards.bus.answers()
    boards.wire.unplugged.update(ADDRESSES)
    for _ in range(MISSES):
        boards.bus.answers()
    assert boards.bus.answers() is False


@pytest.mark.parametrize("power", ["kept", "lost"])
def test_a_board_that_is_back_waits_for_its_torque_with_the_pulses_it_kept_or_with_none(power):
    boards = Boards().armed()
    boards.wire.unplug(0x55)
    for _ in range(MISSES):
        boards.bus.answers()
    if power == "lost":
        boards.wire.restart(0x55)
    boards.wire.plug(0x55)
    assert boards.bus.answers()
    assert boards.bus.lost_boards() == {}
    boards.bus.write_goals(dict.fromkeys(IDS, 1600), 0.02)
    assert boards.torques()[3:5] == [power == "kept"] * 2
    assert boards.pulses()[3:5] == pytest.approx([1500, 1500], abs=3)
    boards.bus.torque((16, 17), True)
    assert all(boards.torques())
    assert boards.pulses()[3:5] == pytest.approx([1600, 1600], abs=3)


def test_a_board_that_restarts_without_being_missed_is_noticed():
    boards = Boards().armed()
    boards.wire.restart(0x55)
    assert boards.bus.answers()
    assert list(boards.bus.lost_boards()) == ["PCA9685 at 0x55"]
    assert boards.bus.answers()
    assert boards.bus.lost_boards() == {}


def test_a_board_that_comes_back_after_the_torque_went_off_loses_the_pulses_it_kept():
    boards = Boards().armed()
    boards.wire.unplug(0x55)
    for _ in range(MISSES):
        boards.bus.answers()
    boards.bus.relax()
    boards.wire.plug(0x55)
    assert boards.torques() == [False, False, False, True, True, False]
    boards.bus.answers()
    assert not any(boards.torques())


@pytest.mark.parametrize(
    ("ids", "options"),
    [((16,), {"addresses": (0x40,)}), ((0,), {"oscillator": (25.0, 26.0)}), ((64,), {}), ((1, 1), {}), ((), {})],
)
def test_ids_without_a_board_are_refused(ids, options):
    with pytest.raises(ValueError, match="servo ids"):
        Pca9685Bus(WirePort(None), ids, **options)


def test_boards_behind_an_emulated_adapter_are_driven_as_those_of_the_kernel():
    kit = Kit("pca9685")
    bus, ids = kit.bus(), kit.settings.ids
    assert set(bus.identify()) == set(ids)
    bus.write_goals({i: 1000 + 50 * i for i in ids}, 0.0)
    bus.torque(ids, True)
    assert kit.world.torques.all()
    assert list(kit.world.goals) == pytest.approx([1000 + 50 * i for i in ids], abs=3)
    found = bus.read(ids, ServoQuantity.POSITION)
    assert [found[i].position for i in ids] == pytest.approx([1000 + 50 * i for i in ids], abs=3)
    bus.relax()
    assert not kit.world.torques.any()


def test_an_adapter_drops_half_a_request_after_a_pause_and_fills_up_the_reply_after_an_error():
    asked = frame(REQUEST, 7, encode_messages((I2cWrite(0x40, b"\x02"), I2cRead(0x40, 1), I2cRead(0x50, 3))))
    refused = (0.0, frame(REPLY, 7, bytes([errno.EREMOTEIO, 0, 0, 0, 0])))
    for pause, replies in ((0.049, []), (0.051, [refused])):
        adapter = I2cAdapter(LagWorld(PROTOCOLS["pca9685"].scale, 1), [0])
        assert adapter.receive(bytes([REQUEST, 200, 0, 1]), 1.0) == []
        assert adapter.receive(asked, 1.0 + pause) == replies


def test_the_time_of_goals_on_the_bus_is_that_of_nine_bits_per_byte():
    boards = Boards().armed()
    boards.port.written.clear()
    boards.bus.write_goals(dict.fromkeys(IDS, 1600), 0.0)
    size = sum(1 + len(data) for _, data in boards.port.written)  # with the address
    for count in (len(IDS), 3):
        timing = boards.bus.timing(count)
        assert timing.write == pytest.approx(size * 9 / 400_000 * count / len(IDS))
        assert (timing.read, timing.turnarounds) == (0.0, 0)


def test_each_board_may_have_an_oscillator_of_its_own():
    options = {"addresses": ADDRESSES[:2], "oscillator": (23.0, 27.0)}
    world = LagWorld(PROTOCOLS["pca9685"].scale, 2)
    wire = I2cAdapter(world, (0, 16), **options).wire
    bus = Pca9685Bus(WirePort(wire), (0, 16), **options)
    bus.identify()
    bus.write_goals({0: 1500, 16: 1500}, 0.0)
    bus.torque((0, 16), True)
    for chip in wire.chips:
        assert chip.pulse(0).width == pytest.approx(1500.0, abs=0.5 * chip.period / 4096 + 1e-6)
        assert 1e6 / chip.period == pytest.approx(50.0, rel=0.01)
    assert wire.chips[0].period != wire.chips[1].period
