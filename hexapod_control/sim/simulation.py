# SPDX-License-Identifier: Apache-2.0
"""Simulates one robot in MuJoCo, in lock step with the caller: joint targets in, readings out.

Frames: the world's z is up; poses and velocities of the base are ground truth. Quaternions are (x, y, z, w).
Arrays (n, 3) have one row per leg of the robot, columns coxa, femur, tibia. Joint angles, targets and readings are
those of the robot's own servos and sensors, with the errors of its `Reality`; the true angles are in `data.qpos`.

The noise model is that of a small IMU: white noise on rates and accelerations, and a random walk of the heading.
Gravity corrects roll and pitch; nothing corrects the heading of a gyro without a magnetometer. Figures of a BNO085
without its magnetometer: rate noise 0.1 deg/s, acceleration noise 0.03 m/s^2, heading 0.36 deg after a minute.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.kinematics.arrays import Array, read_only
from hexapod_control.core.reality import CommandPath, Reality, ServoPower, reality, reported
from hexapod_control.core.robot import ExtraJointState, Robot
from hexapod_control.sim.mujoco_model import MujocoModel, build
from hexapod_control.sim.start_poses import lowest_point, standing_pose
from hexapod_control.sim.world_settings import ONLY_IN, WorldSettings

XYZW = [1, 2, 3, 0]  # of MuJoCo's quaternions (w, x, y, z)
STEPS_OF_PLAY = 2  # of the physics for which the end of a joint's play is held: every step would cost a tenth more
ADAPTATION_PERIOD_S = 0.04  # of friction to the load, and of torque to supply and temperature
ROUNDING_S = 1e-6  # rounding error of times that are sums of steps
MIN_CONTACT_FORCE_N = 0.02  # a foot with more normal force than this is in contact
RATE_NOISE_RAD_S = math.radians(0.1)  # standard deviation
ACCELERATION_NOISE_M_S2 = 0.03  # standard deviation
HEADING_DRIFT = 0.0008  # [rad / sqrt(s)]


class InertialReading(NamedTuple):
    """Readings of the IMU, in the frames of SimulationReading."""

    time: float  # [s]
    orientation: tuple[float, float, float, float]
    angular_velocity: Array  # (3,) [rad/s] mean since the last reading
    acceleration: Array  # (3,) [m/s2]


@dataclass(frozen=True, slots=True)
class SimulationReading:
    """Sensor readings and ground truth at one instant; arrays are read-only copies."""

    time: float  # [s] since reset
    joints: Array  # (n, 3) [rad] as the servos report them
    joint_velocity: Array  # (n, 3) [rad/s]
    joint_torque: Array  # (n, 3) [N m] of the servos
    foot_forces: Array  # (n,) [N] normal contact force, as the contact sensors report it
    orientation: Array  # (4,) quaternion, world from base_link
    angular_velocity: Array  # (3,) [rad/s] in base_link
    acceleration: Array  # (3,) [m/s2] accelerometer, in base_link; +9.81 along z at rest
    position: Array  # (3,) [m] of base_link in the world
    velocity: Array  # (3,) [m/s] of base_link's origin, in base_link
    extra: ExtraJointState | None = None  # as the servos report them


class ServoResponse:
    """The response of servos and contact sensors with errors.

    It works on views of the state, in place and with the fewest calls: its cost is added to every step of the physics.
    """

    def __init__(self, errors: Reality, world: MujocoModel, data: mujoco.MjData) -> None:
        """Raises ValueError if the URDF has the joints in another order than the robot's rows."""
        position = world.position.ravel()
        if not (np.diff(position) == 1).all():
            raise ValueError("the joints of the URDF are not in the order of the robot file")
        self.path = CommandPath(errors, world.model.opt.timestep)
        self._slack = errors.slack.ravel()
        self._angles = data.qpos[position[0] : position[-1] + 1]
        self._control = data.ctrl[: position.size]
        self._contact_latency = errors.contact_latency
        self.contacts: deque[tuple[float, Array]] = deque()  # times [s] and forces (n,) [N] not reported yet
        self.sensed_contacts: Array = np.zeros(len(world.feet))  # [N] as they are reported
        self.targets = np.zeros(position.size)

    def restart(self, joints: Array) -> None:
        """Starts with servos that have long had the targets `joints` (n, 3) [rad]."""
        self.targets = joints.ravel()
        self.path.restart(joints)
        self.contacts.clear()
        self.sensed_contacts[:] = 0.0

    def take_over(self, other: ServoResponse) -> None:
        """Continues with what is on its way to the servos and from the contacts of another response."""
        self.targets = other.targets
        self.path = other.path
        self.contacts = other.contacts
        self.sensed_contacts = other.sensed_contacts

    def bands(self, targets: Array, steps: int, *, linear: bool) -> Iterator[tuple[Array, Array]]:
        """For each step on the way to targets (n, 3) [rad]: the angles between which each servo has no torque."""
        start = self.targets
        end = self.targets = targets.ravel().copy()
        course = start + (end - start) * (np.arange(1, steps + 1)[:, np.newaxis] / steps) if linear else end[np.newaxis]
        motors = self.path.advance(course, steps)
        motors = motors[::STEPS_OF_PLAY]
        return zip(motors - self._slack, motors + self._slack, strict=True)

    def pull(self, low: Array, high: Array) -> None:
        """Lets the springs of the servos end at the nearer edge of the band without torque."""
        np.maximum(self._angles, low, out=self._control)
        np.minimum(self._control, high, out=self._control)

    def note_contacts(self, time: float, forces: Array) -> None:
        """Takes the contact forces (n,) [N] of a time [s]."""
        self.contacts.append((time, forces))
        while self.contacts and self.contacts[0][0] <= time - self._contact_latency + ROUNDING_S:
            self.sensed_contacts = self.contacts.popleft()[1]


class Simulation:
    """A robot in its world. Time advances only in `step`."""

    def __init__(self, robot: Robot, urdf: str, settings: WorldSettings, errors: Reality | None = None) -> None:
        """Builds the world with the robot standing in it, with these errors, by default those of the settings.

        `urdf` is the text of the URDF. Raises ValueError if it does not fit the robot.
        """
        self.reality = errors or reality(robot, settings.reality, settings.reality_seed)
        self._given_errors = errors
        self.world: MujocoModel = build(robot, urdf, settings, self.reality, standing_pose(robot))
        self.model = self.world.model
        self.data = mujoco.MjData(self.model)
        # Views of the sensors, since finding them by name takes longer than reading them.
        self._orientation, self._gyro, self._accelerometer = (
            self.data.sensor(name).data for name in ("orientation", "gyro", "accelerometer")
        )
        names = (self.model.body(body).name for body in self.world.feet)
        self._foot_sensors = np.array([self.model.sensor(name).adr[0] for name in names])
        self._gain = self.model.actuator_gainprm[:, :1].copy(), self.model.actuator_biasprm[:, 1:2].copy()
        self._leg_servos = self.world.actuator.size  # the first ones in ctrl
        self._switched_on = np.ones((self.model.nu, 1))  # per servo, 0 if its torque is off
        self._extra = self.world.extra
        self.power = ServoPower(self.reality)
        self._unadapted = 0.0  # [s] since friction and torque were adapted
        joints = self.world.velocity
        self._dry_friction = self.model.dof_frictionloss[joints].copy()
        # A number per joint, from MuJoCo 4.0 on the first of several.
        self._damping = self.model.dof_damping[joints].reshape(*joints.shape, -1)[..., 0].copy()
        self.unspent = 0.0  # [s] remainder of the last `step`, shorter than a time step of the physics
        # of the last reading of the IMU
        self.read_at = 0.0  # [s]
        self.read_orientation = self._orientation.copy()
        self.push_until = 0.0  # [s] end of the push; 0 without one
        self.response = None if self.reality.is_ideal else ServoResponse(self.reality, self.world, self.data)
        self._noise = np.random.default_rng(self.reality.seed)
        self.reset(standing_pose(robot))

    @property
    def robot(self) -> Robot:
        """The simulated robot."""
        return self.world.robot

    @property
    def time(self) -> float:
        """Time since the last reset [s]."""
        return float(self.data.time)

    def reset(self, joints: Array, height: float | None = None) -> None:
        """Places the robot at the origin, level and at rest, with joint angles (n, 3) [rad] that are also its targets.

        `height` [m] is that of base_link; by default the lowest point of the robot touches the ground z = 0.
        """
        data = self.data
        extra = self._extra.angles(data)  # where they are, at first at rest
        mujoco.mj_resetData(self.model, data)
        data.ctrl[self._leg_servos :] = self._extra.place(data, extra)
        data.qpos[self.world.position] = joints + self.reality.zero_offset
        data.ctrl[self.world.actuator] = data.qpos[self.world.position]
        data.qpos[2] = 0.0 if height is None else height
        if height is None:
            mujoco.mj_kinematics(self.model, data)
            data.qpos[2] = -lowest_point(self.model, data)
        self.unspent = self.push_until = 0.0
        if self.response is not None:
            self.response.restart(joints)
            self.power = ServoPower(self.reality)  # cold
            self._limit_torque(np.ones((self._leg_servos, 1)))
        mujoco.mj_forward(self.model, data)

    def step(self, targets: Array, dt: float, observe: Callable[[Simulation], None] | None = None) -> None:
        """Simulates `dt` [s] with joint targets (n, 3) [rad]; `observe` is called after every physics step.

        A remainder shorter than a physics step is carried over to the next call.
        """
        data = self.data
        ctrl = self.world.actuator
        self.unspent += dt
        steps = math.floor(self.unspent / self.model.opt.timestep + 1e-6)
        self.unspent -= steps * self.model.opt.timestep
        if self.response is not None:
            self._step_with_errors(self.response, targets, steps, observe)
            return
        start = data.ctrl[ctrl].copy()
        linear = self.world.settings.between_targets == "linear"
        data.ctrl[ctrl] = targets
        if observe is None and not linear and not self.push_until:
            mujoco.mj_step(self.model, data, nstep=steps)
            return
        for index in range(1, steps + 1):
            if linear:
                data.ctrl[ctrl] = start + (targets - start) * (index / steps)
            self._end_push()
            mujoco.mj_step(self.model, data)
            if observe is not None:
                observe(self)

    def _step_with_errors(
        self, response: ServoResponse, targets: Array, steps: int, observe: Callable[[Simulation], None] | None
    ) -> None:
        linear = self.world.settings.between_targets == "linear"
        for index, (low, high) in enumerate(response.bands(targets, steps, linear=linear)):
            response.pull(low, high)
            self._end_push()
            count = min(STEPS_OF_PLAY, steps - STEPS_OF_PLAY * index)
            if observe is None:
                mujoco.mj_step(self.model, self.data, nstep=count)
                continue
            for _ in range(count):
                mujoco.mj_step(self.model, self.data)
                observe(self)
        response.note_contacts(self.time, self.foot_forces)
        self._adapt(steps * self.model.opt.timestep)

    def _adapt(self, dt: float) -> None:
        """Adapts friction to the load, and torque to supply and temperature, `dt` [s] after the last call."""
        self._unadapted += dt
        if self._unadapted < ADAPTATION_PERIOD_S - ROUNDING_S:
            return
        joints = self.world.velocity
        data = self.data
        torque = data.actuator_force[self.world.actuator]
        # The gear bears half of the motor's torque against the load: the whole torque if they balance.
        load = data.qfrc_constraint + data.qfrc_applied - data.qfrc_bias
        friction = slice(data.ne, data.ne + data.nf)  # rows of dry friction, which is no load
        load[data.efc_id[friction]] -= data.efc_force[friction]
        in_gear = np.abs(torque - load[joints]) / 2.0
        self.model.dof_frictionloss[joints] = self._dry_friction + self.reality.load_friction * in_gear
        loads = (torque - self._damping * data.qvel[joints]) / self.world.stall_torque
        left = self.power.advance(loads, self._unadapted).reshape(-1, 1)
        self._unadapted = 0.0
        self._limit_torque(left)

    def _limit_torque(self, left: Array) -> None:
        """Limits the servos to these shares (3 n, 1) of their torque."""
        stall = self.world.stall_torque.reshape(-1) * left[:, 0]
        self.model.actuator_forcerange[: self._leg_servos, 0] = -stall
        self.model.actuator_forcerange[: self._leg_servos, 1] = stall
        self._apply_gain(left)

    def _end_push(self) -> None:
        if self.push_until and self.data.time >= self.push_until:
            self.data.xfrc_applied[self.world.base] = 0.0
            self.push_until = 0.0

    def push(self, force: Array, duration: float) -> None:
        """Pushes the body at its center of mass with a force (3,) [N] in the world frame, for `duration` [s]."""
        self.data.xfrc_applied[self.world.base, :3] = force
        self.push_until = self.data.time + duration

    def changed(self, urdf: str, settings: WorldSettings) -> Simulation:
        """Returns a simulation of the same robot in another world, standing at the origin."""
        return Simulation(self.robot, urdf, settings, self._given_errors)

    @property
    def ground(self) -> WorldSettings:
        """The settings that shape ground and robot, for comparison; all others have fixed values."""
        settings = self.world.settings
        usual = WorldSettings()
        unused = {name: getattr(usual, name) for name, worlds in ONLY_IN.items() if settings.world not in worlds}
        return replace(settings, friction=1.0, payload=0.0, **unused)

    def take_over(self, other: Simulation) -> None:
        """Continues with the time and state of another simulation of the same robot."""
        for name in ("qpos", "qvel", "act", "ctrl", "qacc_warmstart"):
            getattr(self.data, name)[:] = getattr(other.data, name)
        self.data.time = other.data.time
        self.unspent = other.unspent
        self.read_at = other.read_at
        self.read_orientation[:] = other.read_orientation
        self.push_until = other.push_until
        self.data.xfrc_applied[self.world.base] = other.data.xfrc_applied[other.world.base]
        if self.response is not None and other.response is not None:
            self.response.take_over(other.response)
            self.power = other.power
            self.model.dof_frictionloss[:] = other.model.dof_frictionloss
            self.model.actuator_forcerange[:] = other.model.actuator_forcerange
            self.hold(self._switched_on > 0.0)
        mujoco.mj_forward(self.model, self.data)

    def release(self) -> None:
        """Switches the torque of all servos off; back-EMF still brakes them."""
        self.hold(np.zeros(self.model.nu, dtype=bool))

    def engage(self) -> None:
        """Switches the torque of all servos on; they move to their last targets."""
        self.hold(np.ones(self.model.nu, dtype=bool))

    def hold(self, on: NDArray[np.bool_]) -> None:
        """Switches the torque of the servos marked in `on` on, of all others off: legs, then extra joints."""
        self._switched_on = np.reshape(on, (-1, 1)).astype(float)
        legs = self.model.actuator_forcerange[: self._leg_servos, 1:]
        self._apply_gain(legs / self.world.stall_torque.reshape(-1, 1))

    def _apply_gain(self, left: Array) -> None:
        """Sets the gains of servos; of those of the legs these shares (3 n, 1) of the torque are left."""
        share = self._switched_on.copy()
        share[: self._leg_servos] *= left
        self.model.actuator_gainprm[:, :1] = self._gain[0] * share
        self.model.actuator_biasprm[:, 1:2] = self._gain[1] * share

    @property
    def supply_share(self) -> float:
        """Supply voltage under load, as a share of that without."""
        return self.power.voltage / self.reality.voltage

    @property
    def temperature_rise(self) -> Array:
        """Temperatures of the servos above the air (n, 3) [K]."""
        return self.power.temperature_rise

    @property
    def joints(self) -> Array:
        """Joint angles (n, 3) [rad] as the servos report them."""
        return reported(self.reality, self.data.qpos[self.world.position])

    @property
    def joint_velocity(self) -> Array:
        """Joint speeds (n, 3) [rad/s]."""
        return np.array(self.data.qvel[self.world.velocity])

    @property
    def efforts(self) -> Array:
        """Torques of the servos as shares of their stall torques (n, 3)."""
        efforts: Array = self.data.actuator_force[self.world.actuator] / self.world.stall_torque
        return efforts

    @property
    def servo_angles(self) -> Array:
        """Angles [rad] of all servos as they report them: legs, then extra joints."""
        return np.append(self.joints, self._extra.angles(self.data))

    @property
    def servo_speeds(self) -> Array:
        """Speeds [rad/s] of all servos."""
        return np.append(self.joint_velocity, self._extra.speeds(self.data))

    @property
    def servo_efforts(self) -> Array:
        """Torques of all servos as shares of their stall torques."""
        extra = slice(self._leg_servos, None)
        return np.append(self.efforts, self.data.actuator_force[extra] / self.model.actuator_forcerange[extra, 1])

    def aim_extra(self, targets: Array) -> None:
        """Sets the targets (m,) [rad] of the extra joints for the next steps."""
        self.data.ctrl[self._leg_servos :] = targets

    @property
    def foot_forces(self) -> Array:
        """True normal contact force of each foot (n,) [N]."""
        forces: Array = self.data.sensordata[self._foot_sensors]
        return forces

    @property
    def saturated(self) -> NDArray[np.bool_]:
        """Array (n, 3), True for servos at their stall torque."""
        torque: Array = self.data.actuator_force[self.world.actuator]
        return np.abs(torque) >= 0.999 * self.model.actuator_forcerange[self.world.actuator, 1]

    def inertial(self) -> InertialReading:
        """Returns the present readings of the IMU.

        The rate is the mean since the last call: a chip filters it, too. Samples of the instant, at a multiple of the
        control period, would all catch the same moment of a swing, and their sum would drift away from the heading.
        """
        elapsed = self.time - self.read_at
        rate = self._gyro.copy()
        if elapsed > 0.0:  # otherwise the world was reset
            mujoco.mju_subQuat(rate, self._orientation, self.read_orientation)
            rate /= elapsed
        self.read_at = self.time
        self.read_orientation = self._orientation.copy()
        errors = self.reality
        noise = self._noise.standard_normal((2, 3))
        rate += errors.gyro_bias + errors.gyro_noise * noise[0]
        acceleration = self._accelerometer + errors.accelerometer_bias + errors.accelerometer_noise * noise[1]
        w, x, y, z = self._orientation.tolist()
        # The heading that the chip integrates drifts by the bias of its gyro; gravity corrects roll and pitch.
        half = 0.5 * float(errors.gyro_bias[2]) * self.time
        c, s = math.cos(half), math.sin(half)
        orientation = (c * x - s * y, c * y + s * x, c * z + s * w, c * w - s * z)
        return InertialReading(self.time, orientation, rate, acceleration)

    def sensed_foot_forces(self) -> Array:
        """Contact forces (n,) [N] as the sensors report them."""
        if self.response is None:
            return self.foot_forces
        forces = self.response.sensed_contacts
        noise = self.reality.contact_noise * self._noise.standard_normal(forces.shape)
        # An unloaded sensor reports nothing: noise needs a contact.
        noisy: Array = np.where(forces > 0.0, np.maximum(forces + noise, 0.0), 0.0)
        return noisy

    def reading(self) -> SimulationReading:
        """Returns all present readings."""
        data, world = self.data, self.world
        rotation = data.xmat[world.base].reshape(3, 3)
        return SimulationReading(
            time=self.time,
            joints=read_only(self.joints),
            joint_velocity=read_only(data.qvel[world.velocity]),
            joint_torque=read_only(data.actuator_force[world.actuator]),
            foot_forces=read_only(self.sensed_foot_forces()),
            orientation=read_only(data.qpos[3:7][XYZW]),
            angular_velocity=read_only(data.qvel[3:6]),
            acceleration=read_only(self._accelerometer),
            position=read_only(data.qpos[:3]),
            velocity=read_only(data.qvel[:3] @ rotation),
            extra=ExtraJointState(
                tuple(self._extra.angles(data).tolist()),
                tuple(self._extra.speeds(data).tolist()),
                tuple(data.actuator_force[self._leg_servos :].tolist()),
            ),
        )

    def unwanted_contacts(self) -> tuple[tuple[str, str], ...]:
        """Returns the pairs of bodies in contact, except feet on the ground; the ground is called `world`."""
        geoms = self.data.contact.geom
        world = self.world
        usual = (world.geom_foot[geoms] >= 0).any(axis=1) & world.geom_ground[geoms].any(axis=1)
        bodies = self.model.geom_bodyid[geoms[~usual]]
        return tuple((self.model.body(a).name, self.model.body(b).name) for a, b in bodies)

    def ground_height(self, x: float, y: float) -> float:
        """Returns the height of the ground [m] at (x, y) [m] in the world."""
        groups = np.array([0, 0, 1, 0, 0, 0], dtype=np.uint8)
        hit = np.zeros(1, dtype=np.int32)
        origin = np.array([x + 1.1e-6, y + 1.7e-6, 10.0])  # off the edges of a height field, which rays can miss
        down = np.array([0.0, 0.0, -1.0])
        return 10.0 - float(mujoco.mj_ray(self.model, self.data, origin, down, groups, 1, -1, hit))


class CollisionCounter:
    """Counts contacts; call `update` after every step. A lasting contact counts once."""

    def __init__(self) -> None:
        self.count = 0
        self._touching: frozenset[tuple[int, int]] = frozenset()

    def update(self, simulation: Simulation) -> None:
        """Counts the contacts that are new since the last call."""
        world = simulation.world
        if not world.has_obstacles:
            return
        geoms = simulation.data.contact.geom.reshape(-1, 2)
        collisions = geoms[world.geom_obstacle[geoms].any(axis=1)]
        touching = frozenset((min(pair), max(pair)) for pair in simulation.model.geom_bodyid[collisions].tolist())
        self.count += len(touching - self._touching)
        self._touching = touching


class ImuNoise:
    """The errors of one IMU over time, reproducible by a seed."""

    def __init__(self, seed: int) -> None:
        """Starts without heading error."""
        self._rng = np.random.default_rng(seed)
        self.heading = 0.0  # [rad] error so far

    def step(self, dt: float) -> tuple[Array, Array]:
        """Advances by `dt` [s]. Returns the errors (3,) of angular rate [rad/s] and acceleration [m/s^2]."""
        noise = self._rng.standard_normal(7)
        self.heading += float(noise[0]) * HEADING_DRIFT * math.sqrt(max(dt, 0.0))
        return RATE_NOISE_RAD_S * noise[1:4], ACCELERATION_NOISE_M_S2 * noise[4:]
