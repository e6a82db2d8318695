# SPDX-License-Identifier: Apache-2.0
"""Builds the MuJoCo model of a robot and its ground from the URDF.

World frame: z up, the origin on the ground under the start pose. Bodies, joints and geoms keep the names of
the URDF's links and joints. Arrays (n, 3) have one row per leg of the robot, columns coxa, femur, tibia.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from xml.etree import ElementTree

import mujoco
import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.names import JOINTS, extra_joint_name, extra_link_name, foot_name, joint_name
from hexapod_control.core.reality import Reality
from hexapod_control.core.robot import Joint, Leg, Robot, Vector
from hexapod_control.sim.servo_models import ServoModel, servo_model
from hexapod_control.sim.start_poses import standing_pose
from hexapod_control.sim.terrain import OBSTACLE_PREFIX, TERRAINS
from hexapod_control.sim.world_settings import WorldSettings

BASE = "base_link"
IMU = "imu"
FRONT_CAMERA = "front"
CAMERA_PITCH_RAD = math.radians(15.0)
CAMERA_CLEARANCE_M = 0.015  # to the upper front edge of the body
LINKS = (*JOINTS, "foot")  # of a leg, in the names of its bodies
# of dry friction that holds; stiffer ones cost iterations of the solver
STICKING_TIME_S = 0.004
STICKING_IMPEDANCE = 0.95
OWN_CLEARANCE_M = 0.003  # between a leg and the body, in simple shapes; legs that come closer never collide with it
FIELD_OF_VIEW_DEG = 60.0  # of the front camera, from top to bottom
Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class ExtraServos:
    """The servos of the extra joints (m,), and all joints (k,) that they move: q = ratio * angle + offset."""

    position: Indices  # (k,) of the joints in qpos, those with a servo of their own first
    velocity: Indices  # (m,) in qvel
    servo: Indices  # (k,) that moves the joint
    ratio: Array  # (k,) [rad/rad] or [m/rad]
    offset: Array  # (k,) [rad] or [m]
    limits: Array  # (2, m) [rad] lower and upper ends of the servos

    @classmethod
    def of(cls, robot: Robot, model: mujoco.MjModel) -> ExtraServos:
        """Those of a robot in a compiled model."""
        servos = robot.extra_servos
        every = [*servos, *(extra for extra in robot.extra_joints if extra.mimics)]
        joints = [model.joint(extra_joint_name(extra.name)) for extra in every]
        names = [servo.name for servo in servos]
        return cls(
            position=np.array([joint.qposadr[0] for joint in joints], dtype=np.intp),
            velocity=np.array([joint.dofadr[0] for joint in joints[: len(servos)]], dtype=np.intp),
            servo=np.array([names.index(extra.mimics or extra.name) for extra in every], dtype=np.intp),
            ratio=np.array([extra.ratio for extra in every]),
            offset=np.array([extra.offset for extra in every]),
            limits=np.array([(servo.joint.lower, servo.joint.upper) for servo in servos]).reshape(-1, 2).T,
        )

    def angles(self, data: mujoco.MjData) -> Array:
        """Angles of the servos (m,) [rad]."""
        own = slice(self.velocity.size)
        found: Array = (data.qpos[self.position[own]] - self.offset[own]) / self.ratio[own]
        return found

    def speeds(self, data: mujoco.MjData) -> Array:
        """Speeds of the servos (m,) [rad/s]."""
        found: Array = data.qvel[self.velocity] / self.ratio[: self.velocity.size]
        return found

    def place(self, data: mujoco.MjData, angles: Array) -> Array:
        """Puts all joints where the servos, at these angles (m,) [rad] in their ranges, have them. Returns these."""
        clipped: Array = np.clip(angles, *self.limits)
        data.qpos[self.position] = self.ratio * clipped[self.servo] + self.offset
        return clipped


@dataclass(frozen=True, slots=True)
class MujocoModel:
    """A compiled model, and the indices of the robot's parts in its arrays."""

    robot: Robot
    settings: WorldSettings
    spec: mujoco.MjSpec  # of which the model is compiled
    model: mujoco.MjModel
    position: Indices  # (n, 3) of the joints in qpos
    velocity: Indices  # (n, 3) of the joints in qvel
    actuator: Indices  # (n, 3) of the servos in ctrl
    base: int  # body
    feet: Indices  # (n,) bodies
    geom_foot: Indices  # per geom: index of its foot, -1 for everything else
    geom_ground: NDArray[np.bool_]  # per geom: True for the ground
    geom_obstacle: NDArray[np.bool_]  # per geom: True for walls, boxes and pillars
    has_obstacles: bool
    stall_torque: NDArray[np.float64]  # (n, 3) [N m]
    extra: ExtraServos  # they follow those of the legs in ctrl

    @property
    def status(self) -> dict[str, object]:
        """Settings of the world that /diagnostics shows."""
        settings = self.settings
        return {
            "world": settings.world,
            "friction": f"{settings.friction:g}",
            "payload [kg]": f"{settings.payload:g}",
            "reality": settings.reality,
        }


def build(
    robot: Robot, urdf: str, settings: WorldSettings, errors: Reality, start_joints: NDArray[np.float64]
) -> MujocoModel:
    """Compiles the model of a robot with errors, for a start at `start_joints` (n, 3) [rad].

    Links that touch there or in the neutral stance never collide: their shapes are simpler than the real ones.

    Raises ValueError, naming the link, if the URDF lacks a link or joint of the robot.
    """
    spec = _parse(urdf)
    _set_options(spec, settings)
    root = _body(spec, BASE)
    add_scene(spec, root)
    _add_front_camera(root, robot)
    root.add_freejoint()
    for row, leg in enumerate(robot.legs):
        for column, (key, joint) in enumerate(zip(JOINTS, leg.joints, strict=True)):
            name = joint_name(leg.name, key)
            _add_servo(spec, name, _real_servo(servo_of(joint, settings), errors, (row, column)))
            if not errors.is_ideal:
                # MuJoCo's dry friction creeps under a load that it should hold; with these a tenth as fast.
                spec.joint(name).solref_friction[0] = STICKING_TIME_S
                spec.joint(name).solimp_friction[:2] = STICKING_IMPEDANCE
        _misplace(spec, leg, errors.hip[row], errors.length[row])
        _add_foot(spec, leg, robot.foot_radius)
    for extra in robot.extra_servos:
        _add_servo(spec, extra_joint_name(extra.name), servo_of(extra.joint, settings), 1.0 / extra.ratio)
    _tie_followers(spec, robot)
    _add_imu(spec, robot, errors)
    _add_payload(root, robot, settings.payload)
    _set_groups(spec)
    for geom in spec.geoms:
        geom.density = 0.0  # a link without <inertial> has no mass; MuJoCo would assume the density of water
    TERRAINS[settings.world](spec, settings.fitted(robot))
    for geom in spec.geoms:
        geom.friction[0] = settings.friction
        geom.solref = [0.005, 1.0]
        geom.condim = 3
    _exclude_own_contacts(spec, robot, (start_joints, standing_pose(robot)))
    return _index(robot, settings, spec)


def servo_of(joint: Joint, settings: WorldSettings) -> ServoModel:
    """Returns the servo of a joint: the one in the settings, else that of the robot file."""
    if settings.servo_model:
        return servo_model(settings.servo_model)
    return ServoModel(joint.no_load_speed, joint.stall_torque, joint.stiffness, "robot file")


def _real_servo(servo: ServoModel, errors: Reality, joint: tuple[int, int]) -> ServoModel:
    """The servo of a joint (row, column) with its deviations from the data sheet."""
    return replace(
        servo,
        no_load_speed=servo.no_load_speed * float(errors.no_load_speed[joint]),
        stall_torque=servo.stall_torque * float(errors.stall_torque[joint]),
        stiffness=servo.stiffness * float(errors.stiffness[joint]),
        identified_inertia=servo.armature * float(errors.inertia[joint]),
        identified_friction=servo.friction * float(errors.friction[joint]),
    )


def _parse(urdf: str) -> mujoco.MjSpec:
    """Parses the URDF with all links and visual shapes, which MuJoCo only keeps with a compiler option."""
    tree = ElementTree.fromstring(urdf)
    extension = tree.find("mujoco")
    if extension is None:
        extension = ElementTree.SubElement(tree, "mujoco")
        ElementTree.SubElement(extension, "compiler", discardvisual="false")
    for shape in (*tree.iter("visual"), *tree.iter("collision")):
        shape.attrib.pop("name", None)  # must be unique in MuJoCo, not in URDF
    spec = mujoco.MjSpec.from_string(ElementTree.tostring(tree, encoding="unicode"))
    spec.compiler.fusestatic = False
    return spec


def _body(spec: mujoco.MjSpec, name: str) -> mujoco.MjsBody:
    body = spec.body(name)
    if body is None:
        raise ValueError(f"the URDF has no link {name!r}")
    return body


def _set_options(spec: mujoco.MjSpec, settings: WorldSettings) -> None:
    spec.option.timestep = settings.timestep
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.solver = mujoco.mjtSolver.mjSOL_NEWTON
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = 100.0


def _add_servo(spec: mujoco.MjSpec, name: str, servo: ServoModel, gear: float = 1.0) -> None:
    """Adds a servo that turns by `gear` [rad] per [rad] or [m] of the joint."""
    joint = spec.joint(name)
    if joint is None:
        raise ValueError(f"the URDF has no joint {name!r}")
    joint.damping = _leading(joint.damping, servo.damping * gear**2)
    joint.armature = servo.armature * gear**2
    joint.frictionloss = servo.friction * abs(gear)
    joint.actfrclimited = mujoco.mjtLimited.mjLIMITED_FALSE
    actuator = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
    actuator.gear[0] = gear
    actuator.gaintype = mujoco.mjtGain.mjGAIN_FIXED
    actuator.biastype = mujoco.mjtBias.mjBIAS_AFFINE
    actuator.gainprm[0] = servo.stiffness
    actuator.biasprm[1] = -servo.stiffness
    actuator.forcelimited = mujoco.mjtLimited.mjLIMITED_TRUE
    actuator.forcerange = [-servo.stall_torque, servo.stall_torque]


def _tie_followers(spec: mujoco.MjSpec, robot: Robot) -> None:
    """Ties the joints that mimic others to these: early versions of MuJoCo ignore <mimic> in a URDF."""
    tied = {each.name1 for each in spec.equalities}
    servos = {servo.name: servo for servo in robot.extra_servos}
    for extra in robot.extra_joints:
        name = extra_joint_name(extra.name)
        if extra.mimics and name not in tied:
            other = servos[extra.mimics]
            multiplier, offset = extra.following(other)
            tie = spec.add_equality(type=mujoco.mjtEq.mjEQ_JOINT, objtype=mujoco.mjtObj.mjOBJ_JOINT)
            tie.name1 = name
            tie.name2 = extra_joint_name(other.name)
            tie.data[:2] = offset, multiplier


def _leading(old: float | NDArray[np.float64], value: float) -> float | list[float]:
    """Converts a coefficient for this version of MuJoCo: from 4.0 on the first of a polynomial, before a number."""
    return value if isinstance(old, float) else [value, *([0.0] * (len(old) - 1))]


def _misplace(spec: mujoco.MjSpec, leg: Leg, hip: NDArray[np.float64], lengths: NDArray[np.float64]) -> None:
    """Displaces the hip (3,) [m] and changes the lengths of coxa, femur and tibia (3,) [m], along x of their links."""
    for link, displacement in zip(LINKS, (hip, *(np.array([length, 0.0, 0.0]) for length in lengths)), strict=True):
        _body(spec, f"{leg.name}_{link}").pos += displacement


def _add_foot(spec: mujoco.MjSpec, leg: Leg, radius: float) -> None:
    name = foot_name(leg.name)
    body = _body(spec, name)
    size = max(radius, 1e-3)
    if not any(geom.contype for geom in body.geoms):
        body.add_geom(name=name, type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[size, 0.0, 0.0], mass=0.0)
    body.add_site(name=name, type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[1.5 * size, 0.0, 0.0], group=5)
    spec.add_sensor(name=name, type=mujoco.mjtSensor.mjSENS_TOUCH, objtype=mujoco.mjtObj.mjOBJ_SITE, objname=name)


def _add_imu(spec: mujoco.MjSpec, robot: Robot, errors: Reality) -> None:
    site = _body(spec, BASE).add_site(name=IMU, pos=list(robot.imu), size=[0.005, 0.005, 0.005], group=5)
    mujoco.mju_euler2Quat(site.quat, errors.imu_mounting, "XYZ")
    for name, sensor in (
        ("gyro", mujoco.mjtSensor.mjSENS_GYRO),
        ("accelerometer", mujoco.mjtSensor.mjSENS_ACCELEROMETER),
        ("orientation", mujoco.mjtSensor.mjSENS_FRAMEQUAT),
    ):
        spec.add_sensor(name=name, type=sensor, objtype=mujoco.mjtObj.mjOBJ_SITE, objname=IMU)


def front_camera_pose(robot: Robot) -> tuple[Vector, float]:
    """Position [m] of the front camera in base_link, and its downward pitch [rad]."""
    center, size = robot.body.center, robot.body.size
    x = center[0] + size[0] / 2.0 + CAMERA_CLEARANCE_M
    z = center[2] + size[2] / 2.0 + CAMERA_CLEARANCE_M
    return (x, center[1], z), CAMERA_PITCH_RAD


def _add_front_camera(root: mujoco.MjsBody, robot: Robot) -> None:
    """Adds the camera. MuJoCo's cameras look along their -z, with y up."""
    position, pitch = front_camera_pose(robot)
    camera = root.add_camera(name=FRONT_CAMERA, pos=list(position), fovy=FIELD_OF_VIEW_DEG)
    sine, cosine = math.sin(pitch), math.cos(pitch)
    columns = np.array([0.0, sine, -cosine, -1.0, 0.0, 0.0, 0.0, cosine, sine])
    mujoco.mju_mat2Quat(camera.quat, columns)


def _add_payload(root: mujoco.MjsBody, robot: Robot, mass: float) -> None:
    if mass <= 0.0:
        return
    half = (0.05, 0.04, 0.015)
    top = robot.body.top
    center = [robot.body.center[0], robot.body.center[1], top + half[2]]
    load = root.add_body(name="payload", pos=center)
    load.add_geom(
        name="payload", type=mujoco.mjtGeom.mjGEOM_BOX, size=list(half), mass=mass, rgba=[0.85, 0.55, 0.2, 1.0]
    )


def _set_groups(spec: mujoco.MjSpec) -> None:
    """Puts visual shapes into group 1 and collision shapes into group 3; without visual shapes all into group 1."""
    visual = [geom for geom in spec.geoms if geom.contype == 0 and geom.conaffinity == 0]
    for geom in spec.geoms:
        geom.group = 1 if geom in visual or geom.name == "payload" or not visual else 3


def _exclude_own_contacts(spec: mujoco.MjSpec, robot: Robot, poses: Iterable[NDArray[np.float64]]) -> None:
    """Compiles, and excludes collisions between links that touch in these poses (n, 3) [rad].

    A leg that touches the body there, or almost, never collides with it; nor do links of extra joints.
    """
    model = spec.compile()
    data = mujoco.MjData(model)
    base = model.body(BASE).id
    links = [[model.body(f"{leg.name}_{part}").id for part in LINKS] for leg in robot.legs]
    leg_of = {link: row for row, leg_links in enumerate(links) for link in leg_links}
    own = {base, *(model.body(extra_link_name(extra.name)).id for extra in robot.extra_joints)}
    model.geom_margin[:] = OWN_CLEARANCE_M
    data.qpos[2] = 10.0
    extra = ExtraServos.of(robot, model)
    extra.place(data, extra.angles(data))
    pairs: set[tuple[int, int]] = set()
    for joints in poses:
        for row, leg in enumerate(robot.legs):
            for column, key in enumerate(JOINTS):
                data.qpos[model.joint(joint_name(leg.name, key)).qposadr[0]] = joints[row, column]
        mujoco.mj_forward(model, data)
        for contact in data.contact:
            first, second = sorted(model.geom_bodyid[contact.geom].tolist())
            if first == base and second in leg_of:
                pairs |= {(base, link) for link in links[leg_of[second]]}
            elif first != 0 and (contact.dist < 0.0 or {first, second} <= own):
                pairs.add((first, second))
    for first, second in sorted(pairs):
        spec.add_exclude(bodyname1=model.body(first).name, bodyname2=model.body(second).name)


def _index(robot: Robot, settings: WorldSettings, spec: mujoco.MjSpec) -> MujocoModel:
    model = spec.compile()
    names = [[joint_name(leg.name, key) for key in JOINTS] for leg in robot.legs]
    feet = [foot_name(leg.name) for leg in robot.legs]
    body_foot = np.full(model.nbody, -1)
    for row, foot in enumerate(feet):
        body_foot[model.body(foot).id] = row
    obstacle = np.array([model.geom(geom).name.startswith(OBSTACLE_PREFIX) for geom in range(model.ngeom)])
    actuator = np.array([[model.actuator(name).id for name in row] for row in names])
    return MujocoModel(
        robot=robot,
        settings=settings,
        spec=spec,
        model=model,
        position=np.array([[model.joint(name).qposadr[0] for name in row] for row in names]),
        velocity=np.array([[model.joint(name).dofadr[0] for name in row] for row in names]),
        actuator=actuator,
        base=model.body(BASE).id,
        feet=np.array([model.body(name).id for name in feet]),
        geom_foot=body_foot[model.geom_bodyid],
        geom_ground=(model.geom_bodyid == 0) & ~obstacle,
        geom_obstacle=obstacle,
        has_obstacles=bool(obstacle.any()),
        stall_torque=model.actuator_forcerange[actuator, 1].copy(),
        extra=ExtraServos.of(robot, model),
    )


def _texture(spec: mujoco.MjSpec, name: str, first: list[float], second: list[float], repeat: float) -> None:
    spec.add_texture(
        name=name,
        type=mujoco.mjtTexture.mjTEXTURE_2D,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_CHECKER,
        rgb1=first,
        rgb2=second,
        width=256,
        height=256,
    )
    material = spec.add_material(name=name, texrepeat=[repeat, repeat], texuniform=True, specular=0.1, shininess=0.2)
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = name


def add_scene(spec: mujoco.MjSpec, base: mujoco.MjsBody) -> None:
    """Adds a sky, a light that follows the robot, and the materials of the ground."""
    spec.add_texture(
        name="sky",
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
        rgb1=[0.93, 0.95, 0.97],
        rgb2=[0.72, 0.78, 0.84],
        width=64,
        height=384,
    )
    _texture(spec, "ground", [0.80, 0.82, 0.84], [0.71, 0.74, 0.77], 4.0)
    _texture(spec, "ramp", [0.78, 0.80, 0.78], [0.66, 0.71, 0.66], 5.0)
    spec.add_material(name="block", rgba=[0.70, 0.73, 0.76, 1.0], specular=0.1, shininess=0.2)
    base.add_light(
        mode=mujoco.mjtCamLight.mjCAMLIGHT_TRACKCOM,
        pos=[0.55, 0.15, 1.6],
        dir=[-0.34, -0.09, -1.0],  # from the camera: hides the noisy corner of the shadow map
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
        diffuse=[0.6, 0.6, 0.6],
        specular=[0.15, 0.15, 0.15],
        castshadow=True,
    )
    spec.stat.extent = 1.0  # scales znear, zfar and shadowclip
    visual = spec.visual
    visual.global_.offwidth = 1920
    visual.global_.offheight = 1080
    visual.headlight.ambient = [0.42, 0.42, 0.42]
    visual.headlight.diffuse = [0.25, 0.25, 0.25]
    visual.headlight.specular = [0.0, 0.0, 0.0]
    visual.quality.shadowsize = 4096
    visual.map.znear = 0.02
    visual.map.zfar = 15.0
    visual.map.shadowclip = 0.7
