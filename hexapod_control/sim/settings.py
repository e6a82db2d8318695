"""Settings of the simulated world: what the robot file does not say."""

from __future__ import annotations

import math
from dataclasses import Field, dataclass, field, fields
from typing import Any

from hexapod_control.sim.servo_models import servo_model

WORLDS = ("flat", "slope", "blocks", "bumps")
BETWEEN_TARGETS = ("hold", "linear")


def _number(default: float, unit: str, lower: float, upper: float, description: str) -> Any:
    return field(default=default, metadata={"unit": unit, "lower": lower, "upper": upper, "description": description})


def _text(default: str, description: str) -> Any:
    return field(default=default, metadata={"unit": "", "description": description})


@dataclass(frozen=True, slots=True)
class WorldSettings:
    """The ground, the load and the servos of one run; unit, bounds and description stand in the metadata."""

    world: str = _text("flat", f"ground: {', '.join(WORLDS)}")
    seed: int = _number(0, "", 0, 2**31 - 1, "seed of blocks and bumps")
    slope_deg: float = _number(10.0, "deg", -40.0, 40.0, "angle of the slope, + is uphill along x")
    block_height: float = _number(0.02, "m", 0.0, 0.1, "blocks are up to this much higher or lower than the start")
    bump_height: float = _number(0.02, "m", 0.0, 0.2, "bumps are up to this much higher or lower than the start")
    friction: float = _number(0.8, "", 0.01, 5.0, "coefficient of sliding friction of every contact")
    payload: float = _number(0.0, "kg", 0.0, 20.0, "load fixed to the top of the body")
    servo_model: str = _text("", "servo of every joint, a row of servo_models; empty: as the robot file says")
    between_targets: str = _text("hold", f"what a servo does until the next target: {', '.join(BETWEEN_TARGETS)}")
    timestep: float = _number(0.002, "s", 1e-4, 0.005, "step of the physics")

    def __post_init__(self) -> None:
        for name, known in (("world", WORLDS), ("between_targets", BETWEEN_TARGETS)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, is {getattr(self, name)!r}")
        if self.servo_model:
            servo_model(self.servo_model)
        for item in fields(self):
            if "lower" in item.metadata:
                _check(item, getattr(self, item.name))


def _check(item: Field[Any], value: float) -> None:
    lower, upper, unit = item.metadata["lower"], item.metadata["upper"], item.metadata["unit"]
    if not (math.isfinite(value) and lower <= value <= upper):
        raise ValueError(f"{item.name} must be in [{lower:g}, {upper:g}]{unit and ' ' + unit}, is {value}")
