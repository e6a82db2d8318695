# SPDX-License-Identifier: Apache-2.0
"""The optional section `cameras` of a robot file."""

from __future__ import annotations

import math
from typing import Any

from hexapod_control.config.document import DocumentEntry
from hexapod_control.config.robots.robot_keys import CAMERA
from hexapod_control.config.schema import (
    CheckedValues,
    checked_section,
    known_keys,
    refuse_name,
    refuse_unknown,
)
from hexapod_control.config.sentence import Sentence
from hexapod_control.core.robot import Camera

_REQUIRED = ("position", "rpy_deg")
_RESERVED = ("base", "imu", "lidar")  # their links have frames already


def read_cameras(root: DocumentEntry) -> tuple[Camera, ...]:
    """The cameras of the section, none if there is no such section. Raises RobotFileError."""
    section = root.children.get("cameras")
    if section is None:
        return ()
    return tuple(
        _camera(name, entry) for name, entry in checked_section(section, "one entry per camera").children.items()
    )


def _camera(name: str, entry: DocumentEntry) -> Camera:
    refuse_name(entry, name, "camera", "camera")
    if name in _RESERVED:
        raise entry.error(
            Sentence("camera_frame_taken", name=name),
            Sentence("file_other_name"),
            Sentence("file_example", example="camera"),
        )
    refuse_unknown(entry, known_keys(row.key for row in CAMERA))
    rows = [row for row in CAMERA if row.key in _REQUIRED or row.key in entry.children]
    values = CheckedValues.checked(entry, rows)
    given: dict[str, Any] = dict(values.values)
    if "range" in given and given["range"][0] >= given["range"][1]:
        shortest, longest = given["range"]
        bound = Sentence("camera_range")
        raise values.entries["range"].error(
            Sentence("file_pair", first=shortest, second=longest), bound, Sentence("file_swapped")
        )
    for key in ("rpy_deg", "fov_deg"):
        if key in given:
            given[key.removesuffix("_deg")] = tuple(map(math.radians, given.pop(key)))
    if "resolution" in given:
        given["resolution"] = tuple(map(int, given["resolution"]))
    return Camera(name, **given)
