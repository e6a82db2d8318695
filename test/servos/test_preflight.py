# SPDX-License-Identifier: Apache-2.0
"""Configuration registers are checked before the torque goes on: dangerous values are refused, others reported."""

import dataclasses
import math

import pytest
from support.kits.memory_wire import MemoryPort

from hexapod_control.config.robots.robot_file import load
from hexapod_control.servos import preflight as register_repair
from hexapod_control.servos.bus.registers import RegisterRole
from hexapod_control.servos.emulator.device_registry import emulated_device
from hexapod_control.servos.emulator.servo_world import LagWorld
from hexapod_control.servos.preflight import PreflightReport, inspect, with_offsets
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.protocols.loopback import LoopbackBus
from hexapod_control.servos.settings.servo_section import standard

FILE = load("phantomx")
WITH_REGISTERS = [name for name, row in PROTOCOLS.items() if row.registers]


class LossyPort(MemoryPort):
    """A port to an emulated device that loses the replies to the next `lost` writes."""

    def __init__(self, device):
        super().__init__(device, 1_000_000)
        self.lost = 0

    def write(self, data):
        self.mute = self.lost > 0
        self.lost -= 1
        super().write(data)


class Bench:
    """The servos of the phantomx on a bus, with registers to change."""

    def __init__(self, protocol):
        self.protocol = protocol
        self.joints = standard(FILE.robot, protocol, "/dev/none").joints
        ids = [joint.id for joint in self.joints]
        self.row = PROTOCOLS[protocol]
        self.world = LagWorld(self.row.scale, len(ids))
        self.port = LossyPort(emulated_device(protocol, self.world, ids))
        self.bus = self.row.open(self.port, ids)

    def set(self, name, value, index=4):
        table = self.row.registers
        register = next(each for each in table.registers if each.name == name)
        servo = self.joints[index].id
        data = self.bus.registers(servo, register, register.length)
        self.bus.write_registers(servo, register, table.replaced(register, data, value))

    def report(self, **options):
        return inspect(self.bus, self.joints, **options)


@pytest.mark.parametrize("protocol", WITH_REGISTERS)
def test_correct_servos_pass_without_a_message(protocol):
    assert Bench(protocol).report() == PreflightReport()


DANGEROUS = [
    ("feetech_st", "mode", 1, "mode is 1: wheel mode"),
    ("feetech_st", "mode", 3, "mode is 3: step mode"),
    ("feetech_st", "minimum position", 1500, "minimum position is 1500: it cuts the joint's range "),
    ("feetech_st", "maximum position", 2500, "maximum position is 2500: it cuts the joint's range "),
    ("feetech_sc", "minimum position", 500, "minimum position is 500: it cuts the joint's range "),
    ("feetech_sc", "maximum position", 0, "both angle limits are 0, which is wheel mode"),
    ("dynamixel1", "counter-clockwise limit", 0, "both angle limits are 0, which is wheel mode"),
    ("dynamixel1", "clockwise limit", 500, "clockwise limit is 500: it cuts the joint's range "),
    ("dynamixel2", "operating mode", 1, "operating mode is 1: velocity mode"),
    ("dynamixel2", "operating mode", 4, "operating mode is 4: extended position mode"),
    ("dynamixel2", "maximum position", 2500, "maximum position is 2500: it cuts the joint's range "),
    ("lx16a", "mode", 1, "mode is 1: motor mode"),
    ("dynamixel1", "counter-clockwise limit", 600, "counter-clockwise limit is 600: it cuts the joint's range "),
    ("dynamixel2", "minimum position", 1500, "minimum position is 1500: it cuts the joint's range "),
    ("lx16a", "maximum position", 550, "maximum position is 550: it cuts the joint's range "),
    ("lx16a", "minimum position", 450, "minimum position is 450: it cuts the joint's range "),
]
UNUSUAL = [
    ("feetech_st", "offset", -500, "offset is -500: the robot file does not say whether it was calibrated with it"),
    ("feetech_st", "torque limit", 100, "torque limit is 100: the servo does not have its full torque"),
    ("feetech_st", "return delay", 250, "return delay is 250: its replies are late by 2 us per unit"),
    ("feetech_sc", "maximum torque", 100, "maximum torque is 100: the servo does not have its full torque"),
    ("dynamixel1", "torque limit", 100, "torque limit is 100: the servo does not have its full torque"),
    ("dynamixel1", "return delay", 250, "return delay is 250: its replies are late by 2 us per unit"),
    ("dynamixel1", "status return level", 1, "status return level is 1: the servo does not confirm writes"),
    ("dynamixel2", "homing offset", -500, "homing offset is -500: the robot file does not say"),
    ("feetech_st", "maximum torque", 900, "maximum torque is 900: the servo does not have its full torque"),
    ("feetech_sc", "return delay", 1, "return delay is 1: its replies are late by 2 us per unit"),
    ("dynamixel2", "return delay", 250, "return delay is 250: its replies are late by 2 us per unit"),
    ("dynamixel2", "PWM limit", 100, "PWM limit is 100: the servo does not have its full torque"),
    ("lx16a", "offset", -20, "offset is -20: the robot file does not say"),
]


@pytest.mark.parametrize(("protocol", "name", "value", "words"), DANGEROUS)
def test_dangerous_values_are_refused_with_joint_value_and_remedy(protocol, name, value, words):
    bench = Bench(protocol)
    bench.set(name, value)
    report, joint = bench.report(), bench.joints[4]
    assert str(report.refusal).startswith(f"left_middle_femur_joint (id {joint.id}): ") and words in str(report.refusal)
    assert str(report.refusal).endswith("hexapod servos repair restores it")
    assert report.warnings == ()


@pytest.mark.parametrize(("protocol", "name", "value", "words"), UNUSUAL)
def test_unusual_values_are_reported_and_not_refused(protocol, name, value, words):
    bench = Bench(protocol)
    bench.set(name, value)
    report, joint = bench.report(), bench.joints[4]
    (warning,) = report.warnings
    assert warning.startswith(f"left_middle_femur_joint (id {joint.id}): {words}")
    assert warning.rsplit(": ", 1)[-1] in ("hexapod servos repair restores it", "hexapod calibrate records it")
    assert report.refusal is None


@pytest.mark.parametrize("protocol", ["feetech_st", "dynamixel2", "lx16a"])
def test_an_offset_other_than_at_the_calibration_is_refused(protocol):
    bench = Bench(protocol)
    name = PROTOCOLS[protocol].registers[RegisterRole.OFFSET].name
    bench.set(name, -30)
    bench.joints = with_offsets(bench.bus, bench.joints)
    assert [joint.offset for joint in bench.joints[3:6]] == [0, -30, 0]
    assert bench.report() == PreflightReport()
    bench.set(name, 40)
    assert f"{name} is 40: it was -30 at the calibration, so that every angle is wrong" in str(bench.report().refusal)


def test_the_same_problem_of_many_servos_is_one_sentence():
    bench = Bench("dynamixel1")
    for index in range(18):
        bench.set("return delay", 250, index)
    (warning,) = bench.report().warnings
    assert warning.startswith(
        "left_front_coxa_joint (id 1), left_front_femur_joint (id 2), left_front_tibia_joint (id 3)"
    )
    assert " and 15 other joints: return delay is 250" in warning


def test_values_that_depend_on_the_joint_wait_for_the_calibration():
    bench = Bench("feetech_st")
    bench.set("minimum position", 1500)
    bench.set("mode", 1, 7)
    refusal = str(bench.report(calibrated=False).refusal)
    assert "mode is 1" in refusal and "minimum position" not in refusal


def test_registers_that_cannot_be_read_are_no_reason_to_switch_the_torque_on():
    bench = Bench("feetech_st")
    bench.port.lost = 2  # of the first servo, which answers in the end
    assert bench.report() == PreflightReport()
    bench.world.unplug(4)
    assert "left_middle_femur_joint (id 5): the registers could not be read: check the cable" in str(
        bench.report().refusal
    )


def test_a_bus_without_registers_has_nothing_to_check():
    assert inspect(LoopbackBus((1,)), standard(FILE.robot, "loopback", "").joints) == PreflightReport()


# --- repair ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", dict.fromkeys(row[0] for row in (*DANGEROUS, *UNUSUAL)))
def test_repair_restores_every_register_and_keeps_it_without_power(protocol, tmp_path):
    bench = Bench(protocol)
    rows = [row for row in (*DANGEROUS, *UNUSUAL) if row[0] == protocol and "does not say" not in row[3]]
    for at, (_, name, value, _) in enumerate(rows):
        bench.set(name, value, at)
    bench.bus.torque([joint.id for joint in bench.joints], True)
    wrong = register_repair.repairable(bench.report())
    assert len(wrong) == len(rows)
    backup = register_repair.save_backup(tmp_path / "robot.yaml", protocol, wrong)
    assert backup.read_text().count(f'"value": {rows[0][2]}}}') >= 1 and backup.parent == tmp_path
    assert register_repair.save_backup(tmp_path / "robot.yaml", protocol, wrong) != backup
    assert register_repair.restore(bench.bus, wrong) == []
    assert not bench.world.torques.any()
    bench.world.unplug(*range(18))
    bench.world.plug(*range(18))
    assert bench.report() == PreflightReport()


def test_a_register_that_does_not_take_its_value_is_named():
    bench = Bench("feetech_st")
    bench.set("mode", 1)
    (wrong,) = register_repair.repairable(bench.report())
    write = bench.bus.write_registers
    bench.bus.write_registers = lambda *_: None  # as a servo whose EEPROM is worn out
    assert register_repair.restore(bench.bus, [wrong]) == [wrong]
    bench.bus.write_registers = lambda *args: (write(*args), bench.world.unplug(4))
    assert register_repair.restore(bench.bus, [wrong]) == [wrong]  # silent after the write
    assert register_repair.restore(bench.bus, [wrong]) == [wrong]  # and before it


@pytest.mark.parametrize("protocol", WITH_REGISTERS)
def test_angle_limits_are_narrowed_to_five_degrees_beyond_the_joints_on_request(protocol):
    bench = Bench(protocol)
    wrong = register_repair.repairable(bench.report(advice=True))
    assert {problem.problem for problem in wrong} == {"a corrupted goal could turn the servo farther than the joint"}
    assert register_repair.restore(bench.bus, wrong) == []
    assert bench.report(advice=True) == PreflightReport()
    joint = bench.joints[3]
    bench.bus.torque([joint.id], True)
    ends = (bench.row.scale.low, bench.row.scale.high)
    for goal in ends:
        bench.bus.write_goals({joint.id: goal}, 0.0)
        assert goal != bench.world.target(3)
        angle = joint.angle(bench.world.target(3))
        assert max(joint.lower - angle, angle - joint.upper) <= math.radians(5.0) + 1.5 / joint.units_per_rad
    for angle in (joint.lower, joint.upper):
        bench.bus.write_goals({joint.id: round(joint.raw(angle))}, 0.0)
        assert bench.world.target(3) == pytest.approx(joint.raw(angle), abs=1.0)


def test_an_unknown_offset_is_not_repaired():
    bench = Bench("feetech_st")
    bench.set("offset", 100)
    assert register_repair.repairable(bench.report()) == ()
    bench.joints = tuple(dataclasses.replace(joint, offset=0) for joint in bench.joints)
    assert [problem.wanted for problem in register_repair.repairable(bench.report())] == [0]
