# SPDX-License-Identifier: Apache-2.0
"""Measures every shipped motion in physics and compares its figures with limits.

`python bench/shipped_motions.py` runs motion player and physics in lock step, from lying
to standing or lying, so that every run prints the same figures. The rows `stand_up` and `sit_down` are the postures
before and after a motion that starts and ends standing.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from walk_quality import QualityRecorder

from hexapod_control.config.errors import FileError
from hexapod_control.config.motion_file import known_motions, load_motion
from hexapod_control.config.robots.robot_file import RobotFile, load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.se2 import ZERO
from hexapod_control.core.motions.motion_player import MotionPlayer, RehearsedMotion
from hexapod_control.core.motions.motion_rehearsal import MotionRehearsal
from hexapod_control.core.motions.motion_steps import Choreography, MotionError, SitStep, StandStep
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState, TickPlan
from hexapod_control.core.refusal import Refusal
from hexapod_control.core.robot import Robot
from hexapod_control.core.sensing.mishap_watch import MAX_STANDING_TILT_RAD
from hexapod_control.evaluation.lockstep import CONTROL_PERIOD_S, Lockstep
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.start_poses import sitting_pose
from hexapod_control.sim.world_settings import WorldSettings

ROBOTS = ("article", "phantomx")  # for which the motions are made
BELLY = frozenset({"world", "base_link"})
LYING = (RobotState.SITTING, RobotState.RISING, RobotState.SINKING)
REST_TIME_S = 0.5  # observed after the end
MAX_TIME_RATIO = 1.5  # of the rehearsed duration
POSTURES = (
    Choreography("stand_up", "Stands up from the belly.", (StandStep(),), "sitting"),
    Choreography("sit_down", "Sits down on the belly.", (SitStep(),)),
)


class MotionRun(Lockstep):
    """A motion player that drives a simulated robot tick by tick."""

    def __init__(self, simulation: Simulation) -> None:
        self.player = MotionPlayer(Planner(simulation.robot))
        super().__init__(simulation, self.player.planner)

    def plan(self) -> TickPlan:
        """The plan of this tick."""
        return self.player.step(CONTROL_PERIOD_S)


@dataclass(frozen=True, slots=True)
class MotionLimits:
    """Limits of a motion."""

    tilt: float = 3.0  # [deg] difference from the commanded attitude
    saturation: float = 0.10  # share of the time that a servo is at its stall torque
    effort: float = math.inf  # share of the stall torque that no servo exceeds for more than 1 % of the time
    slip: float = 0.02  # [m/m]
    slid: float = 0.004  # [m] that a foot may always slide, however short its path is


@dataclass(frozen=True, slots=True)
class MotionFigures:
    """Figures of one motion, for the worst servo and the worst foot."""

    rehearsed: float  # [s]
    time: float  # [s]
    refusal: Refusal | None  # why it ended early
    tilt: float  # [deg] maximum
    tilt_error: float  # [deg] maximum difference from the commanded attitude
    saturation: float  # share of the time at stall torque
    effort: float  # share of the stall torque that is exceeded for 1 % of the time
    slip: float  # [m/m] slid under load, over the mean path of the feet relative to the body
    slid: float  # [m]
    contacts: tuple[tuple[str, str], ...]  # other than feet on the ground, and the belly while the robot lies
    unreachable: int  # ticks with a target out of reach

    def broken(self, limits: MotionLimits) -> tuple[str, ...]:
        """Returns the names of the figures that are beyond their limits."""
        verdicts = {
            "end": not self.refusal and self.time <= MAX_TIME_RATIO * self.rehearsed,
            "fall": self.tilt < math.degrees(MAX_STANDING_TILT_RAD),
            "tilt": self.tilt_error <= limits.tilt,
            "saturation": self.saturation <= limits.saturation,
            "effort": self.effort <= limits.effort,
            "slip": self.slid <= limits.slid or self.slip <= limits.slip,
            "contact": not self.contacts,
            "reach": not self.unreachable,
        }
        return tuple(name for name, kept in verdicts.items() if not kept)


MOTION = MotionLimits()
POSTURE = MotionLimits(effort=0.8)


def limits(motion: Choreography) -> MotionLimits:
    """Returns the limits of a motion."""
    return POSTURE if motion in POSTURES else MOTION


class _MotionObserver:
    """Collects figures after every physics step."""

    def __init__(self, run: MotionRun) -> None:
        self.recorder = QualityRecorder(run.simulation)
        self.contacts: dict[tuple[str, str], None] = {}
        self.tilt = 0.0
        self.tilt_error = 0.0
        self.efforts: list[Array] = []
        self._run = run
        self._plan: TickPlan | None = None

    def tick(self) -> None:
        """Runs one control period."""
        self._plan = self._run.tick(self._observe)

    def _observe(self, simulation: Simulation) -> None:
        self.recorder.sample(simulation)
        self.efforts.append(np.abs(simulation.efforts).ravel())
        up = simulation.data.xmat[simulation.world.base].reshape(3, 3)[2]
        self.tilt = max(self.tilt, _angle(up, (0.0, 0.0, 1.0)))
        planner = self._run.planner
        if self._plan is not None and planner.view.walk is not None:
            self.tilt_error = max(self.tilt_error, _angle(up, self._plan.pose.rotation()[2]))
        for pair in dict.fromkeys(simulation.unwanted_contacts()):
            if set(pair) != BELLY or not (planner.state in LYING or planner.view.whole_body_move_active):
                self.contacts[pair] = None

    def figures(self, rehearsed: float, time: float) -> MotionFigures:
        """Returns the figures so far."""
        self.recorder.mark(self._run.simulation)
        quality = self.recorder.finish(ZERO)
        efforts = np.array(self.efforts)
        return MotionFigures(
            rehearsed=rehearsed,
            time=time,
            refusal=self._run.player.refusal,
            tilt=self.tilt,
            tilt_error=self.tilt_error,
            saturation=float((efforts >= 0.999).mean(axis=0).max()),
            effort=float(np.quantile(efforts, 0.99, axis=0).max()),
            slip=quality.worst_slip,
            slid=float(self.recorder.slid.max()),
            contacts=tuple(self.contacts),
            unreachable=self._run.unreachable,
        )


def _angle(up: Sequence[float] | Array, wanted: Sequence[float]) -> float:
    """Angle between two unit vectors [deg]."""
    return math.degrees(math.acos(max(-1.0, min(1.0, up[0] * wanted[0] + up[1] * wanted[1] + up[2] * wanted[2]))))


def perform(
    robot: Robot,
    urdf_text: str,
    motion: Choreography,
    watch: Callable[[MotionRun], None] | None = None,
    settings: WorldSettings | None = None,
) -> MotionFigures:
    """Plays one pass of a motion on flat ground; `watch` is called before every tick.

    Raises MotionError for a motion that fails its rehearsal.
    """
    rehearsed_motion = MotionRehearsal(robot, motion).finish()
    simulation = Simulation(robot, urdf_text, settings or WorldSettings())
    simulation.reset(sitting_pose(robot))
    run = MotionRun(simulation)
    if motion.start == "standing":
        run.stand()
    else:
        run.planner.set_measured_joints(simulation.joints)
    observer = _MotionObserver(run)
    run.player.execute(RehearsedMotion(motion, rehearsed_motion.duration))
    begin = simulation.time
    while run.player.name and simulation.time - begin <= MAX_TIME_RATIO * rehearsed_motion.duration:
        if watch:
            watch(run)
        observer.tick()
    time = simulation.time - begin
    for _ in range(round(REST_TIME_S / CONTROL_PERIOD_S)):
        if watch:
            watch(run)
        observer.tick()
    return observer.figures(rehearsed_motion.duration, time)


def motions(robot: Robot) -> tuple[Choreography, ...]:
    """Returns the motions to measure: standing up, sitting down, and one pass of each shipped motion."""
    shipped = (load_motion(name, robot) for name in known_motions())
    return (*POSTURES, *(replace(motion, loops=1) for motion in shipped))


HEAD = (
    f"{'motion':20s} {'time':>6s} {'tilt':>5s} {'error':>5s} {'satur':>5s} {'effort':>6s} {'slid':>5s} {'slip':>6s}"
    f" {'other':>5s}  limits\n{'':20s} {'s':>6s} {'deg':>5s} {'deg':>5s} {'%':>5s} {'%':>6s} {'mm':>5s} {'m/m':>6s}"
    f" {'touch':>5s}"
)


def line(motion: Choreography, found: MotionFigures) -> str:
    """Returns one row of the table."""
    broken = found.broken(limits(motion))
    verdict = "kept" if not broken else f"BROKEN: {', '.join(broken)} {found.refusal or ''}"
    touching = "".join(f"  {a}-{b}" for a, b in found.contacts)
    return (
        f"{motion.name:20s} {found.time:6.2f} {found.tilt:5.2f} {found.tilt_error:5.2f} {100.0 * found.saturation:5.2f}"
        f" {100.0 * found.effort:6.1f} {1e3 * found.slid:5.1f} {found.slip:6.4f} {len(found.contacts):5d}"
        f"  {verdict}{touching}"
    )


def _legend() -> str:
    return (
        f"limits: tilt within {MOTION.tilt:g} deg of the commanded one; stall torque at most"
        f" {100.0 * MOTION.saturation:g} % of the time; standing up and sitting down, {100.0 * POSTURE.effort:g} %"
        f" of it passed for at most 1 % of the time by any servo; no foot slides more than {1e3 * MOTION.slid:g} mm or"
        f" {MOTION.slip:g} m/m; no contact but feet on the ground, and the belly while the robot lies; no target out"
        " of reach"
    )


def table(robot_file: RobotFile) -> bool:
    """Prints the figures of one robot. Returns True if every limit is kept. Raises MotionError, MotionFileError."""
    robot = robot_file.robot
    text = urdf(robot_file)
    print(f"{robot.name}: motions in lock step with the physics, flat, friction 0.8, 50 Hz\n{HEAD}")
    kept = True
    for motion in motions(robot):
        found = perform(robot, text, motion)
        kept = kept and not found.broken(limits(motion))
        print(line(motion, found), flush=True)
    return kept


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the tables. Exit code 0 if every limit is kept, 1 if not, 2 for a bad file."""
    parser = argparse.ArgumentParser(prog="python bench/shipped_motions.py", description=__doc__)
    parser.add_argument("--robot", help=f"name or robot file (default: {', '.join(ROBOTS)})")
    chosen = parser.parse_args(arguments).robot
    try:
        kept = [table(load(name)) for name in ((chosen,) if chosen else ROBOTS)]
    except (FileError, MotionError) as error:
        print(error, file=sys.stderr)
        return 2
    print(_legend())
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
