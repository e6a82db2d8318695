# SPDX-License-Identifier: Apache-2.0
"""`hexapod play`: plays a motion on a running robot with a progress bar, or rehearses it without a robot."""

from __future__ import annotations

import argparse
import os
import sys

from hexapod_control.bringup.process_supervisor import end_with_parent, stop_requests
from hexapod_control.cli.bounded_options import InputError, add_robot
from hexapod_control.clients.motion_client import MotionProgress, ProgressBar
from hexapod_control.config.errors import DONE, INVALID_INPUT, RobotError
from hexapod_control.config.motion_file import known_motions, load_motion, request
from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.motions.motion_steps import MotionError
from hexapod_control.core.robot import Robot

BEGIN_S = 5.0  # for an idle robot to begin the motion


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    parser.add_argument(
        "motion", nargs="?", metavar="NAME|FILE", help="a motion that comes with the package, or a file"
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--list", action="store_true", help="list names and descriptions, without ROS")
    what.add_argument(
        "--check", action="store_true", help="only rehearse: print the duration or the first error, without ROS"
    )
    what.add_argument("--stop", action="store_true", help="end the current motion after its cycle")
    add_robot(parser, "robot for --list and --check")
    parser.add_argument("--namespace", default="", help="namespace of the robot")


def run(args: argparse.Namespace) -> int:
    """Plays a motion to its end. Returns 0; 2 if its rehearsal found an error.

    Raises FileError, InputError, or RobotError if it was cancelled or refused.
    """
    if args.list:
        return _list(load(args.robot).robot)
    if args.stop:
        return _stop(args.namespace)
    if args.motion is None:
        raise InputError(f"play: the name of a motion is missing; known: {', '.join(known_motions())}; or a file")
    if args.check:
        return _check(args.motion, load(args.robot).robot)
    return _play(args.motion, args.namespace)


def _list(robot: Robot) -> int:
    for name in known_motions():
        print(f"{name:20s} {load_motion(name, robot).description}")
    return DONE


def _check(text: str, robot: Robot) -> int:
    from hexapod_control.config.robots import saved_capabilities
    from hexapod_control.core.motions.motion_rehearsal import MotionRehearsal

    motion = load_motion(text, robot)
    saved_capabilities.enable()
    try:
        rehearsed = MotionRehearsal(robot, motion).finish()
    except MotionError as error:
        print(error, file=sys.stderr)
        return INVALID_INPUT
    print(f"{motion.name}: {rehearsed.duration:.1f} s on {robot.name}, the rehearsal found no error")
    return DONE


def _stop(namespace: str) -> int:
    from hexapod_control.clients.motion_client import MotionClient
    from hexapod_control.clients.robot_search import why_no_robot

    with MotionClient(namespace) as client:
        if not client.wait_for_robot():
            raise RobotError(f"no robot subscribes to the topic motion: {why_no_robot(client.robot_namespace)}")
        name = client.playing
        if not client.finish_cycle():
            raise RobotError(f"{name} still plays: call cancel_motion, or stop, which end it at once")
    print(f"{name}: ended" if name else "no motion was playing")
    return DONE


def _play(text: str, namespace: str) -> int:
    motion_request, names = request(text)
    end_with_parent(os.getppid())
    from hexapod_control.clients.bounded_wait import POLL_S, SERVICE_TIMEOUT_S
    from hexapod_control.clients.motion_client import MotionClient
    from hexapod_control.clients.robot_search import why_no_robot

    with stop_requests() as stop, MotionClient(namespace) as client, ProgressBar(sys.stderr) as bar:
        if not client.wait_for_robot():
            raise RobotError(f"no robot subscribes to the topic motion: {why_no_robot(client.robot_namespace)}")
        progress = MotionProgress(names, BEGIN_S)
        client.follow(progress.update)
        client.request(motion_request.data)
        while not progress.over and not stop.is_set():
            client.spin(POLL_S)
            progress.pass_time(POLL_S)
            bar.show(progress)
        if not progress.over:
            confirmed = client.cancel(SERVICE_TIMEOUT_S)
            progress.give_up(confirmed)
        bar.show(progress)
    if progress.failure:
        raise RobotError(progress.failure)
    print(f"{progress.name}: done")
    return DONE
