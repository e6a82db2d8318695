# SPDX-License-Identifier: Apache-2.0
"""`hexapod policy`: lets a running robot follow a learned policy, or checks whether it fits a robot file."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from hexapod_control.bringup.process_supervisor import end_with_parent, stop_requests
from hexapod_control.cli.bounded_options import add_robot
from hexapod_control.clients import connection_options
from hexapod_control.config.errors import DONE
from hexapod_control.config.policy_file import Policy
from hexapod_control.config.robots import saved_capabilities
from hexapod_control.config.robots.robot_file import load


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    check = actions.add_parser("check", help="say whether a policy fits a robot, without a robot")
    run_ = actions.add_parser("run", help="let a standing robot follow a policy, commanded on cmd_vel")
    for action in (check, run_):
        action.add_argument("file", type=Path, metavar="FILE", help="policy as an ONNX file")
        add_robot(action)
    connection_options.add_arguments(run_)


def run(args: argparse.Namespace) -> int:
    """Checks or runs the policy. Returns 0, also after Ctrl-C. Raises FileError or RobotError."""
    robot = load(args.robot).robot
    saved_capabilities.enable()
    policy = Policy(args.file, robot)
    if args.action == "check":
        print(f"{args.file}: fits {robot.name}, actions at the level {policy.level}, every {policy.period:g} s")
        return DONE
    end_with_parent(os.getppid())
    from hexapod_control.clients.policy_client import PolicyClient

    with (
        stop_requests() as stop,
        PolicyClient(connection_options.connection(args), robot, policy, args.file.stem) as client,
    ):
        print(f"{args.file}: runs on {robot.name} until Ctrl-C; drive with page, gamepad or keyboard", flush=True)
        client.run(stop)
    return DONE
