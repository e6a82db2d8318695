"""Resources of the robot that a step uses: simultaneous steps must not share one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hexapod_control.core.motions import motion_steps
from hexapod_control.core.motions.motion_steps import NAMES, MotionStep

FEET, BODY, GAIT, GUIDED_LEG = "the feet", "the body", "the gait", "the leg"
ALL_RESOURCES = frozenset({FEET, BODY, GAIT, GUIDED_LEG})


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
