"""What the page shows of /diagnostics: loop rates, temperatures, world, faults. No ROS in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

NUMBER = re.compile(r"-?\d+(\.\d+)?")
WORLD_KEYS = {"world": "world", "friction": "friction", "payload [kg]": "payload"}
SIMULATOR = "mujoco_sim"
MAX_AGE_S = 5.0  # of a status
MAX_STATUSES = 200


class NodeStatus(NamedTuple):
    """The newest diagnostic status of one node."""

    level: int
    text: str
    values: Mapping[str, str]


class RecentStatuses:
    """The newest status of each node; a limited number, as anything may be published with ever new names."""

    def __init__(self) -> None:
        self._newest: dict[str, tuple[NodeStatus, float]] = {}  # with their steady time [s], the oldest first

    def take(self, name: str, status: NodeStatus, now: float) -> None:
        """Keeps a status that has arrived now [s]."""
        self._newest.pop(name, None)
        self._newest[name] = status, now
        if len(self._newest) > MAX_STATUSES:
            del self._newest[next(iter(self._newest))]

    def at(self, now: float) -> dict[str, NodeStatus]:
        """The statuses that are not too old at a time [s], by name; the others are forgotten."""
        self._newest = {name: each for name, each in self._newest.items() if now - each[1] < MAX_AGE_S}
        return {name: status for name, (status, _) in self._newest.items()}


def summary(nodes: Mapping[str, NodeStatus]) -> dict[str, Any]:
    """The fields of a `status` message that come from the diagnostics of all nodes, by their full name."""
    values = {key: value for status in nodes.values() for key, value in status.values.items()}
    rates = {short_name(name): loop_rate(status.values) for name, status in nodes.items()}
    return {
        "leg_gap": first_number(values.get("leg gap m", "")),
        "feedback": values.get("feedback", ""),
        "estop": values.get("emergency stop", "") == "latched",
        "torque": values.get("torque", "True").lower() == "true",
        "world": world(nodes),
        "loops": {name: rate for name, rate in rates.items() if rate is not None},
        "temperatures": temperatures(values),
        "diagnostics": [
            {"name": short_name(name), "level": status.level, "text": status.text}
            for name, status in sorted(nodes.items())
        ],
    }


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
