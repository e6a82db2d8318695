# SPDX-License-Identifier: Apache-2.0
"""Measures whether robots with the errors of ordinary servos walk as commanded.

`python bench/straight_walk.py` runs planner and physics in lock step on flat ground, with an IMU, measured joints and
contacts of the feet. Robots are drawn by a seed: ideal, typical as in `hexapod sim`, before
calibration, and after one on the floor.

ratio    way along the commanded course over the commanded one; on the spot the turn
turn     heading beyond the commanded one, per metre
across   way across the commanded course, per metre
3 feet   share of the time in which at least three feet bear load
slip     mean of the feet, as in walk_quality.py
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sensing_lockstep import ALL_SENSORS, SensingLockstep
from walk_quality import QualityRecorder

from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots.robot_file import RobotFile, load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.se2 import Twist, log
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.reality import IDEAL, TYPICAL, Reality, reality
from hexapod_control.core.robot import Robot
from hexapod_control.core.sensing.sensor_inputs import RELEASE_SHARE, Adaptation, MishapDetection
from hexapod_control.core.statics.static_stability import GRAVITY, MIN_SUPPORTING_FEET
from hexapod_control.evaluation.lockstep import CONTROL_PERIOD_S, WalkError, planar_pose
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.start_poses import sitting_pose
from hexapod_control.sim.world_settings import WorldSettings

SETTLING_S = 3.0  # of the walk, before it is measured
MEASURED_S = 15.0  # and up to the end of the gait cycle
UNCORRECTED = Adaptation(course=0.0, trim=0.0)


class Errors(NamedTuple):
    """Sizes of the errors of a robot."""

    zeros: float = 0.0  # [rad] standard deviation
    play: float = 0.0  # [rad]
    latency: float = 0.0  # [s]
    lengths: float = 0.0  # [m] at most

    def drawn(self, robot: Robot, seed: int) -> Reality:
        """The errors of one robot."""
        rng = np.random.default_rng(seed)
        shape = (len(robot.legs), 3)
        return Reality(
            len(robot.legs),
            zero_offset=self.zeros * rng.standard_normal(shape),
            backlash=np.full(shape, self.play),
            latency=np.full(shape, self.latency),
            length=rng.uniform(-self.lengths, self.lengths, shape),
        )


STAGES: Mapping[str, Callable[[Robot, int], Reality]] = {
    IDEAL: Errors().drawn,
    TYPICAL: lambda robot, seed: reality(robot, TYPICAL, seed),
    "before": Errors(math.radians(2.0), math.radians(1.0), 0.04, 0.002).drawn,
    "after": Errors(math.radians(0.4), math.radians(1.0), 0.04, 0.0005).drawn,
}
COURSES = {  # as shares of a speed [m/s]; the turn per metre
    "forwards": Twist(1.0, 0.0, 0.0),
    "sideways": Twist(0.0, 1.0, 0.0),
    "arc": Twist(0.9, 0.0, 4.0),
    "turn": Twist(0.0, 0.0, 5.0),
}


@dataclass(frozen=True, slots=True)
class StraightWalk:
    """Figures of one walk."""

    ratio: float
    turn: float  # [deg/m]
    across: float  # [m/m]
    three_feet: float  # share of the time
    slip: float  # [m/m]
    course: str  # what keeps it, and the shares
    trims: tuple[float, ...]  # [m]


def standing(
    robot_file: RobotFile, errors: Reality, adaptation: Adaptation, sensors: Sequence[str] = ALL_SENSORS, seed: int = 0
) -> SensingLockstep:
    """Returns a lock step whose robot stands on flat ground. Raises WalkError."""
    simulation = Simulation(robot_file.robot, urdf(robot_file), WorldSettings(), errors)
    simulation.reset(sitting_pose(robot_file.robot))
    planner = Planner(robot_file.robot)
    planner.sensors.mishap_detection = MishapDetection(falls=True, legs=True)
    run = SensingLockstep(simulation, planner, adaptation, seed)
    run.sensors = tuple(sensors)
    run.stand()
    return run


def walk(run: SensingLockstep, twist: Twist, seconds: float = MEASURED_S, settling: float = SETTLING_S) -> StraightWalk:
    """Walks a standing robot, and returns the figures after `settling` [s]."""
    simulation, planner = run.simulation, run.planner
    for _ in range(round(settling / CONTROL_PERIOD_S)):
        planner.command(twist)
        run.tick()
    recorder = QualityRecorder(simulation)
    robot = simulation.robot
    least = RELEASE_SHARE * robot.mass * GRAVITY / len(robot.legs)
    loaded: list[bool] = []

    def observe(now: Simulation) -> None:
        recorder.sample(now)
        loaded.append(int((now.foot_forces > least).sum()) >= MIN_SUPPORTING_FEET)

    executed, moved = np.zeros(3), np.zeros(3)
    last = planar_pose(simulation)
    phase = planner.view.gait_phase
    cycles = 0.0
    whole = False  # gait cycles: within one the body sways by more than it loses
    for tick in range(round(2.0 * seconds / CONTROL_PERIOD_S)):
        if whole and tick >= round(seconds / CONTROL_PERIOD_S):
            break
        planner.command(twist)
        executed += np.array(run.tick(observe).twist) * CONTROL_PERIOD_S
        here = planar_pose(simulation)
        moved += np.array(log(last.inverse() @ here, 1.0))
        last = here
        before, cycles = cycles, cycles + (planner.view.gait_phase - phase) % 1.0
        phase = planner.view.gait_phase
        whole = int(cycles) > int(before)
    recorder.mark(simulation)
    quality = recorder.finish(twist, run.unreachable)
    way = math.hypot(executed[0], executed[1])
    shares = " ".join(f"{share:+.3f}" for share in planner.view.course.shares)
    shown = f"{planner.view.course.state.value} {shares}"
    three = sum(loaded) / len(loaded)
    if twist.vx == twist.vy == 0.0:
        turned = moved[2] / executed[2]
        feet = robot.foothold_radius * abs(executed[2])
        across = float(np.hypot(*moved[:2])) / feet
        return StraightWalk(turned, 0.0, across, three, quality.slip, shown, planner.view.foot_trims)
    along = executed[:2] / way
    return StraightWalk(
        ratio=float(moved[:2] @ along) / way,
        turn=math.degrees(moved[2] - executed[2]) / way,
        across=float(along[0] * moved[1] - along[1] * moved[0]) / way,
        three_feet=three,
        slip=quality.slip,
        course=shown,
        trims=planner.view.foot_trims,
    )


def line(name: str, found: StraightWalk) -> str:
    """Returns one row of the table."""
    trims = " ".join(f"{1e3 * trim:.1f}" for trim in found.trims)
    figures = f"{found.ratio:6.3f} {found.turn:6.2f} {1e3 * found.across:6.1f} {100 * found.three_feet:6.2f}"
    return f"{name:42s} {figures} {found.slip:6.4f}  {found.course}; {trims} mm"


HEAD = (
    f"{'robot':42s} {'ratio':>6s} {'turn':>6s} {'across':>6s} {'3 feet':>6s} {'slip':>6s}\n"
    f"{'':42s} {'':6s} {'deg/m':>6s} {'mm/m':>6s} {'%':>6s} {'m/m':>6s}"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table. Returns 0, or 2 for a bad robot file."""
    parser = argparse.ArgumentParser(prog="python bench/straight_walk.py", description=__doc__)
    parser.add_argument("--robots", nargs="+", default=["phantomx"], help="names or files (default: %(default)s)")
    parser.add_argument("--stages", nargs="+", default=list(STAGES), choices=STAGES)
    parser.add_argument("--courses", nargs="+", default=["forwards"], choices=COURSES)
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--speed", type=float, default=0.0, help="[m/s]; 0: 40 %% of the highest, at most 0.1")
    parser.add_argument("--sensors", nargs="*", default=list(ALL_SENSORS), choices=ALL_SENSORS)
    parser.add_argument("--uncorrected", action="store_true", help="without course control and load sharing")
    chosen = parser.parse_args(arguments)
    print(HEAD)
    for name in chosen.robots:
        try:
            file = load(name)
        except RobotFileError as error:
            print(error, file=sys.stderr)
            return 2
        for stage, course, seed in (
            (s, c, k) for c in chosen.courses for s in chosen.stages for k in (chosen.seeds if s != IDEAL else [0])
        ):
            adaptation = UNCORRECTED if chosen.uncorrected else Adaptation()
            label = f"{name} {stage} {course} {seed}"
            try:
                run = standing(file, STAGES[stage](file.robot, seed), adaptation, chosen.sensors, seed)
                speed = chosen.speed or min(0.1, 0.4 * run.planner.view.maxima().vx)
                print(line(label, walk(run, COURSES[course].scaled(speed))), flush=True)
            except WalkError as error:
                print(f"{label:42s} {error}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
