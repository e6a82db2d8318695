# SPDX-License-Identifier: Apache-2.0
"""What a real robot has and an ideal one has not: errors of its servos, legs and sensors.

Angles of the servo driver are those of its calibration: a servo driven to the angle q turns its joint to
q + `zero_offset`, and reports q there. Arrays (n, 3) have one row per leg of the robot, columns coxa, femur, tibia.

A servo is a spring between target and joint that pulls only beyond its `slack`: its motor is not driven while the error
is within the dead band, and the joint is free within half of the backlash on either side.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np

from hexapod_control.core.kinematics.arrays import Array, read_only
from hexapod_control.core.quantity import Quantity
from hexapod_control.core.robot import FRICTION_SHARE, Leg, Robot, ServoTraits
from hexapod_control.core.sensing.foot_force_estimator import MOTOR_TIME_CONSTANT_S

IDEAL = "ideal"
TYPICAL = "typical"
WORN = "worn"
MEASURED = "measured"
SEED = Quantity("", 0, 2**31 - 1, "seed of the errors: the robot that has them", 0, whole=True)
AIR_DEGC = 25.0
COPPER_PER_K = 0.0039  # more resistance of a winding
PROTECTED_K = 10.0  # below the hottest temperature, over which a servo reduces its torque
MOST_DEVIATIONS = 2.0  # of a drawn value from its median, in standard deviations: beyond, its owner would repair it


# Defaults of arrays, which become arrays.
NONE: Any = 0.0
NOMINAL: Any = 1.0
FAR_DEGC: Any = 1000.0
OF_THE_IMU = ("imu_mounting", "gyro_bias", "accelerometer_bias")


@dataclass(frozen=True, slots=True, eq=False)
class Reality:
    """The errors of one robot, by default none. A number given for an array is that of all its elements."""

    legs: int
    # Servos, (n, 3).
    zero_offset: Array = NONE  # [rad] true angle of a joint less that of the driver
    backlash: Array = NONE  # [rad] play between motor and joint, from end to end
    latency: Array = NONE  # [s] from a target of the driver to the motor: bus and servo
    dead_band: Array = NONE  # [rad] error up to which the motor is not driven
    resolution: Array = NONE  # [rad] step of targets and of reported angles; 0 is none
    stiffness: Array = NOMINAL  # share of the nominal value, like the next four
    stall_torque: Array = NOMINAL
    no_load_speed: Array = NOMINAL
    friction: Array = NOMINAL  # dry
    inertia: Array = NOMINAL  # of the rotor
    load_friction: Array = NONE  # more dry friction, as a share of what the gear bears
    stall_current: Array = NONE  # [A]
    heating: Array = NONE  # [K/s] at stall torque
    cooling: Array = NONE  # [1/s] per K above the air
    hottest: Array = FAR_DEGC  # [degC] at which a servo gives no torque
    # Supply.
    voltage: float = 11.1  # [V] without load, at which the nominal values hold
    supply_resistance: float = 0.0  # [ohm] of battery and wires
    # Legs, (n, 3).
    length: Array = NONE  # [m] of coxa, femur and tibia, beyond the robot file's
    hip: Array = NONE  # [m] displacement along x, y, z of base_link
    # IMU, (3,) about or along x, y, z.
    imu_mounting: Array = NONE  # [rad] roll, pitch and yaw of the chip in base_link
    gyro_bias: Array = NONE  # [rad/s]
    accelerometer_bias: Array = NONE  # [m/s2]
    gyro_noise: float = 0.0  # [rad/s] standard deviation
    accelerometer_noise: float = 0.0  # [m/s2] standard deviation
    # Foot contacts.
    contact_latency: float = 0.0  # [s]
    contact_noise: float = 0.0  # [N] standard deviation
    seed: int = 0  # of the noise

    def __post_init__(self) -> None:
        for each in fields(self):
            if each.type == "Array":
                shape = (3,) if each.name in OF_THE_IMU else (self.legs, 3)
                object.__setattr__(self, each.name, read_only(np.broadcast_to(getattr(self, each.name), shape)))

    @property
    def slack(self) -> Array:
        """Error of the position (n, 3) [rad] up to which there is no torque."""
        return self.backlash / 2.0 + self.dead_band

    @property
    def is_ideal(self) -> bool:
        """Whether there are no errors."""
        return all(np.all(getattr(self, each.name) == each.default) for each in fields(self)[1:-1])


class _Spread(NamedTuple):
    """How the values of an error are distributed over joints, legs or axes: normally, or their logarithm is.

    With `of_traits`, the median is that times the value of the servo.
    """

    median: float
    deviation: float = 0.0  # standard deviation; of a factor its logarithm's
    is_factor: bool = False
    of_traits: bool = False

    def values(self, draws: Array, trait: Array) -> Array:
        """Values for standard normal draws, of servos with a trait."""
        median = self.median * trait if self.of_traits else self.median
        return median * np.exp(self.deviation * draws) if self.is_factor else median + self.deviation * draws


def _factor(median: float, deviation: float) -> _Spread:
    return _Spread(median, deviation, is_factor=True)


def _trait(median: float, deviation: float = 0.0) -> _Spread:
    return _Spread(median, deviation, is_factor=True, of_traits=True)


_TYPICAL: Mapping[str, _Spread] = {
    "zero_offset": _Spread(0.0, math.radians(2.0)),
    "backlash": _trait(1.0, 0.25),
    "latency": _trait(1.0, 0.1),
    "dead_band": _trait(1.0),
    "resolution": _trait(1.0),
    "stiffness": _factor(1.0, 0.1),
    "stall_torque": _factor(1.0, 0.05),
    "no_load_speed": _factor(1.0, 0.05),
    "friction": _trait(1.0, 0.25),
    "inertia": _trait(1.0),
    "load_friction": _trait(1.0),
    "stall_current": _trait(1.0),
    "heating": _trait(1.0),
    "cooling": _trait(1.0),
    "hottest": _trait(1.0),
    "voltage": _trait(1.0),
    "supply_resistance": _Spread(0.1),
    "length": _Spread(0.0, 0.001),
    "hip": _Spread(0.0, 0.001),
    "imu_mounting": _Spread(0.0, math.radians(1.0)),
    "gyro_bias": _Spread(0.0, math.radians(0.05)),
    "accelerometer_bias": _Spread(0.0, 0.05),
    "gyro_noise": _Spread(math.radians(0.1)),
    "accelerometer_noise": _Spread(0.05),
    "contact_latency": _Spread(0.02),
    "contact_noise": _Spread(0.1),
}
_WORN: Mapping[str, _Spread] = {
    **_TYPICAL,
    "zero_offset": _Spread(0.0, math.radians(3.0)),
    "backlash": _trait(2.0, 0.5),
    "latency": _trait(1.5, 0.2),
    "stiffness": _factor(0.8, 0.2),
    "stall_torque": _factor(0.85, 0.1),
    "no_load_speed": _factor(0.9, 0.05),
    "friction": _trait(1.5, 0.4),
    "supply_resistance": _Spread(0.25),
    "length": _Spread(0.0, 0.002),
    "hip": _Spread(0.0, 0.002),
    "imu_mounting": _Spread(0.0, math.radians(2.0)),
    "gyro_bias": _Spread(0.0, math.radians(0.2)),
}
_MEASURED = {name: spread._replace(deviation=0.0) for name, spread in _TYPICAL.items()}
REALITIES: Mapping[str, Mapping[str, _Spread]] = {IDEAL: {}, TYPICAL: _TYPICAL, WORN: _WORN, MEASURED: _MEASURED}


def _traits(robot: Robot) -> dict[str, Array]:
    """What the servos of a robot have, by the names of the errors they are the medians of."""
    servos = [[joint.traits for joint in leg.joints] for leg in robot.legs]
    values = {
        each.name: np.array([[getattr(servo, each.name) for servo in row] for row in servos])
        for each in fields(ServoTraits)
    }
    values["friction"] /= FRICTION_SHARE
    values["inertia"] = values["motor_time_constant"] / MOTOR_TIME_CONSTANT_S
    values["voltage"] = values["voltage"][0, 0]  # all servos have the supply of the first
    return values


def reality(robot: Robot, level: str, seed: int = 0) -> Reality:
    """Draws the errors of one robot of a level of `REALITIES`; the same seed gives the same robot.

    A seed gives all levels the same pattern, and an error does not depend on which others a level has. The level
    MEASURED has the errors that were measured; elsewhere the most likely ones, those that all servos of a model have.
    Raises ValueError for an unknown level.
    """
    if level not in REALITIES:
        raise ValueError(f"reality must be one of {', '.join(REALITIES)}, is {level!r}")
    drawn: dict[str, Any] = {}
    ideal = Reality(len(robot.legs), seed=seed)
    traits = _traits(robot)
    for name, spread in REALITIES[level].items():
        rng = np.random.default_rng([seed, *name.encode()])
        draws = rng.standard_normal(np.shape(getattr(ideal, name)))
        draws = np.clip(draws, -MOST_DEVIATIONS, MOST_DEVIATIONS)
        drawn[name] = spread.values(draws, traits.get(name, np.ones(())))
    if level == MEASURED:
        for row, leg in enumerate(robot.legs):
            for column, joint in enumerate(leg.joints):
                for name, value in joint.measured:
                    drawn[name][row, column] = value
    return replace(ideal, **drawn)


def built(robot: Robot, errors: Reality) -> Robot:
    """The robot as it was built: with the hips and lengths that it really has."""

    def leg(row: int, old: Leg) -> Leg:
        x, y, z = np.add(old.hip, errors.hip[row]).tolist()
        coxa, femur, tibia = (
            replace(segment, length=segment.length + error)
            for segment, error in zip((old.coxa, old.femur, old.tibia), errors.length[row].tolist(), strict=True)
        )
        return replace(old, hip=(x, y, z), coxa=coxa, femur=femur, tibia=tibia)

    return replace(robot, legs=tuple(leg(row, old) for row, old in enumerate(robot.legs)))


class CommandPath:
    """The way of targets from the driver to the motors: rounded to the servo's steps, offset and late."""

    def __init__(self, errors: Reality, period: float) -> None:
        """`period` [s] is that of the targets."""
        self._offset = errors.zero_offset.ravel()
        self._step = np.maximum(errors.resolution.ravel(), 1e-12)
        late = np.rint(errors.latency.ravel() / period).astype(int)  # periods
        self._memory = int(late.max())  # periods
        # Places in the flat memory of the targets that arrive in the first period, and in each of several.
        self._first = (self._memory - late) * late.size + np.arange(late.size)
        self._places = self._first[np.newaxis]
        self._past = np.zeros((self._memory, late.size))

    def restart(self, targets: Array) -> None:
        """Starts with motors that have long been at targets (n, 3) [rad]."""
        self._past[:] = self._rounded(targets.ravel())

    def advance(self, course: Array, periods: int) -> Array:
        """Returns the motors' targets (k, 3 n) [rad] over k periods.

        `course` are the targets in each of them (k, 3 n) [rad], or in all of them (1, 3 n) [rad].
        """
        known = np.concatenate((self._past, np.broadcast_to(self._rounded(course), (periods, self._first.size))))
        self._past = known[periods:]
        if len(self._places) != periods:
            self._places = self._first + self._first.size * np.arange(periods)[:, np.newaxis]
        motors: Array = known.take(self._places)
        return motors

    def _rounded(self, targets: Array) -> Array:
        rounded: Array = np.rint(targets / self._step) * self._step + self._offset
        return rounded


def reported(errors: Reality, angles: Array) -> Array:
    """The angles (n, 3) [rad] that servos report at true angles (n, 3) [rad] of their joints."""
    angles = angles - errors.zero_offset
    stepped: Array = np.where(errors.resolution > 0.0, np.rint(angles / np.maximum(errors.resolution, 1e-12)), 0.0)
    return np.where(errors.resolution > 0.0, stepped * errors.resolution, angles)


class ServoPower:
    """What supply and temperature leave of the torque of servos.

    The battery sags by its resistance times the current, which is in proportion to the torque of the motors. A winding
    warms with the square of its current and cools with its difference from the air. Its resistance grows with its
    temperature, and over the last kelvins before `hottest` the servo reduces its torque to nothing.
    """

    def __init__(self, errors: Reality) -> None:
        self._errors = errors
        self.temperature_rise = np.zeros((errors.legs, 3))  # [K] above the air
        self.current = 0.0  # [A] of all servos
        self.voltage = errors.voltage  # [V]

    def advance(self, loads: Array, dt: float) -> Array:
        """Advances by `dt` [s] with torques as shares of the stall torque (n, 3). Returns the shares that are left."""
        errors = self._errors
        self.current = float((errors.stall_current * np.abs(loads)).sum())
        self.voltage = errors.voltage - errors.supply_resistance * self.current
        self.temperature_rise = self.temperature_rise + dt * (
            errors.heating * loads * loads - errors.cooling * self.temperature_rise
        )
        resistance = 1.0 + COPPER_PER_K * self.temperature_rise
        protected = np.clip((errors.hottest - AIR_DEGC - self.temperature_rise) / PROTECTED_K, 0.0, 1.0)
        left: Array = self.voltage / errors.voltage / resistance * protected
        return left
