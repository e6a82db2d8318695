# SPDX-License-Identifier: Apache-2.0
"""One run of `hexapod sim`: starts nodes and robot client, drives, stops them, prints the table, renders the film."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import math
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, NoReturn

from hexapod_control.bringup import node_graph, shared_process
from hexapod_control.bringup.launch_arguments import ParameterValue
from hexapod_control.bringup.process_supervisor import NodeExitError, StopSignal, Supervisor, stop_requests
from hexapod_control.clients.bounded_wait import POSTURE_S, BoundedWait, EndRequested, drive_limit
from hexapod_control.clients.connection_options import ConnectionOptions
from hexapod_control.clients.keyboard_pilot import HELP, KeyboardPilot
from hexapod_control.clients.patrol_client import PatrolClient
from hexapod_control.clients.patrol_run import follow
from hexapod_control.clients.robot_client import SimulationClient
from hexapod_control.clients.terminal import Terminal, TerminalClosed
from hexapod_control.config.errors import DONE, FAILED, RobotError
from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.config.waypoint_file import PatrolRoute
from hexapod_control.core.gait.gait_table import Gait, GaitSelection
from hexapod_control.core.kinematics.se2 import ZERO, Twist, log, wrap
from hexapod_control.core.reality import IDEAL, MEASURED, TYPICAL, WORN
from hexapod_control.core.robot import Robot
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.ros.distribution import stamped_by_default
from hexapod_control.ros.trajectory_log import TrajectoryLog
from hexapod_control.sim.world_settings import ONLY_IN, WorldSettings

SETTLING_TIME_S = 0.9  # left out at the start of a segment, as the robot accelerates; at least one gait cycle
# default length of a segment
MIN_SEGMENT_S = 3.3
MIN_SEGMENT_CYCLES = 3.2


class Tolerance(NamedTuple):
    """Deviations of a ratio from 1."""

    good: float  # at most
    bad: float  # more than that

    def mark(self, deviation: float) -> str:
        """The remark of the table; empty for a good ratio."""
        if deviation > self.bad:
            return f"OUTSIDE {_band(self.bad)}"
        return f"outside {_band(self.good)}" if deviation > self.good else ""


ROUGH = Tolerance(0.1, 0.2)
# The first segment has most of it: the corrections of the walk are learned in it.
TOLERANCES = {IDEAL: Tolerance(0.05, 0.1), TYPICAL: ROUGH, MEASURED: ROUGH, WORN: Tolerance(0.15, 0.3)}
SPEED_SHARE = 0.95  # of the maximum speed, for a robot that is too slow for the script
READY_S = 30.0  # time limit for all nodes to respond after their start
ALONE_S = 5.0  # time limit for the nodes of another robot in the same namespace to be gone
MIN_SPAN_S = 2.0  # shortest steady drive by keyboard that gets a line in the table
SIMULATOR = "mujoco_sim"
SIMULATED_ODOMETRY = "legs_imu"  # every simulated robot has an IMU
PAGE_MARK = "the page: "  # before its address in the log of the node web
FIRST_KEYS = "In this terminal:  t stands up, then i walks ahead, SPACE halts, Ctrl-C ends"


def _band(deviation: float) -> str:
    return f"{1.0 - deviation:g}-{1.0 + deviation:g}"


def _report(message: object) -> None:
    print(f"hexapod: {message}", file=sys.stderr, flush=True)


class SimulationRun:
    """One run of the command."""

    def __init__(
        self,
        args: argparse.Namespace,
        robot_file: RobotFile,
        gait: GaitSelection,
        world: WorldSettings,
        world_options: Mapping[str, object],
        route: PatrolRoute | None = None,
    ) -> None:
        """Accepts checked arguments; `world_options` are the settings of the world that the user gave."""
        self._args = args
        self._robot_file = robot_file
        self._gait = gait
        self._world = world
        self._world_options = world_options
        self._route = route  # of a patrol
        self._interactive = sys.stdin.isatty() and not (args.demo or args.stay or args.waypoints)
        self._page = ""  # its address
        self._output: Callable[[str], None] = lambda line: print(line, file=sys.stderr, flush=True)

    def _report_unused(self) -> None:
        """Reports options that are given but have no effect with the others."""
        args = self._args
        world = self._world.world
        for name in self._world_options:
            if name in ONLY_IN and world not in ONLY_IN[name]:
                option = name.replace("_", "-")
                _report(f"--{option} has no effect in the world {world}: add --world {' or '.join(ONLY_IN[name])}")
        if args.no_web and (args.lan or args.port is not None):
            _report(f"{'--lan' if args.lan else '--port'} has no effect without the page: leave out --no-web")
        if args.segment and (self._interactive or args.stay):
            _report("--segment has no effect without the scripted drive: add --demo, without --stay")

    def run(self) -> int:
        """Runs nodes and drive, prints the table, renders the film. Returns the exit code."""
        self._report_unused()
        with tempfile.TemporaryDirectory(prefix="hexapod_") as folder:
            recording = Path(folder, "run.npz")
            try:
                code, session = self._run_nodes(recording)
            except NodeExitError as death:
                _report(death)
                return FAILED
            return max(code, self._table(session), self._film(session, recording))

    def _run_nodes(self, recording: Path) -> tuple[int, SimulationSession]:
        """Runs the nodes and drives the robot. Returns the exit code and the session."""
        args = self._args
        code = DONE
        with (
            stop_requests() as stop,
            self._terminal() as terminal,
            Supervisor(self.specs(recording), self._line) as supervisor,
            (PatrolClient if self._route else SimulationClient)(
                ConnectionOptions(args.namespace, stamped_by_default())
            ) as robot,  # after the supervisor: rclpy starts threads
        ):
            session = SimulationSession(robot, supervisor, stop, args.speed)
            try:
                code = self._drive(session, terminal)
            except EndRequested:
                code = _leave(session)
            except RobotError as failure:
                _report(failure)
                _leave(session)
                code = FAILED
        return code, session

    def specs(self, recording: Path) -> tuple[node_graph.NodeSpec, ...]:
        """The graph `sim` with the parameters of this command."""
        args = self._args
        arguments = {**self._world_options, "robot": args.robot, "gait": args.gait, "namespace": args.namespace}
        arguments |= {"bus": args.bus} if args.bus else {}
        # With a map of the ground, the graph chooses the mode itself.
        odometry = args.odometry or ("" if self._sees else SIMULATED_ODOMETRY)
        arguments |= {"odometry_mode": odometry} if odometry else {}
        arguments |= {"joint_mapping": args.joint_mapping} if args.joint_mapping else {}
        arguments |= {name: True for name in ("adaptive_touch_down", "imu_levelling") if getattr(args, name)}
        arguments |= {"tf_frame_prefix": _prefix(args.namespace)}
        arguments |= {"robot_state_publisher": False} if args.no_frames else {}
        arguments |= {"web": not args.no_web, "web_lan": args.lan}
        arguments |= {"web_certificate": str(Path(args.certificate).absolute())} if args.certificate else {}
        arguments |= {"camera_rate": args.camera} if args.camera else {}
        arguments |= {"depth_camera": args.depth_camera} if args.depth_camera else {}
        arguments |= {"web_port": args.port} if args.port is not None else {}
        more: dict[str, ParameterValue] = {}
        if args.speed != 1.0:
            arguments["use_sim_time"] = "true"
            more["sim_speed_factor"] = args.speed
        if args.record:
            more["record"] = str(recording)
        known = {argument.name for argument in node_graph.arguments("sim")}
        more |= {name: value for name, value in arguments.items() if name not in known}
        specs = tuple(
            dataclasses.replace(spec, parameters={**spec.parameters, **more}) if spec.executable == SIMULATOR else spec
            for spec in node_graph.specs("sim", {name: value for name, value in arguments.items() if name in known})
        )
        return (shared_process.merged(specs),) if args.one_process else specs

    def _line(self, line: str) -> None:
        """Shows a line of a node, and keeps the address of the page from it."""
        self._page = line.partition(PAGE_MARK)[2].strip() or self._page
        self._output(line)

    def _terminal(self) -> contextlib.AbstractContextManager[Terminal | None]:
        if not self._interactive:
            return contextlib.nullcontext()
        print(*HELP, sep="\n", file=sys.stderr)
        terminal = Terminal()
        self._output = terminal.line
        return terminal

    def _drive(self, session: SimulationSession, terminal: Terminal | None) -> int:
        """Drives the robot. Returns the exit code."""
        if self._route is not None:
            session.ready()
            return session.patrol(self._route, blind=self._sees)
        if terminal is not None:
            session.ready()
            for line in ("", *([f"  In the browser:  {self._page}"] if self._page else []), f"  {FIRST_KEYS}", ""):
                terminal.line(line)
            session.play(terminal)
        if self._args.stay:
            session.stay()
        script = script_for(self._robot_file.robot, self._gait.fastest)  # while the nodes start
        if self._sees:  # it steps only where it has seen the ground
            script = tuple(segment for segment in script if segment.twist.vx > 0.0)
        session.ready()
        session.demonstrate(script, self._args.segment or default_segment_time(self._cycle))
        return DONE

    @property
    def _sees(self) -> bool:
        """Whether the robot has a depth camera, and so a map of the ground."""
        return bool(self._args.depth_camera or self._robot_file.robot.cameras)

    @property
    def _cycle(self) -> float:
        """Cycle time of the gait [s]."""
        return self._robot_file.robot.walk.swing_time * self._gait.most_stable.cycle

    def _table(self, session: SimulationSession) -> int:
        """Prints the table. Returns FAILED if a robot on flat ground deviates too much from the script."""
        truth = session.robot.truth
        cycle = self._cycle
        results = [DriveResult(span.segment, achieved(truth, span, cycle)) for span in session.spans]
        if not results:
            return DONE
        tolerance = TOLERANCES[self._world.reality]
        print(*table(results, tolerance), sep="\n")
        print(*odometry_lines(truth, session.robot.odometry, *session.moving), sep="\n", flush=True)
        bad = [result.segment.name for result in results if result.worst > tolerance.bad]
        if self._interactive or self._world.world != "flat" or not bad:
            return DONE
        names = ", ".join(bad)
        _report(f"outside {_band(tolerance.bad)} of the command: {names}; is this machine too busy for real time?")
        return FAILED

    def _film(self, session: SimulationSession, recording: Path) -> int:
        """Renders the film. Returns FAILED if one was requested and cannot be rendered."""
        film = self._args.record
        if film is None:
            return DONE
        if not recording.exists():
            _report(f"{film} was not written: nothing was recorded")
            return FAILED
        # Only here, because the imports of physics and graphics take longer than those of all the rest.
        from hexapod_control.config.robots.urdf import urdf
        from hexapod_control.sim.rendering.film import MissingGraphicsError, render_recording
        from hexapod_control.sim.simulation import Simulation

        simulation = Simulation(self._robot_file.robot, urdf(self._robot_file), self._world)
        try:
            frames = render_recording(recording, simulation, film, session.caption)
        except (MissingGraphicsError, OSError) as error:
            _report(error)
            return FAILED
        print(f"{film}: {frames} frames", flush=True)
        return DONE


def _prefix(namespace: str) -> str:
    """Prefix of the frame ids of a robot in a namespace, because all robots share /tf."""
    return f"{namespace.strip('/')}/" if namespace.strip("/") else ""


def _leave(session: SimulationSession) -> int:
    """Sits down before the nodes stop; a second request to end skips this. Returns FAILED if the robot did not sit."""
    try:
        session.rest()
    except EndRequested:
        pass
    except RobotError as failure:
        _report(failure)
        return FAILED
    return DONE


class SimulationSession:
    """Drives the robot from the start of its nodes until it sits.

    Raises EndRequested, RobotError and NodeExitError.
    """

    def __init__(
        self, robot: SimulationClient | PatrolClient, supervisor: Supervisor, stop: StopSignal, speed: float
    ) -> None:
        """`speed` is that of the simulation, as a factor on real time."""
        self.robot = robot
        self._posture = POSTURE_S / min(speed, 1.0)  # [s] in which it stands up, or sits down
        self.spans: list[DriveSpan] = []
        self.moving: tuple[float, float] = (0.0, 0.0)  # [s] of ground truth time: from standing to standing
        self._stop = stop
        self._graph = supervisor.graph
        self._check = supervisor.check
        self._wait = BoundedWait(robot, stop, supervisor.check)

    def ready(self) -> None:
        """Waits until all nodes of this graph respond; topics and services alone may belong to another robot."""
        self._wait.until_robot(lambda: self._graph in self.robot.graphs, READY_S, "start")
        self._wait.until_robot(self._alone, ALONE_S, "start alone in its ROS_DOMAIN_ID and namespace")
        self._wait.until_ready(READY_S)

    def caption(self, time: float) -> str:
        """Name of the segment that was driven at a time [s] of ground truth; empty between segments."""
        return next((span.segment.name for span in self.spans if span.start <= time < span.end), "")

    def _alone(self) -> bool:
        """True if requests reach the planner of this graph and no other."""
        return self.robot.graphs == {self._graph}

    def demonstrate(self, script: Sequence[DriveSegment], seconds: float) -> None:
        """Stands up, drives each segment of the script for `seconds` [s], sits down."""
        self._wait.stand(self._posture)
        truth = self.robot.truth
        begin = truth.last.time
        for segment in script:
            self._drive(segment, seconds)
        self.moving = (begin, truth.last.time)
        self.sit()

    def _drive(self, segment: DriveSegment, seconds: float) -> None:
        """Drives one segment, timed by ground truth."""
        truth = self.robot.truth
        start = truth.last.time
        self.robot.twist = segment.twist
        self.robot.send()
        limit = drive_limit(seconds)
        self._wait.until_robot(lambda: truth.last.time >= start + seconds, limit, f"get through {segment.name}")
        self.spans.append(DriveSpan(segment, start, truth.last.time))

    def sit(self) -> None:
        """Stops, sits down and waits until the robot sits."""
        self.robot.twist = ZERO
        self.robot.send()
        self._wait.request("sit")
        self._wait.until_robot(lambda: self.robot.state == "sitting", self._posture, "sit down")

    def rest(self) -> None:
        """Sits down before the end, unless the robot sits already; a second request to end skips this."""
        self._stop.clear()
        if self._alone() and self.robot.state not in ("sitting", "unknown", ""):
            self.sit()

    def stay(self) -> NoReturn:
        """Waits until the user wants to end."""
        while True:
            self._wait.spin()

    def patrol(self, route: PatrolRoute, *, blind: bool) -> int:
        """Walks a route, `blind` without the lidar, and sits down. Returns the exit code."""
        robot = self.robot
        assert isinstance(robot, PatrolClient)
        self._wait.stand(self._posture)
        code, _ = follow(robot, route, self._stop, blind=blind, check=self._check)
        self.rest()
        return code

    def play(self, terminal: Terminal) -> NoReturn:
        """Drives by keyboard until the user wants to end."""
        robot = self.robot
        pilot = KeyboardPilot(self.robot, terminal)
        begin = since = robot.truth.last.time
        while True:
            now = robot.truth.last.time
            self.moving = (begin, now)
            before = robot.twist
            try:
                if pilot.step():
                    self._add_span(before, since)
                    since = now
                self._wait.spin()
            except (EndRequested, TerminalClosed):
                self._add_span(before, since)
                raise EndRequested from None

    def _add_span(self, twist: Twist, since: float) -> None:
        """Adds a drive with a constant twist to the table, if it was long enough."""
        now = self.robot.truth.last.time
        if not twist.is_zero and now - since >= MIN_SPAN_S:
            self.spans.append(DriveSpan(DriveSegment(f"drive {len(self.spans) + 1}", twist), since, now))


@dataclass(frozen=True, slots=True)
class DriveSegment:
    """One part of the drive, with a constant commanded twist."""

    name: str
    twist: Twist


SCRIPT = (
    DriveSegment("forward", Twist(0.1, 0.0, 0.0)),
    DriveSegment("arc", Twist(0.1, 0.0, 0.4)),
    DriveSegment("strafe", Twist(0.0, 0.1, 0.0)),
    DriveSegment("turn on the spot", Twist(0.0, 0.0, 0.5)),
)


def script_for(robot: Robot, gait: Gait) -> tuple[DriveSegment, ...]:
    """Returns the script, scaled down uniformly if the robot is too slow for it in this gait."""
    capabilities = Capabilities.of(robot)
    shares = {segment: capabilities.allowed_share(segment.twist, gait.name) for segment in SCRIPT}
    slowest = min(SCRIPT, key=shares.__getitem__)
    factor = shares[slowest]
    if factor == 1.0:
        return SCRIPT
    excess = capabilities.excess(slowest.twist, GaitSelection.of(gait))
    _report(f"the demonstration is slowed down: for {slowest.name}, {excess}")
    # Rounded down, so that the table shows exactly the command.
    return tuple(
        DriveSegment(s.name, Twist(*(math.floor(v * SPEED_SHARE * factor * 1000.0) / 1000.0 for v in s.twist)))
        for s in SCRIPT
    )


class DriveResult(NamedTuple):
    """Commanded and achieved twist of one segment: a line of the table."""

    segment: DriveSegment
    achieved: Twist

    @property
    def ratios(self) -> tuple[float, ...]:
        """Achieved over commanded velocity along the commanded axes."""
        return tuple(
            achieved / commanded
            for achieved, commanded in zip(self.achieved, self.segment.twist, strict=True)
            if commanded
        )

    @property
    def worst(self) -> float:
        """Maximum deviation of a ratio from 1."""
        return max((abs(ratio - 1.0) for ratio in self.ratios), default=0.0)


class DriveSpan(NamedTuple):
    """A segment and when it was driven, in the time of the trajectory samples."""

    segment: DriveSegment
    start: float  # [s]
    end: float  # [s]


def default_segment_time(cycle: float) -> float:
    """Returns the default duration [s] of a segment for a gait with this cycle time [s]."""
    return max(MIN_SEGMENT_S, MIN_SEGMENT_CYCLES * cycle)


def achieved(truth: TrajectoryLog, span: DriveSpan, cycle: float) -> Twist:
    """Returns the mean twist over the last whole gait cycles of a span; `cycle` [s]. Leaves out the acceleration."""
    settle = max(SETTLING_TIME_S, cycle)
    cycles = max(1, math.floor((span.end - span.start - settle) / cycle + 1e-6))
    cycle = min(cycle, (span.end - span.start) / cycles)
    marks = [truth.at(span.end - k * cycle) for k in range(cycles, -1, -1)]
    twists = [log(a.inverse() @ b, cycle) for a, b in pairwise(marks)]
    return Twist(*(sum(values) / cycles for values in zip(*twists, strict=True)))


def table(results: Sequence[DriveResult], tolerance: Tolerance) -> list[str]:
    """Returns the lines of the table of commanded and achieved velocities, with aligned columns."""
    head = ("segment", "commanded vx vy wz", "achieved vx vy wz", "ratio", "")
    rows = [head]
    for result in results:
        ratios = " / ".join(f"{ratio:.3f}" for ratio in result.ratios)
        rows.append(
            (
                result.segment.name,
                _as_text(result.segment.twist),
                _as_text(result.achieved),
                ratios,
                tolerance.mark(result.worst),
            )
        )
    widths = [max(len(row[k]) for row in rows) for k in range(len(head))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _as_text(twist: Twist) -> str:
    return " ".join(f"{value:7.3f}" for value in twist)


def odometry_lines(truth: TrajectoryLog, odometry: TrajectoryLog, start: float, end: float) -> list[str]:
    """Returns lines with odometry error and body height of a drive from `start` to `end` [s], by ground truth."""
    samples = truth.between(start, end)
    if len(samples) < 2 or len(odometry) < 2:
        return ["odometry: no samples"]
    distance = sum(math.dist(a.pose[:2], b.pose[:2]) for a, b in pairwise(samples))
    moved = truth.at(start).inverse() @ truth.at(end)
    estimated = odometry.at(start).inverse() @ odometry.at(end)
    error = math.dist(moved[:2], estimated[:2])
    turn = math.degrees(abs(wrap(moved.yaw - estimated.yaw)))
    heights = [sample.height for sample in samples]
    share = f" = {100.0 * error / distance:.2f} % of {distance:.2f} m" if distance > 0.0 else ""
    return [
        f"odometry error  {1000.0 * error:.1f} mm{share}, heading {turn:.2f} deg",
        f"body height     {1000.0 * sum(heights) / len(heights):.1f} mm, from "
        f"{1000.0 * min(heights):.1f} to {1000.0 * max(heights):.1f} mm",
    ]
