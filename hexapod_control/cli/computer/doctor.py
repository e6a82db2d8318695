# SPDX-License-Identifier: Apache-2.0
"""`hexapod doctor`: checks which modules, ports and permissions this computer has."""

from __future__ import annotations

import argparse
import grp
import importlib
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from hexapod_control.config.missing_modules import install_command, missing_module
from hexapod_control.servos.bus.serial_port import no_permission

GROUPS = {"dialout": "serial ports", "i2c": "I2C", "gpio": "foot switches on pins", "input": "hexapod gamepad"}
PORTS = ("serial/by-id/*", "ttyUSB*", "ttyACM*", "ttyAMA*", "hexapod", "i2c-*")
RENDER = "import mujoco; mujoco.GLContext(64, 64).make_current()"
GL_PACKAGES = "apt install libegl1 libopengl0 libgl1-mesa-dri"
RENDER_TIMEOUT_S = 30.0


class ModuleUse(NamedTuple):
    """A Python module, its distribution package and its use."""

    module: str
    distribution: str
    purpose: str
    required: bool = False  # by every robot


MODULES = (
    ModuleUse("rclpy", "ros-rclpy", "all nodes", required=True),
    ModuleUse("numpy", "numpy", "everything", required=True),
    ModuleUse("ruamel.yaml", "ruamel.yaml", "robot files", required=True),
    ModuleUse("yaml", "PyYAML", "servo table", required=True),
    ModuleUse("serial", "pyserial", "servos on a port", required=True),
    ModuleUse("aiohttp", "aiohttp", "the page"),
    ModuleUse("mujoco", "mujoco", "hexapod sim"),
    ModuleUse("xacro", "xacro", "hexapod urdf, hexapod import"),
    ModuleUse("segno", "segno", "QR codes"),
    ModuleUse("smbus2", "smbus2", "I2C"),
    ModuleUse("gpiod", "gpiod", "foot switches on pins"),
    ModuleUse("evdev", "evdev", "hexapod gamepad"),
    ModuleUse("matplotlib", "matplotlib", "plots"),
    ModuleUse("rosbags", "rosbags", "hexapod record"),
)


class DoctorLine(NamedTuple):
    """One line of the table; `works` None: information only."""

    title: str
    works: bool | None
    text: str
    required: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No arguments."""


def run(args: argparse.Namespace) -> int:
    """Prints the table. Returns 1 if something that every robot needs does not work."""
    states = {None: "", True: "works", False: "MISSING"}
    failed = False
    for check in (_system, _ros, _modules, _graphics, _groups, _ports):
        for line in check():
            print(f"{line.title:18s} {states[line.works]:8s} {line.text}", flush=True)
            failed |= line.required and not line.works
    return int(failed)


def _system() -> Iterator[DoctorLine]:
    yield DoctorLine("Python", None, f"{platform.python_version()}, {sys.executable}")
    names = platform.freedesktop_os_release() if Path("/etc/os-release").exists() else {}
    yield DoctorLine("system", None, f"{names.get('PRETTY_NAME', platform.system())}, {platform.machine()}")


def _ros() -> Iterator[DoctorLine]:
    sourced = os.environ.get("ROS_DISTRO", "")
    yield DoctorLine(
        "ROS", None, f"{sourced} is sourced" if sourced else "none is sourced: the wheels are used, if any"
    )
    for name, usual in (("ROS_DOMAIN_ID", "0"), ("RMW_IMPLEMENTATION", "that of the distribution")):
        yield DoctorLine(name, None, os.environ.get(name, f"not set: {usual}"))


def _modules() -> Iterator[DoctorLine]:
    for use in MODULES:
        try:
            importlib.import_module(use.module)
        except ModuleNotFoundError as error:
            remedy = missing_module(error) or install_command(use.distribution)
            yield DoctorLine(use.module, False, f"for {use.purpose}: {remedy}", use.required)
        except (ImportError, OSError) as error:  # a library of the system is missing
            yield DoctorLine(use.module, False, f"for {use.purpose}: {' '.join(str(error).split())}", use.required)
        else:
            yield DoctorLine(use.module, True, f"{_version(use.distribution)} for {use.purpose}", use.required)


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:  # a package of ROS
        return "of the system,"


def _graphics() -> Iterator[DoctorLine]:
    environment = {"MUJOCO_GL": "egl", **os.environ}
    command = [sys.executable, "-c", RENDER]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, timeout=RENDER_TIMEOUT_S, check=False)
        works = done.returncode == 0
    except subprocess.TimeoutExpired:
        works = False
    yield DoctorLine("OpenGL", works, "for films with --record" + ("" if works else f": {GL_PACKAGES}"))


def _groups() -> Iterator[DoctorLine]:
    for name, purpose in GROUPS.items():
        member = os.geteuid() == 0 or name in _own_groups()
        remedy = "" if member else f": sudo usermod -aG {name} $USER, then log in again; hexapod setup does it"
        yield DoctorLine(f"group {name}", member, f"for {purpose}{remedy}")


def _own_groups() -> set[str]:
    found = set()
    for number in os.getgroups():
        try:
            found.add(grp.getgrgid(number).gr_name)
        except KeyError:  # without a name
            continue
    return found


def _ports() -> Iterator[DoctorLine]:
    found = sorted(path for pattern in PORTS for path in Path("/dev").glob(pattern))
    if not found:
        yield DoctorLine("ports", None, "no USB adapter, UART or I2C bus is there")
    for path in found:
        works = os.access(path, os.R_OK | os.W_OK)
        usual = "i2c" if path.name.startswith("i2c") else "dialout"
        yield DoctorLine("port", works, str(path) if works else no_permission(path, usual))
