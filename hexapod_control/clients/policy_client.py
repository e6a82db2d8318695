# SPDX-License-Identifier: Apache-2.0
"""The node of `hexapod policy run`: what the sensors measure goes into the policy, its joint targets to gait_planner.

The policy takes one step for each period of joint_states, so that it runs at its rate also in simulated time. It is
commanded as the walk is, on cmd_vel. gait_planner keeps the limits, and ends the run if they are exceeded.
"""

from __future__ import annotations

import math
import os
import time
from functools import partial

import numpy as np
from geometry_msgs.msg import Twist as TwistMessage
from geometry_msgs.msg import TwistStamped
from rcl_interfaces.srv import GetParameters
from sensor_msgs.msg import Imu, JointState, MultiDOFJointState
from std_msgs.msg import String

from hexapod_control.bringup.process_supervisor import StopSignal
from hexapod_control.clients.bounded_wait import DISCOVERY_S, SERVICE_TIMEOUT_S, BoundedWait, EndRequested
from hexapod_control.clients.connection_options import ConnectionOptions
from hexapod_control.clients.motion_client import MotionProgress
from hexapod_control.clients.robot_client import RobotClient
from hexapod_control.config.errors import PolicyFileError, RobotError
from hexapod_control.config.policy_file import Policy
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.motions.motion_topics import MotionState
from hexapod_control.core.motions.policy import PolicyBody, Sensed
from hexapod_control.core.robot import Robot
from hexapod_control.nodes.gait_planner.velocity_filter import VelocityFilter
from hexapod_control.ros import messages
from hexapod_control.ros.qos import COMMAND, LATCHED_HISTORY, NEWEST_SENSOR
from hexapod_control.ros.row_messages import FootLayout, JointLayout, MessageError

COMMAND_TIMEOUT_S = 0.5  # of cmd_vel; then the policy is to stand
MAX_AGE_S = 0.2  # of the newest reading of a sensor
LATE_S = 0.2  # of steps that take longer than the period
ROUNDING = 0.9  # share of the period after which a message counts as the next one: stamps are not exact
SENSORS = {
    "joint_states": "is the driver or the simulator running?",
    "imu/data": "the policy needs the attitude: has the robot an IMU, and is its driver running?",
    "foot_states": "the policy needs the loads of the feet: do servos or foot switches report them?",
}


class PolicyClient(RobotClient):
    """Runs one policy on one robot."""

    source_name = "policy"
    node_name = "policy"

    def __init__(self, options: ConnectionOptions, robot: Robot, policy: Policy, name: str) -> None:
        """`name` is shown while it runs. Raises RosNameError."""
        super().__init__(options)
        self.steps = 0
        self._policy = policy
        self._body = PolicyBody(robot, policy.level)
        self._run = f"{name}:{os.getpid()}"
        self._joints = JointLayout(robot)
        self._feet = FootLayout(robot)
        self._command = VelocityFilter(COMMAND_TIMEOUT_S)
        self._heard = dict.fromkeys(SENSORS, -math.inf)  # [s] steady time
        self._orientation = (0.0, 0.0, 0.0, 1.0)
        self._rates: Array = np.zeros(3)  # [rad/s]
        self._forces: Array = np.zeros(len(robot.legs))  # [N]
        self._last = -math.inf  # [s] stamp of the joint_states of the last step
        self._late = 0  # steps in a row that took longer than the period
        self._runs = False
        self._failure = ""
        self._progress = MotionProgress((self._run,), SERVICE_TIMEOUT_S)
        node = self._node
        self._targets = node.create_publisher(JointState, "policy_targets", COMMAND)
        self._settings = node.create_client(GetParameters, "gait_planner/get_parameters")
        node.create_subscription(JointState, "joint_states", self._on_joints, COMMAND)
        node.create_subscription(Imu, "imu/data", self._on_imu, NEWEST_SENSOR)
        node.create_subscription(MultiDOFJointState, "foot_states", self._on_feet, COMMAND)
        node.create_subscription(String, "motion_state", self._on_motion, LATCHED_HISTORY)
        kind = TwistStamped if options.stamped else TwistMessage
        node.create_subscription(kind, options.cmd_vel, self._on_command, COMMAND)

    def run(self, stop: StopSignal) -> None:
        """Runs until `stop`, then lets the robot stand. Raises RobotError if it does not begin, or is ended."""
        wait = BoundedWait(self, stop)
        try:
            wait.until_ready(DISCOVERY_S)
            self._check_rate(wait)
            for topic, remedy in SENSORS.items():
                wait.until(partial(self._is_heard, topic), DISCOVERY_S, f"no {topic} arrives: {remedy}")
            if self.state != "standing":
                raise RobotError(f"the robot is {self.state}: let it stand first (hexapod stand)")
            self._runs = True
            while not self._failure:
                wait.spin()
        except EndRequested:
            pass
        finally:
            begun, self._runs = self._runs, False
        if begun and not self._progress.over:
            BoundedWait(self, StopSignal()).request("stand")
        if self._failure:
            raise RobotError(self._failure)

    def _check_rate(self, wait: BoundedWait) -> None:
        """Raises RobotError unless gait_planner takes one step for each of the policy."""
        answer = self._settings.call_async(GetParameters.Request(names=["control_rate"]))
        wait.until(answer.done, SERVICE_TIMEOUT_S, "gait_planner does not say its control_rate")
        rate = answer.result().values[0].double_value
        if abs(rate * self._policy.period - 1.0) > 1e-3:
            raise RobotError(
                f"the policy has a period of {self._policy.period:g} s, gait_planner a control_rate of {rate:g} Hz: "
                f"start it with control_rate:={1.0 / self._policy.period:g}, or train the policy with {1.0 / rate:g} s"
            )

    def _is_heard(self, topic: str) -> bool:
        return time.monotonic() - self._heard[topic] <= MAX_AGE_S

    # --- messages -------------------------------------------------------------------------------------------

    def _on_command(self, message: TwistMessage | TwistStamped) -> None:
        stamp = messages.nanoseconds(message.header.stamp) * 1e-9 if isinstance(message, TwistStamped) else None
        twist = message.twist if isinstance(message, TwistStamped) else message
        now = self._node.get_clock().now().nanoseconds * 1e-9
        self._command.offer(messages.twist(twist), messages.non_planar(twist), stamp, now, time.monotonic())

    def _on_imu(self, message: Imu) -> None:
        reading = messages.inertial(message)
        if reading.orientation is None or reading.angular_velocity is None:
            return
        turn = message.orientation
        self._orientation = turn.x, turn.y, turn.z, turn.w
        self._rates = np.array(reading.angular_velocity)
        self._heard["imu/data"] = time.monotonic()

    def _on_feet(self, message: MultiDOFJointState) -> None:
        try:
            self._forces = self._feet.forces(message)
        except MessageError as error:
            self._end(f"foot_states: {error}")
            return
        self._heard["foot_states"] = time.monotonic()

    def _on_motion(self, message: String) -> None:
        state = MotionState.parse(message.data)
        if state.ended and self._runs and state.name == self._run:
            self._progress.update(state)
            self._end(self._progress.failure)

    def _on_joints(self, message: JointState) -> None:
        try:
            joints, velocities = self._joints.joints(message), self._joints.velocities(message)
        except MessageError as error:
            self._end(f"joint_states: {error}")
            return
        self._heard["joint_states"] = time.monotonic()
        seconds = messages.nanoseconds(message.header.stamp) * 1e-9
        if not self._runs or seconds - self._last < ROUNDING * self._policy.period:
            return
        self._last = seconds
        old = [topic for topic in SENSORS if not self._is_heard(topic)]
        if old:
            self._end(f"{old[0]} has stopped: {SENSORS[old[0]]}")
            return
        self._step(joints, velocities, message)

    def _step(self, joints: Array, velocities: Array, message: JointState) -> None:
        """One step of the policy."""
        self._command.expire(time.monotonic())
        body = self._body
        command = np.clip(np.array(self._command.twist), -body.top_speed, body.top_speed)
        sensed = Sensed(self._orientation, self._rates, joints, velocities, self._forces)
        period = self._policy.period
        begin = time.monotonic()
        try:
            joint_targets = body.targets(self._policy.act(body.observation(sensed, command)), command, period)
        except (PolicyFileError, ValueError) as error:  # ValueError: the action is not finite
            self._end(str(error))
            return
        took = time.monotonic() - begin
        self._late = self._late + 1 if took > period else 0
        if self._late * period > LATE_S:
            remedy = "a smaller network, or a faster computer"
            self._end(f"the policy takes {took:.3f} s for a step of {period:g} s: it needs {remedy}")
            return
        targets = self._joints.message(joint_targets, None, message.header.stamp)
        targets.header.frame_id = self._run
        self._targets.publish(targets)
        self.steps += 1

    def _end(self, failure: str) -> None:
        """Ends the run: without further targets the robot stands."""
        self._failure = self._failure or failure
        self._runs = False
