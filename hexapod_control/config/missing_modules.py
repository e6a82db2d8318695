"""How to install the Python modules of optional commands. This package itself is on no package index."""

from __future__ import annotations

REMEDIES = {
    "rclpy": "source a ROS 2 installation (source /opt/ros/jazzy/setup.bash), or run make in the folder of the package",
    "mujoco": "pip install mujoco pillow",
    "PIL": "pip install pillow",
    "rosbags": "pip install rosbags matplotlib",
    "matplotlib": "apt install python3-matplotlib, or pip install matplotlib",
    "smbus2": "apt install python3-smbus2, or pip install smbus2",
    "gpiod": "apt install python3-libgpiod, or pip install gpiod",
    "argcomplete": "apt install python3-argcomplete, or pip install argcomplete",
    "evdev": "apt install python3-evdev, or pip install evdev",
    "xacro": "apt install ros-jazzy-xacro, or pip install xacro",
}


def missing_module(error: ModuleNotFoundError) -> str | None:
    """Message with the missing module and how to install it; None for a module that is not in the table."""
    name = (error.name or "").split(".")[0]
    return f"{name} is missing: {REMEDIES[name]}" if name in REMEDIES else None
