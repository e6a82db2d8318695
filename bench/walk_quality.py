# SPDX-License-Identifier: Apache-2.0
"""Measures the quality of a walk at every physics step.

achieved  the constant twist with the true planar displacement of one gait cycle, mean over the cycles
slip      path of the material point of the foot at its contact, along the ground, while it carries load;
          over the mean path of all feet relative to the body (in its horizontal plane, swing included)
ripple    standard deviation of the body's horizontal velocity in its own frame
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.se2 import Twist, log
from hexapod_control.core.planner.planner import Planner
from hexapod_control.evaluation.lockstep import CONTROL_PERIOD_S, TIMEOUT_S, Lockstep, WalkError, planar_pose
from hexapod_control.sim.mujoco_model import Indices
from hexapod_control.sim.simulation import MIN_CONTACT_FORCE_N, Simulation
from hexapod_control.sim.start_poses import sitting_pose

SETTLING_CYCLES = 2  # gait cycles at the full twist before the measurement


@dataclass(frozen=True, slots=True)
class Course:
    """A walk to measure: gait, commanded twist and number of gait cycles."""

    gait: str
    twist: Twist
    cycles: int = 4


@dataclass(frozen=True, slots=True)
class WalkQuality:
    """Figures of one walk over whole cycles."""

    commanded: Twist
    achieved: Twist
    time: float  # [s] measured
    slip: float  # [m/m] mean of the feet
    worst_slip: float  # [m/m] of the worst foot
    roll: float  # [deg] RMS
    pitch: float  # [deg] RMS
    height_variation: float  # [m] highest - lowest base_link
    ripple: float  # [m/s]
    peak_joint_speed: float  # [rad/s]
    saturation: float  # share of time and joints at stall torque
    torque: float  # [N m] RMS of all joints
    duty: tuple[float, ...]  # per foot, share of time in contact
    unwanted_contacts: dict[tuple[str, str], int]  # pair of bodies -> physics steps; not feet on the ground
    unreachable: int  # ticks with a target out of reach

    @property
    def ratios(self) -> tuple[float, ...]:
        """Achieved over commanded velocity, for every commanded axis."""
        return tuple(
            achieved / commanded for achieved, commanded in zip(self.achieved, self.commanded, strict=True) if commanded
        )

    @property
    def ratio(self) -> float:
        """The ratio that deviates most from 1."""
        return max(self.ratios, key=lambda ratio: abs(ratio - 1.0), default=1.0)


class _Slip(NamedTuple):
    """How feet touched the ground, and what else touched."""

    slid: Array  # [m] per foot, along the ground under load
    contact: Array  # per foot, number of physics steps in contact
    unwanted: Counter[tuple[str, str]]


class QualityRecorder:
    """Collects samples of a simulation; `sample` after every physics step, `mark` at every cycle boundary.

    A sample is copied, and everything is computed from all samples at once: step by step, that takes longer than the
    physics.
    """

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._start = simulation.time
        self._marks = [(simulation.time, planar_pose(simulation))]
        self._states: list[tuple[Array, Array, float, Array, Array, int]] = []  # one for each step
        self._touches: list[tuple[Indices, Array, Array, Array, Array]] = []

    def mark(self, simulation: Simulation) -> None:
        """Ends a gait cycle and begins the next."""
        self._marks.append((simulation.time, planar_pose(simulation)))

    def sample(self, simulation: Simulation) -> None:
        """Samples the state after one physics step."""
        data, world = simulation.data, simulation.world
        feet = data.xpos[world.feet] - data.xpos[world.base]
        torque = data.actuator_force.copy()
        saturated = int(np.count_nonzero(simulation.saturated))
        rotation = data.xmat[world.base].copy()
        self._states.append((rotation, data.qvel.copy(), float(data.qpos[2]), feet, torque, saturated))
        contact = data.contact
        force = np.where(contact.efc_address >= 0, data.efc_force[contact.efc_address], 0.0)
        arm = contact.pos - data.subtree_com[world.base]
        self._touches.append((contact.geom.copy(), arm, contact.frame[:, :3].copy(), force, data.cvel[world.feet]))

    @property
    def slid(self) -> Array:
        """How far each foot slid along the ground under load [m]."""
        return self._slip().slid

    def _slip(self) -> _Slip:
        model, world = self._simulation.model, self._simulation.world
        count = len(world.feet)
        step = np.repeat(np.arange(len(self._touches)), [len(touch[3]) for touch in self._touches])
        geoms, arm, normal, force = (np.concatenate(part) for part in list(zip(*self._touches, strict=True))[:4])
        feet = world.geom_foot[geoms].max(axis=1)
        usual = (feet >= 0) & world.geom_ground[geoms].any(axis=1)
        unwanted = np.unique(np.column_stack((step, model.geom_bodyid[geoms]))[~usual], axis=0)
        names = ((model.body(a).name, model.body(b).name) for _, a, b in unwanted)
        loaded = usual & (force > MIN_CONTACT_FORCE_N)
        step, feet, arm, normal, force = step[loaded], feet[loaded], arm[loaded], normal[loaded], force[loaded]
        motion = np.array([touch[4] for touch in self._touches])[step, feet]
        velocity = motion[:, 3:] + np.cross(motion[:, :3], arm)
        along = velocity - (velocity * normal).sum(axis=1, keepdims=True) * normal
        speed = np.sqrt((along * along).sum(axis=1))
        size = len(self._touches) * count
        load = np.bincount(step * count + feet, force, minlength=size).reshape(-1, count)
        rate = np.bincount(step * count + feet, force * speed, minlength=size).reshape(-1, count)
        standing = load > 0.0
        slid = np.divide(rate, load, out=np.zeros(load.shape), where=standing) * model.opt.timestep
        return _Slip(slid.sum(axis=0), standing.sum(axis=0), Counter(names))

    def finish(self, commanded: Twist, unreachable: int = 0) -> WalkQuality:
        """Returns the figures between the first and the last mark."""
        world = self._simulation.world
        count = len(self._states)
        rotation, speed, height, feet, force, saturated = map(np.array, zip(*self._states, strict=True))
        rotation = rotation.reshape(-1, 3, 3)
        torque = force[:, world.actuator]
        velocity = (speed[:, None, :3] @ rotation)[:, 0, :2]
        roll = np.arctan2(rotation[:, 2, 1], rotation[:, 2, 2])
        pitch = np.arcsin(np.clip(rotation[:, 2, 0], -1.0, 1.0))
        steps = np.diff((feet @ rotation)[..., :2], axis=0)
        path = float(np.sqrt((steps * steps).sum(axis=2)).sum(axis=0).mean())
        slip = self._slip()
        return WalkQuality(
            commanded=commanded,
            achieved=self._achieved(),
            time=self._marks[-1][0] - self._start,
            slip=float(slip.slid.mean()) / path if path else 0.0,
            worst_slip=float(slip.slid.max()) / path if path else 0.0,
            roll=math.degrees(math.sqrt((roll**2).mean())),
            pitch=math.degrees(math.sqrt((pitch**2).mean())),
            height_variation=float(np.ptp(height)),
            ripple=math.sqrt(float(velocity.var(axis=0).sum())),
            peak_joint_speed=float(np.abs(speed[:, world.velocity]).max()),
            saturation=float(saturated.sum()) / torque.size,
            torque=math.sqrt((torque**2).mean()),
            duty=tuple((slip.contact / count).tolist()),
            unwanted_contacts=dict(slip.unwanted),
            unreachable=unreachable,
        )

    def _achieved(self) -> Twist:
        """Mean twist of the gait cycles, weighted with their duration."""
        total = np.zeros(3)
        for (begin, start), (end, stop) in zip(self._marks, self._marks[1:], strict=False):
            total += np.array(log(start.inverse() @ stop, end - begin)) * (end - begin)
        return Twist(*(total / (self._marks[-1][0] - self._marks[0][0])).tolist())


def walk(
    simulation: Simulation, course: Course, drive: Callable[[Simulation, Planner], Lockstep] = Lockstep
) -> WalkQuality:
    """Stands up, walks, and measures whole gait cycles at the full twist; `drive` connects planner and simulation.

    Raises WalkError if the robot does not stand up or does not reach the commanded twist.
    """
    simulation.reset(sitting_pose(simulation.robot))
    run = drive(simulation, Planner(simulation.robot, course.gait))
    run.stand()
    run.reach(course.twist)
    recorder: QualityRecorder | None = None
    cycles = -SETTLING_CYCLES - 1
    standing = True
    for _ in range(round(TIMEOUT_S * (course.cycles + SETTLING_CYCLES) / CONTROL_PERIOD_S)):
        plan = run.tick(recorder.sample if recorder else None)
        lifted = standing and not plan.planted[0]
        standing = plan.planted[0]
        if not lifted:
            continue
        cycles += 1
        if recorder:
            recorder.mark(simulation)
        if cycles == 0:
            recorder = QualityRecorder(simulation)
        elif recorder and cycles == course.cycles:
            return recorder.finish(course.twist, run.unreachable)
    raise WalkError(f"the first foot did not lift {course.cycles + SETTLING_CYCLES} times")
