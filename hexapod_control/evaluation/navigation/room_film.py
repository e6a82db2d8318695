# SPDX-License-Identifier: Apache-2.0
"""A film of a recorded walk in a room, from above and five times as fast: the robot, its path, and its goals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import mujoco
import numpy as np
from PIL import Image, ImageDraw

from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.se2 import Pose
from hexapod_control.sim.rendering.offscreen_camera import OffscreenCamera
from hexapod_control.sim.rendering.state_recording import KEYS
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.world_settings import WorldSettings

SIDE_PX = 360  # of the square picture
PERIOD_S = 0.5  # of the walk, between two frames
FRAME_MS = 100  # of the film, between two frames
COLOURS = 48  # of the palette
MARGIN_M = 0.1  # of the picture around the room
GOAL_RADIUS_PX = 4
ARROW_M = 0.3  # in the direction of a goal
PATH_COLOUR = (25, 110, 190)
GOAL_COLOUR = (200, 60, 30)

Pixel = tuple[float, float]


def render(recording: Path, robot_file: RobotFile, world: WorldSettings, goals: Sequence[Pose], film: Path) -> int:
    """Writes an animated GIF. Returns the number of frames. Raises MissingGraphicsError, OSError."""
    simulation = Simulation(robot_file.robot, urdf(robot_file), world)
    side = world.room_size + 2.0 * MARGIN_M
    camera = _camera_above(simulation, side)
    path: list[Pixel] = []
    pictures = []
    with np.load(recording) as frames:
        due = -math.inf
        for time, _, qpos, qvel, ctrl in zip(*(frames[key] for key in KEYS), strict=True):
            if time < due:
                continue
            due = time + PERIOD_S
            data = simulation.data
            data.time = time
            data.qpos[:] = qpos
            data.qvel[:] = qvel
            data.ctrl[:] = ctrl
            mujoco.mj_forward(simulation.model, data)
            path.append(_pixel(qpos[0], qpos[1], side))
            picture = Image.fromarray(camera.capture(data))
            _draw(picture, path, goals, side)
            pictures.append(picture)
    camera.close()
    if pictures:
        palette = pictures[-1].quantize(COLOURS)
        first, *rest = (picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures)
        first.save(film, save_all=True, append_images=rest, duration=FRAME_MS, loop=0, disposal=1)
    return len(pictures)


def _camera_above(simulation: Simulation, side: float) -> OffscreenCamera:
    """A camera that sees a square of the ground with this side [m], x to the right."""
    camera = OffscreenCamera(simulation.model, SIDE_PX, SIDE_PX, shadows=False)
    view = camera.view
    view.azimuth = 90.0
    view.elevation = -90.0
    view.lookat[:] = 0.0
    view.distance = side / 2.0 / math.tan(math.radians(simulation.model.vis.global_.fovy) / 2.0)
    return camera


def _pixel(x: float, y: float, side: float) -> Pixel:
    """Where a point of the ground [m] is in a picture of a square with this side [m]."""
    return SIDE_PX * (0.5 + x / side), SIDE_PX * (0.5 - y / side)


def _draw(picture: Image.Image, path: Sequence[Pixel], goals: Sequence[Pose], side: float) -> None:
    draw = ImageDraw.Draw(picture)
    for goal in goals:
        x, y = _pixel(goal.x, goal.y, side)
        tip = _pixel(goal.x + ARROW_M * math.cos(goal.yaw), goal.y + ARROW_M * math.sin(goal.yaw), side)
        draw.line((x, y, *tip), fill=GOAL_COLOUR, width=2)
        draw.circle((x, y), GOAL_RADIUS_PX, fill=GOAL_COLOUR)
    if len(path) > 1:
        draw.line(path, fill=PATH_COLOUR, width=2)
