"""A fallen robot at rest gives way where the ground bends its joints: a servo overheats at its stall torque."""

from __future__ import annotations

from hexapod_control.core.kinematics.body_pose import NEUTRAL
from hexapod_control.core.names import JOINTS
from hexapod_control.core.planner.planner_state import PlannerContext
from hexapod_control.core.posture.straight_moves import JointMove

MAX_TORQUE_SHARE = 0.7  # of the stall torque, beyond which a joint gives way ...
LEFT_TORQUE_SHARE = 0.3  # ... until it bears no more than this


def relief(context: PlannerContext) -> JointMove | None:
    """Returns the move of the joints towards their measured angles; None if all can hold, or nothing is measured.

    The torque of a joint is its stiffness times the angle by which it is bent.
    """
    measured = context.sensors.joints
    if measured.sample is None or measured.fault:
        return None
    count = len(JOINTS)
    angles = [measured.sample[at : at + count] for at in range(0, len(measured.sample), count)]
    goal, strained = [], False
    for leg, held, bent in zip(context.robot.legs, context.joints, context.legs.of_whole(angles), strict=True):
        joints = []
        for joint, a, b in zip(leg.joints, held, bent, strict=True):
            left = LEFT_TORQUE_SHARE * joint.stall_torque / joint.stiffness
            strained |= abs(b - a) > MAX_TORQUE_SHARE * joint.stall_torque / joint.stiffness
            eased = min(max(a, b - left), b + left)
            joints.append(min(max(eased, joint.lower), joint.upper))
        goal.append((joints[0], joints[1], joints[2]))
    return JointMove.between(context.robot, context.joints, goal, NEUTRAL) if strained else None
