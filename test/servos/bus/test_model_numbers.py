"""The models of servos are known by number, and a bus of another protocol refuses them before any write."""

import pytest
from support.kits.memory_wire import MemoryPort

from hexapod_control.servos.bus.bus_interface import BusError
from hexapod_control.servos.bus.ff_frames import FFDecoder, FFInstruction
from hexapod_control.servos.bus.model_numbers import ROBOTIS, KnownModel, WrongModelError, ff_model, robotis_model
from hexapod_control.servos.emulator.device_registry import emulated_device
from hexapod_control.servos.emulator.servo_world import LagWorld
from hexapod_control.servos.protocol_registry import PROTOCOLS
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
