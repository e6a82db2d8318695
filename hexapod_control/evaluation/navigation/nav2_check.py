# SPDX-License-Identifier: Apache-2.0
"""A run of Nav2 with a simulated robot in a room of obstacles: its map, processes, goals, recoveries, and costs."""

from __future__ import annotations

import math
import os
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any  # types of actions are made by ROS

import numpy as np
import rclpy.utilities
from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from numpy.typing import NDArray

from hexapod_control.bringup import nav2_graph, node_graph
from hexapod_control.bringup.nav2_graph import NavigationGraph, NavigationProcess
from hexapod_control.bringup.node_graph import NodeSpec
from hexapod_control.bringup.process_supervisor import Supervisor
from hexapod_control.config.robots.nav2_parameters import describe, driving_time, turning_time
from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.se2 import Pose
from hexapod_control.evaluation.navigation.nav2_walk import Nav2Walker, drive_goal, pose_goal, spin_goal, wait_goal
from hexapod_control.ros.distribution import stamped_by_default
from hexapod_control.sim.free_places import random_goals
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.terrain import Obstacle, layout
from hexapod_control.sim.world_settings import WorldSettings

SIMULATOR = "mujoco_sim"
# by ground truth: those of Nav2, and the drift of odometry and map
TOLERANCE_M = 0.3
TOLERANCE_RAD = 0.35
START_S = 60.0  # for the robot to stand and Nav2 to be active
STOP_S = 10.0  # for the robot to come to rest
# Of Nav2's behaviour trees.
SPIN_RAD = 1.57
DRIVE_M = 0.3
DRIVE_SPEED = 0.15
WAIT_S = 5.0
CANCEL_AFTER_S = 5.0
PREEMPT_AFTER_S = 3.0
ROOM_SIDES = 3.0  # length of the longest way between two poses in a room, in sides of it
LEVEL = re.compile(r"\[(WARN|ERROR|FATAL)\]\s*(?:\[[\d.]+\])?\s*(?:\[[\w./-]+\])?:?\s*(.*)")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
AMCL = "amcl"
RESOLUTION_M = 0.05
BORDER_M = 0.5  # of wall around the room
# gray values
OCCUPIED = 0
FREE = 254


class CheckError(RuntimeError):
    """The check cannot be run; the message says why."""


@dataclass(frozen=True, slots=True)
class CheckPlan:
    """What to check."""

    robot: RobotFile
    gait: str  # "": that of the robot file
    seed: int  # of the obstacles and of the goals
    goals: int
    ekf: bool  # odometry of robot_localization
    amcl: bool  # otherwise the map stays at the origin of the odometry
    recoveries: bool  # also each behaviour, cancel, preempt and a goal in an obstacle
    recording: Path | None = None  # file (.npz) for the states of the simulation


class Nav2Check:
    """One run; prints a line for each goal and recovery."""

    def __init__(self, plan: CheckPlan, actions: Mapping[str, Any], folder: Path) -> None:
        """`actions` are types of actions by name; `folder` is for parameters and map."""
        self._plan = plan
        self._kinds = actions
        self._folder = folder
        self._limits = describe(plan.robot.robot, plan.gait)
        self.world = WorldSettings(world="obstacles", seed=plan.seed)
        self.goals, self._others = self._random_goals()
        self._limit = 30.0 + ROOM_SIDES * self.world.room_size / self._limits.velocity.vx  # [s] of a walk
        self._failures = 0
        self.reports = ReportCounter()

    def run(self) -> int:
        """Starts robot and Nav2, walks, prints. Returns the number of failures. Raises CheckError."""
        plan = self._plan
        shared = {"robot": str(plan.robot.path), "gait": plan.gait}
        room = write_room_map(self.world, self._folder)
        graph = navigation({**shared, "map": room, "ekf": plan.ekf}, localize=plan.amcl)
        try:
            lines = command_lines(graph.processes, str(graph.write(self._folder)))
        except MissingNav2Error as error:
            raise CheckError(str(error)) from None
        odometry = {"odometry_mode": "legs", "enable_odom_tf": False} if plan.ekf else {"odometry_mode": "legs_imu"}
        world = {"world": "obstacles", "seed": plan.seed, "stand_on_start": True, "web": False}
        robot = node_graph.specs("sim", {**shared, **odometry, **world})
        if plan.recording is not None:
            robot = tuple(_recorded(spec, plan.recording) for spec in robot)
        managers = [name for name in lines if name.startswith("lifecycle_manager")]
        servers = tuple(name for name in lines if name not in managers)
        # A manager ends first: it would report each server that it misses.
        nav2 = [NodeSpec(name, package="nav2", needs=() if name in servers else servers) for name in lines]
        rclpy.init(args=[])
        try:
            with ExitStack() as stack:
                walker = Nav2Walker(self._kinds, stamped=stamped_by_default(), fixed_map=not plan.amcl)
                stack.callback(walker.stop)
                simulated = stack.enter_context(Supervisor(robot, self.reports.take))
                if not walker.until(lambda: walker.state == "standing", START_S):
                    raise CheckError("the simulated robot does not stand up: try hexapod sim")
                started = stack.enter_context(Supervisor(nav2, self.reports.take, lambda spec: lines[spec.executable]))
                for manager in managers:
                    if not walker.active(manager, START_S):
                        text = f"not all servers of {manager} are active after {START_S:g} s"
                        raise CheckError(f"{text}: try again, or see their output with --log FILE")
                pids = {**simulated.pids, **started.pids}
                before = cpu_seconds(pids)
                begin = time.monotonic()
                self._walk(walker)
                after = cpu_seconds(pids)
                seconds = time.monotonic() - begin
        finally:
            rclpy.utilities.try_shutdown()
        _print_figures(walker, {name: (after[name] - used) / seconds for name, used in before.items() if name in after})
        for text, count in self.reports.counts.most_common():
            print(f"{count:5d} x {text}")
        return self._failures

    def _random_goals(self) -> tuple[Sequence[Pose], Sequence[Pose]]:
        """The goals of the plan, and two for the interruptions."""
        plan = self._plan
        simulation = Simulation(plan.robot.robot, urdf(plan.robot), self.world)
        found = random_goals(simulation, self._limits.radius, plan.goals + 2, plan.seed)
        poses = [Pose(goal.x, goal.y, goal.yaw or 0.0) for goal in found]
        return poses[: plan.goals], poses[plan.goals :]

    def _walk(self, walker: Nav2Walker) -> None:
        kind = self._kinds["navigate_to_pose"]
        for number, goal in enumerate(self.goals, start=1):
            hits = walker.collisions
            outcome = walker.run("navigate_to_pose", pose_goal(kind, goal), self._limit)
            far, turned = walker.off(goal)
            hits = walker.collisions - hits
            good = outcome.status == "succeeded" and far <= TOLERANCE_M and turned <= TOLERANCE_RAD and not hits
            self._line(
                walker,
                f"goal {number} ({goal.x:+.2f}, {goal.y:+.2f}, {goal.yaw:+.2f})",
                good,
                f"{outcome.status} after {outcome.seconds:.1f} s, {far:.3f} m and {turned:.3f} rad off,"
                f" {hits} collisions, error {outcome.error}",
            )
        if self._plan.recoveries:
            self._recoveries(walker)
            self._interruptions(walker, self._others)

    def _recoveries(self, walker: Nav2Walker) -> None:
        """Tries each behaviour of Nav2's trees for itself, with the time that the trees give it."""
        kinds, limits = self._kinds, self._limits
        turn = turning_time(limits, SPIN_RAD)
        drive = driving_time(limits, DRIVE_M, DRIVE_SPEED)
        way = (DRIVE_M, min(DRIVE_SPEED, limits.velocity.vx), drive)
        for name, goal, seconds in (
            ("spin", spin_goal(kinds["spin"], SPIN_RAD, turn), turn),
            ("backup", drive_goal(kinds["backup"], *way), drive),
            ("drive_on_heading", drive_goal(kinds["drive_on_heading"], *way), drive),
            ("wait", wait_goal(kinds["wait"], WAIT_S), 2.0 * WAIT_S),
        ):
            outcome = walker.run(name, goal, seconds + STOP_S)
            text = f"{outcome.status} after {outcome.seconds:.1f} s of {seconds:g} s, error {outcome.error}"
            self._line(walker, name, outcome.status == "succeeded", text)

    def _interruptions(self, walker: Nav2Walker, goals: Sequence[Pose]) -> None:
        """Cancels a goal, replaces one, and sends one that cannot be reached."""
        kind = self._kinds["navigate_to_pose"]
        outcome = walker.run("navigate_to_pose", pose_goal(kind, goals[0]), self._limit, cancel_after=CANCEL_AFTER_S)
        self._line(walker, "cancel", outcome.status == "canceled", outcome.status)
        walker.send("navigate_to_pose", pose_goal(kind, goals[0]))
        walker.until(lambda: False, PREEMPT_AFTER_S)
        outcome = walker.run("navigate_to_pose", pose_goal(kind, goals[1]), self._limit)
        far, _ = walker.off(goals[1])
        text = f"{outcome.status} after {outcome.seconds:.1f} s, {far:.3f} m off"
        self._line(walker, "preempt", outcome.status == "succeeded" and far <= TOLERANCE_M, text)
        obstacle = layout(self.world)[0]
        inside = Pose(obstacle.x, obstacle.y, 0.0)
        outcome = walker.run("navigate_to_pose", pose_goal(kind, inside), self._limit)
        text = f"{outcome.status} after {outcome.seconds:.1f} s, error {outcome.error}"
        self._line(walker, "goal in an obstacle", outcome.status == "aborted", text)

    def _line(self, walker: Nav2Walker, title: str, good: bool, text: str) -> None:
        """Prints how an action ended, once the robot stands; if it does not come to rest, the action has failed."""
        if not walker.until(lambda: walker.state == "standing", STOP_S):
            good = False
            text = f"{text}, does not stop: {walker.state}"
        self._failures += not good
        print(f"{'ok  ' if good else 'FAIL'} {title}: {text}", flush=True)


def _recorded(spec: NodeSpec, recording: Path) -> NodeSpec:
    """The process, with the states of its simulation recorded if it is the simulator."""
    if spec.executable != SIMULATOR:
        return spec
    return replace(spec, parameters={**spec.parameters, "record": str(recording)})


def _print_figures(walker: Nav2Walker, shares: dict[str, float]) -> None:
    rates = ", ".join(f"{name} {rate:.1f} Hz" for name, rate in walker.rates().items())
    late = sorted(walker.latencies)
    if late:
        half = late[len(late) // 2]
        most = late[math.floor(0.99 * (len(late) - 1))]
        print(f"rates: {rates}; odom is {1e3 * half:.0f} ms old when it arrives, 99th percentile {1e3 * most:.0f} ms")
    used = ", ".join(f"{name} {100.0 * share:.0f}" for name, share in sorted(shares.items(), key=lambda row: -row[1]))
    print(f"CPU in percent of a core: {used}", flush=True)


class MissingNav2Error(RuntimeError):
    """Nav2 is not installed."""


def navigation(arguments: Mapping[str, object], *, localize: bool) -> NavigationGraph:
    """The graph of nav2.launch.py on a saved map; without `localize` no AMCL, the map then has the origin of odom."""
    planned = nav2_graph.plan(arguments, nav2_graph.nav2_trees())
    parameters = {
        name: {"ros__parameters": dict(section["ros__parameters"])} for name, section in planned.parameters.items()
    }
    processes = planned.processes
    if localize:
        parameters[f"/{AMCL}"]["ros__parameters"]["set_initial_pose"] = True  # the robot starts at the origin
    else:
        processes = tuple(process for process in processes if process.name != AMCL)
        parameters["/lifecycle_manager_localization"]["ros__parameters"]["node_names"] = ["map_server"]
    return NavigationGraph(processes, parameters, planned.namespace, planned.trees)


def command_lines(processes: Sequence[NavigationProcess], file: str) -> dict[str, list[str]]:
    """The command of each process, by name. Raises MissingNav2Error."""
    return {process.name: _command(process, file) for process in processes}


def _command(process: NavigationProcess, file: str) -> list[str]:
    try:
        program = Path(get_package_prefix(process.package), "lib", process.package, process.executable)
    except PackageNotFoundError:
        program = Path(process.executable)
    if not os.access(program, os.X_OK):
        name = process.package.replace("_", "-")
        raise MissingNav2Error(
            f"{process.package} is not installed: sudo apt install ros-DISTRO-{name}, then source ROS"
        )
    line = [str(program), "--ros-args", "-r", f"__node:={process.name}", "--params-file", file]
    for source, target in process.remaps.items():
        line += ["-r", f"{source}:={target}"]
    return line


class ReportCounter:
    """Counts warnings and errors in the output of processes; sentences that differ only in numbers are one."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.lines: list[str] = []  # everything, for a log

    def take(self, line: str) -> None:
        """Takes a line that starts with the name of its process in brackets."""
        self.lines.append(line)
        name, _, text = line.partition("] ")
        found = LEVEL.search(text)
        if found:
            self.counts[f"{name.lstrip('[')}: {NUMBER.sub('N', found[2]).strip()}"] += 1


def cpu_seconds(pids: Mapping[str, int]) -> dict[str, float]:
    """CPU time [s] that each process has used so far."""
    tick = os.sysconf("SC_CLK_TCK")
    used = {}
    for name, pid in pids.items():
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        used[name] = (int(fields[11]) + int(fields[12])) / tick
    return used


def write_room_map(settings: WorldSettings, folder: Path) -> Path:
    """Draws walls and obstacles of a room as the robot starts in it, at the origin. Returns the .yaml file."""
    half = settings.room_size / 2.0 + BORDER_M
    cells = round(2.0 * half / RESOLUTION_M)
    centers = (np.arange(cells) + 0.5) * RESOLUTION_M - half
    x, y = np.meshgrid(centers, centers[::-1])  # the first row of the picture is the farthest y
    taken = np.maximum(abs(x), abs(y)) > settings.room_size / 2.0
    for obstacle in layout(settings):
        taken |= _inside(obstacle, x, y)
    picture = np.where(taken, OCCUPIED, FREE).astype(np.uint8)
    (folder / "room.pgm").write_bytes(b"P5\n%d %d\n255\n" % (cells, cells) + picture.tobytes())
    file = folder / "room.yaml"
    file.write_text(
        f"image: room.pgm\nmode: trinary\nresolution: {RESOLUTION_M}\norigin: [{-half}, {-half}, 0.0]\n"
        "negate: 0\noccupied_thresh: 0.65\nfree_thresh: 0.25\n",
        encoding="utf-8",
    )
    return file


def _inside(obstacle: Obstacle, x: Array, y: Array) -> NDArray[np.bool_]:
    """Whether points [m] are in a box or a cylinder, or less than half a cell beside it."""
    c = np.cos(obstacle.yaw)
    s = np.sin(obstacle.yaw)
    margin = RESOLUTION_M / 2.0
    dx = x - obstacle.x
    dy = y - obstacle.y
    if len(obstacle.size) == 1:
        return np.hypot(dx, dy) <= obstacle.size[0] + margin
    along = abs(c * dx + s * dy)
    across = abs(c * dy - s * dx)
    return (along <= obstacle.size[0] + margin) & (across <= obstacle.size[1] + margin)
