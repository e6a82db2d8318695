"""Relief of overloaded joints of a fallen robot: the ground deflects them, and a servo at stall torque overheats."""

from __future__ import annotations

from hexapod_control.core.kinematics.body_pose import NEUTRAL
from hexapod_control.core.names import JOINTS
from hexapod_control.core.planner.planner_state import PlannerContext
from hexapod_control.core.posture.straight_moves import JointMove

MAX_TORQUE_SHARE = 0.7  # of the stall torque, above which a joint is relieved ...
REMAINING_TORQUE_SHARE = 0.3  # ... to this share


def relief(context: PlannerContext) -> JointMove | None:
    """Returns the move of the joints towards their measured angles; None if no torque is too high or none is known.

    The torque of a joint is estimated as its stiffness times its deflection, measured minus planned angle.
    """
    measured = context.sensors.joints
    if measured.sample is None or measured.fault:
        return None
    count = len(JOINTS)
    angles = [measured.sample[at : at + count] for at in range(0, len(measured.sample), count)]
    goal, overloaded = [], False
    for leg, planned, deflected in zip(context.robot.legs, context.joints, context.legs.of_whole(angles), strict=True):
        joints = []
        for joint, a, b in zip(leg.joints, planned, deflected, strict=True):
            remaining = REMAINING_TORQUE_SHARE * joint.stall_torque / joint.stiffness
            overloaded |= abs(b - a) > MAX_TORQUE_SHARE * joint.stall_torque / joint.stiffness
            relieved = min(max(a, b - remaining), b + remaining)
            joints.append(min(max(relieved, joint.lower), joint.upper))
        goal.append((joints[0], joints[1], joints[2]))
    return JointMove.between(context.robot, context.joints, goal, NEUTRAL) if overloaded else None
