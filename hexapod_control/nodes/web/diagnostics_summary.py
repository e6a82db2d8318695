# SPDX-License-Identifier: Apache-2.0
"""Summary of /diagnostics for the page: loop rates, temperatures, world, faults; and the log of its events.

Independent of ROS.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from hexapod_control.core.names import HARDWARE_NODES
from hexapod_control.servos.driver.telemetry import TorqueState
from hexapod_control.web.robot_condition import ERROR, MAX_NODE_SILENCE_S, NEEDED_NODES, OTHER_NODES

NUMBER = re.compile(r"-?\d+(\.\d+)?")
WORLD_KEYS = {"world": "world", "friction": "friction", "payload [kg]": "payload", "reality": "reality"}
USAGE = ("hours on", "hours walking", "distance [m]", "most cycles", "cycles")  # keys of odometry
SIMULATOR = "mujoco_sim"
PLANNER = "gait_planner"
WARNING = 1  # level of a diagnostic status
STALE = 3  # level of a status that is too old
MAX_AGE_S = MAX_NODE_SILENCE_S  # of a status, after which it is stale
MAX_STALE_S = 600.0  # after which the status of a node is forgotten, unless the robot needs that node
NEVER_FORGOTTEN = (*NEEDED_NODES, *HARDWARE_NODES, *OTHER_NODES)
MAX_STATUSES = 200
MAX_EVENTS = 200
MAX_TEXT = 240  # characters


class NodeStatus(NamedTuple):
    """The newest diagnostic status of one node."""

    level: int
    text: str
    values: Mapping[str, str]
    age: float = 0.0  # [s]

    @property
    def shown_level(self) -> int:
        """The level; STALE if the node has not reported for too long."""
        return STALE if self.age > MAX_AGE_S else self.level


class Health(NamedTuple):
    """What diagnostics report of the usage and health of a robot."""

    usage: Mapping[str, str]  # by key of odometry
    joints: Sequence[str]  # names, in the order of the cycles
    temperatures: Mapping[str, float]  # [deg C] by joint
    faults: Mapping[str, str]  # texts by node


class RecentStatuses:
    """The newest status of each node; limited in number, since node names are not."""

    def __init__(self) -> None:
        self._newest: dict[str, tuple[NodeStatus, float]] = {}  # with their steady time [s], the oldest first

    def take(self, name: str, status: NodeStatus, now: float) -> None:
        """Stores a status that has arrived now [s]."""
        self._newest.pop(name, None)
        self._newest[name] = status, now
        if len(self._newest) > MAX_STATUSES:
            del self._newest[next(iter(self._newest))]

    def at(self, now: float) -> dict[str, NodeStatus]:
        """All statuses by name, with their ages at a time [s]; those of nodes that ended long ago are dropped."""
        aged = {name: status._replace(age=now - at) for name, (status, at) in self._newest.items()}
        old = {n for n, s in aged.items() if s.age > MAX_STALE_S and short_name(n) not in NEVER_FORGOTTEN}
        for name in old:
            del self._newest[name]
        return {name: status for name, status in aged.items() if name not in old}


def summary(nodes: Mapping[str, NodeStatus], joints: Sequence[str] = ()) -> dict[str, Any]:
    """The fields of a `status` message that come from the diagnostics of all nodes, by their full name.

    Several nodes may report the same key: an emergency stop that one of them has latched is latched, and the torque is
    on only if all report so. `joints` are the names of the joints, in the order in which a driver reports them.
    """
    fresh = {name: status for name, status in nodes.items() if status.age <= MAX_AGE_S}
    by_node = {short_name(name): status.values for name, status in fresh.items()}
    planner = by_node.get(PLANNER, {})
    return {
        "leg_gap": first_number(planner.get("leg gap m", "")),
        "feedback": _first(by_node, "feedback"),
        "estop": "latched" in _all(by_node, "emergency stop"),
        "torque": _torque(by_node),
        "found": planner.get("pose") == "found",
        "way_out": planner.get("way out", ""),
        "reset": "needed" in _all(by_node, "reset"),
        "calibrating": "running" in _all(by_node, "calibration"),
        "unplugged": TorqueState.UNPLUGGED.value in _all(by_node, "power"),
        "top_speeds": [first_number(word) for word in planner.get("top speeds", "").split()],
        "lift": first_number(planner.get("lift scale", "")),
        "world": world(fresh),
        "battery_limits": _pair(by_node, "battery limits [V]"),
        "bus": _first(by_node, "bus errors"),
        "usage": {key: value for key in USAGE if (value := _first(by_node, key))},
        "loops": _loop_rates(by_node),
        "temperatures": _of_joints(by_node, temperatures, "temperatures [degC]", joints),
        "loads": _of_joints(by_node, lambda values: {}, "loads", joints),
        "diagnostics": [_row(name, status) for name, status in sorted(nodes.items())],
    }


def _row(name: str, status: NodeStatus) -> dict[str, str | int]:
    """The status of one node in the list of the page."""
    return {
        "name": short_name(name),
        "level": status.shown_level,
        "text": status.text,
        "age": round(status.age),
    }


def errors(nodes: Mapping[str, NodeStatus]) -> dict[str, str]:
    """The texts of all errors, by the short name of the node."""
    return {short_name(name): status.text for name, status in sorted(nodes.items()) if status.shown_level == ERROR}


def hindrance(nodes: Mapping[str, NodeStatus]) -> str:
    """What the planner warns of now: why the robot does not do what it is told, or does it less well."""
    statuses = (status for name, status in nodes.items() if short_name(name) == PLANNER)
    return next((status.text for status in statuses if status.shown_level == WARNING), "")


def statements(text: str) -> list[dict[str, Any]]:
    """The statements that a node reports as JSON, each with kind, text and values; none if it is something else."""
    try:
        found = json.loads(text) if text else []
    except (ValueError, RecursionError):
        return []
    return [said for said in found if _is_statement(said)] if isinstance(found, list) else []


def _is_statement(said: Any) -> bool:
    if not isinstance(said, dict) or set(said) != {"kind", "text", "values"} or not isinstance(said["values"], dict):
        return False
    values = all(isinstance(value, str) or _is_statement(value) for value in said["values"].values())
    return isinstance(said["kind"], str) and isinstance(said["text"], str) and values


def _all(nodes: Mapping[str, Mapping[str, str]], key: str) -> list[str]:
    """The values of a key in the order of the nodes that report it."""
    return [values[key] for values in nodes.values() if key in values]


def _first(nodes: Mapping[str, Mapping[str, str]], key: str) -> str:
    """The value of a key of the first node that reports it; empty if none does."""
    return next(iter(_all(nodes, key)), "")


def _torque(nodes: Mapping[str, Mapping[str, str]]) -> bool | None:
    """True if all nodes that report the torque report it as on; None if none does, or one of them does not know."""
    reported = _all(nodes, "torque")
    return all(value.lower() == "true" for value in reported) if reported and "unknown" not in reported else None


def _loop_rates(nodes: Mapping[str, Mapping[str, str]]) -> dict[str, float]:
    """Loop rates [Hz] of the nodes that publish one."""
    rates = {name: loop_rate(values) for name, values in nodes.items()}
    return {name: rate for name, rate in rates.items() if rate is not None}


def _of_joints(
    nodes: Mapping[str, Mapping[str, str]],
    named: Callable[[Mapping[str, str]], dict[str, float]],
    key: str,
    joints: Sequence[str],
) -> dict[str, float]:
    """The values of every joint: those reported by name, and those of a list in the order of the joints."""
    found: dict[str, float] = {}
    for values in nodes.values():
        row = [first_number(word) for word in values.get(key, "").split()]
        if len(row) == len(joints):
            found |= {joint: value for joint, value in zip(joints, row, strict=True) if value is not None}
        found |= named({name: value for name, value in values.items() if name != key})
    return found


def _pair(nodes: Mapping[str, Mapping[str, str]], key: str) -> list[float] | None:
    """Two numbers that a node reports in one text; None if there are none."""
    for text in _all(nodes, key):
        numbers = [float(match[0]) for match in NUMBER.finditer(text)]
        if len(numbers) == 2:
            return numbers
    return None


def world(nodes: Mapping[str, NodeStatus]) -> dict[str, str]:
    """The settings of the simulated world; empty without a simulator."""
    values = next((status.values for name, status in nodes.items() if short_name(name) == SIMULATOR), {})
    return {name: values[key] for key, name in WORLD_KEYS.items() if key in values}


def short_name(name: str) -> str:
    """The name of a node without its namespace."""
    return name.rsplit("/", 1)[-1]


def loop_rate(values: Mapping[str, str]) -> float | None:
    """The loop rate [Hz] of a node; None if it publishes none."""
    return first_number(next((value for key, value in values.items() if key.lower().startswith("loop")), ""))


def temperatures(values: Mapping[str, str]) -> dict[str, float]:
    """Temperatures [deg C] by joint."""
    found = {key: first_number(value) for key, value in values.items() if "temperature" in key.lower()}
    return {_without_unit(key): value for key, value in found.items() if value is not None}


def first_number(text: str) -> float | None:
    """The first number in a text; None if there is none."""
    match = NUMBER.search(text)
    return float(match[0]) if match else None


def _without_unit(key: str) -> str:
    return re.sub(r"\s*(temperature|\[.*?\])\s*", " ", key, flags=re.IGNORECASE).strip() or "servos"


@dataclass(slots=True)
class LogEvent:
    """One line of the log, or several equal ones in a row."""

    id: int
    at: float  # [s] of the system clock
    node: str
    level: int  # of a diagnostic status
    text: str  # as reported, or a key of the table of texts
    values: dict[str, Any] | None = None  # of a key; None for a reported text
    count: int = 1


class EventLog:
    """The newest events, oldest first; not thread-safe."""

    def __init__(self) -> None:
        self._events: deque[LogEvent] = deque(maxlen=MAX_EVENTS)
        self._number = 0
        self._last: dict[str, tuple[int, str]] = {}  # level and text of each node

    @property
    def events(self) -> list[dict[str, Any]]:
        """All events as JSON fields."""
        return [asdict(event) for event in self._events]

    def add(self, at: float, node: str, level: int, text: str, values: Mapping[str, Any] | None = None) -> LogEvent:
        """Appends an event, or counts it if it repeats the last one. Returns it."""
        text = text[:MAX_TEXT]
        fields = None if values is None else dict(values)
        last = self._events[-1] if self._events else None
        if last is not None and (last.node, last.level, last.text, last.values) == (node, level, text, fields):
            last.at = at
            last.count = last.count + 1
            return last
        self._number += 1
        self._events.append(LogEvent(self._number, at, node, level, text, fields))
        return self._events[-1]

    def take(self, at: float, statuses: Mapping[str, tuple[NodeStatus, int]]) -> list[LogEvent]:
        """Appends changed warnings and errors, and nodes that fall silent or report again. Returns the new events.

        `statuses` are the status of each node and the level that is shown, by its short name.
        """
        events = []
        for node, (status, level) in statuses.items():
            if level == STALE:
                new = (level, "log_stale")
                values = {"node": node}
            else:
                new = (level, status.text)
                values = None
            last = self._last.get(node, (0, ""))
            self._last[node] = new
            if level and new != last:
                events.append(self.add(at, node, level, new[1], values))
            elif not level and last[0] == STALE:
                events.append(self.add(at, node, 0, "log_back", {"node": node}))
        return events
