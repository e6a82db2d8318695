# SPDX-License-Identifier: Apache-2.0
"""Depth images, clouds and the terrain map: values arrive as they were, and what cannot be used is named."""

import contextlib
import math

import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import CameraInfo, Image, PointCloud2, PointField

from hexapod_control.core.terrain.height_map import TerrainGrid
from hexapod_control.ros import messages
from hexapod_control.ros.row_messages import MessageError
from hexapod_control.ros.terrain_messages import (
    GRID_MAP,
    Lens,
    cloud,
    depth_image,
    grid_map_message,
    grid_of_map,
    lens,
    occupancy_message,
    terrain_grid,
    terrain_map_message,
)

SIZE = (5, 3)  # columns, rows
LENS = Lens((4.0, 4.0), (2.0, 1.0), SIZE)
DEPTH = np.arange(15.0).reshape(3, 5) / 8.0  # [m]; the first is no return


def image(encoding="32FC1", kind="<f4", unit=1.0, pad=0, **values):
    """A depth image of DEPTH, with `pad` bytes at the end of each row."""
    rows = (DEPTH / unit).astype(kind)
    data = b"".join(row.tobytes() + bytes(pad) for row in rows)
    made = Image(width=5, height=3, encoding=encoding, is_bigendian=int(kind[0] == ">"), step=len(data) // 3, data=data)
    for name, value in values.items():
        setattr(made, name, value)
    return made


def grid():
    rng = np.random.default_rng(1)
    ground = rng.normal(0.0, 0.1, (6, 9))
    ground[2, 3] = math.nan
    deviation = np.where(np.isnan(ground), math.nan, 0.004)
    ceiling = np.where(rng.random((6, 9)) < 0.5, 0.4, math.nan)
    return TerrainGrid((-31.4, 12.7), 0.015, ground, deviation, ceiling, 1_700_000_000.25)


@pytest.mark.parametrize(
    "made", [image(), image(kind=">f4"), image("16UC1", "<u2", 0.001), image("16UC1", ">u2", 0.001, pad=6)]
)
def test_depths_are_metres_whatever_their_encoding(made):
    expected = np.where(DEPTH > 0.0, DEPTH, math.nan)
    np.testing.assert_allclose(depth_image(made, LENS), expected, atol=1e-3)


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (image(encoding="rgb8"), "its encoding is 'rgb8'; send a depth image: 16UC1"),
        (image(width=6), "it has 6 x 3 pixels, its camera_info 5 x 3"),
        (image(step=7), "which is not 5 x 3 pixels of 4 bytes in rows of 7"),
        (image(data=bytes(10)), "it has 10 bytes of data"),
    ],
)
def test_an_image_that_cannot_be_used_is_named(made, text):
    with pytest.raises(MessageError, match=text):
        depth_image(made, LENS)


def test_the_lens_is_that_of_the_rectified_image():
    info = CameraInfo(width=5, height=3)
    info.k = np.array([400.0, 0, 3, 0, 410, 2, 0, 0, 1])
    assert lens(info) == Lens((400.0, 410.0), (3.0, 2.0), (5, 3))
    info.p = np.array([390.0, 0, 4, 0, 0, 395, 1, 0, 0, 0, 1, 0])
    assert lens(info) == Lens((390.0, 395.0), (4.0, 1.0), (5, 3))
    for focal in (0.0, math.nan):
        with pytest.raises(MessageError, match="focal lengths"):
            lens(CameraInfo(k=np.full(9, focal)))


def test_a_terrain_map_arrives_as_it_was_sent():
    sent = grid()
    message = deserialize_message(serialize_message(terrain_map_message(sent, "odom")), PointCloud2)
    got = terrain_grid(message)
    assert (message.height, message.width, message.header.frame_id) == (6, 9, "odom")
    assert got.origin == pytest.approx(sent.origin, abs=1e-5) and got.cell == pytest.approx(sent.cell, abs=1e-5)
    assert got.time == pytest.approx(sent.time, abs=1e-6)
    for layer in ("ground", "deviation", "ceiling"):
        np.testing.assert_allclose(getattr(got, layer), getattr(sent, layer), atol=1e-7)
    assert np.isnan(got.heights(0.0, 0.0))


with_grid_map = pytest.mark.skipif(GRID_MAP is None, reason="the optional package grid_map_msgs is not installed")


@with_grid_map
def test_a_grid_map_arrives_as_it_was_whatever_its_start_and_its_order():
    sent = grid()
    message = grid_map_message(sent, "odom")
    assert (message.info.length_x, message.info.length_y) == pytest.approx((9 * 0.015, 6 * 0.015))
    plain = deserialize_message(serialize_message(message), GRID_MAP)
    # As the message defines it: the first value is that of the cell with the largest x and y, the next one has less x.
    assert plain.data[0].data[0] == pytest.approx(sent.ground[-1, -1], abs=1e-6)
    assert plain.data[0].data[1] == pytest.approx(sent.ground[-1, -2], abs=1e-6)
    shifted, turned = (deserialize_message(serialize_message(message), GRID_MAP) for _ in range(2))
    shifted.outer_start_index, shifted.inner_start_index = 4, 2
    for layer in shifted.data:
        layer.data = np.roll(np.reshape(layer.data, (6, 9)), (2, 4), axis=(0, 1)).ravel().tolist()
    for layer in turned.data:
        layer.data = np.reshape(layer.data, (6, 9)).T.ravel().tolist()
        layer.layout.dim = layer.layout.dim[::-1]
    for got in map(grid_of_map, (plain, shifted, turned)):
        assert got.origin == pytest.approx(sent.origin) and got.cell == pytest.approx(sent.cell)
        assert got.time == pytest.approx(sent.time, abs=1e-6)
        for name in ("ground", "deviation", "ceiling"):
            np.testing.assert_allclose(getattr(got, name), getattr(sent, name), atol=1e-6)


@with_grid_map
@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda map_: setattr(map_, "layers", ["height"]), "it has no layer elevation, only height"),
        (lambda map_: setattr(map_.info, "resolution", math.nan), "its resolution is nan m"),
        (lambda map_: setattr(map_.info, "length_x", 1e9), "send a grid of 2 x 2"),
        (lambda map_: setattr(map_.info.pose.orientation, "z", 0.5), "it is turned in its frame"),
        (lambda map_: setattr(map_.data[0], "data", [0.0]), "a layer has 1 values for 9 x 6 cells"),
        (lambda map_: setattr(map_.data[0].layout.dim[0], "label", ""), "the layout of its layers is"),
    ],
)
def test_a_grid_map_that_cannot_be_used_is_named(change, text):
    message = grid_map_message(grid(), "odom")
    change(message)
    with pytest.raises(MessageError, match=text):
        grid_of_map(message)


def test_a_cloud_has_its_points_whatever_its_layout():
    points = np.arange(12.0).reshape(2, 2, 3)
    data = np.zeros((2, 2, 5), dtype=">f8")
    data[..., :3] = points
    message = PointCloud2(height=2, width=2, point_step=40, row_step=80, is_bigendian=True, data=data.tobytes())
    message.fields = [PointField(name=n, offset=8 * k, datatype=PointField.FLOAT64) for k, n in enumerate("xyz")]
    np.testing.assert_array_equal(cloud(message, "x", "y", "z"), points)
    message.height = message.width = message.row_step = 0
    message.data = b""
    assert cloud(message, "x", "y", "z").size == 0


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"fields": []}, "it has no field x, only none; send x, y, z"),
        ({"data": bytes(7)}, "it has 7 bytes of data"),
        ({"point_step": 3}, "9 x 6 points of 3 bytes"),
        ({"width": 1}, "it has 1 x 6 cells"),
        ({"fields": [PointField(name=n, datatype=7) for n in ("x", "y", "z", "spread")]}, "no grid with square cells"),
        ({"fields": [PointField(name="x", datatype=99)]}, "unknown datatype 99"),
    ],
)
def test_a_terrain_map_that_cannot_be_used_is_named(changes, text):
    message = terrain_map_message(grid(), "odom")
    for name, value in changes.items():
        setattr(message, name, value)
    with pytest.raises(MessageError, match=text):
        terrain_grid(message)


def test_random_bytes_raise_only_message_errors():
    rng = np.random.default_rng(2)
    for _ in range(300):
        message = terrain_map_message(grid(), "odom")
        for name in rng.choice(["height", "width", "point_step", "row_step"], 2):
            setattr(message, name, int(rng.integers(0, 200)))
        for field in message.fields:
            if rng.random() < 0.3:
                field.offset, field.datatype = int(rng.integers(0, 40)), int(rng.integers(0, 12))
        message.data = rng.bytes(int(rng.choice([len(message.data), rng.integers(0, 2000)])))
        with contextlib.suppress(MessageError):
            terrain_grid(message)


def test_costs_are_where_their_cells_are():
    cost = np.arange(54, dtype=np.int8).reshape(6, 9) - 1
    message = occupancy_message(cost, grid(), "odom", messages.time(5))
    assert (message.info.width, message.info.height) == (9, 6)
    assert message.info.origin.position.x == pytest.approx(-31.4 - 0.0075)
    assert list(message.data) == cost.ravel().tolist()
