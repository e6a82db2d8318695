# SPDX-License-Identifier: Apache-2.0
"""The MuJoCo model of a simulated robot as one text (MJCF) that plain MuJoCo loads, without this package.

MuJoCo writes six digits of a number. A walk that is to be the same to a microradian needs all of them, so that they
are put in from the compiled model.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

import mujoco
import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.sim.simulation import Simulation

START = "standing"  # the name of the keyframe
Rows = dict[str, NDArray[np.floating]]  # attribute -> values of all elements of a kind, one row each
NEAR = 8  # shapes of the ground next to each shape of the robot, of which MJX computes contacts
HEAD = """
{name} as hexapod_control simulates it: {world} ground, servos of a robot that is {reality}.

Inputs (ctrl): joint targets [rad], in the order of the actuators. They come every {period:g} s and are held between.
Start: keyframe "{start}", the neutral stance on the ground under the origin; z is up, x is forward.
Sensors: normal force of each foot [N]; of the IMU gyro [rad/s], accelerometer [m/s2], orientation (w, x, y, z).
A servo is a spring that is clipped at its stall torque, with back-EMF, dry friction and the inertia of its rotor.
"""
OUTSIDE = """
In the model: zeros of the joints, which the actuators add to their targets; stiffness, torque, speed, dry friction and
rotor of each servo; lengths and hips of the legs; the mounting of the IMU. Outside of it, and only in the simulator:
latency, dead band, play and steps of the servos, friction that grows with the load, what battery and heat leave of the
torque; biases and noise of the IMU; latency and noise of the foot contacts. Servos of the robot report
qpos less the zero of the joint, which is biasprm[0] / gainprm[0] of its actuator.
"""


def mjcf(simulation: Simulation, period: float) -> str:
    """The model of a new simulation, whose joint targets come every `period` [s]. The keyframe is its state."""
    world, data = simulation.world, simulation.data
    spec = world.spec.copy()
    targets = data.ctrl.copy()
    targets[world.actuator.ravel()] = (data.qpos[world.position] - simulation.reality.zero_offset).ravel()
    for name, offset in zip(world.actuator.ravel().tolist(), simulation.reality.zero_offset.ravel(), strict=True):
        actuator = spec.actuator(world.model.actuator(name).name)
        actuator.biasprm[0] = actuator.gainprm[0] * offset
    _fit_mjx(spec)
    spec.add_key(name=START, qpos=data.qpos, ctrl=targets)
    model = spec.compile()
    tree = ElementTree.fromstring(spec.to_xml())
    for elements, rows in _written(tree, model):
        _put_in(elements, rows)
    settings = world.settings
    errors = "ideal" if simulation.reality.is_ideal else f"{settings.reality}, seed {settings.reality_seed}"
    head = HEAD.format(name=world.robot.name, world=settings.world, reality=errors, period=period, start=START)
    head += "" if simulation.reality.is_ideal else OUTSIDE
    return f"<!--{head}-->\n{ElementTree.tostring(tree, encoding='unicode')}\n"


def _fit_mjx(spec: mujoco.MjSpec) -> None:
    """Makes capsules of all cylinders, of which MJX has no contacts with boxes, and bounds the pairs that it looks at.

    Those of the robot do not get longer; those of the ground, which are pillars, keep their height. Without the bounds
    MJX computes all pairs of shapes, 56 000 contacts on a ground of blocks. Plain MuJoCo ignores them.
    """
    colliding = 0
    for geom in spec.geoms:
        if not geom.contype:
            continue
        of_robot = geom.parent != spec.worldbody
        colliding += of_robot
        if geom.type == mujoco.mjtGeom.mjGEOM_CYLINDER:
            radius, half, _ = geom.size
            geom.type = mujoco.mjtGeom.mjGEOM_CAPSULE
            geom.size = [radius, max(half - radius, 1e-3) if of_robot else half, 0.0]
    for bound in ("max_geom_pairs", "max_contact_points"):
        spec.add_numeric(name=bound, data=[NEAR * colliding])


def _written(tree: ElementTree.Element, model: mujoco.MjModel) -> Iterator[tuple[list[ElementTree.Element], Rows]]:
    """Elements of the text in the order of the model, and the values of their attributes."""
    world = tree.findall("worldbody")
    bodies = [*world, *(body for top in world for body in top.iter("body"))]
    yield bodies, {"pos": model.body_pos, "quat": model.body_quat}
    massive = [row for row, body in enumerate(bodies) if body.find("inertial") is not None]
    yield (
        [inertial for body in bodies for inertial in body.findall("inertial")],
        {
            "pos": model.body_ipos[massive],
            "quat": model.body_iquat[massive],
            "mass": model.body_mass[massive],
            "diaginertia": model.body_inertia[massive],
        },
    )
    joints = [row for row in range(model.njnt) if model.jnt_type[row] != mujoco.mjtJoint.mjJNT_FREE]
    degrees = model.jnt_dofadr[joints]
    yield (
        [joint for body in bodies for joint in body.findall("joint") if joint.get("type") != "free"],
        {
            "pos": model.jnt_pos[joints],
            "axis": model.jnt_axis[joints],
            "range": model.jnt_range[joints],
            "armature": model.dof_armature[degrees],
            "damping": model.dof_damping[degrees],
            "frictionloss": model.dof_frictionloss[degrees],
            "solreffriction": model.dof_solref[degrees],
            "solimpfriction": model.dof_solimp[degrees],
        },
    )
    shape = {"pos": model.geom_pos, "quat": model.geom_quat, "size": model.geom_size}
    yield [geom for body in bodies for geom in body.findall("geom")], {**shape, "friction": model.geom_friction}
    site = {"pos": model.site_pos, "quat": model.site_quat, "size": model.site_size}
    yield [each for body in bodies for each in body.findall("site")], site
    limits = {"forcerange": model.actuator_forcerange, "gear": model.actuator_gear}
    gains = {"gainprm": model.actuator_gainprm, "biasprm": model.actuator_biasprm}
    yield tree.findall("actuator/general"), {**limits, **gains}
    yield tree.findall("equality/joint"), {"polycoef": model.eq_data}
    for field, size in zip(tree.findall("asset/hfield"), model.hfield_size, strict=True):  # a world has one or none
        heights = model.hfield_data.reshape(model.hfield_nrow[0], model.hfield_ncol[0])[::-1]  # in a text +y is first
        yield [field], {"size": size[np.newaxis], "elevation": heights.reshape(1, -1)}
    yield tree.findall("keyframe/key"), {"qpos": model.key_qpos, "ctrl": model.key_ctrl}


def _put_in(elements: list[ElementTree.Element], rows: Rows) -> None:
    """Replaces the numbers of the attributes that are there; those that MuJoCo left out have its defaults."""
    for name, values in rows.items():
        for element, row in zip(elements, values, strict=True):
            if name in element.attrib:
                element.set(name, _digits(row, len(element.attrib[name].split())))


def _digits(row: Array, count: int) -> str:
    """The first numbers of a row with all of their digits."""
    return " ".join(repr(value) for value in np.ravel(row)[:count].tolist())
