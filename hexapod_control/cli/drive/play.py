"""`hexapod play`: a motion on a robot that runs already, with a progress bar, or tried out without any robot."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from hexapod_control.bringup.process_supervisor import end_with_parent, stop_requests
from hexapod_control.cli.errors import InputError
from hexapod_control.clients.motion_progress import MotionProgress, ProgressBar
from hexapod_control.config.motions.motion_library import known_motions, load_motion, title
from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.motions.motion_rehearsal import MotionRehearsal
from hexapod_control.core.motions.motion_steps import MotionError
from hexapod_control.core.robot import Robot

POLL = 0.02  # [s]
FOUND = 5.0  # [s] for the robot to be found
TAKEN = 5.0  # [s] for the motion to be taken up by a robot that plays nothing else
ANSWER = 3.0  # [s] of a service
OK, FAILED, BAD_INPUT = 0, 1, 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    parser.add_argument(
        "motion", nargs="?", metavar="NAME|FILE", help="a motion that comes with the package, or a file"
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--list", action="store_true", help="names and descriptions of the motions, no ROS")
    what.add_argument(
        "--check", action="store_true", help="rehearse it only: how long it takes, or what is wrong with it; no ROS"
    )
    what.add_argument("--stop", action="store_true", help="let the motion that plays finish its cycle and end")
    parser.add_argument(
        "--robot", default="phantomx", help="name or file, for --list and --check (default: %(default)s)"
    )
    parser.add_argument("--namespace", default="", help="namespace of the robot")


def run(args: argparse.Namespace) -> int:
    """Play to the end: 0; 1 if it was cancelled or the robot refused it; 2 for a file that is wrong."""
    if args.list:
        return _list(load(args.robot).robot)
    if args.stop:
        return _stop(args.namespace)
    if args.motion is None:
        raise InputError(f"play: which motion? known: {', '.join(known_motions())}; or a file")
    if args.check:
        return _check(args.motion, load(args.robot).robot)
    return _play(args.motion, args.namespace)


def _list(robot: Robot) -> int:
    for name in known_motions():
        print(f"{name:20s} {load_motion(name, robot).description}")
    return OK


def _check(text: str, robot: Robot) -> int:
    motion = load_motion(text, robot)
    try:
        found = MotionRehearsal(robot, motion).finish()
    except MotionError as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    print(f"{motion.name}: {found.duration:.1f} s on {robot.name}, nothing is in the way")
    return OK


def _stop(namespace: str) -> int:
    from hexapod_control.clients.motion_client import MotionClient

    with MotionClient(namespace) as performer:
        if not performer.found(FOUND):
            return _fail("no robot listens to motion: is one running? e.g. hexapod sim")
        performer.ask("")
    return OK


def _play(text: str, namespace: str) -> int:
    path, names = title(text)
    end_with_parent(os.getppid())
    from hexapod_control.clients.motion_client import MotionClient

    wanted = str(path) if _is_path(text) else text
    with stop_requests() as asked, MotionClient(namespace) as performer, ProgressBar(sys.stderr) as bar:
        if not performer.found(FOUND):
            return _fail("no robot listens to motion: is one running? e.g. hexapod sim")
        progress = MotionProgress(names, TAKEN)
        performer.follow(progress.take)
        performer.ask(wanted)
        while not progress.over and not asked.is_set():
            performer.spin(POLL)
            progress.pass_time(POLL)
            bar.show(progress)
        if not progress.over:
            performer.cancel(ANSWER)
            progress.give_up()
        bar.show(progress)
    if progress.failure:
        return _fail(progress.failure)
    print(f"{progress.name}: done")
    return OK


def _is_path(text: str) -> bool:
    return "/" in text or Path(text).suffix in (".yaml", ".yml")


def _fail(sentence: str) -> int:
    print(f"hexapod: play: {sentence}", file=sys.stderr)
    return FAILED
