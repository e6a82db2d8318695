# SPDX-License-Identifier: Apache-2.0
"""The simulated world changed while the robot is in it: pushes, friction, load, another ground."""

import math

import numpy as np
import pytest
from geometry_msgs.msg import Vector3, Wrench
from rclpy.parameter import Parameter
from support.real_time.simulator_rig import Rig

pytestmark = pytest.mark.physics


@pytest.fixture
def rig(bench):
    return Rig(bench)


@pytest.fixture
def standing(rig):
    rig.stand()
    return rig


def change(rig, **values):
    [result] = [rig.node.set_parameters_atomically([Parameter(name, value=value) for name, value in values.items()])]
    return result


def place(rig):
    position = rig.truth[-1].pose.pose.position
    return np.array([position.x, position.y, position.z])


def test_a_push_moves_the_body_for_a_moment(standing):
    push = standing.bench.publisher(Wrench, "mujoco_sim/push")
    count = len(standing.truth)
    push.publish(Wrench(force=Vector3(y=30.0)))
    standing.wait(15)
    assert max(message.twist.twist.linear.y for message in standing.truth[count:]) > 0.02
    standing.wait(20)
    assert not standing.node.world.simulation.data.xfrc_applied.any()
    assert abs(standing.truth[-1].twist.twist.linear.y) < 0.02
    push.publish(Wrench(force=Vector3(x=1e4, y=-400.0)))  # limited to 500 N along each axis
    standing.bench.until(lambda: standing.node.world.simulation.data.xfrc_applied.any())
    assert sorted(set(standing.node.world.simulation.data.xfrc_applied.ravel().tolist())) == [-400.0, 0.0, 500.0]


def test_friction_and_payload_change_while_the_robot_stands(standing):
    before, mass = place(standing), standing.node.world.simulation.model.body_mass.sum()
    assert change(standing, friction=0.3, payload=1.0).successful
    standing.wait(10)
    model = standing.node.world.simulation.model
    assert model.body_mass.sum() == pytest.approx(mass + 1.0)
    assert set(model.geom_friction[:, 0]) == {0.3}
    assert place(standing) == pytest.approx(before, abs=0.01)
    assert standing.node.status()["friction"] == "0.3"


def test_a_bad_world_is_refused_and_the_old_one_stays(rig):
    simulation = rig.node.world.simulation
    for values in ({"world": "moon"}, {"friction": 0.0}, {"payload": math.nan}, {"timestep": 0.001}):
        assert not change(rig, **values).successful
    assert rig.node.world.simulation is simulation


def test_a_standing_robot_becomes_a_real_one_with_wrong_zeros_and_an_ideal_one_again(standing):
    assert change(standing, reality="typical", reality_seed=3).successful
    standing.wait(20)
    simulation = standing.node.world.simulation
    offset = simulation.data.qpos[simulation.world.position] - simulation.joints
    assert offset == pytest.approx(simulation.reality.zero_offset, abs=0.01)
    assert np.abs(offset).max() > math.radians(2.0)
    refused = change(standing, reality="new")
    assert not refused.successful and "reality must be one of ideal, typical, worn" in refused.reason
    assert change(standing, reality="ideal").successful
    standing.wait(20)
    assert standing.node.world.simulation.reality.is_ideal
