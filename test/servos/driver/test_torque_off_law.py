# SPDX-License-Identifier: Apache-2.0
"""A law over all faults of the emulator and all protocols: torque goes off only by an order or on evidence.

What the driver sends is decoded by a second, undisturbed emulated device. Every torque-off that it receives must have
a cause in the log that was measured or ordered; faults of the line and of the port are none.
"""

from itertools import product

import pytest
from support.kits.recorded_servos import SMART
from support.suite.soak import some

from hexapod_control.servos.emulated_robot.robot_emulator import KINDS, Emulation, parse_fault
from hexapod_control.servos.emulator.device_registry import DEVICES, emulated_device
from hexapod_control.servos.emulator.emulated_line import WireFaults
from hexapod_control.servos.emulator.servo_world import VOLTS, LagWorld
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.servo_section import OnLost

FAULT_S, RECOVERY_S = 4.0, 6.0  # [s] in simulated time
OF_LINE = [
    "drop=0.3",
    "flip=0.3",
    "corrupt=0.02",
    "truncate=0.3",
    "double=0.5",
    "glue",
    "split",
    "echo",
    "mute",
    "noise=FFFF01",
    "slow=5",
    "late=20",
    "hangup",
    "comeback",
    "new",
    "twin=ID",
]
OF_SERVOS = ["unplug=ID", "plug=ID", "alone=ID", "overload=ID", "heat=ID", "power=4", "well"]
OF_I2C = ["nack=0x40", "ack=0x40", "reset=0x40", "stuck"]
ELSEWHERE = {"turn", "lift", "lower"}  # need a servo without torque, or a whole robot
EVIDENCE = (  # in reports: what was read back
    "as in a brown-out",
    "was overloaded: restarted",
    "had lost the torque",
    "too often and is off",
    "does not answer",  # one PCA9685 that has restarted
)
CASES = [*product(DEVICES, OF_LINE + OF_SERVOS), *product(["pca9685"], OF_I2C)]
CASES = [(protocol, fault) for protocol, fault in CASES if fault != "new" or protocol in SMART]


class Witness(LagWorld):
    """Servos that record the indices whose torque is switched off."""

    def __init__(self, scale, count):
        super().__init__(scale, count)
        self.released = []

    def torque(self, index, on):
        if not on:
            self.released.append(index)
        super().torque(index, on)

    def reboot(self, index):
        self.released.append(index)
        super().reboot(index)


def test_the_law_covers_every_fault_of_the_emulator():
    covered = {each.partition("=")[0] for each in OF_LINE + OF_SERVOS + OF_I2C}
    assert covered | ELSEWHERE == set(KINDS)
    assert set(DEVICES) == set(PROTOCOLS) - {"loopback"}


@pytest.mark.parametrize(
    "case",
    some(
        CASES,
        ("dynamixel2", "mute"),
        ("maestro", "hangup"),
        ("feetech_st", "power=4"),
        ("lx16a", "overload=ID"),
        ("pca9685", "stuck"),
    ),
    ids="-".join,
)
def test_torque_is_switched_off_only_by_an_order_or_on_evidence(simulated, case):
    protocol, text = case
    bench = simulated(protocol, on_lost=OnLost.HOLD)
    bench.during(0.5)
    ids = bench.settings.ids
    witness = Witness(bench.world.scale, len(ids))
    device = emulated_device(protocol, witness, ids)
    unexplained = []

    def listen(data):
        before = len(witness.released)
        device.receive(data, bench.time.now)
        if len(witness.released) > before and not any(
            cause in report for report in bench.texts() for cause in EVIDENCE
        ):
            unexplained.append((bench.time.now, witness.released[before:], bench.texts()[-3:]))

    bench.line.listener = listen
    emulation = Emulation(bench.line, bench.world, ids, bench.settings.joints)
    parse_fault(text.replace("ID", str(ids[4]))).act(emulation)
    bench.during(FAULT_S)
    assert not unexplained
    bench.line.faults = WireFaults()
    bench.line.come_back()
    if text in OF_I2C:
        bench.device.wire.clear_faults()
    if text.startswith("power"):
        bench.world.power(VOLTS)
    bench.during(RECOVERY_S)
    assert not unexplained
    if text in OF_LINE and text != "new" and not text.startswith("twin"):
        assert not witness.released
        assert bench.world.torques.all()
        assert bench.driver.armed
    if text == "new":  # the goals of the servo with the factory id moved all
        del bench.world.received_goals[:-1]
