# SPDX-License-Identifier: Apache-2.0
"""base_link of the imported robot: forward direction and origin, and the names of the legs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from hexapod_control.config.robots.draft.leg_draft import PLACES
from hexapod_control.config.robots.urdf_import.leg_chains import JointChain, LegChains
from hexapod_control.core.kinematics.arrays import Array

KEEP_ORIGIN_SHARE = 0.1  # of the radius of the hips: a URDF origin this close to their middle is kept
MAX_UP_COSINE = 0.8  # cosine to the vertical above which an axis cannot be forward
CENTERLINE_SHARE = 0.15  # of the radius of the hips: a leg this close to the centerline is on neither side
NAME_WEIGHT = 3.0  # weight of agreement with leg names against that of lateral symmetry
OPTION = "--forward"
NAMED = "the names of the legs"
UNNAMED = "an assumption (no leg is named left, right, front or rear), --forward changes it"
AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
DIRECTIONS = {
    f"{sign}{name}": np.array(axis) * (-1.0 if sign else 1.0) for name, axis in AXES.items() for sign in ("", "-")
}
PREFERENCE = {"x": 0.6, "y": 0.3, "-y": 0.2, "-x": 0.1, "z": 0.05, "-z": 0.0}  # added to scores, to break ties
ALONG = {"front": 1, "fore": 1, "forward": 1, "f": 1, "rear": -1, "back": -1, "hind": -1, "r": -1, "b": -1, "h": -1}
MIDDLE = ("middle", "mid", "center", "centre", "m", "c")
SIDE_WORDS = {1.0: "left", -1.0: "right", 0.0: ""}  # of the names, by the sign of y
SIDE = {"left": 1, "right": -1, "l": 1, "r": -1}


@dataclass(frozen=True, slots=True)
class BodyFrame:
    """base_link of the import."""

    pose: Array  # (4, 4) in the base link of the URDF
    forward: str  # axis of the URDF that points forward
    moved: bool  # the origin differs from the URDF's
    source: str  # reason for the forward direction

    @property
    def same(self) -> bool:
        """True if it equals the base frame of the URDF."""
        return bool(np.allclose(self.pose, np.eye(4), atol=1e-12))


def level_axes(up: Array) -> dict[str, Array]:
    """Axes of the URDF that can point forward."""
    return {name: axis for name, axis in DIRECTIONS.items() if abs(axis @ up) < MAX_UP_COSINE}


def find_frame(chains: LegChains, forward: str | None) -> BodyFrame:
    """The frame in the middle of the hips, x forward and z up; `forward` is the name of a level axis or None."""
    hips = np.array([chain.axes[0].point for chain in chains.legs])
    knees = np.array([chain.axes[1].point for chain in chains.legs])
    level = level_axes(chains.up)
    places = [_place(chain.names + chain.links) for chain in chains.legs]
    scores = {name: _score(knees, _facing(axis, chains.up), places) + PREFERENCE[name] for name, axis in level.items()}
    best = forward or max(scores, key=lambda name: scores[name])
    rotation = _facing(level[best], chains.up)
    pose = np.eye(4)
    pose[:3, :3] = rotation.T
    middle = hips.mean(axis=0)
    radius = float(np.linalg.norm(hips - middle, axis=1).mean())
    reach = max(float(np.linalg.norm(c.axes[2].point - c.axes[1].point)) for c in chains.legs)
    moved = bool(np.hypot(*(rotation @ middle)[:2]) > KEEP_ORIGIN_SHARE * radius or abs((rotation @ middle)[2]) > reach)
    if moved:
        pose[:3, 3] = middle
    source = NAMED if sum(place != (0, 0) for place in places) > len(places) / 2 else UNNAMED
    return BodyFrame(pose, best, moved, OPTION if forward else source)


def _facing(forward: Array, up: Array) -> Array:
    """Rows: forward, left and up, perpendicular."""
    ahead = forward - (forward @ up) * up
    ahead /= np.linalg.norm(ahead)
    return np.array([ahead, np.cross(up, ahead), up])


def _score(points: Array, rotation: Array, places: Sequence[tuple[int, int]]) -> float:
    """Score of a forward direction: agreement with the names of the legs, and lateral symmetry."""
    local = (points - points.mean(axis=0)) @ rotation.T
    radius = float(np.linalg.norm(local[:, :2], axis=1).mean())
    side = np.where(np.abs(local[:, 1]) > CENTERLINE_SHARE * radius, np.sign(local[:, 1]), 0.0)
    along = np.sign(local[:, 0])
    named = sum(a * x + s * y for (a, s), x, y in zip(places, along, side, strict=True))
    uneven = abs(float(side.sum())) + float(np.sum(side == 0.0))
    return NAME_WEIGHT * float(named) / len(places) - uneven


def _place(names: Iterable[str]) -> tuple[int, int]:
    """(front 1, rear -1, else 0; left 1, right -1, else 0) by the names of a leg's joints and links."""
    along: list[int] = []
    side: list[int] = []
    for name in names:
        for word in _words(name):
            if word in ALONG and word != "r":
                along.append(ALONG[word])
            if word in SIDE:
                side.append(SIDE[word])
            pair = _pair(word)
            along += pair[:1]
            side += pair[1:]
    return _majority(along), _majority(side)


def _words(name: str) -> list[str]:
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])", " ", name)
    return [word for word in re.split(r"[^a-z]+", spaced.lower()) if word]


def _pair(word: str) -> list[int]:
    """[along, side] of a word of two letters like lf, rm or rr; [] for any other."""
    if len(word) != 2:
        return []
    for side, along in ((word[0], word[1]), (word[1], word[0])):
        if side in "lr" and (along in ALONG or along in MIDDLE):
            return [ALONG.get(along, 0), SIDE[side]]
    return []


def _majority(votes: Sequence[int]) -> int:
    return int(np.sign(sum(votes)))


def leg_names(points: Array) -> tuple[str, ...]:
    """Names of legs at points (n, 2) [m] of base_link: by side, those on the centerline by none; e.g. left_front."""
    middle = points.mean(axis=0)
    across = (points - middle)[:, 1] / float(np.linalg.norm(points - middle, axis=1).mean())
    sides = np.where(np.abs(across) > CENTERLINE_SHARE, np.sign(across), 0.0)
    names = [""] * len(points)
    for side, word in SIDE_WORDS.items():
        rows = sorted(np.flatnonzero(sides == side).tolist(), key=lambda k: -points[k, 0])
        places = PLACES.get(len(rows), tuple(str(k + 1) if word else f"leg_{k + 1}" for k in range(len(rows))))
        if side == 0.0 and len(rows) == 1:
            places = ("front" if points[rows[0], 0] > middle[0] else "rear",)
        for row, place in zip(rows, places, strict=True):
            names[row] = "_".join(filter(None, (word, place)))
    return tuple(names)


def in_frame(frame: BodyFrame, chain: JointChain) -> tuple[tuple[Array, Array], ...]:
    """Point [m] and direction of each axis of a leg in base_link."""
    back = np.linalg.inv(frame.pose)
    return tuple((back[:3, :3] @ axis.point + back[:3, 3], back[:3, :3] @ axis.direction) for axis in chain.axes)
