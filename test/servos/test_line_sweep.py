# SPDX-License-Identifier: Apache-2.0
"""A sweep finds devices at any baud in any protocol, and duplicate ids; it writes nothing."""

import pytest
from support.kits.memory_wire import AT_ONCE, Kit

from hexapod_control.servos.line_search import LineFinding, scan_with_duplicates, shared_text, sweep
from hexapod_control.servos.protocol_registry import PROTOCOLS

pytestmark = pytest.mark.usefixtures("memory_time")

IDS = range(20)
FF = " or ".join(name for name, row in PROTOCOLS.items() if "feetech_st" in (name, row.found_with))


def swept(kit, baud, ids=IDS, **limits):
    """The devices that a sweep finds if the emulated servos have this baud, and the settings that it tried."""
    tried = []

    def connect(asked):
        kit.port.baud = asked
        kit.port.mute = asked != baud
        return kit.port

    return list(sweep(connect, ids, tried=tried.append, wait=AT_ONCE, **limits)), tried


@pytest.mark.parametrize(
    ("protocol", "baud", "model"),
    [
        ("feetech_st", 500_000, "STS3215"),
        ("dynamixel1", 57_600, "Robotis AX-12A"),
        ("dynamixel2", 115_200, "XL430-W250"),
        ("lx16a", 115_200, "LX-16A or similar"),
    ],
)
def test_servos_are_found_at_the_baud_to_which_they_are_set(protocol, baud, model):
    kit = Kit(protocol)
    goals = list(kit.world.goals)
    found, tried = swept(kit, baud)
    assert [(each.protocol, each.baud, set(each.servos.values())) for each in found] == [(protocol, baud, {model})]
    assert found[0].text.startswith(f"at {baud} baud, protocol {protocol}: 18 servos ({model}), ids 1-18")
    assert len(tried) > 15
    assert not kit.world.torques.any() and list(kit.world.goals) == goals


def test_eighteen_new_servos_are_recognised_as_such():
    kit = Kit()
    kit.fault("new")
    found, _ = swept(kit, 1_000_000, protocols=("feetech_st",))
    assert [(each.servos, each.shared) for each in found] == [({}, [1])]
    assert "several servos answer at once to id 1 as new servos do: give each its own id" in found[0].text


def test_a_duplicate_id_is_reported_among_servos_that_answer():
    kit = Kit()
    kit.fault("twin=5")
    models, shared = scan_with_duplicates(kit.bus(), IDS)
    assert len(models) == 17 and shared == [5]
    assert "as new servos do" not in shared_text([5])


@pytest.mark.parametrize("protocol", ["feetech_st", "ssc32"])
def test_every_port_that_is_opened_is_closed(protocol):
    kit, closed = Kit(protocol), []
    kit.port.close = lambda: closed.append(True)
    _, tried = swept(kit, 115_200)
    assert len(closed) == len(tried) > 2


def test_every_id_is_asked_only_once():
    bus, asked = Kit().bus(), []
    ping = bus.ping
    bus.ping = lambda servo, tries: asked.append((servo, tries)) or ping(servo, tries)
    assert len(scan_with_duplicates(bus, IDS)[0]) == 18
    assert asked == [(servo, 1) for servo in IDS]


def test_the_limits_of_a_sweep_leave_out_the_rest():
    found, tried = swept(Kit(), 500_000, protocols=("dynamixel1",), bauds=(500_000,))
    assert [each.protocol for each in found] == ["feetech_st"]  # told apart by the model number
    assert tried == [f"{FF} at 500000 baud"]
    assert swept(Kit(), 1_000_000, protocols=("lx16a",))[0] == []


def test_boards_are_found_first_and_end_the_sweep():
    found, tried = swept(Kit("ssc32"), 115_200)
    assert [each.text for each in found] == ["the port answers like an SSC-32 at 115200 baud"]
    assert tried == ["maestro at 115200 baud", "servo2040 at 115200 baud", "ssc32 at 115200 baud"]


def test_a_servo_that_no_protocol_controls_is_named_with_that():
    assert LineFinding(57_600, "", {1: "Robotis XL-320"}).text == (
        "at 57600 baud: 1 servos (Robotis XL-320), ids 1, which no protocol here controls"
    )


def test_every_baud_that_servos_can_be_set_to_is_tried_the_usual_ones_first():
    kit = Kit()
    _, tried = swept(kit, 0, ids=(1,), protocols=("feetech_st", "dynamixel2", "lx16a"))
    feetech = (1_000_000, 500_000, 250_000, 128_000, 115_200, 76_800, 57_600, 38_400)  # register values 0 to 7
    x_series = (57_600, 1_000_000, 115_200, 2_000_000, 3_000_000, 4_000_000, 9_600)
    assert tried == [
        *(f"{FF} at {baud} baud" for baud in feetech),
        *(f"dynamixel2 at {baud} baud" for baud in x_series),
        "lx16a at 115200 baud",
    ]
