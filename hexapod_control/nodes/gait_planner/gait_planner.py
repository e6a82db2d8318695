"""gait_planner: commands in, one complete row of feet or joints per tick out."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from sensor_msgs.msg import JointState
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.motions.motion_player import MotionPlayer
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState, TickPlan
from hexapod_control.nodes.gait_planner.command_source import CommandSourceDisplay
from hexapod_control.nodes.gait_planner.motion_input import MotionInput
from hexapod_control.nodes.gait_planner.planner_output import PlannerOutput
from hexapod_control.nodes.gait_planner.pose_gait_foot_input import PoseGaitFootInput
from hexapod_control.nodes.gait_planner.posture_services import PostureServices, answer
from hexapod_control.nodes.gait_planner.sensor_input import SensorInput
from hexapod_control.nodes.gait_planner.settings import PlannerSettings
from hexapod_control.nodes.gait_planner.speed_derating import SpeedDerating
from hexapod_control.nodes.gait_planner.velocity_input import VelocityInput
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.node_process import run
from hexapod_control.ros.parameters import ParameterError, declare
from hexapod_control.ros.qos import COMMAND, LATCHED

MAX_TICK_PERIODS = 2.0  # periods a tick may count: no catching up
STOPPING = 1.5  # [s] for the feet to come down before the process ends
SITTING_DOWN = 7.0  # [s] likewise, for the whole robot
REHEARSING = (0.1, 0.4)  # shares of a tick's period that rehearsing a motion may take, least and most


class GaitPlanner(GuardedNode):
    """The node."""

    def __init__(self, **options: Any) -> None:
        """Raises RobotFileError or ParameterError for input it cannot work with."""
        super().__init__("gait_planner", **options)
        self.settings = declare(self, PlannerSettings, self._changed)
        self.planner = _planner(self.settings)
        self.player = MotionPlayer(self.planner)
        self._joints = messages.JointLayout(self.planner.robot)
        self._period = 1.0 / self.settings.control_rate
        self._last_tick: int | None = None  # [ns]
        self._ticks = self._overruns = 0
        self._counted = time.monotonic()
        self._rate = 0.0
        self._let_go = False  # the driver says that the servos do not hold
        self._sits = False  # down, before the process ends
        self._ending: float | None = None  # [s] steady time at which the process was asked to end
        self.output = PlannerOutput(self, self.player, self.settings)
        self.senses = SensorInput(self, self.planner)
        self.senses.adapt(self.settings.adaptation)
        settings = self.settings
        self.motions = MotionInput(self, self.player, self._set_steps)
        self.velocity = VelocityInput(
            self,
            settings.enable_stamped_cmd_vel,
            settings.cmd_vel_timeout,
            self._follow,
            self._ran_out,
            self.planner.arc,
        )
        self.source = CommandSourceDisplay(self, self.velocity)
        self.share = SpeedDerating(self, self.planner, lambda: self.settings.limits)
        self.create_subscription(JointState, "joint_states", self.on_joint_states, COMMAND)
        self.create_subscription(Bool, "armed", self.on_armed, LATCHED)
        self.posture = PostureServices(self, self.planner, self.motions.end, self.velocity.input.block)
        self.body = PoseGaitFootInput(self, self.planner, self.motions.end, f"{settings.tf_frame_prefix}base_link")
        self.create_service(Trigger, "stop", self.on_stop)
        self._clock_of_ticks = self.control_clock
        self.create_timer(self._period, self.tick, clock=self._clock_of_ticks)

    # --- a tick ---------------------------------------------------------------------------------------------

    def tick(self) -> None:
        """One row."""
        stamp = self.get_clock().now().to_msg()  # of the tick, however long planning takes
        now = self._clock_of_ticks.now().nanoseconds
        last, self._last_tick = self._last_tick, now
        if last is None or now <= last:  # the clock was set back: go on from here
            return
        dt = (now - last) * 1e-9
        self._ticks += 1
        self._overruns += dt > 1.5 * self._period
        self.share.apply()
        self.posture.step()
        plan = self.player.step(min(dt, MAX_TICK_PERIODS * self._period))
        self.motions.watch()
        if self.player.name:
            self.posture.forget()
        self.output.publish(plan, stamp, self.motions.state)
        least, most = (share * self._period for share in REHEARSING)
        self.motions.rehearse(max(least, most - max(0.0, dt - self._period)))  # less after a tick that came late

    # --- commands -------------------------------------------------------------------------------------------

    def _follow(self, twist: Twist) -> None:
        if self._ending is not None or self.posture.sitting_down:
            return
        if self.player.name or self.planner.standing_walk:
            self.motions.command(twist)
        elif not twist.is_zero and not self.planner.row_moves:
            text = f"cmd_vel ignored while {self.planner.state.value}: call the service stand first"
            self.report("not standing", ReportLevel.OK, text)

    def _ran_out(self) -> None:
        if self.planner.standing_walk and not self.posture.sitting_down and not self.player.name:
            self.planner.halt()

    def on_joint_states(self, message: Any) -> None:
        """Where the joints are; of interest before the robot stands."""
        if self._let_go or self.planner.state not in (RobotState.UNKNOWN, RobotState.SITTING):
            return
        unknown = self.planner.state is RobotState.UNKNOWN
        self.planner.measured(self._joints.joints(message))
        if unknown and self.settings.stand_on_start and self._ending is None:
            self.posture.stand()

    def on_armed(self, message: Any) -> None:
        """Whether the servos hold; a robot that was let go is anywhere, until it is armed and measured again."""
        self._let_go = not message.data
        if self._let_go:
            self.posture.forget()
            self.motions.end()
            self.planner.lost()

    def on_stop(self, request: Any, response: Any) -> Any:
        """Stops; cmd_vel counts again after a zero or a pause."""
        self.safe_stop("stop")
        return answer(response, "", "stopping, feet go down and stay")

    def _changed(self, settings: PlannerSettings) -> None:
        self.settings = settings
        self.velocity.input.timeout = settings.cmd_vel_timeout
        self.planner.restyle(limits=settings.limits)
        self.senses.adapt(settings.adaptation)
        if not self.player.name:  # a motion has its own, and leaves them behind when it ends
            self._set_steps()

    def _set_steps(self) -> None:
        self.planner.restyle(**_style(self.settings))

    # --- the ends of things ---------------------------------------------------------------------------------

    def safe_stop(self, callback: str) -> None:
        """Feet down and stay; a failed tick repeats the last row."""
        self.posture.forget()
        self.velocity.input.block()
        self.motions.end()
        if callback == "tick":
            self.output.show_state(RobotState.FAULT)
            if self.output.last is not None:
                self.output.row(self.output.last, self.get_clock().now().to_msg(), moving=False)
        self.planner.halt()

    def every_second(self) -> None:
        """Counts ticks and looks who sends commands."""
        now = time.monotonic()
        self._rate, self._ticks, self._counted = self._ticks / (now - self._counted), 0, now
        self.velocity.check_publishers()
        if self.planner.standing_walk is not None:
            self.senses.watch()

    def status(self) -> Mapping[str, object]:
        """Values for /diagnostics."""
        plan = self.output.last
        return {
            "state": self.player.gait_state.value,
            "motion": self.player.name or "none",
            "gait": self.planner.gait_active,
            "loop Hz": f"{self._rate:.1f}",
            "overruns": self._overruns,
            "command source": ", ".join(self.velocity.sources) or "none",
            "driven by": self.source.name,
            "leg gap m": "" if plan is None else f"{plan.gap:.3f}",
            "speed share": f"{self.share.value:.2f}",
            "last refusal": self.velocity.last_refusal or "none",
            **self.senses.status(),
        }

    def request_stop(self) -> None:
        """Feet down, or the whole robot; commands no longer count."""
        self._ending = time.monotonic()
        self.motions.close()
        up = self.planner.state not in (RobotState.UNKNOWN, RobotState.SITTING)  # on its feet or on the way
        self._sits = self.settings.sit_on_exit and up and not self.planner.sit()
        if self._sits:
            self.velocity.input.block()
        else:
            self.safe_stop("end")

    def stopped(self) -> bool:
        """True at rest (sitting, if that was asked for), or if it takes too long."""
        plan = self.output.last
        late = self._ending is not None and time.monotonic() - self._ending > (SITTING_DOWN if self._sits else STOPPING)
        if self._sits and self.planner.state is not RobotState.SITTING:
            return late
        return late or plan is None or _at_rest(plan)

    def publish_final_state(self) -> None:
        """A zero velocity and the last row."""
        self.output.last_word(self.get_clock().now().to_msg())


def _planner(settings: PlannerSettings) -> Planner:
    robot = load(settings.robot).robot
    try:
        planner = Planner(robot, limits=settings.limits)
    except ValueError as error:
        raise ParameterError(f"robot {settings.robot} cannot walk as its file says: {error}") from None
    planner.restyle(**_style(settings))
    refusal = planner.gait(settings.gait) if settings.gait else ""
    if refusal:
        raise ParameterError(f"gait: {refusal}")
    return planner


def _style(settings: PlannerSettings) -> Mapping[str, float]:
    """What of the style is a parameter, without the limits."""
    return {
        "lift": settings.lift_scale,
        "tempo": settings.swing_time_scale,
        "margin": settings.stability_margin_min,
    }


def _at_rest(plan: TickPlan) -> bool:
    return plan.twist.is_zero and not plan.joint_velocity.any()


def main(args: Sequence[str] | None = None) -> int:
    """Runs the node; returns the exit code."""
    return run(GaitPlanner, args)


if __name__ == "__main__":
    sys.exit(main())
