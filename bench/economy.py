# SPDX-License-Identifier: Apache-2.0
"""Measures in physics what `economy: true` in a robot file saves at equal speed.

`python bench/economy.py` walks ideal robots straight ahead at 40 % of their top speed, or at --speed, planner and
physics in lock step.

W        power of all servos without and with economy, by the model of `hexapod check` from torques and speeds of the
         physics; share: with over without; motors: the same without their electronics
ratio    achieved over commanded speed, without and with
slip     mean of the feet, as in walk_quality.py
margin   least static margin of the plan
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from walk_quality import Course, walk

from hexapod_control.config.robots.robot_file import RobotFile, changed, load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.workspace.capabilities import FORWARD, Capabilities
from hexapod_control.evaluation.lockstep import CONTROL_PERIOD_S, Lockstep
from hexapod_control.evaluation.robot_check.checks import IDLE_W, servo_power
from hexapod_control.evaluation.robot_check.joint_torques import of_servos
from hexapod_control.evaluation.robot_check.steady_walk import steady_walk
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.world_settings import WorldSettings

ROBOTS = (
    *("article", "big_hex", "chica", "freenove", "heavy"),
    *("inline", "octopod", "phantomx", "phoenix", "scratch"),
)
SPEED_SHARE = 0.4  # of the top speed without economy
HEAD = (
    f"{'robot':12s} {'m/s':>6s} {'W':>6s} {'W':>6s} {'share':>6s} {'motors':>6s} {'ratio':>12s} {'slip':>14s} "
    f"{'margin mm':>10s}"
)


class EconomyWalk(NamedTuple):
    """Figures of one walk."""

    power: float  # [W]
    ratio: float
    slip: float  # [m/m]
    margin: float  # [m]


class PoweredLockstep(Lockstep):
    """Keeps the mean power of the servos in each tick."""

    def __init__(self, simulation: Simulation, planner: Planner) -> None:
        super().__init__(simulation, planner)
        robot = simulation.robot
        self._damping = of_servos(robot, "stall_torque") / of_servos(robot, "no_load_speed")
        self.powers: list[float] = []  # [W]

    def follow(self, targets: Array, observe: Callable[[Simulation], None] | None) -> None:
        """Simulates one control period."""
        found: list[float] = []

        def sample(now: Simulation) -> None:
            speed = now.data.qvel[now.world.velocity]
            motor = now.data.actuator_force[now.world.actuator] - self._damping * speed
            found.append(float(servo_power(now.robot, motor, speed).sum()))
            if observe is not None:
                observe(now)

        super().follow(targets, sample)
        self.powers.append(float(np.mean(found)))


def measured(robot_file: RobotFile, course: Course) -> EconomyWalk:
    """Walks one robot on flat ground. Raises WalkError."""
    simulation = Simulation(robot_file.robot, urdf(robot_file), WorldSettings())
    runs: list[PoweredLockstep] = []

    def drive(simulation: Simulation, planner: Planner) -> Lockstep:
        runs.append(PoweredLockstep(simulation, planner))
        return runs[-1]

    found = walk(simulation, course, drive)
    power = float(np.mean(runs[-1].powers[-round(found.time / CONTROL_PERIOD_S) :]))
    margin = steady_walk(robot_file.robot, course.gait, course.twist).margin
    return EconomyWalk(power, found.ratio, found.slip, margin)


def both(robot_file: RobotFile, share: float = SPEED_SHARE, cycles: int = 4) -> tuple[float, EconomyWalk, EconomyWalk]:
    """The speed [m/s], and the walks without and with economy."""
    usual, economical = (changed(robot_file, {"economy": economy}) for economy in (False, True))
    capabilities = Capabilities.of(usual.robot)
    gait = capabilities.selection().fastest.name
    speed = share * capabilities.fastest(FORWARD, [gait]).vx
    twist = Twist(speed, 0.0, 0.0)
    without, saving = (measured(each, Course(each.robot.walk.gait, twist, cycles)) for each in (usual, economical))
    return speed, without, saving


def line(name: str, idle: float, speed: float, usual: EconomyWalk, economical: EconomyWalk) -> str:
    """One line of the table; `idle` [W] is the power of the electronics."""
    ratio = f"{usual.ratio:.3f} {economical.ratio:.3f}"
    slip = f"{usual.slip:.4f} {economical.slip:.4f}"
    margin = f"{1e3 * usual.margin:.0f} {1e3 * economical.margin:.0f}"
    share = economical.power / usual.power
    motors = (economical.power - idle) / (usual.power - idle)
    watts = f"{usual.power:6.2f} {economical.power:6.2f}"
    return f"{name:12s} {speed:6.3f} {watts} {share:6.2f} {motors:6.2f} {ratio:>12s} {slip:>14s} {margin:>10s}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(prog="bench/economy.py", description=__doc__)
    parser.add_argument("--robots", nargs="+", default=ROBOTS, metavar="NAME|FILE")
    parser.add_argument("--speed", type=float, default=SPEED_SHARE, help="share of the top speed without economy")
    args = parser.parse_args(arguments)
    print(HEAD)
    for name in args.robots:
        robot_file = load(name)
        idle = 3 * len(robot_file.robot.legs) * IDLE_W
        print(line(name, idle, *both(robot_file, args.speed)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
