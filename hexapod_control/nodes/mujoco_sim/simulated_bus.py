"""The wire of a simulated robot: its servos behind a pty, for a servo_driver at the other end."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from threading import RLock

from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.ros.parameters import ParameterError
from hexapod_control.servos.emulator.device import DelayedReply, EmulatedDevice
from hexapod_control.servos.emulator.device_registry import emulated_device
from hexapod_control.servos.emulator.physics_world import PhysicsWorld, SimulatedRobot
from hexapod_control.servos.emulator.pseudo_terminal import PseudoTerminal
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.servo_section import LOOPBACK, servo_settings


class LockedSimulation:
    """A device that has the physics to itself while it answers."""

    def __init__(self, device: EmulatedDevice, lock: RLock) -> None:
        self.world, self._device, self._lock = device.world, device, lock

    def receive(self, data: bytes, now: float) -> list[DelayedReply]:
        """As the device."""
        with self._lock:
            return self._device.receive(data, now)


class SimulatedBus:
    """An emulated bus whose servos are the joints of the simulation; without a bus a TargetFollower takes its place.

    The servos' torque, targets and watchdogs are the business of who has the other end of the wire.
    """

    def __init__(
        self,
        robot_file: RobotFile,
        bus: tuple[str, str],
        lock: RLock,
        body: Callable[[], SimulatedRobot],
        advance: Callable[[float], None],
    ) -> None:
        """`bus` is the protocol and the link to make. Raises ParameterError or RobotFileError."""
        protocol, link = bus
        if protocol == LOOPBACK or not link:
            raise ParameterError(
                f"bus is {protocol!r}, bus_port is {link!r}: a protocol with a wire, and a link, please"
            )
        settings = servo_settings(robot_file, protocol, link)
        self.world = PhysicsWorld(settings.joints, PROTOCOLS[protocol].scale, body, advance)
        self.world.engage()
        self._device = LockedSimulation(emulated_device(protocol, self.world, settings.ids), lock)
        self._link, self._baud = Path(link), settings.baud
        if not os.access(self._link.parent, os.W_OK):
            raise ParameterError(f"bus_port: {link}: its folder does not exist or cannot be written to")
        self._pty: PseudoTerminal | None = None
        self.name = f"{protocol} at {settings.baud} baud on {link}"

    def open(self) -> None:
        """Makes the terminal: not before this process has time for it."""
        if self._pty is None:
            self._pty = PseudoTerminal(self._device, self._baud, link=self._link)

    @property
    def armed(self) -> bool:
        """Whether any servo holds."""
        return bool(self.world.torques.any())

    @property
    def command(self) -> Array:
        """What the servos aim at (n, 3) [rad]."""
        return self.world.references

    target = command

    def step(self, dt: float) -> Array:
        """What they aim at (n, 3) [rad] `dt` [s] later."""
        return self.world.reference(dt)

    def watch(self, now: float) -> str:
        """Nothing: who drives watches."""
        return ""

    def extend_watchdog(self, seconds: float) -> None:
        """Nothing is counted."""

    def start(self, measured: Array) -> None:
        """The world was put somewhere else: the servos know nothing of it."""

    def hold(self) -> None:
        """They hold by themselves."""

    def close(self) -> None:
        """Takes the terminal away."""
        if self._pty:
            self._pty.close()
