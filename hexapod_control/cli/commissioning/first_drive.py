# SPDX-License-Identifier: Apache-2.0
"""Stages of the first evening that need the nodes of the robot: it stands, walks or measures itself, and sits."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from hexapod_control.bringup import node_graph, shared_process
from hexapod_control.bringup.process_supervisor import NodeExitError, StopSignal, Supervisor, stop_requests
from hexapod_control.cli.servos.bus_access import Interrupted
from hexapod_control.clients.bounded_wait import ARMING_S, POSTURE_S, BoundedWait, EndRequested, wait_until
from hexapod_control.clients.connection_options import ConnectionOptions
from hexapod_control.clients.robot_client import RobotClient
from hexapod_control.clients.sensing_client import SensingClient
from hexapod_control.config.errors import RobotError
from hexapod_control.config.robots.robot_file import RobotFile, load
from hexapod_control.config.sentence import Sentence
from hexapod_control.core.calibration.pose_recording import PoseTour
from hexapod_control.core.kinematics.body_pose import NEUTRAL
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.ros.distribution import stamped_by_default
from hexapod_control.servos.calibration.dialog import TorqueStop
from hexapod_control.servos.commissioning.stages import StageError
from hexapod_control.servos.settings.servo_section import ServoSettings

READY_S = 40.0  # time limit for starting
ESTOP_S = 2.0  # time limit of the emergency stop; afterwards the nodes are ended in any case
SLOW_SHARE = 0.3  # of the top speed
# of walking, and of standing
WALK_S = 6.0
HOLD_S = 2.0
POSE_PERIOD_S = 0.2  # between two body poses of a tour
SETTLE_S = 1.0  # before a tour
Result = TypeVar("Result")
Client = TypeVar("Client", bound=RobotClient)


@dataclass(frozen=True, slots=True)
class FirstMotion:
    """A motion between standing up and sitting down."""

    share: float  # of its top speed, forward
    seconds: float  # besides whole cycles of the gait
    cycles: float
    result: Sentence  # line of the report, with the speed [m/s]


MOTIONS = {
    "stand_up": FirstMotion(0.0, HOLD_S, 0.0, Sentence("stood_up_and_sat_down")),
    "step": FirstMotion(SLOW_SHARE, 0.0, 1.0, Sentence("made_a_step")),
    "walk": FirstMotion(SLOW_SHARE, WALK_S, 0.0, Sentence("walked_slowly")),
}


def drive(
    file: RobotFile,
    settings: ServoSettings,
    name: str,
    output: Callable[[str], None] | None = None,
    check: Callable[[], None] = lambda: None,
) -> Sentence:
    """Carries out one of MOTIONS, by name. Returns the line of the report; raises StageError.

    `check` is called regularly and raises TorqueStop if the operator wants the torque off.
    """
    motion = MOTIONS[name]

    def act(robot: RobotClient, wait: BoundedWait) -> float:
        return _move(robot, wait, motion, _cycle(file))

    options = ConnectionOptions("", stamped_by_default())
    speed = _on_feet(file.path, settings, lambda: RobotClient(options), act, output, check)
    return motion.result.with_values(speed=speed)


def tour_with(
    path: Path,
    settings: ServoSettings,
    tour: PoseTour,
    progress: Callable[[int], None],
    output: Callable[[str], None] | None = None,
    check: Callable[[], None] = lambda: None,
) -> None:
    """Stands up, takes the robot of a file through a tour, and sits down. Raises StageError, as `drive`.

    `progress` is called with the number of poses that are finished.
    """
    robot_of_file = load(path).robot
    options = ConnectionOptions("", stamped_by_default())
    _on_feet(
        path,
        settings,
        lambda: SensingClient(options, robot_of_file),
        lambda robot, wait: _follow(robot, wait, tour, progress),
        output,
        check,
    )


def _follow(robot: SensingClient, wait: BoundedWait, tour: PoseTour, progress: Callable[[int], None]) -> None:
    """Moves the body through a tour over feet that stay where they are. Raises RobotError."""
    wait.request("stop")  # then a standing robot does not step to the footholds of another height
    wait.spin(SETTLE_S)
    begin = time.monotonic()
    sent = -POSE_PERIOD_S
    while (now := time.monotonic() - begin) < tour.duration:
        if now - sent >= POSE_PERIOD_S:
            robot.request_pose(tour.goal(now))
            sent = now
            progress(len(tour.measured))
        wait.spin()
        if robot.state != "standing":
            raise RobotError(
                f"the robot did not stay on its feet (gait_state: {robot.state}): was it lifted, pushed or driven? "
                "Put it on a flat floor and repeat"
            )
        if robot.joints is not None:
            tour.take(time.monotonic() - begin, robot.joints, robot.tilt, robot.torques)
    robot.request_pose(NEUTRAL)
    wait.spin(SETTLE_S)


def _on_feet(
    path: Path,
    settings: ServoSettings,
    client: Callable[[], Client],
    act: Callable[[Client, BoundedWait], Result],
    output: Callable[[str], None] | None,
    check: Callable[[], None],
) -> Result:
    """Starts the nodes, stands up, acts, and sits down. Returns what `act` returns; raises StageError."""
    stop = StopSignal()  # replaced once signals are handled
    show = output or (lambda line: print(line, file=sys.stderr, flush=True))
    nodes = shared_process.merged(node_graph.specs("bringup", _arguments(path, settings)))
    try:
        with stop_requests() as stop, Supervisor((nodes,), show) as supervisor, client() as robot:

            def checked() -> None:
                supervisor.check()
                check()

            try:
                wait = BoundedWait(robot, stop, checked)
                _stand(robot, supervisor.graph, wait)
                try:
                    result = act(robot, wait)
                finally:
                    robot.twist = ZERO
                    robot.send()
                wait.request("sit")
                wait.until_robot(lambda: robot.state == "sitting", POSTURE_S, "sit down")
            except TorqueStop:
                estop = robot.request("estop")
                wait_until(lambda: estop.success is not None, ESTOP_S, robot.spin)
                raise
    except (RobotError, NodeExitError) as error:
        raise StageError(Sentence.of(error)) from None
    except EndRequested:
        if stop.number != signal.SIGINT:
            raise Interrupted(stop.number) from None  # the next question may get no answer
        raise StageError(Sentence("interrupted")) from None
    return result


def _arguments(path: Path, settings: ServoSettings) -> dict[str, str]:
    """Launch arguments of the nodes."""
    return {
        "robot": str(path),
        "servo_protocol": settings.protocol,
        "servo_port": settings.port,
        "arm_on_start": "false",
    }


def _cycle(file: RobotFile) -> float:
    """Duration [s] of one cycle of the robot's gait."""
    robot = file.robot
    return max(gait.cycle for gait in Capabilities.of(robot).selection().gaits) * robot.walk.swing_time


def _stand(robot: RobotClient, graph: str, wait: BoundedWait) -> None:
    """Arms and stands up."""
    wait.until_robot(lambda: graph in robot.graphs, READY_S, "start")
    wait.until_robot(lambda: robot.has_service("arm"), READY_S, "offer arm")
    wait.request("arm", ARMING_S)  # only then the planner knows the pose
    wait.until_ready(READY_S)
    wait.stand(POSTURE_S)


def _move(robot: RobotClient, wait: BoundedWait, motion: FirstMotion, cycle: float) -> float:
    """Makes a motion. Returns its speed [m/s]."""
    speed = motion.share * robot.maxima.vx
    robot.twist = Twist(speed, 0.0, 0.0)
    wait.spin(motion.seconds + motion.cycles * cycle)
    if speed and robot.state != "walking":
        raise RobotError(f"the robot did not walk (gait_state: {robot.state}): does something else stop it?")
    return speed
