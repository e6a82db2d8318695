"""teleop: a gamepad's Joy in; cmd_vel, body_pose, gait and the services stand, sit, stop out."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from geometry_msgs.msg import Pose, TwistStamped
from geometry_msgs.msg import Twist as TwistMessage
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.duration import Duration
from sensor_msgs.msg import Joy
from std_msgs.msg import String
from std_srvs.srv import Trigger

from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.steering.gamepad_map import GamepadState
from hexapod_control.core.steering.gamepad_teleop import GamepadTeleop as Person
from hexapod_control.core.steering.gamepad_teleop import TeleopCommands
from hexapod_control.nodes.teleop.settings import TeleopSettings
from hexapod_control.ros import messages
from hexapod_control.ros.drive_announcement import DriveAnnouncement
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.node_process import run
from hexapod_control.ros.parameters import declare
from hexapod_control.ros.qos import COMMAND, EVENTS, LATCHED

SOURCE = "joystick"
WATCH = 0.02  # [s] between two looks at the silence of the pad
DELIVERED = 0.3  # [s] the last zero may take
SERVICES = ("stand", "sit", "stop")


class TeleopNode(GuardedNode):
    """The node."""

    def __init__(self, **options: Any) -> None:
        """Raises ParameterError for input it cannot work with."""
        super().__init__("teleop", **options)
        self.settings = declare(self, TeleopSettings, self._changed)
        self.person = Person(self.settings.map, self.settings.feel)
        self._heard: float | None = None  # [s] steady time of the last usable Joy; None: the pad is not there
        stamped = self.settings.enable_stamped_cmd_vel
        self._cmd_vel = self.create_publisher(TwistStamped if stamped else TwistMessage, "cmd_vel", COMMAND)
        self._body_pose = self.create_publisher(Pose, "body_pose", COMMAND)
        self._gait = self.create_publisher(String, "gait", COMMAND)
        self._postures = {name: self.create_client(Trigger, name) for name in SERVICES}
        self._planner_parameters = self.create_client(SetParameters, "gait_planner/set_parameters")
        self._announcement = DriveAnnouncement(self, SOURCE)
        self.create_subscription(TwistMessage, "velocity_limits", self.on_velocity_limits, LATCHED)
        self.create_subscription(String, "gaits", self.on_gaits, LATCHED)
        self.create_subscription(String, "gait_active", self.on_gait_active, LATCHED)
        self.create_subscription(String, "gait_state", self.on_gait_state, LATCHED)
        self.create_subscription(Pose, "body_pose_achieved", self.on_body_pose_achieved, LATCHED)
        self.create_subscription(Joy, "joy", self.on_joy, EVENTS)
        self.create_timer(WATCH, self.watch, clock=self.steady)

    # --- the pad --------------------------------------------------------------------------------------------

    def on_joy(self, message: Any) -> None:
        """State of the pad."""
        pad = GamepadState(message.axes, message.buttons)
        try:
            orders = self.person.update(pad)
        except ValueError as error:
            raise messages.MessageError(f"{error}; check the driver of the gamepad") from None
        if self._heard is None:
            missing = ", ".join(self.person.map.missing(pad))
            if missing:
                text = f"joy: this pad has no {missing}: set other numbers, or use game_controller_node"
                self.report("missing", ReportLevel.WARNING, text)
        self._heard = time.monotonic()
        self._send(orders)

    def watch(self) -> None:
        """Looks whether the pad has gone."""
        if self._heard is None or time.monotonic() - self._heard <= self.settings.joy_timeout:
            return
        self._heard = None
        if self.person.driving:
            text = f"joy: silent for {self.settings.joy_timeout:g} s while driving: stopped; "
            cure = "is the gamepad still there, and autorepeat_rate of its driver above 0?"
            self.report("silent", ReportLevel.WARNING, text + cure)
        self._send(self.person.lost())

    def _send(self, orders: TeleopCommands) -> None:
        if orders.twist is not None:
            self._drive(orders.twist)
        if orders.call:
            self._call(orders.call)
        if orders.pose is not None:
            self._body_pose.publish(messages.body_pose_message(orders.pose))
        if orders.gait:
            self._gait.publish(messages.text(orders.gait))
        if orders.lift is not None:
            self._set_lift(orders.lift)
        if orders.hint:
            self.report("hint", ReportLevel.OK, orders.hint)

    def _drive(self, twist: Twist) -> None:
        if self.settings.enable_stamped_cmd_vel:
            stamp = self.get_clock().now().to_msg()
            self._cmd_vel.publish(messages.twist_stamped_message(twist, stamp, self.settings.frame))
        else:
            self._cmd_vel.publish(messages.twist_message(twist))
        if self.person.driving:
            self._announcement.announce()

    def _call(self, service: str) -> None:
        client = self._postures[service]
        if not client.service_is_ready():
            self.report(
                f"no {service}", ReportLevel.ERROR, f"{service}: no such service is there; is gait_planner running?"
            )
            return
        client.call_async(Trigger.Request()).add_done_callback(lambda future: self._answered(service, future))

    def _answered(self, service: str, future: Any) -> None:
        answer = future.result()
        if answer is not None and not answer.success:
            self.report(service, ReportLevel.WARNING, f"{service} refused: {answer.message}")

    def _set_lift(self, share: float) -> None:
        if not self._planner_parameters.service_is_ready():
            self.report("lift", ReportLevel.WARNING, "lift_scale cannot be set: is gait_planner running?")
            return
        value = ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=share)
        request = SetParameters.Request(parameters=[Parameter(name="lift_scale", value=value)])
        self._planner_parameters.call_async(request)
        self.report("lift", ReportLevel.OK, f"steps at {100.0 * share:.0f} % of the robot's step height", every=0.0)

    # --- the robot ------------------------------------------------------------------------------------------

    def on_velocity_limits(self, message: Any) -> None:
        """What full deflection means."""
        limits = messages.twist(message)
        if not all(0.0 <= limit < float("inf") for limit in limits):
            raise messages.MessageError(f"{tuple(limits)} are no greatest speeds; send finite numbers >= 0")
        self.person.seen.maxima = limits

    def on_gaits(self, message: Any) -> None:
        """Names to choose from."""
        self.person.seen.gaits = tuple(name.strip() for name in message.data.split(",") if name.strip())

    def on_gait_active(self, message: Any) -> None:
        """The gait in force."""
        self.person.seen.gait = message.data

    def on_gait_state(self, message: Any) -> None:
        """What the robot is doing."""
        self.person.seen.state = message.data

    def on_body_pose_achieved(self, message: Any) -> None:
        """Where the body is."""
        self.person.seen.pose = messages.body_pose(message)

    # --- the ends of things ---------------------------------------------------------------------------------

    def _changed(self, settings: TeleopSettings) -> None:
        self.settings = settings
        self.person.map, self.person.feel = settings.map, settings.feel

    def safe_stop(self, callback: str) -> None:
        """A zero, and the dead-man has to be let go."""
        driving = self.person.driving
        self.person.lost()
        if driving:
            self._drive(ZERO)

    def request_stop(self) -> None:
        """Lets the robot stop."""
        self.safe_stop("end")

    def publish_final_state(self) -> None:
        """Waits until the last zero has arrived."""
        self._cmd_vel.wait_for_all_acked(Duration(seconds=DELIVERED))

    def status(self) -> Mapping[str, object]:
        """Values for /diagnostics."""
        return {
            "gamepad": "silent" if self._heard is None else "there",
            "driving": "yes" if self.person.driving else "no",
            "mode": self.person.mode,
            "velocity limits": " ".join(f"{value:.3g}" for value in self.person.seen.maxima),
        }


def main(args: Sequence[str] | None = None) -> int:
    """Runs the node; returns the exit code."""
    return run(TeleopNode, args)


if __name__ == "__main__":
    sys.exit(main())
