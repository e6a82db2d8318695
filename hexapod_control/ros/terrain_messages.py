# SPDX-License-Identifier: Apache-2.0
"""Converts depth images, clouds, and the height map between ROS messages and arrays.

A message that cannot be used raises MessageError, whose text names the error and the remedy.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from builtin_interfaces.msg import Time
from nav_msgs.msg import OccupancyGrid
from numpy.typing import DTypeLike, NDArray
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import CameraInfo, Image, PointCloud2, PointField
from std_msgs.msg import Float32MultiArray, MultiArrayDimension

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.terrain.depth_image import depth_points
from hexapod_control.core.terrain.height_map import TerrainGrid
from hexapod_control.ros import messages
from hexapod_control.ros.message_types import message_class
from hexapod_control.ros.row_messages import MessageError

MAX_IMAGE_BYTES = 32_000_000  # of an image or cloud: four million pixels with 8 bytes
MAX_CELLS = 1_000_000  # of a terrain map
# Pixels of an image that are used: 10 mm apart at half a metre
MAX_COLUMNS = 96
MAX_ROWS = 72
MILLIMETRE = 0.001  # [m]
DEPTHS = {"16UC1": ("u2", MILLIMETRE), "mono16": ("u2", MILLIMETRE), "32FC1": ("f4", 1.0)}  # REP 118
NUMBERS = {
    PointField.INT8: "i1",
    PointField.UINT8: "u1",
    PointField.INT16: "i2",
    PointField.UINT16: "u2",
    PointField.INT32: "i4",
    PointField.UINT32: "u4",
    PointField.FLOAT32: "f4",
    PointField.FLOAT64: "f8",
}
LAYERS = ("x", "y", "z", "spread", "ceiling")  # fields of the topic terrain_map, float32
MAX_UNEVENNESS = 0.02  # of the distances between the cells of a map
GRID_MAP = message_class("grid_map_msgs/msg/GridMap")  # None where that package is not installed
ELEVATION = "elevation"  # layers of a GridMap
VARIANCE = "variance"
CEILING = "ceiling"
UNTOLD_DEVIATION = 0.005  # [m] of a GridMap without the layer `variance`
UNTURNED = 1e-3  # of the quaternion's x, y and z, up to which a GridMap counts as along the axes of its frame


def large_decoder(kind: Any) -> Callable[[bytes], Any]:
    """As `messages.decoder`, for images, clouds and maps."""
    return messages.guarded(partial(deserialize_message, message_type=kind), MAX_IMAGE_BYTES)


class Lens(NamedTuple):
    """The pinhole model of a rectified camera."""

    focal: tuple[float, float]  # [pixels]
    center: tuple[float, float]  # [pixels]
    size: tuple[int, int]  # columns, rows


def lens(message: CameraInfo) -> Lens:
    """Converts sensor_msgs/CameraInfo. Raises MessageError."""
    projection = message.p if message.p[0] else None  # not set by cameras without calibration
    k = message.k
    values = (k[0], k[4], k[2], k[5]) if projection is None else tuple(projection[i] for i in (0, 5, 2, 6))
    fx, fy, cx, cy = (float(value) for value in values)
    if not (all(map(math.isfinite, (fx, fy, cx, cy))) and fx > 0.0 and fy > 0.0):
        raise MessageError(
            f"the focal lengths are ({fx:g}, {fy:g}) pixels; calibrate the camera, or set k in its driver"
        )
    return Lens((fx, fy), (cx, cy), (message.width, message.height))


def depth_image(message: Image, seen_by: Lens) -> Array:
    """Converts a depth image to depths (rows, columns) [m], NaN without a return. Raises MessageError."""
    if message.encoding not in DEPTHS:
        raise MessageError(f"its encoding is {message.encoding!r:.60}; send a depth image: {', '.join(DEPTHS)}")
    columns, rows = message.width, message.height
    if (columns, rows) != seen_by.size:
        text = f"it has {columns} x {rows} pixels, its camera_info {seen_by.size[0]} x {seen_by.size[1]}"
        raise MessageError(f"{text}; both must be of the same camera and mode")
    kind, unit = DEPTHS[message.encoding]
    dtype = _ordered(kind, big=bool(message.is_bigendian))
    if not columns or not rows or message.step < columns * dtype.itemsize or len(message.data) != message.step * rows:
        text = f"{columns} x {rows} pixels of {dtype.itemsize} bytes in rows of {message.step}"
        raise MessageError(f"it has {len(message.data)} bytes of data, which is not {text}; check the driver")
    data = np.ndarray((rows, columns), dtype, _bytes(message.data), strides=(message.step, dtype.itemsize))
    depth = data.astype(float) * unit
    return np.where(np.isfinite(depth) & (depth > 0.0), depth, np.nan)


def depth_image_points(message: Image, seen_by: Lens) -> Array:
    """Converts a depth image to points (n, 3) [m] in its optical frame, of MAX_COLUMNS x MAX_ROWS pixels at most.

    Raises MessageError.
    """
    depth = depth_image(message, seen_by)
    across = math.ceil(depth.shape[1] / MAX_COLUMNS)
    down = math.ceil(depth.shape[0] / MAX_ROWS)
    (fx, fy), (cx, cy), _ = seen_by
    return depth_points(depth[::down, ::across], (fx / across, fy / down), (cx / across, cy / down))


def camera_info_topic(images: str) -> str:
    """The topic of the camera_info beside a topic of images."""
    folder, slash, _ = images.rpartition("/")
    return f"{folder}{slash}camera_info"


def depth_message(depth: Array, frame: str, stamp: Time) -> Image:
    """Converts depths (rows, columns) [m], NaN without a return, to a depth image."""
    rows, columns = depth.shape
    message = Image(height=rows, width=columns, encoding="32FC1", is_bigendian=0, step=4 * columns)
    message.header.frame_id = frame
    message.header.stamp = stamp
    message.data = array("B", depth.astype("<f4").tobytes())
    return message


def camera_info_message(seen_by: Lens, frame: str, stamp: Time) -> CameraInfo:
    """Converts the pinhole model of a camera without distortion."""
    (fx, fy), (cx, cy), (columns, rows) = seen_by
    message = CameraInfo(width=columns, height=rows, distortion_model="plumb_bob", d=[0.0] * 5)
    message.header.frame_id = frame
    message.header.stamp = stamp
    message.k = [fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0]
    message.r = np.eye(3).ravel().tolist()
    message.p = [fx, 0.0, cx, 0.0, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0]
    return message


def cloud(message: PointCloud2, *names: str) -> Array:
    """Returns fields (rows, columns, number of names) of sensor_msgs/PointCloud2 as they are. Raises MessageError."""
    fields = {field.name: field for field in message.fields}
    columns = message.width
    rows = message.height
    step = message.point_step
    layers = []
    for name in names:
        if name not in fields:
            raise MessageError(f"it has no field {name}, only {', '.join(fields) or 'none'}; send {', '.join(names)}")
        field = fields[name]
        if field.datatype not in NUMBERS:
            raise MessageError(f"its field {name} has the unknown datatype {field.datatype}; send float32")
        dtype = _ordered(NUMBERS[field.datatype], big=bool(message.is_bigendian))
        fits = field.offset + dtype.itemsize <= step and message.row_step >= columns * step
        if not fits or len(message.data) != message.row_step * rows:
            text = f"{columns} x {rows} points of {step} bytes in rows of {message.row_step}"
            raise MessageError(f"it has {len(message.data)} bytes of data, which is not {text}; check the driver")
        if columns and rows:
            strides = (message.row_step, step)
            layers.append(np.ndarray((rows, columns), dtype, _bytes(message.data), field.offset, strides))
    if not layers:
        return np.empty((0, 0, len(names)))
    return np.stack([layer.astype(float) for layer in layers], axis=-1)


def _ordered(kind: DTypeLike, *, big: bool) -> np.dtype[Any]:
    return np.dtype(kind).newbyteorder(">" if big else "<")


def _bytes(data: Any) -> memoryview:
    return memoryview(data).cast("B")


def terrain_map_message(grid: TerrainGrid, frame: str) -> PointCloud2:
    """Converts a grid to the organised cloud of the topic terrain_map, with the stamp of its newest scan.

    Rows run along y and columns along x of `frame`. `z` is NaN where the ground is unknown, `spread` its standard
    deviation, `ceiling` the underside of what hangs over it.
    """
    rows, columns = grid.ground.shape
    values = np.empty((rows, columns, len(LAYERS)), dtype="<f4")
    values[..., 0] = grid.origin[0] + grid.cell * np.arange(columns)
    values[..., 1] = grid.origin[1] + grid.cell * np.arange(rows)[:, np.newaxis]
    for k, layer in enumerate((grid.ground, grid.deviation, grid.ceiling), start=2):
        values[..., k] = layer
    return cloud_message(values, LAYERS, frame, messages.time(round(grid.time * messages.NANOSECONDS)))


def cloud_message(values: Array, names: Sequence[str], frame: str, stamp: Time) -> PointCloud2:
    """Converts fields (rows, columns, number of names) to an organised cloud of float32."""
    rows, columns, count = values.shape
    message = PointCloud2(height=rows, width=columns, point_step=4 * count, row_step=4 * count * columns)
    message.header.frame_id = frame
    message.header.stamp = stamp
    message.fields = [
        PointField(name=name, offset=4 * k, datatype=PointField.FLOAT32, count=1) for k, name in enumerate(names)
    ]
    message.data = array("B", values.astype("<f4").tobytes())
    return message


def terrain_grid(message: PointCloud2) -> TerrainGrid:
    """Converts a message of the topic terrain_map to a grid. Raises MessageError.

    `ceiling` may be missing. The grid is refused unless its cells are square and evenly spaced along x and y.
    """
    rows, columns = message.height, message.width
    if not (rows >= 2 and columns >= 2 and rows * columns <= MAX_CELLS):
        raise MessageError(f"it has {columns} x {rows} cells; send a grid of 2 x 2 to {MAX_CELLS} cells")
    with_ceiling = any(field.name == "ceiling" for field in message.fields)
    layers = cloud(message, *(LAYERS if with_ceiling else LAYERS[:-1]))
    x, y, ground, deviation = (layers[..., k] for k in range(4))
    ceiling = layers[..., 4] if with_ceiling else np.full_like(ground, np.nan)
    cell = float(x[0, -1] - x[0, 0]) / (columns - 1)
    even = np.arange(columns) * cell + x[0, 0], np.arange(rows)[:, np.newaxis] * cell + y[0, 0]
    with np.errstate(invalid="ignore"):
        errors = max(float(np.abs(x - even[0]).max()), float(np.abs(y - even[1]).max()))
    if not (cell > 0.0 and errors < MAX_UNEVENNESS * cell):
        raise MessageError("its points are no grid with square cells, rows along y and columns along x")
    known = np.isfinite(ground) & np.isfinite(deviation)
    return TerrainGrid(
        (float(x[0, 0]), float(y[0, 0])),
        cell,
        np.where(known, ground, np.nan),
        np.where(known, deviation, np.nan),
        np.where(np.isfinite(ceiling), ceiling, np.nan),
        messages.nanoseconds(message.header.stamp) / messages.NANOSECONDS,
    )


def without_grid_map() -> str:
    """Why a GridMap cannot be used here; empty if it can."""
    return "" if GRID_MAP else "needs the package grid_map_msgs, which is not installed"


def grid_map_message(grid: TerrainGrid, frame: str) -> Any:
    """Converts a grid to grid_map_msgs/GridMap, with the layers elevation, variance and ceiling; it must be installed.

    Rows of a GridMap run along -x, columns along -y, and a layer is stored column by column.
    """
    rows, columns = grid.ground.shape
    message = GRID_MAP()
    message.header.frame_id = frame
    message.header.stamp = messages.time(round(grid.time * messages.NANOSECONDS))
    info = message.info
    info.resolution = grid.cell
    info.length_x, info.length_y = columns * grid.cell, rows * grid.cell
    info.pose.position.x = grid.origin[0] + 0.5 * (columns - 1) * grid.cell
    info.pose.position.y = grid.origin[1] + 0.5 * (rows - 1) * grid.cell
    info.pose.orientation.w = 1.0
    message.layers = [ELEVATION, VARIANCE, CEILING]
    message.basic_layers = [ELEVATION]
    for layer in (grid.ground, grid.deviation**2, grid.ceiling):
        data = Float32MultiArray(data=array("f", layer[::-1, ::-1].astype("<f4").tobytes()))
        data.layout.dim = [
            MultiArrayDimension(label="column_index", size=rows, stride=rows * columns),
            MultiArrayDimension(label="row_index", size=columns, stride=columns),
        ]
        message.data.append(data)
    return message


def grid_of_map(message: Any) -> TerrainGrid:
    """Converts grid_map_msgs/GridMap with a layer `elevation` [m] to a grid. Raises MessageError.

    `variance` [m^2] and `ceiling` [m] may be missing.
    """
    info = message.info
    pose = info.pose
    cell = float(info.resolution)
    numbers = (cell, info.length_x, info.length_y, pose.position.x, pose.position.y)
    if not (all(map(math.isfinite, numbers)) and cell > 0.0):
        raise MessageError(f"its resolution is {cell:g} m and its size {info.length_x:g} x {info.length_y:g} m")
    rows, columns = round(info.length_y / cell), round(info.length_x / cell)
    if not (rows >= 2 and columns >= 2 and rows * columns <= MAX_CELLS):
        raise MessageError(f"it has {columns} x {rows} cells; send a grid of 2 x 2 to {MAX_CELLS} cells")
    turned = pose.orientation
    if max(abs(turned.x), abs(turned.y), abs(turned.z)) > UNTURNED:
        raise MessageError("it is turned in its frame; send a map along the axes of its frame")
    layers = dict(zip(message.layers, message.data, strict=False))
    if ELEVATION not in layers:
        raise MessageError(f"it has no layer {ELEVATION}, only {', '.join(layers) or 'none'}")
    start = int(message.outer_start_index), int(message.inner_start_index)
    ground = _layer(layers[ELEVATION], (rows, columns), start)
    unknown = np.full_like(ground, np.nan)
    variance = _layer(layers[VARIANCE], (rows, columns), start) if VARIANCE in layers else unknown
    deviation = np.sqrt(np.where(variance >= 0.0, variance, UNTOLD_DEVIATION**2))
    return TerrainGrid(
        (pose.position.x - 0.5 * (columns - 1) * cell, pose.position.y - 0.5 * (rows - 1) * cell),
        cell,
        ground,
        np.where(np.isnan(ground), np.nan, deviation),
        _layer(layers[CEILING], (rows, columns), start) if CEILING in layers else unknown,
        messages.nanoseconds(message.header.stamp) / messages.NANOSECONDS,
    )


def _layer(data: Any, shape: tuple[int, int], start: tuple[int, int]) -> Array:
    """A layer of a GridMap with rows along y and columns along x, NaN where it is unknown. Raises MessageError."""
    rows, columns = shape
    labels = [dim.label for dim in data.layout.dim]
    by_column = labels == ["column_index", "row_index"]
    if not by_column and labels != ["row_index", "column_index"]:
        raise MessageError(f"the layout of its layers is {labels!r:.60}; send column_index, row_index")
    values = np.array(data.data, dtype=float)
    if values.size != rows * columns:
        raise MessageError(f"a layer has {values.size} values for {columns} x {rows} cells")
    stored = values.reshape(rows, columns) if by_column else values.reshape(columns, rows).T
    layer = np.roll(stored, (-start[1], -start[0]), axis=(0, 1))[::-1, ::-1]
    found: Array = np.where(np.isfinite(layer), layer, np.nan)
    return found


def occupancy_message(cost: NDArray[np.int8], grid: TerrainGrid, frame: str, stamp: Time) -> OccupancyGrid:
    """Converts costs (rows, columns) of the cells of a grid, 0 to 100 and -1 for unknown, to nav_msgs/OccupancyGrid."""
    message = OccupancyGrid()
    message.header.frame_id = frame
    message.header.stamp = stamp
    info = message.info
    info.map_load_time = stamp
    info.resolution = grid.cell
    info.height, info.width = cost.shape
    info.origin.position.x, info.origin.position.y = (least - 0.5 * grid.cell for least in grid.origin)
    info.origin.orientation.w = 1.0
    message.data = array("b", np.ascontiguousarray(cost, dtype=np.int8).tobytes())
    return message
