# SPDX-License-Identifier: Apache-2.0
"""Installation by colcon (a ROS workspace) and by pip (`pip install '.[ros,sim]'` into a venv)."""

import shutil
import sys
from pathlib import Path
from xml.etree import ElementTree

from setuptools import find_packages, setup

NAME = "hexapod_control"
MANIFEST = ElementTree.parse("package.xml").getroot()  # the one place of maintainer, description and addresses
MAINTAINER = MANIFEST.find("maintainer")
NODES = ["gait_planner", "gamepad", "gazebo_driver", "imu_driver", "inverse_kinematics", "link_frames", "mujoco_sim"]
NODES += ["odometry", "servo_driver", "teleop", "terrain_map", "web"]
TOGETHER = ["robot_process", "sim_process"]  # all nodes in one process
ASSISTANT = ["mcp>=2.3"]  # the official SDK of the Model Context Protocol
# The interface of environments to the libraries that train policies, and what writes and runs these.
LEARNING = ["gymnasium>=1.0", "onnx>=1.16", "onnxruntime>=1.17"]
VIDEO = ["av>=10"]  # the camera of the page as H.264
MESHES = ["pycollada>=0.8", "trimesh>=4.6"]  # to import a URDF whose shapes are DAE or OBJ
WHEELS = {  # versions of rclpy, of the messages of common_interfaces and of those of rcl_interfaces
    "jazzy": ("7.1", "5.3.6", "2.0.3"),
    "kilted": ("9.1", "5.5.1", "2.3.0"),
}


def tree(folder):
    """The folder's files as data_files below share/, recursively."""
    found = [path for path in sorted(Path(folder).rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    parents = sorted({path.parent for path in found})
    return [(f"share/{NAME}/{parent}", [str(p) for p in found if p.parent == parent]) for parent in parents]


def ros_wheels(distribution):
    """The wheels of ROS that replace an installation of it; Lyrical has none."""
    rclpy, common, rcl = WHEELS[distribution]
    messages = [
        f"ros-{name}-msgs~={common}" for name in ("diagnostic", "geometry", "nav", "sensor", "std", "visualization")
    ]
    interfaces = [f"ros-{name}~={rcl}" for name in ("builtin-interfaces", "rcl-interfaces", "rosgraph-msgs")]
    return [f"ros-rclpy[fastrtps]~={rclpy}", *interfaces, *messages, f"ros-std-srvs~={common}"]


def generator_wheels(distribution):
    """What generates the types of msgs/hexapod_msgs for the wheels; with an installation of ROS colcon builds them."""
    names = ["ament-package", "rosidl-core-generators", "rosidl-default-generators", "ament-cmake"]
    names += [f"ament-cmake-{part}" for part in ("gmock", "gtest", "include-directories", "pytest", "ros")]
    names += ["ament-cmake-ros-core"] if distribution != "jazzy" else []
    return [*(f"ros-{distribution}-{name}" for name in names), "ros-python-cmake-module", "catkin-pkg", "cmake>=3.22"]


def programs():
    """What the console scripts leave open.

    pip puts them into bin/, but ros2 run and launch look into lib/hexapod_control/; with colcon it is the other way.
    """
    if "bdist_wheel" not in sys.argv:
        return [("bin", ["scripts/hexapod"])]
    folder = Path("build", "nodes")
    folder.mkdir(parents=True, exist_ok=True)
    for name in NODES + TOGETHER:
        shutil.copy("scripts/node.sh", folder / name)
    return [(f"lib/{NAME}", [str(folder / name) for name in NODES + TOGETHER])]


setup(
    name=NAME,
    version="0.2.0",  # release tools change it here and in package.xml
    description=MANIFEST.findtext("description"),
    license="Apache-2.0",
    maintainer=MAINTAINER.text,
    maintainer_email=MAINTAINER.get("email"),
    url=MANIFEST.findtext("url[@type='website']"),
    project_urls={url.get("type"): url.text for url in MANIFEST.iter("url")},
    packages=find_packages(include=[NAME, f"{NAME}.*"]),
    package_data={
        f"{NAME}.config": ["sentences/*"],
        f"{NAME}.ros.transport": ["*.xml"],
        f"{NAME}.web": ["static/*", "static/*/*"],
        f"{NAME}.web.dialog_pages": ["pages/*/*", "pages/*/*/*"],
    },
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        (
            f"share/{NAME}/docs",
            [f"docs/{name}.md" for name in ("assistant", "motions", "troubleshooting")],
        ),  # hexapod mcp
        *tree("config"),
        *tree("launch"),
        *tree("urdf"),
        *programs(),
    ],
    python_requires=">=3.11",
    # rclpy and the messages are not here, so that a sourced ROS installation wins; without one: the extra `ros`.
    install_requires=[
        "aiohttp>=3.8",
        "argcomplete>=2.0",
        "numpy>=1.26",
        "pyserial>=3.5",
        "pyyaml>=6.0",
        "ruamel.yaml>=0.17.21",
        "segno>=1.5",
        "smbus2>=0.4.3",
        "xacro>=2.0",
    ],
    extras_require={
        "docs": ["myst-parser>=4.0", "rosbags>=0.11", "sphinx>=8.2", "sphinx-rtd-theme>=3.0"],
        "gamepad": ["evdev>=1.6"],
        "gpio": ["gpiod>=2.1"],
        "ros": ros_wheels("jazzy"),
        "ros-kilted": ros_wheels("kilted"),
        "actions": generator_wheels("jazzy"),
        "actions-kilted": generator_wheels("kilted"),
        "learning": LEARNING,
        "mcp": ASSISTANT,
        "meshes": MESHES,
        "record": ["matplotlib>=3.6", "rosbags>=0.11"],
        "sim": ["mujoco>=3.2", "pillow>=10"],
        "video": VIDEO,
        # The SDKs of the servos' makers are there to compare frames with.
        "test": [
            "axe-core-python>=0.1",  # looks for barriers on the page
            "dynamixel-sdk>=4.1",
            "ftservo-python-sdk>=2.0.1",
            "hypothesis>=6.98",
            "matplotlib>=3.6",
            "pytest>=7.4",
            "pytest-timeout>=2.2",
            "pytest-xdist>=3.4",
            "rosbags>=0.11",
            *ASSISTANT,
            *LEARNING,
            *MESHES,
            *VIDEO,
        ],
        "style": ["import-linter~=2.15", "mypy~=2.4.1", "ruff~=0.17.5"],
    },
    zip_safe=False,
    entry_points={
        "console_scripts": [
            "hexapod = hexapod_control.cli.program:main",
            *(f"{name} = hexapod_control.bringup.node_program:main" for name in NODES + TOGETHER),
        ]
    },
)
