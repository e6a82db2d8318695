# SPDX-License-Identifier: Apache-2.0
"""Output of the driver: immutable snapshots, and diagnoses."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.refusal import Statement
from hexapod_control.core.robot import ExtraJointState
from hexapod_control.servos.bus.bus_interface import BusCounters


class TorqueState(Enum):
    """State of the torque of all servos."""

    UNPLUGGED = "no port"
    OFF = "off"  # by an order, or on evidence that the servos have lost it; after the start until `arm`
    ARMING = "arming"
    ON = "on"
    UNKNOWN = "unknown"  # it was on, then the servos fell silent or the port was lost: they are asked when they answer

    @property
    def holds(self) -> bool:
        """Whether all servos have torque, as far as is known."""
        return self in (TorqueState.ON, TorqueState.UNKNOWN)


class PlannerRequest(Enum):
    """Request of the driver to the planner."""

    NOTHING = ""
    STOP = "stop"
    SIT = "sit"
    LOSE_LEG = "lose_leg"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A present fault or an event; the text has the place, the value and the remedy."""

    kind: str
    serious: bool
    said: str | Statement
    question: str = ""  # after the text, unless who reports it knows the answer
    reset: bool = False  # whether it lasts until a reset

    @property
    def text(self) -> str:
        """What is said, in English."""
        return str(self.said)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """State of the servos at one time. Arrays are (n, 3) of the legs in row order, NaN if unknown."""

    torque: TorqueState = TorqueState.UNPLUGGED
    time: float = 0.0  # [s] steady time
    joints: Array | None = None  # [rad], None while the pose is unknown
    velocities: Array | None = None  # [rad/s]
    extra: ExtraJointState | None = None  # of the extra joints, None while the pose is unknown
    loads: Array | None = None  # share of full torque in the joint's direction, None where the bus cannot read them
    times: Array | None = None  # [s] steady time of each position, None unless ServoGroup.moves_evenly
    measured: bool = False  # whether joints and velocities are measured; otherwise they are the commanded ones
    temperatures: Array | None = None  # [degC]
    misses: tuple[int, ...] = ()  # since the start, per servo
    clamps: tuple[int, ...] = ()  # since the start, per servo
    voltage: float | None = None  # [V] filtered
    battery_limits: tuple[float, float] | None = None  # [V] below which there is a warning, and the robot sits
    current: float | None = None  # [A]
    input_levels: tuple[bool, ...] | None = None  # whether each input of the board is high
    rate: float = 0.0  # [Hz] of the cycle
    overruns: int = 0
    reconnections: int = 0
    counters: BusCounters = field(default_factory=BusCounters)
    diagnoses: tuple[Diagnosis, ...] = ()
    planner_request: PlannerRequest = PlannerRequest.NOTHING
    lost_leg: int | None = None  # row of the leg that the planner is requested to fold
    speed_share: float = 1.0  # permitted share of the joint speeds, 0 to 1
