"""The keys of motion files, derived from the dataclass fields in core.motions; only remedies are added here."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hexapod_control.config.schema import ChoiceRow, KeyRow, NumberRow, TextRow
from hexapod_control.core.gait.gait_table import AUTO
from hexapod_control.core.motions.motion_steps import Choreography, MotionStep
from hexapod_control.core.robot import Robot
from hexapod_control.core.workspace.robot_gaits import gaits

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
EVERY = "all"  # all legs that are not named


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
        known = {"legs": robot.leg_names, "gaits": (*gaits(robot), AUTO), "": self.choices}[self.names]
        if known:
            return ChoiceRow(self.name, known, "choose one of them")
        return TextRow(self.name, r"(?s).*\S.*", "a text", "write any text")

    @property
    def documentation(self) -> tuple[str, str, str, str, str]:
        """Name, values, default, whether it is scaled, and description: one line of the reference."""
        plain = f"{self.default:g}" if isinstance(self.default, float) else str(self.default)
        default = "required" if self.required else "unlimited" if plain == "inf" else plain
        return f"`{self.name}`", self._values, default, "yes" if self.scaled else "", self.description

    @property
    def _values(self) -> str:
        if self.columns:
            return f"by leg, or `{EVERY}`: [{', '.join(self.columns)}] [{self.unit}]"
        if self.bounds is None:
            names = f"name of one of the robot's {self.names}" if self.names else "text"
            return " or ".join(self.choices) or ("list of steps" if self.field == "steps" else names)
        lower, upper = self.bounds
        between = f"{lower:g} to {upper:g}" if math.isfinite(upper) else f"from {lower:g}"
        return f"{'whole number, ' if self.whole else ''}{between} {self.unit}".strip()


def keys(kind: type[MotionStep] | type[Choreography]) -> Mapping[str, MotionKey]:
    """The keys of a kind of step, or of the file itself, by their names in the file."""
    made = [_key(item) for item in dataclasses.fields(kind) if "description" in item.metadata]
    return {key.name: key for key in made}


def _key(item: dataclasses.Field[Any]) -> MotionKey:
    metadata = item.metadata
    factor = math.pi / 180.0 if metadata.get("degrees") else 1.0
    bounds = metadata.get("each") or ((metadata["lower"], metadata["upper"]) if "lower" in metadata else None)
    default = None if item.default is dataclasses.MISSING else item.default
    return MotionKey(
        name=item.name if factor == 1.0 else f"{item.name}_deg",
        field=item.name,
        description=metadata["description"],
        unit=metadata["unit"] if factor == 1.0 else metadata["unit"].replace("rad", "deg"),
        default=default / factor if isinstance(default, float) else default,
        required=default in (None, "", ()),
        whole=type(default) is int,
        scaled=bool(metadata.get("length")),
        bounds=(round(bounds[0] / factor, 9), round(bounds[1] / factor, 9)) if bounds else None,
        choices=metadata.get("choices", ()),
        names=metadata.get("names", ""),
        columns=metadata.get("columns", ()),
        factor=factor,
    )
