# SPDX-License-Identifier: Apache-2.0
"""`hexapod camera-calibrate`: finds from the floor how a depth camera is mounted, and writes it into the robot file."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

import numpy as np

from hexapod_control.cli.bounded_options import CommandFailedError, InputError
from hexapod_control.clients import connection_options
from hexapod_control.config import ros_names
from hexapod_control.config.bounded_yaml import read_text
from hexapod_control.config.errors import DONE
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.section_writer import own_file, save_text, with_values
from hexapod_control.core.calibration.camera_mounting import Mounting, MountingError, find_mounting
from hexapod_control.core.robot import Camera, Robot


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    parser.add_argument("--robot", required=True, metavar="FILE", help="robot file, with the mounting as measured")
    parser.add_argument("--camera", default="", metavar="NAME", help="of several in the robot file")
    parser.add_argument("--image", default="", metavar="TOPIC", help="depth image (default: NAME/depth/image_rect_raw)")
    connection_options.add_arguments(parser)
    parser.add_argument("--dry-run", action="store_true", help="print the mounting, write nothing")


def run(args: argparse.Namespace) -> int:
    """Measures and writes. Returns 0. Raises InputError, RobotError, and CommandFailedError if it did not succeed."""
    path = own_file(args.robot)
    robot = load(path).robot
    camera = _camera(robot, args.camera)
    topic = ros_names.topic(args.image or camera.image_topic)
    from hexapod_control.clients.camera_survey import views

    options = connection_options.connection(args)
    try:
        found = find_mounting(robot, camera, views(options, robot, camera, topic, lambda text: print(text, flush=True)))
    except MountingError as error:
        raise CommandFailedError(f"{error}; nothing was written, repeat on a flat floor that it sees") from None
    values = {"position": _rounded(found.camera.position, 4), "rpy_deg": _rounded(np.degrees(found.camera.rpy), 2)}
    print(_described(camera, found, values))
    if args.dry_run:
        return DONE
    changes: dict[tuple[str, ...], list[float]] = {
        ("cameras", camera.name, key): value for key, value in values.items()
    }
    backup = save_text(path, with_values(read_text(path, newline=""), changes), "cameras")
    print(f"written to {path}, backup: {backup.name}; start the robot again to use it")
    return DONE


def _camera(robot: Robot, name: str) -> Camera:
    cameras = {camera.name: camera for camera in robot.cameras}
    if not cameras:
        raise InputError("--robot: the file has no section cameras; add it, with the mounting as measured by hand")
    if not name and len(cameras) == 1:
        return robot.cameras[0]
    if name not in cameras:
        raise InputError(f"--camera: must be one of {', '.join(cameras)}, is {name or 'missing'}")
    return cameras[name]


def _rounded(values: Iterable[float], digits: int) -> list[float]:
    return [round(float(value), digits) for value in values]


def _described(before: Camera, found: Mounting, values: dict[str, list[float]]) -> str:
    """The mounting with standard deviations, and how flat the floor is."""
    x, y, z = 1000.0 * found.position_deviation
    roll, pitch, yaw = np.degrees(found.angle_deviation)
    hand = _rounded(np.degrees(before.rpy), 2)
    return (
        f"{before.name}: position {values['position']} m +- {x:.0f}, {y:.0f}, {z:.0f} mm; was {list(before.position)}\n"
        f"rpy_deg {values['rpy_deg']} +- {roll:.1f}, {pitch:.1f}, {yaw:.1f}; was {hand}\n"
        f"the floor that it sees deviates by {1000.0 * found.floor_deviation:.1f} mm from the plane of the feet"
    )
