"""What of the robot a step takes for itself: two steps at the same time must not want the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hexapod_control.core import motions
from hexapod_control.core.motions import NAMES, Step

FEET, BODY, GAIT, HAND = "the feet", "the body", "the gait", "a leg by hand"
WHOLE = frozenset({FEET, BODY, GAIT, HAND})


def _inner(step: Any) -> frozenset[str]:
    return frozenset().union(*(channels(inner) for inner in step.steps))


CHANNELS: Mapping[type[Step], Callable[[Any], frozenset[str]]] = {
    motions.Walk: lambda step: frozenset({FEET}),
    motions.Arc: lambda step: frozenset({FEET}),
    motions.Rotate: lambda step: frozenset({FEET if step.axis == "z" else BODY}),
    motions.Pose: lambda step: frozenset({BODY}),
    motions.Height: lambda step: frozenset({BODY}),
    motions.Sway: lambda step: frozenset({BODY}),
    motions.Gait: lambda step: frozenset({GAIT}),
    motions.Leg: lambda step: frozenset({f"{HAND}: {step.name}"}),
    motions.Wait: lambda step: frozenset(),
    motions.Repeat: _inner,
    motions.Together: _inner,
}


def channels(step: Step) -> frozenset[str]:
    """What a step takes; a posture takes everything."""
    taken = CHANNELS.get(type(step))
    return taken(step) if taken else WHOLE


def clash(steps: Sequence[Step]) -> tuple[Step, str] | None:
    """The first step that wants what another one before it has, and the words for it; None if they go together."""
    before: list[Step] = []
    for step in steps:
        for other in before:
            common = _common(channels(other), channels(step))
            if common:
                return step, f"{NAMES[type(other)]} and {NAMES[type(step)]} both take {common}"
        before.append(step)
    return None


def _common(one: frozenset[str], other: frozenset[str]) -> str:
    """What both take. A leg by hand needs the others to stand, so nothing walks meanwhile."""
    for first, second in ((one, other), (other, one)):
        hands = sorted(name for name in first if name.startswith(HAND))
        if hands and FEET in second:
            return FEET
    return next(iter(sorted(one & other)), "")
