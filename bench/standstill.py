# SPDX-License-Identifier: Apache-2.0
"""Measures whether a robot that gets no farther says so, and after how long, at many kinds of obstacle.

`python bench/standstill.py` runs planner and physics in lock step, with contacts and IMU; with `--map`, footholds come
from a map, as in bench/terrain.py. The robot stands still from the time on from which, by its true pose, it makes less
than a third of the commanded way in every WINDOW_S. Sizes are shares of femur and tibia.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import mujoco
import numpy as np
from sensing_lockstep import SensingLockstep, tilt
from terrain import FALL_TILT_RAD, CameraMap, TrueMap

from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.robot import Robot
from hexapod_control.core.sensing.cameras import USUAL_CAMERAS
from hexapod_control.core.sensing.mishap_watch import MishapKind
from hexapod_control.core.sensing.sensor_inputs import Adaptation, MishapDetection
from hexapod_control.evaluation.lockstep import CONTROL_PERIOD_S, WalkError, planar_pose
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.start_poses import sitting_pose
from hexapod_control.sim.terrain import GROUND_GROUP, OVERHEAD_GROUP, TERRAINS
from hexapod_control.sim.world_settings import WorldSettings

WINDOW_S = 2.0
MIN_SHARE = 1.0 / 3.0
LONGEST_S = 40.0
ENDS = (MishapKind.HINDERED, MishapKind.NO_FOOTHOLD, MishapKind.STUCK, MishapKind.FALLEN, MishapKind.CARRIED)
SPEED = 0.06  # [m/s]
TURN = 0.25  # [rad/s]
AHEAD = Twist(SPEED, 0.0, 0.0)
PULL_N_M = 3000.0  # stiffness of a wire


@dataclass(frozen=True)
class Sizes:
    """Sizes of a robot [m] that obstacles depend on."""

    reach: float  # femur and tibia
    front: float  # to the front feet, along x
    side: float  # to the middle feet, along y
    height: float  # of the body's top above the ground
    belly: float  # of the body's bottom

    @classmethod
    def of(cls, robot: Robot) -> Sizes:
        """The sizes of a robot that stands."""
        body = robot.body
        return cls(
            reach=max(leg.reach for leg in robot.legs),
            front=max(x for x, _ in robot.footholds),
            side=max(y for _, y in robot.footholds),
            height=robot.walk.height + body.top,
            belly=robot.walk.height + body.center[2] - 0.5 * body.size[2],
        )


Ground = Callable[[mujoco.MjSpec, Sizes], None]


@dataclass(frozen=True)
class Situation:
    """An obstacle, and the course on which the robot meets it."""

    ground: Ground
    course: Twist = AHEAD
    friction: float = 0.8
    wire: str = ""  # link that is held by a wire from WIRED_S on
    soft: bool = False


WIRED_S = 3.0


def _add(
    spec: mujoco.MjSpec,
    center: tuple[float, float],
    half: tuple[float, ...],
    bottom: float,
    top: float,
    *,
    yaw: float = 0.0,
    overhead: bool = False,
) -> None:
    """Adds a box, or with one half side a cylinder, between two heights [m]."""
    round_ = len(half) == 1
    middle = 0.5 * (top - bottom)
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_CYLINDER if round_ else mujoco.mjtGeom.mjGEOM_BOX,
        size=[half[0], middle, 0.0] if round_ else [*half, middle],
        pos=[*center, bottom + middle],
        quat=[math.cos(yaw / 2.0), 0.0, 0.0, math.sin(yaw / 2.0)],
        group=OVERHEAD_GROUP if overhead else GROUND_GROUP,
    )


def _floor(spec: mujoco.MjSpec, height: float = 0.0) -> None:
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0.0, 0.0, 0.05], pos=[0.0, 0.0, height], group=GROUND_GROUP
    )


def _block(
    spec: mujoco.MjSpec,
    sizes: Sizes,
    *,
    rise: float,
    heading_deg: float = 0.0,
    skew_deg: float = 0.0,
    room: float = 0.5,
) -> None:
    """A block of `rise` reaches in a direction from the robot, turned by a skew."""
    _floor(spec)
    heading = math.radians(heading_deg)
    start = (sizes.front if abs(math.cos(heading)) > 0.5 else sizes.side) + room * sizes.reach
    yaw = heading + math.radians(skew_deg)
    start += sizes.side * math.tan(math.radians(skew_deg))
    center = (start * math.cos(heading) + 1.0 * math.cos(yaw), start * math.sin(heading) + 1.0 * math.sin(yaw))
    _add(spec, center, (1.0, 2.5), 0.0, rise * sizes.reach, yaw=yaw)


def _half_step(spec: mujoco.MjSpec, sizes: Sizes) -> None:
    """A step before the left legs only."""
    _floor(spec)
    _add(spec, (sizes.front + 0.5 * sizes.reach + 1.0, 1.0), (1.0, 1.0), 0.0, 0.4 * sizes.reach)


def _post(spec: mujoco.MjSpec, sizes: Sizes, *, across: float) -> None:
    """A post before the middle of the body (0) or before a front foot (1)."""
    _floor(spec)
    _add(spec, (sizes.front + 0.4 * sizes.reach, across * sizes.side), (0.03,), 0.0, 0.5)


def _corridor(spec: mujoco.MjSpec, sizes: Sizes, *, narrowing: float) -> None:
    """Two walls beside the robot, which come nearer ahead of it, or in which it cannot turn."""
    _floor(spec)
    for side in (-1.0, 1.0):
        center = (0.0, side * (sizes.side + 0.2 * sizes.reach + 0.05))
        if narrowing:
            center = (sizes.front + 0.6, side * (sizes.side + 0.3 * sizes.reach + 0.05 - 0.6 * math.tan(narrowing)))
        _add(spec, center, (1.2, 0.05), 0.0, 0.5, yaw=-side * narrowing)


def _fence(spec: mujoco.MjSpec, sizes: Sizes) -> None:
    """Walls on all four sides: there is no room to walk."""
    _floor(spec)
    x = sizes.front + 0.35 * sizes.reach
    y = sizes.side + 0.35 * sizes.reach
    for side in (-1.0, 1.0):
        _add(spec, (side * (x + 0.05), 0.0), (0.05, y + 0.1), 0.0, 0.5)
        _add(spec, (0.0, side * (y + 0.05)), (x + 0.1, 0.05), 0.0, 0.5)


def _ceiling(spec: mujoco.MjSpec, sizes: Sizes, *, clearance: float) -> None:
    """A ceiling ahead, by a clearance [m] above the back of the robot."""
    _floor(spec)
    low = sizes.height + clearance
    _add(spec, (sizes.front + 1.1, 0.0), (1.0, 1.5), low, low + 0.1, overhead=True)


def _ramp(spec: mujoco.MjSpec, sizes: Sizes, *, degrees: float) -> None:
    """A ramp ahead."""
    _floor(spec)
    angle = math.radians(degrees)
    start = sizes.front + 0.05
    middle = np.array((start, 0.0, 0.0)) + 1.5 * np.array((math.cos(angle), 0.0, math.sin(angle)))
    middle += 0.1 * np.array((math.sin(angle), 0.0, -math.cos(angle)))
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=[1.5, 2.0, 0.1],
        pos=middle.tolist(),
        quat=[math.cos(angle / 2.0), 0.0, -math.sin(angle / 2.0), 0.0],
        group=GROUND_GROUP,
    )


def _ground_with_hole(
    spec: mujoco.MjSpec, along: tuple[float, float], across: tuple[float, float], depth: float
) -> None:
    """Ground with a rectangular hole between distances [m] along x and across."""
    _floor(spec, -depth)
    a, b = along
    c, d = across
    far = 3.0
    for x0, x1, y0, y1 in ((-far, a, -far, far), (b, far, -far, far), (a, b, -far, c), (a, b, d, far)):
        _add(spec, ((x0 + x1) / 2.0, (y0 + y1) / 2.0), ((x1 - x0) / 2.0, (y1 - y0) / 2.0), -depth, 0.0)


def _ditch(spec: mujoco.MjSpec, sizes: Sizes, *, width: float, depth: float) -> None:
    """A ditch ahead, across the whole way."""
    start = sizes.front + 0.4 * sizes.reach
    _ground_with_hole(spec, (start, start + width * sizes.reach), (-2.9, 2.9), depth * sizes.reach)


def _hole(spec: mujoco.MjSpec, sizes: Sizes) -> None:
    """A hole before the left front foot."""
    start = sizes.front + 0.1 * sizes.reach
    half = 0.25 * sizes.reach
    middle = max(y for x, y in ((sizes.front, sizes.side),)) * 0.8
    _ground_with_hole(spec, (start, start + 2.0 * half), (middle - half, middle + half), 0.5 * sizes.reach)


def _ledge(spec: mujoco.MjSpec, sizes: Sizes, *, heading_deg: float) -> None:
    """The ground ends in a direction."""
    _floor(spec, -1.25 * sizes.reach)
    heading = math.radians(heading_deg)
    start = (sizes.front if abs(math.cos(heading)) > 0.5 else sizes.side) + 0.5 * sizes.reach
    away = start - 2.0
    center = (away * math.cos(heading), away * math.sin(heading))
    _add(spec, center, (2.0, 2.0), -1.25 * sizes.reach, 0.0, yaw=heading)


def _plank(spec: mujoco.MjSpec, sizes: Sizes) -> None:
    """A plank on which the robot cannot turn."""
    _floor(spec, -1.25 * sizes.reach)
    _add(spec, (0.0, 0.0), (sizes.front + 0.3 * sizes.reach, sizes.side + 0.12 * sizes.reach), -1.25 * sizes.reach, 0.0)


def _ridge(spec: mujoco.MjSpec, sizes: Sizes) -> None:
    """A block between the legs, higher than the belly."""
    _floor(spec)
    _add(spec, (sizes.front + 0.6, 0.0), (0.5, 0.25 * sizes.side), 0.0, sizes.belly + 0.02)


def _flat(spec: mujoco.MjSpec, sizes: Sizes) -> None:
    """Flat ground."""
    _floor(spec)


BACK = Twist(-SPEED, 0.0, 0.0)
LEFT = Twist(0.0, SPEED, 0.0)
TURN_LEFT = Twist(0.0, 0.0, TURN)
SITUATIONS: dict[str, Situation] = {
    "riser 0.3": Situation(partial(_block, rise=0.3)),
    "riser 0.4": Situation(partial(_block, rise=0.4)),
    "riser 0.5, oblique": Situation(partial(_block, rise=0.5, skew_deg=25.0)),
    "riser behind": Situation(partial(_block, rise=0.4, heading_deg=180.0), BACK),
    "riser at the side": Situation(partial(_block, rise=0.4, heading_deg=90.0), LEFT),
    "riser before the left legs": Situation(_half_step),
    "wall": Situation(partial(_block, rise=2.5)),
    "wall, oblique": Situation(partial(_block, rise=2.5, skew_deg=35.0)),
    "wall at the side": Situation(partial(_block, rise=2.5, heading_deg=90.0), LEFT),
    "post before the body": Situation(partial(_post, across=0.0)),
    "post before a foot": Situation(partial(_post, across=0.75)),
    "walls that come nearer": Situation(partial(_corridor, narrowing=math.radians(15.0))),
    "walls beside a turn": Situation(partial(_corridor, narrowing=0.0), TURN_LEFT),
    "walls all round": Situation(_fence),
    "ceiling lower than the back": Situation(partial(_ceiling, clearance=-0.03)),
    "ramp of 45 deg": Situation(partial(_ramp, degrees=45.0)),
    "wet ramp of 15 deg": Situation(partial(_ramp, degrees=15.0), friction=0.2),
    "ice": Situation(partial(_ramp, degrees=3.0), friction=0.03),
    "ditch": Situation(partial(_ditch, width=0.9, depth=0.5)),
    "hole for a foot": Situation(_hole),
    "block under the belly": Situation(_ridge),
    "leg in a wire": Situation(_flat, wire="left_front_foot"),
    "rope on the body": Situation(_flat, wire="base_link"),
    "mud": Situation(_flat, soft=True),
    "ledge": Situation(partial(_ledge, heading_deg=0.0)),
    "ledge behind": Situation(partial(_ledge, heading_deg=180.0), BACK),
    "ledge at the side": Situation(partial(_ledge, heading_deg=90.0), LEFT),
    "ledges beside a turn": Situation(_plank, TURN_LEFT),
}


class Wire:
    """A wire that holds a link where it was at first, with its tension; called after every step of the physics."""

    def __init__(self, simulation: Simulation, link: str) -> None:
        self._body = simulation.model.body(link).id
        self._at: np.ndarray[tuple[int, ...], np.dtype[np.float64]] | None = None

    def __call__(self, simulation: Simulation) -> None:
        """Pulls."""
        place = simulation.data.xpos[self._body]
        if self._at is None:
            self._at = place.copy()
        simulation.data.xfrc_applied[self._body, :3] = PULL_N_M * (self._at - place)


@dataclass
class Outcome:
    """What happened in a situation."""

    end: str  # named, silent, passed, fell
    begin: float = math.nan  # [s] from the command to the beginning of the standstill
    named: float = math.nan  # [s] from the command to the words
    words: str = ""

    @property
    def good(self) -> bool:
        """Whether a standstill was named within 5 s, or there was none."""
        return self.end == "passed" or (self.end == "named" and not self.named - self.begin > 5.0)


def _standstill(way: Sequence[float], speed: float) -> float:
    """Time [s] from which the robot makes too little way, given its way [m] after each tick; NaN: it makes enough."""
    ticks = round(WINDOW_S / CONTROL_PERIOD_S)
    made = np.array(way)
    if len(made) <= ticks:
        return math.nan
    enough = np.flatnonzero(made[ticks:] - made[:-ticks] >= MIN_SHARE * speed * WINDOW_S)
    first = int(enough[-1]) + 1 if len(enough) else 0
    return math.nan if first >= len(made) - ticks else first * CONTROL_PERIOD_S


def drive(situation: Situation, robot_name: str, options: argparse.Namespace, seed: int) -> Outcome:
    """Drives into a situation."""
    file = load(robot_name)
    robot = file.robot
    sizes = Sizes.of(robot)
    TERRAINS["flat"] = lambda spec, _: situation.ground(spec, sizes)
    world = WorldSettings(seed=seed, reality=options.reality, reality_seed=seed, friction=situation.friction)
    simulation = Simulation(file.robot, urdf(file), world.fitted(robot))
    simulation.reset(sitting_pose(robot))
    if situation.soft:
        simulation.model.geom_solref[:] = (-600.0, -60.0)
    planner = Planner(robot)
    planner.sensors.mishap_detection = MishapDetection(falls=True, legs=True)
    run = SensingLockstep(simulation, planner, Adaptation(touch_down=not options.no_contacts), seed)
    if options.no_contacts:
        run.sensors = ("imu", "joints")
    try:
        run.stand()
    except WalkError as error:
        return Outcome("named", 0.0, 0.0, str(error))
    source: TrueMap | CameraMap | None = TrueMap(simulation) if options.map == "true" else None
    if options.map in USUAL_CAMERAS:
        source = CameraMap(run, options.map, seed)
    for _ in range(round(1.0 / CONTROL_PERIOD_S)):  # the map begins
        _see(planner, source)
        run.tick()
    wire = Wire(simulation, situation.wire) if situation.wire else None
    return _course(run, situation.course, source, wire)


def _see(planner: Planner, source: TrueMap | CameraMap | None) -> None:
    seen = source.see() if source is not None else None
    if seen is not None:
        planner.see(*seen)


def _course(run: SensingLockstep, course: Twist, source: TrueMap | CameraMap | None, wire: Wire | None) -> Outcome:
    """Follows a course until the robot says why it cannot, or has made enough way."""
    simulation, planner = run.simulation, run.planner
    radius = planner.robot.foothold_radius
    speed = course.foot_speed(radius)
    way = [0.0]
    start = simulation.time
    while simulation.time - start < LONGEST_S:
        before = planar_pose(simulation)
        planner.command(course)
        _see(planner, source)
        run.tick(wire if simulation.time - start > WIRED_S else None)
        after = before.inverse() @ planar_pose(simulation)
        way.append(way[-1] + Twist(after.x, after.y, after.yaw).along(course, radius))
        mishap = planner.view.mishap
        if mishap is not None and mishap.kind in ENDS:
            return Outcome("named", _standstill(way, speed), simulation.time - start, mishap.text)
        if math.hypot(*tilt(simulation)) > FALL_TILT_RAD:
            return Outcome("fell", words="" if mishap is None else mishap.text)
        if way[-1] > 1.5:
            return Outcome("passed")
    begin = _standstill(way, speed)
    slow = "" if mishap is None else mishap.text
    return Outcome("silent", begin, words=slow or f"{way[-1]:.2f} m in {LONGEST_S:.0f} s")


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints one row for each situation, and the sum."""
    parser = argparse.ArgumentParser(prog="python bench/standstill.py", description=__doc__)
    parser.add_argument("--robot", default="phantomx")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--map", default="none", choices=("true", "none", *USUAL_CAMERAS))
    parser.add_argument("--reality", default="typical", choices=("ideal", "typical"))
    parser.add_argument("--only", default="", help="part of the names of the situations")
    parser.add_argument("--no-contacts", action="store_true", help="without contact sensors and adaptive touch-down")
    options = parser.parse_args(arguments)
    ground = TERRAINS["flat"]
    outcomes = []
    try:
        for name, situation in SITUATIONS.items():
            if options.only not in name:
                continue
            outcome = drive(situation, options.robot, options, options.seed)
            outcomes.append(outcome)
            print(
                f"{name:28s} {outcome.end:7s} {'good' if outcome.good else 'BAD ':4s} still at {outcome.begin:5.1f} s, "
                f"named after {outcome.named - outcome.begin:5.1f} s ({outcome.named:.1f}): {outcome.words}",
                flush=True,
            )
    finally:
        TERRAINS["flat"] = ground
    print(f"{sum(outcome.good for outcome in outcomes)} of {len(outcomes)} named within 5 s, or passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
