"""Detects mishaps of one robot from IMU, foot loads and measured joints; `MishapDetection` selects the kinds.

Each source is used while it is valid. The response of the planner is in `core/planner/faults`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.names import JOINTS
from hexapod_control.core.robot import Robot
from hexapod_control.core.sensing.mishaps.attitude import standing_limit, tilt_angle
from hexapod_control.core.sensing.mishaps.joint_watch import STUCK_TIME_S, JointWatch
from hexapod_control.core.sensing.mishaps.mishap import Mishap, MishapKind
from hexapod_control.core.sensing.mishaps.slip_watch import SlipWatch
from hexapod_control.core.sensing.mishaps.support_watch import SupportWatch
from hexapod_control.core.sensing.sensor_inputs import SensorInputs
from hexapod_control.core.statics.static_stability import MIN_SUPPORTING_FEET

FALLEN_TIME_S = 0.1  # beyond the maximum tilt
HANGING_TILT_RAD = math.radians(18.0)  # steeper than usual slopes: with too few loaded feet, the body rests on an edge
CAUTIOUS_SHARE = 0.4  # of the speed while a leg lags or feet slip ...
CAUTIOUS_TIME_S = 3.0  # ... and for this long afterwards


class WatchedTick(NamedTuple):
    """Planned and measured state of the walking legs in one tick."""

    robot: Robot  # with the walking legs
    planned: Array | None  # (n, 3) [rad]
    measured: Sequence[float] | None  # (3 n) [rad]
    planted: tuple[bool, ...]  # planned
    turn: float  # [rad/s] planned yaw rate
    on_feet: bool  # whether the robot stands or walks
    walking: bool


class MishapWatch(Copyable):
    """The mishaps of one robot; `step` updates them every tick."""

    def __init__(self, robot: Robot) -> None:
        """Starts without a mishap."""
        self.limit = standing_limit(robot)  # [rad] tilt beyond which the robot has fallen
        self._support, self._joints, self._slip = SupportWatch(), JointWatch(), SlipWatch()
        self._tilted = self._slow = 0.0  # [s] time with a tilt beyond the limit; remaining time of walking slowly
        self._lagging_leg: int | None = None  # row
        self.tilt: tuple[float, float] | None = None  # [rad] roll and pitch; None: unknown
        self.fallen = self.hanging = False  # hanging: the body rests on an edge
        self.stuck: int | None = None  # row of a stuck leg
        self.time_since_stuck = math.inf  # [s] since a leg was stuck
        self.slow_mishap: Mishap | None = None  # why the robot walks slowly, or has stopped for a stuck leg

    @property
    def carried(self) -> bool:
        """True if no foot bears load."""
        return self._support.carried

    @property
    def loaded(self) -> bool:
        """True if enough feet to stand on bear load."""
        return self._support.loaded

    @property
    def may_stand(self) -> bool:
        """True unless feet are known to bear no load, or the robot is tilted too far."""
        return (self.loaded or not self._support.known) and not self.fallen

    @property
    def speed_share(self) -> float:
        """Share (0 to 1) of the speed at which the robot may walk."""
        return CAUTIOUS_SHARE if self._slow > 0.0 else 1.0

    @property
    def lagging_leg(self) -> int | None:
        """Row of the leg that lagged last, if that was a short time ago: it has to lift its foot higher; else None."""
        return self._lagging_leg if self._slow > 0.0 else None

    def step(self, dt: float, sensors: SensorInputs, tick: WatchedTick) -> None:
        """Processes the sensors and the plan of a tick of `dt` [s]."""
        mishap_detection = sensors.mishap_detection
        self.tilt = sensors.imu.tilt if mishap_detection.falls else None
        angle = tilt_angle(*self.tilt) if self.tilt is not None else 0.0
        beyond = angle > self.limit
        self._tilted = self._tilted + dt if beyond else 0.0
        self.fallen = self._tilted > FALLEN_TIME_S
        self._support.step(dt, sensors.loaded if mishap_detection.falls else None, on_feet=tick.on_feet)
        self.hanging = angle > HANGING_TILT_RAD and self._support.too_few_loaded
        self._slow = max(0.0, self._slow - dt)
        self.time_since_stuck = self.time_since_stuck + dt if self.stuck is None else 0.0
        if self._slow <= 0.0:
            self.slow_mishap = self._lagging_leg = None
        if not (mishap_detection.legs and tick.on_feet and tick.planned is not None):
            self._joints.reset()
            self._slip.reset()
            self.stuck = None
            return
        self._joints.step(dt, tick.planned, tick.measured)
        rate = sensors.imu.yaw_rate if tick.walking else None
        self._slip.step(dt, tick.turn, rate, tick.planted)
        self._judge(tick)

    def _judge(self, tick: WatchedTick) -> None:
        """Updates the mishaps of legs: one that lags or is stuck, and feet that slip."""
        late, slipping = self._joints.latest, self._slip.slipping
        self.stuck = late.leg if late is not None and late.time > STUCK_TIME_S else None
        if late is not None and tick.walking:
            self._lagging_leg = late.leg
            name = tick.robot.leg_names[late.leg]
            error = f"its {JOINTS[late.joint]} is {late.error:.2f} rad from its target"
            if self.stuck is None:
                text = f"{name} lags behind, {error}: the robot walks slowly and lifts this leg higher; "
                self._slow_down(MishapKind.SLOWED, f"{text}look for what holds it")
            else:
                text = f"{name} is stuck, {error}: the robot stops, then tries again; free the leg"
                self._slow_down(MishapKind.STUCK, text)
        elif slipping:
            names = " and ".join(tick.robot.leg_names[row] for row in slipping)
            text = f"{names} slip: the robot turns by {self._slip.difference:.2f} rad/s more than its feet; "
            self._slow_down(MishapKind.SLOWED, f"{text}it walks slowly; look for slippery ground")

    def _slow_down(self, kind: MishapKind, text: str) -> None:
        self._slow, self.slow_mishap = CAUTIOUS_TIME_S, Mishap(kind, text)

    # --- texts of the mishaps that end a motion ------------------------------------------------------

    @property
    def attitude(self) -> str:
        """Roll and pitch of the body as a text for messages."""
        if self.tilt is None:
            return "unknown"
        roll, pitch = (math.degrees(angle) for angle in self.tilt)
        return f"roll {roll:.0f} deg, pitch {pitch:.0f} deg"

    def fallen_mishap(self) -> Mishap:
        """The mishap of a robot that has fallen."""
        text = f"the robot has fallen ({self.attitude}, it stands up to {math.degrees(self.limit):.0f} deg)"
        return Mishap(MishapKind.FALLEN, f"{text}: its joints hold; lay it on its belly and call recover")

    def hanging_mishap(self) -> Mishap:
        """The mishap of a robot whose body rests on an edge."""
        text = f"the robot hangs ({self.attitude}, fewer than {MIN_SUPPORTING_FEET} feet bear load): its joints hold"
        return Mishap(MishapKind.FALLEN, f"{text}; put it on level ground, then call recover")

    def carried_mishap(self) -> Mishap:
        """The mishap of a robot that was lifted."""
        text = "no foot bears load, so the robot was lifted: its joints hold"
        remedy = "put it on its feet, then send a new command or call recover; if it lies on its belly, sit, then stand"
        return Mishap(MishapKind.CARRIED, f"{text}; {remedy}")
