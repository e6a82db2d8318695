# SPDX-License-Identifier: Apache-2.0
"""Meshes of a URDF: their files, also if the URDF names them by a path of another computer, and their vertices."""

from __future__ import annotations

import os
import re
import struct
import tempfile
from functools import lru_cache
from importlib.util import find_spec
from io import BytesIO
from itertools import islice
from pathlib import Path
from urllib.parse import unquote, urlparse

import numpy as np

from hexapod_control.config.robots.urdf_import.reading.urdf_text import MAX_FOLDERS_UP, package_folder
from hexapod_control.core.kinematics.arrays import Array

MAX_MESH_BYTES = 30_000_000
MAX_SEARCHED_FOLDERS = 500  # below the folder of the package, for a mesh by the name of its file
# Binary STL: header and number of triangles; per triangle a normal, three corners and two unused bytes.
HEADER_BYTES = 80
START = 84
TRIANGLE_BYTES = 50
CORNERS = slice(12, 48)
LIBRARY_FORMATS = (".dae", ".obj")  # read by trimesh
COLLADA_UNIT = re.compile(rb"<unit\b[^>]*\bmeter\s*=\s*[\"']([^\"']+)[\"']")


def mesh_path(near: Path, name: str) -> Path | None:
    """The file of a mesh: where the URDF `near` says, else one of the same name around it; None if not found."""
    try:
        parts = urlparse(name)
    except ValueError:  # such as file://[
        return _by_name(near, name)
    if parts.scheme in ("package", "model"):
        folder = package_folder(near, parts.netloc)
        path = folder / unquote(parts.path).lstrip("/") if folder else None
    else:
        path = near.absolute().parent / (unquote(parts.path) if parts.scheme == "file" else name)
    return path if path is not None and os.path.isfile(path) else _by_name(near, name)


def _by_name(near: Path, name: str) -> Path | None:
    """The file around a URDF whose path ends most like that of a mesh on another computer; None without one."""
    wanted = [part.lower() for part in re.split(r"[/\\:]+", unquote(name))]

    def same_parts(path: Path) -> int:
        ends = zip(reversed(path.parts), reversed(wanted), strict=False)
        return next((k for k, (a, b) in enumerate(ends) if a.lower() != b), len(wanted))

    best = max(_files_of_package(near.absolute().parent), key=same_parts, default=None)
    return best if best is not None and same_parts(best) > 0 else None


@lru_cache(maxsize=1)  # of the meshes of one URDF
def _files_of_package(folder: Path) -> tuple[Path, ...]:
    """Files below the folder of the package of a URDF; without a package, below the folder above that of the URDF."""
    above = (folder, *list(folder.parents)[:MAX_FOLDERS_UP])
    top = next((each for each in above if (each / "package.xml").is_file()), folder.parent)
    if top in (Path("/"), Path(tempfile.gettempdir()), Path.home()):
        top = folder
    walk = islice(os.walk(top), MAX_SEARCHED_FOLDERS)
    return tuple(Path(below, file) for below, _, files in walk for file in sorted(files))


def mesh_vertices(path: Path) -> Array | None:
    """Vertices (n, 3) [m] of an STL file, or of a DAE or OBJ file if trimesh is installed; None if it is unusable."""
    if path.stat().st_size > MAX_MESH_BYTES:
        return None
    data = path.read_bytes()
    suffix = path.suffix.lower()
    points = _stl_vertices(data) if suffix == ".stl" else _vertices_by_library(data, suffix)
    return points if points is not None and len(points) and np.isfinite(points).all() else None


def library_missing(name: str) -> bool:
    """True for the name of a mesh that trimesh would read, if it were installed."""
    return name.lower().endswith(LIBRARY_FORMATS) and find_spec("trimesh") is None


def _stl_vertices(data: bytes) -> Array | None:
    """Vertices (n, 3) of a binary or ASCII STL file."""
    if len(data) >= START:
        (count,) = struct.unpack_from("<I", data, HEADER_BYTES)
        if count and len(data) >= START + TRIANGLE_BYTES * count:
            triangles = np.frombuffer(data, np.uint8, TRIANGLE_BYTES * count, START).reshape(count, TRIANGLE_BYTES)
            return triangles[:, CORNERS].copy().view("<f4").reshape(-1, 3).astype(float)
    words = re.findall(rb"vertex\s+(\S+)\s+(\S+)\s+(\S+)", data)
    try:
        return np.array([[float(word) for word in row] for row in words])
    except ValueError:
        return None


def _vertices_by_library(data: bytes, suffix: str) -> Array | None:
    """Vertices (n, 3) of a DAE or OBJ file; like RViz in the unit that a DAE file names, whatever axis is up."""
    if suffix not in LIBRARY_FORMATS or b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        return None
    try:
        import trimesh
    except ModuleNotFoundError:
        return None
    try:
        points = np.array(trimesh.load_mesh(BytesIO(data), file_type=suffix[1:], process=False).vertices)
        unit = COLLADA_UNIT.search(data)
        return points * (float(unit[1]) if unit else 1.0)
    except Exception:  # a parser may raise anything for a broken file
        return None
