# SPDX-License-Identifier: Apache-2.0
"""servo_driver publishes foot_states from switches: on an I2C bus together with servos, or on the servos' board."""

import pytest
from sensor_msgs.msg import MultiDOFJointState
from support.phantomx import LEGS, narrow_file, robot
from support.real_time.ros_bench import overrides
from support.real_time.wires import Wire

from hexapod_control.core.statics.static_stability import GRAVITY
from hexapod_control.nodes.servo_driver.servo_driver import ServoDriverNode
from hexapod_control.ros.qos import SENSOR
from hexapod_control.servos.emulator.chips.i2c_wire import RegisterChip

HIGH_COUNTS = 1023  # of a touch input at 3.3 V


def forces(message):
    return [wrench.force.z for wrench in message.wrench]


@pytest.mark.parametrize(("protocol", "chip"), [("pca9685", "mcp23017"), ("servo2040", "servo2040")])
def test_a_pressed_switch_is_a_foot_that_carries_its_share_of_the_weight(bench, tmp_path, protocol, chip):
    wire, levels = Wire(tmp_path, protocol), {0x12: 0xFF, 0x13: 0xFF}
    expander = chip == "mcp23017"  # else the switches are on the touch inputs of the board
    if expander:
        wire.pty.device.wire.chips.append(RegisterChip(0x20, {0x00: 0xFF, 0x01: 0xFF}, lambda _: levels))
    file = narrow_file(tmp_path / "robot.yaml")
    pins = ", ".join(f"{leg}: {pin}" for pin, leg in enumerate(LEGS))
    bus = f"bus: {tmp_path}/bus, " if expander else ""
    file.write_text(f"{file.read_text()}\nio: {{{bus}feet: {{chip: {chip}, pins: {{{pins}}}}}}}\n")
    heard = bench.listen(MultiDOFJointState, "foot_states", SENSOR)
    options = overrides(**wire.parameters, robot=str(file), assume_lying=True)
    node = bench.add(ServoDriverNode(parameter_overrides=options))
    bench.until(lambda: heard, 10.0, "foot_states")
    assert max(forces(heard[-1])) < 0.1
    if expander:
        levels[0x12] = 0xFF & ~0b101  # the first leg and the third
    else:
        wire.pty.device.touch[0] = wire.pty.device.touch[2] = HIGH_COUNTS
    bench.until(lambda: forces(heard[-1])[2] > 1.0, 2.0, "pressed")
    even = robot().mass * GRAVITY / len(LEGS)
    assert forces(heard[-1]) == pytest.approx([even, 0.0, even, 0.0, 0.0, 0.0], abs=0.01 * even)
    if not expander:
        return wire.pty.close()
    assert len({tuple(forces(each)) for each in heard[-4:]}) > 1  # equal readings would count as frozen
    assert node.status()["feet"] == "known: from switches"
    wire.pty.device.wire.unplug(0x20)
    bench.until(lambda: "the foot switches are not read: " in node.last_report("feet"), 3.0, "report")
    assert node.status()["feet"].startswith("the foot switches are not read: ")
    count = len(heard)
    bench.until(lambda: node.housekeeping_runs > 8, 5.0)
    assert len(heard) <= count + 1
    wire.pty.close()
