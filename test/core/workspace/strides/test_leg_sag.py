# SPDX-License-Identifier: Apache-2.0
"""The sag of a leg under load, against the Jacobian of its foot."""

import cmath
import math
from dataclasses import replace

import numpy as np
import pytest
from support.drives import ROBOTS, robot

from hexapod_control.core.gait.gait_table import derived_gaits
from hexapod_control.core.kinematics.body_pose import NEUTRAL, Placement
from hexapod_control.core.kinematics.whole_body import joints_at_contact
from hexapod_control.core.statics.leg_compliance import compliance
from hexapod_control.core.statics.leg_loads import LoadedLeg
from hexapod_control.core.workspace.strides.leg_centers import bears_weight
from hexapod_control.core.workspace.strides.stride_search import stride_centers

FRICTION = 0.5

LOAD_N = 8.0
TOLERANCE = 0.02  # relative: joints over arrays are exact to half a millimetre of the foot
JOINT_FIELDS = ("coxa_joint", "femur_joint", "tibia_joint")


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("share", [0.9, 1.0, 1.15])
def test_the_sag_follows_from_load_and_friction_by_the_compliance_of_the_foot(name, share):
    machine = robot(name)
    leg, placement = machine.legs[0], Placement(NEUTRAL, machine.walk.height)
    hip, foothold = complex(*leg.hip[:2]), complex(*leg.foothold)
    point = hip + share * (foothold - hip)
    joints, reason, _ = joints_at_contact(leg, (point.real, point.imag), 0.0, placement, machine.foot_radius)
    assert reason is None
    heading = cmath.phase(point - hip) if leg.femur_lateral == 0.0 else leg.hip_yaw + joints[0]
    outward, up = np.array([math.cos(heading), math.sin(heading), 0.0]), np.array([0.0, 0.0, 1.0])
    soft = compliance(leg, joints)
    in_place = -(outward @ soft @ up) / (outward @ soft @ outward)  # horizontal force over load of a foot that sticks
    force = LOAD_N * (up + max(-FRICTION, min(in_place, FRICTION)) * outward)
    expected = up @ soft @ force
    assert LOAD_N * LoadedLeg.at(machine, leg, np.array(point)).sag().item() == pytest.approx(expected, rel=TOLERANCE)


def test_no_stride_center_lets_a_body_on_soft_servos_sag_too_far():
    machine = robot("phantomx")
    machine = replace(machine, legs=tuple(softer(leg, 0.3) for leg in machine.legs))
    gait = derived_gaits(machine)["tripod"]
    for leg, strides in zip(machine.legs, stride_centers(machine, gait), strict=True):
        moves = [complex(*offset.displacement(leg.hip[:2], leg.foothold)) for offset in strides.offsets]
        assert max(map(abs, moves)) > 0.005
        assert bears_weight(machine, leg, gait, complex(*leg.foothold) + np.array(moves)).all()


def softer(leg, factor):
    """The leg with servos of a share of their stiffness."""
    joints = {name: getattr(leg, name) for name in JOINT_FIELDS}
    return replace(leg, **{name: replace(each, stiffness=factor * each.stiffness) for name, each in joints.items()})
