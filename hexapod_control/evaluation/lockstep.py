# SPDX-License-Identifier: Apache-2.0
"""Runs planner and physics in lock step: without ROS and without a clock, so that every run gives the same figures.

A tick is what the nodes do together: planner, inverse kinematics, then physics for one control period.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.kinematics.body_pose import quaternion_angles
from hexapod_control.core.kinematics.leg_kinematics import inverse
from hexapod_control.core.kinematics.se2 import Pose, Twist
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState, TickPlan
from hexapod_control.core.robot import Robot
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.start_poses import sitting_pose
from hexapod_control.sim.world_settings import WorldSettings

CONTROL_PERIOD_S = 0.02
TIMEOUT_S = 20.0  # for standing up, and for reaching a twist
FULL_SHARE = 0.999  # of the commanded twist that counts as reached


class WalkError(RuntimeError):
    """The robot did not reach the state or twist that the measurement requires."""


class Lockstep:
    """A planner that drives a simulated robot tick by tick."""

    def __init__(self, simulation: Simulation, planner: Planner) -> None:
        self.simulation = simulation
        self.planner = planner
        self.unreachable = 0
        self._targets: NDArray[np.float64] = simulation.joints

    def tick(self, observe: Callable[[Simulation], None] | None = None) -> TickPlan:
        """Runs one control period and returns its plan; `observe` is called after every physics step."""
        plan = self.plan()
        if plan.feet is not None:
            solution = inverse(self.simulation.robot, plan.feet, self._targets)
            if solution.reached:
                self._targets = solution.joints
            else:
                self.unreachable += 1
        elif plan.joint_motion is not None:
            self._targets = plan.joint_motion
        self.follow(self._targets, observe)
        return plan

    def plan(self) -> TickPlan:
        """Computes the plan of this tick."""
        return self.planner.step(CONTROL_PERIOD_S)

    def follow(self, targets: NDArray[np.float64], observe: Callable[[Simulation], None] | None) -> None:
        """Simulates one control period with joint targets (n, 3) [rad]."""
        self.simulation.step(targets, CONTROL_PERIOD_S, observe)

    def stand(self) -> None:
        """Stands up from the present joint angles. Raises WalkError if that takes too long."""
        self.planner.set_measured_joints(self.simulation.joints)
        refusal = self.planner.stand()
        if refusal:
            raise WalkError(f"standing up is refused: {refusal}")
        self._until(lambda plan: plan.state is RobotState.STANDING, "stand")

    def reach(self, twist: Twist) -> None:
        """Walks until the executed twist is the commanded one. Raises WalkError if that takes too long."""
        self.planner.command(twist)
        goal = np.array(twist)
        self._until(
            lambda plan: np.abs(np.array(plan.twist) - goal).max() <= (1.0 - FULL_SHARE) * np.abs(goal).max(),
            f"reach the twist {tuple(twist)}",
        )

    def _until(self, reached: Callable[[TickPlan], bool], what: str) -> None:
        for _ in range(round(TIMEOUT_S / CONTROL_PERIOD_S)):
            if reached(self.tick()):
                return
        raise WalkError(f"the robot did not {what} within {TIMEOUT_S:g} s, it is {self.planner.state.value}")


def standing_lockstep(robot: Robot, text: str, world: WorldSettings) -> Lockstep:
    """Returns a lock step whose robot stands in a world; `text` is its URDF."""
    simulation = Simulation(robot, text, world)
    simulation.reset(sitting_pose(robot))
    lockstep = Lockstep(simulation, Planner(robot))
    lockstep.stand()
    return lockstep


def planar_pose(simulation: Simulation) -> Pose:
    """Returns the true planar pose of base_link."""
    x, y = simulation.data.qpos[:2]
    w, i, j, k = simulation.data.qpos[3:7]
    yaw = quaternion_angles(i, j, k, w)[2]
    return Pose(float(x), float(y), yaw)
