"""The keys of motion files, derived from the dataclass fields in core.motions; only remedies are added here."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hexapod_control.config.schema import ChoiceRow, KeyRow, NumberRow, TextRow
from hexapod_control.core.motions.motion_steps import LENGTH_UNITS, Choreography, MotionStep
from hexapod_control.core.robot import Robot
from hexapod_control.core.workspace.robot_gaits import gait_names

FOR_HEIGHT = NumberRow("for_height", 1, 0.01, 2.0, "m", "metres, not millimetres?")
FOR_HEIGHT_DOCUMENTATION = (
    f"`{FOR_HEIGHT.key}`",
    f"{FOR_HEIGHT.lower:g} to {FOR_HEIGHT.upper:g} {FOR_HEIGHT.unit}",
    "as they are",
    "",
    "`walk.height` of the robot that the lengths are for; they are scaled to others",
)
HINTS: Mapping[str, str] = {
    "m": "metres, not millimetres?",
    "m/s": "metres per second",
    "s": "seconds, not milliseconds?",
    "deg": "degrees",
    "deg/s": "degrees per second",
}
ALL_LEGS = "all"  # all legs that are not named


@dataclass(frozen=True, slots=True)
class MotionKey:
    """One key in the notation of the file: degrees instead of radians."""

    name: str  # in the file
    field: str  # of the dataclass
    description: str
    unit: str
    default: Any  # in the unit of the file; Any: the type of the field
    required: bool
    whole: bool  # numbers only
    scaled: bool  # with the size of the robot
    bounds: tuple[float, float] | None  # of a number, or of each number of a vector
    choices: tuple[str, ...]  # of a text; empty: any
    names: str  # accepted names: "legs", "gaits", or "" for none
    columns: tuple[str, ...]  # of a vector per leg; empty for anything else
    factor: float  # from the file's unit to the field's

    def row(self, robot: Robot) -> KeyRow:
        """The schema row for a value, or for each vector of a section by leg, for a robot."""
        if self.bounds is not None:
            hint = HINTS.get(self.unit, "")
            return NumberRow(self.name, len(self.columns) or 1, *self.bounds, self.unit, hint, self.whole)
        known = {"legs": robot.leg_names, "gaits": gait_names(robot), "": self.choices}[self.names]
        if known:
            return ChoiceRow(self.name, known, "choose one of them")
        return TextRow(self.name, r"(?s).*\S.*", "a text", "write any text")

    @property
    def documentation(self) -> tuple[str, str, str, str, str]:
        """Name, values, default, whether it is scaled, and description: one line of the reference."""
        return f"`{self.name}`", self._values, self._default, "yes" if self.scaled else "", self.description

    @property
    def _default(self) -> str:
        if self.required:
            return "required"
        if isinstance(self.default, float):
            return "unlimited" if self.default == math.inf else f"{self.default:g}"
        return str(self.default)

    @property
    def _values(self) -> str:
        if self.columns:
            return f"by leg, or `{ALL_LEGS}`: [{', '.join(self.columns)}] [{self.unit}]"
        if self.bounds is not None:
            lower, upper = self.bounds
            between = f"{lower:g} to {upper:g}" if math.isfinite(upper) else f"from {lower:g}"
            return f"{'whole number, ' if self.whole else ''}{between} {self.unit}".strip()
        if self.choices:
            return " or ".join(self.choices)
        if self.names:
            return f"name of one of the robot's {self.names}"
        return "list of steps" if self.field == "steps" else "text"


def keys(kind: type[MotionStep] | type[Choreography]) -> Mapping[str, MotionKey]:
    """The keys of a kind of step, or of the file itself, by their names in the file."""
    rows = [_key(item) for item in dataclasses.fields(kind) if "description" in item.metadata]
    return {key.name: key for key in rows}


def _key(item: dataclasses.Field[Any]) -> MotionKey:
    metadata = item.metadata
    name, unit, factor = item.name, metadata["unit"], 1.0
    if metadata.get("degrees"):
        name, unit, factor = f"{item.name}_deg", unit.replace("rad", "deg"), math.pi / 180.0
    bounds = metadata.get("each")
    if "lower" in metadata:
        bounds = metadata["lower"], metadata["upper"]
    if bounds is not None:
        bounds = round(bounds[0] / factor, 9), round(bounds[1] / factor, 9)
    default = None if item.default is dataclasses.MISSING else item.default
    return MotionKey(
        name=name,
        field=item.name,
        description=metadata["description"],
        unit=unit,
        default=default / factor if isinstance(default, float) else default,
        required=default in (None, "", ()),
        whole=type(default) is int,
        scaled=metadata["unit"] in LENGTH_UNITS,
        bounds=bounds,
        choices=metadata.get("choices", ()),
        names=metadata.get("names", ""),
        columns=metadata.get("columns", ()),
        factor=factor,
    )
