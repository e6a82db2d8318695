"""RViz markers of the simulated terrain, in the world frame. The web page draws them, too."""

from __future__ import annotations

import mujoco
import numpy as np
from geometry_msgs.msg import Point as PointMessage
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.nodes.mujoco_sim.simulation_output import WORLD_FRAME
from hexapod_control.sim.terrain import GROUND_GROUP

COLUMN_M = 0.1  # side of the boxes that represent a height field
COLUMN_HEIGHT_M = 0.3
COLOR = ColorRGBA(r=0.62, g=0.66, b=0.70, a=1.0)
KINDS = {int(mujoco.mjtGeom.mjGEOM_BOX): Marker.CUBE, int(mujoco.mjtGeom.mjGEOM_CYLINDER): Marker.CYLINDER}


def terrain_markers(model: mujoco.MjModel) -> MarkerArray:
    """Terrain without planes: equal upright boxes as one list, single boxes and cylinders, height fields as boxes."""
    lists: dict[tuple[float, ...], list[Array]] = {}
    markers = []
    for geom in np.flatnonzero(model.geom_group == GROUND_GROUP):
        kind, size, at, turn = (
            each[geom] for each in (model.geom_type, model.geom_size, model.geom_pos, model.geom_quat)
        )
        if kind == mujoco.mjtGeom.mjGEOM_HFIELD:
            half = (COLUMN_M / 2, COLUMN_M / 2, COLUMN_HEIGHT_M / 2)
            lists.setdefault(half, []).extend(_columns(model, int(model.geom_dataid[geom]), at))
        elif kind == mujoco.mjtGeom.mjGEOM_BOX and abs(turn[0]) == 1.0:
            lists.setdefault(tuple(size.tolist()), []).append(at)
        elif kind in KINDS:
            markers.append(_single(KINDS[kind], size, at, turn))
    markers += [_list(half, points) for half, points in lists.items()]
    for number, marker in enumerate(markers):
        marker.id = number
        marker.ns = "terrain"
        marker.action = Marker.ADD
        marker.color = COLOR
        marker.header.frame_id = WORLD_FRAME
    return MarkerArray(markers=markers)


def _columns(model: mujoco.MjModel, field: int, at: Array) -> list[Array]:
    """Centers of boxes whose tops are the heights of a field."""
    rows, columns, start = (int(each[field]) for each in (model.hfield_nrow, model.hfield_ncol, model.hfield_adr))
    half_x, half_y, top, _ = model.hfield_size[field]
    heights = model.hfield_data[start : start + rows * columns].reshape(rows, columns) * top + at[2]
    step_x, step_y = (max(1, round(COLUMN_M * (n - 1) / (2 * half))) for n, half in ((columns, half_x), (rows, half_y)))
    xs = np.linspace(-half_x, half_x, columns)
    ys = np.linspace(-half_y, half_y, rows)
    return [
        np.array([at[0] + xs[i], at[1] + ys[j], heights[j, i] - COLUMN_HEIGHT_M / 2])
        for j in range(0, rows, step_y)
        for i in range(0, columns, step_x)
    ]


def _single(kind: int, size: Array, at: Array, turn: Array) -> Marker:
    marker = Marker(type=kind)
    cylinder = kind == Marker.CYLINDER
    x, y, z = (size[0], size[0], size[1]) if cylinder else size
    marker.scale.x, marker.scale.y, marker.scale.z = 2.0 * float(x), 2.0 * float(y), 2.0 * float(z)
    position, rotation = marker.pose.position, marker.pose.orientation
    position.x, position.y, position.z = (float(value) for value in at)
    rotation.w, rotation.x, rotation.y, rotation.z = (float(value) for value in turn)
    return marker


def _list(half: tuple[float, ...], points: list[Array]) -> Marker:
    marker = Marker(type=Marker.CUBE_LIST)
    marker.scale.x, marker.scale.y, marker.scale.z = (2.0 * value for value in half)
    marker.points = [PointMessage(x=float(x), y=float(y), z=float(z)) for x, y, z in points]
    return marker
