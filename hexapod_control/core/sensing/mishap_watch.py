# SPDX-License-Identifier: Apache-2.0
"""Detects mishaps of one robot from IMU, foot loads and measured joints; `MishapDetection` selects the kinds.

Each source is used while it is valid. The response of the planner is in `core/planner/faults`.

- Fallen: the body is tilted beyond the angle at which the robot can stand.
- Carried: no foot bears load, although some did.
- Stuck: a joint does not follow. Servos lag, so a joint counts as following if it is near any of its targets of the
  last LAG_S.
- Slipping: the measured yaw rate differs from the planned one; the legs that were in stance meanwhile are slipping.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.names import JOINTS
from hexapod_control.core.refusal import Refusal, Statement
from hexapod_control.core.robot import Robot
from hexapod_control.core.sensing.sensor_inputs import SensorInputs
from hexapod_control.core.statics.moving_mass import neutral_center
from hexapod_control.core.statics.static_stability import MIN_SUPPORTING_FEET, static_margin

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
        self._support = SupportWatch()
        self._joints = JointWatch()
        self._slip = SlipWatch()
        # [s] time with a tilt beyond the limit; remaining time of walking slowly
        self._tilted = 0.0
        self._slow = 0.0
        self._lagging_leg: int | None = None  # row
        self.tilt: tuple[float, float] | None = None  # [rad] roll and pitch; None: unknown
        # hanging: the body rests on an edge
        self.fallen = False
        self.hanging = False
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
    def slips(self) -> bool:
        """Whether feet slip."""
        return bool(self._slip.slipping)

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
        late = self._joints.latest
        slipping = self._slip.slipping
        self.stuck = late.leg if late is not None and late.time > STUCK_TIME_S else None
        if late is not None and tick.walking:
            self._lagging_leg = late.leg
            values = {
                "leg": tick.robot.leg_names[late.leg],
                "joint": JOINTS[late.joint],
                "error": late.error,
            }
            if self.stuck is None:
                text = "{leg} lags behind, its {joint} is {error:.2f} rad from its target: the robot walks slowly and "
                text += "lifts this leg higher; check what it is caught on"
                self._slow_down(MishapKind.SLOWED, Statement("leg_lags", text, **values))
            else:
                text = "{leg} is stuck, its {joint} is {error:.2f} rad from its target"
                text += ": the robot stops, then tries again; free the leg"
                self._slow_down(MishapKind.STUCK, Statement("leg_stuck", text, **values))
        elif slipping:
            names = " and ".join(tick.robot.leg_names[row] for row in slipping)
            text = (
                "{legs} slip: the robot turns by {difference:.2f} rad/s more than its feet; it walks slowly; look for "
                "slippery ground"
            )
            slips = Statement("feet_slip", text, legs=names, difference=self._slip.difference)
            self._slow_down(MishapKind.SLOWED, slips)

    def _slow_down(self, kind: MishapKind, said: Statement) -> None:
        self._slow = CAUTIOUS_TIME_S
        self.slow_mishap = Mishap(kind, said)

    # --- texts of the mishaps that end a motion ------------------------------------------------------

    @property
    def attitude(self) -> Statement:
        """Roll and pitch of the body for messages."""
        if self.tilt is None:
            return Statement("attitude_unknown", "unknown")
        roll, pitch = (math.degrees(angle) for angle in self.tilt)
        return Statement("attitude", "roll {roll:.0f} deg, pitch {pitch:.0f} deg", roll=roll, pitch=pitch)

    def fallen_mishap(self) -> Mishap:
        """The mishap of a robot that has fallen."""
        text = (
            "the robot has fallen ({attitude}, it stands up to {limit:.0f} deg): its joints hold; set it on its feet "
            "and run hexapod stand, or lay it on its belly and run hexapod recover"
        )
        limit = math.degrees(self.limit)
        return Mishap(MishapKind.FALLEN, Statement("has_fallen", text, attitude=self.attitude, limit=limit))

    def hanging_mishap(self) -> Mishap:
        """The mishap of a robot whose body rests on an edge."""
        text = (
            "the robot hangs ({attitude}, fewer than {least} feet bear load): its joints hold; put it on level ground, "
            "then run hexapod recover"
        )
        hangs = Statement("hangs", text, attitude=self.attitude, least=MIN_SUPPORTING_FEET)
        return Mishap(MishapKind.FALLEN, hangs)

    def carried_mishap(self) -> Mishap:
        """The mishap of a robot that was lifted."""
        text = "no foot bears load, so the robot was lifted: its joints hold; put it on its feet, then drive it or run "
        text += "hexapod recover; on its belly, hexapod sit, then hexapod stand"
        return Mishap(MishapKind.CARRIED, Statement("lifted", text))


class MishapKind(Enum):
    """Kind of a mishap."""

    FALLEN = "fallen"  # the attitude is beyond the limit for standing
    CARRIED = "carried"  # no foot bears load
    STUCK = "stuck"  # a leg does not follow its targets
    HINDERED = "hindered"  # the feet do not carry the body on
    NO_FOOTHOLD = "no_foothold"  # the ground ahead of a leg is seen, and it cannot stand there
    SLOWED = "slowed"  # feet slip, or a leg begins to lag: the robot walks slowly


@dataclass(frozen=True, slots=True)
class Mishap:
    """A mishap, and a message with its cause, place, values and remedy."""

    kind: MishapKind
    said: Statement
    request: str = ""  # of an operator, with which the robot continues; empty: none is needed

    @property
    def text(self) -> str:
        """The message in English."""
        return str(self.said)

    @property
    def refusal(self) -> Refusal:
        """The refusal of a request while it lasts."""
        return Refusal(self.kind.value, "{mishap}", mishap=self.said)


MAX_STANDING_TILT_RAD = math.radians(45.0)  # on steeper ground the feet slide
UPSIDE_DOWN_RAD = math.radians(100.0)  # with a greater tilt the robot does not roll back onto its belly


def tilt_angle(roll: float, pitch: float) -> float:
    """Returns the angle [rad] between the body's z axis and the vertical."""
    return math.acos(max(-1.0, min(1.0, math.cos(roll) * math.cos(pitch))))


def standing_limit(robot: Robot) -> float:
    """Returns the tilt [rad] beyond which the robot cannot stand: it tips over its nearest edge, or slides."""
    margin = static_margin(robot.footholds, neutral_center(robot))
    return min(math.atan2(margin, robot.walk.height), MAX_STANDING_TILT_RAD)


LAG_S = 0.3  # [s] longest delay of a working servo, on a slow bus
MAX_ERROR_RAD = 0.2  # five times the deflection of loaded joints
LAGGING_TIME_S = 0.2  # with a greater error: the leg lags ...
STUCK_TIME_S = 0.6  # ... or, after this time, is stuck


class LaggingJoint(NamedTuple):
    """The joint that has been off its targets for longest."""

    leg: int  # row
    joint: int  # index in JOINTS
    error: float  # [rad] distance from the nearest target
    time: float  # [s] for which the error has been greater than MAX_ERROR_RAD


class JointWatch(Copyable):
    """Compares measured joints with the planned ones of the last LAG_S."""

    def __init__(self) -> None:
        """Starts without samples."""
        self.reset()

    def reset(self) -> None:
        """Clears all samples."""
        # Lowest and highest planned joints [rad], by half window of LAG_S / 2
        self._windows: list[tuple[list[float], list[float]]] = []
        self._age = 0.0  # [s] of the newest half window
        self._times: list[float] = []  # [s] with too great an error, by joint
        self._errors: list[float] = []  # [rad] by joint

    def step(self, dt: float, planned: Array, measured: Sequence[float] | None) -> None:
        """Compares planned (n, 3) and measured (3 n) joint angles [rad], `dt` [s] after the last time.

        `measured` is None if they are unknown.
        """
        if measured is None or len(self._times) != planned.size:
            self.reset()
            self._times = [0.0] * planned.size
        if measured is None:
            return
        self._age += dt
        targets = planned.ravel().tolist()
        if not self._windows or self._age > LAG_S / 2.0:
            self._windows = [*self._windows[-2:], (targets, targets)]
            self._age = 0.0
        low, high = self._windows[-1]
        self._windows[-1] = list(map(min, low, targets)), list(map(max, high, targets))
        lows, highs = zip(*self._windows, strict=True)
        ranges = zip(map(min, *lows, lows[0]), map(max, *highs, highs[0]), measured, strict=True)
        self._errors = [max(lowest - angle, angle - highest) for lowest, highest, angle in ranges]
        pairs = zip(self._times, self._errors, strict=True)
        self._times = [time + dt if error > MAX_ERROR_RAD else 0.0 for time, error in pairs]

    @property
    def latest(self) -> LaggingJoint | None:
        """The joint that lags most; None if all follow."""
        longest = max(self._times, default=0.0)
        if longest <= LAGGING_TIME_S:
            return None
        row = self._times.index(longest)
        leg, joint = divmod(row, len(JOINTS))
        return LaggingJoint(leg, joint, self._errors[row], longest)


SMOOTHING_TIME_S = 1.0  # of the averages: about one gait cycle, in which the yaw rate oscillates
SLIP_RATE_RAD_S = 0.2  # mean difference of the rates above which feet slip
MIN_SHARE = 0.7  # of the largest value of a leg, from which a leg counts as slipping


class SlipWatch(Copyable):
    """Compares the yaw rate of the gyro with the planned one."""

    def __init__(self) -> None:
        """Starts without difference."""
        self.reset()

    def reset(self) -> None:
        """Clears the averages."""
        self.difference = 0.0  # [rad/s] mean of measured minus planned rate
        self._leg_differences: tuple[
            float, ...
        ] = ()  # [rad/s] by leg: mean difference, counted only while it is in stance

    def step(self, dt: float, planned: float, measured: float | None, planted: Sequence[bool]) -> None:
        """Compares planned and measured yaw rate [rad/s], `dt` [s] after the last time; None if unknown."""
        if measured is None:
            self.reset()
            return
        if len(self._leg_differences) != len(planted):
            self._leg_differences = (0.0,) * len(planted)
        now = measured - planned
        share = min(1.0, dt / SMOOTHING_TIME_S)
        self.difference += share * (now - self.difference)
        self._leg_differences = tuple(
            old + share * (abs(now) * down - old) for old, down in zip(self._leg_differences, planted, strict=True)
        )

    @property
    def slipping(self) -> tuple[int, ...]:
        """Rows of the slipping legs; empty while the feet grip."""
        if abs(self.difference) <= SLIP_RATE_RAD_S:
            return ()
        largest = max(self._leg_differences, default=0.0)
        return tuple(row for row, mean in enumerate(self._leg_differences) if mean >= MIN_SHARE * largest)


CARRIED_TIME_S = 0.4  # without load on any foot: longer than a hop after a push
LOADED_TIME_S = 0.2  # with load on MIN_SUPPORTING_FEET: the robot stands on its feet
AVERAGING_TIME_S = 2.0  # longer than a gait cycle
MAX_SHORTAGE = 0.6  # share of the time without load on MIN_SUPPORTING_FEET: above it, the body rests on an edge


class SupportWatch(Copyable):
    """Detects that the robot was lifted, or hangs on an edge.

    Sensors that have not reported enough load since the robot came to its feet are ignored: they may be broken.
    """

    def __init__(self) -> None:
        """Starts without load."""
        # [s] with load on enough feet, and without load
        self._loaded = 0.0
        self._unloaded = 0.0
        self._shortage = 0.0  # mean share of the time without load on enough feet
        self._worked = False  # whether the sensors have reported load on enough feet
        self.known = False  # whether it is known which feet bear load

    def step(self, dt: float, loaded: Sequence[bool] | None, *, on_feet: bool) -> None:
        """Processes which feet bear load, `dt` [s] after the last time; None if unknown."""
        self.known = loaded is not None
        if loaded is None:
            self._loaded = self._unloaded = self._shortage = 0.0
            return
        supported = sum(loaded) >= MIN_SUPPORTING_FEET
        self._loaded = self._loaded + dt if supported else 0.0
        self._worked = on_feet and (self._worked or supported)
        self._unloaded = self._unloaded + dt if self._worked and not any(loaded) else 0.0
        change = float(not supported) - self._shortage
        self._shortage = self._shortage + min(1.0, dt / AVERAGING_TIME_S) * change if self._worked else 0.0

    @property
    def carried(self) -> bool:
        """True if no foot has borne load for CARRIED_TIME_S."""
        return self._unloaded > CARRIED_TIME_S

    @property
    def too_few_loaded(self) -> bool:
        """True if too few feet to stand on have borne load for most of the last AVERAGING_TIME_S."""
        return self._shortage > MAX_SHORTAGE

    @property
    def loaded(self) -> bool:
        """True if enough feet to stand on have borne load for LOADED_TIME_S."""
        return self._loaded > LOADED_TIME_S
