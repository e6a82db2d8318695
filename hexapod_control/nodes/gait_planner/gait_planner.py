# SPDX-License-Identifier: Apache-2.0
"""Node gait_planner: receives commands, and publishes targets for all feet or all joints in every tick."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from hexapod_control.config.robots import saved_capabilities
from hexapod_control.core.motions.motion_player import MotionPlayer
from hexapod_control.core.motions.operator_commands import OperatorCommands
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.core.refusal import Refusal, Statement
from hexapod_control.core.robot import Robot
from hexapod_control.nodes.announcements.graph_presence import create_exclusive_node
from hexapod_control.nodes.announcements.robot_file_reports import report_edits, report_implausible_values
from hexapod_control.nodes.gait_planner.action_input import ActionInput
from hexapod_control.nodes.gait_planner.motion_input import MotionInput
from hexapod_control.nodes.gait_planner.payload_input import PayloadInput
from hexapod_control.nodes.gait_planner.planner_output import (
    CommandSourceDisplay,
    MishapReports,
    PlannerOutput,
    StartPermission,
    StopDisplay,
    course_text,
)
from hexapod_control.nodes.gait_planner.policy_input import PolicyInput
from hexapod_control.nodes.gait_planner.request_input import (
    FAILURE_PAUSE_S,
    GaitReload,
    LegInput,
    Pauses,
    PoseGaitFootInput,
    PostureServices,
    RequestWatch,
    SpeedDerating,
    answer,
)
from hexapod_control.nodes.gait_planner.sensor_input import SensorInput
from hexapod_control.nodes.gait_planner.settings import PlannerSettings
from hexapod_control.nodes.gait_planner.terrain_input import TerrainInput
from hexapod_control.nodes.gait_planner.velocity_input import VelocityInput
from hexapod_control.nodes.joint_state_input import JointStateInput, MeasuredSample
from hexapod_control.ros.guarded_node import DISCOVERY_TIME_S, GuardedNode, ReportLevel
from hexapod_control.ros.monitoring.endpoints import callers
from hexapod_control.ros.monitoring.graph_identity import Phase
from hexapod_control.ros.node_process import run
from hexapod_control.ros.parameters import ParameterError, declare
from hexapod_control.ros.qos import EVENTS, LATCHED_HISTORY
from hexapod_control.ros.started_files import started_mapping, started_robot
from hexapod_control.servos.driver.target_follower import TARGET_TIMEOUT_S

MAX_TICK_PERIODS = 2.0  # maximum time step of a tick, in periods; missed ticks are not made up for
MAX_STOP_S = 1.5  # for the feet to come down before the process ends
MAX_SIT_DOWN_S = 7.0  # for the robot to sit down before the process ends
REHEARSAL_SHARES = (0.1, 0.4)  # minimum and maximum share of a tick's period for rehearsing a motion
REST_S = 0.3  # without motion, after which the robot counts as at rest
LATE_PERIODS = 1.5  # time step of a tick, in periods, above which it counts as an overrun


class GaitPlannerNode(GuardedNode):
    """Converts messages to operator commands, and the plan of every tick to messages.

    It ends in two steps: `request_stop` brings the robot to rest, and `publish_final_state` sends the last targets.
    """

    def __init__(self, **options: Any) -> None:
        """Raises RobotFileError or ParameterError for invalid input."""
        super().__init__("gait_planner", **options)
        self.settings = settings = declare(self, PlannerSettings, self._changed)
        file = started_robot(settings.robot)
        saved_capabilities.enable()
        self.planner = _planner(settings, file.robot)
        report_implausible_values(self, file)
        mapping_files = [Path(settings.joint_mapping).expanduser().absolute()] if settings.joint_mapping else []
        report_edits(self, file.path, *mapping_files)
        self.player = MotionPlayer(self.planner)
        self.commands = OperatorCommands(self.player)
        mapping = started_mapping(settings.joint_mapping, file.robot)
        self._measured = JointStateInput(self, file.robot, mapping, torques=True)
        self._period = 1.0 / settings.control_rate
        self._last_tick: int | None = None  # [ns]
        self._ticks = 0
        self._overruns = 0
        self._counted = time.monotonic()  # [s] steady time from which ticks are counted
        self._rate = 0.0  # [Hz] measured
        self._has_torque: bool | None = None  # as the driver reports; None: it has not reported yet
        self._stands_up = settings.stand_on_start  # as soon as the pose is known; not after torque-off
        self._sits_down = False  # before the process ends
        self._without_subscriber_since = math.inf  # [s] steady time at which targets could have been sent first
        self._ending: float | None = None  # [s] steady time of `request_stop`
        self._moved_at = -math.inf  # [s] steady time of the last motion, or of a request for one
        self.output = PlannerOutput(self, self.planner, settings)
        self._start_permission = StartPermission(self, self.output)
        self.sensors = SensorInput(self, self.planner)
        self.sensors.adapt(settings.adaptation, settings.mishap_detection)
        self.terrain = TerrainInput(self, self.planner, f"{settings.tf_frame_prefix}base_link", settings.grid_map)
        self.terrain.use(settings.map_footholds)
        self.motions = MotionInput(self, self.player, self.commands)
        self.policy = PolicyInput(self, self.commands, self.planner, self.motions)
        stamped, timeout = settings.enable_stamped_cmd_vel, settings.cmd_vel_timeout
        self.velocity = VelocityInput(self, self.commands, self.planner, stamped, timeout)
        self.source = CommandSourceDisplay(self, self.velocity)
        self.stops = StopDisplay(self, self.velocity.filter)
        self.derating = SpeedDerating(self, self.planner)
        self._measured.subscribe(self.on_measured_joints, EVENTS, polled=True)
        self.create_subscription(Bool, "armed", self.on_armed, LATCHED_HISTORY)  # a short torque-off counts too
        self.requests = RequestWatch(self, self.planner, self.output)
        self.posture = PostureServices(self, self.commands, self._begin_to_sit, self.requests.begin)
        self.actions = ActionInput(self, self.commands, self.player, self.motions, self.posture)
        frame = f"{settings.tf_frame_prefix}base_link"
        self.body = PoseGaitFootInput(self, self.commands, self.planner.robot, frame)
        self.legs = LegInput(self, self.commands, self.planner)
        self.gaits = GaitReload(self, self.planner, settings.robot)
        self.payload = PayloadInput(self, self.planner)
        self.pauses = Pauses(self, self.commands, self.planner, self.velocity.filter)
        self.mishaps = MishapReports(self, self.commands, self.planner, self.velocity.filter.block, self.pauses.begin)
        self.create_service(Trigger, "stop", self.on_stop)
        self._clock_of_ticks = self.control_clock
        self.create_timer(self._period, self.tick, clock=self._clock_of_ticks)

    # --- a tick ---------------------------------------------------------------------------------------------

    def tick(self) -> None:
        """Plans and publishes the targets of one tick."""
        stamp = self.get_clock().now().to_msg()  # of the tick, however long the planning takes
        now = self._clock_of_ticks.now().nanoseconds
        last = self._last_tick
        self._last_tick = now
        if last is None or now <= last:  # the clock was set back: continue from here
            return
        self.take_polled()
        dt = (now - last) * 1e-9
        self._ticks += 1
        self._overruns += dt > LATE_PERIODS * self._period
        self._report_late(dt - self._period)
        self.terrain.show()
        self.derating.on_ground(self.terrain.speed_share)
        step = min(dt, MAX_TICK_PERIODS * self._period)
        plan = self.player.step(step)
        self.mishaps.watch()
        self.pauses.watch()
        self.motions.watch()
        self.actions.watch(plan, step)
        self.legs.watch()
        self.gaits.watch()
        self.payload.watch()
        self.output.publish(plan, stamp, self.motions.state)
        self.requests.watch()
        if not plan.at_rest:
            self._moved_at = time.monotonic()
        least, most = (share * self._period for share in REHEARSAL_SHARES)
        self.motions.rehearse(max(least, most - max(0.0, dt - self._period)))  # shorter after a late tick

    def _report_late(self, seconds: float) -> None:
        last = self.output.last
        if seconds <= TARGET_TIMEOUT_S or last is None or self.simulated_time:
            return
        if last.joint_velocity.any():
            text = "a tick came {seconds:.2f} s late, the robot held meanwhile: the computer or this process was busy"
            self.report("late", ReportLevel.WARNING, Statement("tick_late", text, seconds=seconds))

    # --- messages -------------------------------------------------------------------------------------------

    def on_measured_joints(self, sample: MeasuredSample) -> None:
        """Uses measured joints: as the pose until the robot stands, then for comparison with the planned joints."""
        self.requests.joints = sample.joints
        self.payload.take(sample, self.control_time)
        if self.settings.stuck_detection:
            self.planner.sensors.joints.take(sample.joints.ravel().tolist())
        if self._may_have_no_torque or self.planner.state not in (RobotState.UNKNOWN, RobotState.SITTING):
            return
        unknown = self.planner.state is RobotState.UNKNOWN
        if unknown and not self.output.has_target_subscribers:  # the first targets of a motion would be lost
            self._report_no_subscriber()
            return
        if unknown and not self._start_permission.is_granted(sample.joints):
            return
        self.planner.set_measured_joints(sample.joints)
        if unknown and self._stands_up:
            self._stands_up = False
            self.commands.stand()

    def _report_no_subscriber(self) -> None:
        now = time.monotonic()
        self._without_subscriber_since = min(self._without_subscriber_since, now)
        if now - self._without_subscriber_since > DISCOVERY_TIME_S:
            text = "nothing subscribes to foot_targets and joint_motion, so the robot stays as it is: start {node}"
            said = Statement("targets_unheard", text, node="inverse_kinematics")
            self.report("unheard", ReportLevel.WARNING, said)

    @property
    def _may_have_no_torque(self) -> bool:
        """Whether the torque is off, or a driver's first report of it is on its way: topics arrive in any order."""
        return not self._has_torque and (self._has_torque is not None or self.count_publishers("armed") > 0)

    def on_armed(self, message: Bool) -> None:
        """Records whether the torque is on; after torque-off the pose is unknown until the robot is armed again."""
        self._has_torque = message.data
        self.requests.armed = message.data
        if not message.data:
            self._stands_up &= self.planner.state is RobotState.UNKNOWN
            self.commands.forget_pose()
            self._start_permission.reset()
            self.velocity.filter.block()

    def on_stop(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Stops the robot; cmd_vel is accepted again after a zero command or a silence."""
        self._halt()
        self.stops.note(",".join(callers(self, "stop")))
        self.requests.begin("stop")
        return answer(self, response, None, "stopping; feet in the air are set down")

    def _begin_to_sit(self) -> None:
        self.velocity.filter.block()
        self._moved_at = time.monotonic()

    def _changed(self, settings: PlannerSettings) -> None:
        self.settings = settings
        self.velocity.filter.timeout = settings.cmd_vel_timeout
        self.planner.change_settings(limits=settings.limits)
        self.sensors.adapt(settings.adaptation, settings.mishap_detection)
        self.terrain.use(settings.map_footholds)
        self.player.change_settings(**_step_settings(settings, self.planner.robot))

    # --- stopping -------------------------------------------------------------------------------------------

    def safe_stop(self, callback: str) -> None:
        """Sets all feet down and stands still for a while; a failed tick repeats the last targets."""
        self.pauses.begin("failure", f"{callback} has failed", FAILURE_PAUSE_S)
        if callback != "tick":
            return
        self.commands.fail()
        self.output.show_state()
        if self.output.last is not None:
            self.output.publish_targets(self.output.last, self.get_clock().now().to_msg(), moving=False)

    def _halt(self) -> None:
        """Sets all feet down and stands still until an operator wants the robot to move."""
        self.velocity.filter.block()
        self.commands.halt()

    def clock_stopped(self) -> None:
        """Ends the walk by wall time; commands are accepted again at once."""
        self.commands.halt()

    def every_second(self) -> None:
        """Measures the tick rate, and checks the publishers of commands and sensors."""
        now = time.monotonic()
        self._rate = self._ticks / (now - self._counted)
        self._ticks = 0
        self._counted = now
        self.velocity.check_publishers()
        self.derating.every_second()
        self.mishaps.repeat()
        if self.planner.view.on_feet:
            self.sensors.watch()
            self.terrain.watch()

    def status(self) -> Mapping[str, object]:
        """Values for /diagnostics."""
        plan = self.output.last
        view = self.planner.view
        return {
            "state": self.planner.state.value,
            "motion": self.player.name or "none",
            "pose": "found" if self.planner.view.pose_taken_over else "requested",
            "gait": self.planner.view.active_gait,
            "lift scale": f"{self.settings.lift_scale:.2f}",
            "top speeds": " ".join(f"{axis.max_velocity:.3f}" for axis in self.settings.axes),
            "loop Hz": f"{self._rate:.1f}",
            "overruns": self._overruns,
            "command source": ", ".join(self.velocity.sources) or "none",
            "driven by": self.source.name,
            "way out": view.mishap.request if view.mishap else "",
            "course": course_text(view.course),
            "foot trims mm": " ".join(f"{1e3 * height:.1f}" for height in view.foot_trims),
            "leg gap m": "" if plan is None else f"{plan.gap:.3f}",
            "speed share": f"{self.derating.value:.2f}",
            "last refusal": self.velocity.last_refusal or "none",
            **self.payload.status(),
            **self.sensors.status(),
            **self.terrain.status(),
        }

    def enter(self, phase: Phase, reason: str) -> None:
        """Sets the feet down to make way for another graph; meanwhile only stops and sitting down are accepted."""
        before = self.phase
        super().enter(phase, reason)
        driving = phase is Phase.DRIVING
        self.commands.suspension = None if driving else Refusal("suspended", "{reason}", reason=reason)
        if before is Phase.DRIVING:
            self._moved_at = time.monotonic()
            self.commands.halt()

    @property
    def moves(self) -> bool:
        """Whether the robot moves, or is about to."""
        return time.monotonic() - self._moved_at < REST_S

    def request_stop(self) -> None:
        """Sets the feet down, or sits down; commands are ignored from now on."""
        self._ending = self._moved_at = time.monotonic()
        for duty in self.duties:  # beside another graph the other nodes follow this one again
            duty()
        self.commands.close()
        self.actions.close()
        up = self.planner.state not in (RobotState.UNKNOWN, RobotState.SITTING)  # standing, or changing posture
        self._sits_down = self.settings.sit_on_exit and up and not self.planner.sit()
        if self._sits_down:
            self.velocity.filter.block()
        else:
            self._halt()

    def stopped(self) -> bool:
        """Whether the robot is at rest (sitting, if sit_on_exit is set), or a timeout has passed."""
        plan = self.output.last
        most = MAX_SIT_DOWN_S if self._sits_down else MAX_STOP_S
        late = self._ending is not None and time.monotonic() - self._ending > most
        if self._sits_down and self.planner.state is not RobotState.SITTING:
            return late
        return late or plan is None or plan.at_rest

    def publish_final_state(self) -> None:
        """Publishes a zero velocity and the last targets."""
        self.output.publish_last_targets(self.get_clock().now().to_msg())


def _planner(settings: PlannerSettings, robot: Robot) -> Planner:
    try:
        planner = Planner(robot, limits=settings.limits)
    except ValueError as error:
        raise ParameterError(f"robot {settings.robot} cannot walk with the values in its file: {error}") from None
    planner.change_settings(**_step_settings(settings, robot))
    refusal = planner.change_gait(settings.gait) if settings.gait else ""
    if refusal:
        raise ParameterError(f"gait: {refusal}")
    return planner


def _step_settings(settings: PlannerSettings, robot: Robot) -> Mapping[str, float]:
    """The walk settings that a motion may change while it plays."""
    tempo = settings.swing_time_scale
    return {
        "lift": settings.lift_scale,
        "tempo": robot.walk.tempo if math.isnan(tempo) else tempo,
        "margin": settings.stability_margin_min,
    }


def main(args: Sequence[str] | None = None) -> int:
    """Runs the node. Returns the exit code."""
    return run(lambda: create_exclusive_node("gait_planner", GaitPlannerNode), args)


if __name__ == "__main__":
    sys.exit(main())
