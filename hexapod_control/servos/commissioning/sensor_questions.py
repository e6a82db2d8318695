# SPDX-License-Identifier: Apache-2.0
"""Questions about the sensors of a robot: an IMU, a sensor of the battery, foot switches; answers as section `io`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hexapod_control.config.sentence import Sentence
from hexapod_control.core.names import quoted
from hexapod_control.servos.calibration.dialog import Back, Choice, Dialog, Prompt, Typed
from hexapod_control.servos.i2c.foot_switches import SWITCH_CHIPS
from hexapod_control.servos.i2c.imu_chips import IMU_CHIPS
from hexapod_control.servos.i2c.supply_sensor import SUPPLY_CHIPS
from hexapod_control.servos.settings.io_section import IoSettings

NONE = Choice(("none",), Sentence("no_sensor"))
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)")
CELL_V = 3.7  # nominal
# of a lithium cell: in use; a warning, and the end of its discharge
CELL_RANGE_V = (3.3, 4.25)
CELL_WARN_V = 3.5
CELL_CRITICAL_V = 3.3
MOST_CELLS = 8
FREE_PINS = (17, 27, 22, 23, 24, 25, 5, 6)  # of a Raspberry Pi, without a bus of their own
SHUNT_OHM = 0.1  # printed as R100
KIT_DIVIDERS = {"ads1115": 4.0, "ads7830": 3.0}  # usual ones


@dataclass(frozen=True, slots=True)
class SensorContext:
    """What is known before the questions."""

    legs: Sequence[str]
    io: IoSettings  # of the robot file
    found: Mapping[str, int]  # address of each chip that answers, by its name
    bus: str  # the I2C bus
    board: str  # protocol of the servos
    supply: float  # [V] of the servos
    reported: bool  # whether the servos report their supply


class SensorQuestions:
    """Asks one question after the other; `back` returns to the one before."""

    def __init__(self, dialog: Dialog, context: SensorContext) -> None:
        self._dialog = dialog
        self._context = context
        self._io: dict[str, Any] = {}
        self._cells = 0

    def ask(self) -> tuple[dict[str, Any], dict[str, float]]:
        """The sections `io` and `servos.battery`, as plain data; empty ones for none. Raises Back or Abandoned."""
        questions: tuple[Callable[[], None], ...] = (self._imu, self._battery, self._battery_cells, self._feet)
        number = 0
        while number < len(questions):
            try:
                questions[number]()
                number += 1
            except Back:
                if not number:
                    raise
                number -= 1
        feet = self._io.get("feet", {}).get("chip", "gpio")
        on_i2c = "imu" in self._io or "battery" in self._io or SWITCH_CHIPS[feet].address is not None
        io = {**({"bus": self._context.bus} if on_i2c else {}), **self._io}
        thresholds = {"warn": CELL_WARN_V, "critical": CELL_CRITICAL_V}
        return io, {key: round(self._cells * volts, 2) for key, volts in thresholds.items()} if self._cells else {}

    def _imu(self) -> None:
        own = self._context.io.imu
        chip = self._chip("which_imu", {key: each.title for key, each in IMU_CHIPS.items()}, own.chip if own else "")
        self._io.pop("imu", None)
        if not chip:
            return
        usual = [round(math.degrees(angle), 3) for angle in own.mounting] if own else [0.0, 0.0, 0.0]
        mounting = self._numbers("imu_mounting", 3, usual, chip=IMU_CHIPS[chip].title)
        self._io["imu"] = {"chip": chip, **self._address(chip, own), "mounting_deg": mounting}

    def _battery(self) -> None:
        own = self._context.io.battery
        titles = {key: each.title for key, each in SUPPLY_CHIPS.items()}
        chip = self._chip("which_battery_sensor", titles, own.chip if own else "")
        self._io.pop("battery", None)
        if not chip:
            return
        if "shunt" in SUPPLY_CHIPS[chip].keys:
            kind = "battery_shunt"
            usual = {"shunt": SHUNT_OHM}
        else:
            kind = "battery_input"
            usual = {"channel": 0.0, "divider": KIT_DIVIDERS[chip]}
        if own and own.chip == chip:
            usual = {key: float(getattr(own, key)) for key in usual}
        found = self._numbers(kind, len(usual), [*usual.values()], chip=titles[chip])
        self._io["battery"] = {"chip": chip, **self._address(chip, own), **dict(zip(usual, found, strict=True))}

    def _battery_cells(self) -> None:
        """Cells of the battery whose voltage is measured; not asked if nothing measures it."""
        self._cells = 0
        behind_regulator = "battery" in self._io
        if not (behind_regulator or self._context.reported):
            return
        volts = self._context.supply
        nearest = round(volts / CELL_V)
        proposed = max(2, nearest) if behind_regulator else nearest if _fits(nearest, volts) else 0
        while True:
            (cells,) = self._numbers("battery_cells", 1, [proposed], warn=CELL_WARN_V, critical=CELL_CRITICAL_V)
            if cells not in range(MOST_CELLS + 1):
                said = Sentence("no_cells", most=MOST_CELLS)
            elif cells and not behind_regulator and not _fits(cells, volts):
                said = Sentence("cells_do_not_fit", cells=cells, volts=volts)
            else:
                self._cells = int(cells)
                return
            self._dialog.say(Sentence("aside", said=said))

    def _feet(self) -> None:
        context = self._context
        own = context.io.feet
        titles = {key: each.title for key, each in SWITCH_CHIPS.items() if key in ("gpio", "mcp23017", context.board)}
        chip = self._chip("which_switches", titles, own.chip if own else "")
        self._io.pop("feet", None)
        if not chip:
            return
        usual: Sequence[float] = FREE_PINS[: len(context.legs)] if chip == "gpio" else range(len(context.legs))
        if own and own.chip == chip:
            usual = own.pins
        legs = ", ".join(context.legs)
        pins = self._numbers("switch_pins", len(context.legs), list(usual), chip=titles[chip], legs=legs)
        self._io["feet"] = {"chip": chip, "pins": dict(zip(context.legs, pins, strict=True))}

    def _chip(self, kind: str, titles: Mapping[str, str], own: str) -> str:
        """The name of a chip; empty for none. The one in the file is proposed, or the one that answers."""
        found = [chip for chip in titles if chip in self._context.found]
        proposed = own if own in titles else next(iter(found), "")
        chips = {chip: Choice((chip,), Sentence.of(title)) for chip, title in titles.items()}
        order = [chips[proposed], NONE] if proposed else [NONE]
        choices = (*order, *(choice for chip, choice in chips.items() if chip != proposed))
        known = ", ".join(titles)
        question = Sentence(kind, chips=known)
        while True:
            answer = self._dialog.ask(Prompt(question, choices, hint=choices[0].word))
            if isinstance(answer, Choice):
                return "" if answer is NONE else answer.word
            self._dialog.say(Sentence("aside", said=Sentence("no_chip", answer=quoted(answer), known=known)))

    def _numbers(self, kind: str, count: int, usual: Sequence[float], **values: object) -> list[float]:
        """The numbers of an answer, whole ones as integers; asks again until there are as many as wanted."""
        shown = " ".join(f"{value:g}" for value in usual)
        prompt = Prompt(Sentence(kind, **values), (Choice((shown,), Sentence.of(shown)),), Typed.TEXT, hint=shown)
        while True:
            answer = self._dialog.ask(prompt, Sentence("help_numbers"))
            typed = answer if isinstance(answer, str) else answer.word
            parts = [part for part in re.split(r"[\s,;]+", typed.replace("\u2212", "-")) if part]
            if len(parts) == count and all(map(NUMBER.fullmatch, parts)):
                return [int(number) if number == int(number) else number for number in map(float, parts)]
            said = Sentence("no_numbers", answer=quoted(typed), count=count)
            self._dialog.say(Sentence("aside", said=said))

    def _address(self, chip: str, own: Any) -> dict[str, int]:
        """The address of a chip that answers, or that of the file; else the usual one, which is left out."""
        if own is not None and own.chip == chip:
            return {"address": own.address}
        return {"address": self._context.found[chip]} if chip in self._context.found else {}


def _fits(cells: float, volts: float) -> bool:
    """Whether a battery of so many cells has a voltage [V]."""
    return CELL_RANGE_V[0] * cells <= volts <= CELL_RANGE_V[1] * cells
