# SPDX-License-Identifier: Apache-2.0
"""A walk in physics over an emulated servo bus, in lock step: planner, kinematics, driver, protocol, servos, MuJoCo.

The time advances with the bytes on the wire and with the ticks, not with a clock, so every run gives the same figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from flat_ground import SLOW_GAIT, TRIPOD, TWISTS, WalkCase, WalkLimits
from numpy.typing import NDArray
from walk_quality import Course, WalkQuality, walk

from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.planner.planner import Planner
from hexapod_control.evaluation.lockstep import CONTROL_PERIOD_S, Lockstep, WalkError
from hexapod_control.servos.driver.driver import Driver
from hexapod_control.servos.emulated_robot.physics_world import PhysicsWorld
from hexapod_control.servos.emulator.device import EmulatedDevice
from hexapod_control.servos.emulator.device_registry import emulated_device
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.servo_section import ServoSettings, servo_settings
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.world_settings import WorldSettings

TURNAROUND_S = 0.001  # delay of the USB adapter before a reply


def _twice(limits: WalkLimits) -> WalkLimits:
    """Returns limits with twice the margins."""
    return WalkLimits(
        least_ratio=1.0 - 2.0 * (1.0 - limits.least_ratio),
        most_ratio=1.0 + 2.0 * (limits.most_ratio - 1.0),
        slip=2.0 * limits.slip,
        worst_slip=2.0 * limits.worst_slip,
        tilt=2.0 * limits.tilt,
        height_variation=2.0 * limits.height_variation,
        ripple=2.0 * limits.ripple,
        saturation=2.0 * limits.saturation,
    )


BUS_TRIPOD, BUS_SLOW_GAIT = _twice(TRIPOD), _twice(SLOW_GAIT)
CASES = (
    *(WalkCase(Course("tripod", twist), BUS_TRIPOD) for twist in TWISTS),
    WalkCase(Course("ripple", Twist(0.06, 0.0, 0.0)), BUS_SLOW_GAIT),
)


class ReplayTime:
    """The simulated clock [s] that driver, wire and devices share."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """The current time [s]."""
        return self.now


class ReplayWire:
    """A serial port that advances the time by the duration of its bytes."""

    def __init__(self, baud: int, device: EmulatedDevice, time: ReplayTime) -> None:
        self.baud = baud
        self._device = device
        self._time = time
        self._received = b""

    def write(self, data: bytes) -> None:
        """Sends bytes to the device and receives its replies."""
        self._time.now += 10.0 * len(data) / self.baud
        for k, (delay, reply) in enumerate(self._device.receive(data, self._time.now)):
            self._time.now += delay + (0.0 if k else TURNAROUND_S) + 10.0 * len(reply) / self.baud
            self._received += reply

    def read(self, count: int, deadline: float) -> bytes:
        """Returns at most `count` received bytes."""
        data = self._received[:count]
        self._received = self._received[count:]
        return data

    def clear(self) -> None:
        """Discards received bytes."""
        self._received = b""

    def close(self) -> None:
        """Does nothing."""


class BusLockstep(Lockstep):
    """A planner that drives a simulated robot over a servo bus."""

    def __init__(
        self, settings: ServoSettings, simulation: Simulation, planner: Planner, mounted: ServoSettings | None = None
    ) -> None:
        """Connects and arms at the present joint angles. `mounted` are the true settings, by default the driver's."""
        super().__init__(simulation, planner)
        self._time = ReplayTime()
        self._physics = 0.0  # [s] time of the physics
        self._observe: Callable[[Simulation], None] | None = None
        row = PROTOCOLS[settings.protocol]
        self._world = PhysicsWorld((mounted or settings).joints, row.scale, lambda: simulation, self._advance)
        self._world.engage()
        wire = ReplayWire(settings.baud, emulated_device(settings.protocol, self._world, settings.ids), self._time)
        start = simulation.joints
        self.driver = Driver(simulation.robot, settings, lambda: row.open(wire, settings.ids), start, self._time)
        self.driver.connect()
        refusal = self.driver.arm()
        if refusal:
            raise WalkError(refusal)
        self._due = self._time.now

    def _advance(self, now: float) -> None:
        dt = max(0.0, now - self._physics)
        self._physics += dt
        self.simulation.step(self._world.reference(dt).reshape(-1, 3), dt, self._observe)

    def follow(self, targets: NDArray[np.float64], observe: Callable[[Simulation], None] | None) -> None:
        """Runs one cycle of the driver and simulates the rest of the control period."""
        self._observe = observe
        self.driver.take(targets, None, self._time.now)
        self.driver.cycle()
        self._due += CONTROL_PERIOD_S
        while self._physics < self._due - 1e-9:
            self._advance(min(self._due, self._physics + CONTROL_PERIOD_S / 8))
        self._time.now = max(self._time.now, self._due)


def measure(file: RobotFile, protocol: str, case: WalkCase) -> WalkQuality:
    """Walks one case on flat ground over a servo bus. Raises WalkError."""
    settings = servo_settings(file, protocol, "the wire")
    simulation = Simulation(file.robot, urdf(file), WorldSettings(between_targets="linear"))
    return walk(simulation, case.course, lambda body, planner: BusLockstep(settings, body, planner))


def rows(file: RobotFile, protocol: str = "feetech_st") -> Iterator[tuple[WalkCase, WalkQuality | WalkError]]:
    """Yields every case with its figures, or with the error that ended it."""
    for case in CASES:
        try:
            yield case, measure(file, protocol, case)
        except WalkError as error:
            yield case, error
