# SPDX-License-Identifier: Apache-2.0
"""The models of servos are known by number, and a bus of another protocol refuses them before any write."""

import pytest
import yaml
from support.kits.memory_wire import MemoryPort

from hexapod_control.config.robots.servo_table import versions
from hexapod_control.config.servo_models import FEETECH_SERIES, controlling_protocol
from hexapod_control.config.shipped_files import share
from hexapod_control.servos.bus.bus_interface import BusError
from hexapod_control.servos.bus.ff_frames import FFDecoder, FFInstruction
from hexapod_control.servos.bus.model_numbers import (
    FEETECH,
    ROBOTIS,
    KnownModel,
    WrongModelError,
    ff_model,
    rated_voltage,
    robotis_model,
)
from hexapod_control.servos.emulator.device_registry import emulated_device
from hexapod_control.servos.emulator.servo_world import LagWorld
from hexapod_control.servos.protocol_registry import PROTOCOLS, refused
from hexapod_control.servos.protocols import maestro

IDS = (1, 9, 12)
FF = ("feetech_st", "feetech_sc", "dynamixel1")
NAMES = {"feetech_st": "Feetech STS3215", "feetech_sc": "Feetech SCS0009", "dynamixel1": "Robotis AX-12A"}
READS = {FFInstruction.READ}


class RecordingPort(MemoryPort):
    """A port to an emulated device that stores the instructions sent."""

    def __init__(self, device):
        super().__init__(device, 1_000_000)
        self.sent = b""

    def write(self, data):
        self.sent += data
        super().write(data)


def opened(protocol, servos, **options):
    """A bus of a protocol on emulated servos of another."""
    device = emulated_device(servos, LagWorld(PROTOCOLS[servos].scale, len(IDS)), IDS)
    port = RecordingPort(device)
    return PROTOCOLS[protocol].open(port, IDS, **options), port


@pytest.mark.parametrize("protocol", FF)
@pytest.mark.parametrize("servos", FF)
def test_servos_of_another_protocol_are_named_and_only_read(protocol, servos):
    bus, port = opened(protocol, servos)
    if protocol == servos:
        assert set(bus.identify()) == set(IDS)
    else:
        with pytest.raises(WrongModelError, match=f"servo 1 answers like a {NAMES[servos]}: use protocol {servos}"):
            bus.identify()
    assert {packet.code for packet in FFDecoder().feed(port.sent)} == READS


@pytest.mark.parametrize(("protocol", "number"), [("dynamixel1", 29), ("dynamixel2", 350)])
def test_models_with_other_registers_are_refused_unless_forced(protocol, number):
    """An MX-28 in place of an AX-12A, an XL-320 in place of an XL430."""
    for forced in (False, True):
        bus, port = opened(protocol, protocol, force_model=forced)
        port.device.memories[1][0:2] = number.to_bytes(2, "little")
        name = ROBOTIS[number].name
        words = f"servo 9 answers like a Robotis {name}, which {protocol} does not control: connect a model"
        if forced:
            assert set(bus.identify()) == set(IDS) and words in bus.models.warning
        else:
            with pytest.raises(WrongModelError, match=f"{words}.*--force-model"):
                bus.identify()


NUMBERED = [
    *((model.name, model.protocol, number.to_bytes(2, "little")) for number, model in ROBOTIS.items()),
    *((model.name, model.protocol, bytes(pair)) for pair, model in FEETECH.items()),
]
CONTROLLED = [row for row in NUMBERED if row[1]]


@pytest.mark.parametrize(("name", "protocol", "number"), CONTROLLED, ids=[name for name, _, _ in CONTROLLED])
def test_every_model_is_accepted_by_the_protocol_that_its_row_names_and_by_the_servo_table(name, protocol, number):
    bus, port = opened(protocol, protocol)
    at = 3 if protocol.startswith("feetech") else 0
    for memory in port.device.memories:
        memory[at : at + 2] = number
    assert bus.identify() == dict.fromkeys(IDS, name)
    model = name.removesuffix(" (2.0)")
    assert controlling_protocol(model) == protocol and {row.protocol for row in versions(model)} <= {protocol}


def test_the_servo_table_names_a_protocol_only_for_models_without_a_number():
    rows = yaml.safe_load(share("config", "servos.yaml").read_text())["models"]
    assert [row["model"] for row in rows if ("protocol" in row) == bool(controlling_protocol(row["model"]))] == []
    for row in (row for row in rows if "protocol" in row):
        protocol = row["protocol"]
        assert protocol in PROTOCOLS or protocol == "pwm" or refused(protocol), row["model"]
        series = dict(FEETECH_SERIES.values()).get(row["model"].rstrip("0123456789"), protocol)
        assert protocol == series and protocol not in ("dynamixel1", "dynamixel2")


@pytest.mark.parametrize("protocol", [*FF, "dynamixel2", "lx16a"])
def test_frames_for_servos_are_not_sent_to_a_maestro_which_would_move_hobby_servos(protocol):
    bus, port = opened(protocol, "maestro")
    port.device.receive(maestro.targets(0, [1500] * 18) + b"\x05", 0.0)  # and an error from before
    with pytest.raises(WrongModelError, match="the port answers like a Pololu Maestro: use protocol maestro"):
        bus.identify()
    assert (port.device.world.goals == 1500).all() and port.device.world.torques.all()
    assert port.sent == b"\xa1\xa1"


def test_silence_is_not_a_wrong_model():
    bus, _ = opened("dynamixel2", "feetech_st")
    with pytest.raises(BusError, match="no servo answers") as caught:
        bus.identify()
    assert not isinstance(caught.value, WrongModelError)


def test_an_id_or_a_baud_is_not_taken_for_a_model():
    """An AX-12A with id 9 and baud value 3 has at address 3 what an STS3215 has."""
    assert ff_model(9, bytes((12, 0, 24, 9, 3, 0)), "little").name == "AX-12A"
    assert ff_model(7, bytes((3, 10, 0, 9, 3, 7)), "little").name == "STS3215"
    assert ff_model(7, bytes((3, 10, 0, 9, 50, 7)), "little") == KnownModel("STS model 50", "feetech_st", "Feetech")
    assert ff_model(7, bytes((3, 10, 0, 10, 13, 7)), "little") == KnownModel("HLS model 13", "", "Feetech")
    assert ff_model(7, bytes((3, 10, 0, 77, 1, 7)), "little") == KnownModel("model 333", "")


@pytest.mark.parametrize(("number", "name"), [(1060, "XL430-W250"), (1120, "XM540-W270"), (1130, "XM540-W150")])
def test_robotis_numbers_are_those_of_the_manuals(number, name):
    assert robotis_model(number) == KnownModel(name, "dynamixel2", "Robotis")
    assert robotis_model(number + 1).protocol == ""


ROBOTIS_NUMBERS = """
    10=RX-10 12=AX-12A 18=AX-18A 24=RX-24F 28=RX-28 29=MX-28 30=MX-28(2.0) 64=RX-64 107=EX-106 300=AX-12W 310=MX-64
    311=MX-64(2.0) 320=MX-106 321=MX-106(2.0) 350=XL-320 360=MX-12W 1000=XH430-W350 1010=XH430-W210 1020=XM430-W350
    1030=XM430-W210 1040=XH430-V350 1050=XH430-V210 1060=XL430-W250 1070=XC430-W150 1080=XC430-W240 1090=2XL430-W250
    1100=XH540-W270 1110=XH540-W150 1120=XM540-W270 1130=XM540-W150 1140=XH540-V270 1150=XH540-V150 1160=2XC430-W250
    1170=XW540-T260 1180=XW540-T140 1190=XL330-M077 1200=XL330-M288 1210=XC330-T181 1220=XC330-T288 1230=XC330-M181
    1240=XC330-M288 1270=XW430-T333 1280=XW430-T200
"""
FEETECH_NUMBERS = "5.4=SCS0009 8.44=SM8512BL 9.3=STS3215 9.10=STS3095 9.11=STS3250"


def test_model_numbers_are_those_of_the_makers_tables():
    found = " ".join(f"{number}={model.name.replace(' ', '')}" for number, model in sorted(ROBOTIS.items()))
    assert found == " ".join(ROBOTIS_NUMBERS.split())
    known = {number: model.protocol for number, model in ROBOTIS.items() if model.protocol}
    second = {30, 311, 321} | {number for number in ROBOTIS if number >= 1000}
    assert known == {12: "dynamixel1", 18: "dynamixel1"} | dict.fromkeys(second, "dynamixel2")
    found = " ".join(f"{a}.{b}={model.name}" for (a, b), model in sorted(FEETECH.items()))
    assert found == FEETECH_NUMBERS


@pytest.mark.parametrize(
    ("models", "volts"),
    [
        (["XL330-M077", "XL330-M288", "XC330-M181", "XC330-M288"], 5.0),
        (["XH430-V350", "XH430-V210", "XH540-V150", "XH540-V270"], 24.0),
        (["XL430-W250", "XM430-W350", "XC330-T288", "XH430-W210", "XW540-T260", "2XL430-W250", "2XC430-W250"], 12.0),
        (["AX-12A", "AX-18A", "MX-28 (2.0)", "STS3215", "STS3250"], 12.0),
        (["SCS0009"], 6.0),
        (["LX-16A or similar"], 7.4),
        (["STS3095", "SM8512BL", "hobby servo on an SSC-32", "model 9", ""], None),
    ],
)
def test_rated_voltages_are_those_of_the_makers_data_sheets(models, volts):
    for model in models:
        assert rated_voltage(model, None) == rated_voltage(model, 16.0) == volts


def test_an_sts3215_that_tolerates_9_volts_at_most_is_the_version_for_7_4():
    assert [rated_voltage("STS3215", maximum) for maximum in (8.4, 9.0, 9.1)] == [7.4, 7.4, 12.0]
    assert rated_voltage("STS3250", 8.4) == 12.0
