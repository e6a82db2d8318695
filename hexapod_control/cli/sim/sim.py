# SPDX-License-Identifier: Apache-2.0
"""`hexapod sim`: a simulated robot with all its nodes, driven by keyboard or by a scripted demonstration."""

from __future__ import annotations

import argparse
from dataclasses import replace

from hexapod_control.cli.bounded_options import HasArguments, InputError, add_number, add_robot, output_file
from hexapod_control.cli.drive.patrol import route_of
from hexapod_control.cli.sim.world_options import add_world, given_options, world_settings
from hexapod_control.config.errors import DONE
from hexapod_control.config.robots import saved_capabilities
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.shipped_files import use_venv_prefix
from hexapod_control.core.gait.gait_table import GaitSelection, unknown_gait
from hexapod_control.core.quantity import Quantity
from hexapod_control.core.reality import TYPICAL
from hexapod_control.core.robot import Robot
from hexapod_control.core.sensing.cameras import USUAL_CAMERAS
from hexapod_control.core.sensing.odometry import ODOMETRY_MODES
from hexapod_control.core.simulated_world import SPEED_FACTOR
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.servos.settings.servo_section import WIRED
from hexapod_control.web.page_address import PORT


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand; an option that is not given leaves the default of the node's parameter."""
    add_robot(parser)
    parser.add_argument("--gait", default="", help="gait to start with (default: the robot file's)")
    drive = parser.add_mutually_exclusive_group()
    drive.add_argument("--stay", action="store_true", help="drive from the page only, until Ctrl-C")
    drive.add_argument("--waypoints", metavar="FILE", help="walk a patrol, see hexapod patrol, and end")
    drive.add_argument("--demo", action="store_true", help="run the scripted drive even with a terminal")
    add_number(parser, "--segment", Quantity("s", 1.4, 600.0, "length of each part of the drive", "3 s or 3 cycles"))
    film = output_file("a film", (".gif", ".png"))
    parser.add_argument("--record", type=film, metavar="FILE", help="film of the run, .gif or .png, drawn at the end")
    add_number(parser, "--speed", SPEED_FACTOR)
    parser.add_argument(
        "--joint-mapping", metavar="FILE", help="joint names, signs and zeros of a URDF, from hexapod import"
    )
    parser.add_argument("--namespace", default="", help="namespace of all nodes and topics")
    parser.add_argument(
        "--bus", default="", metavar="PROTOCOL", help="drive the simulated servos over an emulated bus, e.g. feetech_st"
    )
    parser.add_argument(
        "--odometry", choices=ODOMETRY_MODES, help="its source (default: legs_imu, or legs_imu_3d with a depth camera)"
    )
    parser.add_argument(
        "--adaptive-touch-down", action="store_true", help="lower each foot until it touches the ground"
    )
    parser.add_argument("--imu-levelling", action="store_true", help="keep the body level by the IMU")
    parser.add_argument(
        "--no-frames", action="store_true", help="publish neither robot_description nor the frames of the links"
    )
    parser.add_argument("--one-process", action="store_true", help="run all nodes in one process")
    _add_page(parser.add_argument_group("page in the browser"))
    world = parser.add_argument_group("world")
    add_world(world, reality=TYPICAL)  # what an owner will see of a robot that was built
    camera = Quantity("Hz", 0.1, 30.0, "a camera at the front, for the page; without a number 10 Hz", "none")
    add_number(world, "--camera", camera, nargs="?", const=10.0)
    world.add_argument(
        "--depth-camera",
        nargs="?",
        const="mast",
        choices=tuple(USUAL_CAMERAS),
        help="a depth camera at this place of the body; without a place mast (default: those of the robot file)",
    )


def _add_page(page: HasArguments) -> None:
    page.add_argument("--lan", action="store_true", help="open the page to the network, with a QR code for phones")
    page.add_argument("--certificate", metavar="FOLDER", help="folder made by hexapod web-cert: the page by https")
    add_number(page, "--port", replace(PORT, default=f"{PORT.default}"))
    page.add_argument("--no-web", action="store_true", help="no page")


def run(args: argparse.Namespace) -> int:
    """Runs the simulation. Returns 0; 1 if a node died or the robot did not follow. Raises InputError."""
    _check_bus(args.bus, args.speed)
    robot_file = load(args.robot)
    gait = _gait(robot_file.robot, args.gait)
    world = world_settings(args)
    route = route_of(args.waypoints, robot_file, args.gait) if args.waypoints else None
    use_venv_prefix()
    try:
        from hexapod_control.cli.sim.simulation_run import SimulationRun

        return SimulationRun(args, robot_file, gait, world, given_options(args), route).run()
    except KeyboardInterrupt:  # Ctrl-C before the nodes start or after they have ended
        return DONE


def _check_bus(name: str, speed: float) -> None:
    if name and name not in WIRED:
        raise InputError(f"--bus: unknown protocol {name!r}; known: {', '.join(WIRED)}")
    if name and speed != 1.0:
        raise InputError(f"--speed: must be 1 with --bus, which runs in real time, is {speed:g}")


def _gait(robot: Robot, name: str) -> GaitSelection:
    saved_capabilities.enable()
    capabilities = Capabilities.of(robot)
    if name and (refusal := unknown_gait(name, capabilities.gait_names)):
        raise InputError(f"--gait: {refusal}")
    return capabilities.selection(name)
