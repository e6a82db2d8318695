# SPDX-License-Identifier: Apache-2.0
"""`hexapod patrol`: walks a running robot from waypoint to waypoint with `odom`, `scan` and `cmd_vel`."""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import os
import sys

from hexapod_control.bringup.process_supervisor import end_with_parent, stop_requests
from hexapod_control.cli.bounded_options import InputError, add_number, add_robot, output_file
from hexapod_control.clients import connection_options
from hexapod_control.config.errors import FAILED
from hexapod_control.config.robots import saved_capabilities
from hexapod_control.config.robots.nav2_parameters import describe
from hexapod_control.config.robots.robot_file import RobotFile, load
from hexapod_control.config.shipped_files import use_venv_prefix
from hexapod_control.config.waypoint_file import PatrolRoute, load_route
from hexapod_control.core.quantity import Quantity


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    parser.add_argument("--waypoints", required=True, metavar="FILE", help="YAML file of the waypoints")
    add_robot(parser)
    parser.add_argument("--gait", default="", help="gait of the robot (default: that of the robot file)")
    add_number(parser, "--loops", Quantity("", 1, 10_000, "repetitions of the file", 1, whole=True))
    picture = output_file("a picture", (".png", ".svg", ".pdf"))
    parser.add_argument("--out", type=picture, metavar="FILE", help="picture of the path, .png, .svg or .pdf")
    parser.add_argument("--blind", action="store_true", help="walk without a scan: obstacles are not seen")
    connection_options.add_arguments(parser, "nav_vel")


def route_of(name_or_path: str, robot: RobotFile, gait: str) -> PatrolRoute:
    """A file of waypoints for a robot in a gait, whose radius is kept free. Raises InputError, WaypointFileError."""
    route = load_route(name_or_path)
    saved_capabilities.enable()
    try:
        radius = describe(robot.robot, gait).radius
    except ValueError as error:
        raise InputError(f"{robot.path}: {error}") from None
    return dataclasses.replace(route, settings=dataclasses.replace(route.settings, radius=radius))


def run(args: argparse.Namespace) -> int:
    """Walks the patrol. Returns 0 if all waypoints were reached or after Ctrl-C, else 1. Raises InputError."""
    route = route_of(args.waypoints, load(args.robot), args.gait)
    if args.out:
        importlib.import_module("matplotlib")  # a missing library is reported before the walk
    use_venv_prefix()
    end_with_parent(os.getppid())  # a killed shell sends no signal
    from hexapod_control.clients.patrol_client import PatrolClient
    from hexapod_control.clients.patrol_run import follow

    with stop_requests() as stop, PatrolClient(connection_options.connection(args)) as robot_client:
        code, result = follow(robot_client, route.repeated(args.loops), stop, blind=args.blind)
    if args.out and result.odometry:
        from hexapod_control.clients.patrol_run import draw

        draw(result, args.out)
        print(args.out, flush=True)
    elif args.out:
        print(f"hexapod: {args.out} was not written: there was no odometry", file=sys.stderr)
        code = FAILED
    return code
