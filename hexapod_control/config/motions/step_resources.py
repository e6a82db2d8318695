"""Resources of the robot that a step uses: simultaneous steps must not share one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hexapod_control.core.motions import motion_steps
from hexapod_control.core.motions.motion_steps import NAMES, MotionStep

FEET, BODY, GAIT, HAND = "the feet", "the body", "the gait", "a leg by hand"
WHOLE = frozenset({FEET, BODY, GAIT, HAND})


def _inner(step: Any) -> frozenset[str]:
    return frozenset().union(*(channels(inner) for inner in step.steps))


CHANNELS: Mapping[type[MotionStep], Callable[[Any], frozenset[str]]] = {
    motion_steps.WalkStep: lambda step: frozenset({FEET}),
    motion_steps.ArcStep: lambda step: frozenset({FEET}),
    motion_steps.RotateStep: lambda step: frozenset({FEET if step.axis == "z" else BODY}),
    motion_steps.PoseStep: lambda step: frozenset({BODY}),
    motion_steps.HeightStep: lambda step: frozenset({BODY}),
    motion_steps.SwayStep: lambda step: frozenset({BODY}),
    motion_steps.GaitStep: lambda step: frozenset({GAIT}),
    motion_steps.LegStep: lambda step: frozenset({f"{HAND}: {step.name}"}),
    motion_steps.WaitStep: lambda step: frozenset(),
    motion_steps.RepeatStep: _inner,
    motion_steps.TogetherStep: _inner,
}


def channels(step: MotionStep) -> frozenset[str]:
    """Resources that a step uses; a posture uses all."""
    taken = CHANNELS.get(type(step))
    return taken(step) if taken else WHOLE


def clash(steps: Sequence[MotionStep]) -> tuple[MotionStep, str] | None:
    """The first step that shares a resource with an earlier one, and the message; None if there is none."""
    before: list[MotionStep] = []
    for step in steps:
        for other in before:
            common = _common(channels(other), channels(step))
            if common:
                return step, f"{NAMES[type(other)]} and {NAMES[type(step)]} both take {common}"
        before.append(step)
    return None


def _common(one: frozenset[str], other: frozenset[str]) -> str:
    """A resource used by both, or "". A guided leg needs all other legs in stance, so it also excludes walking."""
    for first, second in ((one, other), (other, one)):
        hands = sorted(name for name in first if name.startswith(HAND))
        if hands and FEET in second:
            return FEET
    return next(iter(sorted(one & other)), "")
