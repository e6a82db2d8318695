"""Measures the quality of a walk at every physics step.

achieved  the constant twist with the true planar displacement of one gait cycle, mean over the cycles
slip      path of the material point of the foot at its contact, along the ground, while it carries load;
          over the mean path of all feet relative to the body (in its horizontal plane, swing included)
ripple    standard deviation of the body's horizontal velocity in its own frame
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.body_pose import quaternion_angles
from hexapod_control.core.kinematics.se2 import Pose, Twist, log
from hexapod_control.sim.simulation import MIN_CONTACT_FORCE_N, Simulation


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


class QualityRecorder:
    """Collects samples of a simulation; `sample` after every physics step, `mark` at every cycle boundary."""

    def __init__(self, simulation: Simulation) -> None:
        count = len(simulation.robot.legs)
        self._start = simulation.time
        self.slid = np.zeros(count)  # [m] per foot, along the ground under load
        self._path = np.zeros(count)
        self._contact = np.zeros(count)
        self._body: list[tuple[float, float, float, float, float]] = []
        self._marks = [(simulation.time, planar_pose(simulation))]
        self._feet: Array | None = None
        self._speed = 0.0
        self._saturated = 0.0
        self._square_torque = 0.0
        self._unwanted: Counter[tuple[str, str]] = Counter()

    def mark(self, simulation: Simulation) -> None:
        """Ends a gait cycle and begins the next."""
        self._marks.append((simulation.time, planar_pose(simulation)))

    def sample(self, simulation: Simulation) -> None:
        """Samples the state after one physics step."""
        data, world = simulation.data, simulation.world
        rotation = data.xmat[world.base].reshape(3, 3)
        self._add_feet(simulation, rotation)
        self._add_contacts(simulation)
        velocity = data.qvel[:3] @ rotation
        roll = math.atan2(rotation[2, 1], rotation[2, 2])
        pitch = -math.asin(max(-1.0, min(1.0, rotation[2, 0])))
        self._body.append((velocity[0], velocity[1], roll, pitch, data.qpos[2]))
        self._speed = max(self._speed, float(np.abs(data.qvel[world.velocity]).max()))
        torque = data.actuator_force[world.actuator]
        self._saturated += np.count_nonzero(simulation.saturated) / torque.size
        self._square_torque += float(np.add.reduce(torque * torque, axis=None)) / torque.size

    def _add_feet(self, simulation: Simulation, rotation: Array) -> None:
        data, world = simulation.data, simulation.world
        feet = ((data.xpos[world.feet] - data.xpos[world.base]) @ rotation)[:, :2]
        if self._feet is not None:
            step = feet - self._feet
            self._path += np.sqrt((step * step).sum(axis=1))
        self._feet = feet

    def _add_contacts(self, simulation: Simulation) -> None:
        data, model, world = simulation.data, simulation.model, simulation.world
        contact = data.contact
        if not len(contact.dist):
            return
        feet = world.geom_foot[contact.geom].max(axis=1)
        usual = (feet >= 0) & world.geom_ground[contact.geom].any(axis=1)
        if not usual.all():
            self._unwanted.update(set(simulation.unwanted_contacts()))
        force = np.where(contact.efc_address >= 0, data.efc_force[contact.efc_address], 0.0)
        loaded = usual & (force > MIN_CONTACT_FORCE_N)
        feet, force = feet[loaded], force[loaded]
        body = world.feet[feet]
        arm = contact.pos[loaded] - data.subtree_com[model.body_rootid[body]]
        motion = data.cvel[body]
        velocity = motion[:, 3:] + _cross(motion[:, :3], arm)
        normal = contact.frame[loaded, :3]
        along = velocity - (velocity * normal).sum(axis=1, keepdims=True) * normal
        speed = np.sqrt((along * along).sum(axis=1))
        load = np.bincount(feet, force, minlength=len(self.slid))
        rate = np.bincount(feet, force * speed, minlength=len(self.slid))
        standing = load > 0.0
        self.slid[standing] += rate[standing] / load[standing] * model.opt.timestep
        self._contact += standing

    def finish(self, commanded: Twist, unreachable: int = 0) -> WalkQuality:
        """Returns the figures between the first and the last mark."""
        body = np.array(self._body)
        count = len(body)
        path = float(self._path.mean())
        roll, pitch = np.degrees(np.sqrt((body[:, 2:4] ** 2).mean(axis=0)))
        return WalkQuality(
            commanded=commanded,
            achieved=self._achieved(),
            time=self._marks[-1][0] - self._start,
            slip=float(self.slid.mean()) / path if path else 0.0,
            worst_slip=float(self.slid.max()) / path if path else 0.0,
            roll=float(roll),
            pitch=float(pitch),
            height_variation=float(np.ptp(body[:, 4])),
            ripple=math.sqrt(float(body[:, :2].var(axis=0).sum())),
            peak_joint_speed=self._speed,
            saturation=self._saturated / count,
            torque=math.sqrt(self._square_torque / count),
            duty=tuple((self._contact / count).tolist()),
            unwanted_contacts=dict(self._unwanted),
            unreachable=unreachable,
        )

    def _achieved(self) -> Twist:
        """Mean twist of the gait cycles, weighted with their duration."""
        total = np.zeros(3)
        for (begin, start), (end, stop) in zip(self._marks, self._marks[1:], strict=False):
            total += np.array(log(start.inverse() @ stop, end - begin)) * (end - begin)
        return Twist(*(total / (self._marks[-1][0] - self._marks[0][0])).tolist())


def _cross(a: Array, b: Array) -> Array:
    """Cross products of rows (n, 3); numpy's own takes several times as long for a few rows."""
    return a[:, (1, 2, 0)] * b[:, (2, 0, 1)] - a[:, (2, 0, 1)] * b[:, (1, 2, 0)]


def planar_pose(simulation: Simulation) -> Pose:
    """Returns the true planar pose of base_link."""
    x, y = simulation.data.qpos[:2]
    w, i, j, k = simulation.data.qpos[3:7]
    yaw = quaternion_angles(i, j, k, w)[2]
    return Pose(float(x), float(y), yaw)
