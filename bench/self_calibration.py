# SPDX-License-Identifier: Apache-2.0
"""`hexapod calibrate-self` of robots with hidden errors, over driver, emulated bus and physics in lock step.

    python bench/self_calibration.py phantomx feetech_st 0 20

runs it for the robots with seeds 0 to 19, and prints the time of the robot and what is left of its errors. With
`direct` at the end the targets go to the physics without planner, driver and bus, in a sixth of the computing time.
"""

from __future__ import annotations

import math
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
from bus_replay import BusLockstep

from hexapod_control.config.robots.robot_file import RobotFile, load, resolve
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.config.sentence import Sentence
from hexapod_control.core.calibration.pose_recording import PoseTour
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.body_pose import NEUTRAL, quaternion_angles
from hexapod_control.core.kinematics.whole_body import joints_in_pose
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.reality import Reality
from hexapod_control.core.robot import Robot
from hexapod_control.evaluation.lockstep import CONTROL_PERIOD_S
from hexapod_control.servos.bus.bus_interface import ServoQuantity
from hexapod_control.servos.calibration.dialog import Dialog, Prompt
from hexapod_control.servos.calibration.self_calibration import NotCalibratedError, SelfCalibration
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.servo_section import ServoSettings, servo_settings
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.start_poses import sitting_pose
from hexapod_control.sim.world_settings import WorldSettings

TILT_NOISE_RAD = math.radians(0.1)
POSE_TICKS = 10  # between two body poses
SETTLE_TICKS = 50
AROUND_TOUR_S = 12.0  # to start the nodes, to stand up, to rest and to sit down


def hidden_errors(robot: Robot, seed: int) -> Reality:
    """Zeros within 4 deg, play of 0.3 to 2 deg, delay of 5 to 60 ms, stiffness within half, lengths within 3 mm."""
    rng = np.random.default_rng([seed, 77])

    def between(low: float, high: float) -> Array:
        drawn: Array = rng.uniform(low, high, (len(robot.legs), 3))
        return drawn

    return Reality(
        len(robot.legs),
        zero_offset=np.radians(between(-4.0, 4.0)),
        backlash=np.radians(between(0.3, 2.0)),
        latency=between(0.005, 0.06),
        stiffness=between(0.5, 1.5),
        length=between(-0.003, 0.003),
        hip=between(-0.001, 0.001),
        imu_mounting=np.radians(rng.uniform(-2.0, 2.0, 3)),
        seed=seed,
    )


class Agreeing(Dialog):
    """Says yes, and keeps what was said."""

    def __init__(self) -> None:
        self.said: list[Sentence] = []

    def say(self, text: Sentence) -> None:
        """Keeps it."""
        self.said.append(text)

    def answer_to(self, prompt: Prompt, meanwhile: Callable[[], None] | None = None) -> str:
        """Yes."""
        return "y" if len(prompt.choices) > 1 else ""


class HiddenRobot:
    """A simulated robot with hidden errors whose file and servo settings are those of the user."""

    def __init__(self, path: Path, protocol: str, seed: int) -> None:
        self._file = load(path)
        self._mounted = servo_settings(self._file, protocol, "the wire")
        self.errors = hidden_errors(self._file.robot, seed)
        self._rng = np.random.default_rng(seed)
        self.minutes: list[float] = []  # of its tours

    def toured(self, path: Path, settings: ServoSettings, tour: PoseTour) -> None:
        """Takes it through a tour, and notes the time."""
        self.record(path, settings, tour)
        self.minutes.append((tour.duration + AROUND_TOUR_S) / 60.0)

    def record(self, path: Path, settings: ServoSettings, tour: PoseTour) -> None:
        """Takes it through a tour, as the nodes do."""
        robot = self._file.robot
        world = WorldSettings(between_targets="linear")
        simulation = Simulation(robot, urdf(self._file), world, self.errors)
        simulation.reset(sitting_pose(robot))
        lockstep = BusLockstep(settings, simulation, Planner(load(path).robot), self._mounted)
        lockstep.stand()
        lockstep.planner.halt()
        for _ in range(SETTLE_TICKS):
            lockstep.tick()
        stall = np.array([[joint.stall_torque for joint in leg.joints] for leg in robot.legs])
        for tick in range(math.ceil(tour.duration / CONTROL_PERIOD_S) + 2):
            now = tick * CONTROL_PERIOD_S
            if tick % POSE_TICKS == 0:
                lockstep.planner.request_pose(tour.goal(now) if now < tour.duration else NEUTRAL)
            lockstep.tick()
            snapshot = lockstep.driver.snapshot
            roll, pitch, _ = quaternion_angles(*simulation.inertial().orientation)
            noise = TILT_NOISE_RAD * self._rng.standard_normal(2)
            torques = None if snapshot.loads is None else snapshot.loads * stall
            if snapshot.joints is not None:
                tour.take(now + CONTROL_PERIOD_S, snapshot.joints, (roll + noise[0], pitch + noise[1]), torques)


class DirectRobot(HiddenRobot):
    """The same, whose targets go to the physics without planner, driver and bus."""

    up: Array = np.array([0.0, 0.0, 1.0])  # the vertical (3,) in the frame of the floor

    def disturb(self, simulation: Simulation, now: float, tour: PoseTour) -> None:
        """Something that goes wrong at a time [s] of a tour: by default nothing."""

    def record(self, path: Path, settings: ServoSettings, tour: PoseTour) -> None:
        """Takes it through a tour; targets and angles have the resolution of the servos."""
        robot = load(path).robot
        pairs = zip(settings.joints, self._mounted.joints, strict=True)
        trims = np.array([used.trim - true.trim for used, true in pairs]).reshape(-1, 3)
        step = 1.0 / min(joint.units_per_rad for joint in settings.joints)
        stall = np.array([[joint.stall_torque for joint in leg.joints] for leg in robot.legs])
        has_loads = ServoQuantity.LOAD in PROTOCOLS[settings.protocol].can_read
        simulation = Simulation(
            self._file.robot, urdf(self._file), WorldSettings(between_targets="linear"), self.errors
        )
        targets = np.array(joints_in_pose(robot, robot.footholds, NEUTRAL)) - trims
        simulation.reset(targets)
        now = -1.0
        while now < tour.duration + CONTROL_PERIOD_S:
            pose = tour.goal(min(max(now, 0.0), tour.duration - 1e-6))
            if (joints := joints_in_pose(robot, robot.footholds, pose)) is not None:  # else it stays, as with a planner
                targets = step * np.round((np.array(joints) - trims) / step)
            self.disturb(simulation, now, tour)
            simulation.step(targets, CONTROL_PERIOD_S)
            now += CONTROL_PERIOD_S
            turned = np.empty(9)
            mujoco.mju_quat2Mat(turned, np.roll(simulation.inertial().orientation, 1))
            x, y, z = turned.reshape(3, 3).T @ self.up
            roll = math.atan2(y, z)
            pitch = math.asin(max(-1.0, min(1.0, -x)))
            noise = TILT_NOISE_RAD * self._rng.standard_normal(2)
            angles = step * np.round(simulation.joints / step) + trims
            if now >= 0.0:
                torques = simulation.efforts * stall if has_loads else None
                tour.take(now, angles, (roll + noise[0], pitch + noise[1]), torques)


def measure(name: str, protocol: str, seed: int, kind: type[HiddenRobot]) -> tuple[Array, Array, list[float]]:
    """Errors of the zeros [deg] and of the lengths [mm] (n, 3) that are left, minutes of the tours.

    Raises NotCalibratedError.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "mine.yaml")
        shutil.copyfile(resolve(name), path)
        hidden = kind(path, protocol, seed)
        before = servo_settings(load(path), protocol, "the wire")
        SelfCalibration(lambda: load(path), lambda: before, hidden.toured, Agreeing()).run()
        zeros, lengths = left_errors(load(resolve(name)).robot, before, load(path), hidden)
    return zeros, lengths, hidden.minutes


def left_errors(nominal: Robot, before: ServoSettings, file: RobotFile, hidden: HiddenRobot) -> tuple[Array, Array]:
    """Errors of the zeros [deg] and of the lengths [mm] (n, 3) that are left in a file that was written."""
    after = servo_settings(file, before.protocol, "the wire")
    trims = [new.trim - old.trim for new, old in zip(after.joints, before.joints, strict=True)]
    lengths, plan = (
        np.array([(leg.coxa.length, leg.femur.length, leg.tibia.length) for leg in robot.legs])
        for robot in (file.robot, nominal)
    )
    zeros = np.degrees(np.array(trims).reshape(-1, 3) - hidden.errors.zero_offset)
    return zeros, 1000.0 * (lengths - plan - hidden.errors.length)


def figures(values: Array) -> str:
    """Root mean square and greatest value."""
    return f"{math.sqrt(float(np.mean(values**2))):.2f} rms, {float(np.abs(values).max()):.2f} at most"


def main(name: str, protocol: str, first: int, last: int, kind: type[HiddenRobot]) -> None:
    """Prints a line per robot, and one for all."""
    zeros = []
    lengths = []
    for seed in range(first, last):
        try:
            left = measure(name, protocol, seed, kind)
        except NotCalibratedError as error:
            print(f"{name} {protocol} {seed}: {error}", flush=True)
            continue
        zeros.append(left[0])
        lengths.append(left[1])
        text = f"zeros {figures(left[0])} deg; lengths {figures(left[1])} mm"
        print(f"{name} {protocol} {seed}: {text}; {len(left[2])} tours, {sum(left[2]):.1f} min", flush=True)
    if zeros:
        print(f"{name} {protocol}: zeros {figures(np.array(zeros))} deg; lengths {figures(np.array(lengths))} mm")


if __name__ == "__main__":
    made = DirectRobot if sys.argv[5:] == ["direct"] else HiddenRobot
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), made)
