# SPDX-License-Identifier: Apache-2.0
"""Emulates the servos and sensors of a robot behind a pty; it lies on its belly on flat ground, without torque.

Named faults are `NAME` or `NAME=VALUE`, followed by `@SECONDS` for a later time: drop=0.05, echo, unplug=5, slow=20@10.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from hexapod_control.core.names import JOINTS, joint_name
from hexapod_control.core.posture.stand_up import lying_joints
from hexapod_control.core.reality import Reality
from hexapod_control.core.robot import Robot
from hexapod_control.servos.bus.bus_interface import ServoFault
from hexapod_control.servos.emulated_robot.robot_sensors import RobotSensors
from hexapod_control.servos.emulated_robot.weight import RobotWorld
from hexapod_control.servos.emulator.chips.i2c_wire import I2cWire
from hexapod_control.servos.emulator.device_registry import emulated_device
from hexapod_control.servos.emulator.devices.i2c_adapter import I2cAdapter
from hexapod_control.servos.emulator.emulated_line import WireFaults
from hexapod_control.servos.emulator.pseudo_terminal import PseudoTerminal
from hexapod_control.servos.emulator.servo_world import MIN_VOLTS, TEMPERATURE_DEGC, VOLTS, LagWorld
from hexapod_control.servos.i2c.i2c_bus import SENSOR_BAUD
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.io_section import I2C_SERVOS, IoSettings
from hexapod_control.servos.settings.joint_calibration import JointCalibration
from hexapod_control.servos.settings.joint_section import joint_row, leg_row
from hexapod_control.servos.settings.servo_section import ServoSettings

HOT_TEMPERATURE = 90.0  # [degC]
FACTORY_ID = 1  # of a new servo
NO_IO = IoSettings()


@dataclass(frozen=True, slots=True)
class Emulation:
    """An emulation into which faults are injected."""

    pty: PseudoTerminal
    world: LagWorld
    ids: tuple[int, ...]
    joints: tuple[JointCalibration, ...] = ()  # true calibrations, in row order
    sensors: RobotSensors = field(default_factory=lambda: RobotSensors(NO_IO))


@dataclass(frozen=True, slots=True)
class FaultKind:
    """A kind of fault, and its injection."""

    value: str  # placeholder of the value; empty if there is none
    help: str
    act: Callable[[Emulation, str], None]  # raises ValueError


@dataclass(frozen=True, slots=True)
class FaultCommand:
    """A fault to switch on."""

    name: str
    value: str
    after: float  # [s] from the start

    def act(self, emulation: Emulation) -> None:
        """Switches the fault on. Raises ValueError for an invalid value."""
        KINDS[self.name].act(emulation, self.value)


def _share(name: str) -> Callable[[Emulation, str], None]:
    def act(emulation: Emulation, value: str) -> None:
        share = float(value)
        if not 0.0 <= share <= 1.0:
            raise ValueError(f"must be in [0, 1], is {value}")
        setattr(emulation.pty.faults, name, share)

    return act


def _switch(name: str) -> Callable[[Emulation, str], None]:
    return lambda emulation, value: setattr(emulation.pty.faults, name, True)


def _on_servo(act: Callable[[LagWorld, int], None]) -> Callable[[Emulation, str], None]:
    def inject(emulation: Emulation, value: str) -> None:
        if not value.isdigit() or int(value) not in emulation.ids:
            raise ValueError(f"must be the id of a servo, one of {_id_list(emulation.ids)}, is {value!r}")
        act(emulation.world, emulation.ids.index(int(value)))

    return inject


def _noise(emulation: Emulation, value: str) -> None:
    emulation.pty.faults.noise = bytes.fromhex(value)


def _delay(name: str) -> Callable[[Emulation, str], None]:
    return lambda emulation, value: setattr(emulation.pty.faults, name, _positive(value) / 1000.0)


def _on_chip(act: Callable[[I2cWire, int], None]) -> Callable[[Emulation, str], None]:
    def inject(emulation: Emulation, value: str) -> None:
        try:
            address = int(value, 0)
        except ValueError:
            raise ValueError(f"must be the address of a chip, such as 0x40, is {value!r}") from None
        act(_wire(emulation), address)

    return inject


def _stick(emulation: Emulation, value: str) -> None:
    _wire(emulation).stuck = True


def _wire(emulation: Emulation) -> I2cWire:
    device = emulation.pty.device
    if not isinstance(device, I2cAdapter):
        raise ValueError("needs servos on an I2C bus: use protocol pca9685")
    return device.wire


def _power(emulation: Emulation, value: str) -> None:
    emulation.world.power(_positive(value))


def _hot(world: LagWorld, index: int) -> None:
    world.temperatures[index] = HOT_TEMPERATURE
    world.latch(index, ServoFault.HEAT)


def _factory(emulation: Emulation, value: str) -> None:
    for index in range(emulation.world.count):
        emulation.pty.device.rename(index, FACTORY_ID)


def _alone(world: LagWorld, index: int) -> None:
    world.unplug(*(other for other in range(world.count) if other != index))
    if not world.answers(index):
        world.plug(index)


def _turn(emulation: Emulation, value: str) -> None:
    """Turns one joint, or the three of a leg, to angles [deg]; a servo with torque resists."""
    name, *angles = value.split(",")
    legs = [joint.joint.removesuffix(joint_name("", JOINTS[0])) for joint in emulation.joints[:: len(JOINTS)]]
    leg = leg_row(name, legs) if len(angles) == len(JOINTS) else None
    if len(angles) != 1 and leg is None:
        raise ValueError(f"must be a joint and its angle, or a leg and three angles, is {value!r}")
    first = joint_row(name, legs) if leg is None else len(JOINTS) * leg
    for row, angle in enumerate(map(float, angles), first):
        joint = emulation.joints[row]
        index = emulation.ids.index(joint.id)
        if emulation.world.has_torque(index):
            raise ValueError(f"{joint.joint} has torque: switch it off first")
        if not abs(angle) <= 180.0:
            raise ValueError(f"{joint.joint}: is {angle:g} deg, must be from -180 to 180")
        emulation.world.positions[index] = joint.raw(math.radians(angle))


def _hold(held: bool) -> Callable[[Emulation, str], None]:
    def act(emulation: Emulation, value: str) -> None:
        if not isinstance(emulation.world, RobotWorld):
            raise ValueError("needs a whole robot")
        emulation.world.is_held = held

    return act


def _clear_faults(emulation: Emulation, value: str) -> None:
    world, pty = emulation.world, emulation.pty
    pty.faults = WireFaults()
    world.power(VOLTS)
    for index in range(world.count):
        if world.answers(index) != 1:
            world.plug(index)
        world.reboot(index)
    world.temperatures[:] = TEMPERATURE_DEGC
    world.loads[:] = 0.0
    if isinstance(world, RobotWorld):
        world.is_held = False
    if isinstance(pty.device, I2cAdapter):
        pty.device.wire.clear_faults()
    pty.come_back()


def _positive(value: str) -> float:
    number = float(value)
    if not (math.isfinite(number) and number >= 0.0):
        raise ValueError(f"must be a number from 0 on, is {value}")
    return number


def _id_list(ids: Sequence[int]) -> str:
    return f"{ids[0]} to {ids[-1]}" if list(ids) == list(range(ids[0], ids[-1] + 1)) else ", ".join(map(str, ids))


KINDS: Mapping[str, FaultKind] = {
    "drop": FaultKind("SHARE", "share of the replies that is lost", _share("drop")),
    "flip": FaultKind("SHARE", "share of the replies with one bit wrong", _share("flip")),
    "corrupt": FaultKind("SHARE", "share of the bytes, in both directions, that are wrong", _share("corrupt")),
    "truncate": FaultKind("SHARE", "share of the replies that is cut off", _share("truncate")),
    "double": FaultKind("SHARE", "share of the replies that is sent twice", _share("double")),
    "glue": FaultKind("", "two replies arrive in one piece", _switch("glue")),
    "split": FaultKind("", "replies arrive byte by byte", _switch("split")),
    "echo": FaultKind("", "the host's bytes are echoed, as on a one-wire adapter", _switch("echo")),
    "mute": FaultKind("", "nothing comes back", _switch("mute")),
    "noise": FaultKind("HEX", "bytes before every reply", _noise),
    "slow": FaultKind("MS", "delay of every reply [ms], one after the other", _delay("slow")),
    "late": FaultKind("MS", "replies reach the host later by this [ms]", _delay("late")),
    "unplug": FaultKind("ID", "this servo is unplugged", _on_servo(lambda world, index: world.unplug(index))),
    "plug": FaultKind(
        "ID", "it is plugged in again, after power-on", _on_servo(lambda world, index: world.plug(index))
    ),
    "twin": FaultKind("ID", "a second servo has this id", _on_servo(lambda world, index: world.duplicate_id(index))),
    "alone": FaultKind("ID", "only this servo is plugged in", _on_servo(_alone)),
    "new": FaultKind("", f"all servos are as new: each has id {FACTORY_ID}", _factory),
    "turn": FaultKind(
        "JOINT,DEG", "this joint is turned by hand to this angle; turn=LEG,DEG,DEG,DEG turns a whole leg", _turn
    ),
    "lift": FaultKind("", "the robot is held up by hand: no foot bears load", _hold(True)),
    "lower": FaultKind("", "it is put on the ground again", _hold(False)),
    "overload": FaultKind(
        "ID", "this servo switches itself off", _on_servo(lambda world, index: world.latch(index, ServoFault.OVERLOAD))
    ),
    "heat": FaultKind("ID", f"this servo has {HOT_TEMPERATURE:g} degC and switches itself off", _on_servo(_hot)),
    "power": FaultKind("VOLTS", f"supply of all servos; below {MIN_VOLTS:g} V they do not answer", _power),
    "nack": FaultKind("ADDRESS", "this I2C chip is not reached; it keeps its power", _on_chip(I2cWire.unplug)),
    "ack": FaultKind("ADDRESS", "it is reached again", _on_chip(I2cWire.plug)),
    "reset": FaultKind("ADDRESS", "this I2C chip loses its power for a moment", _on_chip(I2cWire.restart)),
    "stuck": FaultKind("", "SDA of the I2C bus is held low", _stick),
    "hangup": FaultKind("", "the cable is pulled", lambda emulation, value: emulation.pty.hang_up()),
    "comeback": FaultKind("", "the cable is plugged in again", lambda emulation, value: emulation.pty.come_back()),
    "well": FaultKind("", "clears all faults", _clear_faults),
}


def parse_fault(text: str) -> FaultCommand:
    """Parses a fault. Raises ValueError."""
    fault, _, after = text.strip().partition("@")
    name, equals, value = fault.partition("=")
    if name not in KINDS:
        raise ValueError(f"unknown fault {name!r}; known: {', '.join(KINDS)}")
    kind = KINDS[name]
    if bool(kind.value) != bool(equals):
        raise ValueError(f"{name} {f'needs a value: {name}={kind.value}' if kind.value else 'takes no value'}")
    try:
        return FaultCommand(name, value, _positive(after) if after else 0.0)
    except ValueError:
        raise ValueError(f"{text}: @ must be followed by a number of seconds, not {after!r}") from None


def sensor_bus(sensors: RobotSensors, link: Path) -> PseudoTerminal:
    """An I2C bus with only the sensors of a robot, behind a link to a pty, for servos on another bus."""
    adapter = I2cAdapter(LagWorld(PROTOCOLS[I2C_SERVOS].scale, 0), ())
    adapter.wire.chips += sensors.chips
    return PseudoTerminal(adapter, SENSOR_BAUD, link=link)


def emulate(
    robot: Robot, settings: ServoSettings, link: Path, io: IoSettings = NO_IO, errors: Reality | None = None
) -> Emulation:
    """The servos of the settings, behind a link to a pty; on an I2C bus with the chips of `io`.

    The robot has these errors, by default none.

    Raises ValueError or BusError for a protocol that cannot be emulated.
    """
    protocol = PROTOCOLS[settings.protocol]
    lying = np.ravel(np.array(lying_joints(robot))).tolist()
    lying += [extra.rest for extra in robot.extra_servos]
    positions = [joint.raw(angle) for joint, angle in zip(settings.servos, lying, strict=True)]
    world = RobotWorld(robot, settings.servos, protocol.scale, positions, errors)
    device = emulated_device(settings.protocol, world, settings.ids, settings.options)
    sensors = RobotSensors(io, errors)
    world.weighed = lambda dt: sensors.measure(world, device, dt)
    if isinstance(device, I2cAdapter):
        device.wire.chips += sensors.chips
    pty = PseudoTerminal(device, settings.baud, link=link)
    return Emulation(pty, world, settings.ids, settings.joints, sensors)
