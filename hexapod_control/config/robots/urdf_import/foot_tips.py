# SPDX-License-Identifier: Apache-2.0
"""Finds the foot tip of a leg: a given point, a frame after the last joint, or the end of the last link's shapes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from hexapod_control.config.missing_modules import missing_module
from hexapod_control.config.robots.urdf_import.leg_chains import JointChain
from hexapod_control.config.robots.urdf_import.reading.meshes import library_missing, mesh_path, mesh_vertices
from hexapod_control.config.robots.urdf_import.reading.urdf_tree import UrdfLink, UrdfShape, UrdfTree
from hexapod_control.core.kinematics.arrays import Array

END_SHARE = 0.03  # of the distance from the axis: points this close to the farthest are the end of a shape
NEAR_SHARE = 0.6  # of the distance of the farthest shape: a nearer frame is not the foot
SHORTEST_TIBIA = 0.2  # of the femur's length: what ends nearer to the last axis is not a foot, unless it is given
CENTER_SHARE = 0.3  # of the femur's length: a farther center of mass is used to estimate the end of the tibia
GIVEN_SOURCE = "given"
FRAME_SOURCE = "a frame behind the last joint"
CENTER_SOURCE = "twice as far as the center of mass, as there is no frame and no readable shape"
MAX_MESH_M = 3.0  # a larger one is in millimetres and not scaled, or of the world around the robot
MAX_NAMED = 2  # meshes in a message
BOX = np.array(tuple(product((-1.0, 1.0), repeat=3)))  # corners of a box with edges of 2
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

    def __init__(self, tree: UrdfTree, poses: Mapping[str, Array], given: Mapping[str, Sequence[float]]) -> None:
        """`poses` of all links; `given` are tips [m] by last link, in its frame; all others are searched for."""
        self._tree = tree
        self._poses = poses
        self._given = given
        self._unread: dict[str, str] = {}  # reason by the name of a mesh in the URDF

    def tip(self, chain: JointChain) -> FootTip:
        """The foot of a leg. Raises UrdfError if it cannot be determined."""
        axis = chain.axes[2]
        last = axis.joint.child
        if last in self._given:
            return FootTip(last, np.array(self._given[last]), None, GIVEN_SOURCE)
        femur = float(np.linalg.norm(axis.point - chain.axes[1].point))
        links = self._tree.subtree(last, followers=False)
        frames = [self._in_frame_of(last, link, np.zeros(3)) for link in links]
        away = [self._distance(chain, point) for point in frames]
        ends = [(self._end(chain, link, "collisions"), "collision shapes") for link in links]
        ends += [(self._end(chain, link, "visuals"), "visual shapes") for link in links]
        shapes = [(end, source) for end, source in ends if end is not None]
        farthest = max((self._distance(chain, end[0]) for end, _ in shapes), default=0.0)
        least = max(1e-3, SHORTEST_TIBIA * femur)
        choice = max(range(len(links)), key=lambda k: (bool(FOOT_NAME.search(links[k])), away[k]))
        if away[choice] < max(least, NEAR_SHARE * farthest):
            choice = max(range(len(links)), key=lambda k: away[k])
        if away[choice] >= max(least, NEAR_SHARE * farthest):
            link = links[choice]
            return FootTip(last, frames[choice], self._radius(link, last, frames[choice]), FRAME_SOURCE)
        if farthest >= least:
            (point, radius), source = max(shapes, key=lambda each: self._distance(chain, each[0][0]))
            return FootTip(last, point, radius, f"end of the {source}")
        center = self._tree.links[last].center
        if self._distance(chain, center) > CENTER_SHARE * femur:
            return FootTip(last, 2.0 * center, None, CENTER_SOURCE)
        near = max(*away, farthest)
        found = "no frame behind it, no readable shape"
        if near > 1e-3:
            found = (
                f"what is behind it ends {1e3 * near:.0f} mm from its axis, near for a femur of {1e3 * femur:.0f} mm"
            )
        raise self._tree.error(
            "; ".join((f"does not say where the foot of joint {axis.joint.name} is: {found}", *self.unread_meshes())),
            f"give the tip in the frame of link {last} in metres: --foot {last} X Y Z, or --foot X Y Z for all legs",
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
            points = self._points(shape)
            if points is None:
                continue
            local = self._in_frame_of(chain.axes[2].joint.child, link, points)
            distances = np.linalg.norm(np.cross(chain.axes[2].joint.axis, local), axis=1)
            end = local[distances >= (1.0 - END_SHARE) * distances.max()].mean(axis=0)
            if best is None or distances.max() > self._distance(chain, best[0]):
                best = end, shape.size[0] if shape.kind == "sphere" else None
        return best

    def _points(self, shape: UrdfShape, *, hull: bool = False) -> Array | None:
        """Points (n, 3) [m] of a shape in its link; None for an unreadable mesh.

        Of round shapes the ends of the axis, or with `hull` the corners of the box around them.
        """
        radius = shape.size[0]
        length = shape.size[-1]
        if shape.kind == "mesh":
            vertices = self._vertices(shape)
            if vertices is None:
                return None
            points = vertices
        elif shape.kind == "box":
            points = BOX * np.array(shape.size) / 2.0
        elif shape.kind == "sphere":
            points = BOX * radius if hull else np.zeros((1, 3))
        else:
            ends = length + 2.0 * radius if hull and shape.kind == "capsule" else length
            points = BOX * np.array([radius, radius, ends / 2.0]) * ([1.0, 1.0, 1.0] if hull else [0.0, 0.0, 1.0])
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
            points = self._points(shape, hull=True)
            if points is not None:
                low, high = points.min(axis=0), points.max(axis=0)
                yield (low + high) / 2.0 + BOX * (high - low) / 2.0

    def _vertices(self, shape: UrdfShape) -> Array | None:
        path = mesh_path(self._tree.path, shape.file)
        points = None if path is None else mesh_vertices(path)
        if path is None:
            reason = "are missing"
        elif points is None and library_missing(path.name):
            reason = f"are DAE or OBJ, which {missing_module(ModuleNotFoundError(name='trimesh'))}"
        elif points is None:
            reason = "are damaged, too large a file, or no STL, DAE or OBJ"
        elif np.ptp(points * np.array(shape.size)) > MAX_MESH_M:
            reason = "are many metres long, so in another unit"
        else:
            return np.asarray(points * np.array(shape.size))
        self._unread[shape.file] = reason
        return None

    def unread_meshes(self) -> Iterator[str]:
        """One sentence for each reason why meshes have not been read."""
        reasons: dict[str, list[str]] = {}
        for name, reason in self._unread.items():
            reasons.setdefault(reason, []).append(name)
        for reason, names in reasons.items():
            more = ", ..." if len(names) > MAX_NAMED else ""
            yield f"{len(names)} meshes {reason} ({', '.join(names[:MAX_NAMED])}{more}), so their extents are unknown"
