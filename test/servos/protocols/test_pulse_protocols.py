# SPDX-License-Identifier: Apache-2.0
"""Boards for hobby servos: exact bytes, any bytes, and a bus object talking to an emulated board."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.kits.servo_lines import GROUP, ssc32_bytes
from support.suite.soak import SOAK

from hexapod_control.servos.bus import pulse_board
from hexapod_control.servos.bus.bus_interface import BusError, ServoFault, ServoQuantity
from hexapod_control.servos.bus.pulse_board import SCALE, clamp, runs
from hexapod_control.servos.emulator.devices import maestro_device as emulated_maestro
from hexapod_control.servos.emulator.devices import ssc32_device as emulated_ssc32
from hexapod_control.servos.emulator.devices.maestro_device import MaestroDevice
from hexapod_control.servos.emulator.devices.servo2040_device import Servo2040Device
from hexapod_control.servos.emulator.devices.ssc32_device import Ssc32Device
from hexapod_control.servos.emulator.servo_world import LagWorld
from hexapod_control.servos.protocols import maestro, servo2040, ssc32
from hexapod_control.servos.protocols.maestro import MaestroBus
from hexapod_control.servos.protocols.servo2040 import Servo2040Bus, Servo2040Dialect
from hexapod_control.servos.protocols.ssc32 import Ssc32Bus

ALL = range(18)
MIDDLE = dict.fromkeys(ALL, 1500)
POSITION = ServoQuantity.POSITION
steady = settings(derandomize=True)
pulses = st.dictionaries(st.integers(0, 17), st.integers(500, 2500), min_size=1)


def from_hex(text):
    return bytes.fromhex(text)


class MemoryPort:
    """A board in memory: replies arrive at once or never. `lose` bytes of each reply are lost."""

    def __init__(self, device, baud=115_200):
        self.device, self.baud = device, baud
        self.now, self.lose, self.unresponsive = 0.0, 0, False
        self.written, self.waiting = [], b""
        self.echo = False

    def write(self, data):
        self.written.append(data)
        self.waiting += data if self.echo else b""
        if not self.unresponsive:
            replies = b"".join(reply for _, reply in self.device.receive(data, self.now))
            self.waiting += replies[: max(len(replies) - self.lose, 0)]

    def read(self, count, deadline):
        data, self.waiting = self.waiting[:count], self.waiting[count:]
        return data

    def clear(self):
        self.waiting = b""

    def close(self):
        pass


def boards():
    """Every board: (a new world and port, its bus)."""
    fork = Servo2040Dialect.FORK
    return {
        "ssc32": (Ssc32Device, Ssc32Bus),
        "maestro": (MaestroDevice, MaestroBus),
        "maestro with crc": (
            lambda world, ids=None: MaestroDevice(world, ids, form=maestro.MaestroForm(12, True)),
            lambda port, ids: MaestroBus(port, ids, device=12, crc=True),
        ),
        "servo2040": (Servo2040Device, Servo2040Bus),
        "servo2040 fork": (lambda world, ids=None: Servo2040Device(world, ids, dialect=fork), Servo2040Bus),
    }


@pytest.mark.parametrize("dialect", Servo2040Dialect)
def test_touch_inputs_of_a_servo2040_are_read_where_they_are_wanted_only(dialect):
    device = Servo2040Device(LagWorld(SCALE), dialect=dialect)
    device.touch = [0, 511, 512, 1023, 0, 1023]
    bus = Servo2040Bus(MemoryPort(device), ALL, touch=True)
    assert bus.input_levels() == (False, False, True, True, False, True)
    assert Servo2040Bus(MemoryPort(device), ALL).input_levels() is None


@pytest.fixture(params=boards())
def rig(request):
    device, bus = boards()[request.param]
    world = LagWorld(SCALE)
    port = MemoryPort(device(world))
    return world, port, bus(port, ALL)


# --- exact bytes -------------------------------------------------------------------------------------


def test_ssc32_lines_match_the_vendor_examples():
    assert ssc32.move(MIDDLE, 0.02) == GROUP
    assert len(GROUP) == 138
    assert ssc32.move({3: 1500}) == b"#3P1500\r"
    assert ssc32.query_pulses(range(3)) == b"QP0QP1QP2\r"
    assert ssc32.query_moving() == b"Q\r"
    assert ssc32.query_analog("AB") == b"VAVB\r"
    assert ssc32.off([3]) == b"#3L\r"
    assert ssc32.stop(3) == b"STOP3\r"
    assert ssc32.pulses(bytes([150, 0])) == [1500, 0]


def test_maestro_frames_match_the_vendor_examples():
    eighteen = maestro.targets(0, [1500] * 18)
    assert eighteen == from_hex("9F 12 00") + from_hex("70 2E") * 18
    assert len(eighteen) == 39
    assert maestro.targets(0, [1500], maestro.MaestroForm(12)) == from_hex("AA 0C 1F 01 00 70 2E")
    assert maestro.target(5, 1500) == from_hex("84 05 70 2E")
    assert maestro.target(5, 0) == from_hex("84 05 00 00")
    assert maestro.speed(5, 140) == from_hex("87 05 0C 01")
    assert maestro.query_position(5) == from_hex("90 05")
    assert maestro.query_moving() == from_hex("93")
    assert maestro.query_errors() == from_hex("A1")
    assert maestro.words(from_hex("70 17 20 00")) == [6000, 32]


def test_maestro_checksum_matches_the_vendor_example():
    assert maestro.crc7(from_hex("83 01")) == 0x17
    assert maestro.MaestroForm(crc=True).frame(0x83, 1) == from_hex("83 01 17")


def test_servo2040_frames_match_the_vendor_examples():
    eighteen = servo2040.set_goals(0, [1500] * 18)
    assert eighteen == from_hex("D3 00 12") + from_hex("5C 0B") * 18
    assert len(eighteen) == 39
    assert servo2040.relay(True) == from_hex("D3 1A 01 01 00")
    assert servo2040.relay(False) == from_hex("D3 1A 01 00 00")
    assert servo2040.query(servo2040.CURRENT, 2) == from_hex("C7 18 02")


def test_servo2040_replies_of_both_dialects():
    plain = from_hex("C7 18 02 00 04 5E 1A")  # 512 counts, 3422 counts
    assert servo2040.reply(Servo2040Dialect.ORIGINAL, 24, [512, 3422]) == plain
    total = 0xC7 ^ 0x18 ^ 0x02 ^ 0x00 ^ 0x04 ^ 0x5E ^ 0x1A
    assert servo2040.reply(Servo2040Dialect.FORK, 24, [512, 3422]) == plain + bytes([total | 0x80])
    assert Servo2040Dialect.ORIGINAL.volts(3103) == pytest.approx(10.0)
    assert Servo2040Dialect.ORIGINAL.amperes(612) == pytest.approx(8.14)
    assert Servo2040Dialect.FORK.volts(1110) == pytest.approx(11.1)
    assert Servo2040Dialect.FORK.amperes(250) == pytest.approx(2.5)


@pytest.mark.parametrize("name", boards())
@pytest.mark.parametrize("count", [1, 3, 18])
def test_the_bytes_of_goals_and_readings_are_those_of_the_timing(name, count):
    device, open_bus = boards()[name]
    port = MemoryPort(device(LagWorld(SCALE)))
    bus = open_bus(port, range(count))
    bus.identify()
    bus.write_goals(dict.fromkeys(range(count), 1500), 0.02)
    bus.torque(range(count), True)
    timing = bus.timing(count)
    bus.write_goals(dict.fromkeys(range(count), 1500), 0.02)
    assert len(port.written[-1]) * 10 / port.baud == pytest.approx(timing.write)
    before, counted = len(port.written), []
    port.read, read = (lambda size, deadline: counted.append(size) or read(size, deadline)), port.read
    if name.startswith("servo2040"):
        bus.supply()  # all that it measures
    else:
        bus.read(range(count), POSITION)
    assert len(port.written) == before + timing.turnarounds == before + 1
    assert (len(port.written[-1]) + sum(counted)) * 10 / port.baud == pytest.approx(timing.read)


# --- round trips and clamps --------------------------------------------------------------------------


@given(pulses, st.integers(0, 65535))
@steady
def test_an_ssc32_decodes_what_is_encoded(goals, milliseconds):
    (received,) = emulated_ssc32.Ssc32LineDecoder().feed(ssc32.move(goals, milliseconds / 1000))
    assert received == emulated_ssc32.Ssc32Move(tuple((i, pulse, 0) for i, pulse in goals.items()), milliseconds)


@given(
    pulses,
    st.sampled_from(
        [maestro.COMPACT, maestro.MaestroForm(12), maestro.MaestroForm(None, True), maestro.MaestroForm(3, True)]
    ),
)
@steady
def test_a_maestro_decodes_what_is_encoded(goals, form):
    decoder, found = emulated_maestro.MaestroCommandDecoder(form), {}
    for first, row in runs(goals):
        (command,) = decoder.feed(maestro.targets(first, row, form))
        values = command.parameters[2:]
        found |= {command.parameters[1] + i: (values[2 * i] + 128 * values[2 * i + 1]) / 4 for i in range(len(row))}
    assert found == goals
    assert not decoder.errors


@given(st.sampled_from(Servo2040Dialect), st.integers(0, 24), st.lists(st.integers(0, 16383), min_size=1, max_size=3))
@steady
def test_replies_of_a_servo2040_are_decoded_as_encoded(dialect, start, values):
    (frame,) = servo2040.Servo2040Decoder(dialect).feed(servo2040.reply(dialect, start, values))
    assert frame == servo2040.Servo2040Frame(servo2040.GET, start, len(values), tuple(values))


@given(st.floats(allow_nan=False, allow_infinity=False))
@steady
def test_a_servo_is_never_commanded_beyond_what_it_can_turn_to(pulse):
    # Article "Assembling and running a budget hexapod".
    assert 500 <= clamp(pulse) <= 2500
    assert b"P%d\r" % clamp(pulse) in ssc32.move({0: pulse})


@pytest.mark.parametrize("pulse", [math.nan, math.inf, -math.inf])
def test_a_pulse_that_is_no_number_is_refused(pulse):
    with pytest.raises(ValueError, match="finite"):
        clamp(pulse)


# --- any bytes ---------------------------------------------------------------------------------------

frames_of_bytes = st.binary(max_size=40)
frames_for_maestro = st.sampled_from(
    [
        maestro.target(3, 1600),
        maestro.targets(0, [1400] * 18),
        maestro.target(3, 0),
        maestro.query_position(3),
        maestro.query_errors(),
        maestro.target(3, 1600, maestro.MaestroForm(12)),
    ]
)
frames_for_servo2040 = st.sampled_from(
    [
        servo2040.set_goals(0, [1400] * 18),
        servo2040.relay(True),
        servo2040.relay(False),
        servo2040.query(24, 2),
        servo2040.reply(Servo2040Dialect.FORK, 24, [512, 3422]),
    ]
)


@st.composite
def mixed(draw, frames):
    """Frames, cut frames and noise, in pieces."""
    cut = st.builds(lambda frame, size: frame[:size], frames, st.integers(0, 40))
    data = b"".join(draw(st.lists(st.one_of(frames, cut, frames_of_bytes), max_size=12)))
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=6)))
    return [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]


class StrictWorld(LagWorld):
    """Fails at once on a command that no servo may get."""

    def goal(self, index, raw, duration):
        assert 0 <= index < 18
        assert 500 <= raw <= 2500
        assert 0.0 <= duration < math.inf
        super().goal(index, raw, duration)


DEVICES = {
    "ssc32": (Ssc32Device, ssc32_bytes, b"\x1b" + ssc32.move(MIDDLE)),
    "maestro": (MaestroDevice, mixed(frames_for_maestro), maestro.targets(0, [1500] * 18)),
    "maestro with crc": (
        lambda world: MaestroDevice(world, form=maestro.MaestroForm(12, True)),
        mixed(frames_for_maestro),
        maestro.targets(0, [1500] * 18, maestro.MaestroForm(12, True)),
    ),
    "servo2040": (
        Servo2040Device,
        mixed(frames_for_servo2040),
        servo2040.set_goals(0, [1500] * 18) + servo2040.relay(True),
    ),
    "servo2040 fork": (
        lambda world: Servo2040Device(world, dialect=Servo2040Dialect.FORK),
        mixed(frames_for_servo2040),
        servo2040.set_goals(0, [1500] * 18) + servo2040.relay(True),
    ),
}


@pytest.mark.parametrize("name", DEVICES)
@pytest.mark.soak
@given(st.data())
@settings(max_examples=150 if SOAK else 60, derandomize=True)
def test_any_bytes_split_anywhere_leave_a_board_in_order(name, data):
    make, strategy, frame = DEVICES[name]
    chunks = data.draw(strategy)
    whole, pieces = StrictWorld(SCALE), StrictWorld(SCALE)
    one, many = make(whole), make(pieces)
    replies = [b"".join(r for _, r in one.receive(b"".join(chunks), 0.0))]
    replies.append(b"".join(r for chunk in chunks for _, r in many.receive(chunk, 0.0)))
    assert replies[0] == replies[1]  # how the bytes are split does not matter
    assert (whole.goals == pieces.goals).all()
    assert (whole.torques == pieces.torques).all()
    many.receive(frame, 0.0)  # the end of a broken Mini-SSC frame, which may begin with any FF
    many.receive(frame, 0.0)  # and the next good frame is obeyed
    assert (pieces.goals == 1500).all()
    assert pieces.torques.all()


@pytest.mark.soak
@given(st.sampled_from(Servo2040Dialect), mixed(frames_for_servo2040), st.integers(0, 16383))
@settings(max_examples=200 if SOAK else 80, derandomize=True)
def test_any_bytes_before_a_reply_do_not_change_what_is_read(dialect, chunks, value):
    decoder = servo2040.Servo2040Decoder(dialect)
    for chunk in chunks:
        decoder.feed(chunk)
    if decoder.pending and dialect is Servo2040Dialect.FORK:
        decoder.feed(b"\x80")  # what looks like the checksum of half a frame is taken for it
    expected = servo2040.Servo2040Frame(servo2040.GET, 24, 1, (value,))
    assert decoder.feed(servo2040.reply(dialect, 24, [value])) == [expected]


@given(st.integers(0, 8 * 8 - 1), st.integers(0, 16383), st.integers(0, 16383))
@steady
def test_the_fork_notices_every_flipped_bit(bit, current, voltage):
    good = servo2040.reply(Servo2040Dialect.FORK, 24, [current, voltage])
    spoilt = bytearray(good)
    spoilt[bit // 8] ^= 1 << bit % 8
    assert servo2040.Servo2040Decoder(Servo2040Dialect.FORK).feed(bytes(spoilt)) == []


@pytest.mark.parametrize("name", boards())
@given(
    answer=st.binary(max_size=48), what=st.sampled_from([POSITION, ServoQuantity.FAULT, POSITION | ServoQuantity.FAULT])
)
@settings(max_examples=60, derandomize=True)
def test_whatever_a_board_answers_a_reading_is_right_or_missing(name, answer, what):
    class Babbler:
        def receive(self, data, now):
            return [(0.0, answer)]

    bus = boards()[name][1](MemoryPort(Babbler()), ALL)
    for reading in bus.read(ALL, what).values():
        assert reading.position is None or 500 <= reading.position <= 2500
    bus.supply()


def test_half_a_line_of_a_program_that_died_does_not_spoil_the_next():
    world = LagWorld(SCALE)
    port = MemoryPort(Ssc32Device(world))
    port.write(b"#0P2000#1P1")
    bus = Ssc32Bus(port, ALL)
    bus.write_goals(MIDDLE, 0.0)
    bus.torque(ALL, True)
    assert (world.goals == 1500).all()


def test_a_servo2040_frame_has_127_values_of_14_bits_from_index_127_at_most():
    assert servo2040.frame(servo2040.SET, 127, [(1 << 14) - 1] * 127)[:3] == bytes((servo2040.SET, 127, 127))
    for start, values in ((0, [0] * 128), (128, [0]), (-1, [0]), (0, [1 << 14]), (0, [-1])):
        with pytest.raises(ValueError, match="fit into a frame"):
            servo2040.frame(servo2040.SET, start, values)


def test_a_command_byte_always_begins_a_new_servo2040_frame():
    decoder = servo2040.Servo2040Decoder()
    frame = servo2040.set_goals(0, [1500] * 3)
    for size in range(1, len(frame)):
        assert decoder.feed(frame[:size]) == []
        assert decoder.feed(frame) == [servo2040.Servo2040Frame(servo2040.SET, 0, 3, (1500,) * 3)]


# --- a bus and its emulated board --------------------------------------------------------------------


def test_a_board_that_answers_is_identified(rig):
    _, _, bus = rig
    assert set(bus.identify()) == set(ALL)


def test_a_board_that_does_not_answer_is_reported_with_the_remedy(rig):
    _, port, bus = rig
    port.unresponsive = True
    with pytest.raises(BusError, match=r"no .* answers.*: |no .* answers at .*: "):
        bus.identify()


def test_a_line_that_echoes_is_refused_with_a_remedy_whether_the_board_answers_or_not(rig):
    _, port, bus = rig
    port.echo = True
    for port.unresponsive in (False, True):
        with pytest.raises(BusError, match=r"echoes what is sent at 115200 baud.*: separate TX from RX"):
            bus.identify()


def test_no_servo_has_torque_before_it_is_switched_on_and_then_it_has_its_own_goal(rig):
    world, _, bus = rig
    goals = {i: 1000 + 50 * i for i in ALL}
    bus.write_goals(goals, 0.02)
    assert not world.torques.any()
    bus.torque(ALL, True)
    assert world.torques.all()
    assert list(world.goals) == list(goals.values())


def test_torque_is_refused_for_a_servo_without_a_goal(rig):
    world, _, bus = rig
    bus.write_goals(dict.fromkeys(range(17), 1500), 0.02)
    with pytest.raises(BusError, match=r"\[17\] have no goal"):
        bus.torque(ALL, True)
    assert not world.torques.any()


def test_goals_go_out_in_one_write_and_arrive_clamped(rig):
    world, port, bus = rig
    bus.write_goals(MIDDLE, 0.02)
    bus.torque(ALL, True)
    port.written.clear()
    bus.write_goals({i: (-5 if i % 2 else 99999) for i in ALL}, 0.02)
    assert len(port.written) == 1
    assert list(world.goals) == [500 if i % 2 else 2500 for i in ALL]


def test_a_goal_for_a_servo_that_is_not_there_is_refused(rig):
    _, port, bus = rig
    with pytest.raises(ValueError, match=r"\[40\] are not on this bus"):
        bus.write_goals({40: 1500}, 0.02)
    assert not port.written


def test_relax_is_sent_three_times_and_forgets_the_goals(rig):
    world, port, bus = rig
    bus.write_goals(MIDDLE, 0.02)
    bus.torque(ALL, True)
    port.written.clear()
    bus.relax()
    assert len(port.written) == 3
    assert not world.torques.any()
    with pytest.raises(BusError, match="no goal"):
        bus.torque(ALL, True)


def test_a_reading_is_the_pulse_or_missing_if_a_byte_is_lost(rig, monkeypatch):
    monkeypatch.setattr(pulse_board, "LATE_WINDOW_S", -1.0)
    _, port, bus = rig
    bus.identify()
    bus.write_goals(MIDDLE, 0.0)
    bus.torque(ALL, True)
    assert {i: r.position for i, r in bus.read(ALL, POSITION).items()} == MIDDLE
    port.lose = 1
    assert bus.read(ALL, POSITION) == {}
    assert bus.read(ALL, POSITION) == {}
    assert bus.counters.misses[0] == 2
    port.lose = 0
    assert {i: r.position for i, r in bus.read(ALL, POSITION).items()} == MIDDLE
    assert bus.counters.misses[0] == 0


def test_no_board_claims_to_measure_positions(rig):
    assert POSITION not in rig[2].can_read


@pytest.mark.parametrize("bus", [Ssc32Bus, MaestroBus, Servo2040Bus])
@pytest.mark.parametrize("ids", [[], [0, 0], [-1], [32]])
def test_channels_that_are_not_on_a_board_are_refused(bus, ids):
    with pytest.raises(ValueError, match="servo ids"):
        bus(MemoryPort(None), ids)


@pytest.mark.parametrize(("device", "bus"), boards().values(), ids=boards())
def test_servos_may_be_on_any_channels_in_any_order(device, bus):
    ids = [17, 3, 4, 9]
    world = LagWorld(SCALE, len(ids))
    made = device(world, ids)
    talking = bus(MemoryPort(made), ids)
    talking.write_goals({17: 1100, 3: 1200, 4: 1300, 9: 1400}, 0.02)
    talking.torque(ids, True)
    assert list(world.goals) == [1100, 1200, 1300, 1400]
    assert world.torques.all()


# --- what only one of them does ----------------------------------------------------------------------


def test_the_first_ssc32_command_of_a_servo_goes_without_time():
    port = MemoryPort(Ssc32Device(LagWorld(SCALE)))
    bus = Ssc32Bus(port, ALL)
    bus.write_goals(MIDDLE, 0.02)
    bus.torque([0, 1], True)
    bus.write_goals(MIDDLE, 0.02)
    bus.torque([2], True)
    assert port.written == [b"\x1b#0P1500#1P1500\r", b"#0P1500#1P1500T20\r", b"#2P1500\r"]


def test_an_ssc32_move_takes_its_time():
    port = MemoryPort(Ssc32Device(LagWorld(SCALE)))
    bus = Ssc32Bus(port, [4])
    bus.write_goals({4: 1000}, 0.0)
    bus.torque([4], True)
    bus.write_goals({4: 2000}, 1.0)
    port.now = 0.5
    assert bus.read([4], POSITION)[4].position == 1500
    port.now = 1.0
    assert bus.read([4], POSITION)[4].position == 2000


def test_the_first_reading_of_an_ssc32_input_is_thrown_away():
    port = MemoryPort(Ssc32Device(LagWorld(SCALE, voltage=7.4)))
    bus = Ssc32Bus(port, ALL, battery="A", divider=3.0)
    volts, current = bus.supply()
    assert volts == pytest.approx(7.4, abs=0.06)
    assert current is None
    assert Ssc32Bus(port, ALL).supply() == (None, None)


def test_the_maestro_error_word_is_a_fault_of_all_servos_until_they_are_relaxed():
    world = LagWorld(SCALE)
    port = MemoryPort(MaestroDevice(world))
    bus = MaestroBus(port, ALL)
    bus.write_goals(MIDDLE, 0.02)
    bus.torque(ALL, True)
    port.write(b"\x84\x01\xa4")
    assert not world.torques.any()  # a command that is cut off sends the servos home, which is off
    for i in ALL:  # the board itself reports it once
        assert bus.read([i], ServoQuantity.FAULT)[i].fault == ServoFault.OTHER
    assert bus.errors == maestro.MaestroError.PROTOCOL
    bus.relax()
    assert {r.fault for r in bus.read(ALL, ServoQuantity.FAULT).values()} == {ServoFault.NONE}


@pytest.mark.parametrize(
    ("word", "fault"), [("00 00", False), ("20 00", True), ("01 00", True), ("40 00", False), ("C0 FF", False)]
)
def test_the_lower_six_bits_of_the_maestro_error_word_are_faults_and_torque_forgets_them(word, fault):
    port = MemoryPort(Scripted(from_hex("00 00"), from_hex(word), *[from_hex("00 00")] * 3))
    bus = MaestroBus(port, ALL)
    bus.identify()
    assert (bus.read([0], ServoQuantity.FAULT)[0].fault == ServoFault.OTHER) == fault
    assert (bus.read([0], ServoQuantity.FAULT)[0].fault == ServoFault.OTHER) == fault
    bus.write_goals(MIDDLE, 0.0)
    bus.torque(ALL, True)
    assert bus.read([0], ServoQuantity.FAULT)[0].fault == ServoFault.NONE
    before = len(port.written)
    assert bus.read([0], ServoQuantity.VOLTAGE) == {}
    assert len(port.written) == before


def test_a_wrong_maestro_checksum_moves_nothing():
    world = LagWorld(SCALE)
    device = MaestroDevice(world, form=maestro.MaestroForm(crc=True))
    frame = maestro.target(0, 1600, maestro.MaestroForm(crc=True))
    device.receive(frame[:-1] + bytes([frame[-1] ^ 1]), 0.0)
    assert not world.torques.any()
    assert device.errors == maestro.MaestroError.CRC


@pytest.mark.parametrize("dialect", Servo2040Dialect)
def test_the_servo2040_dialect_is_recognised_by_the_length_of_a_reply(dialect):
    world = LagWorld(SCALE, voltage=11.1)
    port = MemoryPort(Servo2040Device(world, dialect=dialect))
    bus = Servo2040Bus(port, ALL)
    bus.identify()
    assert bus.dialect is dialect
    # A truncated reply of the fork looks like one of the original, which is therefore requested twice.
    assert len(port.written) == (2 if dialect is Servo2040Dialect.ORIGINAL else 1)
    assert bus.counters.timeouts == bus.counters.bad == 0
    assert bus.timing(18).read == pytest.approx((3 + 7 + (dialect is Servo2040Dialect.FORK)) * 10 / 115_200)
    volts, amperes = bus.supply()
    assert volts == pytest.approx(11.1, abs=0.01)
    assert amperes == pytest.approx(0.0, abs=0.05)


def test_the_servo2040_relay_closes_after_all_servos_are_staged():
    port = MemoryPort(Servo2040Device(LagWorld(SCALE)))
    bus = Servo2040Bus(port, ALL)
    bus.write_goals(dict.fromkeys(ALL, 1200), 0.02)
    bus.torque([0, 1, 2], True)
    stage = servo2040.set_goals(0, [1200] * 18)
    assert port.written == [stage, stage, servo2040.relay(True)]
    bus.torque([0, 1], False)
    assert len(port.written) == 3
    bus.torque([2], False)
    assert port.written[3:] == [servo2040.relay(False)]


@pytest.mark.parametrize(("dialect", "snaps"), [(Servo2040Dialect.ORIGINAL, True), (Servo2040Dialect.FORK, False)])
def test_an_unstaged_servo_snaps_to_the_middle_on_the_original_board_only(dialect, snaps):
    world = LagWorld(SCALE)
    Servo2040Device(world, dialect=dialect).receive(servo2040.relay(True), 0.0)
    assert world.torques.any() == snaps


def test_the_forks_over_current_latch_is_a_fault_of_all_servos():
    world = LagWorld(SCALE, positions=[1000.0] * 18)
    port = MemoryPort(Servo2040Device(world, dialect=Servo2040Dialect.FORK, fuse=5.0))
    bus = Servo2040Bus(port, ALL)
    bus.identify()
    bus.write_goals(dict.fromkeys(ALL, 2000), 0.02)
    bus.torque(ALL, True)
    assert {r.fault for r in bus.read(ALL, ServoQuantity.FAULT).values()} == {ServoFault.CURRENT}
    assert not world.torques.any()


def test_channels_with_gaps_go_out_as_several_frames_in_one_write():
    port = MemoryPort(Servo2040Device(LagWorld(SCALE)))
    bus = Servo2040Bus(port, [0, 1, 5])
    bus.write_goals({5: 1700, 0: 1500, 1: 1600}, 0.02)
    assert port.written == [servo2040.set_goals(0, [1500, 1600]) + servo2040.set_goals(5, [1700])]


class CutOncePort(MemoryPort):
    """A port that loses the last byte of the first reply."""

    def write(self, data):
        self.lose = 1 if not self.written else 0
        super().write(data)


def test_one_reply_of_a_fork_without_its_checksum_is_not_taken_for_the_original():
    bus = Servo2040Bus(CutOncePort(Servo2040Device(LagWorld(SCALE), dialect=Servo2040Dialect.FORK)), ALL)
    bus.identify()
    assert bus.dialect is Servo2040Dialect.FORK


class Impossible:
    """A board that reports pulses of 100 us."""

    def receive(self, data, now):
        return [(now, bytes([10] * 18))]


def test_a_reply_is_corrupt_if_its_pulses_are_impossible_and_missing_if_it_is_cut_off():
    impossible = Ssc32Bus(MemoryPort(Impossible()), ALL)
    assert impossible.read(ALL, POSITION) == {}
    assert impossible.counters.bad == 1
    port = MemoryPort(Ssc32Device(LagWorld(SCALE)))
    cut = Ssc32Bus(port, ALL)
    port.lose = 1
    assert cut.read(ALL, POSITION) == {}
    assert cut.counters.bad == 0


@pytest.fixture
def nothing_is_late(monkeypatch):
    """Replies that do not come at once never come."""
    monkeypatch.setattr(pulse_board, "LATE_WINDOW_S", -1.0)


def test_a_board_says_whether_it_answers(rig, nothing_is_late):
    _, port, bus = rig
    bus.identify()
    received = bus.counters.received
    assert bus.answers() is True
    assert bus.counters.received == received + 1
    port.unresponsive = True
    assert bus.answers() is False
    assert bus.supply() == (None, None)
    assert bus.counters.received == received + 1
    port.unresponsive = False
    assert bus.answers() is True
    bus.urgent.set()
    assert bus.answers() is None
    assert bus.supply() == (None, None)
    assert bus.read(ALL, POSITION) == {}


def test_some_servos_lose_their_torque_alone_unless_a_relay_powers_all(rig):
    world, _, bus = rig
    bus.write_goals(MIDDLE, 0.0)
    bus.torque(ALL, True)
    bus.torque([3, 5], False)
    one_relay = isinstance(bus, Servo2040Bus)
    assert [i for i in ALL if not world.torques[i]] == ([] if one_relay else [3, 5])
    bus.torque([], False)
    bus.write_goals(dict.fromkeys(ALL, 1600), 0.0)
    assert [i for i in ALL if not world.torques[i]] == ([] if one_relay else [3, 5])
    bus.torque([3, 5], True)
    assert world.torques.all() and (world.goals == 1600).all()


def test_a_missing_reading_of_an_ssc32_input_is_unknown_and_the_next_line_begins_anew(nothing_is_late):
    port = MemoryPort(Ssc32Device(LagWorld(SCALE, voltage=7.4)))
    bus = Ssc32Bus(port, ALL, battery="A", divider=3.0)
    for lines in ([b"\x1bVA\r", b"VA\r"], [b"\x1bVA\r"]):  # the first reading of all is not valid
        port.unresponsive = True
        assert bus.supply() == (None, None)
        port.unresponsive = False
        port.written.clear()
        assert bus.supply()[0] == pytest.approx(7.4, abs=0.06)
        assert port.written == lines
    port.written.clear()
    bus.supply()
    assert port.written == [b"VA\r"]


@pytest.mark.parametrize("name", ["I", "a", "AB"])
def test_an_ssc32_has_eight_analog_inputs(name):
    assert Ssc32Bus(MemoryPort(None), ALL, battery="H")
    with pytest.raises(ValueError, match="battery is an analog input from A to H"):
        Ssc32Bus(MemoryPort(None), ALL, battery=name)


def test_the_last_index_of_a_servo2040_is_that_of_the_forks_latch():
    for dialect, replies in ((Servo2040Dialect.ORIGINAL, 0), (Servo2040Dialect.FORK, 1)):
        device = Servo2040Device(LagWorld(SCALE), dialect=dialect)
        assert len(device.receive(servo2040.query(26, 1), 0.0)) == 1
        assert len(device.receive(servo2040.query(26, 2), 0.0)) == replies
        assert device.receive(servo2040.query(27, 2), 0.0) == []


@pytest.mark.parametrize("dialect", [None, *Servo2040Dialect])
def test_a_given_dialect_of_a_servo2040_is_checked(dialect):
    port = MemoryPort(Servo2040Device(LagWorld(SCALE), dialect=Servo2040Dialect.FORK))
    bus = Servo2040Bus(port, ALL, dialect=dialect)
    if dialect is not Servo2040Dialect.ORIGINAL:
        assert set(bus.identify()) == set(ALL)
        assert bus.dialect is Servo2040Dialect.FORK and bus.can_read is ServoQuantity.FAULT


class Scripted:
    """A board that sends these replies one after the other."""

    def __init__(self, *replies):
        self.replies = list(replies)

    def receive(self, data, now):
        return [(0.0, self.replies.pop(0))] if self.replies else []


def test_an_ssc32_that_first_sends_something_else_is_identified_and_the_wrong_reply_counted():
    port = MemoryPort(Scripted(b"SSC-32 ready", b"+"))
    read, left = port.read, []
    port.read = lambda count, deadline: left.append(len(port.waiting)) or read(count, deadline)
    bus = Ssc32Bus(port, ALL)
    assert set(bus.identify()) == set(ALL)
    assert left == [12, 11, 0, 1]  # the rest is read before the board is asked again, once it is ready
    assert (bus.counters.bad, bus.counters.received) == (1, 1)
    assert port.written == [b"\x1bQ\r"] * 2
    late = Ssc32Bus(MemoryPort(Scripted(b"", b".")), ALL)
    late.identify()
    assert (late.counters.bad, late.counters.received) == (0, 1)


@pytest.mark.parametrize("first", [b"", b"\xa1", b"\xa1\x00", b"\x20"])
def test_a_maestro_is_asked_three_times_and_an_echo_is_no_answer(first):
    port = MemoryPort(Scripted(first, first, b"\x00\x00"))
    bus = MaestroBus(port, ALL)
    assert set(bus.identify()) == set(ALL)
    assert port.written == [b"\xa1"] * 3
    assert bus.counters.received == 1
    port = MemoryPort(Scripted(first, first, first))
    with pytest.raises(BusError, match="no Maestro answers"):
        MaestroBus(port, ALL).identify()
    assert port.written == [b"\xa1"] * 4  # the last one for an echo


@pytest.mark.parametrize(
    ("dialect", "volts", "shown"),
    [
        (Servo2040Dialect.FORK, 11.1, 1110),
        (Servo2040Dialect.FORK, 200.0, 16383),
        (Servo2040Dialect.ORIGINAL, 10.0, 3103),
    ],
)
def test_values_of_a_servo2040_end_at_14_bits_and_its_inputs_are_low_at_first(dialect, volts, shown):
    device = Servo2040Device(LagWorld(SCALE, voltage=volts), dialect=dialect)

    def value(index, count=1):
        ((_, data),) = device.receive(servo2040.query(index, count), 0.0)
        (found,) = servo2040.Servo2040Decoder(dialect).feed(data)
        return found.values

    assert value(25) == (shown,)
    assert value(18, 6) == (0,) * 6
    assert value(0, 2) == (1500, 1500)
    assert value(26) == (0,)
    device.receive(servo2040.set_goals(1, [1700]) + servo2040.relay(True), 0.0)
    assert value(0, 2) == (1500, 1700)
    assert value(26) == (1,)


def test_an_ssc32_that_answers_something_else_is_counted_and_asked_on_a_line_of_its_own(nothing_is_late):
    port = MemoryPort(Scripted(b".", b"x", b"", b"."))
    bus = Ssc32Bus(port, ALL)
    bus.identify()
    assert [bus.answers(), bus.answers(), bus.answers()] == [False, False, True]
    assert (bus.counters.bad, bus.counters.received) == (1, 2)
    assert port.written == [b"\x1bQ\r", b"Q\r", b"\x1bQ\r", b"\x1bQ\r"]


def test_no_more_bytes_are_waited_for_than_a_board_sends(rig):
    _, port, bus = rig
    bus.identify()
    bus.write_goals(MIDDLE, 0.0)
    bus.torque(ALL, True)
    read, missing = port.read, []

    def counted(count, deadline):
        data = read(count, deadline)
        missing.append(count - len(data))
        return data

    port.read = counted
    for quantities in (POSITION, ServoQuantity.FAULT, POSITION | ServoQuantity.FAULT):
        bus.read(ALL, quantities)
    bus.supply()
    bus.answers()
    assert len(missing) >= 3 and not any(missing)
    assert port.waiting == b""
