"""Starts and stops the gait clock: it runs while the robot moves or a foot is not at its neutral foothold.

A standing robot does not step while a foot is guided, after a halt, or in a body pose in which it cannot stride.
Contact points are in base_footprint [m].
"""

from __future__ import annotations

from collections.abc import Sequence

from hexapod_control.core.kinematics.leg_kinematics import LegJoints
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.robot import Robot
from hexapod_control.core.statics.static_stability import center_of_mass_in_footprint
from hexapod_control.core.walking.body.body_control import BodyControl
from hexapod_control.core.walking.feet.foot_motion import FootMotion
from hexapod_control.core.walking.gait_change.gait_change_scheduler import first_phase
from hexapod_control.core.walking.speed_control import SpeedControl
from hexapod_control.core.workspace.stance_regions import StanceRegions, StanceRegionTable

NEUTRAL_TOLERANCE = 0.005  # [m] distance from its neutral foothold above which a foot of a standing robot steps
STOP_TOLERANCE = 2 * NEUTRAL_TOLERANCE / 5  # [m] distance of all feet from their footholds at which the clock stops


def is_stepping(
    goal: Twist, motion: FootMotion, body: BodyControl, speed: SpeedControl, stances: StanceRegionTable
) -> bool:
    """Returns True while the feet step, or will step next; `goal` is the twist to be executed."""
    moving = not (goal.is_zero and speed.twist.is_zero)
    if moving or motion.running:
        return True
    if not (body.walkable and _can_step(motion, speed)):
        return False
    return motion.distance_from_neutral(stances.at(body.height)) > NEUTRAL_TOLERANCE


def start_or_stop(
    goal: Twist,
    motion: FootMotion,
    body: BodyControl,
    speed: SpeedControl,
    stance: StanceRegions,
    robot: Robot,
    joints: Sequence[LegJoints],
) -> None:
    """Starts or stops the gait clock; `goal` is the twist to be executed, `joints` (n, 3) [rad] are the present ones.

    It starts at a phase at which the planted feet support the robot in the first swing.
    """
    still = goal.is_zero and speed.twist.is_zero
    if motion.running:
        if still and motion.all_planted and motion.distance_from_neutral(stance) <= STOP_TOLERANCE:
            motion.running = False
    elif (
        _can_step(motion, speed)
        and (not still or motion.distance_from_neutral(stance) > NEUTRAL_TOLERANCE)
        and body.can_start_walking(motion.feet)
    ):
        contacts = [(foot.x, foot.y) for foot in motion.feet]
        center = center_of_mass_in_footprint(robot, joints, body.pose)
        motion.start(first_phase(motion.clock.gait, contacts, center))


def _can_step(motion: FootMotion, speed: SpeedControl) -> bool:
    """True while all feet stand, none is guided, and the walk is not halted."""
    return motion.all_in_stance and not speed.halted
