# SPDX-License-Identifier: Apache-2.0
"""The world of mujoco_sim: a robot in the physics simulation, the driver of its servos, and its time.

The world runs in real time (times a factor) and uses targets as soon as they arrive. If it publishes /clock, it runs in
steps of equal length instead. A simulation slower than real time drops the time beyond MAX_CATCH_UP_S.

Its lead over the controller's targets is bounded. With a servo bus, emulated servos behind a pseudo-terminal move the
robot, for a servo_driver at the other end.
"""

from __future__ import annotations

import dataclasses
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from threading import RLock
from typing import Protocol

import numpy as np

from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.refusal import Refusal
from hexapod_control.nodes.mujoco_sim.settings import SimulatorSettings
from hexapod_control.ros.parameters import ParameterError
from hexapod_control.servos.driver.extra_joint_follower import ExtraJointFollower
from hexapod_control.servos.driver.target_follower import Interpolation, TargetFollower
from hexapod_control.servos.driver.torque_switch import ESTOP_LATCHED, EmergencyStop
from hexapod_control.servos.emulated_robot.physics_world import PhysicsWorld, SimulatedRobot
from hexapod_control.servos.emulator.device import DelayedReply, EmulatedDevice
from hexapod_control.servos.emulator.device_registry import emulated_device
from hexapod_control.servos.emulator.pseudo_terminal import PseudoTerminal
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.servo_section import LOOPBACK, servo_settings
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.start_poses import sitting_pose
from hexapod_control.sim.world_settings import WorldSettings

MAX_CATCH_UP_S = 0.1  # simulated time in one step; a larger delay is dropped and counted
MAX_LEAD_PERIODS = 2.0  # periods of the targets by which the world may be ahead: the longest time step of a tick
MAX_WAIT_S = 3.0  # real time to wait for targets before the world continues without them
MIN_PERIOD_S = 0.02  # smallest assumed period of the targets
ROUNDING_S = 1e-6  # rounding error of times that are sums of steps


class RealTimePacer:
    """Tells how much simulated time is due: the steady time of the machine times a factor."""

    def __init__(self, factor: float, now: float) -> None:
        """Starts at the steady time `now` [s]."""
        self._factor = factor
        self._reference = now
        self._owed = 0.0  # [s]
        self.dropped = 0  # number of times that a delay was dropped

    def advance_to(self, now: float) -> None:
        """Advances to a steady time [s]."""
        self._owed += (now - self._reference) * self._factor
        self._reference = now
        if self._owed > MAX_CATCH_UP_S:
            self.dropped += 1
            self._owed = MAX_CATCH_UP_S

    def take(self, seconds: float) -> bool:
        """Takes a step [s] if it is due; returns whether it was."""
        if self._owed < seconds:
            return False
        self._owed -= seconds
        return True

    def take_all(self) -> float:
        """Takes and returns all time that is due [s]."""
        owed = self._owed
        self._owed = 0.0
        return owed

    def restart(self, now: float) -> None:
        """Starts again at a steady time [s]; discards the time owed."""
        self._reference = now
        self._owed = 0.0


class ControllerLead:
    """Limits how far a world that publishes /clock may be ahead of the targets it receives.

    On a busy machine the controller would miss ticks and walk too short a distance, so the world waits for it. The
    period of the targets is the smallest interval between them: a longer one means a late tick, and must not permit the
    next tick to be later still. A longer period is accepted only after the world has waited MAX_WAIT_S in vain.
    """

    def __init__(self) -> None:
        self._stamp = -math.inf  # [s] simulated time of the last targets
        self._period = MIN_PERIOD_S
        self._received = -math.inf  # [s] steady time at which they were received

    def note_targets(self, stamp: float, now: float) -> None:
        """Records that targets with a simulated time [s] were received at a steady time [s]."""
        between = stamp - self._stamp
        slower = now - self._received > MAX_WAIT_S
        if MIN_PERIOD_S <= between <= MAX_CATCH_UP_S and (slower or between < self._period):
            self._period = between
        self._stamp = stamp
        self._received = now

    def must_wait(self, end: float, now: float) -> bool:
        """Whether a step that ends at a simulated time [s] has to wait at a steady time [s]."""
        lead = end - self._stamp
        return lead > MAX_LEAD_PERIODS * self._period + ROUNDING_S and now - self._received <= MAX_WAIT_S


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
        self._legs = len(settings.joints)
        self.world = PhysicsWorld(settings.servos, PROTOCOLS[protocol].scale, body, advance)
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
        """Setpoints of the servos of the legs (n, 3) [rad]."""
        return self.world.references[: self._legs].reshape(-1, 3)

    target = command

    def step(self, dt: float) -> Array:
        """Setpoints of the servos of the legs (n, 3) [rad] `dt` [s] later."""
        return self.world.reference(dt)[: self._legs].reshape(-1, 3)

    def extra(self) -> Array:
        """Present setpoints of the extra joints (m,) [rad]."""
        return self.world.references[self._legs :]

    def watch(self, now: float) -> None:
        """Does nothing: the driver at the other end has its own watchdog."""

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
        self.extra = ExtraJointFollower(self.robot.extra_servos)
        self.torque = SimulatedTorque(follower, self.extra, lambda: self.simulation, self.lock)
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
        targets = self.driver.step(seconds)
        if self.extra.count:
            self.simulation.aim_extra(self.bus.extra() if self.bus else self.extra.step(seconds))
        self.simulation.step(targets, seconds)

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

    @property
    def servo_angles(self) -> Array:
        """The same (3 n,), then those of the extra joints (m,) [rad]."""

    def engage(self) -> None:
        """Torque on."""

    def release(self) -> None:
        """Torque off."""


class SimulatedTorque:
    """Torque and emergency stop of a simulated robot, which starts with the torque on. Any thread may call."""

    def __init__(
        self,
        follower: TargetFollower,
        extra: ExtraJointFollower,
        servos: Callable[[], SimulatedServos],
        lock: AbstractContextManager[object],
    ) -> None:
        """`servos` returns the present simulation: a reset of the world replaces it. `lock` is that of the world."""
        self._follower = follower
        self._extra = extra
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

    def press_estop(self) -> None:
        """Latches and switches the torque off, which cannot fail."""
        self._estop.press()
        self.disarm()

    def release_estop(self) -> None:
        """Releases the button; the latch stays."""
        self._estop.release()

    def reset_fault(self) -> Refusal | None:
        """Clears the latch."""
        return self._estop.reset()

    def arm(self) -> Refusal | None:
        """Switches the torque on at the present joint angles."""
        with self._lock:
            if self._estop.latched:
                return ESTOP_LATCHED
            if not self._armed:
                servos = self._servos()
                self._follower.start(servos.joints)
                self._extra.start(servos.servo_angles[servos.joints.size :])
                self._armed = True
                servos.engage()
        return None

    def disarm(self) -> None:
        """Switches the torque off, which cannot fail."""
        with self._lock:
            self._armed = False
            self._servos().release()
