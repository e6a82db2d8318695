# SPDX-License-Identifier: Apache-2.0
"""Sensor inputs of the planner, their age and validity: foot contacts, IMU and measured joints.

A source is invalid while it is silent, sends NaN, or repeats exactly the same sample while the robot moves. The core
has no clock: the age of a sample is the sum of the time steps of the planner since then.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.robot import Robot
from hexapod_control.core.statics.static_stability import GRAVITY

YAW_RATE = 4  # index in a sample of the IMU, after roll, pitch and two rates
MAX_SILENCE_S = 0.15  # time without a new sample, beyond which a source is silent
MAX_FROZEN_TIME_S = 0.15  # time of the same sample while joints move, beyond which a source is frozen
CONTACT_FORCE_SHARE = 0.12  # of an even share of the weight: a foot with more load touches the ground ...
RELEASE_SHARE = 0.06  # ... until its load is below this


class SensorFault(Enum):
    """Why samples of a sensor are not used."""

    SILENT = "silent"
    FROZEN = "frozen"


class SensorSource(Copyable):
    """The newest sample of one sensor and its age."""

    def __init__(self) -> None:
        """Starts without a sample."""
        self.sample: tuple[float, ...] | None = None
        self.stepped = True  # whether `step` was called since the last sample
        self._age = math.inf  # [s]
        self._same = 0.0  # [s] for which joints moved since the sample last changed

    def take(self, sample: Sequence[float]) -> None:
        """Stores a new sample; one that is not finite is ignored."""
        values = tuple(sample)
        if not all(map(math.isfinite, values)):
            return
        if values != self.sample:
            self._same = 0.0
        self.sample = values
        self._age = 0.0
        self.stepped = False

    def step(self, dt: float, moving: bool) -> None:
        """Advances the age by `dt` [s]; `moving`: whether joints moved."""
        self._age += dt
        self.stepped = True
        if moving:
            self._same += dt

    @property
    def fault(self) -> SensorFault | None:
        """Why the source is not valid; None if it is valid."""
        if self._age > MAX_SILENCE_S:
            return SensorFault.SILENT
        return SensorFault.FROZEN if self._same > MAX_FROZEN_TIME_S else None


class ImuSource(SensorSource):
    """Samples of an IMU."""

    def __init__(self) -> None:
        """Starts without a sample."""
        super().__init__()
        self._heading: float | None = None  # [rad]

    def take_reading(
        self,
        tilt: Sequence[float],
        rates: Sequence[float],
        acceleration: Sequence[float],
        heading: float | None = None,
    ) -> None:
        """Stores roll and pitch [rad] of base_link in the world, and rates [rad/s] and accelerations [m/s^2] (3,).

        Unknown rates or accelerations are empty. `heading` [rad] is the yaw in the world.
        """
        self._heading = heading if heading is not None and math.isfinite(heading) else None
        self.take((*tilt, *rates, *acceleration) if rates else tuple(tilt))

    @property
    def tilt(self) -> tuple[float, float] | None:
        """Roll and pitch [rad] of base_link in the world; None if unknown."""
        return None if self.fault or self.sample is None else (self.sample[0], self.sample[1])

    @property
    def heading(self) -> float | None:
        """Yaw [rad] of base_link in the world; None if unknown."""
        return None if self.fault else self._heading

    @property
    def yaw_rate(self) -> float | None:
        """Rate [rad/s] about z; None if unknown."""
        return None if self.fault or self.sample is None or len(self.sample) <= YAW_RATE else self.sample[YAW_RATE]


class Contacts(SensorSource):
    """Which feet touch the ground, from their measured loads, with hysteresis."""

    def __init__(self, robot: Robot) -> None:
        """Starts without contacts; the thresholds are shares of the weight of the robot."""
        super().__init__()
        even_load = robot.mass * GRAVITY / len(robot.legs)
        self._touch_threshold = CONTACT_FORCE_SHARE * even_load
        self._release_threshold = RELEASE_SHARE * even_load
        self.feet: tuple[bool, ...] = (False,) * len(robot.legs)

    def take(self, sample: Sequence[float]) -> None:
        """Stores the loads (n,) [N] of all feet."""
        super().take(sample)
        if self.sample is not None:
            pairs = zip(self.sample, self.feet, strict=True)
            self.feet = tuple(
                load > (self._release_threshold if touched else self._touch_threshold) for load, touched in pairs
            )


@dataclass(frozen=True, slots=True)
class Adaptation:
    """Selects adaptations to the ground, and to errors of the robot."""

    touch_down: bool = False  # feet follow the ground by contact
    levelling: bool = False  # the body is kept level by an IMU
    course: float = 0.15  # largest correction of the walk, as a share of the speed of the feet; 0: none
    trim: float = 0.12  # largest trim of a foot, as a share of the walk height; 0: none
    explores: bool = False  # feet probe ground that no sensor has seen, where a map of it is used


@dataclass(frozen=True, slots=True)
class MishapDetection:
    """Selects the mishaps to detect."""

    falls: bool = False  # falls and lifts
    legs: bool = False  # stuck legs and slipping feet


class SensorInputs(Copyable):
    """The sensor sources of one robot, and their values for the walk."""

    def __init__(self, robot: Robot) -> None:
        """Starts with all adaptations and mishap detections off."""
        self.contacts = Contacts(robot)
        self.imu = ImuSource()
        self.joints = SensorSource()  # measured angles [rad], leg by leg
        self.adaptation = Adaptation()
        self.mishap_detection = MishapDetection()

    def step(self, dt: float, moving: bool) -> None:
        """Advances the ages of all sources by `dt` [s]; `moving`: whether joints moved."""
        self.contacts.step(dt, moving)
        self.imu.step(dt, moving)
        self.joints.step(dt, moving)

    @property
    def exist(self) -> bool:
        """Whether any source has ever sent a sample."""
        return any([source.sample is not None for source in (self.contacts, self.imu, self.joints)])

    @property
    def loaded(self) -> tuple[bool, ...] | None:
        """Which feet bear load; None if unknown.

        A frozen sample is accepted if it shows no load on any foot, as for a lifted robot.
        """
        fault, feet = self.contacts.fault, self.contacts.feet
        return None if fault is SensorFault.SILENT or (fault and any(feet)) else feet

    @property
    def touching(self) -> tuple[bool, ...] | None:
        """Which feet touch the ground; None if unknown, or if the adaptation is off."""
        return self.contacts.feet if self.adaptation.touch_down and not self.contacts.fault else None

    @property
    def body_tilt(self) -> tuple[float, float] | None:
        """Roll and pitch [rad] of the body; None if unknown, or if the adaptation is off."""
        return self.imu.tilt if self.adaptation.levelling else None
