# SPDX-License-Identifier: Apache-2.0
"""Motion files: shipped by name, by path, or as text; turned into the steps of core.motions, scaled to a robot.

The keys of a file are the fields of the dataclasses in core.motions.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml.comments import CommentedSeq

from hexapod_control.config import schema
from hexapod_control.config.bounded_yaml import UnusableFileError, read_text
from hexapod_control.config.document import DocumentEntry, from_text, read
from hexapod_control.config.errors import MotionFileError
from hexapod_control.config.schema import ChoiceRow, KeyRow, NumberRow, TextRow
from hexapod_control.config.shipped_files import file_path, shipped_names
from hexapod_control.core.motions import motion_steps
from hexapod_control.core.motions.motion_steps import (
    KINDS,
    LENGTH_UNITS,
    NAMES,
    Choreography,
    JointsStep,
    MotionError,
    MotionStep,
    RepeatStep,
    TogetherStep,
    si,
)
from hexapod_control.core.motions.motion_topics import MAX_TEXT_LENGTH, MotionRequest
from hexapod_control.core.names import JOINTS
from hexapod_control.core.quantity import Quantity
from hexapod_control.core.robot import Robot, Vector
from hexapod_control.core.workspace.robot_gaits import gait_names

FOR_HEIGHT = NumberRow("for_height", Quantity("m", 0.01, 2.0, "`walk.height` of the robot that the lengths are for"))
FOR_HEIGHT_DOCUMENTATION = (
    f"`{FOR_HEIGHT.key}`",
    f"{FOR_HEIGHT.quantity.lower:g} to {FOR_HEIGHT.quantity.upper:g} {FOR_HEIGHT.quantity.unit}",
    "as they are",
    "",
    f"{FOR_HEIGHT.quantity.meaning}; they are scaled to others",
)
BEATS = NumberRow("beats", Quantity("s", 0.0, 3600.0, "times of beats of music since the start, for editors"))
BEATS_DOCUMENTATION = (f"`{BEATS.key}`", "list of times [s]", "none", "", f"{BEATS.quantity.meaning}; not played")
ALL_LEGS = "all"  # all legs that are not named
FEET = "the feet"
BODY = "the body"
GAIT = "the gait"
GUIDED_LEG = "the leg"
ALL_RESOURCES = frozenset({FEET, BODY, GAIT, GUIDED_LEG})
MAX_DEPTH = 8  # steps within steps
MAX_STEPS = 5000  # in one pass, including repetitions


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
        return motion_steps.key(self.item.name, self.quantity)

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


KEYS: Mapping[type[MotionStep], Mapping[str, MotionKey]] = {kind: keys(kind) for kind in KINDS.values()}
HEAD = keys(Choreography)


def motion(root: DocumentEntry, robot: Robot) -> Choreography:
    """The motion of a file for one robot. Raises MotionFileError."""
    schema.refuse_unknown(root, dict.fromkeys((*HEAD, FOR_HEIGHT.key, BEATS.key)))
    beats(root)
    factor = 1.0
    if FOR_HEIGHT.key in root.children:
        factor = robot.walk.height / FOR_HEIGHT.number(root)
    head = {name: key for name, key in HEAD.items() if key.field != "steps"}
    if "name" in root.children:
        schema.TextRow("name", schema.NAME, schema.NAME_BOUND, "").value(root.children["name"])
    fields = _fields(root, head, robot)
    entry = root.children.get("steps")
    if entry is None:
        raise root.error("is missing", "must be a list of steps", "e.g. - wait: {duration: 1.0}", below="steps")
    return Choreography(steps=_StepReader(robot, factor).read(entry, 1, 1), **fields)


def beats(root: DocumentEntry) -> tuple[float, ...]:
    """The times [s] of the beats of music in a file. Raises MotionFileError."""
    entry = root.children.get(BEATS.key)
    if entry is None:
        return ()
    if not isinstance(entry.value, CommentedSeq):
        raise entry.error(f"is {schema.yaml_text(entry.value)}", "must be a list of times", "e.g. beats: [0, 0.5, 1]")
    return tuple(float(str(BEATS.value(item))) for item in entry.items)


class _StepReader:
    """Reads lists of steps for one robot."""

    def __init__(self, robot: Robot, factor: float) -> None:
        self._robot = robot
        self._factor = factor  # on lengths: size of this robot over that of the file
        self._count = 0  # steps in one pass so far

    def read(self, entry: DocumentEntry, depth: int, times: int) -> tuple[MotionStep, ...]:
        """The steps of a list that is repeated `times` times."""
        if not isinstance(entry.value, CommentedSeq) or not entry.value:
            what = "is an empty list" if entry.value == [] else f"is {schema.yaml_text(entry.value)}"
            raise entry.error(what, "must be a list of steps", "e.g. - wait: {duration: 1.0}")
        if depth > MAX_DEPTH:
            raise entry.error(f"has more than {MAX_DEPTH} steps within each other", "make a flat list of them")
        self._count += times * len(entry.value)
        if self._count > MAX_STEPS:
            raise entry.error(
                f"makes {self._count} steps in one pass",
                f"must be at most {MAX_STEPS}",
                "use loops to repeat for a long time",
            )
        return tuple(self._step(item, depth, times) for item in entry.items)

    def _step(self, entry: DocumentEntry, depth: int, times: int) -> MotionStep:
        word, values = _single(entry)
        kind = KINDS[word]
        known = KEYS[kind]
        schema.refuse_unknown(values, dict.fromkeys(known))
        fields = _fields(values, {name: key for name, key in known.items() if key.field != "steps"}, self._robot)
        if kind is JointsStep:
            _refuse_out_of_range(values, fields["angles"], self._robot)
        if "steps" in known:
            inner = values.children.get("steps")
            if inner is None:
                raise values.error("is missing", "must be a list of steps", below="steps")
            repeats = fields.get("times", RepeatStep.__dataclass_fields__["times"].default) if kind is RepeatStep else 1
            fields["steps"] = self.read(inner, depth + 1, times * repeats)
            if kind is TogetherStep:
                _refuse_conflict(inner, fields["steps"])
        place = f"{entry.path}:{entry.line}"
        if "steps" in known:  # its inner steps are already scaled
            return kind(**fields, place=place)
        try:
            return kind(**fields, place=place).scaled(self._factor)
        except MotionError as error:
            fitted = f"for this robot's size ({self._factor:.2f} of the file's)" if self._factor != 1.0 else ""
            raise values.error(str(error), fitted) from None


def _single(entry: DocumentEntry) -> tuple[str, DocumentEntry]:
    """Name of a step in the file, and the section of its keys."""
    if isinstance(entry.value, str):  # a step without keys
        word = str(entry.value)
        values = DocumentEntry(entry.path, entry.key, entry.line, {}, entry.fault)
    elif entry.is_section and len(entry.children) == 1:
        ((word, found),) = entry.children.items()
        values = DocumentEntry(
            found.path, found.key, found.line, {} if found.value is None else found.value, found.fault
        )
    else:
        what = f"has {len(entry.children)} keys" if entry.is_section else f"is {schema.yaml_text(entry.value)}"
        raise entry.error(what, "must be one step", "e.g. - wait: {duration: 1.0}; indent the keys of a step below it")
    if word not in KINDS:
        hint = schema.did_you_mean(word, list(KINDS))
        raise entry.error(f'is "{word}"', f"must be a step: {', '.join(KINDS)}", hint)
    return word, values


def _refuse_conflict(entry: DocumentEntry, steps: tuple[MotionStep, ...]) -> None:
    conflict = first_conflict(steps)
    if conflict is not None:
        step, words = conflict
        place = entry.items[steps.index(step)]
        raise place.error(words, "must be steps that use different parts of the robot", "let one follow the other")


def _refuse_out_of_range(values: DocumentEntry, angles: Mapping[str, Vector], robot: Robot) -> None:
    """Raises MotionFileError for an angle outside the limits of its joint."""
    entry = values.children["angles_deg"]
    for leg in robot.legs:
        name = leg.name if leg.name in angles else ALL_LEGS
        for part, joint, angle in zip(JOINTS, leg.joints, angles.get(name, ()), strict=False):
            if not joint.lower <= angle <= joint.upper:
                lower, upper = math.degrees(joint.lower), math.degrees(joint.upper)
                what = f"has {math.degrees(angle):g} deg for the {part} of {leg.name}"
                raise entry.children[name].error(what, f"its limits are {lower:g} and {upper:g} deg")


def _fields(section: DocumentEntry, known: Mapping[str, MotionKey], robot: Robot) -> dict[str, Any]:
    """The fields set by a section. Raises MotionFileError for an invalid or missing one."""
    fields = {}
    for name, key in known.items():
        entry = section.children.get(name)
        if entry is not None:
            fields[key.field] = _value(entry, key, robot)
        elif key.required:
            raise section.error("is missing", _bound(key, robot), "there is no default for it", below=name)
    return fields


def _value(entry: DocumentEntry, key: MotionKey, robot: Robot) -> Any:
    if key.columns:
        return _vectors(entry, key, robot)
    value = key.row(robot).value(entry)
    # of a whole number the factor is 1
    return value * si(key.quantity) if key.quantity and isinstance(value, float) else value


def _vectors(entry: DocumentEntry, key: MotionKey, robot: Robot) -> dict[str, Vector]:
    """Three numbers for each named leg."""
    known = (*robot.leg_names, ALL_LEGS)
    if not entry.is_section or not entry.children:
        raise entry.error(f"is {schema.yaml_text(entry.value)}", _bound(key, robot), "e.g. {all: [0, 0, 0]}")
    schema.refuse_unknown(entry, dict.fromkeys(known))
    vectors = {}
    for leg, child in entry.children.items():
        values = key.row(robot).value(child)
        assert isinstance(values, tuple) and key.quantity is not None
        a, b, c = (si(key.quantity) * value for value in values)
        vectors[leg] = (a, b, c)
    return vectors


def _bound(key: MotionKey, robot: Robot) -> str:
    if key.columns:
        return f"must be a section with [{', '.join(key.columns)}] for {ALL_LEGS} or {', '.join(robot.leg_names)}"
    return str(key.row(robot).bound)


def _inner(step: Any) -> frozenset[str]:
    return frozenset().union(*(resources(inner) for inner in step.steps))


RESOURCES: Mapping[type[MotionStep], Callable[[Any], frozenset[str]]] = {
    motion_steps.WalkStep: lambda step: frozenset({FEET}),
    motion_steps.ArcStep: lambda step: frozenset({FEET}),
    motion_steps.RotateStep: lambda step: frozenset({FEET if step.axis == "z" else BODY}),
    motion_steps.PoseStep: lambda step: frozenset({BODY}),
    motion_steps.HeightStep: lambda step: frozenset({BODY}),
    motion_steps.SwayStep: lambda step: frozenset({BODY}),
    motion_steps.GaitStep: lambda step: frozenset({GAIT}),
    motion_steps.LegStep: lambda step: frozenset({f"{GUIDED_LEG}: {step.name}"}),
    motion_steps.WaitStep: lambda step: frozenset(),
    motion_steps.RepeatStep: _inner,
    motion_steps.TogetherStep: _inner,
}


def resources(step: MotionStep) -> frozenset[str]:
    """Resources that a step uses; a posture step uses all."""
    used = RESOURCES.get(type(step))
    return used(step) if used else ALL_RESOURCES


def first_conflict(steps: Sequence[MotionStep]) -> tuple[MotionStep, str] | None:
    """The first step that shares a resource with an earlier one, and the message; None without a conflict."""
    before: list[MotionStep] = []
    for step in steps:
        for other in before:
            common = _common(resources(other), resources(step))
            if common:
                return step, f"{NAMES[type(other)]} and {NAMES[type(step)]} both take {common}"
        before.append(step)
    return None


def _common(one: frozenset[str], other: frozenset[str]) -> str:
    """A resource used by both, or "". A guided leg needs all other legs in stance, so it also excludes walking."""
    for first, second in ((one, other), (other, one)):
        guided = sorted(name for name in first if name.startswith(GUIDED_LEG))
        if guided and FEET in second:
            return FEET
    return next(iter(sorted(one & other)), "")


def known_motions() -> tuple[str, ...]:
    """Names of the motions that come with the package."""
    return shipped_names("motions")


def load_motion(name_or_path: str, robot: Robot) -> Choreography:
    """A shipped motion by name, or the motion of a file, scaled to the robot. Raises MotionFileError.

    core.motions.motion_rehearsal checks whether the robot can perform it.
    """
    return motion(read(file_path("motions", name_or_path, MotionFileError), MotionFileError), robot)


def load_motion_text(file: str, text: str, robot: Robot) -> Choreography:
    """Like `load_motion`, for the text of a file; `file` is only used in messages."""
    return motion(from_text(Path(file), text, MotionFileError), robot)


def request(name_or_path: str) -> tuple[MotionRequest, tuple[str, ...]]:
    """The request for a motion, and its names: the one in the file, and the file's stem.

    Raises MotionFileError if the file is missing, not YAML or too long.
    """
    path = file_path("motions", name_or_path, MotionFileError)
    try:
        text = read_text(path)
    except UnusableFileError as error:
        raise MotionFileError(path, None, "", str(error)) from None
    entry = from_text(path, text, MotionFileError).children.get("name")
    if name_or_path in known_motions():
        motion_request = MotionRequest(name=name_or_path)
    elif len(text) > MAX_TEXT_LENGTH:
        raise MotionFileError(path, None, "", f"has {len(text)} characters", f"must have at most {MAX_TEXT_LENGTH}")
    else:
        motion_request = MotionRequest(file=str(path), text=text)
    names = (str(entry.value) if entry is not None else "", "_".join(path.stem.split()))
    return motion_request, tuple(name for name in dict.fromkeys(names) if name)
