# SPDX-License-Identifier: Apache-2.0
"""Parameters of gamepad."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hexapod_control.config.channel_file import RECEIVERS
from hexapod_control.core.quantity import choice, number


def _receiver(value: Any) -> str:
    if value not in ("", *RECEIVERS):
        raise ValueError(f"must be empty or one of {', '.join(RECEIVERS)}, is {value!r}")
    return str(value)


@dataclass(frozen=True, slots=True)
class GamepadSettings:
    """Parameters of gamepad; parameters of game_controller_node have the same name here."""

    device_name: str = choice("", "name of the gamepad, or a part of it; empty: the first one found")
    deadzone: float = number(0.05, "", 0.0, 0.9, "share of a stick's travel about the center that counts as centered")
    receiver: str = choice("", f"{' or '.join(RECEIVERS)}: an RC receiver in place of a gamepad", check=_receiver)
    port: str = choice("/dev/serial0", "serial port of the RC receiver")
    channels: str = choice("", "file that says which RC channel is which control; empty: config/rc/aetr.yaml")
    autorepeat_rate: float = number(20.0, "Hz", 5.0, 200.0, "messages while nothing changes")
