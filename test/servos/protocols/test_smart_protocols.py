# SPDX-License-Identifier: Apache-2.0
"""Buses of smart servos against their emulated servos, bytes both ways in memory."""

import math
import random
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.scripted_bus import ManualClock

from hexapod_control.servos.bus import ff_frames, transaction
from hexapod_control.servos.bus.bus_interface import BusError, PortGoneError, ServoFault, ServoQuantity
from hexapod_control.servos.bus.id_addressing import duplicate_ids
from hexapod_control.servos.emulator.device_registry import emulated_device
from hexapod_control.servos.emulator.servo_world import LagWorld
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.protocols import dynamixel1, dynamixel2, feetech_st, lx16a

SMART = ["feetech_st", "feetech_sc", "dynamixel1", "dynamixel2", "lx16a"]
IDS = tuple(range(1, 19))
POSITION, EVERYTHING = ServoQuantity.POSITION, ~ServoQuantity.NONE
smart = pytest.mark.parametrize("name", SMART)
CLOCK = ManualClock(tick=1e-6)


@pytest.fixture(autouse=True)
def steady_time(monkeypatch):
    """Steady time that passes when a port waits for bytes that do not come."""
    monkeypatch.setattr(transaction, "time", SimpleNamespace(monotonic=CLOCK))


class Line:
    """A port to an emulated device: what does not come at once does not come before the deadline."""

    def __init__(self, device, baud):
        self.device, self.baud = device, baud
        self.now = 100.0
        self.inbox = b""
        self.writes = []
        self.replied = 0  # bytes
        self.replies = 0
        self.echo = False
        self.gone = False
        self.spoil = lambda reply: reply

    def write(self, data):
        self.alive()
        self.writes.append(data)
        if self.echo:
            self.inbox += data
        for _, reply in self.device.receive(data, self.now):
            reply = self.spoil(reply)
            self.replied += len(reply)
            self.replies += 1
            self.inbox += reply

    def read(self, count, deadline):
        self.alive()
        data, self.inbox = self.inbox[:count], self.inbox[count:]
        if len(data) < count:
            CLOCK.now = max(CLOCK.now, deadline)
        return data

    def clear(self):
        self.alive()
        self.inbox = b""

    def close(self):
        pass

    def alive(self):
        if self.gone:
            raise PortGoneError("gone")


class Bench:
    def __init__(self, name, ids=IDS, **options):
        self.row = PROTOCOLS[name]
        self.ids = ids
        self.world = LagWorld(self.row.scale, len(ids))
        self.line = Line(emulated_device(name, self.world, ids), self.row.baud)
        self.bus = self.row.open(self.line, ids, **options)

    def run(self, seconds):
        self.line.now += seconds
        self.world.step(self.line.now)

    def spread(self):
        """Every servo somewhere else."""
        scale, count = self.row.scale, len(self.ids)
        self.world.positions[:] = np.round(np.linspace(scale.low + 20, scale.high - 20, count))
        return dict(zip(self.ids, (int(p) for p in self.world.positions), strict=True))


# --- laws of every bus -------------------------------------------------------------------------------


MODELS = {
    "feetech_st": "STS3215",
    "feetech_sc": "SCS0009",
    "dynamixel1": "AX-12A",
    "dynamixel2": "XL430-W250",
    "lx16a": "LX-16A or similar",
}


@smart
def test_all_servos_are_identified_with_their_model(name):
    assert Bench(name).bus.identify() == dict.fromkeys(IDS, MODELS[name])


@smart
def test_positions_are_read_correctly(name):
    bench = Bench(name)
    expected = bench.spread()
    readings = bench.bus.read(IDS, POSITION)
    assert {i: r.position for i, r in readings.items()} == expected
    assert bench.bus.counters.bad == bench.bus.counters.timeouts == 0


@smart
@pytest.mark.parametrize("ids", [(7,), (3, 9, 4)])
def test_a_subset_of_the_servos_can_be_read(name, ids):
    bench = Bench(name)
    expected = bench.spread()
    assert {i: r.position for i, r in bench.bus.read(ids, POSITION).items()} == {i: expected[i] for i in ids}
    assert bench.bus.read((), POSITION) == {}


@smart
def test_goals_are_reported_as_they_were_received(name):
    bench = Bench(name)
    goals = bench.spread()
    bench.bus.write_goals(goals, 0.02)
    assert bench.bus.received_goals(IDS) == goals
    bench.world.unplug(4)
    assert bench.bus.received_goals(IDS[3:6]) == {IDS[3]: goals[IDS[3]], IDS[5]: goals[IDS[5]]}


@smart
def test_goals_are_reached_in_their_time(name):
    bench = Bench(name)
    bench.bus.identify()
    start = {i: r.position for i, r in bench.bus.read(IDS, POSITION).items()}
    bench.bus.torque(IDS, True)
    goals = {i: start[i] + (30 if i % 2 else -40) for i in IDS}
    bench.run(0.01)
    bench.bus.write_goals(goals, 0.5)
    bench.run(1.0)
    readings = bench.bus.read(IDS, POSITION)
    assert all(abs(readings[i].position - goals[i]) <= 1 for i in IDS)


@smart
@pytest.mark.parametrize("count", [1, 18, 24])
def test_all_goals_go_out_in_one_write(name, count):
    ids = tuple(range(1, count + 1))
    bench = Bench(name, ids)
    bench.bus.write_goals(dict.fromkeys(ids, bench.row.scale.center), 0.02)
    assert len(bench.line.writes) == 1
    assert len(bench.line.writes[0]) * 10 / bench.row.baud == pytest.approx(bench.bus.timing(count).write)
    if name == "feetech_st":  # an acceleration is another byte per servo
        quick = Bench(name, ids, acceleration=50)
        quick.bus.write_goals(dict.fromkeys(ids, bench.row.scale.center), 0.02)
        assert len(quick.line.writes[0]) == len(bench.line.writes[0]) + count


@smart
def test_goals_beyond_the_range_are_clamped(name):
    bench = Bench(name)
    bench.bus.torque(IDS, True)
    bench.bus.write_goals(dict.fromkeys(IDS, 100_000), 0.0)
    assert all(bench.world.target(i) == bench.row.scale.high for i in range(18))
    bench.bus.write_goals(dict.fromkeys(IDS, -100_000), 0.0)
    assert all(bench.world.target(i) == bench.row.scale.low for i in range(18))


@smart
def test_torque_is_switched_per_servo_and_taken_from_all_three_times(name):
    bench = Bench(name)
    bench.bus.torque(IDS[:3], True)
    assert [bench.world.has_torque(i) for i in range(4)] == [True, True, True, False]
    bench.bus.torque(IDS[:1], False)
    assert [bench.world.has_torque(i) for i in range(3)] == [False, True, True]
    bench.line.writes.clear()
    bench.bus.relax()
    assert not any(bench.world.has_torque(i) for i in range(18))
    assert len(bench.line.writes) == 3 and len(set(bench.line.writes)) == 1


@smart
def test_voltage_temperature_and_load_are_read(name):
    bench = Bench(name)
    bench.world.voltages[:] = 11.4
    bench.world.temperatures[4] = 63.0
    readings = bench.bus.read(IDS, ServoQuantity.VOLTAGE | ServoQuantity.TEMPERATURE)
    assert all(reading.voltage == pytest.approx(11.4) for reading in readings.values())
    assert readings[5].temperature == 63.0
    assert readings[6].temperature == 35.0
    assert bench.bus.supply() == (None, None)


@pytest.mark.parametrize("name", [n for n in SMART if n != "lx16a"])
@pytest.mark.parametrize("way", [1, -1])
def test_speed_and_load_have_the_sign_of_the_motion(name, way):
    bench = Bench(name)
    bench.bus.identify()
    bench.bus.read(IDS, POSITION)
    bench.bus.torque(IDS, True)
    center, per_rad = bench.row.scale.center, bench.row.scale.per_rad
    bench.run(0.001)
    bench.bus.write_goals(dict.fromkeys(IDS, center + way * round(per_rad)), 0.5)
    bench.run(0.1)
    reading = bench.bus.read(IDS, EVERYTHING)[3]
    unit = {"dynamixel1": dynamixel1.STEPS_PER_SECOND, "dynamixel2": dynamixel2.STEPS_PER_SECOND}.get(name, 1.0)
    assert reading.speed == pytest.approx(bench.world.speed(2), abs=unit)
    assert reading.load == pytest.approx(bench.world.load(2), abs=0.002)
    assert math.copysign(1, reading.speed) == math.copysign(1, reading.load) == way


@pytest.mark.parametrize("name", [n for n in SMART if n != "lx16a"])
@pytest.mark.parametrize(
    "fault", [ServoFault.OVERLOAD, ServoFault.HEAT, ServoFault.VOLTAGE, ServoFault.OVERLOAD | ServoFault.HEAT]
)
def test_faults_are_read_and_overload_is_cleared(name, fault):
    bench = Bench(name)
    bench.bus.torque(IDS, True)
    bench.world.latch(6, fault)
    readings = bench.bus.read(IDS, POSITION | ServoQuantity.FAULT)
    assert readings[7].fault == fault
    assert all(readings[i].fault is ServoFault.NONE for i in IDS if i != 7)
    if fault is ServoFault.OVERLOAD:
        bench.bus.recover(7)
        assert bench.bus.read((7,), POSITION | ServoQuantity.FAULT)[7].fault is ServoFault.NONE
        assert not bench.world.has_torque(6) and bench.world.has_torque(5)


# Address and bytes of voltage [0.1 V], temperature [degC] and load (of 1000, on an AX-12A of 1023).
@pytest.mark.parametrize(
    ("name", "voltage", "temperature", "load", "half"),
    [
        ("feetech_st", (62, 1), 63, 60, 500),
        ("feetech_sc", (62, 1), 63, 60, 500),
        ("dynamixel1", (42, 1), 43, 40, 512),
        ("dynamixel2", (144, 2), 146, 126, 500),
    ],
)
def test_registers_of_servos_are_in_the_units_of_the_manuals(name, voltage, temperature, load, half):
    bench = Bench(name, (1,))
    order = "big" if name == "feetech_sc" else "little"
    bench.world.voltages[:], bench.world.temperatures[:], bench.world.loads[:] = 11.1, 47.0, 0.5
    assert int.from_bytes(bench.bus.registers(1, *voltage), order) == 111
    assert int.from_bytes(bench.bus.registers(1, temperature, 1), order) == 47
    assert int.from_bytes(bench.bus.registers(1, load, 2), order) == half
    reading = bench.bus.read((1,), EVERYTHING)[1]
    assert (reading.voltage, reading.temperature) == (pytest.approx(11.1), 47)
    assert reading.load == pytest.approx(0.5, abs=0.001)


@smart
def test_servos_report_whether_their_torque_is_on(name):
    bench = Bench(name)
    bench.bus.torque(IDS[:3], True)
    bench.world.unplug(1)
    assert bench.bus.torques(IDS[:5]) == {1: True, 3: True, 4: False, 5: False}


def test_the_maximum_voltage_of_an_st_servo_is_that_of_its_register_and_others_do_not_tell():
    bench = Bench("feetech_st", (1, 2))
    bench.line.device.memories[1][14] = 84
    assert [bench.bus.max_voltage(servo) for servo in (1, 2)] == [14.0, 8.4]
    bench.world.unplug(1)
    assert bench.bus.max_voltage(2) is None
    for name in ("feetech_sc", "dynamixel1"):
        other = Bench(name, (1,))
        assert other.bus.max_voltage(1) is None
        assert other.line.writes == []


def test_an_overloaded_lx_servo_recovers_without_torque():
    bench = Bench("lx16a")
    bench.bus.torque(IDS, True)
    bench.world.latch(6, ServoFault.OVERLOAD)
    bench.bus.recover(7)
    assert bench.world.fault(6) is ServoFault.NONE
    assert [i for i in range(18) if not bench.world.has_torque(i)] == [6]


@pytest.mark.parametrize("name", ["feetech_st", "feetech_sc"])
def test_the_protection_of_a_feetech_servo_ends_when_the_torque_goes_off_and_not_when_it_goes_on(name):
    bench = Bench(name)
    bench.world.latch(6, ServoFault.OVERLOAD)
    bench.bus.torque((7,), True)
    assert bench.world.fault(6) is ServoFault.OVERLOAD
    bench.bus.torque((7,), False)
    assert bench.world.fault(6) is ServoFault.NONE


# --- when something is missing or wrong --------------------------------------------------------------


@smart
@pytest.mark.parametrize("gone", [1, 9, 18])
def test_a_missing_servo_is_missing_and_the_others_are_there(name, gone):
    bench = Bench(name)
    expected = bench.spread()
    bench.world.unplug(gone - 1)
    readings = bench.bus.read(IDS, POSITION)
    assert {i: r.position for i, r in readings.items()} == {i: p for i, p in expected.items() if i != gone}
    bench.bus.read(IDS, POSITION)
    assert bench.bus.counters.misses[gone] == bench.bus.counters.timeouts == 2
    bench.world.plug(gone - 1)
    assert set(bench.bus.read(IDS, POSITION)) == set(IDS)
    assert set(bench.bus.counters.misses.values()) == {0}
    assert set(bench.bus.identify()) == set(IDS)


@smart
def test_a_dead_bus_is_an_error_with_its_remedies(name):
    bench = Bench(name)
    bench.world.unplug(*range(18))
    with pytest.raises(BusError, match=r"no servo answers at \d+ baud: check"):
        bench.bus.identify()


@smart
def test_a_wrong_baud_is_named(name):
    bench = Bench(name)
    bench.line.spoil = lambda reply: b"\x9a\x00" * len(reply)
    with pytest.raises(BusError, match="wrong baud or protocol, or two servos with one id"):
        bench.bus.identify()


@smart
def test_replies_of_duplicate_ids_are_rejected(name):
    bench = Bench(name)
    expected = bench.spread()
    bench.world.duplicate_id(4)
    assert {i: r.position for i, r in bench.bus.read(IDS, POSITION).items()} == {
        i: p for i, p in expected.items() if i != 5
    }
    assert 5 not in bench.bus.identify()
    bench.world.unplug(7)
    assert duplicate_ids(bench.bus, [4, 5, 8]) == [5]  # 8 is merely not there


@smart
def test_an_echo_changes_nothing(name):
    bench = Bench(name)
    expected = bench.spread()
    bench.line.echo = True
    assert set(bench.bus.identify()) == set(IDS)
    for _ in range(2):
        bench.bus.write_goals(dict.fromkeys(IDS, bench.row.scale.center), 0.02)
        assert {i: r.position for i, r in bench.bus.read(IDS, POSITION).items()} == expected
    assert bench.bus.counters.timeouts == 0
    assert bench.bus.counters.bad == 0
    assert bench.bus.counters.echoes > 18


@smart
def test_an_echo_without_replies_is_reported(name):
    bench = Bench(name)
    bench.line.echo = True
    bench.world.unplug(*range(18))
    with pytest.raises(BusError, match=r"only the echo of what is sent comes back at \d+ baud.*: check"):
        bench.bus.identify()
    assert bench.bus.counters.bad == 0


@smart
def test_noise_before_every_reply_changes_nothing(name):
    bench = Bench(name)
    expected = bench.spread()
    bench.line.spoil = lambda reply: b"\xff\x55\xff\xff\xfd" + reply
    assert {i: r.position for i, r in bench.bus.read(IDS, POSITION).items()} == expected


# The same spoilt replies every time: a checksum of eight bits lets one of 256 through, which no decoder can detect.
@smart
@pytest.mark.parametrize("seed", range(30))
def test_disturbed_replies_never_yield_a_wrong_reading(name, seed):
    bench, chance = Bench(name), random.Random(seed)
    expected, share = bench.spread(), chance.random()

    def spoil(reply):
        if chance.random() > share or not reply:
            return reply
        at = chance.randrange(len(reply))
        flipped = reply[:at] + bytes((reply[at] ^ 1 << chance.randrange(8),)) + reply[at + 1 :]
        return chance.choice([b"", reply[:at], flipped, reply + reply, chance.randbytes(at), reply[at:]])

    bench.line.spoil = spoil
    for quantities in (POSITION, EVERYTHING & bench.bus.can_read):
        readings = bench.bus.read(IDS, quantities)
        assert all(r.position in (expected[i], None) for i, r in readings.items())
        assert all(r.temperature in (None, 35.0) and r.fault is ServoFault.NONE for r in readings.values())


@smart
@settings(max_examples=50)
@given(pieces=st.lists(st.one_of(st.binary(max_size=12), st.sampled_from([b"\xff\xff", b"\xff\xff\xfd\0", b"UU"]))))
def test_any_bytes_move_no_emulated_servo(name, pieces):
    bench = Bench(name)
    for piece in pieces:
        bench.line.device.receive(piece, bench.line.now)
    assert not bench.world.torques.any()
    assert (bench.world.goals == bench.row.scale.center).all()
    bench.run(1.0)
    assert set(bench.bus.read(IDS, POSITION)) == set(IDS)  # and after a pause they accept frames again


@smart
@settings(max_examples=50)
@given(body=st.binary(max_size=20), servo=st.integers(0, 254), code=st.integers(0, 255))
def test_well_formed_nonsense_raises_nothing(name, body, servo, code):
    build = {"dynamixel2": dynamixel2.build, "lx16a": lx16a.build}.get(name, ff_frames.build)
    bench = Bench(name)
    bench.line.device.receive(build(servo, code, body), bench.line.now)
    bench.line.device.receive(build(servo, 5), bench.line.now)


@smart
def test_a_lost_port_raises_the_port_error(name):
    bench = Bench(name)
    bench.line.gone = True
    for action in (
        lambda: bench.bus.identify(),
        lambda: bench.bus.read(IDS, POSITION),
        lambda: bench.bus.write_goals({1: 500}, 0.02),
        lambda: bench.bus.torque(IDS, True),
        lambda: bench.bus.relax(),
    ):
        with pytest.raises(PortGoneError):
            action()


@smart
@pytest.mark.parametrize("ids", [(1, 1), (-1,), (254,)])
def test_impossible_ids_are_refused(name, ids):
    with pytest.raises(ValueError, match="servo ids"):
        PROTOCOLS[name].open(Line(None, 115200), ids)


@smart
def test_an_id_is_written_and_only_to_a_free_one(name):
    bench = Bench(name, (1, 2))
    with pytest.raises(BusError, match="id 2 already exists"):
        bench.bus.set_id(1, 2)
    with pytest.raises(BusError, match="no servo answers with id 9"):
        bench.bus.set_id(9, 3)
    with pytest.raises(ValueError, match="servo ids"):
        bench.bus.set_id(1, 254)
    bench.bus.set_id(1, 30)
    assert set(bench.bus.scan(range(40))) == {2, 30}


def test_an_id_that_is_not_accepted_is_named():
    bench = Bench("dynamixel1", (1,))
    bench.bus.write_registers(1, dynamixel1.Dynamixel1Register.LOCK, b"\x01")  # refuses writes to the EEPROM
    with pytest.raises(BusError, match="the servo with id 1 did not accept id 3: switch its power off and on"):
        bench.bus.set_id(1, 3)


@smart
def test_only_the_silence_of_a_free_id_is_waited_for_when_an_id_is_written(name):
    one, other = Bench(name, (1,)), Bench(name, (1,))
    assert one.bus.ping(9) is None
    other.bus.set_id(1, 9)
    assert other.bus.counters.waited == pytest.approx(one.bus.counters.waited, rel=0.05)


# --- what the wire allows ----------------------------------------------------------------------------


QUANTITIES = [
    POSITION,
    ServoQuantity.SPEED,
    ServoQuantity.LOAD,
    ServoQuantity.VOLTAGE,
    ServoQuantity.TEMPERATURE,
    POSITION | ServoQuantity.SPEED,
    POSITION | ServoQuantity.VOLTAGE,
    EVERYTHING,
]


@pytest.mark.parametrize(("name", "options"), [*((name, {}) for name in SMART), ("dynamixel2", {"read": "fast"})])
@pytest.mark.parametrize("quantities", QUANTITIES, ids=str)
@pytest.mark.parametrize("count", [1, 18])
def test_the_timing_of_any_reading_has_its_bytes_turnarounds_and_return_delays(name, options, quantities, count):
    wait, ids = transaction.ReplyTiming(return_delay=0.0005), IDS[:count]
    bench = Bench(name, ids, **options)
    quantities &= bench.bus.can_read
    timing = bench.bus.timing(count, quantities)
    bench.bus.read(ids, quantities)
    read = sum(map(len, bench.line.writes)) + bench.line.replied
    assert timing.read == pytest.approx(read * 10 / bench.row.baud)
    assert timing.turnarounds == len(bench.line.writes)
    if not options:
        slow = Bench(name, ids, wait=wait).bus.timing(count, quantities)
        assert slow.read - timing.read == pytest.approx(bench.line.replies * 0.0005)


@smart
@pytest.mark.parametrize("quantities", QUANTITIES, ids=str)
def test_every_quantity_that_is_asked_for_is_read_and_has_the_same_value_as_with_all_others(name, quantities):
    bench = Bench(name, (1, 2))
    bench.world.speeds[:], bench.world.loads[:] = (120, -340), (0.25, -0.5)
    bench.world.voltages[:], bench.world.temperatures[:] = (11.1, 7.4), (35.0, 47.0)
    quantities &= bench.bus.can_read
    fields = {
        POSITION: "position",
        ServoQuantity.SPEED: "speed",
        ServoQuantity.LOAD: "load",
        ServoQuantity.VOLTAGE: "voltage",
        ServoQuantity.TEMPERATURE: "temperature",
    }
    whole, found = bench.bus.read((1, 2), EVERYTHING & bench.bus.can_read), bench.bus.read((1, 2), quantities)
    assert set(found) == ({1, 2} if quantities else set())
    for servo, reading in found.items():
        for quantity, field in fields.items():
            if quantity & quantities:
                assert getattr(reading, field) == getattr(whole[servo], field) is not None
    if name != "lx16a":
        unit = {"dynamixel1": dynamixel1.STEPS_PER_SECOND, "dynamixel2": dynamixel2.STEPS_PER_SECOND}
        speeds = [whole[servo].speed for servo in (1, 2)]
        assert speeds == pytest.approx([120, -340], abs=0.5 * unit.get(name, 1.0) + 1e-9)
        assert [whole[servo].load for servo in (1, 2)] == pytest.approx([0.25, -0.5], abs=0.001)


# Registers of the EEPROM, in the form of the servo, and what they are set to.
KEPT = [
    ("feetech_st", 9, b"\x64\x00"),
    ("feetech_sc", 9, b"\x00\x64"),
    ("dynamixel1", 6, b"\x64\x00"),
    ("dynamixel2", 52, b"\x64\x00\x00\x00"),
    ("lx16a", lx16a.Lx16aCommand.LIMITS_READ, b"\x64\x00\xe8\x03"),
    ("lx16a", lx16a.Lx16aCommand.OFFSET_READ, b"\x14"),
]


@pytest.mark.parametrize(("name", "register", "data"), KEPT)
def test_registers_that_are_written_are_kept_without_power_and_only_in_that_servo(name, register, data):
    bench = Bench(name, (1, 2))
    before = bench.bus.registers(2, register, len(data))
    bench.bus.write_registers(1, register, data)
    bench.world.unplug(0)
    assert bench.bus.registers(1, register, len(data)) is None
    bench.world.plug(0)
    assert bench.bus.registers(1, register, len(data)) == data
    assert bench.bus.registers(2, register, len(data)) == before
    lock = {"feetech_st": 55, "feetech_sc": 48}.get(name)
    if lock:
        bench.bus.write_registers(1, register, data)
        assert bench.bus.registers(1, lock, 1) == b"\x01"
    assert bench.bus.counters.timeouts == 1


# --- what is special ---------------------------------------------------------------------------------


def test_an_st_move_gets_the_speed_that_takes_it_there_in_time():
    bench = Bench("feetech_st", (1, 2))
    bench.bus.read((1,), POSITION)
    bench.bus.write_goals({1: 2148, 2: 2148}, 0.1)
    slow = feetech_st.goal_row(2148, 300)  # 26 deg/s: the position of servo 2 is unknown
    assert bench.line.writes[-1] == ff_frames.sync_write_request(42, {1: feetech_st.goal_row(2148, 1000), 2: slow})
    bench.bus.write_goals({1: 2148, 2: 2168}, 0.1)  # 1 has not been seen to move yet
    rows = {1: feetech_st.goal_row(2148, 1000), 2: feetech_st.goal_row(2168, 200)}
    assert bench.line.writes[-1] == ff_frames.sync_write_request(42, rows)
    bench.world.positions[0] = 2148
    bench.bus.read((1,), POSITION)
    bench.bus.write_goals({1: 2148}, 0.1)
    assert bench.line.writes[-1] == ff_frames.sync_write_request(
        42, {1: feetech_st.goal_row(2148, 1)}
    )  # 0 would be full speed


def test_an_ax_move_gets_the_speed_that_takes_it_there_in_time():
    bench = Bench("dynamixel1", (1, 2))
    bench.bus.read((1,), POSITION)
    bench.bus.write_goals({1: 612, 2: 612}, 0.5)
    speed = math.ceil(100 / 0.5 / (0.111 * 360 / 60 * 1024 / 300))
    slow = dynamixel1.goal_row(612, 32)  # 21 deg/s: the position of servo 2 is unknown
    assert bench.line.writes[-1] == ff_frames.sync_write_request(30, {1: dynamixel1.goal_row(612, speed), 2: slow})
    bench.bus.write_goals({1: 512, 2: 512}, 0.0)
    rows = dict.fromkeys((1, 2), dynamixel1.goal_row(512, 0))
    assert bench.line.writes[-1] == ff_frames.sync_write_request(30, rows)


@pytest.mark.parametrize("off", ["torque", "relax", "recover"])
def test_an_st_servo_that_was_without_torque_moves_from_where_it_is_and_not_from_its_old_goal(off):
    bench = Bench("feetech_st", (1, 2))
    bench.bus.write_goals({1: 1000, 2: 1000}, 0.1)
    acts = {
        "torque": lambda: bench.bus.torque((1,), False),
        "relax": bench.bus.relax,
        "recover": lambda: bench.bus.recover(1),
    }
    acts[off]()
    bench.bus.read((1, 2), POSITION)
    bench.bus.write_goals({1: 2098, 2: 2098}, 0.1)
    other = 500 if off == "relax" else 10980  # from its goal
    rows = {1: feetech_st.goal_row(2098, 500), 2: feetech_st.goal_row(2098, other)}
    assert bench.line.writes[-1] == ff_frames.sync_write_request(42, rows)


def test_an_x_servo_with_a_time_profile_gets_the_duration_once():
    bench = Bench("dynamixel2", (1, 2))
    for memory in bench.line.device.memories:
        memory[dynamixel2.Dynamixel2Register.DRIVE_MODE] = dynamixel2.TIME_BASED
    bench.bus.identify()
    bench.line.writes.clear()
    for _ in range(3):
        bench.bus.write_goals({1: 2100, 2: 2000}, 0.02)
    profile = dynamixel2.write_request(
        dynamixel2.BROADCAST, dynamixel2.Dynamixel2Register.PROFILE_VELOCITY, (20).to_bytes(4, "little")
    )
    goals = dynamixel2.sync_write_request(116, {1: dynamixel2.goal_row(2100), 2: dynamixel2.goal_row(2000)})
    assert bench.line.writes == [profile, goals, goals, goals]


def test_only_if_all_x_servos_have_a_time_profile_the_duration_is_sent_and_again_after_a_reboot():
    bench = Bench("dynamixel2", (1, 2))
    drive_mode = dynamixel2.Dynamixel2Register.DRIVE_MODE
    for timed in ((), (0,), (1,), (0, 1)):
        for index, memory in enumerate(bench.line.device.memories):
            memory[drive_mode] = dynamixel2.TIME_BASED * (index in timed) | 0x08  # other bits do not matter
        bench.bus.identify()
        assert bench.bus.features.jumps == (len(timed) < 2)
        bench.line.writes.clear()
        bench.bus.write_goals({1: 2048, 2: 2048}, 0.02)
        assert len(bench.line.writes) == 1 + (len(timed) == 2)
    for duration, frames in ((0.02, 1), (0.0201, 1), (0.03, 2), (-1.0, 2), (0.0, 1)):
        bench.line.writes.clear()
        bench.bus.write_goals({1: 2048, 2: 2048}, duration)
        assert len(bench.line.writes) == frames
    bench.bus.recover(1)
    bench.line.writes.clear()
    bench.bus.write_goals({1: 2048, 2: 2048}, 0.0)
    assert len(bench.line.writes) == 2
    bench.bus.identify()
    bench.line.writes.clear()
    bench.bus.write_goals({}, 0.0)
    bench.bus.torque((), True)
    assert bench.line.writes == []
    bench.bus.write_goals({1: 2048}, 0.0)
    assert len(bench.line.writes) == 2


def test_an_x_servo_has_a_way_to_be_read_that_there_is():
    with pytest.raises(ValueError, match="read must be sync or fast, is slow"):
        Bench("dynamixel2", read="slow")


def test_an_x_servo_with_a_time_profile_takes_that_time():
    bench = Bench("dynamixel2", (1,))
    bench.line.device.memories[0][dynamixel2.Dynamixel2Register.DRIVE_MODE] = dynamixel2.TIME_BASED
    bench.bus.identify()
    bench.bus.torque((1,), True)
    bench.run(0.001)
    start = bench.world.position(0)
    bench.bus.write_goals({1: round(start) + 400}, 0.5)
    bench.run(0.25)
    assert 100 < bench.world.position(0) - start < 300
    bench.run(0.75)
    assert bench.world.position(0) - start == pytest.approx(400, abs=2)


def test_a_fast_read_falls_back_when_a_servo_is_missing():
    bench = Bench("dynamixel2", read="fast")
    expected = bench.spread()
    assert {i: r.position for i, r in bench.bus.read(IDS, POSITION).items()} == expected
    bench.world.unplug(8)
    assert set(bench.bus.read(IDS, POSITION)) == set(IDS) - {9}
    bench.line.writes.clear()
    assert set(bench.bus.read(IDS, POSITION)) == set(IDS) - {9}
    assert len(bench.line.writes) == 1


@pytest.mark.parametrize(("error", "asked"), [(0x00, []), (0x01, []), (0x7F, []), (0x80, [1]), (0x81, [1])])
def test_x_servos_are_asked_for_their_faults_only_if_bit_7_of_their_errors_is_set(error, asked):
    bench = Bench("dynamixel2", (1,))
    bench.world.latch(0, ServoFault.HEAT)
    bench.line.spoil = lambda reply: dynamixel2.build(1, 0x55, bytes((error,)) + reply[9:-2])
    reading = bench.bus.read((1,), POSITION | ServoQuantity.FAULT)[1]
    assert reading.fault == (ServoFault.HEAT if asked else ServoFault.NONE)
    assert len(bench.line.writes) == 1 + len(asked)


def test_a_fast_read_of_more_than_255_bytes_has_all_servos():
    bench = Bench("dynamixel2", tuple(range(1, 25)), read="fast")
    expected = bench.spread()
    found = bench.bus.read(bench.ids, POSITION | ServoQuantity.SPEED | ServoQuantity.LOAD)
    assert {i: r.position for i, r in found.items()} == expected
    assert len(bench.line.writes) == 1
    assert bench.line.replied == dynamixel2.fast_size(10, 24) > 255


def test_an_lx_servo_beyond_its_end_reads_negative():
    bench = Bench("lx16a", (1,))
    bench.world.positions[0] = -12
    assert bench.bus.read((1,), POSITION)[1].position == -12


def test_an_st_position_with_sign_comes_back():
    bench = Bench("feetech_st", (1,))
    bench.world.positions[0] = -100
    assert bench.bus.read((1,), POSITION)[1].position == -100
    assert dynamixel2.goal_row(-1) == b"\xff" * 4


def test_the_reply_timeout_is_wire_time_turnaround_delays_and_a_margin():
    wait = transaction.ReplyTiming(return_delay=0.0005, turnaround=0.016, margin=0.01)
    timeout = transaction.Transaction(Line(None, 1_000_000), wait).reply_timeout(8, 18)
    assert timeout == pytest.approx(144e-5 + 0.016 + 18 * 0.0005 + 0.01)
