"""How a command that drives a robot which runs already gets to it: its namespace, topic, type and clock."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from hexapod_control.ros.distribution import stamped_by_default


@dataclass(frozen=True, slots=True)
class ConnectionOptions:
    """How the operator is connected to the robot."""

    namespace: str = ""
    stamped: bool = False  # is cmd_vel TwistStamped
    cmd_vel: str = "cmd_vel"  # topic
    sim_time: bool = False  # stamps on the time of /clock


def add_arguments(parser: argparse.ArgumentParser, muxed: str = "") -> None:
    """The arguments of a link; `muxed` is the topic to take with a twist_mux, without it the topic is fixed."""
    parser.add_argument("--namespace", default="", help="namespace of the robot")
    if muxed:
        text = f"topic of the velocity, {muxed} with a twist_mux"
        parser.add_argument("--cmd-vel", default="cmd_vel", metavar="TOPIC", help=text)
    parser.add_argument(
        "--stamped",
        action=argparse.BooleanOptionalAction,
        default=stamped_by_default(),
        help="cmd_vel is TwistStamped, not Twist (default: as this ROS does)",
    )
    parser.add_argument("--sim-time", action="store_true", help="stamp with the time of /clock")


def link(args: argparse.Namespace) -> ConnectionOptions:
    """The link that these arguments mean."""
    return ConnectionOptions(args.namespace, args.stamped, getattr(args, "cmd_vel", "cmd_vel"), args.sim_time)
