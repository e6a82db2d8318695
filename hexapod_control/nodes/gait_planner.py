"""gait_planner: commands in, one complete row of feet or joints per tick out."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from geometry_msgs.msg import Pose
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, String
from std_srvs.srv import Trigger

from hexapod_control.core.body import BodyPose
from hexapod_control.core.planner import Plan, Planner, State
from hexapod_control.core.se2 import Twist
from hexapod_control.nodes import messages
from hexapod_control.nodes.base import COMMAND, LATCHED, GuardedNode, Level
from hexapod_control.nodes.command_source import CommandSource
from hexapod_control.nodes.parameters import ParameterError, PlannerSettings, declare
from hexapod_control.nodes.planner_output import PlannerOutput
from hexapod_control.nodes.planner_senses import PlannerSenses
from hexapod_control.nodes.runner import run
from hexapod_control.nodes.velocity_input import VelocityInput
from hexapod_control.robots.load import load

ON_ITS_FEET = (State.STANDING, State.WALKING)
LONGEST = 2.0  # periods a tick may count: no catching up
STOPPING = 1.5  # [s] for the feet to come down before the process ends
SITTING_DOWN = 7.0  # [s] likewise, for the whole robot


class GaitPlanner(GuardedNode):
    """The node."""

    def __init__(self, **options: Any) -> None:
        """Raises RobotFileError or ParameterError for input it cannot work with."""
        super().__init__("gait_planner", **options)
        self.settings = declare(self, PlannerSettings, self._changed)
        self.planner = _planner(self.settings)
        self._joints = messages.JointLayout(self.planner.robot)
        self._period = 1.0 / self.settings.control_rate
        self._last_tick: int | None = None  # [ns]
        self._ticks = self._overruns = 0
        self._counted = time.monotonic()
        self._rate = 0.0
        self._sitting_down = False
        self._let_go = False  # the driver says that the servos do not hold
        self._sits = False  # down, before the process ends
        self._ending: float | None = None  # [s] steady time at which the process was asked to end
        self.output = PlannerOutput(self, self.planner, self.settings)
        self.senses = PlannerSenses(self, self.planner)
        self.senses.adapt(self.settings.adaptation)
        settings = self.settings
        self.velocity = VelocityInput(
            self, settings.enable_stamped_cmd_vel, settings.cmd_vel_timeout, self._follow, self._ran_out
        )
        self.source = CommandSource(self, self.velocity)
        self.create_subscription(JointState, "joint_states", self.on_joint_states, COMMAND)
        self.create_subscription(Bool, "armed", self.on_armed, LATCHED)
        self.create_subscription(Pose, "body_pose", self.on_body_pose, COMMAND)
        self.create_subscription(String, "gait", self.on_gait, COMMAND)
        self.create_service(Trigger, "stand", self.on_stand)
        self.create_service(Trigger, "sit", self.on_sit)
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
        plan = self.planner.step(min(dt, LONGEST * self._period))
        self.output.publish(plan, stamp)
        if plan.unreached is not None:
            leg, reason, excess = plan.unreached
            text = f"foot of {leg}: the target is {reason.value} ({1000 * excess:.1f} mm or mrad beyond); "
            self.say("unreached", Level.WARNING, f"{text}the robot holds; command less, or a pose nearer to neutral")

    # --- commands -------------------------------------------------------------------------------------------

    def _follow(self, twist: Twist) -> None:
        if self._ending is not None or self._sitting_down:
            return
        if self.planner.state in ON_ITS_FEET:
            self.planner.command(twist)
        elif not twist.is_zero:
            text = f"cmd_vel ignored while {self.planner.state.value}: call the service stand first"
            self.say("not standing", Level.OK, text)

    def _ran_out(self) -> None:
        if self.planner.state in ON_ITS_FEET and not self._sitting_down:
            self.planner.halt()

    def on_body_pose(self, message: Any) -> None:
        """A wish for the body's pose, clamped to what the legs reach."""
        pose = messages.body_pose(message)
        refusal = self.planner.pose(pose)
        if refusal:
            self.say("pose", Level.WARNING, f"body_pose {_spelt(pose)} is {refusal}")

    def on_gait(self, message: Any) -> None:
        """Another gait by name."""
        refusal = self.planner.gait(message.data)
        if refusal:
            self.say("gait", Level.WARNING, f"gait refused: {refusal}")

    def on_joint_states(self, message: Any) -> None:
        """Where the joints are; of interest before the robot stands."""
        if self._let_go or self.planner.state not in (State.UNKNOWN, State.SITTING):
            return
        unknown = self.planner.state is State.UNKNOWN
        self.planner.measured(self._joints.joints(message))
        if unknown and self.settings.stand_on_start and self._ending is None:
            self._stand()

    def on_armed(self, message: Any) -> None:
        """Whether the servos hold; a robot that was let go is anywhere, until it is armed and measured again."""
        self._let_go = not message.data
        if self._let_go:
            self._sitting_down = False
            self.planner.lost()

    def on_stand(self, request: Any, response: Any) -> Any:
        """Stands up."""
        return _answer(response, self._stand(), "standing up, gait_state tells when it is done")

    def _stand(self) -> str:
        refusal = self.planner.stand()
        if not refusal:
            self._sitting_down = False
        return refusal

    def on_sit(self, request: Any, response: Any) -> Any:
        """Sits down."""
        refusal = self.planner.sit()
        if not refusal:
            self._sitting_down = True
            self.velocity.input.block()
        return _answer(response, refusal, "sitting down, gait_state tells when it is done")

    def on_stop(self, request: Any, response: Any) -> Any:
        """Stops; cmd_vel counts again after a zero or a pause."""
        self.safe_stop("stop")
        return _answer(response, "", "stopping, feet go down and stay")

    def _changed(self, settings: PlannerSettings) -> None:
        self.settings = settings
        self.velocity.input.timeout = settings.cmd_vel_timeout
        self.planner.limit(settings.limits)
        self.planner.lift(settings.lift_scale)
        self.senses.adapt(settings.adaptation)

    # --- the ends of things ---------------------------------------------------------------------------------

    def safe_stop(self, callback: str) -> None:
        """Feet down and stay; a failed tick repeats the last row."""
        self._sitting_down = False
        self.velocity.input.block()
        if callback == "tick":
            self.output.show_state(State.FAULT)
            if self.output.last is not None:
                self.output.row(self.output.last, self.get_clock().now().to_msg(), moving=False)
        self.planner.halt()

    def every_second(self) -> None:
        """Counts ticks and looks who sends commands."""
        now = time.monotonic()
        self._rate, self._ticks, self._counted = self._ticks / (now - self._counted), 0, now
        self.velocity.check_publishers()
        if self.planner.state in ON_ITS_FEET:
            self.senses.watch()

    def status(self) -> Mapping[str, object]:
        """Values for /diagnostics."""
        return {
            "state": self.planner.state.value,
            "gait": self.planner.gait_active,
            "loop Hz": f"{self._rate:.1f}",
            "overruns": self._overruns,
            "command source": ", ".join(self.velocity.sources) or "none",
            "driven by": self.source.name,
            "last refusal": self.velocity.last_refusal or "none",
            **self.senses.status(),
        }

    def request_stop(self) -> None:
        """Feet down, or the whole robot; commands no longer count."""
        self._ending = time.monotonic()
        self._sits = self.settings.sit_on_exit and self.planner.state in ON_ITS_FEET and not self.planner.sit()
        if self._sits:
            self.velocity.input.block()
        else:
            self.safe_stop("end")

    def stopped(self) -> bool:
        """True at rest (sitting, if that was asked for), or if it takes too long."""
        plan = self.output.last
        late = self._ending is not None and time.monotonic() - self._ending > (SITTING_DOWN if self._sits else STOPPING)
        if self._sits and self.planner.state is not State.SITTING:
            return late
        return late or plan is None or _at_rest(plan)

    def farewell(self) -> None:
        """A zero velocity and the last row."""
        self.output.last_word(self.get_clock().now().to_msg())


def _planner(settings: PlannerSettings) -> Planner:
    robot = load(settings.robot).robot
    try:
        planner = Planner(robot, limits=settings.limits)
    except ValueError as error:
        raise ParameterError(f"robot {settings.robot} cannot walk as its file says: {error}") from None
    planner.lift(settings.lift_scale)
    refusal = planner.gait(settings.gait) if settings.gait else ""
    if refusal:
        raise ParameterError(f"gait: {refusal}")
    return planner


def _at_rest(plan: Plan) -> bool:
    return plan.twist.is_zero and not plan.joint_velocity.any()


def _spelt(pose: BodyPose) -> str:
    return "(" + ", ".join(f"{name} {value:.3g}" for name, value in pose._asdict().items() if value) + ")"


def _answer(response: Any, refusal: str, accepted: str) -> Any:
    response.success, response.message = not refusal, refusal or accepted
    return response


def main(args: Sequence[str] | None = None) -> int:
    """Runs the node; returns the exit code."""
    return run(GaitPlanner, args)


if __name__ == "__main__":
    sys.exit(main())
