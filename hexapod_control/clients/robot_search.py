# SPDX-License-Identifier: Apache-2.0
"""Says why a client finds no robot: what the robots of this computer announce without DDS, else the possible causes."""

from __future__ import annotations

import getpass
import os
from collections.abc import Mapping
from pathlib import Path

from hexapod_control.config import ros_names
from hexapod_control.core.names import shortened
from hexapod_control.nodes.announcements.local_announcement import LocalNode, everywhere
from hexapod_control.nodes.announcements.node_presence import domain

DEFAULTS = {
    ros_names.MIDDLEWARE: "rmw_fastrtps_cpp",
    "ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET",
    "ROS_LOCALHOST_ONLY": "0",
}
OTHERS = (  # settings that also keep nodes apart, without defaults
    "ROS_STATIC_PEERS",
    "ROS_DISCOVERY_SERVER",
    ros_names.SECURITY,
    "CYCLONEDDS_URI",
    "FASTDDS_BUILTIN_TRANSPORTS",
    "FASTRTPS_DEFAULT_PROFILES_FILE",
    "FASTDDS_DEFAULT_PROFILES_FILE",
)
SETTINGS = dict.fromkeys(OTHERS, "") | DEFAULTS
MAX_LENGTH = 100  # characters of a value
MAX_ROBOTS = 3  # that are named


def why_no_robot(namespace: str) -> str:
    """Returns why a client in a namespace finds no robot, as the end of a message, with the remedy.

    A robot that runs on this computer is named, also in another domain or namespace, or of another user.
    """
    robots: dict[tuple[str, str], LocalNode] = {}  # one node of each
    for node in filter(_is_plausible, everywhere()):
        robots.setdefault((node.domain, node.presence.namespace), node)
    here = domain(), namespace.rstrip("/")
    if here in robots:
        return _unheard(robots[here])
    if robots:
        return "; ".join(_elsewhere(robot, here) for robot in list(robots.values())[:MAX_ROBOTS])
    settings = ", ".join(f"{name} ({_value(os.environ, name)} here)" for name in DEFAULTS)
    return (
        "is one running? e.g. hexapod sim; on this computer none announces itself. One on another computer, or in "
        f"a container, must have the same ROS_DOMAIN_ID ({here[0]} here), {settings}, and on one computer the same "
        f"user ({getpass.getuser()} here)"
    )


def _is_plausible(node: LocalNode) -> bool:
    """Whether the names can be used: any program may announce any text."""
    try:
        ros_names.check_domain({ros_names.DOMAIN: node.domain})
        return ros_names.namespace(node.presence.node) == node.presence.node
    except ros_names.RosNameError:
        return False


def _described(node: LocalNode) -> str:
    user = f" of user {node.user}" if node.user else ""
    return f"process {node.presence.process}{user}"


def _elsewhere(node: LocalNode, here: tuple[str, str]) -> str:
    remedies = [] if node.domain == here[0] else [f"set ROS_DOMAIN_ID={node.domain}"]
    if node.presence.namespace != here[1]:
        option = f"--namespace {node.presence.namespace}" if node.presence.namespace else "no --namespace"
        remedies.append(f"give {option}")
    return (
        f"a robot runs on this computer in ROS_DOMAIN_ID {node.domain} and namespace {node.presence.namespace or '/'} "
        f"({_described(node)}), this program is in ROS_DOMAIN_ID {here[0]} and namespace {here[1] or '/'}: "
        f"{' and '.join(remedies)}"
    )


def _unheard(node: LocalNode) -> str:
    """Why a robot in the same domain and namespace is not found."""
    found = f"one runs on this computer ({node.presence.node}, {_described(node)}), but its messages do not arrive: "
    theirs = _environment(node.presence.process)
    different = [
        f"{name} is {_value(theirs, name)} there and {_value(os.environ, name)} here"
        for name in SETTINGS
        if theirs is not None and _value(theirs, name) != _value(os.environ, name)
    ]
    if different:
        return f"{found}{', '.join(different)}: set the same for both"
    if node.user not in ("", getpass.getuser()):
        return (
            f"{found}it belongs to another user than {getpass.getuser()}, whose shared memory it cannot use: run both "
            f"as one user, or both with FASTDDS_BUILTIN_TRANSPORTS=UDPv4; compare also {', '.join(DEFAULTS)}"
        )
    return f"{found}is it about to start, or does it hang? Compare {', '.join(DEFAULTS)}"


def _environment(process: int) -> Mapping[str, str] | None:
    """The environment with which a process was started; None if it may not be read."""
    try:
        entries = Path("/proc", str(process), "environ").read_bytes().split(b"\0")
    except OSError:
        return None
    return dict(entry.decode(errors="replace").split("=", 1) for entry in entries if b"=" in entry)


def _value(environment: Mapping[str, str], name: str) -> str:
    return shortened(environment.get(name) or SETTINGS[name] or "unset", MAX_LENGTH)
