# SPDX-License-Identifier: Apache-2.0
"""Measures walks on rough ground and compares their figures with limits.

`python bench/rough_ground.py` runs planner and physics in lock step, with and without
contact sensing, so that every run prints the same figures. The distance is measured forward along the ground, once the
robot has left the flat start.
Swings take 0.6 s and are as high as the ground requires, independent of the robot file: lower swings allow longer
strides, but two adjacent blocks of at most 30 mm up and down may differ by 60 mm.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sensing_lockstep import SensingLockstep, ServoSensingLockstep, tilt

from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.robot import Robot
from hexapod_control.core.sensing.sensor_inputs import Adaptation
from hexapod_control.evaluation.lockstep import CONTROL_PERIOD_S, planar_pose
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.start_poses import sitting_pose
from hexapod_control.sim.terrain import FIELD_HALF_SIDE_M, START_HALF_SIDE_M
from hexapod_control.sim.world_settings import WorldSettings

SPEED_M_S = 0.06  # commanded
SWING_TIME_S = 0.6
FIELD_END_M = FIELD_HALF_SIDE_M - 0.7  # where the field of blocks ends
MAX_TIME_S = 45.0  # for one walk
FALL_TILT_RAD = math.radians(35.0)
# Without the corrections of a robot's errors, which also make up for a part of the way that rough ground takes.
BLIND = Adaptation(course=0.0, trim=0.0)
FEET = replace(BLIND, touch_down=True)
LEVEL = replace(BLIND, levelling=True)
BOTH = replace(FEET, levelling=True)


@dataclass(frozen=True, slots=True)
class RoughGround:
    """A ground, how the robot adapts to it, and the limit of the walk."""

    name: str
    world: WorldSettings
    adaptation: Adaptation
    least_ratio: float  # of the distance over the commanded one, mean of the seeds; 0: only printed
    lift: float  # [m] of the swings
    seeds: tuple[int, ...] = (1, 2, 3)
    drive: type[SensingLockstep] = SensingLockstep  # how contact is sensed


def _blocks(height: float, between_targets: str = "hold") -> WorldSettings:
    return WorldSettings(world="blocks", block_height=height, between_targets=between_targets)


LOW_LIFT_M = 0.037
HIGH_LIFT_M = 0.046
SIX_SEEDS = (1, 2, 3, 4, 5, 6)
SLOPE = WorldSettings(world="slope", slope_deg=15.0)
GROUNDS = (
    RoughGround("blocks 2 cm, blind", _blocks(0.02), BLIND, 0.0, LOW_LIFT_M),
    RoughGround("blocks 2 cm, foot contact", _blocks(0.02), FEET, 0.97, LOW_LIFT_M, SIX_SEEDS),
    # Servos that report their load interpolate linearly between targets, except the X series with its default profile.
    RoughGround(
        "blocks 2 cm, servo load", _blocks(0.02, "linear"), FEET, 0.97, LOW_LIFT_M, SIX_SEEDS, ServoSensingLockstep
    ),
    RoughGround("blocks 2 cm, both", _blocks(0.02), BOTH, 0.0, LOW_LIFT_M),
    RoughGround("blocks 3 cm, blind", _blocks(0.03), BLIND, 0.0, HIGH_LIFT_M),
    RoughGround("blocks 3 cm, foot contact", _blocks(0.03), FEET, 0.92, HIGH_LIFT_M, SIX_SEEDS),
    RoughGround(
        "blocks 3 cm, servo load", _blocks(0.03, "linear"), FEET, 0.92, HIGH_LIFT_M, SIX_SEEDS, ServoSensingLockstep
    ),
    RoughGround("blocks 3 cm, both", _blocks(0.03), BOTH, 0.0, HIGH_LIFT_M),
    RoughGround("slope 15 deg, blind", SLOPE, BLIND, 0.0, LOW_LIFT_M, (1,)),
    RoughGround("slope 15 deg, level", SLOPE, LEVEL, 0.97, LOW_LIFT_M, (1,)),
    RoughGround("slope 15 deg, both", SLOPE, BOTH, 0.0, LOW_LIFT_M, (1,)),
)


@dataclass(slots=True)
class RoughWalk:
    """Figures of one walk."""

    ratio: float = 0.0  # distance over the commanded one
    executed: float = 0.0  # the same of the executed twist
    tilts: list[float] = field(default_factory=list)  # [rad] of the body
    fell: bool = False

    @property
    def tilt(self) -> float:
        """RMS tilt of the body [deg]."""
        return math.degrees(math.sqrt(sum(t * t for t in self.tilts) / max(1, len(self.tilts))))


def with_swing(robot: Robot, lift: float) -> Robot:
    """Returns the robot with a lift height [m] and SWING_TIME_S."""
    return replace(robot, walk=replace(robot.walk, lift_height=lift, swing_time=SWING_TIME_S))


def standing_on(robot: Robot, text: str, ground: RoughGround, seed: int = 1) -> SensingLockstep:
    """Returns a lock step whose robot stands on a ground; `text` is its URDF."""
    simulation = Simulation(robot, text, replace(ground.world, seed=seed))
    simulation.reset(sitting_pose(robot))
    run = ground.drive(simulation, Planner(robot), ground.adaptation, seed)
    run.stand()
    return run


def walk(run: SensingLockstep, speed: float = SPEED_M_S, end: float = FIELD_END_M) -> RoughWalk:
    """Walks a standing robot straight ahead until x = `end` [m] or the time is over. Returns the figures."""
    simulation = run.simulation
    found = RoughWalk()
    settings = simulation.world.settings
    sloped = settings.world == "slope"
    rise = math.cos(math.radians(settings.slope_deg)) if sloped else 1.0
    begin = START_HALF_SIDE_M + (0.35 if sloped else 0.1)  # on a slope: all feet
    distance = executed = 0.0
    last = None
    for _ in range(round(MAX_TIME_S / CONTROL_PERIOD_S)):
        run.planner.command(Twist(speed, 0.0, 0.0))
        plan = run.tick()
        here = planar_pose(simulation)
        if last is not None:
            distance += (last.inverse() @ here).x / rise
            executed += plan.twist.vx * CONTROL_PERIOD_S
            found.tilts.append(math.hypot(*tilt(simulation)))
            found.fell = found.fell or found.tilts[-1] > FALL_TILT_RAD
        if last is not None or here.x > begin:
            last = here
        if here.x > end or found.fell:
            break
    commanded = max(1, len(found.tilts)) * CONTROL_PERIOD_S * speed
    found.ratio, found.executed = distance / commanded, executed / commanded
    return found


HEAD = f"{'ground':26s} {'seed':>4s} {'ratio':>6s} {'executed':>8s} {'tilt deg':>8s} {'most':>6s}"


def line(ground: RoughGround, seed: int, found: RoughWalk) -> str:
    """Returns one row of the table."""
    most = math.degrees(max(found.tilts, default=0.0))
    figures = f"{found.ratio:6.3f} {found.executed:8.3f} {found.tilt:8.2f} {most:6.2f}"
    return f"{ground.name:26s} {seed:4d} {figures}{'  FELL' if found.fell else ''}"


def kept(ground: RoughGround, found: Sequence[RoughWalk]) -> bool:
    """Returns True if the walks of all seeds keep the limit."""
    return not ground.least_ratio or (not any(walk.fell for walk in found) and _mean(found) >= ground.least_ratio)


def _mean(found: Sequence[RoughWalk]) -> float:
    return sum(walk.ratio for walk in found) / len(found)


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table. Exit code 0 if every limit is kept, 1 if not, 2 for a bad robot file."""
    parser = argparse.ArgumentParser(prog="python bench/rough_ground.py", description=__doc__)
    parser.add_argument("--robot", default="phantomx", help="name or robot file (default: %(default)s)")
    parser.add_argument("--ground", default="", help="only the grounds whose name begins like this, e.g. 'blocks 3 cm'")
    seeds = "first and number of other seeds, e.g. 201 20 (default: those of the table)"
    parser.add_argument("--seeds", nargs=2, type=int, metavar=("FIRST", "COUNT"), help=seeds)
    chosen = parser.parse_args(arguments)
    try:
        robot_file = load(chosen.robot)
    except RobotFileError as error:
        print(error, file=sys.stderr)
        return 2
    text = urdf(robot_file)
    good = True
    lifts = f"{1e3 * LOW_LIFT_M:g} or {1e3 * HIGH_LIFT_M:g} mm high"
    print(f"{robot_file.robot.name}: {SPEED_M_S:g} m/s, steps {lifts} in {SWING_TIME_S:g} s\n{HEAD}")
    for ground in [each for each in GROUNDS if each.name.startswith(chosen.ground)]:
        robot = with_swing(robot_file.robot, ground.lift)
        found = []
        for seed in range(chosen.seeds[0], sum(chosen.seeds)) if chosen.seeds else ground.seeds:
            found.append(walk(standing_on(robot, text, ground, seed)))
            print(line(ground, seed, found[-1]), flush=True)
        good = good and kept(ground, found)
        if ground.least_ratio:
            verdict = "kept" if kept(ground, found) else "BROKEN"
            print(f"{ground.name:26s} mean {_mean(found):6.3f}  limit {ground.least_ratio:.2f} {verdict}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
