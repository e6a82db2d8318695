# SPDX-License-Identifier: Apache-2.0
"""`hexapod nav2-check`: Nav2 walks a simulated robot to goals in a room, and its recoveries are tried."""

from __future__ import annotations

import argparse
import tempfile
from importlib import import_module
from pathlib import Path

from hexapod_control.cli.bounded_options import InputError, add_number, add_robot, output_file
from hexapod_control.config.errors import DONE, FAILED
from hexapod_control.config.robots import saved_capabilities
from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.quantity import Quantity

ACTIONS = {  # types in nav2_msgs
    "navigate_to_pose": "NavigateToPose",
    "spin": "Spin",
    "backup": "BackUp",
    "drive_on_heading": "DriveOnHeading",
    "wait": "Wait",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    add_robot(parser)
    parser.add_argument("--gait", default="", help="gait to walk in (default: the robot file's)")
    parser.add_argument("--seed", type=int, default=3, help="seed of the obstacles and of the goals (default: 3)")
    add_number(parser, "--goals", Quantity("", 0, 100, "random goals", 5, whole=True))
    parser.add_argument("--ekf", action="store_true", help="odometry of robot_localization")
    parser.add_argument("--no-amcl", action="store_true", help="no AMCL: the map stays at the origin of the odometry")
    parser.add_argument(
        "--no-recoveries", action="store_true", help="goals only: do not try the recoveries, cancel and preempt"
    )
    parser.add_argument(
        "--record", type=output_file("a film", (".gif",)), metavar="FILE", help="film of the goals from above, .gif"
    )
    parser.add_argument("--log", metavar="FILE", help="where to write the output of all nodes")


def run(args: argparse.Namespace) -> int:
    """Runs the check. Returns FAILED if a goal or recovery failed. Raises InputError if Nav2 is missing."""
    saved_capabilities.enable()
    try:
        types = import_module("nav2_msgs.action")
    except ImportError:
        raise InputError(
            "nav2_msgs is not installed: sudo apt install ros-DISTRO-navigation2, then source ROS"
        ) from None
    from hexapod_control.evaluation.navigation.nav2_check import CheckError, CheckPlan, Nav2Check  # takes a second
    from hexapod_control.evaluation.navigation.room_film import render
    from hexapod_control.sim.rendering.offscreen_camera import MissingGraphicsError

    actions = {name: getattr(types, kind) for name, kind in ACTIONS.items()}
    with tempfile.TemporaryDirectory(prefix="nav2_check_") as folder:
        recording = Path(folder, "run.npz")
        plan = CheckPlan(
            load(args.robot),
            args.gait,
            args.seed,
            args.goals,
            ekf=args.ekf,
            amcl=not args.no_amcl,
            recoveries=not args.no_recoveries,
            recording=recording if args.record else None,
        )
        check = Nav2Check(plan, actions, Path(folder))
        try:
            failures = check.run()
            if args.record:
                print(f"{args.record}: {render(recording, plan.robot, check.world, check.goals, args.record)} frames")
        except (CheckError, MissingGraphicsError, OSError) as error:
            raise InputError(str(error)) from None
        finally:
            if args.log:
                Path(args.log).write_text("\n".join(check.reports.lines) + "\n", encoding="utf-8")
    return FAILED if failures else DONE
