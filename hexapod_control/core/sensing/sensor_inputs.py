"""Sensor inputs of the planner: which feet touch and how the body is tilted, and whether that is valid.

A source is rejected while it is silent, sends NaN, or repeats exactly the same sample while the robot moves. The
core has no clock: samples age by the time steps of the planner.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hexapod_control.core.robot import Robot
from hexapod_control.core.statics.static_stability import GRAVITY

MAX_SILENCE_S = 0.15  # without a new sample
MAX_FROZEN_TIME_S = 0.15  # of the same sample while joints move
CONTACT_FORCE_SHARE = 0.12  # of an even share of the weight: a foot that carries more touches the ground ...
RELEASE_SHARE = 0.06  # ... until it carries less than this


class SensorSource:
    """Samples of one kind and their age."""

    def __init__(self) -> None:
        """No sample has arrived yet."""
        self.sample: tuple[float, ...] | None = None
        self._age = math.inf  # [s]
        self._same = 0.0  # [s] of the same sample while joints moved

    def take(self, sample: Sequence[float]) -> None:
        """A new sample; one that is not finite does not count."""
        values = tuple(sample)
        if not all(map(math.isfinite, values)):
            return
        if values != self.sample:
            self._same = 0.0
        self.sample, self._age = values, 0.0

    def step(self, dt: float, moving: bool) -> None:
        """Lets `dt` [s] pass, in which joints moved or did not."""
        self._age += dt
        if moving:
            self._same += dt

    @property
    def fault(self) -> str:
        """Why the source is rejected: `silent` or `frozen`; empty if it is."""
        if self._age > MAX_SILENCE_S:
            return "silent"
        return "frozen" if self._same > MAX_FROZEN_TIME_S else ""


class Contacts(SensorSource):
    """Which feet touch the ground, from their measured loads, with hysteresis."""

    def __init__(self, robot: Robot) -> None:
        """For one robot: its weight sets the thresholds."""
        super().__init__()
        even = robot.mass * GRAVITY / len(robot.legs)
        self._touches, self._leaves = CONTACT_FORCE_SHARE * even, RELEASE_SHARE * even
        self.feet: tuple[bool, ...] = (False,) * len(robot.legs)

    def take(self, sample: Sequence[float]) -> None:
        """Loads (n,) [N] of all feet."""
        super().take(sample)
        if self.sample is not None:
            pairs = zip(self.sample, self.feet, strict=True)
            self.feet = tuple(load > (self._leaves if touched else self._touches) for load, touched in pairs)


@dataclass(frozen=True, slots=True)
class Adaptation:
    """Which adaptations to the ground are switched on."""

    touch_down: bool = False  # feet follow the ground by contact
    levelling: bool = False  # the body is kept level by an IMU


class SensorInputs:
    """The sensor sources of one robot, and what the walk uses of them."""

    def __init__(self, robot: Robot) -> None:
        """All adaptations are off."""
        self.contacts = Contacts(robot)
        # Roll and pitch [rad] of base_link in the world, then all values that change while an IMU works.
        self.tilt = SensorSource()
        self.adaptation = Adaptation()

    def step(self, dt: float, moving: bool) -> None:
        """Lets `dt` [s] pass, in which joints moved or did not."""
        self.contacts.step(dt, moving)
        self.tilt.step(dt, moving)

    @property
    def touching(self) -> tuple[bool, ...] | None:
        """Which feet touch; None: not known, or not used."""
        return self.contacts.feet if self.adaptation.touch_down and not self.contacts.fault else None

    @property
    def body_tilt(self) -> tuple[float, float] | None:
        """Roll and pitch [rad] of the body; None: not known, or not used."""
        if not self.adaptation.levelling or self.tilt.fault or self.tilt.sample is None:
            return None
        return self.tilt.sample[0], self.tilt.sample[1]
