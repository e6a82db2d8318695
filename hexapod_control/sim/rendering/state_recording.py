# SPDX-License-Identifier: Apache-2.0
"""Records the states of a simulation for rendering it later: an .npz file with one row per frame.

`time` (k,) [s] of the simulation, `stamp` (k,) [s] of the messages of that instant, and the state of the physics:
`qpos`, `qvel`, `ctrl`.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.sim.simulation import Simulation

MAX_RECORDING_S = 3600.0  # of simulated time; later states are not recorded
KEYS = ("time", "stamp", "qpos", "qvel", "ctrl")


class StateRecording:
    """Collects states; `save` writes them."""

    def __init__(self, path: Path | str, rate: float) -> None:
        """`rate` is in frames per second of simulated time [Hz]."""
        self.path = Path(path)
        self._period = 1.0 / rate
        self._due = 0.0
        self._rows: list[tuple[float, float, Array, Array, Array]] = []

    def take(self, simulation: Simulation, stamp: float) -> None:
        """Records the present state if the next frame is due; `stamp` [s] is the stamp of the present messages."""
        data = simulation.data
        if data.time < self._due - self._period:  # the world was reset
            self._due = data.time
        if self._due - 1e-9 <= data.time < MAX_RECORDING_S:
            self._due = max(self._due + self._period, data.time + self._period / 2)
            self._rows.append((data.time, stamp, data.qpos.copy(), data.qvel.copy(), data.ctrl.copy()))

    def save(self) -> None:
        """Writes the file atomically. Raises OSError."""
        if not self._rows:
            return
        part = self.path.with_name(f".{self.path.name}.part")
        try:
            time, stamp, qpos, qvel, ctrl = (np.array(column) for column in zip(*self._rows, strict=True))
            with open(part, "wb") as file:
                np.savez(file, time=time, stamp=stamp, qpos=qpos, qvel=qvel, ctrl=ctrl)
            os.replace(part, self.path)
        finally:
            part.unlink(missing_ok=True)
