"""Turns the entries of a motion file into the steps of core.motions, scaled to a robot."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ruamel.yaml.comments import CommentedSeq

from hexapod_control.config import schema
from hexapod_control.config.document import DocumentEntry
from hexapod_control.config.motions.motion_keys import ALL_LEGS, FOR_HEIGHT, MotionKey, keys
from hexapod_control.core.motions import motion_steps
from hexapod_control.core.motions.motion_steps import (
    KINDS,
    NAMES,
    Choreography,
    JointsStep,
    MotionError,
    MotionStep,
    RepeatStep,
    TogetherStep,
    si,
)
from hexapod_control.core.names import JOINTS
from hexapod_control.core.robot import Robot, Vector

FEET = "the feet"
BODY = "the body"
GAIT = "the gait"
GUIDED_LEG = "the leg"
ALL_RESOURCES = frozenset({FEET, BODY, GAIT, GUIDED_LEG})
MAX_DEPTH = 8  # steps within steps
MAX_STEPS = 5000  # in one pass, including repetitions
KEYS: Mapping[type[MotionStep], Mapping[str, MotionKey]] = {kind: keys(kind) for kind in KINDS.values()}
HEAD = keys(Choreography)


def motion(root: DocumentEntry, robot: Robot) -> Choreography:
    """The motion of a file for one robot. Raises MotionFileError."""
    schema.refuse_unknown(root, dict.fromkeys((*HEAD, FOR_HEIGHT.key)))
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
    return key.row(robot).bound


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
