# SPDX-License-Identifier: Apache-2.0
"""Differences between the ROS distributions that this package supports."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

NAMES = ("jazzy", "kilted", "lyrical")
DISTRIBUTIONS_BY_RCLPY = {9: "kilted", 10: "lyrical"}  # by the first major version of rclpy; older versions: Jazzy

_CONTROLLER = "controller_server.ros__parameters"
_NAVIGATOR = "bt_navigator.ros__parameters"
_FOLLOWER = "waypoint_follower.ros__parameters"


@dataclass(frozen=True, slots=True)
class Nav2Changes:
    """Parameters of a Nav2 release that differ from Jazzy's, for which config/nav2.yaml is written; dotted keys."""

    renamed: Mapping[str, str] = field(default_factory=dict)  # new key by old key; empty: parameter removed
    added: Mapping[str, object] = field(default_factory=dict)


_KILTED = {
    f"{_NAVIGATOR}.error_code_names": "",  # refused by bt_navigator; the default prefixes include these two
    f"{_NAVIGATOR}.action_server_result_timeout": "",
    f"{_FOLLOWER}.action_server_result_timeout": "",
}
_DRIVES = {  # filled in for the robot; Nav2's own are for half a metre per second
    f"behavior_server.ros__parameters.{behavior}.{key}": value
    for behavior in ("backup", "drive_on_heading")
    for key, value in (("acceleration_limit", 2.5), ("deceleration_limit", -2.5), ("minimum_speed", 0.1))
}
NAV2_CHANGES: Mapping[str, Nav2Changes] = {
    "jazzy": Nav2Changes(),
    "kilted": Nav2Changes(_KILTED, _DRIVES),
    "lyrical": Nav2Changes(
        {
            **_KILTED,
            f"{_CONTROLLER}.FollowPath.prune_distance": f"{_CONTROLLER}.PathHandler.prune_distance",
            f"{_CONTROLLER}.FollowPath.transform_tolerance": "",  # the tolerance of the local costmap is used
        },
        {
            **_DRIVES,
            f"{_CONTROLLER}.path_handler_plugins": ["PathHandler"],
            f"{_CONTROLLER}.PathHandler.plugin": "nav2_controller::FeasiblePathHandler",
            f"{_CONTROLLER}.FollowPath.Omni.plugin": "mppi::OmniMotionModel",
        },
    ),
}


def distribution() -> str:
    """The supported distribution that is sourced or installed, or the nearest one."""
    name = os.environ.get("ROS_DISTRO") or _installed_distribution()
    if name in NAMES:
        return name
    return NAMES[-1] if name > NAMES[-1] else NAMES[0]


def _installed_distribution() -> str:
    """The distribution of the installed rclpy wheel, from the name of its folder.

    Importing importlib.metadata instead would take every process 50 ms.
    """
    wheels = [path.name for folder in sys.path for path in Path(folder).glob("ros_rclpy-*.dist-info")]
    found = re.match(r"ros_rclpy-(\d+)", wheels[0]) if wheels else None
    major = int(found[1]) if found else 0
    return next(
        (name for first, name in sorted(DISTRIBUTIONS_BY_RCLPY.items(), reverse=True) if major >= first), NAMES[0]
    )


def stamped_by_default() -> bool:
    """Whether Nav2 and teleop send velocity commands as TwistStamped in this distribution: from Kilted on."""
    return distribution() != "jazzy"
