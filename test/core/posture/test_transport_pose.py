# SPDX-License-Identifier: Apache-2.0
"""Legs folded for transport: compact, clear of the ground, within the joint limits."""

import math
from dataclasses import replace

import numpy as np
import pytest
from support.drives import ROBOTS, robot

from hexapod_control.core.kinematics.leg_kinematics import leg_forward
from hexapod_control.core.kinematics.support_detection import belly_height
from hexapod_control.core.posture.transport_pose import folded, raised

JOINT_MARGIN_RAD, GROUND_CLEARANCE_M = 0.05, 0.005  # from joint limits, of the feet above the ground


def turned_coxas(machine):
    """The same robot with coxas that cannot be straight: to one side in front, to the other behind."""
    legs = [
        replace(leg, coxa_joint=replace(leg.coxa_joint, lower=0.1) if leg.hip[0] > 0 else leg.coxa_joint)
        for leg in machine.legs
    ]
    legs = [
        replace(leg, coxa_joint=replace(leg.coxa_joint, upper=-0.1) if leg.hip[0] < 0 else leg.coxa_joint)
        for leg in legs
    ]
    return replace(machine, legs=tuple(legs))


def straight(leg):
    joint = leg.coxa_joint
    return float(np.clip(0.0, joint.lower + JOINT_MARGIN_RAD, joint.upper - JOINT_MARGIN_RAD))


def lowered_tibia_angle(machine, leg, femur):
    """The tibia angle with the foot GROUND_CLEARANCE_M above the ground on which the body lies, or at its limit."""
    knee = leg.hip[2] + leg.femur_vertical + leg.femur.length * math.sin(femur)
    foot = machine.foot_radius + GROUND_CLEARANCE_M - belly_height(machine)
    direction = math.asin(np.clip((foot - knee) / leg.tibia.length, -1.0, 1.0))
    return float(
        np.clip(direction - femur, leg.tibia_joint.lower + JOINT_MARGIN_RAD, leg.tibia_joint.upper - JOINT_MARGIN_RAD)
    )


def extension(leg, femur, tibia):
    knee, foot = leg_forward(leg, (0.0, femur, tibia))
    return max(knee[0], foot[0])


@pytest.mark.parametrize("change", [lambda machine: machine, turned_coxas], ids=["as described", "turned coxas"])
@pytest.mark.parametrize("name", ROBOTS)
def test_folded_legs_extend_least_of_41_femur_angles_with_the_tibia_as_low_as_the_ground_allows(name, change):
    machine = change(robot(name))
    for leg, (coxa, femur, tibia) in zip(machine.legs, folded(machine).tolist(), strict=True):
        assert coxa == pytest.approx(straight(leg))
        least, most = max(0.0, leg.femur_joint.lower + JOINT_MARGIN_RAD), leg.femur_joint.upper - JOINT_MARGIN_RAD
        step = (femur - least) / (most - least) * 40
        assert step == pytest.approx(round(step), abs=1e-9) and 0 <= round(step) <= 40
        assert tibia == pytest.approx(lowered_tibia_angle(machine, leg, femur))
        others = [
            extension(leg, other, lowered_tibia_angle(machine, leg, other)) for other in np.linspace(least, most, 41)
        ]
        assert extension(leg, femur, tibia) == pytest.approx(min(others))


@pytest.mark.parametrize("change", [lambda machine: machine, turned_coxas], ids=["as described", "turned coxas"])
@pytest.mark.parametrize("name", ROBOTS)
def test_legs_are_raised_with_their_femurs_as_when_folded_or_higher_and_their_tibias_as_they_were(name, change):
    machine = change(robot(name))
    femurs = folded(machine)[:, 1]
    for femur in (-0.3, 1.5):
        found = raised(machine, np.array([(0.2, femur, -1.0 - 0.1 * k) for k in range(len(machine.legs))]))
        assert found[:, 0] == pytest.approx([straight(leg) for leg in machine.legs])
        assert found[:, 1] == pytest.approx(np.maximum(femurs, femur))
        assert found[:, 2] == pytest.approx([-1.0 - 0.1 * k for k in range(len(machine.legs))])
