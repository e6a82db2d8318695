"""`hexapod nav2-check`: Nav2 walks a simulated robot to goals in a room, and its recoveries are tried."""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from hexapod_control.cli.bounded_options import add_robot, whole_number
from hexapod_control.cli.input_error import InputError
from hexapod_control.config.errors import DONE, FAILED
from hexapod_control.config.robots import saved_capabilities
from hexapod_control.config.robots.nav2_parameters import Nav2Robot, describe
from hexapod_control.config.robots.nav2_trees import driving_time, turning_time
from hexapod_control.config.robots.robot_file import RobotFile, load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.se2 import Pose
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.world_settings import WorldSettings

if TYPE_CHECKING:
    from hexapod_control.evaluation.navigation.nav2_walk import Nav2Walker

ACTIONS = {"navigate_to_pose": "NavigateToPose", "spin": "Spin", "backup": "BackUp"}  # types in nav2_msgs
TOLERANCE_M, TOLERANCE_RAD = 0.3, 0.35  # by ground truth: those of Nav2, and the drift of odometry and map
START_S = 60.0  # for the robot to stand and Nav2 to be active
SPIN_RAD, BACKUP_M, BACKUP_SPEED = 1.57, 0.3, 0.15  # of Nav2's behaviour trees


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    add_robot(parser)
    parser.add_argument("--gait", default="", help="gait to walk in (default: the robot file's)")
    parser.add_argument("--seed", type=int, default=3, help="seed of the obstacles and of the goals (default: 3)")
    parser.add_argument("--goals", type=whole_number(0, 100), default=5, metavar="N", help="random goals (default: 5)")
    parser.add_argument("--ekf", action="store_true", help="odometry of robot_localization")
    parser.add_argument("--no-amcl", action="store_true", help="no AMCL: the map stays at the origin of the odometry")
    parser.add_argument("--no-recoveries", action="store_true", help="do not try Spin, BackUp, cancel and preempt")
    parser.add_argument("--log", metavar="FILE", help="where to write the output of all nodes")


def run(args: argparse.Namespace) -> int:
    """Runs the check. Returns FAILED if a goal or recovery failed. Raises InputError if Nav2 is missing."""
    saved_capabilities.enable()
    try:
        msgs = import_module("nav2_msgs.action")
    except ImportError:
        raise InputError(
            "nav2_msgs is not installed: sudo apt install ros-DISTRO-navigation2, then source ROS"
        ) from None
    with tempfile.TemporaryDirectory(prefix="nav2_check_") as folder:
        return _Check(args, {name: getattr(msgs, kind) for name, kind in ACTIONS.items()}, Path(folder)).run()


class _Check:
    def __init__(self, args: argparse.Namespace, kinds: dict[str, type], folder: Path) -> None:
        self._args, self._kinds, self._folder = args, kinds, folder
        self._file: RobotFile = load(args.robot)
        self._world = WorldSettings(world="obstacles", seed=args.seed)
        self._limits: Nav2Robot = describe(self._file.robot, args.gait)
        self._failures = 0

    def run(self) -> int:
        # ROS is imported here, so that --help is fast.
        import rclpy.utilities

        from hexapod_control.bringup import node_graph
        from hexapod_control.bringup.node_graph import NodeSpec
        from hexapod_control.bringup.process_supervisor import Supervisor
        from hexapod_control.evaluation.navigation import nav2_processes, room_map
        from hexapod_control.evaluation.navigation.nav2_walk import Nav2Walker
        from hexapod_control.ros.distribution import stamped_by_default

        args = self._args
        shared = {"robot": args.robot, "gait": args.gait}
        room = room_map.write_room_map(self._world, self._folder)
        graph = nav2_processes.navigation({**shared, "map": room, "ekf": args.ekf}, localize=not args.no_amcl)
        try:
            lines = nav2_processes.command_lines(graph.processes, str(graph.write(self._folder)))
        except nav2_processes.MissingNav2Error as error:
            raise InputError(str(error)) from None
        mode = {"odometry_mode": "legs"} if args.ekf else {"odometry_mode": "legs_imu"}
        robot = node_graph.specs(
            "sim",
            {**shared, **mode, "world": "obstacles", "seed": args.seed, "stand_on_start": True, "web": False}
            | ({"enable_odom_tf": False} if args.ekf else {}),
        )
        reports = nav2_processes.ReportCounter()
        stamped = stamped_by_default()
        rclpy.init(args=[])
        try:
            with ExitStack() as stack:
                walker = Nav2Walker(self._kinds, stamped=stamped, fixed_map=args.no_amcl)
                stack.callback(walker.stop)
                simulated = stack.enter_context(Supervisor(robot, reports.take))
                if not walker.until(lambda: walker.state == "standing", START_S):
                    raise InputError("the simulated robot does not stand up: try hexapod sim")
                nav2 = stack.enter_context(
                    Supervisor(
                        [NodeSpec(name, package="nav2") for name in lines],
                        reports.take,
                        lambda spec: lines[spec.executable],
                    )
                )
                if not walker.ready("navigate_to_pose", START_S):
                    raise InputError(f"Nav2 is not active after {START_S:g} s: see its output with --log FILE")
                pids = {**simulated.pids, **nav2.pids}
                before, started = nav2_processes.cpu_seconds(pids), time.monotonic()
                self._walk(walker)
                after, seconds = nav2_processes.cpu_seconds(pids), time.monotonic() - started
        finally:
            rclpy.utilities.try_shutdown()
            if args.log:
                Path(args.log).write_text("\n".join(reports.lines) + "\n", encoding="utf-8")
        _print_figures(walker, {name: (after[name] - used) / seconds for name, used in before.items() if name in after})
        for text, count in reports.counts.most_common():
            print(f"{count:5d} x {text}")
        return FAILED if self._failures else DONE

    def _walk(self, walker: Nav2Walker) -> None:
        from hexapod_control.evaluation.navigation.nav2_walk import pose_goal
        from hexapod_control.evaluation.quality.patrols import random_goals

        simulation = Simulation(self._file.robot, urdf(self._file), self._world)
        goals = [
            Pose(goal.x, goal.y, goal.yaw or 0.0)
            for goal in random_goals(simulation, self._limits.radius, self._args.goals + 2, self._args.seed)
        ]
        # Two planes of the room are at most this far apart on a way round obstacles.
        limit = 30.0 + 3.0 * self._world.room_size / self._limits.velocity.vx
        kind = self._kinds["navigate_to_pose"]
        for number, goal in enumerate(goals[: self._args.goals], start=1):
            hits = walker.collisions
            outcome = walker.run("navigate_to_pose", pose_goal(kind, goal), limit)
            far, turned = walker.off(goal)
            hits = walker.collisions - hits
            good = outcome.status == "succeeded" and far <= TOLERANCE_M and turned <= TOLERANCE_RAD and not hits
            self._line(
                f"goal {number} ({goal.x:+.2f}, {goal.y:+.2f}, {goal.yaw:+.2f})",
                good,
                f"{outcome.status} after {outcome.seconds:.1f} s, {far:.3f} m and {turned:.3f} rad off,"
                f" {hits} collisions, error {outcome.error}",
            )
        if not self._args.no_recoveries:
            self._recoveries(walker, goals[-2:])

    def _recoveries(self, walker: Nav2Walker, goals: Sequence[Pose]) -> None:
        from hexapod_control.evaluation.navigation.nav2_walk import backup_goal, pose_goal, spin_goal

        limits, speed = self._limits, min(BACKUP_SPEED, self._limits.velocity.vx)
        turn, drive = turning_time(limits, SPIN_RAD), driving_time(limits, BACKUP_M, BACKUP_SPEED)
        for name, goal, seconds in (
            ("spin", spin_goal(self._kinds["spin"], SPIN_RAD, turn), turn),
            ("backup", backup_goal(self._kinds["backup"], BACKUP_M, speed, drive), drive),
        ):
            outcome = walker.run(name, goal, seconds + 10.0)
            text = f"{outcome.status} after {outcome.seconds:.1f} s of {seconds:g} s, error {outcome.error}"
            self._line(name, outcome.status == "succeeded", text)
        kind = self._kinds["navigate_to_pose"]
        outcome = walker.run("navigate_to_pose", pose_goal(kind, goals[0]), 60.0, cancel_after=5.0)
        still = walker.until(lambda: walker.state == "standing", 10.0)
        self._line("cancel", outcome.status == "canceled" and still, f"{outcome.status}, the robot {walker.state}")
        walker.send("navigate_to_pose", pose_goal(kind, goals[0]))
        walker.until(lambda: False, 3.0)
        limit = 30.0 + 3.0 * self._world.room_size / limits.velocity.vx
        outcome = walker.run("navigate_to_pose", pose_goal(kind, goals[1]), limit)
        far, _ = walker.off(goals[1])
        text = f"{outcome.status} after {outcome.seconds:.1f} s, {far:.3f} m off"
        self._line("preempt", outcome.status == "succeeded" and far <= TOLERANCE_M, text)
        wall = Pose(self._world.room_size / 2.0 + 0.2, 0.0, 0.0)
        outcome = walker.run("navigate_to_pose", pose_goal(kind, wall), 180.0)
        self._line("goal in a wall", outcome.status == "aborted", f"{outcome.status}, error {outcome.error}")

    def _line(self, title: str, good: bool, text: str) -> None:
        self._failures += not good
        print(f"{'ok  ' if good else 'FAIL'} {title}: {text}", flush=True)


def _print_figures(walker: Nav2Walker, shares: dict[str, float]) -> None:
    rates = ", ".join(f"{name} {rate:.1f} Hz" for name, rate in walker.rates().items())
    late = sorted(walker.latencies)
    if late:
        half, most = late[len(late) // 2], late[math.floor(0.99 * (len(late) - 1))]
        print(f"rates: {rates}; odom is {1e3 * half:.0f} ms old when it arrives, 99th percentile {1e3 * most:.0f} ms")
    used = ", ".join(f"{name} {100.0 * share:.0f}" for name, share in sorted(shares.items(), key=lambda row: -row[1]))
    print(f"CPU in percent of a core: {used}")
    sys.stdout.flush()
