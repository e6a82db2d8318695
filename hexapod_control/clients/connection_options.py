# SPDX-License-Identifier: Apache-2.0
"""Options of commands that connect to a running robot: namespace, topic and type of cmd_vel, clock."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from hexapod_control.config import ros_names
from hexapod_control.ros.distribution import stamped_by_default


@dataclass(frozen=True, slots=True)
class ConnectionOptions:
    """How a client is connected to the robot."""

    namespace: str = ""
    stamped: bool = False  # cmd_vel is TwistStamped
    cmd_vel: str = "cmd_vel"  # topic
    sim_time: bool = False  # stamps from /clock


def add_arguments(parser: argparse.ArgumentParser, muxed: str = "") -> None:
    """Adds the options; `muxed` is the velocity topic to use with a twist_mux. Without it, the topic is cmd_vel."""
    parser.add_argument("--namespace", default="", help="namespace of the robot")
    if muxed:
        text = f"topic of the velocity command, {muxed} with a twist_mux"
        parser.add_argument("--cmd-vel", default="cmd_vel", metavar="TOPIC", help=text)
    parser.add_argument(
        "--stamped",
        action=argparse.BooleanOptionalAction,
        default=stamped_by_default(),
        help="cmd_vel is TwistStamped, not Twist (default: as in this ROS distribution)",
    )
    parser.add_argument("--sim-time", action="store_true", help="take the time from /clock")


def connection(args: argparse.Namespace) -> ConnectionOptions:
    """Returns the connection that the parsed arguments describe. Raises RosNameError."""
    cmd_vel = ros_names.topic(getattr(args, "cmd_vel", "cmd_vel"))
    return ConnectionOptions(ros_names.namespace(args.namespace), args.stamped, cmd_vel, args.sim_time)
