"""The servo bus of a simulated robot: emulated servos behind a pseudo-terminal, for a servo_driver at the other end."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from threading import RLock

from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.ros.parameters import ParameterError
from hexapod_control.servos.emulated_robot.physics_world import PhysicsWorld, SimulatedRobot
from hexapod_control.servos.emulator.device import DelayedReply, EmulatedDevice
from hexapod_control.servos.emulator.device_registry import emulated_device
from hexapod_control.servos.emulator.pseudo_terminal import PseudoTerminal
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.servo_section import LOOPBACK, servo_settings


class LockedDevice(EmulatedDevice):
    """An emulated device that locks the physics while it replies."""

    def __init__(self, device: EmulatedDevice, lock: RLock) -> None:
        self.world = device.world
        self._device = device
        self._lock = lock

    def receive(self, data: bytes, now: float) -> list[DelayedReply]:
        """The replies of the device."""
        with self._lock:
            return self._device.receive(data, now)


class SimulatedBus:
    """An emulated bus whose servos are the joints of the simulation; without a bus a TargetFollower takes its place.

    Torque, targets and watchdogs are controlled by the driver at the other end of the bus.
    """

    def __init__(
        self,
        robot_file: RobotFile,
        bus: tuple[str, str],
        lock: RLock,
        body: Callable[[], SimulatedRobot],
        advance: Callable[[float], None],
    ) -> None:
        """`bus` is the protocol and the path of the link to create. Raises ParameterError or RobotFileError."""
        protocol, link = bus
        if protocol == LOOPBACK or not link:
            raise ParameterError(
                f"bus is {protocol!r}, bus_port is {link!r}: set bus to a wired protocol and bus_port to its link"
            )
        settings = servo_settings(robot_file, protocol, link)
        self.world = PhysicsWorld(settings.joints, PROTOCOLS[protocol].scale, body, advance)
        self.world.engage()
        self._device = LockedDevice(emulated_device(protocol, self.world, settings.ids, settings.options), lock)
        self._link = Path(link)
        self._baud = settings.baud
        if not os.access(self._link.parent, os.W_OK):
            raise ParameterError(f"bus_port: {link}: its folder does not exist or cannot be written to")
        self._pty: PseudoTerminal | None = None
        self.name = f"{protocol} at {settings.baud} baud on {link}"

    def open(self) -> None:
        """Creates the terminal; call it when this process is ready to reply."""
        if self._pty is None:
            self._pty = PseudoTerminal(self._device, self._baud, link=self._link)

    @property
    def armed(self) -> bool:
        """Whether any servo has torque."""
        return bool(self.world.torques.any())

    @property
    def command(self) -> Array:
        """Setpoints of the servos (n, 3) [rad]."""
        return self.world.references

    target = command

    def step(self, dt: float) -> Array:
        """Setpoints of the servos (n, 3) [rad] `dt` [s] later."""
        return self.world.reference(dt)

    def watch(self, now: float) -> str:
        """Does nothing and returns an empty text: the driver at the other end has its own watchdog."""
        return ""

    def extend_watchdog(self, seconds: float) -> None:
        """Does nothing: there is no watchdog to extend."""

    def start(self, measured: Array) -> None:
        """Does nothing: the servos keep their goals."""

    def hold(self) -> None:
        """Does nothing: the servos hold by themselves."""

    def close(self) -> None:
        """Removes the terminal."""
        if self._pty:
            self._pty.close()
