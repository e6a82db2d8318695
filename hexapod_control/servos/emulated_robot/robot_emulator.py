"""Emulates the servos and sensors of a robot behind a pty; the robot lies on its belly without torque."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hexapod_control.core.posture.stand_up import lying_joints
from hexapod_control.core.robot import Robot
from hexapod_control.servos.emulated_robot.fault_injection import Emulation
from hexapod_control.servos.emulator.chips.i2c_wire import I2cChip, RegisterChip
from hexapod_control.servos.emulator.chips.io_chips import EmulatedSupply, ImuMotion, imu_chip, supply_chip
from hexapod_control.servos.emulator.device_registry import emulated_device
from hexapod_control.servos.emulator.devices.i2c_adapter import I2cAdapter
from hexapod_control.servos.emulator.pseudo_terminal import PseudoTerminal
from hexapod_control.servos.emulator.servo_world import VOLTS, LagWorld
from hexapod_control.servos.i2c.open_bus import SENSOR_BAUD
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.io_section import I2C_SERVOS, IoSettings
from hexapod_control.servos.settings.servo_section import ServoSettings

NO_IO = IoSettings()
AMPERES = 2.0  # of the emulated battery


def io_chips(io: IoSettings) -> list[I2cChip]:
    """One chip for each device of the section; the robot is at rest."""
    chips = [imu_chip(io.imu.chip, io.imu.address, ImuMotion())] if io.imu else []
    if io.battery:
        chips.append(supply_chip(io.battery, EmulatedSupply(VOLTS / io.battery.divider, AMPERES * io.battery.shunt)))
    if io.feet and io.feet.chip == "mcp23017":
        chips.append(RegisterChip(io.feet.address, {0x00: 0xFF, 0x01: 0xFF}, lambda chip: {0x12: 0xFF, 0x13: 0xFF}))
    return chips


def sensor_bus(io: IoSettings, link: Path) -> PseudoTerminal:
    """An I2C bus with only the sensors of a robot, behind a link to a pty, for servos on another bus."""
    adapter = I2cAdapter(LagWorld(PROTOCOLS[I2C_SERVOS].scale, 0), ())
    adapter.wire.chips += io_chips(io)
    return PseudoTerminal(adapter, SENSOR_BAUD, link=link)


def emulate(robot: Robot, settings: ServoSettings, link: Path, io: IoSettings = NO_IO) -> Emulation:
    """The servos of the settings, behind a link to a pty; on an I2C bus with the chips of `io`.

    Raises ValueError or BusError for a protocol that cannot be emulated.
    """
    protocol = PROTOCOLS[settings.protocol]
    lying = np.ravel(np.array(lying_joints(robot))).tolist()
    positions = [joint.raw(angle) for joint, angle in zip(settings.joints, lying, strict=True)]
    world = LagWorld(protocol.scale, len(settings.ids), positions=positions)
    device = emulated_device(settings.protocol, world, settings.ids, settings.options)
    if isinstance(device, I2cAdapter):
        device.wire.chips += io_chips(io)
    return Emulation(PseudoTerminal(device, settings.baud, link=link), world, settings.ids, settings.joints)
