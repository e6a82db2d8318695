# SPDX-License-Identifier: Apache-2.0
"""How to install the Python modules of optional commands. This package itself is on no package index."""

from __future__ import annotations

import os
import shlex
import sys
import sysconfig
from pathlib import Path

ROS = "source a ROS 2 installation (source /opt/ros/jazzy/setup.bash), or run make in the folder of the package"
PACKAGES = {  # of the Python package index, by module; and of Debian, if it has one
    "mujoco": ("mujoco pillow", ""),
    "PIL": ("pillow", "python3-pil"),
    "rosbags": ("rosbags matplotlib", ""),
    "matplotlib": ("matplotlib", "python3-matplotlib"),
    "segno": ("segno", "python3-segno"),
    "smbus2": ("smbus2", "python3-smbus2"),
    "gpiod": ("gpiod", "python3-libgpiod"),
    "argcomplete": ("argcomplete", "python3-argcomplete"),
    "gymnasium": ("gymnasium", ""),
    "mcp": ("mcp", ""),
    "onnx": ("onnx", ""),
    "onnxruntime": ("onnxruntime", ""),
    "evdev": ("evdev", "python3-evdev"),
    "trimesh": ("trimesh pycollada", ""),
    "xacro": ("xacro", f"ros-{os.environ.get('ROS_DISTRO', 'jazzy')}-xacro"),
}


def missing_module(error: ModuleNotFoundError) -> str | None:
    """Message with the missing module and the command that installs it; None for a module that is not in the table."""
    name = (error.name or "").split(".")[0]
    if name == "rclpy":
        return f"{name} is missing: {ROS}"
    return f"{name} is missing: {install_command(*PACKAGES[name])}" if name in PACKAGES else None


def install_command(distributions: str, debian: str = "") -> str:
    """The command that installs Python packages for the interpreter that runs.

    A virtual environment does not see what apt installs, and the Python of a system may be closed to pip (PEP 668).
    """
    in_venv = sys.prefix != sys.base_prefix
    closed = not in_venv and Path(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED").exists()
    if debian and closed:
        return f"sudo apt install {debian}"
    command = f"{shlex.quote(sys.executable)} -m pip install {distributions}"
    return f"{command} --user --break-system-packages" if closed else command
