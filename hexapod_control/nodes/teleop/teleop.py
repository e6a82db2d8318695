# SPDX-License-Identifier: Apache-2.0
"""Node teleop: turns the Joy messages of a gamepad into cmd_vel, body_pose, gait, and calls of stand, sit and stop."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from geometry_msgs.msg import Pose, TwistStamped
from geometry_msgs.msg import Twist as TwistMessage
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.client import Client
from rclpy.duration import Duration
from rclpy.task import Future
from sensor_msgs.msg import Joy
from std_msgs.msg import String
from std_srvs.srv import Trigger

from hexapod_control.config import motion_file
from hexapod_control.config.errors import MotionFileError
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.motions.motion_topics import MotionRequest
from hexapod_control.core.planner.tick_plan import UPRIGHT
from hexapod_control.core.steering.gamepad_map import GamepadState
from hexapod_control.core.steering.gamepad_teleop import GamepadTeleop, TeleopCommands
from hexapod_control.nodes.announcements.drive_announcement import DriveAnnouncement
from hexapod_control.nodes.odometry.stored_values import usage_folder
from hexapod_control.nodes.teleop.settings import TeleopSettings
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.node_process import run
from hexapod_control.ros.parameters import declare
from hexapod_control.ros.qos import COMMAND, DELIVERY_TIME_S, EVENTS, LATCHED
from hexapod_control.ros.row_messages import MessageError

SOURCE = "joystick"
WATCH_PERIOD_S = 0.02  # between two checks of the gamepad's silence
MAX_LIMIT = 100.0  # [m/s, rad/s]
SERVICES = ("stand", "sit", "stop")


class TeleopNode(GuardedNode):
    """Connects GamepadTeleop to ROS and stops the robot when the gamepad is silent."""

    def __init__(self, **options: Any) -> None:
        """Raises ParameterError for an invalid parameter."""
        super().__init__("teleop", **options)
        self.settings = declare(self, TeleopSettings, self._changed)
        self.teleop = GamepadTeleop(self.settings.map, self.settings.scaling)
        self._last_joy: float | None = None  # [s] steady time of the last valid Joy; None: the gamepad is silent
        stamped = self.settings.enable_stamped_cmd_vel
        self._cmd_vel = self.create_publisher(TwistStamped if stamped else TwistMessage, "cmd_vel", COMMAND)
        self._body_pose = self.create_publisher(Pose, "body_pose", COMMAND)
        self._gait = self.create_publisher(String, "gait", COMMAND)
        self._motion = self.create_publisher(String, "motion", COMMAND)
        self._posture_clients: dict[str, Client] = {name: self.create_client(Trigger, name) for name in SERVICES}
        self._planner_parameters = self.create_client(SetParameters, "gait_planner/set_parameters")
        self._announcement = DriveAnnouncement(self, SOURCE)
        self.create_subscription(TwistMessage, "velocity_limits", self.on_velocity_limits, LATCHED)
        self.create_subscription(String, "gaits", self.on_gaits, LATCHED)
        self.create_subscription(String, "gait_selected", self.on_gait_selected, LATCHED)
        self.create_subscription(String, "gait_state", self.on_gait_state, LATCHED)
        self.create_subscription(Pose, "body_pose_achieved", self.on_body_pose_achieved, LATCHED)
        self.create_subscription(Joy, "joy", self.on_joy, EVENTS)
        self.create_timer(WATCH_PERIOD_S, self.watch, clock=self.steady)

    # --- gamepad --------------------------------------------------------------------------------------------

    def on_joy(self, message: Joy) -> None:
        """Sends the commands for a new state of the gamepad."""
        pad = GamepadState(message.axes, message.buttons, time.monotonic())
        try:
            commands = self.teleop.update(pad)
        except ValueError as error:
            raise MessageError(f"{error}; check the driver of the gamepad") from None
        if self._last_joy is None:
            missing = ", ".join(self.teleop.map.missing(pad))
            if missing:
                text = f"joy: this gamepad has no {missing}: set other numbers, or use game_controller_node"
                self.report("missing", ReportLevel.WARNING, text)
        if self.teleop.ignored:
            self.report("ignored axes", ReportLevel.WARNING, f"joy: {self.teleop.ignored}")
        self._last_joy = time.monotonic()
        self._send(commands)

    def watch(self) -> None:
        """Stops the robot if the gamepad is silent."""
        if self._last_joy is None or time.monotonic() - self._last_joy <= self.settings.joy_timeout:
            return
        self._last_joy = None
        if self.teleop.driving:
            text = f"joy: no message for {self.settings.joy_timeout:g} s while driving: stopped; "
            remedy = "is the gamepad connected, and autorepeat_rate of its driver above 0?"
            self.report("silent", ReportLevel.WARNING, text + remedy)
        self._send(self.teleop.lost())

    def _send(self, commands: TeleopCommands) -> None:
        if commands.twist is not None:
            self._drive(commands.twist)
        if commands.call:
            self._call(commands.call)
        if commands.pose is not None:
            self._body_pose.publish(messages.body_pose_message(commands.pose))
        if commands.gait:
            self._gait.publish(messages.text(commands.gait))
        if commands.lift is not None:
            self._set_lift(commands.lift)
        if commands.motion:
            name = self.settings.motion
            self.threads.run_outside(lambda: _motion(name), self._play)
        if commands.hint:
            self.report("hint", ReportLevel.OK, commands.hint)

    def _drive(self, twist: Twist) -> None:
        if self.settings.enable_stamped_cmd_vel:
            stamp = self.get_clock().now().to_msg()
            self._cmd_vel.publish(messages.twist_stamped_message(twist, stamp, self.settings.frame))
        else:
            self._cmd_vel.publish(messages.twist_message(twist))
        if self.teleop.driving:
            self._announcement.announce()

    def _call(self, service: str) -> None:
        client = self._posture_clients[service]
        if not client.service_is_ready():
            self.report(
                f"no {service}", ReportLevel.ERROR, f"no node offers the service {service}; is gait_planner running?"
            )
            return
        client.call_async(Trigger.Request()).add_done_callback(lambda future: self._report_refusal(service, future))

    def _report_refusal(self, service: str, future: Future) -> None:
        response: Trigger.Response | None = future.result()
        if response is not None and not response.success:
            self.report(service, ReportLevel.WARNING, f"{service} refused: {response.message}")

    def _play(self, motion: MotionRequest | str) -> None:
        if isinstance(motion, str):
            self.report("motion", ReportLevel.WARNING, motion, every=0.0)
        else:
            self._motion.publish(messages.text(motion.data))

    def _set_lift(self, share: float) -> None:
        if not self._planner_parameters.service_is_ready():
            self.report("lift", ReportLevel.WARNING, "lift_scale cannot be set: is gait_planner running?")
            return
        value = ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=share)
        request = SetParameters.Request(parameters=[Parameter(name="lift_scale", value=value)])
        self._planner_parameters.call_async(request)
        self.report("lift", ReportLevel.OK, f"steps at {100.0 * share:.0f} % of the robot's step height", every=0.0)

    # --- robot ------------------------------------------------------------------------------------------

    def on_velocity_limits(self, message: TwistMessage) -> None:
        """Stores the velocity limits, to which full deflection is scaled."""
        limits = messages.twist(message)
        if not all(0.0 <= limit <= MAX_LIMIT for limit in limits):
            raise MessageError(f"{tuple(limits)} are not velocity limits; send numbers from 0 to {MAX_LIMIT:g}")
        self.teleop.robot.maxima = limits

    def on_gaits(self, message: String) -> None:
        """Stores the names of all gaits."""
        self.teleop.robot.gaits = tuple(name.strip() for name in message.data.split(",") if name.strip())

    def on_gait_selected(self, message: String) -> None:
        """Stores the selected gait."""
        self.teleop.robot.gait = message.data

    def on_gait_state(self, message: String) -> None:
        """Stores the state of the robot."""
        self.teleop.robot.state = message.data
        self.teleop.robot.upright = message.data in UPRIGHT

    def on_body_pose_achieved(self, message: Pose) -> None:
        """Stores the body pose that the robot has reached."""
        self.teleop.robot.pose = messages.body_pose(message)

    # --- changes and end ---------------------------------------------------------------------------------

    def _changed(self, settings: TeleopSettings) -> None:
        self.settings = settings
        self.teleop.map, self.teleop.scaling = settings.map, settings.scaling

    def safe_stop(self, callback: str) -> None:
        """Sends a zero; the dead-man has to be released before it is accepted again."""
        driving = self.teleop.driving
        self.teleop.lost()
        if driving:
            self._drive(ZERO)

    def request_stop(self) -> None:
        """Stops the robot."""
        self.safe_stop("end")

    def publish_final_state(self) -> None:
        """Waits until the last zero is delivered."""
        self._cmd_vel.wait_for_all_acked(Duration(seconds=DELIVERY_TIME_S))

    def status(self) -> Mapping[str, object]:
        """Values for /diagnostics."""
        return {
            "gamepad": "silent" if self._last_joy is None else "connected",
            "driving": "yes" if self.teleop.driving else "no",
            "mode": self.teleop.mode,
            "velocity limits": " ".join(f"{value:.3g}" for value in self.teleop.robot.maxima),
        }


def _motion(name: str) -> MotionRequest | str:
    """The motion of a name or path, of the dance saved last if that is empty, or why there is none."""
    if not name:
        dances = sorted((usage_folder() / "dances").glob("*.yaml"), key=lambda path: path.stat().st_mtime)
        if not dances:
            return "no dance is kept: make one on the page, or set the parameter motion"
        name = str(dances[-1])
    try:
        return motion_file.request(name)[0]
    except MotionFileError as error:
        return str(error)


def main(args: Sequence[str] | None = None) -> int:
    """Runs the node. Returns the exit code."""
    return run(TeleopNode, args)


if __name__ == "__main__":
    sys.exit(main())
