# SPDX-License-Identifier: Apache-2.0
"""Measures walks over stairs, and towards the edge of a table, with footholds from a map and without.

`python bench/terrain.py` runs planner and physics in lock step. The map is the true one, or that of a simulated depth
camera with its noise and delay, in the frame of the package's own odometry (mode legs_imu_3d). It can be shifted along
the way, and left out.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter, deque
from collections.abc import Sequence
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
from hexapod_control.core.kinematics.se2 import Twist, wrap
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.sensing.cameras import USUAL_CAMERAS, optical_rotation
from hexapod_control.core.sensing.foot_force_estimator import MIN_LOAD_SHARE
from hexapod_control.core.sensing.odometry import Odometry
from hexapod_control.core.sensing.sensor_inputs import Adaptation, MishapDetection
from hexapod_control.core.statics.static_stability import GRAVITY
from hexapod_control.core.terrain.depth_image import depth_points
from hexapod_control.core.terrain.height_map import HeightMap, TerrainGrid
from hexapod_control.core.terrain.own_legs import on_robot
from hexapod_control.evaluation.lockstep import CONTROL_PERIOD_S, planar_pose
from hexapod_control.sim.depth_camera import DepthCamera, DepthFrame, true_terrain
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.start_poses import sitting_pose
from hexapod_control.sim.terrain import LANDING_M, WAY_START_M
from hexapod_control.sim.world_settings import WorldSettings

FALL_TILT_RAD = math.radians(50.0)
SIDE_M = 2.4  # of the true map around the robot
RENEWED_S = 0.5  # period of the true map
STILL_S = 2.0  # after which a robot that was told to walk counts as stopped


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
    """The map of a simulated depth camera, and the pose by the odometry of the package."""

    def __init__(self, run: SensingLockstep, place: str, seed: int) -> None:
        self._run = run
        self._robot = run.simulation.robot
        self._camera = DepthCamera(USUAL_CAMERAS[place](self._robot), seed=seed)
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
        frame = self._camera.step(simulation, label=(base, reading.joints))
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
        camera = frame.camera
        lens = np.array(camera.position)
        points = depth_points(frame.depth, camera.focal, camera.center) @ optical_rotation(camera).T + lens
        points = points[~on_robot(self._robot, joints, points, lens)]
        self._map.move(float(position[0]), float(position[1]))
        self._map.insert(points @ rotation.T + position, rotation @ lens + position, frame.time)


@dataclass
class Walk:
    """What happened in a walk."""

    end: str = "time"
    seconds: float = 0.0
    tilt: float = 0.0  # [deg] greatest
    contacts: Counter[str] = field(default_factory=Counter)  # of parts that should touch nothing, in ticks


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints one row for each walk, and the sum."""
    parser = argparse.ArgumentParser(prog="python bench/terrain.py", description=__doc__)
    parser.add_argument("--robot", default="phantomx")
    parser.add_argument("--world", default="stairs", choices=("stairs", "table"))
    parser.add_argument("--rise", type=float, default=0.07, help="[m] of a step")
    parser.add_argument("--count", type=int, default=5, help="steps up, and down")
    parser.add_argument("--seeds", nargs=2, type=int, default=(1, 8), help="the first one, and how many")
    parser.add_argument("--speed", type=float, default=0.06, help="[m/s]")
    parser.add_argument("--map", default="true", choices=("true", "none", *USUAL_CAMERAS))
    parser.add_argument("--shift", type=float, default=0.0, help="[m] of the map along x")
    parser.add_argument("--reality", default="typical", choices=("ideal", "typical"))
    options = parser.parse_args(arguments)
    file = load(options.robot)
    walks = []
    for seed in range(options.seeds[0], sum(options.seeds)):
        world = WorldSettings(
            world=options.world,
            stair_rise=options.rise,
            stair_tread=0.3,
            stair_count=options.count,
            drop=0.25,
            seed=seed,
            way_yaw_deg=10.0,
            reality=options.reality,
            reality_seed=seed,
        )
        simulation = Simulation(file.robot, urdf(file), world)
        simulation.reset(sitting_pose(file.robot))
        planner = Planner(file.robot)
        planner.sensors.mishap_detection = MishapDetection(falls=True, legs=True)
        run = SensingLockstep(simulation, planner, Adaptation(touch_down=True), seed)
        run.stand()
        last = walk(run, seed, options)
        walks.append(last)
        mishap = planner.view.mishap
        words = "" if mishap is None else mishap.text
        touched = ", ".join(f"{part} {count}" for part, count in last.contacts.most_common(4)) or "nothing"
        print(
            f"{seed:3d} {last.end:7s} {last.seconds:6.1f} s, {last.tilt:4.1f} deg, touched {touched}; {words}",
            flush=True,
        )
    good = [each for each in walks if each.end == "passed"]
    steps = 2 * options.count if options.world == "stairs" else 1
    times = [each.seconds / steps for each in good]
    print(
        f"{len(good)} of {len(walks)}; {np.mean(times) if times else math.nan:.1f} s a step; "
        f"{sum(not each.contacts for each in good)} without contact of shank, femur or body"
    )
    return 0


def walk(run: SensingLockstep, seed: int, options: argparse.Namespace) -> Walk:
    """Walks over the stairs, which it passes at their end; or to the edge of the table, where it passes by stopping."""
    simulation, planner = run.simulation, run.planner
    source: TrueMap | CameraMap | None = TrueMap(simulation) if options.map == "true" else None
    if options.map in USUAL_CAMERAS:
        source = CameraMap(run, options.map, seed)
    random = np.random.default_rng(seed)
    heading = float(random.uniform(-math.pi, math.pi))
    turn = float(random.choice((0.0, 0.05, -0.05)))
    goal = WAY_START_M + 2 * options.count * 0.3 + LANDING_M + 0.3
    edge = options.world == "table"
    most = 60.0 if edge else 1.5 * goal / options.speed + 20.0
    result = Walk()
    start = simulation.time
    still: deque[bool] = deque(maxlen=round(STILL_S / CONTROL_PERIOD_S))
    while simulation.time - start < most:
        at = planar_pose(simulation)
        steer = max(-0.3, min(0.3, -at.yaw - 0.8 * at.y))
        course = Twist(options.speed * math.cos(heading), options.speed * math.sin(heading), turn)
        planner.command(course if edge else Twist(options.speed, 0.0, steer))
        seen = source.see() if source is not None else None
        if seen is not None:
            grid, base = seen
            planner.see(replace(grid, origin=(grid.origin[0] + options.shift, grid.origin[1])), base)
        still.append(run.tick().twist.is_zero)
        lean = math.hypot(*tilt(simulation))
        result.tilt = max(result.tilt, math.degrees(lean))
        for first, second in simulation.unwanted_contacts():
            result.contacts[first if second == "world" else second] += 1
        result.seconds = simulation.time - start
        stopped = len(still) == still.maxlen and all(still)
        if lean > FALL_TILT_RAD:
            result.end = "fell"
        elif edge and stopped:
            lowest = min(float(simulation.data.xpos[foot][2]) for foot in simulation.world.feet)
            result.end = "passed" if lowest > -0.05 else "over"
        elif stopped:
            result.end = "stopped"
        elif not edge and at.x > goal:
            result.end = "passed"
        else:
            continue
        break
    return result


if __name__ == "__main__":
    sys.exit(main())
