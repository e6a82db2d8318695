"""Finds the meshes of a URDF and reads the vertices of STL files; other formats are not supported."""

from __future__ import annotations

import math
import re
import struct
from pathlib import Path
from urllib.parse import urlparse

import numpy as np

from hexapod_control.config.robots.urdf_import.reading.urdf_text import package_folder
from hexapod_control.core.kinematics.arrays import Array

MAX_MESH_BYTES = 30_000_000
# Binary STL: header and number of triangles; per triangle a normal, three corners and two unused bytes.
HEADER_BYTES, START, TRIANGLE_BYTES, CORNERS = 80, 84, 50, slice(12, 48)


def mesh_path(near: Path, name: str) -> Path | None:
    """The file of a mesh, searched in ROS packages and around the URDF; None if not found."""
    parts = urlparse(name)
    if parts.scheme in ("package", "model"):
        folder = package_folder(near, parts.netloc)
        path = folder / parts.path.lstrip("/") if folder else None
    else:
        path = near.absolute().parent / (parts.path if parts.scheme == "file" else name)
    return path if path is not None and path.is_file() else None


def stl_vertices(path: Path) -> Array | None:
    """Vertices (n, 3) of a binary or ASCII STL file; None for other formats and files that are too large."""
    if path.suffix.lower() != ".stl" or path.stat().st_size > MAX_MESH_BYTES:
        return None
    data = path.read_bytes()
    if len(data) >= START:
        (count,) = struct.unpack_from("<I", data, HEADER_BYTES)
        if count and len(data) >= START + TRIANGLE_BYTES * count:
            triangles = np.frombuffer(data, np.uint8, TRIANGLE_BYTES * count, START).reshape(count, TRIANGLE_BYTES)
            corners = triangles[:, CORNERS].copy().view("<f4").reshape(-1, 3).astype(float)
            return corners if np.isfinite(corners).all() else None
    words = re.findall(rb"vertex\s+(\S+)\s+(\S+)\s+(\S+)", data)
    try:
        points = np.array([[float(word) for word in row] for row in words])
    except ValueError:
        return None
    return points if len(points) and math.isfinite(float(points.sum())) else None
