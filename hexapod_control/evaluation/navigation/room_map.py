"""The map of a simulated room, as map_server reads it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.sim.terrain import Obstacle, layout
from hexapod_control.sim.world_settings import WorldSettings

RESOLUTION_M = 0.05
BORDER_M = 0.5  # of wall around the room
# gray values
OCCUPIED = 0
FREE = 254


def write_room_map(settings: WorldSettings, folder: Path) -> Path:
    """Draws walls and obstacles of a room as the robot starts in it, at the origin. Returns the .yaml file."""
    half = settings.room_size / 2.0 + BORDER_M
    cells = round(2.0 * half / RESOLUTION_M)
    centers = (np.arange(cells) + 0.5) * RESOLUTION_M - half
    x, y = np.meshgrid(centers, centers[::-1])  # the first row of the picture is the farthest y
    taken = np.maximum(abs(x), abs(y)) > settings.room_size / 2.0
    for obstacle in layout(settings):
        taken |= _inside(obstacle, x, y)
    picture = np.where(taken, OCCUPIED, FREE).astype(np.uint8)
    (folder / "room.pgm").write_bytes(b"P5\n%d %d\n255\n" % (cells, cells) + picture.tobytes())
    file = folder / "room.yaml"
    file.write_text(
        f"image: room.pgm\nmode: trinary\nresolution: {RESOLUTION_M}\norigin: [{-half}, {-half}, 0.0]\n"
        "negate: 0\noccupied_thresh: 0.65\nfree_thresh: 0.25\n",
        encoding="utf-8",
    )
    return file


def _inside(obstacle: Obstacle, x: Array, y: Array) -> NDArray[np.bool_]:
    """Whether points [m] are in a box or a cylinder, or less than half a cell beside it."""
    c = np.cos(obstacle.yaw)
    s = np.sin(obstacle.yaw)
    margin = RESOLUTION_M / 2.0
    dx = x - obstacle.x
    dy = y - obstacle.y
    if len(obstacle.size) == 1:
        return np.hypot(dx, dy) <= obstacle.size[0] + margin
    along = abs(c * dx + s * dy)
    across = abs(c * dy - s * dx)
    return (along <= obstacle.size[0] + margin) & (across <= obstacle.size[1] + margin)
