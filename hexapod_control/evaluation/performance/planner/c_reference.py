"""The C floor of a tick: compiled when it is needed, loaded with the robot's data and the state of a planner."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from hexapod_control.core import robot as description
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.leg_clearance import ENOUGH, LegNeighbours, radii
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.walking.walk_controller import WalkController
from hexapod_control.core.workspace.speed_envelope import SPEED_SHARE

SOURCE = Path(__file__).with_name("c_reference.c")
FLAGS = ("-O2", "-shared", "-fPIC")
LEGS, HEIGHTS = 16, 32  # as in c_reference.c
_double, _int = ctypes.c_double, ctypes.c_int
_Rows = _double * 3 * LEGS


class NoCompilerError(RuntimeError):
    """There is no C compiler; the text says how to get one."""


class _Leg(ctypes.Structure):
    _fields_ = (
        ("hip", _double * 3),
        *((name, _double) for name in ("yaw", "cos_yaw", "sin_yaw", "coxa", "femur", "tibia", "lateral", "vertical")),
        *((name, _double * 3) for name in ("lower", "upper", "top")),
        ("moments", _double * 6),
    )


class _Robot(ctypes.Structure):
    _fields_ = (
        ("leg", _Leg * LEGS),
        *((name, _double) for name in ("foot_radius", "height", "lift_height", "preload", "body_mass")),
        ("center_of_mass", _double * 3),
        ("mass", _double),
        ("heights", _double * HEIGHTS),
        ("footholds", _double * 2 * LEGS * HEIGHTS),
        ("radii", _double * LEGS * HEIGHTS),
        ("cycle", _double),
        ("lift_off", _double * LEGS),
        ("ahead", _double * 2 * LEGS),
        ("behind", _double * 2 * LEGS),
        ("thickness", _double * LEGS),
        ("radii_of_bars", _double * 2 * LEGS),
        ("enough", _double),
        ("legs", _int),
        ("rows", _int),
        ("ring", _int * LEGS),
    )


class _Foot(ctypes.Structure):
    _fields_ = (
        *((name, _double) for name in ("x", "y", "z", "progress")),
        ("aim", _double * 2),
        ("stance", _double),
        ("velocity", _double * 3),
        ("swinging", _int),
    )


class _Walk(ctypes.Structure):
    _fields_ = (
        ("feet", _Foot * LEGS),
        ("until", _double * LEGS),
        ("phase", _double),
        *((name, _double * 3) for name in ("command", "limited", "limit")),
        ("limit_swing_time", _double),
        *((name, _double * 3) for name in ("up", "down", "twist")),
        ("swing_time", _double),
        ("room", _double),
        *((name, _double * 6) for name in ("pose", "pose_speed", "pose_goal")),
        ("running", _int),
        ("resting", _int),
    )


class _Planner(ctypes.Structure):
    _fields_ = (("walk", _Walk), ("row", _Rows), ("centres", _Rows))


class _Plan(ctypes.Structure):
    _fields_ = (
        ("feet", _Rows),
        ("feet_velocity", _Rows),
        ("support", _double * LEGS),
        ("joint_velocity", _Rows),
        ("row", _Rows),
        ("contacts", _double * 2 * LEGS),
        ("twist", _double * 3),
        ("pose", _double * 6),
        ("margin", _double),
        ("gap", _double),
        ("planted", _int * LEGS),
    )


def compiled() -> ctypes.CDLL:
    """The library, compiled now. Raises NoCompilerError; CalledProcessError has what the compiler says."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise NoCompilerError("gcc is missing: apt install gcc libc6-dev")
    with TemporaryDirectory() as folder:
        library = Path(folder, "floor.so")
        command = [compiler, *FLAGS, "-o", str(library), str(SOURCE), "-lm"]
        subprocess.run(command, check=True, capture_output=True, text=True)
        return ctypes.CDLL(str(library))


class Floor:
    """A walk in C that goes on from where a Python planner is."""

    def __init__(self, library: ctypes.CDLL, planner: Planner) -> None:
        """Copies the state of a planner that stands or walks, its pose at rest and no change of gait under way."""
        walk = planner._motion
        assert isinstance(walk, WalkController)
        self._library = library
        self._count = len(planner.robot.legs)
        self._robot = _robot(planner, walk)
        self._planner = _planner(planner, walk)
        self._plan = _Plan()
        self._joints, self._speeds = _Rows(), _Rows()
        _fill(self._joints, planner._row)

    def walk(self, dt: float, ticks: int) -> None:
        """So many whole ticks of `dt` [s]. Raises RuntimeError where the floor cannot follow."""
        self._check(self._library.walk_ticks(*self._state(dt, ticks), self._joints, self._speeds), ticks)

    def plan(self, dt: float, ticks: int) -> None:
        """As `walk`, without the inverse kinematics of the foot targets."""
        self._check(self._library.plan_ticks(*self._state(dt, ticks)), ticks)

    def _state(self, dt: float, ticks: int) -> tuple[object, ...]:
        robot, planner, plan = (ctypes.byref(item) for item in (self._robot, self._planner, self._plan))
        return robot, planner, _double(dt), ticks, plan

    def _check(self, walked: int, asked: int) -> None:
        if walked != asked:
            raise RuntimeError(f"the C floor stopped after {walked} of {asked} ticks: it cannot follow this walk")

    @property
    def joints(self) -> Array:
        """Joints (n, 3) [rad] of the last tick."""
        return np.array(self._joints)[: self._count]

    @property
    def joint_speeds(self) -> Array:
        """Their speeds (n, 3) [rad/s]."""
        return np.array(self._speeds)[: self._count]

    def said(self, name: str) -> Array:
        """A field of the last plan, by the name it has in core.plan.Plan."""
        found = np.array(getattr(self._plan, name))
        return found[: self._count] if found.ndim and len(found) == LEGS else found


def _fill(target: ctypes.Array[Any], rows: object) -> None:
    values = np.asarray(rows, dtype=np.float64)
    np.ctypeslib.as_array(target)[tuple(slice(0, size) for size in values.shape)] = values


def _leg(leg: description.Leg) -> _Leg:
    found = _Leg(
        yaw=leg.hip_yaw,
        cos_yaw=leg.turn[0],
        sin_yaw=leg.turn[1],
        coxa=leg.coxa.length,
        femur=leg.femur.length,
        tibia=leg.tibia.length,
        lateral=leg.femur_lateral,
        vertical=leg.femur_vertical,
    )
    _fill(found.hip, leg.hip)
    _fill(found.lower, [joint.lower for joint in leg.joints])
    _fill(found.upper, [joint.upper for joint in leg.joints])
    _fill(found.top, [SPEED_SHARE * joint.no_load_speed for joint in leg.joints])
    _fill(found.moments, leg.moments)
    return found


def _robot(planner: Planner, walk: WalkController) -> _Robot:
    robot, rows = planner.robot, planner.capabilities.stances.rows
    if len(robot.legs) > LEGS or len(rows) > HEIGHTS:
        raise RuntimeError(f"the C floor is made for {LEGS} legs and {HEIGHTS} heights")
    found = _Robot(
        foot_radius=robot.foot_radius,
        height=robot.walk.height,
        lift_height=walk.walker.lift_height,
        preload=robot.walk.preload,
        body_mass=robot.body.mass,
        mass=robot.mass,
        cycle=walk.gait.cycle,
        legs=len(robot.legs),
        rows=len(rows),
    )
    for index, leg in enumerate(robot.legs):
        found.leg[index] = _leg(leg)
    _fill(found.center_of_mass, robot.body.center_of_mass)
    _fill(found.heights, [row.height for row in rows])
    _fill(found.footholds, [row.footholds for row in rows])
    _fill(found.radii, [row.radii for row in rows])
    _fill(found.lift_off, walk.gait.lift_off)
    _ring(found, robot)
    return found


def _ring(found: _Robot, robot: description.Robot) -> None:
    spans = LegNeighbours.of(robot).spans
    found.ring[: len(spans)] = [span.row for span in spans]
    for name in ("ahead", "behind", "thickness"):
        _fill(getattr(found, name), [getattr(span, name) for span in spans])
    _fill(found.radii_of_bars, [radii(leg, robot)[::-1] for leg in robot.legs])
    found.enough = ENOUGH


def _planner(planner: Planner, walk: WalkController) -> _Planner:
    limit, (up, down) = walk.limit(), walk._accelerations()
    found = _Planner()
    _fill(found.row, planner._row)
    assert planner._last is not None  # it stands or walks
    _fill(found.centres, planner._last.feet)
    state, walker = found.walk, walk.walker
    for name, values in (
        ("until", walker.schedule.until),
        ("command", walk.command),
        ("limited", walk.command),
        ("limit", limit.twist),
        ("up", up),
        ("down", down),
        ("twist", walk.twist),
        ("pose", walk.pose.pose),
        ("pose_speed", walk.pose._speed),
        ("pose_goal", walk.pose.walking_goal),
    ):
        _fill(getattr(state, name), values)
    state.phase, state.limit_swing_time = walker.schedule.phase, limit.swing_time
    state.swing_time, state.room = walk.swing_time, walk.pose.room
    state.running, state.resting = walker.running, walker.resting
    for target, foot in zip(state.feet, walker.feet, strict=False):
        target.x, target.y, target.z, target.stance = foot.x, foot.y, foot.z, foot.stance
        target.progress, target.swinging = foot.progress or 0.0, foot.progress is not None
        target.aim[:], target.velocity[:] = foot.aim, foot.velocity
    return found
