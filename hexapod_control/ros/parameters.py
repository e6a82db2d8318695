"""Parameters: dataclass fields become ROS parameters here and nowhere else.

A field's default stands once, on the field; its metadata says unit, bounds (`lower`, `upper`) and description, and
where needed `name` (another spelling for ROS), `live` (may be changed while the node runs) and `from_robot` (not a
number means: what the robot can do). A field whose default is another such dataclass is a group: `name.field`. Every
value is checked at declaration and on every change; a refused change leaves the old value.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult

Settings = TypeVar("Settings")
LIVE: Mapping[str, Any] = {"live": True}
FROM_ROBOT: Mapping[str, Any] = {"live": True, "from_robot": True}


class ParameterError(ValueError):
    """A parameter value that cannot be used: name, value, bounds and cure in one sentence."""


def number(default: float, unit: str, lower: float, upper: float, description: str, **more: Any) -> Any:
    """A field for a number in [lower, upper]; whole if the default is."""
    metadata = {"unit": unit, "lower": lower, "upper": upper, "description": description, **more}
    return dataclasses.field(default=default, metadata=metadata)


def choice(default: str | bool, description: str, **more: Any) -> Any:
    """A field for a text or a truth."""
    return dataclasses.field(default=default, metadata={"unit": "", "description": description, **more})


@dataclass(frozen=True, slots=True)
class Parameter:
    """One row of a node's table of parameters."""

    name: str
    default: Any
    metadata: Mapping[str, Any]

    @property
    def live(self) -> bool:
        """True if the parameter may be changed while the node runs."""
        return bool(self.metadata.get("live"))

    @property
    def bounds(self) -> str:
        """The bounds as text; empty for texts and truths."""
        if "lower" not in self.metadata:
            return ""
        unit = f" {self.metadata['unit']}" if self.metadata["unit"] else ""
        return f"[{self.metadata['lower']:g}, {self.metadata['upper']:g}]{unit}"

    def value(self, given: object) -> Any:
        """The value, a whole number as a float where one is expected. Raises ParameterError."""
        kind = type(self.default)
        if kind is float and type(given) is int:
            given = float(given)
        if type(given) is not kind:
            words = {float: "a number", int: "a whole number", bool: "true or false", str: "a text"}
            raise ParameterError(f"{self.name} must be {words[kind]}, is {given!r}; e.g. {self._spelt(self.default)}")
        if self.bounds and not self._inside(given):
            also = ", or .nan for what the robot can do" if self.metadata.get("from_robot") else ""
            raise ParameterError(f"{self.name} must be in {self.bounds}{also}, is {given}")
        return given

    def _inside(self, given: Any) -> bool:
        if math.isnan(given):
            return bool(self.metadata.get("from_robot"))
        return bool(self.metadata["lower"] <= given <= self.metadata["upper"])

    @staticmethod
    def _spelt(value: object) -> str:
        return str(value).lower() if isinstance(value, bool) else str(value) or "''"

    def descriptor(self) -> Any:
        """What `ros2 param describe` shows."""
        unit = f" [{self.metadata['unit']}]" if self.metadata["unit"] else ""
        descriptor = ParameterDescriptor(
            name=self.name,
            description=f"{self.metadata['description']}{unit}",
            read_only=not self.live,
            dynamic_typing=type(self.default) is float,  # 50 is as good as 50.0
        )
        if self.bounds and not self.metadata.get("from_robot"):  # rclpy's own check of a range refuses NaN
            lower, upper = self.metadata["lower"], self.metadata["upper"]
            if type(self.default) is int:
                descriptor.integer_range = [IntegerRange(from_value=int(lower), to_value=int(upper), step=0)]
            else:
                descriptor.floating_point_range = [FloatingPointRange(from_value=float(lower), to_value=float(upper))]
        elif self.bounds:
            descriptor.additional_constraints = f"in {self.bounds}, or .nan for what the robot can do"
        return descriptor


def table(kind: type) -> tuple[Parameter, ...]:
    """The parameters of a settings dataclass, in its order."""
    return tuple(_rows(kind, ""))


def _rows(kind: type, prefix: str) -> Iterator[Parameter]:
    for item in dataclasses.fields(kind):
        name = prefix + item.metadata.get("name", item.name)
        if item.default is dataclasses.MISSING:
            assert isinstance(item.default_factory, type)
            yield from _rows(item.default_factory, f"{name}.")
        else:
            yield Parameter(name, item.default, item.metadata)


def build(kind: type[Settings], values: Mapping[str, Any], prefix: str = "") -> Settings:
    """Settings of values by parameter name. Raises ParameterError where the dataclass refuses them."""
    arguments: dict[str, Any] = {}
    for item in dataclasses.fields(kind):  # type: ignore[arg-type]
        name = prefix + item.metadata.get("name", item.name)
        if item.default is dataclasses.MISSING:
            arguments[item.name] = build(item.default_factory, values, f"{name}.")  # type: ignore[arg-type]
        else:
            arguments[item.name] = values[name]
    try:
        return kind(**arguments)
    except ParameterError:
        raise
    except ValueError as error:
        raise ParameterError(str(error)) from None


def declare(node: Any, kind: type[Settings], changed: Callable[[Settings], None] | None = None) -> Settings:
    """Declares a dataclass's parameters on a node and gives the settings; `changed` gets those after a change.

    Raises ParameterError for a value given at the start that cannot be used.
    """
    rows = {row.name: row for row in table(kind)}
    values = {name: _declared(node, row) for name, row in rows.items()}
    settings = build(kind, values)

    def asked(parameters: list[Any]) -> Any:
        try:
            new = {p.name: rows[p.name].value(p.value) for p in parameters if p.name in rows}
            build(kind, {**values, **new})
        except ParameterError as error:
            return SetParametersResult(successful=False, reason=f"{error}; the old value stays")
        return SetParametersResult(successful=True)

    def done(parameters: list[Any]) -> None:
        new = {p.name: rows[p.name].value(p.value) for p in parameters if p.name in rows}
        values.update(new)
        if new and changed is not None:
            changed(build(kind, values))

    node.add_on_set_parameters_callback(asked)
    node.add_post_set_parameters_callback(done)
    return settings


def _declared(node: Any, row: Parameter) -> Any:
    # The start value is checked here, with the parameter's own words, before rclpy sees a descriptor with a range.
    free = ParameterDescriptor(dynamic_typing=True)
    value = row.value(node.declare_parameter(row.name, row.default, free).value)
    node.undeclare_parameter(row.name)
    node.declare_parameter(row.name, value, row.descriptor(), ignore_override=True)
    return value


@dataclass(frozen=True, slots=True)
class RobotSettings:
    """What every node needs to know."""

    robot: str = choice("phantomx", "name of a robot that comes with the package, or path of a robot file")
