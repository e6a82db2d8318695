# SPDX-License-Identifier: Apache-2.0
"""Files of waypoints: YAML with `waypoints`, a list of {x, y, yaw_deg, heading}, and the tolerances of the patrol.

A folder holds the routes and places that have a name: NAME.yaml; a place is a route of one waypoint. NAME.npy beside it
has the points that a lidar saw when the route was taught.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hexapod_control.config.document import DocumentEntry, read
from hexapod_control.config.errors import WaypointFileError
from hexapod_control.config.file_replacement import replace_file
from hexapod_control.config.schema import ChoiceRow, NumberRow, refuse_unknown, yaml_text
from hexapod_control.config.shipped_files import file_path
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.names import file_stem
from hexapod_control.core.quantity import Quantity
from hexapod_control.core.steering.path_following import PursuitHeading, PursuitSettings, Waypoint

SETTINGS = (  # optional keys next to `waypoints`
    NumberRow("tolerance", Quantity("m", 0.005, 1.0, "distance at which a waypoint is reached")),
    NumberRow("heading_tolerance_deg", Quantity("deg", 0.5, 180.0, "of the heading at a waypoint")),
    NumberRow("clearance", Quantity("m", 0.0, 1.0, "additional distance from obstacles")),
)
X = NumberRow("x", Quantity("m", -1000.0, 1000.0, "position in odom"))
Y = NumberRow("y", Quantity("m", -1000.0, 1000.0, "position in odom"))
YAW = NumberRow("yaw_deg", Quantity("deg", -360.0, 360.0, "heading in odom", hint="leave it out for any heading"))
HEADING = ChoiceRow("heading", tuple(kind.value for kind in PursuitHeading), "leave it out for aligned")
WAYPOINT = (X, Y, YAW, HEADING)


@dataclass(frozen=True, slots=True)
class PatrolRoute:
    """Waypoints and tolerances of one file."""

    waypoints: tuple[Waypoint, ...]
    settings: PursuitSettings

    def repeated(self, count: int) -> PatrolRoute:
        """The route walked several times."""
        return replace(self, waypoints=self.waypoints * count)


def load_route(name_or_path: str | Path) -> PatrolRoute:
    """Reads a file of waypoints, or one of config/routes by its name. Raises WaypointFileError."""
    root = read(file_path("routes", name_or_path, WaypointFileError), WaypointFileError)
    refuse_unknown(root, dict.fromkeys(("waypoints", *(row.key for row in SETTINGS))))
    entry = root.children.get("waypoints")
    if entry is None:
        raise root.error("is missing", "must be a list of waypoints", WaypointFileError.example, below="waypoints")
    if not entry.items:
        what = f"is {'a section' if entry.is_section else yaml_text(entry.value)}"
        raise entry.error(what, "must be a list of at least one waypoint", WaypointFileError.example)
    settings = {row.key: row.number(root) for row in SETTINGS if row.key in root.children}
    if "heading_tolerance_deg" in settings:
        settings["heading_tolerance"] = math.radians(settings.pop("heading_tolerance_deg"))
    return PatrolRoute(tuple(map(_waypoint, entry.items)), PursuitSettings(**settings))


def _waypoint(entry: DocumentEntry) -> Waypoint:
    refuse_unknown(entry, dict.fromkeys(row.key for row in WAYPOINT))
    x, y = X.number(entry), Y.number(entry)
    given = entry.children
    yaw = math.radians(YAW.number(entry)) if "yaw_deg" in given and given["yaw_deg"].value is not None else None
    heading = HEADING.value(given["heading"]) if "heading" in given else PursuitHeading.ALIGNED.value
    return Waypoint(x, y, yaw, PursuitHeading(heading))


class RouteFolder:
    """The routes with a name. No text from outside becomes a path: what is no word in a name is left out."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def routes(self) -> dict[str, tuple[Waypoint, ...]]:
        """All routes by name; a file that cannot be read is left out."""
        found = {}
        for path in sorted(self._path.glob("*.yaml")):
            try:
                found[path.stem] = load_route(path).waypoints
            except WaypointFileError:
                continue
        return found

    def save(self, name: str, points: Sequence[tuple[float, float]], seen: Array | None = None) -> None:
        """Saves a route of points [m], and what the lidar saw on it (k, 2) [m], in one frame. Raises OSError."""
        rows = "".join(f"  - {{x: {x:.3f}, y: {y:.3f}}}\n" for x, y in points)
        self._path.mkdir(parents=True, exist_ok=True)
        replace_file(self._file(name), f"waypoints:\n{rows}")
        if seen is None or not len(seen):
            self._map(name).unlink(missing_ok=True)
            return
        content = io.BytesIO()
        np.save(content, seen.astype(np.float32))
        replace_file(self._map(name), content.getvalue())

    def delete(self, name: str) -> None:
        """Deletes a route, if it exists. Raises OSError."""
        self._file(name).unlink(missing_ok=True)
        self._map(name).unlink(missing_ok=True)

    def has_map(self, name: str) -> bool:
        """True if it is kept what the lidar saw on a route."""
        return bool(name) and self._map(name).exists()

    def seen(self, name: str) -> Array:
        """What the lidar saw on a route (k, 2) [m], in the frame of its points. Raises OSError and ValueError."""
        points: Array = np.load(self._map(name), allow_pickle=False).astype(float)
        if points.ndim != 2 or points.shape[1] != 2 or not np.isfinite(points).all():
            raise ValueError("must be points")
        return points

    def _map(self, name: str) -> Path:
        return self._file(name).with_suffix(".npy")

    def _file(self, name: str) -> Path:
        return self._path / f"{file_stem(name, 'route')}.yaml"
