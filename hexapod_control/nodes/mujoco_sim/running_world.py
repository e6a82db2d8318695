"""The world of mujoco_sim: a robot in the physics simulation, the driver of its servos, and its time.

The world runs in real time (times a factor) and uses targets as soon as they arrive. If it publishes /clock, it runs in
steps of equal length instead. A simulation slower than real time drops the time beyond MAX_CATCH_UP_S.
"""

from __future__ import annotations

import dataclasses
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol

import numpy as np

from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.nodes.mujoco_sim.settings import SimulatorSettings
from hexapod_control.nodes.mujoco_sim.simulated_bus import SimulatedBus
from hexapod_control.nodes.mujoco_sim.time_pacing import ControllerLead, RealTimePacer
from hexapod_control.servos.driver.target_follower import Interpolation, TargetFollower
from hexapod_control.servos.driver.torque_switch import ESTOP_LATCHED, EmergencyStop
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.start_poses import sitting_pose
from hexapod_control.sim.world_settings import WorldSettings

CATCH_UP_S = 0.02  # of motion that one step may make up for: targets arrive at 50 Hz, and steps are shorter
SWITCH_INTERVAL_S = 0.001  # of Python threads, so that the thread of the bus replies in time


class RunningWorld:
    """One simulated robot and its time. Callers hold `lock`, as the bus thread also steps the world."""

    def __init__(self, robot_file: RobotFile, settings: SimulatorSettings, world: WorldSettings) -> None:
        """Places the robot at the origin, sitting. Raises ParameterError or RobotFileError for an invalid bus."""
        self.robot = robot_file.robot
        self.publishes_clock = settings.publish_clock
        self.period = 1.0 / settings.rate  # [s] of simulated time
        # The driver interpolates between targets; the physics runs faster than targets arrive. Servos on a bus move
        # their setpoints continuously.
        self._interpolation = Interpolation.LINEAR if settings.bus else Interpolation.HOLD
        self._urdf = urdf(robot_file)
        self.simulation = Simulation(self.robot, self._urdf, self._with_interpolation(world))
        sitting = sitting_pose(self.robot)
        self.simulation.reset(sitting)
        self.lock = threading.RLock()
        self.paused = False
        # [s] steady time of the last targets
        self.last_targets_at = time.monotonic()
        self._paused_at = self.last_targets_at
        self._clock_offset = 0.0  # [s] of the published time at the last reset of the world
        self._pace = RealTimePacer(settings.sim_speed_factor, self.last_targets_at)
        self._lead = ControllerLead()
        self.bus: SimulatedBus | None = None
        follower = TargetFollower(self.robot, sitting, Interpolation(world.between_targets), CATCH_UP_S)
        self.torque = SimulatedTorque(follower, lambda: self.simulation, self.lock)
        self.driver: TargetFollower | SimulatedBus = follower
        if settings.bus:
            sys.setswitchinterval(SWITCH_INTERVAL_S)
            wire = (settings.bus, settings.bus_port)
            self.driver = SimulatedBus(robot_file, wire, self.lock, lambda: self.simulation, self._on_bus_bytes)
            self.bus = self.driver

    def _with_interpolation(self, world: WorldSettings) -> WorldSettings:
        return dataclasses.replace(world, between_targets=self._interpolation.value)

    @property
    def armed(self) -> bool:
        """Whether the torque is on."""
        return self.bus.armed if self.bus else self.torque.armed

    # --- time -----------------------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """Published time [s]."""
        return self._clock_offset + self.simulation.time

    @property
    def steady(self) -> float:
        """Time [s] of the driver's watchdog."""
        return self.time if self.publishes_clock else time.monotonic()

    @property
    def dropped(self) -> int:
        """Number of times that time was dropped because the simulation was too slow."""
        return self._pace.dropped

    def advance(self) -> Iterator[None]:
        """Runs the steps that are due; yields after every step whose state is to be published."""
        if not self.publishes_clock:
            self.catch_up()
            yield
            return
        self._pace.advance_to(time.monotonic())
        while not self.paused and self._pace.take(self.period):
            if self._lead.must_wait(self.time + self.period, time.monotonic()):
                self._pace.restart(time.monotonic())
                return
            self.step(self.period)
            yield

    def catch_up(self) -> None:
        """Advances a world without /clock to the present time."""
        if not self.paused and not self.publishes_clock:
            self._pace.advance_to(time.monotonic())
            self.step(self._pace.take_all())

    def step(self, seconds: float) -> None:
        """Runs the world for a time [s]."""
        self.simulation.step(self.driver.step(seconds), seconds)

    def note_targets(self, stamp: float) -> None:
        """Records that targets with a published time [s] were received."""
        self.last_targets_at = time.monotonic()
        self._lead.note_targets(stamp, self.last_targets_at)
        self.catch_up()

    def _on_bus_bytes(self, now: float) -> None:
        self.last_targets_at = now
        self.catch_up()

    # --- pause, reset, changes ---------------------------------------------------------------------------

    def pause(self) -> None:
        """Stops the time."""
        self.catch_up()
        self.paused = True
        self._paused_at = time.monotonic()

    def resume(self) -> None:
        """Continues; the time of the pause is discarded."""
        if not self.paused:
            return
        now = time.monotonic()
        if not self.publishes_clock:
            self.driver.extend_watchdog(now - self._paused_at)
        self._pace.restart(now)
        if np.abs(self.driver.target - self.driver.command).max() > 0.1:
            self.driver.start(self.driver.command)
        self.paused = False

    def reset(self) -> None:
        """Places the robot at the origin, level and with its present joint angles; the published time continues.

        The controller continues its plan, so other joint angles would be a jump.
        """
        self._clock_offset = self.time
        self.simulation.reset(self.simulation.joints)
        self._pace.restart(time.monotonic())

    def change(self, settings: WorldSettings) -> None:
        """Changes load and friction in place; another ground resets the world."""
        simulation = self.simulation.changed(self._urdf, self._with_interpolation(settings))
        if simulation.ground == self.simulation.ground:
            simulation.take_over(self.simulation)
        else:
            self._clock_offset = self.time
            simulation.reset(self.simulation.joints)
        if not self.armed:
            simulation.release()
        self.simulation = simulation
        if self.bus:
            self.bus.world.engage()


class SimulatedServos(Protocol):
    """The part of the simulation that switches the torque."""

    @property
    def joints(self) -> Array:
        """Joint angles (n, 3) [rad]."""

    def engage(self) -> None:
        """Torque on."""

    def release(self) -> None:
        """Torque off."""


class SimulatedTorque:
    """Torque and emergency stop of a simulated robot, which starts with the torque on. Any thread may call."""

    def __init__(
        self,
        follower: TargetFollower,
        servos: Callable[[], SimulatedServos],
        lock: AbstractContextManager[object],
    ) -> None:
        """`servos` returns the present simulation: a reset of the world replaces it. `lock` is that of the world."""
        self._follower = follower
        self._servos = servos
        self._lock = lock
        self._estop = EmergencyStop()
        self._armed = True

    @property
    def armed(self) -> bool:
        """Whether the torque is on."""
        return self._armed

    @property
    def latched(self) -> bool:
        """Whether an emergency stop is latched."""
        return self._estop.latched

    def press_estop(self) -> str:
        """Latches and switches the torque off. Returns an empty text, as it cannot fail."""
        self._estop.press()
        return self.disarm()

    def release_estop(self) -> None:
        """Releases the button; the latch stays."""
        self._estop.release()

    def reset_fault(self) -> str:
        """Clears the latch. Returns why it cannot be cleared, or an empty text."""
        return self._estop.reset()

    def arm(self) -> str:
        """Switches the torque on at the present joint angles. Returns why it is not on, or an empty text."""
        if self._estop.latched:
            return ESTOP_LATCHED
        with self._lock:
            if not self._armed:
                servos = self._servos()
                self._follower.start(servos.joints)
                self._armed = True
                servos.engage()
        return ""

    def disarm(self) -> str:
        """Switches the torque off. Returns an empty text, as it cannot fail."""
        with self._lock:
            self._armed = False
            self._servos().release()
        return ""
