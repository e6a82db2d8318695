# SPDX-License-Identifier: Apache-2.0
"""`hexapod replay`: plays a bag for the page and RViz, or compares two runs."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from hexapod_control.bringup import node_graph
from hexapod_control.cli.bounded_options import CommandFailedError, InputError, add_number, add_robot
from hexapod_control.config import ros_names
from hexapod_control.config.errors import DONE
from hexapod_control.config.shipped_files import use_venv_prefix
from hexapod_control.core.quantity import Quantity
from hexapod_control.web.page_address import PORT

PAGE_START_S = 15.0  # time limit for the page to start


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    parser.add_argument("bag", type=Path, metavar="BAG", help="bag, its folder or its .mcap file")
    parser.add_argument("other", type=Path, nargs="?", metavar="OTHER", help="second bag, for --compare")
    add_number(parser, "--speed", Quantity("", 0.05, 20.0, "factor on real time", 1.0))
    parser.add_argument("--loop", action="store_true", help="start again at the end")
    parser.add_argument("--namespace", help="publish there instead of in the bag's namespace")
    parser.add_argument("--clock", action="store_true", help="also publish the time of the bag on /clock")
    parser.add_argument("--commands", action="store_true", help="also publish the commands to the robot")
    page = parser.add_argument_group("page in the browser")
    page.add_argument("--page", action="store_true", help="start the page, until Ctrl-C")
    add_robot(page, "robot to show")
    add_number(page, "--port", replace(PORT, default=0))
    compare = parser.add_argument_group("comparison")
    compare.add_argument("--compare", action="store_true", help="print the differences of two runs, without ROS")
    compare.add_argument(
        "--plot",
        type=Path,
        default=Path("compare.png"),
        metavar="PNG",
        help="picture of the comparison (default: %(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    """Plays a bag or compares two. Returns 0. Raises InputError."""
    if args.compare != (args.other is not None):
        raise InputError("--compare takes two bags: hexapod replay BAG OTHER --compare")
    ros_names.namespace(args.namespace or "")
    from hexapod_control.bags.bag_file import BagError

    try:
        return _compare(args) if args.compare else _play(args)
    except BagError as error:
        raise InputError(str(error)) from None


def _compare(args: argparse.Namespace) -> int:
    from hexapod_control.bags.comparison_plot import plot
    from hexapod_control.bags.recorded_run import load_run
    from hexapod_control.bags.run_comparison import compare_runs

    one, other = load_run(args.bag), load_run(args.other)
    comparison = compare_runs(one, other)
    print(*comparison.table(), sep="\n")
    plot(comparison, args.plot)
    print(args.plot)
    return DONE


def _play(args: argparse.Namespace) -> int:
    from hexapod_control.bags.bag_file import open_bag
    from hexapod_control.bringup.process_supervisor import NodeExitError, Supervisor, stop_requests
    from hexapod_control.clients.bounded_wait import wait_until
    from hexapod_control.nodes.recorder.bag_player import BagPlayer

    use_venv_prefix()
    yes = {True: "yes", False: ""}
    with open_bag(args.bag) as bag, stop_requests() as stop:
        specs = _page(args, bag.namespace) if args.page else ()
        with (
            Supervisor(specs, lambda line: print(line, flush=True)) as page,
            BagPlayer(bag, args.namespace, yes[args.commands], yes[args.clock]) as player,
        ):

            def check() -> None:
                try:
                    page.check()
                except NodeExitError as error:
                    raise CommandFailedError(str(error)) from None

            player.spin()
            for topic in player.skipped:
                print(f"hexapod: {topic} is not played: its package is not installed", file=sys.stderr)
            if specs:
                wait_until(lambda: player.has_subscribers() or stop.is_set(), PAGE_START_S, player.spin)
            while not stop.is_set():
                count = player.play(args.speed, stop.is_set)
                check()
                print(f"{args.bag}: {count} messages, {bag.seconds:.1f} s", flush=True)
                if not count and not stop.is_set():
                    raise CommandFailedError(f"{args.bag}: nothing was played, no topic of it can be published here")
                if not args.loop:
                    break
            while specs and not stop.is_set():
                player.spin(0.1)
                check()
    return DONE


def _page(args: argparse.Namespace, namespace: str) -> tuple[node_graph.NodeSpec, ...]:
    """The spec of the page alone, in the namespace in which the bag is played."""
    arguments = {"robot": args.robot, "web": "true", "web_port": args.port}
    arguments["namespace"] = namespace if args.namespace is None else args.namespace
    return tuple(spec for spec in node_graph.specs("sim", arguments) if spec.executable == "web")
