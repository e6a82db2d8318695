# SPDX-License-Identifier: Apache-2.0
"""Torques of legs that bear the weight, against the statics of single joints, and the limits that follow from them."""

from dataclasses import replace

import numpy as np
import pytest
from support.drives import ROBOTS, robot

from hexapod_control.core.kinematics.whole_body import standing_joints
from hexapod_control.core.statics.leg_loads import greatest_torque_share
from hexapod_control.core.statics.moving_mass import MovingMass, neutral_center
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.stance_regions import nominal_stance
from hexapod_control.core.workspace.stride_stability import MAX_TORQUE_SHARE, stable_share, stride_torque, usable_share
from hexapod_control.core.workspace.strides.steady_cycle import SteadyCycle
from hexapod_control.evaluation.robot_check.joint_torques import of_servos, standing_torques
from hexapod_control.evaluation.robot_check.subject import AXES

LIGHT = 0.001  # of the mass of a leg
TRIPOD = (True, False, True, False, True, False)
REAR_SHARE = 0.35  # of the length of the body, by which its center of mass is behind the middle


def with_light_legs(name):
    """A robot whose legs weigh nothing: all weight comes from the body."""
    machine = robot(name)
    links = ("coxa", "femur", "tibia")
    legs = [
        replace(leg, **{link: replace(getattr(leg, link), mass=LIGHT * getattr(leg, link).mass) for link in links})
        for leg in machine.legs
    ]
    return replace(machine, legs=tuple(legs))


@pytest.mark.parametrize("name", ["phantomx", "article", "heavy"])
@pytest.mark.parametrize("planted", [(True,) * 6, TRIPOD])
def test_the_greatest_torque_of_a_standing_robot_is_that_of_its_joints_one_by_one(name, planted):
    machine = with_light_legs(name)
    feet = np.array([complex(*foothold) for foothold in machine.footholds])
    found = greatest_torque_share(machine, feet, np.array(planted), complex(*neutral_center(machine)))
    one_by_one = np.abs(standing_torques(machine, standing_joints(machine), planted)) / of_servos(
        machine, "stall_torque"
    )
    assert found == pytest.approx(float(one_by_one.max()), rel=0.03)


def loaded_in_the_rear(name):
    """A robot whose body is three times as heavy, and most of it in the rear."""
    machine = robot(name)
    x, y, z = machine.body.center_of_mass
    center = (x - REAR_SHARE * machine.body.size[0], y, z)
    return replace(machine, body=replace(machine.body, mass=3.0 * machine.body.mass, center_of_mass=center))


def test_at_its_published_limits_a_robot_loaded_in_the_rear_needs_no_more_torque_than_its_servos_have():
    machine = loaded_in_the_rear("chica")
    capabilities = Capabilities.of(machine)
    gait, stance = capabilities.strides.gait, capabilities.neutral_stance
    stable = stable_share(gait, stance, neutral_center(machine))
    assert stride_torque(machine, gait, stance, 0.0) < MAX_TORQUE_SHARE < stride_torque(machine, gait, stance, stable)
    assert capabilities.envelope.stride_shares[gait.name] < stable
    for axis in AXES.values():
        top = capabilities.fastest(axis, [gait.name])
        limit = capabilities.envelope.limit(gait, machine.walk.height, 2.0, top)
        strides = capabilities.strides.at(machine.walk.height, limit.twist, limit.adaptation.moved, 1.0)
        centers = np.array([complex(*strides.disc(row, region).center) for row, region in enumerate(strides.regions)])
        cycle = SteadyCycle(machine, gait, top)
        share = cycle.torque_share(limit.swing_time, centers, MovingMass.of(machine))
        assert share < MAX_TORQUE_SHARE + 0.1  # between the tables, strides are interpolated


@pytest.mark.parametrize("name", ROBOTS)
def test_no_gait_of_a_shipped_robot_is_limited_by_torque(name):
    machine = robot(name)
    stance, center = nominal_stance(machine), neutral_center(machine)
    for gait in Capabilities.of(machine).gaits.values():
        assert usable_share(machine, gait) == (stable_share(gait, stance, center) if gait.sway is None else 1.0)
