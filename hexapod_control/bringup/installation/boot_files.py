# SPDX-License-Identifier: Apache-2.0
"""Reads the active settings in config.txt and cmdline.txt of a Raspberry Pi, and adds missing ones."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

CONFIG = "/boot/firmware/config.txt"
CMDLINE = "/boot/firmware/cmdline.txt"
MARK = "# by hexapod setup"
ALIASES = {"i2c": "i2c_arm", "i2c1": "i2c_arm", "i2c_baudrate": "i2c_arm_baudrate"}
PL011_OVERLAYS = {"disable-bt", "miniuart-bt"}  # each connects the PL011, the full UART, to pins 8 and 10


class PiModel(NamedTuple):
    """Differences between the models of the Raspberry Pi."""

    titles: tuple[str, ...]  # prefixes of /proc/device-tree/model
    section: str  # of config.txt
    uart: tuple[str, ...]  # settings that connect ttyAMA0 to pins 8 and 10
    consoles: tuple[str, ...]  # names of that UART on the command line of the kernel
    slow_i2c: bool  # its I2C fails on devices that stretch the clock

    @property
    def title(self) -> str:
        """The name shown to the user."""
        return self.titles[0]


_BLUETOOTH_OFF = ("enable_uart=1", "dtoverlay=disable-bt")
_UART_NAMES = ("serial0", "ttyAMA0", "ttyS0")
PI_MODELS = {
    "zero2": PiModel(("Raspberry Pi Zero 2",), "pi02", _BLUETOOTH_OFF, _UART_NAMES, slow_i2c=True),
    "3": PiModel(
        ("Raspberry Pi 3", "Raspberry Pi Compute Module 3"), "pi3", _BLUETOOTH_OFF, _UART_NAMES, slow_i2c=True
    ),
    "4": PiModel(
        ("Raspberry Pi 4", "Raspberry Pi Compute Module 4"), "pi4", _BLUETOOTH_OFF, _UART_NAMES, slow_i2c=True
    ),
    "5": PiModel(
        ("Raspberry Pi 5", "Raspberry Pi Compute Module 5"),
        "pi5",
        ("dtparam=uart0=on",),
        ("ttyAMA0",),  # serial0 is the connector between the HDMI sockets
        slow_i2c=False,
    ),
}


def pi_model(title: str) -> PiModel | None:
    """The model for the content of /proc/device-tree/model; None if unknown."""
    return next((model for model in PI_MODELS.values() if title.startswith(model.titles)), None)


def with_settings(text: str, wanted: Sequence[str], section: str) -> str:
    """The text of config.txt with these settings active; missing ones are added at its end, for all models."""
    missing = [line for line in wanted if not _in_force(line, text, section)]
    if not missing:
        return text
    end = "\r\n" if "\r\n" in text else "\n"
    headers = re.findall(r"^\s*\[(\w+)", text, re.M)
    added = [MARK, *(["[all]"] if headers and headers[-1] != "all" else []), *missing]
    return text + ("" if text.endswith("\n") or not text else end) + "".join(f"{line}{end}" for line in added)


def settings(text: str, section: str) -> Iterator[tuple[str, str]]:
    """Yields name and value of each setting that is active on a model, in order; each part of a dtparam separately."""
    active = True
    for line in text.splitlines():
        line = line.partition("#")[0].strip()
        if header := re.match(r"\[(.*)\]", line):
            active = header[1] in ("all", section)
        elif active and "=" in line:
            key, _, value = (part.strip() for part in line.partition("="))
            if key == "dtparam":
                for part in value.split(","):
                    name, _, setting = part.partition("=")
                    yield f"dtparam={ALIASES.get(name, name)}", setting or "on"
            else:
                yield key, value


def _in_force(line: str, text: str, section: str) -> bool:
    found = list(settings(text, section))
    ((name, value),) = settings(line, section)
    if name == "dtoverlay":
        same = PL011_OVERLAYS if value in PL011_OVERLAYS else {value}
        return any(key == name and overlay.partition(",")[0] in same for key, overlay in found)
    return next((setting for key, setting in reversed(found) if key == name), None) == value


def without_console(text: str, names: Sequence[str]) -> str:
    """The text of cmdline.txt without the console of the kernel on these UARTs."""
    return re.sub(rf"(?:^|(?<=\s))console=(?:{'|'.join(names)})(?:,\w*)?(?:[ \t]+|(?=\s|$))", "", text)
