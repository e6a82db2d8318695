# SPDX-License-Identifier: Apache-2.0
"""The condition of the robot for the page: a message, its colour, the next step, and which controls have no effect.

A message is a key of the table of texts (static/texts) with its values, so that it exists in every language. The
colour is green only if torque, planner, body height and all nodes agree; it is grey while one of them is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from hexapod_control.core.names import HARDWARE_NODES
from hexapod_control.core.planner.tick_plan import ON_FEET, UPRIGHT, RobotState

MAX_NODE_SILENCE_S = 3.0  # without diagnostics of a node, after which its values count as stale
MAX_CHAIN_SILENCE_S = 1.8  # of a node that moves joints; it publishes its status once per second
MIN_HUNG_S = (
    MAX_CHAIN_SILENCE_S + 1.0
)  # of that node, after which there is a step: a person may be about to press another
MIN_STANDING_SHARE = 0.6  # of the height in the robot file; a robot found on its feet below it is not standing
MIN_SPEED = 0.005  # [m/s]
MIN_TURN = 0.05  # [rad/s] from which a velocity counts as walking or turning
KINEMATICS = "inverse_kinematics"
NEEDED_NODES = ("gait_planner", KINEMATICS)
RESTARTABLE_NODES = (*NEEDED_NODES, "servo_driver")  # without a simulator the world is lost
OTHER_NODES = ("odometry", "imu_driver", "terrain_map")  # the robot still walks without them
DRIVABLE = ON_FEET | {RobotState.CARRIED.value}  # a velocity is enough to continue once the robot is set down
BEGINNING = ("nothing", "missing", "no_joints")  # before the first message, when a person expects to start the robot
OFF_ITS_FEET = (RobotState.FALLEN.value, RobotState.CARRIED.value)
WAYS_OUT = ("stand", "sit", "recover")
ERROR = 2  # level of a diagnostic status


class Tone(Enum):
    """The colour of a message."""

    GOOD = "good"
    CALM = "calm"
    WARN = "warn"
    BAD = "bad"
    UNKNOWN = "unknown"


class Step(Enum):
    """The action of the large button."""

    STAND = "stand"
    SIT = "sit"
    RECOVER = "recover"
    ARM = "arm"
    RESET = "reset_and_arm"
    RELEASE = "rearm"
    RESTART = "restart"
    CANCEL_CALIBRATION = "cancel_calibration"
    ESTOP = "estop"
    NONE = ""


# Kinds of controls, in the order in which they are locked: what the robot needs for one, it needs for all before it.
CONTROLS = ("drive", "torque", "robot")
# Reasons that also prevent motions.
NO_MOTION = (
    *("why_estop", "why_torque_off", "why_torque_went", "why_torque_fault"),
    *("why_calibrating", "why_unknown", "why_fault"),
)


TONES = {
    RobotState.SITTING: Tone.CALM,
    RobotState.RISING: Tone.CALM,
    RobotState.SINKING: Tone.CALM,
    RobotState.STANDING: Tone.GOOD,
    RobotState.WALKING: Tone.GOOD,
    RobotState.MOVING: Tone.GOOD,
    RobotState.FALLEN: Tone.BAD,
    RobotState.CARRIED: Tone.WARN,
    RobotState.FAULT: Tone.BAD,
}
ROUTE_TONES = {  # by the phase of a walk along a route
    "walking": Tone.GOOD,
    "detour": Tone.GOOD,
    "held": Tone.GOOD,
    "nav2": Tone.GOOD,
    "locating": Tone.CALM,
    "blocked": Tone.WARN,
    "paused": Tone.WARN,
    "no_odom": Tone.WARN,
    "no_scan": Tone.WARN,
}
STATES: Mapping[str, tuple[Tone, Step]] = {
    **{state.value: (tone, Step.SIT if state.value in UPRIGHT else Step.STAND) for state, tone in TONES.items()},
    RobotState.FALLEN.value: (Tone.BAD, Step.RECOVER),
}


@dataclass(frozen=True, slots=True)
class PressedStop:
    """The last E-STOP of a page."""

    by: str
    age: float  # [s]


@dataclass(frozen=True, slots=True)
class RouteProgress:
    """The walk along a route."""

    name: str  # of its goal
    phase: str  # one of ROUTE_TONES
    left: float  # [m]


@dataclass(frozen=True, slots=True)
class RobotFacts:
    """Facts about the robot; None or empty if unknown."""

    state: str = ""  # of the planner
    torque: bool | None = None
    unexplained: bool = False  # the torque went off just now, and the node that switches it has not said why
    latched: bool = False  # an emergency stop
    found: bool = False  # the planner found the robot on its feet, no pose was requested yet
    height: float | None = None  # [m] of the body
    full_height: float = 0.0  # [m] of the robot file
    joints_age: float = 0.0  # [s] of the newest joint angles
    speed: float = 0.0  # [m/s] measured
    commanded: tuple[float, float, float] = (0.0, 0.0, 0.0)  # [m/s], [m/s], [rad/s]
    motion: str = ""
    node_ages: Mapping[str, float] = field(default_factory=dict)  # [s] since each node was heard
    stalled: float = 0.0  # [s] for which inverse_kinematics has converted nothing although it gets targets
    way_out: str = ""  # value of the Step that leads out of a mishap, as the planner knows
    hindrance: str = ""  # what the planner warns of now
    lost_legs: str = ""  # names of the legs without which the robot walks
    reset: bool = False  # a servo stays off until the faults are reset
    calibrating: bool = False  # a calibration has the bus
    unplugged: bool = False  # the port of the servos is gone
    restartable: bool = False  # the silent node can be restarted from the page
    low_battery: float | None = None  # [V] if it is below the limit of a warning
    errors: Mapping[str, str] = field(default_factory=dict)  # by node
    route: RouteProgress | None = None
    stop: PressedStop | None = None


@dataclass(frozen=True, slots=True)
class Condition:
    """Message, colour and next step that the page shows, and the controls that have no effect."""

    say: str  # key of the message
    tone: Tone
    step: Step
    why: str = ""  # key of the reason why the robot cannot be driven now
    values: Mapping[str, Any] = field(default_factory=dict)  # of both texts
    silent: bool = False  # nothing reaches the robot, or that is unknown

    @property
    def locked(self) -> tuple[str, ...]:
        """The CONTROLS that have no effect now, for the reason `why`."""
        if self.silent:
            return CONTROLS
        return CONTROLS[: 2 if self.why in NO_MOTION else 1] if self.why else ()

    def fields(self) -> dict[str, Any]:
        """As JSON fields."""
        shown = {"say": self.say, "tone": self.tone.value, "step": self.step.value, "why": self.why}
        return {**shown, "locked": list(self.locked), "values": dict(self.values)}


def condition(facts: RobotFacts) -> Condition:
    """Combines all facts in order of importance: missing or old values, torque, faults, planner state."""
    return _stale(facts) or _without_torque(facts) or _faulty(facts) or _impaired(facts) or _known(facts)


def reason(facts: RobotFacts) -> str:
    """The key of the reason why the robot cannot be driven; empty if it can."""
    if facts.latched:
        return "why_estop"
    if facts.torque is False and facts.calibrating:
        return "why_calibrating"
    if facts.torque is False and facts.unexplained:
        return "why_torque_went"
    if facts.torque is False:
        return "why_torque_fault" if _hardware_fault(facts) else "why_torque_off"
    if _low(facts):
        return "why_low"
    return "" if facts.state in DRIVABLE else f"why_{facts.state if facts.state in STATES else 'unknown'}"


def _stale(facts: RobotFacts) -> Condition | None:
    """The condition for missing or old values; an emergency stop can still be released."""
    found = _stale_message(facts)
    if found is None:
        return None
    say, values = found
    torque = _without_torque(facts)
    if torque is not None:
        return Condition(say, Tone.UNKNOWN, torque.step, torque.why, values, silent=True)
    if say == "stale" and not facts.stalled and facts.node_ages[values["node"]] < MIN_HUNG_S:
        return Condition(say, Tone.UNKNOWN, Step.NONE, say, values, silent=True)
    if say == "stale" and facts.restartable:
        return Condition(say, Tone.UNKNOWN, Step.RESTART, "why_hung", values, silent=True)
    if say == "stale":
        return Condition(say, Tone.UNKNOWN, _last_step(facts), "why_silent", values, silent=True)
    step = Step.NONE if say in BEGINNING else _last_step(facts)
    return Condition(say, Tone.UNKNOWN, step, say, values, silent=True)


def _last_step(facts: RobotFacts) -> Step:
    """What is left to do for a robot that does not answer: while its torque is on, to switch it off."""
    return Step.ESTOP if facts.torque else Step.NONE


def _stale_message(facts: RobotFacts) -> tuple[str, dict[str, Any]] | None:
    """Message key and values for missing or old data; None if there are none."""
    if facts.torque is None and not facts.node_ages and not facts.state:
        return "nothing", {}
    if facts.stalled:
        return "stale", {"node": KINEMATICS, "age": round(facts.stalled)}
    silent = _silent_in_chain(facts.node_ages)
    if silent:
        return "stale", silent
    missing = [node for node in NEEDED_NODES if node not in facts.node_ages]
    if missing:
        return "missing", {"node": missing[0]}
    fault = _hardware_fault(facts)
    if facts.joints_age > MAX_CHAIN_SILENCE_S and facts.torque is not False and fault and not facts.latched:
        return "silent_fault", {"text": fault}
    if facts.joints_age > MAX_CHAIN_SILENCE_S and facts.torque is not False:
        return ("silent", {"age": round(facts.joints_age)}) if math.isfinite(facts.joints_age) else ("no_joints", {})
    return None


def hung_node(node_ages: Mapping[str, float]) -> str:
    """The node that is silent, of those heard so long ago [s], the control chain first; empty if there is none."""
    silent = _silent_in_chain(node_ages) or silent_helper(node_ages)
    return silent["node"] if silent else ""


def silent_helper(node_ages: Mapping[str, float]) -> dict[str, Any] | None:
    """The node without which the robot still walks that is silent, as values of a sentence; None if there is none."""
    return _silent(node_ages, OTHER_NODES, MAX_NODE_SILENCE_S)


def _silent_in_chain(node_ages: Mapping[str, float]) -> dict[str, Any] | None:
    return _silent(node_ages, (*NEEDED_NODES, *HARDWARE_NODES), MAX_CHAIN_SILENCE_S)


def _silent(node_ages: Mapping[str, float], nodes: tuple[str, ...], limit: float) -> dict[str, Any] | None:
    """The first of these nodes that has been silent for longer than `limit` [s], as values of a sentence."""
    ages = {node: node_ages.get(node, 0.0) for node in nodes}
    return next(({"node": node, "age": round(age)} for node, age in ages.items() if age > limit), None)


def _without_torque(facts: RobotFacts) -> Condition | None:
    if facts.latched and facts.unplugged:
        return Condition("estop_unsent", Tone.BAD, Step.RELEASE, reason(facts))
    if facts.latched and facts.stop is not None:
        values = {"by": facts.stop.by, "age": round(facts.stop.age)}
        return Condition("estop_by", Tone.BAD, Step.RELEASE, reason(facts), values)
    if facts.latched:
        return Condition("estop", Tone.BAD, Step.RELEASE, reason(facts))
    if facts.torque is False and facts.calibrating:
        return Condition("calibrating", Tone.WARN, Step.CANCEL_CALIBRATION, reason(facts))
    if facts.torque is False and facts.unexplained:
        return Condition("torque_went", Tone.WARN, Step.NONE, reason(facts))
    if facts.torque is False and (fault := _hardware_fault(facts)):
        return Condition("torque_fault", Tone.BAD, Step.RESET, reason(facts), {"text": fault})
    if facts.torque is False:
        return Condition("torque_off", Tone.WARN, Step.ARM, reason(facts))
    return None


def _hardware_fault(facts: RobotFacts) -> str:
    """The error of the node that switches the torque; empty if it reports none."""
    return next((facts.errors[node] for node in HARDWARE_NODES if node in facts.errors), "")


def _faulty(facts: RobotFacts) -> Condition | None:
    if not facts.errors or facts.state == RobotState.FALLEN.value:  # its own message has more detail
        return None
    known = _known(facts)
    node, text = next(iter(facts.errors.items()))
    step = Step.RESET if facts.reset else known.step
    return replace(known, say="error", tone=Tone.BAD, step=step, values={"node": node, "text": text})


def _impaired(facts: RobotFacts) -> Condition | None:
    """The condition with which the robot still walks, but not for long, or not well; None if there is none."""
    known = _known(facts)
    silent = silent_helper(facts.node_ages)
    if silent:
        step = Step.RESTART if facts.restartable else known.step
        return replace(known, say="stale", tone=Tone.WARN, step=step, values=silent)
    if facts.low_battery is not None and known.tone in (Tone.GOOD, Tone.CALM):
        return replace(known, say="battery_low", tone=Tone.WARN, values={"volts": round(facts.low_battery, 1)})
    if facts.hindrance and known.tone in (Tone.GOOD, Tone.CALM):
        return replace(known, say="hindered", tone=Tone.WARN, values={"text": facts.hindrance})
    if facts.lost_legs and known.tone is Tone.GOOD:
        return replace(known, say="without_legs", tone=Tone.WARN, values={"legs": facts.lost_legs.replace(",", ", ")})
    return None


def _known(facts: RobotFacts) -> Condition:
    tone, step = STATES.get(facts.state, (Tone.UNKNOWN, Step.NONE))
    step = Step(facts.way_out) if facts.way_out in WAYS_OUT else step
    why = reason(facts)
    if facts.state not in STATES:
        return Condition("unknown", tone, step, why)
    if _low(facts):
        return Condition("low", Tone.WARN, Step.STAND, why, {"height": round(1000 * (facts.height or 0.0))})
    if facts.found and facts.state == RobotState.RISING.value:
        return Condition("found", Tone.WARN, Step.STAND, why)
    if facts.motion:
        return Condition("motion", tone, step, why, {"motion": facts.motion.replace("_", " ")})
    if facts.route is not None and not why:
        values = {"name": facts.route.name, "left": facts.route.left}
        return Condition(f"route_{facts.route.phase}", ROUTE_TONES[facts.route.phase], step, why, values)
    if facts.state == RobotState.WALKING.value and _turns_on_the_spot(facts.commanded):
        return Condition("turning", tone, step, why)
    if facts.state == RobotState.WALKING.value and facts.speed >= MIN_SPEED:
        return Condition("walking_at", tone, step, why, {"speed": round(facts.speed, 2)})
    say = f"{facts.state}_sit" if step is Step.SIT and facts.state in OFF_ITS_FEET else facts.state
    return Condition(say, tone, step, why)


def _turns_on_the_spot(commanded: tuple[float, float, float]) -> bool:
    """True for a commanded turn on the spot; the measured velocity of a slow robot is mostly noise."""
    vx, vy, wz = commanded
    return math.hypot(vx, vy) < MIN_SPEED and abs(wz) >= MIN_TURN


def _low(facts: RobotFacts) -> bool:
    """True if the robot was found on its feet too low to be called standing."""
    known = facts.found and facts.height is not None and facts.state in UPRIGHT
    return known and (facts.height or 0.0) < MIN_STANDING_SHARE * facts.full_height
