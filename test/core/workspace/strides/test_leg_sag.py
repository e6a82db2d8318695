"""The sag of a leg under load, against the Jacobian of its foot."""

from dataclasses import replace

import numpy as np
import pytest
from support.drives import ROBOTS, robot

from hexapod_control.core.gait.gait_table import derived_gaits
from hexapod_control.core.kinematics.body_pose import NEUTRAL, Placement
from hexapod_control.core.kinematics.rolling_contact import joints_at_contact
from hexapod_control.core.statics.leg_compliance import compliance
from hexapod_control.core.workspace.strides.leg_sag import sag, stiff_enough
from hexapod_control.core.workspace.strides.stride_search import stride_centres

LOAD = 8.0  # [N]
TOLERANCE = 0.02  # relative: joints over arrays are exact to half a millimetre of the foot
JOINT_FIELDS = ("coxa_joint", "femur_joint", "tibia_joint")


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("share", [0.9, 1.0, 1.15])
def test_the_sag_is_the_load_times_the_vertical_compliance_of_the_foot(name, share):
    machine = robot(name)
    leg, placement = machine.legs[0], Placement(NEUTRAL, machine.walk.height)
    hip, foothold = complex(*leg.hip[:2]), complex(*leg.foothold)
    point = hip + share * (foothold - hip)
    joints, reason, _ = joints_at_contact(leg, (point.real, point.imag), 0.0, placement, machine.foot_radius)
    assert reason is None
    expected = LOAD * compliance(leg, joints)[2, 2]
    assert sag(machine, leg, LOAD, np.array([point])).item() == pytest.approx(expected, rel=TOLERANCE)


@pytest.mark.parametrize("factor", [1.0, 0.3])
def test_no_stride_centre_lets_the_body_sag_too_far(factor):
    machine = robot("phantomx")
    machine = replace(machine, legs=tuple(softer(leg, factor) for leg in machine.legs))
    gait = derived_gaits(machine)["tripod"]
    for leg, strides in zip(machine.legs, stride_centres(machine, gait), strict=True):
        moves = [complex(*offset.displacement(leg.hip[:2], leg.foothold)) for offset in strides.offsets]
        assert max(map(abs, moves)) > 0.005
        assert stiff_enough(machine, leg, gait, complex(*leg.foothold) + np.array(moves)).all()


def softer(leg, factor):
    """The leg with servos of a share of their stiffness."""
    joints = {name: getattr(leg, name) for name in JOINT_FIELDS}
    return replace(leg, **{name: replace(each, stiffness=factor * each.stiffness) for name, each in joints.items()})
