# SPDX-License-Identifier: Apache-2.0
"""The exported MuJoCo model is the simulator's: the same numbers, and the same joints in a walk."""

import mujoco
import numpy as np
import pytest

from hexapod_control.cli.main import main
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.planner.planner import Planner
from hexapod_control.evaluation.lockstep import CONTROL_PERIOD_S, Lockstep
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.start_poses import standing_pose
from hexapod_control.sim.world_settings import WorldSettings

PHYSICS = ("body_", "geom_", "jnt_", "dof_", "actuator_", "hfield_", "exclude_", "sensor_", "qpos0")
UNUSED = ("geom_rgba", "jnt_actfrcrange")  # colors; limits that are switched off


SHAPES = ("geom_type", "geom_size", "geom_rbound", "geom_aabb")


def exported(capsys, name, **options):
    words = [word for key, value in options.items() for word in (f"--{key.replace('_', '-')}", str(value))]
    assert main(["mjcf", name, *words]) == 0
    return mujoco.MjModel.from_xml_string(capsys.readouterr().out)


def simulated(name, **options):
    file = load(name)
    return Simulation(file.robot, urdf(file), WorldSettings(**options))


class Recorder(Lockstep):
    """A lock step that notes targets and joints of every control period."""

    def follow(self, targets, observe):
        super().follow(targets, observe)
        self.notes.append((targets, self.simulation.joints))


def walk(simulation, twist, seconds):
    """Joint targets and joints (k, n, 3) [rad] of a walk from the keyframe."""
    lockstep = Recorder(simulation, Planner(simulation.robot))
    lockstep.notes = []
    lockstep.stand()
    simulation.reset(standing_pose(simulation.robot))
    lockstep.notes.clear()
    lockstep.planner.command(twist)
    for _ in range(round(seconds / CONTROL_PERIOD_S)):
        lockstep.tick()
    return map(np.array, zip(*lockstep.notes, strict=True))


@pytest.mark.physics
@pytest.mark.parametrize(
    ("name", "options"),
    [("phantomx", {}), ("octopod", {"world": "blocks", "seed": 3}), ("chica", {"world": "bumps", "payload": 0.1})],
)
def test_a_walk_moves_the_joints_in_plain_mujoco_as_in_the_simulator(name, options, capsys):
    targets, joints = walk(simulated(name, **options), Twist(0.05, 0.01, 0.1), 3.0)
    model = exported(capsys, name, **options)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key("standing").id)
    addresses = model.jnt_qposadr[model.actuator_trnid[:, 0]]
    assert np.ptp(joints, axis=0).max() > 0.1
    for target, joint in zip(targets, joints, strict=True):
        data.ctrl[:] = target.ravel()
        mujoco.mj_step(model, data, nstep=round(CONTROL_PERIOD_S / model.opt.timestep))
        assert np.abs(data.qpos[addresses] - joint.ravel()).max() <= 1e-6


@pytest.mark.parametrize("world", ["slope", "bumps", "obstacles"])
@pytest.mark.parametrize("reality", ["ideal", "worn"])
def test_the_model_has_the_numbers_of_the_simulator(world, reality, capsys):
    model = exported(capsys, "phantomx", world=world, reality=reality, reality_seed=4)
    original = simulated("phantomx", world=world, reality=reality, reality_seed=4)
    zeros = original.reality.zero_offset
    assert model.actuator_biasprm[:, 0] == pytest.approx(model.actuator_gainprm[:, 0] * zeros.ravel(), abs=1e-12)
    model.actuator_biasprm[:, 0] = 0.0
    round_ends = (model.geom_type != original.model.geom_type).nonzero()[0]
    assert (model.geom_type[round_ends] == mujoco.mjtGeom.mjGEOM_CAPSULE).all()
    was, now = original.model.geom_size[round_ends], model.geom_size[round_ends]
    longest = np.where(
        model.geom_bodyid[round_ends] > 0, np.maximum(was[:, 1], was[:, 0] + 1e-3), was[:, :2].sum(axis=1)
    )
    assert (now[:, 0] == was[:, 0]).all() and (now[:, :2].sum(axis=1) <= longest).all()
    for name in SHAPES:  # of a leg's links, whose ends are rounded
        getattr(model, name)[round_ends] = getattr(original.model, name)[round_ends]
    for name in filter(lambda name: name.startswith(PHYSICS) and name not in UNUSED, dir(model)):
        mine, its = getattr(model, name), getattr(original.model, name)
        assert mine == pytest.approx(its, rel=1e-12, abs=1e-15), name
    assert model.key("standing").qpos == pytest.approx(original.data.qpos, abs=1e-15)


@pytest.mark.parametrize("world", ["flat", "obstacles", "posts", "stones"])
def test_mjx_has_contacts_of_all_shapes_and_looks_at_those_near_the_robot(world, capsys):
    model = exported(capsys, "quadruped", world=world)
    colliding = model.geom_contype > 0
    assert not (model.geom_type[colliding] == mujoco.mjtGeom.mjGEOM_CYLINDER).any()
    shapes = (colliding & (model.geom_bodyid > 0)).sum()
    assert [model.numeric(name).data[0] for name in ("max_geom_pairs", "max_contact_points")] == [8 * shapes] * 2


def test_the_head_says_what_is_outside_of_the_model_only_for_a_robot_with_errors(capsys):
    for reality, outside in (("ideal", False), ("typical", True)):
        assert main(["mjcf", "phantomx", "--reality", reality]) == 0
        assert ("Outside of it, and only in the simulator" in capsys.readouterr().out) is outside


def test_a_world_that_does_not_exist_is_refused_in_one_sentence(capsys):
    assert main(["mjcf", "phantomx", "--world", "moon"]) == 2
    assert "--world must be one of flat" in capsys.readouterr().err
