# SPDX-License-Identifier: Apache-2.0
"""Measures walks over ground that is seen, and towards the edge of a table, with footholds from a map and without.

`python bench/terrain.py` runs planner and physics in lock step. The map is the true one, or that of a simulated depth
camera with its noise and delay, in the frame of the package's own odometry (mode legs_imu_3d). It can be shifted along
the way, and left out. On a slope the robot keeps its heading and walks in another direction in each run, up or down; or
with a `yaw` straight ahead, so that its feet come to the edge of the ramp one after the other.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
from sensing_lockstep import SensingLockstep, tilt

from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.frame_tree import FramePose
from hexapod_control.core.kinematics.leg_kinematics import forward
from hexapod_control.core.kinematics.se2 import ZERO, Pose, Twist, wrap
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.core.robot import Robot
from hexapod_control.core.sensing.cameras import USUAL_CAMERAS
from hexapod_control.core.sensing.foot_force_estimator import MIN_LOAD_SHARE
from hexapod_control.core.sensing.odometry import Odometry
from hexapod_control.core.sensing.sensor_inputs import Adaptation, MishapDetection
from hexapod_control.core.statics.static_stability import GRAVITY
from hexapod_control.core.terrain.depth_image import cloud_points, depth_points
from hexapod_control.core.terrain.height_map import HeightMap, TerrainGrid
from hexapod_control.core.terrain.own_legs import on_robot
from hexapod_control.evaluation.lockstep import CONTROL_PERIOD_S, planar_pose
from hexapod_control.sim.depth_sensors import DepthCamera, DepthFrame, DepthSensor, Lidar3D, true_terrain
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.start_poses import sitting_pose
from hexapod_control.sim.terrain import (
    FIELD_HALF_SIDE_M,
    GAP_SPACING_M,
    GAPS,
    LANDING_M,
    START_HALF_SIDE_M,
    STONE_ROWS,
    WAY_START_M,
)
from hexapod_control.sim.world_settings import LidarSettings, WorldSettings

FALL_TILT_RAD = math.radians(50.0)
SIDE_M = 2.4  # of the true map around the robot
RENEWED_S = 0.5  # period of the true map
STILL_S = 2.0  # after which a robot that was told to walk counts as stopped
AGAIN_S = 30.0  # for which a robot that has stopped at an edge is told to walk on ...
OVER_EDGE_M = -0.05  # height of a foot that is beyond the edge
REST_S = 12.0  # in which a robot has sat down, or stood up
ZERO_S = 2.0  # ... with a zero command in every so many seconds
TURN = 0.3  # [rad/s] on the spot
POSES = (0.03, 0.03, 0.02, 0.15, 0.15, 0.2)  # [m, rad] largest body poses, each for ZERO_S


class TrueMap:
    """The ground of the simulation around the robot, and the robot's true pose."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._grid: TerrainGrid | None = None

    def see(self) -> tuple[TerrainGrid, FramePose]:
        """Map and pose now."""
        simulation = self._simulation
        if self._grid is None or simulation.time - self._grid.time >= RENEWED_S:
            at = planar_pose(simulation)
            self._grid = true_terrain(simulation, (at.x, at.y), SIDE_M)
        rotation = simulation.data.xmat[simulation.world.base].reshape(3, 3)
        return self._grid, FramePose(rotation.copy(), simulation.data.qpos[:3].copy())


class CameraMap:
    """The map of a simulated depth camera or 3D lidar, and the pose by the odometry of the package."""

    def __init__(self, run: SensingLockstep, place: str, seed: int) -> None:
        self._run = run
        self._robot = run.simulation.robot
        self._camera = USUAL_CAMERAS[place](self._robot) if place in USUAL_CAMERAS else None
        self._sensor: DepthSensor = (
            DepthCamera(self._camera, seed=seed) if self._camera else Lidar3D(self._robot, LidarSettings(), seed=seed)
        )
        self._odometry = Odometry(self._robot)
        self._heading: float | None = None
        self._map = HeightMap()
        self._grid: TerrainGrid | None = None

    def see(self) -> tuple[TerrainGrid, FramePose] | None:
        """Map and pose now; None until there is a map."""
        simulation = self._run.simulation
        imu = self._run.planner.sensors.imu
        reading = simulation.reading()
        least = MIN_LOAD_SHARE * self._robot.mass * GRAVITY
        loads = [force if force > least else 0.0 for force in reading.foot_forces.tolist()]
        turn = None if self._heading is None or imu.heading is None else wrap(imu.heading - self._heading)
        self._heading = imu.heading
        self._odometry.update(reading.joints, loads, CONTROL_PERIOD_S, turn, imu.tilt)
        base = self._base()
        frame = self._sensor.step(simulation, label=(base, reading.joints))
        if frame is not None:
            self._insert(frame)
            rotation, position = base
            standing = forward(self._robot, reading.joints)[np.array(loads) > 0.0]
            feet = standing @ rotation.T + position - (0.0, 0.0, self._robot.foot_radius)
            self._map.feel(feet, simulation.time)
            self._grid = self._map.grid()
        return None if self._grid is None else (self._grid, base)

    def _base(self) -> FramePose:
        x, y, yaw = self._odometry.pose
        foot = BodyPose(x=x, y=y, z=self._odometry.height, yaw=yaw)
        rotation = np.array(foot.rotation())
        attitude = self._odometry.attitude
        body = FramePose(np.array(attitude.rotation()), np.array(attitude[:3]))
        return FramePose(rotation, np.array(foot[:3])) @ body

    def _insert(self, frame: DepthFrame) -> None:
        (rotation, position), joints = cast("tuple[FramePose, Array]", frame.label)
        lens = frame.mounting.position
        if self._camera:
            points = depth_points(frame.depth, self._camera.focal, self._camera.center)
        else:
            points = cloud_points(frame.grid)
        points = frame.mounting.apply(points)
        points = points[~on_robot(self._robot, joints, points, lens)]
        self._map.move(float(position[0]), float(position[1]))
        self._map.insert(points @ rotation.T + position, rotation @ lens + position, frame.time)


@dataclass
class Walk:
    """What happened in a walk."""

    end: str = "time"
    seconds: float = 0.0
    on_ground: float = 0.0  # [s] between the beginning and the end of the ground that is measured, without landings
    way: float = 0.0  # [m] made meanwhile, along the ground
    tilt: float = 0.0  # [deg] greatest
    contacts: Counter[str] = field(default_factory=Counter)  # of parts that should touch nothing, in ticks

    def note(self, lean: float, simulation: Simulation) -> None:
        """Adds the tilt [rad] and the contacts of a tick."""
        self.tilt = max(self.tilt, math.degrees(lean))
        for first, second in simulation.unwanted_contacts():
            self.contacts[first if second == "world" else second] += 1

    def ratio(self, speed: float) -> float:
        """The way over the commanded one."""
        return self.way / max(self.on_ground * speed, 1e-9)


@dataclass(frozen=True)
class Course:
    """Where the ground that is measured is, and where the walk has passed it."""

    spans: tuple[tuple[float, float], ...]  # [m] of x
    goal: float  # [m] of x
    parts: float = 1.0  # steps, or 1

    @classmethod
    def of(cls, world: WorldSettings) -> Course:
        """The course over a world whose sizes are not 0."""
        begin = WAY_START_M
        match world.world:
            case "stairs":
                flight = world.stair_count * world.stair_tread
                down = begin + flight + LANDING_M
                return cls(((begin, begin + flight), (down, down + flight)), down + flight + 0.3, 2 * world.stair_count)
            case "gaps":
                end = begin + GAPS * world.gap_width + (GAPS - 1) * GAP_SPACING_M[1]
            case "stones":
                end = begin + (STONE_ROWS + 1) * world.stone_spacing
            case "posts":
                end = begin + world.obstacle_count * world.obstacle_gap + LANDING_M
            case "slope":
                begin = START_HALF_SIDE_M + 0.35
                end = begin + 1.0  # at 60 degrees across it does not come to the side of the ramp
            case _:
                begin = START_HALF_SIDE_M + 0.1
                end = FIELD_HALF_SIDE_M - 0.7
        return cls(((begin, end),), end + 0.3)


SEEN_BY = (*USUAL_CAMERAS, "lidar")
EDGE_COURSES = ("walk", "turn", "pose")  # on; on the spot; body poses at random
WORLDS = ("stairs", "table", "gaps", "stones", "blocks", "slope", "posts")


def options_of(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options of the command."""
    parser = argparse.ArgumentParser(prog="python bench/terrain.py", description=__doc__)
    parser.add_argument("--robot", default="phantomx")
    parser.add_argument("--gait", default="", help="empty: that of the robot file")
    parser.add_argument("--world", default="stairs", choices=WORLDS)
    parser.add_argument("--rise", type=float, default=0.0, help="[m] of a step; 0: 0.35 of femur and tibia")
    parser.add_argument("--tread", type=float, default=0.0, help="[m] of a step; 0: 1.5 of femur and tibia")
    parser.add_argument("--count", type=int, default=5, help="steps up, and down; posts")
    parser.add_argument("--height", type=float, default=0.04, help="[m] of blocks, up and down")
    parser.add_argument("--slope", type=float, default=30.0, help="[deg]")
    parser.add_argument("--yaw", type=float, help="[deg] of the robot before a slope, on which it walks straight ahead")
    parser.add_argument("--seeds", nargs=2, type=int, default=(1, 8), help="the first one, and how many")
    parser.add_argument("--speed", type=float, default=0.06, help="[m/s]")
    parser.add_argument("--map", default="true", choices=("true", "none", *SEEN_BY))
    parser.add_argument("--shift", type=float, default=0.0, help="[m] of the map along x")
    parser.add_argument("--at-edge", default="walk", choices=EDGE_COURSES, help="what a robot does that has stopped")
    parser.add_argument("--reality", default="typical", choices=("ideal", "typical"))
    return parser.parse_args(arguments)


def standing(options: argparse.Namespace, seed: int) -> tuple[SensingLockstep, Course]:
    """A robot that stands before its course."""
    file = load(options.robot)
    world = world_of(options, file.robot, seed)
    simulation = Simulation(file.robot, urdf(file), world)
    simulation.reset(sitting_pose(file.robot))
    if options.yaw is not None:
        half = 0.5 * math.radians(options.yaw)
        simulation.data.qpos[3:7] = math.cos(half), 0.0, 0.0, math.sin(half)
    planner = Planner(file.robot, gait=options.gait)
    planner.sensors.mishap_detection = MishapDetection(falls=True, legs=True)
    run = SensingLockstep(simulation, planner, Adaptation(touch_down=True, levelling=options.world == "slope"), seed)
    run.stand()
    return run, Course.of(world)


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints one row for each walk, and the sum."""
    options = options_of(arguments)
    walks = []
    for seed in range(options.seeds[0], sum(options.seeds)):
        run, course = standing(options, seed)
        last = walk(run, seed, course, options)
        walks.append(last)
        mishap = run.planner.view.mishap
        words = "" if mishap is None else mishap.text
        touched = ", ".join(f"{part} {count}" for part, count in last.contacts.most_common(4)) or "nothing"
        print(
            f"{seed:3d} {last.end:7s} {last.seconds:6.1f} s, {last.on_ground / course.parts:5.1f} s a part, "
            f"ratio {last.ratio(options.speed):4.2f}, {last.tilt:4.1f} deg, touched {touched}; {words}",
            flush=True,
        )
    good = [each for each in walks if each.end == "passed"]
    part, whole, ratio = (
        float(np.mean(column)) if good else math.nan
        for column in (
            [each.on_ground / course.parts for each in good],
            [each.seconds / course.parts for each in good],
            [each.ratio(options.speed) for each in good],
        )
    )
    print(
        f"{len(good)} of {len(walks)}; {part:.1f} s a part, {whole:.1f} s with flat ground; ratio {ratio:.2f}; "
        f"{sum(not each.contacts for each in good)} without contact of shank, femur or body"
    )
    return 0


def world_of(options: argparse.Namespace, robot: Robot, seed: int) -> WorldSettings:
    """The world of a walk."""
    return WorldSettings(
        world=options.world,
        stair_rise=options.rise or 0.35 * max(leg.reach for leg in robot.legs),
        stair_tread=options.tread,
        stair_count=max(options.count, 1),
        block_height=options.height,
        slope_deg=options.slope if seed % 2 else -options.slope,
        obstacle_count=options.count,
        drop=0.25,
        seed=seed,
        way_yaw_deg=10.0,
        reality=options.reality,
        reality_seed=seed,
    ).fitted(robot)


def command(speed: float, at: Pose, direction: float, turn: float | None, yaw: float = 0.0) -> Twist:
    """The command at a pose: a speed [m/s] in a direction [rad] of the body, with a turn [rad/s], or back to a yaw.

    That is 0, and back to the line ahead, if the robot walks along x.
    """
    if turn is None:
        off = wrap(at.yaw - yaw)
        turn = max(-0.3, min(0.3, -off if direction or yaw else -off - 0.8 * at.y))
    return Twist(speed * math.cos(direction), speed * math.sin(direction), turn)


def request(planner: Planner, course: str, wanted: Twist, random: np.random.Generator, since: float) -> None:
    """Commands a twist, or what a robot does that has stopped at an edge `since` [s] ago, with zeros between."""
    zero = since % ZERO_S < CONTROL_PERIOD_S
    if course == "pose":
        if zero:
            planner.request_pose(BodyPose(*random.uniform(-1.0, 1.0, 6) * POSES))
        return
    if course == "turn":
        wanted = Twist(0.0, 0.0, math.copysign(TURN, wanted.wz))
    planner.command(ZERO if zero else wanted)


def see(planner: Planner, source: TrueMap | CameraMap | None, shift: float = 0.0) -> None:
    """Shows the newest map, shifted along x [m], to the planner."""
    seen = source.see() if source is not None else None
    if seen is not None:
        grid, base = seen
        planner.see(replace(grid, origin=(grid.origin[0] + shift, grid.origin[1])), base)


def rest(run: SensingLockstep, source: TrueMap | CameraMap | None) -> str:
    """Sits down and stands up at an edge; returns how that ends."""
    planner = run.planner
    for request, state in ((planner.sit, RobotState.SITTING), (planner.stand, RobotState.STANDING)):
        refusal = request()
        if refusal is not None:
            return f"{refusal.kind}"
        for _ in range(round(REST_S / CONTROL_PERIOD_S)):
            see(planner, source)
            run.tick()
            if math.hypot(*tilt(run.simulation)) > FALL_TILT_RAD:
                return "fell"
            if lowest(run.simulation) < OVER_EDGE_M:
                return "over"
        if planner.state is not state:
            return planner.state.value
    return "passed"


def lowest(simulation: Simulation) -> float:
    """Height [m] of the lowest foot."""
    return min(float(simulation.data.xpos[foot][2]) for foot in simulation.world.feet)


def walk(
    run: SensingLockstep,
    seed: int,
    course: Course,
    options: argparse.Namespace,
    watch: Callable[[], None] = lambda: None,
) -> Walk:
    """Walks over a course, which it passes at its end; or to the edge of the table, where it passes by stopping.

    There the command is tried again for AGAIN_S, with a zero in every ZERO_S, or it turns on the spot, or takes body
    poses; then it sits down and stands up.
    `watch` is called after each tick.
    """
    simulation, planner = run.simulation, run.planner
    source: TrueMap | CameraMap | None = TrueMap(simulation) if options.map == "true" else None
    if options.map in SEEN_BY:
        source = CameraMap(run, options.map, seed)
    random = np.random.default_rng(seed)
    heading = float(random.uniform(-math.pi, math.pi))
    turn = float(random.choice((0.0, 0.05, -0.05)))
    edge = options.world == "table"
    yaw = math.radians(options.yaw or 0.0)
    across = yaw if options.yaw is not None or options.world != "slope" else heading / 3.0  # up to 60 degrees from x
    most = 60.0 + AGAIN_S if edge else 1.5 * course.goal / options.speed / math.cos(across) + 20.0
    result = Walk()
    start = simulation.time
    still: deque[bool] = deque(maxlen=round(STILL_S / CONTROL_PERIOD_S))
    before = simulation.data.qpos[:3].copy()
    reached = math.inf  # [s] when the robot has stopped at the edge
    while simulation.time - start < most:
        at = planar_pose(simulation)
        since = simulation.time - reached
        wanted = command(options.speed, at, heading if edge else across - yaw, turn if edge else None, yaw)
        request(planner, options.at_edge if since >= 0.0 else "walk", wanted, random, since)
        see(planner, source, options.shift)
        still.append(run.tick().twist.is_zero)
        watch()
        lean = math.hypot(*tilt(simulation))
        result.note(lean, simulation)
        result.seconds = simulation.time - start
        here = simulation.data.qpos[:3].copy()
        if any(begin <= at.x <= end for begin, end in course.spans):
            result.on_ground += CONTROL_PERIOD_S
            forwards = math.cos(across) / math.cos(math.radians(options.slope if options.world == "slope" else 0.0))
            result.way += float((here - before) @ (forwards, math.sin(across), 0.0))
        before = here
        stopped = len(still) == still.maxlen and all(still)
        if lean > FALL_TILT_RAD:
            result.end = "fell"
        elif edge and lowest(simulation) < OVER_EDGE_M:
            result.end = "over"
        elif stopped and not edge:
            result.end = "stopped"
        elif since >= AGAIN_S or (not edge and at.x > course.goal):
            result.end = rest(run, source) if edge else "passed"
        else:
            reached = min(reached, simulation.time) if stopped else reached
            continue
        break
    return result


if __name__ == "__main__":
    sys.exit(main())
