"""How far the body sags at a leg by the compliance of its servos.

A leg whose foot is far from its hip deflects more under the weight: the body tilts, feet in swing touch the ground
early, and feet slip. In a tripod, a single leg on one side bears half of the weight. Friction keeps a foot from sliding
outward, which makes the leg stiffer.
See docs/architecture/walking-mathematics.md, "Stride centers".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.kinematics.arrays import Array, ComplexArray
from hexapod_control.core.kinematics.leg_batch import joints_at_contacts
from hexapod_control.core.robot import Leg, Robot
from hexapod_control.core.statics.static_stability import GRAVITY

TINY = 1e-12  # [m/N]
FRICTION = 0.5  # coefficient of friction of a foot, a cautious value
MAX_SAG_SHARE = 0.4  # of the lift height; more only if it is more at the neutral foothold


def stiff_enough(robot: Robot, leg: Leg, gait: Gait, centers: ComplexArray) -> NDArray[np.bool_]:
    """True (C,) for centers x + i y [m, base_footprint] at which the leg does not sag too far in a gait.

    The weight is shared by all legs in stance but one: in a tripod a single leg bears that of its side.
    """
    standing = len(robot.legs) * gait.duty_factor
    load = robot.mass * GRAVITY / max(standing - 1.0, 1.0)
    neutral = sag(robot, leg, load, np.array([complex(*leg.foothold)])).item()
    limit = max(MAX_SAG_SHARE * robot.walk.lift_height, neutral * (1.0 + 1e-9))
    stiff: NDArray[np.bool_] = sag(robot, leg, load, centers) <= limit
    return stiff


def sag(robot: Robot, leg: Leg, load: float, points: ComplexArray) -> Array:
    """Sag [m] of the body at a leg under a load [N], with its foot at points x + i y [m, base_footprint].

    It follows from the compliance of the foot in the plane of the leg, vertical (zz), horizontal (rr) and coupled (rz),
    with the lever arms about femur and tibia joint; the coxa axis is taken as vertical. A horizontal force of the
    ground, limited by friction, keeps the foot in place.
    """
    contacts = (points.real, points.imag, np.zeros(points.shape))
    _, femur, tibia = joints_at_contacts(leg, robot.foot_radius, robot.walk.height, contacts).joints
    knee, foot = leg.femur.length * np.exp(1j * femur), leg.tibia.length * np.exp(1j * (femur + tibia))
    arms = ((knee + foot, leg.joints[1].stiffness), (foot, leg.joints[2].stiffness))
    zz = sum(arm.real**2 / stiffness for arm, stiffness in arms)
    rr = sum(arm.imag**2 / stiffness for arm, stiffness in arms)
    rz = sum(-arm.real * arm.imag / stiffness for arm, stiffness in arms)
    pull = np.clip(-rz / np.maximum(rr, TINY), -FRICTION, FRICTION)
    sags: Array = load * (zz + rz * pull)
    return sags
