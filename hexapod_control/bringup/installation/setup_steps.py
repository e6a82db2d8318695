"""The table of set-up steps for the computer of a robot, and the supported systems."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import NamedTuple

from hexapod_control.bringup.installation import device_steps, service_steps
from hexapod_control.bringup.installation.setup_facts import SetupFacts, StepFinding
from hexapod_control.bringup.installation.system_root import SystemRoot


class SetupStep(NamedTuple):
    """One set-up step."""

    title: str
    find: Callable[[SetupFacts], StepFinding]  # checks the system; the finding has the correction
    takes_effect: str = ""  # action after which a change takes effect; empty: at once


NEXT_LOGIN, NEXT_START = "log in again", "restart the computer"
STEPS = (
    SetupStep("groups", device_steps.group_membership, NEXT_LOGIN),
    SetupStep("I2C", device_steps.i2c_bus, NEXT_START),
    SetupStep("UART", device_steps.uart, NEXT_START),
    SetupStep("console", device_steps.serial_console, NEXT_START),
    SetupStep("udev rules", device_steps.udev_rules),
    SetupStep("FTDI latency", device_steps.ftdi_latency),
    SetupStep("service", service_steps.robot_service, "sudo systemctl start hexapod"),
    SetupStep("Wi-Fi power", service_steps.wifi_power, NEXT_START),
    SetupStep("clock", service_steps.clock),
)
SUPPORTED = ("ubuntu", "24.04")
_PAGE = "docs/raspberry-pi.md"
ADVICE_BY_SYSTEM = {
    "raspberry-pi-os": f'Raspberry Pi OS has no packages of ROS 2: run the container of {_PAGE}, "Raspberry Pi OS", '
    "or write Ubuntu 24.04 (64 bit) to the card",
    "ubuntu": "ROS 2 Jazzy is for Ubuntu 24.04: write its 64-bit image for the Pi to the card",
    "": f"this command sets up Ubuntu 24.04 only; on other systems follow {_PAGE} by hand, or use its container",
}


def unsupported(root: SystemRoot) -> str:
    """Advice for an unsupported system; empty on a supported one."""
    words = (line.partition("=") for line in root.text("/etc/os-release").splitlines())
    release = {key: " ".join(shlex.split(value)) for key, _, value in words}
    name = release.get("ID", "")
    if (name, release.get("VERSION_ID")) == SUPPORTED:
        return ""
    is_pi_os = name == "raspbian" or root.exists("/etc/rpi-issue")
    text = ADVICE_BY_SYSTEM["raspberry-pi-os"] if is_pi_os else ADVICE_BY_SYSTEM.get(name, ADVICE_BY_SYSTEM[""])
    return f"{release.get('PRETTY_NAME', 'this system')} is not changed: {text}"
