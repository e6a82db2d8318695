"""`hexapod patrol`: from waypoint to waypoint with `odom`, `scan` and `cmd_vel`, for a robot that runs already."""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import os
import sys
from pathlib import Path

from hexapod_control.bringup.process_supervisor import end_with_parent, stop_requests
from hexapod_control.cli.errors import InputError
from hexapod_control.clients import connection_options
from hexapod_control.config.robots.nav2_parameters import describe
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.waypoint_file import load_route

LOOPS = (1, 10_000)
PICTURES = (".png", ".svg", ".pdf")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    parser.add_argument("--waypoints", type=Path, required=True, metavar="FILE", help="YAML file of the waypoints")
    parser.add_argument("--robot", default="phantomx", metavar="NAME|FILE", help="robot (default: %(default)s)")
    parser.add_argument("--gait", default="", help="gait it walks in (default: the robot file's)")
    parser.add_argument("--loops", type=int, default=1, metavar="N", help="times through the file (default: 1)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="picture of the way, .png, .svg or .pdf")
    parser.add_argument("--blind", action="store_true", help="walk without a scan: obstacles are not seen")
    connection_options.add_arguments(parser, "nav_vel")


def run(args: argparse.Namespace) -> int:
    """Walk: 0 all reached, or ended by Ctrl-C; 1 a waypoint cannot be reached; 2 bad input."""
    if not LOOPS[0] <= args.loops <= LOOPS[1]:
        raise InputError(f"--loops: must be in [{LOOPS[0]}, {LOOPS[1]}], is {args.loops}")
    _check_picture(args.out)
    route = load_route(args.waypoints)
    robot = load(args.robot)
    try:
        radius = describe(robot.robot, args.gait).radius
    except ValueError as error:
        raise InputError(f"{robot.path}: {error}") from None
    settings = dataclasses.replace(route.settings, radius=radius)
    if args.out:
        importlib.import_module("matplotlib")  # what is missing is told before the walk
    os.environ.setdefault("AMENT_PREFIX_PATH", sys.prefix)  # nothing else sets it in a venv
    end_with_parent(os.getppid())  # a shell that is killed tells nobody
    from hexapod_control.clients.patrol import follow
    from hexapod_control.clients.patrol_client import PatrolClient

    with stop_requests() as asked, PatrolClient(connection_options.link(args)) as patroller:
        code, result = follow(patroller, route.waypoints * args.loops, settings, asked, blind=args.blind)
    if args.out and result.odometry:
        from hexapod_control.clients.patrol_map import draw

        draw(result, args.out)
        print(args.out, flush=True)
    return code


def _check_picture(path: Path | None) -> None:
    if path is None:
        return
    if path.suffix.lower() not in PICTURES:
        raise InputError(f"--out: {path}: a picture is one of {', '.join(PICTURES)}")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"--out: {path}: its folder does not exist or cannot be written to")
