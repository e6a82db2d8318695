# SPDX-License-Identifier: Apache-2.0
"""`hexapod calibrate-self` of robots with hidden errors while something goes wrong: what it says, and what it writes.

    python bench/self_calibration_faults.py phantomx feetech_st 301

runs all faults of FAULTS, or those named after the seed, in physics as `self_calibration.py` with `direct`.
"""

from __future__ import annotations

import math
import shutil
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import mujoco
import numpy as np
from self_calibration import Agreeing, DirectRobot, figures, left_errors

from hexapod_control.config.robots.robot_file import load, resolve
from hexapod_control.core.calibration.closed_chains import vertical
from hexapod_control.core.calibration.pose_recording import PoseTour
from hexapod_control.servos.calibration.self_calibration import NotCalibratedError, SelfCalibration
from hexapod_control.servos.settings.servo_section import ServoSettings, servo_settings
from hexapod_control.sim import terrain
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.terrain import GROUND_GROUP
from hexapod_control.sim.world_settings import WorldSettings

HALF = 0.05  # [m] half the side of the plate under each foot
RISE_S = 1.0
PUSH_S = 1.5
PUSH_N_M = 1500.0
MAX_PUSH_N = 30.0
LIFT_S = 4.0


@dataclass(frozen=True)
class Fault:
    """Something that goes wrong in the middle of a tour, or from the beginning on."""

    feet: tuple[int, ...] = ()
    height: float = 0.0  # [m] of a plate under these feet
    at: float = 0.5  # share of the tour
    push: tuple[float, float] = (0.0, 0.0)  # [m] of these feet along the floor
    lift: float = 0.0  # [m] of the body
    slope_deg: float = 0.0  # roll of the floor
    upside_down: bool = False  # the IMU
    tours: tuple[int, ...] = (1, 2, 3, 4, 5)


FAULTS = {
    "none": Fault(),
    "a foot 20 mm higher for half of tour 3": Fault((1,), 0.02, tours=(3,)),
    "a foot 20 mm higher for half of every tour": Fault((1,), 0.02),
    "a board of 10 mm under two feet": Fault((0, -1), 0.01, at=0.0),
    "a foot shoved by 25 mm in tour 3": Fault((1,), push=(0.02, 0.015), tours=(3,)),
    "a floor that falls by 2 deg": Fault(slope_deg=2.0),
    "lifted for 4 s in tour 3": Fault(lift=0.08, tours=(3,)),
    "the IMU upside down": Fault(upside_down=True),
}


class FaultyRobot(DirectRobot):
    """A robot with hidden errors and a fault."""

    def __init__(self, path: Path, protocol: str, seed: int, fault: Fault) -> None:
        super().__init__(path, protocol, seed)
        self._fault = fault
        self._number = 0
        self._held: dict[int, np.ndarray] = {}  # [m] where feet or body were when they were seized
        self.up = np.array(vertical((math.radians(fault.slope_deg), 0.0)))
        if fault.upside_down:
            self.errors = replace(self.errors, imu_mounting=np.array([math.pi, 0.0, 0.0]))

    def _floor(self, spec: mujoco.MjSpec, settings: WorldSettings) -> None:
        terrain.flat(spec, settings)
        for row, (x, y) in enumerate(self._file.robot.footholds):
            plate = spec.worldbody.add_body(name=f"plate{row}", mocap=True, pos=[x, y, -HALF - 1e-4])
            plate.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[HALF, HALF, HALF], group=GROUND_GROUP)

    def record(self, path: Path, settings: ServoSettings, tour: PoseTour) -> None:
        """Takes it through a tour."""
        self._number += 1
        self._held.clear()
        terrain.TERRAINS["flat"] = self._floor
        super().record(path, settings, tour)

    def disturb(self, simulation: Simulation, now: float, tour: PoseTour) -> None:
        """What goes wrong at a time [s] of the tour."""
        fault = self._fault
        data = simulation.data
        simulation.model.opt.gravity[:] = -9.81 * self.up
        since = now - fault.at * tour.duration if fault.at else math.inf
        on = self._number in fault.tours
        rise = min(1.0, max(0.0, since / RISE_S)) * on
        for row in fault.feet:
            foot = simulation.world.feet[row]
            plate = simulation.model.body(f"plate{row % len(simulation.world.feet)}").mocapid[0]
            if fault.height:
                data.mocap_pos[plate, 2] = fault.height * rise - HALF - 1e-4 * (rise == 0.0)
            data.xfrc_applied[foot] = 0.0
            if any(fault.push) and on and 0.0 < since < PUSH_S:
                start = self._held.setdefault(foot, data.xpos[foot].copy())
                force = PUSH_N_M * (start[:2] + rise * np.array(fault.push) - data.xpos[foot][:2])
                data.xfrc_applied[foot, :2] = force * min(1.0, MAX_PUSH_N / max(float(np.linalg.norm(force)), 1e-9))
        if fault.lift:
            self._lift(simulation, since if on else -1.0)

    def _lift(self, simulation: Simulation, since: float) -> None:
        base = simulation.world.base
        data = simulation.data
        data.xfrc_applied[base] = 0.0
        if not 0.0 < since < LIFT_S:
            return
        start = self._held.setdefault(base, data.xpos[base].copy())
        share = min(1.0, since / 0.5, (LIFT_S - since) / 0.5)
        mass = simulation.model.body_subtreemass[base]
        spring = 400.0 * mass
        velocity = data.cvel[base]
        goal = start + np.array([0.03, 0.0, self._fault.lift * share])
        force = spring * (goal - data.xpos[base]) - 2.0 * math.sqrt(spring * mass) * velocity[3:]
        up = data.xmat[base].reshape(3, 3)[:, 2]
        torque = 2.0 * mass * np.cross(up, [0.0, 0.0, 1.0]) - 0.05 * mass * velocity[:3]
        data.xfrc_applied[base] = share * np.concatenate([force, torque])


def outcome(name: str, protocol: str, seed: int, fault: Fault) -> list[str]:
    """What becomes of a self-calibration, and what it says meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "mine.yaml")
        shutil.copyfile(resolve(name), path)
        hidden = FaultyRobot(path, protocol, seed, fault)
        file = load(path)
        before = servo_settings(file, protocol, "the wire")
        dialog = Agreeing()
        try:
            SelfCalibration(lambda: load(path), lambda: before, hidden.toured, dialog).run()
            zeros, lengths = left_errors(file.robot, before, load(path), hidden)
            result = f"written: zeros {figures(zeros)} deg; lengths {figures(lengths)} mm"
        except NotCalibratedError as error:
            result = f"nothing written: {error}"
    said = [f"    {text}" for text in dialog.said if text.kind in ("self_noticed", "self_once_more")]
    return [f"{result}; {len(hidden.minutes)} tours", *said]


def main(name: str, protocol: str, seed: int, labels: list[str]) -> None:
    """Prints what becomes of each fault."""
    for label in labels or FAULTS:
        print(
            f"{name} {protocol} {seed}, {label}:", *outcome(name, protocol, seed, FAULTS[label]), sep="\n", flush=True
        )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:])
