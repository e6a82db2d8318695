"""The keys of motion files, derived from the dataclass fields in core.motions."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hexapod_control.config.schema import ChoiceRow, KeyRow, NumberRow, TextRow
from hexapod_control.core.motions.motion_steps import LENGTH_UNITS, Choreography, MotionStep, key
from hexapod_control.core.quantity import Quantity
from hexapod_control.core.robot import Robot
from hexapod_control.core.workspace.robot_gaits import gait_names

FOR_HEIGHT = NumberRow("for_height", Quantity("m", 0.01, 2.0, "`walk.height` of the robot that the lengths are for"))
FOR_HEIGHT_DOCUMENTATION = (
    f"`{FOR_HEIGHT.key}`",
    f"{FOR_HEIGHT.quantity.lower:g} to {FOR_HEIGHT.quantity.upper:g} {FOR_HEIGHT.quantity.unit}",
    "as they are",
    "",
    f"{FOR_HEIGHT.quantity.meaning}; they are scaled to others",
)
ALL_LEGS = "all"  # all legs that are not named


@dataclass(frozen=True, slots=True)
class MotionKey:
    """One key of a file, for a field of a step or of the motion."""

    item: dataclasses.Field[Any]

    @property
    def field(self) -> str:
        """Name of the field."""
        return self.item.name

    @property
    def quantity(self) -> Quantity | None:
        """Of a number, or of each number of a vector; None for anything else."""
        return self.item.metadata.get("quantity")

    @property
    def name(self) -> str:
        """The key in the file."""
        return key(self.item.name, self.quantity)

    @property
    def columns(self) -> tuple[str, ...]:
        """Of a vector per leg; empty for anything else."""
        return self.item.metadata.get("columns", ())

    @property
    def required(self) -> bool:
        """Whether the file must have it."""
        return self.item.default in (dataclasses.MISSING, "", ())

    def row(self, robot: Robot) -> KeyRow:
        """The schema row for a value, or for each vector of a section by leg, for a robot."""
        if self.quantity is not None:
            return NumberRow(self.name, self.quantity, len(self.columns) or 1)
        known = {"legs": robot.leg_names, "gaits": gait_names(robot), "": self._choices}[self._names]
        if known:
            return ChoiceRow(self.name, known, "choose one of them")
        return TextRow(self.name, r"(?s).*\S.*", "a text", "write any text")

    @property
    def documentation(self) -> tuple[str, str, str, str, str]:
        """Name, values, default, whether it is scaled, and description: one line of the reference."""
        scaled = "yes" if self.quantity and self.quantity.unit in LENGTH_UNITS else ""
        return f"`{self.name}`", self._values, self._default, scaled, self.item.metadata["meaning"]

    @property
    def _choices(self) -> tuple[str, ...]:
        return self.item.metadata.get("choices", ())  # of a text; empty: any

    @property
    def _names(self) -> str:
        return self.item.metadata.get("names", "")  # accepted ones: "legs", "gaits", or "" for any text

    @property
    def _default(self) -> str:
        if self.required:
            return "required"
        default = self.quantity.default if self.quantity else self.item.default
        if isinstance(default, float):
            return "unlimited" if default == math.inf else f"{default:g}"
        return str(default)

    @property
    def _values(self) -> str:
        quantity = self.quantity
        if quantity is not None and self.columns:
            return f"by leg, or `{ALL_LEGS}`: [{', '.join(self.columns)}] [{quantity.unit}]"
        if quantity is not None:
            lower, upper = quantity.lower, quantity.upper
            between = f"{lower:g} to {upper:g}" if math.isfinite(upper) else f"from {lower:g}"
            return f"{'whole number, ' if quantity.whole else ''}{between} {quantity.unit}".strip()
        if self._choices:
            return " or ".join(self._choices)
        if self._names:
            return f"name of one of the robot's {self._names}"
        return "list of steps" if self.field == "steps" else "text"


def keys(kind: type[MotionStep] | type[Choreography]) -> Mapping[str, MotionKey]:
    """The keys of a kind of step, or of the file itself, by their names in the file."""
    found = [MotionKey(item) for item in dataclasses.fields(kind) if "meaning" in item.metadata]
    return {each.name: each for each in found}
