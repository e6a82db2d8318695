# SPDX-License-Identifier: Apache-2.0
"""Sends a simulated robot to a goal with Nav2; the exit code is 1 if it does not arrive, or collides on the way.

Arrival is judged by the ground truth of the simulator, in whose frame `world` the map has the same origin.
"""

from __future__ import annotations

import argparse
import math
import sys
import time

import rclpy
from action_msgs.msg import GoalStatus
from nav2_msgs.action import NavigateToPose
from nav_msgs.msg import Odometry
from rclpy.action import ActionClient
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import UInt32

TOLERANCE_M = 0.3  # Nav2's own is 0.1 m, the rest is drift of map and odometry
RETRY_S = 3.0  # between two attempts, while Nav2 starts or has no map of the goal yet
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Walk(Node):
    """The client of one walk to a goal, with what the simulator knows about it."""

    def __init__(self, goal: tuple[float, float]) -> None:
        super().__init__("nav2_goal")
        self._goal = goal
        self._client = ActionClient(self, NavigateToPose, "navigate_to_pose")
        self.distance = math.inf  # [m] to the goal
        self.collisions = 0
        self.create_subscription(Odometry, "simulator/floating_base_state", self._on_truth, 10)
        self.create_subscription(UInt32, "simulator/collisions", self._on_collisions, LATCHED)

    def _on_truth(self, message: Odometry) -> None:
        position = message.pose.pose.position
        self.distance = math.dist((position.x, position.y), self._goal)

    def _on_collisions(self, message: UInt32) -> None:
        self.collisions = message.data

    def attempt(self, deadline: float) -> str:
        """Sends the goal and waits for the result. Returns an empty text if Nav2 reports success, else the reason."""
        if not self._client.wait_for_server(timeout_sec=RETRY_S):
            return "there is no action navigate_to_pose"
        request = NavigateToPose.Goal()
        request.pose.header.frame_id = "map"
        request.pose.pose.position.x, request.pose.pose.position.y = self._goal
        request.pose.pose.orientation.w = 1.0
        handle = self._result_of(self._client.send_goal_async(request), deadline)
        if handle is None or not handle.accepted:
            return "Nav2 refuses the goal"
        answer = self._result_of(handle.get_result_async(), deadline)
        if answer is None:
            return "Nav2 does not end within the time limit"
        return "" if answer.status == GoalStatus.STATUS_SUCCEEDED else f"Nav2 ends with status {answer.status}"

    def _result_of(self, future, deadline):
        rclpy.spin_until_future_complete(self, future, timeout_sec=max(0.0, deadline - time.monotonic()))
        return future.result() if future.done() else None


def main() -> int:
    """Walks to the goal of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--x", type=float, default=-1.5, help="of the goal in map [m]")
    parser.add_argument("--y", type=float, default=-0.1, help="of the goal in map [m]")
    parser.add_argument("--limit", type=float, default=400.0, help="time limit, from the start of Nav2 on [s]")
    options = parser.parse_args()
    deadline = time.monotonic() + options.limit
    rclpy.init()
    walk = Walk((options.x, options.y))
    reason = "the time limit has passed"
    while time.monotonic() < deadline:
        reason = walk.attempt(deadline)
        if not reason:
            break
        print(f"nav2_goal: {reason}, {walk.distance:.2f} m from the goal", flush=True)
        time.sleep(RETRY_S)
    if not reason and walk.distance > TOLERANCE_M:
        reason = f"Nav2 reports success {walk.distance:.2f} m from the goal by ground truth, more than {TOLERANCE_M} m"
    if not reason and walk.collisions:
        reason = f"the robot has collided {walk.collisions} times"
    print(f"nav2_goal: {reason or f'reached, {walk.distance:.2f} m from the goal by ground truth'}", flush=True)
    return 1 if reason else 0


if __name__ == "__main__":
    sys.exit(main())
