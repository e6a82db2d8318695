"""How far dead reckoning is from the truth after a drive with turns; core and physics in lock step."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hexapod_control.core.odometry import Odometry
from hexapod_control.core.se2 import Twist, wrap
from hexapod_control.sim.lockstep import CONTROL_PERIOD, Lockstep
from hexapod_control.sim.quality import planar_pose

DRIVE = (  # twist and how long [s]: a minute with everything in it
    (Twist(0.1, 0.0, 0.0), 10.0),
    (Twist(0.1, 0.0, 0.4), 10.0),
    (Twist(0.0, 0.1, 0.0), 8.0),
    (Twist(0.0, 0.0, 0.5), 8.0),
    (Twist(0.07, 0.07, 0.0), 8.0),
    (Twist(0.1, 0.0, -0.4), 10.0),
    (Twist(0.0, 0.0, 0.0), 6.0),
)


@dataclass(frozen=True, slots=True)
class Drift:
    """Odometry against ground truth over a drive."""

    distance: float  # [m] of the true path
    position: float  # [m] greatest error on the way
    heading: float  # [rad] greatest error on the way

    @property
    def share(self) -> float:
        """Position error over the distance."""
        return self.position / self.distance

    @property
    def heading_per_metre(self) -> float:
        """[rad/m]."""
        return self.heading / self.distance


def drift(lockstep: Lockstep, drive: tuple[tuple[Twist, float], ...] = DRIVE) -> Drift:
    """Drives a standing robot and compares. Odometry sees measured joints and the planned support, nothing else."""
    simulation = lockstep.simulation
    odometry = Odometry(simulation.robot)
    start = last = planar_pose(simulation)
    distance = position = heading = 0.0
    for twist, seconds in drive:
        for _ in range(round(seconds / CONTROL_PERIOD)):
            lockstep.planner.command(twist)
            plan = lockstep.tick()
            odometry.update(simulation.joints, plan.support.tolist(), CONTROL_PERIOD)
            now = planar_pose(simulation)
            distance += math.hypot(now.x - last.x, now.y - last.y)
            last = now
            true = start.inverse() @ now
            position = max(position, math.hypot(odometry.pose.x - true.x, odometry.pose.y - true.y))
            heading = max(heading, abs(wrap(odometry.pose.yaw - true.yaw)))
    return Drift(distance, position, heading)
