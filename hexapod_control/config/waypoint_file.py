"""Files of waypoints: YAML with `waypoints`, a list of {x, y, yaw_deg, heading}, and how exactly to reach them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from hexapod_control.cli.errors import InputError
from hexapod_control.core.steering.path_following import PursuitHeading, PursuitSettings, Waypoint

EXAMPLE = "e.g. waypoints: [{x: 1.0, y: 0.5, yaw_deg: 90}]"
FARTHEST = 1000.0  # [m]
SETTINGS = {  # bounds and unit of the keys beside `waypoints`
    "tolerance": (0.005, 1.0, "m"),
    "heading_tolerance_deg": (0.5, 180.0, "deg"),
    "clearance": (0.0, 1.0, "m"),
}
KEYS = ("x", "y", "yaw_deg", "heading")


@dataclass(frozen=True, slots=True)
class PatrolRoute:
    """What a file says."""

    waypoints: tuple[Waypoint, ...]
    settings: PursuitSettings


class _WaypointFile:
    """A file being read; errors say file, line and key."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def bad(self, key: str, what: str, node: Any = None, name: Any = None) -> NoReturn:
        line = None
        if hasattr(node, "lc"):
            place = node.lc.data.get(name) if name is not None and node.lc.data else None
            line = (place[0] if place else node.lc.line) + 1
        where = f"{self.path}:{line}" if line else f"{self.path}"
        raise InputError(": ".join(part for part in (where, key, what) if part))

    def number(self, node: Any, name: Any, key: str, bounds: tuple[float, float, str]) -> float:
        value = node[name]
        lower, upper, unit = bounds
        right = isinstance(value, int | float) and not isinstance(value, bool) and lower <= value <= upper
        if not right:
            self.bad(key, f"must be a number in [{lower:g}, {upper:g}] {unit}, is {value!r}", node, name)
        return float(value)

    def known(self, node: Mapping[Any, Any], names: tuple[str, ...], prefix: str) -> None:
        for name in node:
            if name not in names:
                near = get_close_matches(str(name), names, 1)
                hint = f"do you mean {near[0]}?" if near else f"known: {', '.join(names)}"
                self.bad(f"{prefix}{name}", f"is unknown; {hint}", node, name)


def read(path: Path) -> PatrolRoute:
    """The waypoints of a file. Raises InputError: file:line: key: what, bound, hint."""
    file = _WaypointFile(path)
    document = _document(file)
    if not isinstance(document, Mapping):
        file.bad("", f"must be a mapping with the key waypoints; {EXAMPLE}")
    file.known(document, ("waypoints", *SETTINGS), "")
    if "waypoints" not in document:
        file.bad("waypoints", f"is missing; {EXAMPLE}", document)
    items = document["waypoints"]
    if not isinstance(items, list) or not items:
        file.bad("waypoints", f"must be a list of at least one waypoint; {EXAMPLE}", document, "waypoints")
    waypoints = tuple(_waypoint(file, items, index) for index in range(len(items)))
    given = {name: file.number(document, name, name, SETTINGS[name]) for name in SETTINGS if name in document}
    if "heading_tolerance_deg" in given:
        given["heading_tolerance"] = math.radians(given.pop("heading_tolerance_deg"))
    return PatrolRoute(waypoints, PursuitSettings(**given))


def _document(file: _WaypointFile) -> Any:
    try:
        return YAML(typ="rt", pure=True).load(file.path.read_text(encoding="utf-8"))
    except OSError as error:
        file.bad("", f"cannot be read: {error.strerror}")
    except UnicodeDecodeError:
        file.bad("", f"is not text in UTF-8; {EXAMPLE}")
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f"line {mark.line + 1}: " if mark else ""
        file.bad("", f"is not valid YAML: {line}{error.problem or error.context}")
    except YAMLError as error:
        file.bad("", f"is not valid YAML: {str(error).splitlines()[0]}")


def _waypoint(file: _WaypointFile, items: Any, index: int) -> Waypoint:
    key, item = f"waypoints[{index}]", items[index]
    if not isinstance(item, Mapping):
        file.bad(key, f"must be a mapping, is {item!r}; e.g. {{x: 1.0, y: 0.5}}", items, index)
    file.known(item, KEYS, f"{key}.")
    for name in ("x", "y"):
        if name not in item:
            file.bad(f"{key}.{name}", "is missing; a waypoint has x and y in metres", item)
    x, y = (file.number(item, name, f"{key}.{name}", (-FARTHEST, FARTHEST, "m")) for name in ("x", "y"))
    yaw = None
    if item.get("yaw_deg") is not None:
        yaw = math.radians(file.number(item, "yaw_deg", f"{key}.yaw_deg", (-360.0, 360.0, "deg")))
    heading = item.get("heading", PursuitHeading.ALIGNED.value)
    names = [kind.value for kind in PursuitHeading]
    if heading not in names:
        file.bad(f"{key}.heading", f"must be one of {', '.join(names)}, is {heading!r}", item, "heading")
    return Waypoint(x, y, yaw, PursuitHeading(heading))
