# SPDX-License-Identifier: Apache-2.0
"""Declares the fields of settings dataclasses as ROS parameters.

The fields are declared with `number` and `choice` of core/quantity.py. Their metadata may also have `name` (the ROS
name), `live` (may be changed while the node runs), `least` (the smallest magnitude apart from 0), `from_robot` (NaN:
the limit of the robot is used) and `check` (a function that raises ValueError for a text that cannot be used). A field
whose default is another such dataclass is a group: `name.field`. Every value is checked when it is declared and on
every change; a refused change leaves the old value.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, ParameterType, SetParametersResult
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter
from rclpy.parameter import get_parameter_value, parameter_value_to_python

from hexapod_control.config.document import DocumentEntry
from hexapod_control.config.parameter_file import node_sections
from hexapod_control.config.schema import did_you_mean
from hexapod_control.core.names import quoted, shortened
from hexapod_control.core.quantity import Quantity, QuantityError, choice, spelled

Settings = TypeVar("Settings")
LIVE: Mapping[str, Any] = {"live": True}
_READ_AS = (ParameterType.PARAMETER_INTEGER, ParameterType.PARAMETER_STRING)  # of numbers in YAML: 1, 1e-05, nan
MAX_TEXT = 4096  # characters of a value: the longest path
CHANGES = (SetParameters, SetParametersAtomically)  # services that change parameters
FROM_ROBOT: Mapping[str, Any] = {"live": True, "from_robot": True}
OR_ROBOT = "or .nan for what the robot can do"


class ParameterError(ValueError):
    """A parameter value that cannot be used; the text names parameter, value, bounds and remedy."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a node."""

    name: str
    default: Any
    metadata: Mapping[str, Any]

    @property
    def live(self) -> bool:
        """True if the parameter may be changed while the node runs."""
        return bool(self.metadata.get("live"))

    @property
    def quantity(self) -> Quantity | None:
        """The quantity; None for texts and booleans."""
        return self.metadata.get("quantity")

    def value(self, setting: object) -> Any:
        """Checks a value and returns it; an integer becomes a float where one is expected. Raises ParameterError."""
        try:
            checked = self._text(setting) if self.quantity is None else self._number(self.quantity, setting)
            if "check" in self.metadata:
                self.metadata["check"](checked)
        except QuantityError as error:
            raise ParameterError(f"{self.name} {error}") from None
        except ParameterError:
            raise
        except ValueError as error:
            raise ParameterError(f"{self.name}: {error}") from None
        return checked

    def _text(self, setting: object) -> object:
        if type(setting) is str and len(setting) > MAX_TEXT:
            raise ParameterError(f"{self.name} has {len(setting)} characters, at most {MAX_TEXT} are accepted")
        if type(setting) is not type(self.default):
            kind = "true or false" if type(self.default) is bool else "a text"
            example = self._as_yaml(self.default)
            raise ParameterError(f"{self.name} must be {kind}, is {shortened(repr(setting))}; e.g. {example}")
        return setting

    def _number(self, quantity: Quantity, setting: object) -> float:
        if self.metadata.get("from_robot"):
            if type(setting) is float and math.isnan(setting):
                return setting
            quantity = dataclasses.replace(quantity, hint=OR_ROBOT)
        number = quantity.checked(setting)
        least = self.metadata.get("least", 0.0)
        if 0.0 < abs(number) < least:
            raise ParameterError(f"{self.name} must be 0 or at least {least:g} {quantity.unit}, is {spelled(setting)}")
        return number

    @staticmethod
    def _as_yaml(value: object) -> str:
        return str(value).lower() if isinstance(value, bool) else str(value) or "''"

    def descriptor(self) -> ParameterDescriptor:
        """Returns the descriptor that `ros2 param describe` shows."""
        quantity = self.quantity
        unit = f" [{quantity.unit}]" if quantity and quantity.unit else ""
        descriptor = ParameterDescriptor(
            name=self.name,
            description=f"{self.metadata['meaning']}{unit}",
            read_only=not self.live,
            dynamic_typing=type(self.default) is float,  # accepts 50 for 50.0
        )
        if quantity is None:
            return descriptor
        lower, upper = quantity.lower, quantity.upper
        if self.metadata.get("from_robot"):  # rclpy refuses NaN in a range
            descriptor.additional_constraints = f"in {quantity.bounds}, {OR_ROBOT}"
        elif quantity.whole:
            descriptor.integer_range = [IntegerRange(from_value=int(lower), to_value=int(upper), step=0)]
        else:
            descriptor.floating_point_range = [FloatingPointRange(from_value=float(lower), to_value=float(upper))]
        return descriptor


def table(kind: type) -> tuple[Parameter, ...]:
    """Returns the parameters of a settings dataclass, in the order of its fields."""
    return tuple(_parameters(kind, ""))


def _parameters(kind: type, prefix: str) -> Iterator[Parameter]:
    for item in dataclasses.fields(kind):
        name = prefix + item.metadata.get("name", item.name)
        if item.default is dataclasses.MISSING:
            assert isinstance(item.default_factory, type)
            yield from _parameters(item.default_factory, f"{name}.")
        else:
            yield Parameter(name, item.default, item.metadata)


def build(kind: type[Settings], values: Mapping[str, Any], prefix: str = "") -> Settings:
    """Builds a settings dataclass from values by parameter name. Raises ParameterError for invalid combinations."""
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


def declare(node: Node, kind: type[Settings], changed: Callable[[Settings], None] | None = None) -> Settings:
    """Declares the parameters of a settings dataclass. Returns the settings; `changed` is called with new ones.

    Raises ParameterError for an invalid start value.
    """
    known = {parameter.name: parameter for parameter in table(kind)}
    values = {name: _declared(node, parameter) for name, parameter in known.items()}
    settings = build(kind, values)

    def check(parameters: list[RosParameter]) -> SetParametersResult:
        try:
            new = {p.name: known[p.name].value(p.value) for p in parameters if p.name in known}
            build(kind, {**values, **new})
        except ParameterError as error:
            return SetParametersResult(successful=False, reason=f"{error}; the old value stays")
        return SetParametersResult(successful=True)

    def apply(parameters: list[RosParameter]) -> None:
        new = {p.name: known[p.name].value(p.value) for p in parameters if p.name in known}
        values.update(new)
        if new and changed is not None:
            changed(build(kind, values))

    node.add_on_set_parameters_callback(check)
    node.add_post_set_parameters_callback(apply)
    return settings


def _declared(node: Node, parameter: Parameter) -> Any:
    # Declared without a range first, so that a start value out of bounds is refused with the message of this module.
    free = ParameterDescriptor(dynamic_typing=True)
    value = parameter.value(node.declare_parameter(parameter.name, parameter.default, free).value)
    node.undeclare_parameter(parameter.name)
    node.declare_parameter(parameter.name, value, parameter.descriptor(), ignore_override=True)
    return value


def undeclared(node: Node, words: Sequence[str]) -> Iterator[str]:
    """Yields a sentence for each parameter in the command line `words` of a node that the node does not have.

    A wildcard may be meant for other nodes: its names are reported only if they are similar to one of this node.
    """
    known = node.list_parameters([], 0).names
    for name, alone in dict(_given(node, words)).items():
        hint = did_you_mean(name, known)
        if name.startswith("qos_overrides.") and name not in known and alone:
            yield f"{node.get_name()} has no topic for {quoted(name)}, which has no effect; give its full name"
        elif name not in known and (hint or alone):
            hint = hint or f"`ros2 param list {node.get_fully_qualified_name()}` shows its parameters"
            yield f"{node.get_name()} has no parameter {quoted(name)}, which has no effect; {hint}"


def _given(node: Node, words: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Yields the parameters in a command line that are for a node, and whether they are for this node alone."""
    for option, value in pairwise(words):
        if option in ("-p", "--param"):
            target, _, name = value.partition(":=")[0].rpartition(":")
            if target in ("", node.get_name()):
                yield name, True
        elif option == "--params-file":
            for target, section in node_sections(Path(value)):
                if "*" in target or target == node.get_name():
                    yield from ((name, "*" not in target) for name in _names(section))


def _names(section: DocumentEntry, prefix: str = "") -> Iterator[str]:
    for name, entry in section.children.items():
        if entry.is_section:
            yield from _names(entry, f"{prefix}{name}.")
        else:
            yield prefix + name


def accept_dumps(node: Node, callback: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Wraps the callback of a service in CHANGES so that every output of `ros2 param dump` can be loaded again.

    A read-only parameter may be set to the value that it has. Unknown types are refused; rclpy would raise.
    """
    known = {kind.value for kind in RosParameter.Type}

    def checked(request: Any, response: Any) -> Any:
        wrong = {each.value.type for each in request.parameters} - known
        if wrong:
            reason = f"type {min(wrong)} is none of rcl_interfaces/msg/ParameterType; all old values stay"
            return _answered(response, [SetParametersResult(successful=False, reason=reason)] * len(request.parameters))
        unchanged = [_is_unchanged(node, each) for each in request.parameters]
        request.parameters = [each for each, same in zip(request.parameters, unchanged, strict=True) if not same]
        done = SetParametersResult(successful=True)
        if not request.parameters:
            return _answered(response, [done] * len(unchanged))
        response = callback(request, response)
        if isinstance(response, SetParameters.Response):
            results = iter(response.results)
            response.results = [done if same else next(results) for same in unchanged]
        return response

    return checked


def refusal(response: Any, reason: str) -> Any:
    """The response of any service to a request that is refused as a whole."""
    if hasattr(response, "success"):
        response.success = False
        response.message = reason
    if isinstance(response, SetParameters.Response | SetParametersAtomically.Response):
        _answered(response, [SetParametersResult(successful=False, reason=reason)])
    return response


def _answered(response: Any, results: list[SetParametersResult]) -> Any:
    if isinstance(response, SetParameters.Response):
        response.results = results
    else:
        response.result = results[0] if results else SetParametersResult(successful=True)
    return response


def _is_unchanged(node: Node, requested: Any) -> bool:
    """True if a read-only parameter has the requested value. Converts values read as YAML to the declared type.

    `ros2 param load` reads every value as YAML on its own: NaN and 1e-05 become texts, and the text "7" a number.
    """
    if not node.has_parameter(requested.name):
        return False
    current = node.get_parameter(requested.name)
    value = current.get_parameter_value()
    same = requested.value in (value, get_parameter_value(str(current.value)))
    if same:
        requested.value = value
    elif current.type_ is RosParameter.Type.DOUBLE and requested.value.type in _READ_AS:
        with contextlib.suppress(ValueError):
            read = float(parameter_value_to_python(requested.value))
            requested.value = RosParameter(requested.name, value=read).get_parameter_value()
    return same and node.describe_parameter(requested.name).read_only


@dataclass(frozen=True, slots=True)
class RobotSettings:
    """The parameters of every node that needs the robot."""

    robot: str = choice("phantomx", "name of a robot that comes with the package, or path of a robot file")
    joint_mapping: str = choice(
        "", "file with the joint names, signs and zeros of a URDF, for joint_states and joint_targets; empty: ours"
    )
