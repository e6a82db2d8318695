"""Renders a recorded simulation as a film, after the run: rendering during it would delay the physics."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import mujoco
import numpy as np

from hexapod_control.cli.sim.scripted_drive import DriveSpan
from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.sim.rendering.film import Film
from hexapod_control.sim.rendering.state_recording import KEYS
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.world_settings import WorldSettings


def render(
    recording: Path, robot_file: RobotFile, settings: WorldSettings, film: Path, spans: Sequence[DriveSpan]
) -> int:
    """Renders a recording with the name of the current segment as caption. Returns the number of frames.

    Raises ValueError for a file type that is no film, MissingGraphicsError if nothing can be drawn, OSError.
    """
    simulation = Simulation(robot_file.robot, urdf(robot_file), settings)
    picture = Film(simulation, film)
    with np.load(recording) as frames:
        states = zip(*(frames[key] for key in KEYS), strict=True)
        count = 0
        for time, stamp, qpos, qvel, ctrl in states:
            data = simulation.data
            data.time, data.qpos[:], data.qvel[:], data.ctrl[:] = time, qpos, qvel, ctrl
            mujoco.mj_forward(simulation.model, data)
            if picture.due:
                picture.frame(_caption(spans, float(stamp)))
                count += 1
    picture.close()
    return count


def _caption(spans: Sequence[DriveSpan], stamp: float) -> str:
    return next((span.segment.name for span in spans if span.start <= stamp < span.end), "")
