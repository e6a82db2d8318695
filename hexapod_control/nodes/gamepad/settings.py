# SPDX-License-Identifier: Apache-2.0
"""Parameters of gamepad."""

from __future__ import annotations

from dataclasses import dataclass

from hexapod_control.core.quantity import choice, number


@dataclass(frozen=True, slots=True)
class GamepadSettings:
    """Parameters of gamepad; parameters of game_controller_node have the same name here."""

    device_name: str = choice("", "name of the gamepad, or a part of it; empty: the first one found")
    deadzone: float = number(0.05, "", 0.0, 0.9, "share of a stick's travel about the center that counts as centered")
    autorepeat_rate: float = number(20.0, "Hz", 5.0, 200.0, "messages while nothing changes")
