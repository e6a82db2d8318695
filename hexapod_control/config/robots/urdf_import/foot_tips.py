"""Finds the foot tip of a leg: a given point, a frame after the last joint, or the end of the last link's shapes."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlparse

import numpy as np

from hexapod_control.config.robots.urdf_import.leg_chains import JointChain
from hexapod_control.config.robots.urdf_import.reading.urdf_text import package_folder
from hexapod_control.config.robots.urdf_import.reading.urdf_tree import UrdfLink, UrdfShape, UrdfTree
from hexapod_control.core.kinematics.arrays import Array

MAX_MESH_BYTES = 30_000_000
# Binary STL: header and number of triangles; per triangle a normal, three corners and two unused bytes.
HEADER_BYTES = 80
START = 84
TRIANGLE_BYTES = 50
CORNERS = slice(12, 48)
END_SHARE = 0.03  # of the distance from the axis: points this close to the farthest are the end of a shape
NEAR_SHARE = 0.6  # of the distance of the farthest shape: a nearer frame is not the foot
CENTER_SHARE = 0.3  # of the femur's length: a farther center of mass is used to estimate the end of the tibia
GIVEN_SOURCE = "given"
FRAME_SOURCE = "a frame behind the last joint"
CENTER_SOURCE = "twice as far as the center of mass, as there is no frame and no readable shape"
FOOT_NAME = re.compile(r"foot|feet|tip|toe|end|ee$|contact|sole|claw", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FootTip:
    """The center of a foot's ball."""

    link: str
    point: Array  # (3,) [m] in the link
    radius: float | None  # [m] of a sphere at the foot; None without one
    source: str  # origin of the point


class FootFinder:
    """Finds the feet of one URDF, and records unreadable meshes."""

    def __init__(self, tree: UrdfTree, poses: Mapping[str, Array], given: Sequence[float] | None) -> None:
        """`poses` of all links; `given` is the tip [m] in the frame of each last link, None to search for it."""
        self._tree = tree
        self._poses = poses
        self._given = given
        self.unreadable_meshes: list[str] = []  # as named in the URDF

    def tip(self, chain: JointChain) -> FootTip:
        """The foot of a leg. Raises UrdfError if it cannot be determined."""
        axis = chain.axes[2]
        last = axis.joint.child
        if self._given is not None:
            return FootTip(last, np.array(self._given), None, GIVEN_SOURCE)
        links = self._tree.subtree(last, followers=False)
        frames = [self._in_frame_of(last, link, np.zeros(3)) for link in links]
        away = [self._distance(chain, point) for point in frames]
        ends = [(self._end(chain, link, "collisions"), "collision shapes") for link in links]
        ends += [(self._end(chain, link, "visuals"), "visual shapes") for link in links]
        shapes = [(end, source) for end, source in ends if end is not None]
        farthest = max((self._distance(chain, end[0]) for end, _ in shapes), default=0.0)
        choice = max(range(len(links)), key=lambda k: (bool(FOOT_NAME.search(links[k])), away[k]))
        if away[choice] < max(1e-3, NEAR_SHARE * farthest):
            choice = max(range(len(links)), key=lambda k: away[k])
        if away[choice] >= max(1e-3, NEAR_SHARE * farthest):
            link = links[choice]
            return FootTip(last, frames[choice], self._radius(link, last, frames[choice]), FRAME_SOURCE)
        if shapes:
            (point, radius), source = max(shapes, key=lambda each: self._distance(chain, each[0][0]))
            return FootTip(last, point, radius, f"end of the {source}")
        center = self._tree.links[last].center
        femur = float(np.linalg.norm(chain.axes[2].point - chain.axes[1].point))
        if self._distance(chain, center) > CENTER_SHARE * femur:
            return FootTip(last, 2.0 * center, None, CENTER_SOURCE)
        raise self._tree.error(
            f"does not say where the foot of joint {axis.joint.name} is: no frame behind it, no readable shape",
            f"give the tip in the frame of link {last}: --foot X Y Z in metres",
        )

    def _in_frame_of(self, last: str, link: str, points: Array) -> Array:
        """A point (3,) or points (n, 3) of a link in the frame of the last link."""
        pose = np.linalg.inv(self._poses[last]) @ self._poses[link]
        return np.asarray(points @ pose[:3, :3].T + pose[:3, 3])

    def _distance(self, chain: JointChain, point: Array) -> float:
        """Distance [m] of a point in the last link from the last joint's axis."""
        return float(np.linalg.norm(np.cross(chain.axes[2].joint.axis, point)))

    def _radius(self, link: str, last: str, frame: Array) -> float | None:
        """Radius of a sphere around a frame, None if there is none."""
        for name in (link, last):
            for shape in (*self._tree.links[name].collisions, *self._tree.links[name].visuals):
                if shape.kind == "sphere":
                    center = self._in_frame_of(last, name, shape.pose[:3, 3])
                    if float(np.linalg.norm(center - frame)) <= shape.size[0]:
                        return shape.size[0]
        return None

    def _end(self, chain: JointChain, link: str, kind: str) -> tuple[Array, float | None] | None:
        """The end of a link's shapes in the last link, and the radius if it is a sphere; None without shapes."""
        best: tuple[Array, float | None] | None = None
        for shape in getattr(self._tree.links[link], kind):
            points = self.corners(shape)
            if points is None:
                continue
            local = self._in_frame_of(chain.axes[2].joint.child, link, points)
            distances = np.linalg.norm(np.cross(chain.axes[2].joint.axis, local), axis=1)
            end = local[distances >= (1.0 - END_SHARE) * distances.max()].mean(axis=0)
            if best is None or distances.max() > self._distance(chain, best[0]):
                best = end, shape.size[0] if shape.kind == "sphere" else None
        return best

    def corners(self, shape: UrdfShape) -> Array | None:
        """Points (n, 3) [m] that span a shape, in its link; None for an unreadable mesh."""
        if shape.kind == "mesh":
            points = self._vertices(shape)
            if points is None:
                return None
        elif shape.kind == "box":
            signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
            points = signs * np.array(shape.size) / 2.0
        elif shape.kind == "sphere":
            points = np.zeros((1, 3))
        else:
            points = np.array([[0.0, 0.0, -0.5], [0.0, 0.0, 0.5]]) * shape.size[1]
        return np.asarray(points @ shape.pose[:3, :3].T + shape.pose[:3, 3])

    def extents(self, links: Sequence[str]) -> Array | None:
        """Corners (n, 3) [m] of all readable shapes of links, in the frame of the first; None without shapes."""
        found = [
            self._in_frame_of(links[0], link, points)
            for link in links
            for points in self._readable(self._tree.links[link])
        ]
        return np.concatenate(found) if found else None

    def _readable(self, link: UrdfLink) -> Iterator[Array]:
        for shape in link.collisions or link.visuals:
            points = self.corners(shape)
            if points is not None:
                yield np.array([points.min(axis=0), points.max(axis=0)])

    def _vertices(self, shape: UrdfShape) -> Array | None:
        path = mesh_path(self._tree.path, shape.file)
        points = None if path is None else stl_vertices(path)
        if points is None:
            if shape.file not in self.unreadable_meshes:
                self.unreadable_meshes.append(shape.file)
            return None
        return np.asarray(points * np.array(shape.size))


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
