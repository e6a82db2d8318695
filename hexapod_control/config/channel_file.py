# SPDX-License-Identifier: Apache-2.0
"""Files that say which channel of an RC transmitter is which control: YAML, `control: channel`, a minus reverses it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hexapod_control.config.document import read
from hexapod_control.config.errors import ChannelFileError
from hexapod_control.config.schema import NumberRow, refuse_unknown
from hexapod_control.config.shipped_files import share
from hexapod_control.core.quantity import Quantity
from hexapod_control.core.steering.gamepad_map import AXES, BUTTONS, GamepadControl

RECEIVERS = ("crsf", "sbus")  # protocols
CHANNELS = 18
CHANNEL = Quantity("", -CHANNELS, CHANNELS, "channel of the transmitter, from 1; a minus reverses it", whole=True)
STICKS = {
    "forward": AXES["axis_linear.x"],
    "left": AXES["axis_linear.y"],
    "turn": AXES["axis_angular.yaw"],
    "pitch": AXES["axis_pose.pitch"],
}
SWITCHES = {name.removesuffix("_button"): control for name, control in BUTTONS.items()}
DEAD_MAN = "enable"


def shipped_channels() -> Path:
    """The file of the package."""
    return share("config", "rc", "aetr.yaml")


def load_channels(path: Path) -> Mapping[str, int]:
    """Channels, from 1 and negative if reversed, by the names of `STICKS` and `SWITCHES`. Raises ChannelFileError."""
    root = read(path, ChannelFileError)
    controls: dict[str, GamepadControl] = {**STICKS, **SWITCHES}
    refuse_unknown(root, controls)
    if DEAD_MAN not in root.children:
        raise root.error("is missing", "the robot needs a dead-man", f"e.g. {DEAD_MAN}: 5", below=DEAD_MAN)
    channels = {name: int(NumberRow(name, CHANNEL).number(root)) for name in root.children}
    for name, channel in channels.items():
        if not channel:
            raise root.children[name].error("is 0", f"must be 1 to {CHANNELS}, or negative", "leave it out for none")
    return channels
