# SPDX-License-Identifier: Apache-2.0
"""The servo table, config/servos.yaml: data sheet figures of servos for legged robots."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, NamedTuple

import yaml

from hexapod_control.config.servo_models import controlling_protocol
from hexapod_control.config.shipped_files import share
from hexapod_control.core.names import MAX_QUOTED
from hexapod_control.core.robot import ServoTraits

RPM = math.tau / 60.0  # [rad/s] of 1 rpm
KG_CM = 0.0980665  # [N m] of 1 kgf cm
NEAREST_NAMES = 3  # suggested for an unknown model
HEAT_CAPACITY = 500.0  # [J/(kg K)] of a servo: steel, copper, plastics
REFERENCE_MASS_KG = 0.055
THERMAL_RESISTANCE = 30.0  # [K/W] from winding to air of a servo of that mass; it falls with the surface, mass^(2/3)


class ServoFigures(NamedTuple):
    """Speed and torque of a servo at one supply."""

    voltage: float  # [V]
    no_load_speed: float  # [rad/s]
    stall_torque: float  # [N m]


@dataclass(frozen=True, slots=True)
class CatalogServo:
    """One row of the table: a servo, or its version for one supply."""

    model: str
    maker: str
    protocol: str  # a servo bus, pwm, or one without a driver
    voltage: tuple[float, float]  # [V] permitted
    figures: tuple[ServoFigures, ...]  # by rising voltage
    turn: float  # [deg] range of the output shaft
    mass: float  # [kg]
    resolution: float  # [deg]
    backlash: float | None  # [deg], None if the maker does not state it
    full_torque_error: float  # [deg] position error at which the torque is the stall torque
    kind: Mapping[str, Any]  # what data sheets do not state: the values of its class, or identified ones
    source: str
    verified: bool  # checked against the source

    @classmethod
    def of(cls, row: Mapping[str, Any], kinds: Mapping[str, Mapping[str, Any]]) -> CatalogServo:
        """Converts a row of the file; `kinds` are the classes of servos."""
        mechanics, (lowest, highest) = row["mechanics"], row["voltage"]
        return cls(
            model=row["model"],
            maker=row["maker"],
            protocol=row.get("protocol") or controlling_protocol(row["model"]),
            voltage=(lowest, highest),
            figures=tuple(ServoFigures(**figures) for figures in row["figures"]),
            turn=mechanics["range_deg"],
            mass=mechanics["mass"],
            resolution=mechanics["resolution_deg"],
            backlash=mechanics.get("backlash_deg"),
            full_torque_error=row["full_torque_error_deg"],
            kind={**kinds[row["class"]], **row.get("identified", {})},
            source=row["source"],
            verified=row.get("verified", True),
        )

    def permits(self, voltage: float) -> bool:
        """Whether the maker permits a supply [V]."""
        return self.voltage[0] <= voltage <= self.voltage[1]

    def at(self, voltage: float) -> ServoFigures:
        """Speed and torque at a supply [V]; beyond the listed ones both are proportional to it, as in a DC motor."""
        below = [each for each in self.figures if each.voltage <= voltage]
        above = [each for each in self.figures if each.voltage > voltage]
        if not (below and above):
            nearest = below[-1] if below else above[0]
            scale = voltage / nearest.voltage
            return ServoFigures(voltage, nearest.no_load_speed * scale, nearest.stall_torque * scale)
        low = below[-1]
        high = above[0]
        share = (voltage - low.voltage) / (high.voltage - low.voltage)
        return ServoFigures(*(a + share * (b - a) for a, b in zip(low, high, strict=True)))

    @property
    def pulse_rate(self) -> float:
        """Highest rate of pulses [Hz] that a hobby servo takes."""
        return float(self.kind.get("pulse_rate", math.inf))

    def stiffness(self, voltage: float) -> float:
        """Torque per position error [N m/rad] at a supply [V]."""
        return self.at(voltage).stall_torque / math.radians(self.full_torque_error)

    def traits(self, voltage: float) -> ServoTraits:
        """What the servo has beside speed, torque and stiffness, at a supply [V].

        Stall current: the electrical power at stall that gives the mechanical power torque * speed with the efficiency.
        """
        kind = self.kind
        speed_and_torque = self.at(voltage)
        stall_power = speed_and_torque.stall_torque * speed_and_torque.no_load_speed / kind["efficiency"]  # [W]
        capacity = HEAT_CAPACITY * self.mass  # [J/K]
        resistance = THERMAL_RESISTANCE * (REFERENCE_MASS_KG / self.mass) ** (2.0 / 3.0)  # [K/W]
        backlash = kind["backlash_deg"] if self.backlash is None else self.backlash
        return ServoTraits(
            voltage=voltage,
            backlash=math.radians(backlash),
            dead_band=math.radians(kind.get("dead_band_deg", self.resolution / 2.0)),
            latency=kind["latency"],
            resolution=math.radians(self.resolution),
            friction=kind["friction"],
            load_friction=kind["load_friction"],
            motor_time_constant=kind["motor_time_constant"],
            stall_current=stall_power / voltage,
            heating=stall_power / capacity,
            cooling=1.0 / (resistance * capacity),
            hottest=kind["hottest_degc"],
        )


@lru_cache(maxsize=1)
def servo_table() -> tuple[CatalogServo, ...]:
    """All rows, read once."""
    text = share("config", "servos.yaml").read_text(encoding="utf-8")
    # The parser of libyaml gives no line numbers, but takes a fraction of the time, at the start of every node.
    table: Mapping[str, Any] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return tuple(CatalogServo.of(row, table["classes"]) for row in table["models"])


def versions(model: str) -> tuple[CatalogServo, ...]:
    """The rows of a model, one per supply version; empty if unknown."""
    return tuple(servo for servo in servo_table() if servo.model == model)


def version_for(model: str, voltage: float) -> CatalogServo | None:
    """The version of a model for a supply [V]; None if the maker permits none."""
    return next((servo for servo in versions(model) if servo.permits(voltage)), None)


def usual_voltage(model: str) -> float:
    """The highest supply [V] in the data sheet of a known model."""
    return versions(model)[-1].figures[-1].voltage


def permitted(model: str) -> str:
    """The permitted supplies of a model, as text."""
    return " or ".join("{:g} to {:g} V".format(*servo.voltage) for servo in versions(model))


def nearest_models(model: str) -> tuple[str, ...]:
    """Known models with similar names, the most similar first."""
    known = {servo.model.lower(): servo.model for servo in servo_table()}
    near = get_close_matches(model.lower()[:MAX_QUOTED], known, n=NEAREST_NAMES, cutoff=0.5)
    return tuple(known[name] for name in near)
