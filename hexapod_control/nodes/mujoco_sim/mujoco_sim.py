# SPDX-License-Identifier: Apache-2.0
"""Node mujoco_sim: a simulated robot in place of servo_driver, with the same topics and ground truth.

With `publish_clock` it publishes /clock, and all stamps are simulated time. With `bus` it emulates a servo bus; a
servo_driver at the other end of the bus then handles joint_targets and joint_states.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Wrench
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import CameraInfo, CompressedImage, JointState
from std_srvs.srv import SetBool, Trigger
from visualization_msgs.msg import MarkerArray

from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.robot import Robot
from hexapod_control.nodes.announcements.graph_presence import create_exclusive_node
from hexapod_control.nodes.announcements.robot_file_reports import report_implausible_values
from hexapod_control.nodes.mujoco_sim.running_world import RunningWorld
from hexapod_control.nodes.mujoco_sim.settings import SimulatorSettings
from hexapod_control.nodes.mujoco_sim.simulation_output import (
    CloudOutput,
    DepthOutput,
    LidarOutput,
    SimulationOutput,
    terrain_markers,
)
from hexapod_control.nodes.servo_driver.extra_joint_targets import subscribe_extra_targets
from hexapod_control.nodes.servo_driver.torque_services import ArmedTopic, TorqueServices
from hexapod_control.ros import messages, parameters
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.node_process import run
from hexapod_control.ros.qos import COMMAND, DISPLAY, EVENTS, LATCHED
from hexapod_control.ros.row_messages import JointLayout
from hexapod_control.ros.started_files import started_mapping, started_robot
from hexapod_control.ros.static_frames import publish_mounting
from hexapod_control.ros.terrain_messages import Lens, camera_info_message
from hexapod_control.servos.driver.target_follower import TargetFollower
from hexapod_control.servos.driver.torque_switch import EMERGENCY_STOP, TORQUE_IS_OFF
from hexapod_control.sim.mujoco_model import FIELD_OF_VIEW_DEG, front_camera_pose
from hexapod_control.sim.rendering.front_camera import FrontCamera
from hexapod_control.sim.rendering.state_recording import StateRecording
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.world_settings import ONLY_IN, DepthSettings, LidarSettings, WorldSettings

PERIOD_S = 1 / 30


class ViewerWindow:
    """A window that shows the world; without a display the node reports that there is none.

    `Any`: MuJoCo's viewer is not typed.
    """

    def __init__(self, node: GuardedNode, simulation: Simulation) -> None:
        self._node = node
        self._window: Any = None
        self.open(simulation)
        node.create_timer(PERIOD_S, self._show, clock=node.steady)

    def open(self, simulation: Simulation) -> None:
        """Shows a world instead of the previous one."""
        import mujoco.viewer

        self.close()
        try:
            self._window = mujoco.viewer.launch_passive(simulation.model, simulation.data)
        except RuntimeError as error:
            text = f"no window ({error}): set headless to true, or set DISPLAY"
            self._node.report("window", ReportLevel.ERROR, text)

    def _show(self) -> None:
        if self._window is not None and self._window.is_running():
            self._window.sync()

    def close(self) -> None:
        """Closes the window."""
        if self._window is not None:
            self._window.close()
            self._window = None


PUSH_DURATION_S = 0.2
MAX_PUSH = 500.0  # [N] along each axis
CLOCK_REPEAT_S = 0.1  # period of /clock while the simulated time is stopped
TARGETS_TIMEOUT_S = 0.25  # without targets, after which the robot counts as at rest


class MujocoSimNode(GuardedNode):
    """Steps the world of one simulated robot in a timer, and publishes its state."""

    def __init__(self, **options: Any) -> None:
        super().__init__("mujoco_sim", **options)
        settings = parameters.declare(self, SimulatorSettings)
        world_settings = parameters.declare(self, WorldSettings, self._change_world)
        lidar = parameters.declare(self, LidarSettings)
        depth = parameters.declare(self, DepthSettings)
        file = started_robot(settings.robot)
        report_implausible_values(self, file)
        self._world_settings = world_settings
        self.world = world = RunningWorld(file, settings, world_settings)
        if world.bus:
            self.closing.callback(world.bus.close)
        self._record = StateRecording(settings.record, settings.record_rate) if settings.record else None
        self._ticks = 0
        self._reported_ticks = 0
        self._reported_at = time.monotonic()
        self._mapping = started_mapping(settings.joint_mapping, world.robot)
        prefix = settings.tf_frame_prefix
        self._output = SimulationOutput(self, world.robot, prefix, self._mapping, servos=world.bus is None)
        self._lidar = LidarOutput(self, world.robot, prefix, lidar)
        self._depth: list[DepthOutput | CloudOutput] = [
            CloudOutput(self, world.robot, prefix, lidar, depth),
            *(DepthOutput(self, camera, prefix, depth) for camera in settings.cameras(world.robot)),
        ]
        self._camera = CameraOutput(self, world.robot, prefix, settings) if settings.camera_rate else None
        if self._camera:
            self.closing.callback(self._camera.close)
        self._armed: ArmedTopic | None = None
        if isinstance(world.driver, TargetFollower):
            self._accept_targets(world.driver)
        self._clock_publisher = self.create_publisher(ClockMessage, "/clock", EVENTS) if world.publishes_clock else None
        self._clock_at = -math.inf  # [s] steady time of the last /clock
        self._terrain = self.create_publisher(MarkerArray, "terrain", LATCHED)
        self._publish_terrain()
        self._world_services = WorldServices(self, world, lambda: self._publish(everything=True))
        self.create_timer(world.period / settings.sim_speed_factor, self._tick, clock=self.steady)
        self._window = None if settings.headless else ViewerWindow(self, world.simulation)

    def _accept_targets(self, driver: TargetFollower) -> None:
        """Creates the interface without a bus: joint_targets, `armed` and the torque services."""
        world = self.world
        self._driver = driver
        self._layout = JointLayout(world.robot, self._mapping)
        self.create_subscription(JointState, "joint_targets", self._take_targets, COMMAND)
        subscribe_extra_targets(self, world.robot, world.extra.take)
        self._torque, self._armed = TorqueServices(self, world.torque), ArmedTopic(self)

    def _tick(self) -> None:
        world = self.world
        with world.lock:
            if world.bus:
                world.bus.open()
            if self._armed:
                self._armed.show(world.armed)
            if not world.paused:
                for _ in world.advance():
                    self._publish()
            if time.monotonic() - self._clock_at >= CLOCK_REPEAT_S:
                self._publish_clock(self._stamp())
            warning = None if world.paused else world.driver.watch(world.steady)
        if warning:
            self.report("silence", ReportLevel.WARNING, warning)

    def _take_targets(self, message: JointState) -> None:
        joints, velocities = self._layout.joints(message), self._layout.velocities(message)
        self.world.note_targets(messages.nanoseconds(message.header.stamp) / messages.NANOSECONDS)
        warning = self._driver.take(joints, velocities, self.world.steady)
        if warning:
            self.report("targets", ReportLevel.WARNING, warning)

    def _change_world(self, settings: WorldSettings) -> None:
        before = self._world_settings
        self._world_settings = settings
        for name, worlds in ONLY_IN.items():
            if getattr(settings, name) != getattr(before, name) and settings.world not in worlds:
                text = f"{name} has no effect in the world {settings.world}: set world to {' or '.join(worlds)}"
                self.report(name, ReportLevel.WARNING, text)
        with self.world.lock:
            self.world.change(settings)
            self._publish_terrain()
        if self._window:
            self._window.open(self.world.simulation)

    def _publish_terrain(self) -> None:
        self._terrain.publish(terrain_markers(self.world.simulation.model))

    # --- output --------------------------------------------------------------------------------

    def _stamp(self) -> Time:
        if self._clock_publisher:
            return messages.time(round(self.world.time * messages.NANOSECONDS))
        return self.get_clock().now().to_msg()

    def _publish_clock(self, stamp: Time) -> None:
        """Publishes /clock, also while the time is stopped, so that a paused simulator differs from one that ended."""
        self._clock_at = time.monotonic()
        if self._clock_publisher:
            self._clock_publisher.publish(ClockMessage(clock=stamp))

    def _publish(self, *, everything: bool = False) -> None:
        """Publishes after a step of the world; joints and feet only after every second step."""
        self._ticks += 1
        stamp = self._stamp()
        simulation = self.world.simulation
        self._publish_clock(stamp)
        self._output.imu(simulation.inertial(), stamp)
        if everything or self._ticks % 2 == 0:
            self._output.state(simulation.reading(), stamp)
        self._lidar.publish(simulation, stamp)
        for sensor in self._depth:
            sensor.publish(simulation, stamp)
        if self._camera:
            self._camera.publish(simulation, stamp)
        if self._record:
            self._record.take(simulation, stamp.sec + 1e-9 * stamp.nanosec)

    def status(self) -> Mapping[str, object]:
        """Values for /diagnostics."""
        world = self.world
        now = time.monotonic()
        rate = (self._ticks - self._reported_ticks) / max(1e-3, now - self._reported_at)
        self._reported_ticks = self._ticks
        self._reported_at = now
        return {
            "feedback": "measured",
            "loop [Hz]": f"{rate:.1f}",
            "overruns": world.dropped,
            "simulated time [s]": f"{world.time:.1f}",
            "paused": world.paused,
            **world.simulation.world.status,
            "collisions": self._lidar.collisions,
            **({"bus": world.bus.name} if world.bus else {}),
            "torque": world.armed,
            "emergency stop": "latched" if world.torque.latched else "no",
        }

    def every_second(self) -> None:
        """Repeats the report that the torque is off."""
        if self.world.torque.latched:
            self.report("torque", ReportLevel.ERROR, EMERGENCY_STOP)
        elif not self.world.armed and not self.world.bus:
            self.report("torque", ReportLevel.WARNING, TORQUE_IS_OFF)

    # --- the end --------------------------------------------------------------------------------------

    def safe_stop(self, callback: str) -> None:
        """Holds the present joint angles."""
        self.world.driver.hold()
        self.world.extra.hold()

    def stopped(self) -> bool:
        """Whether targets have stopped arriving."""
        return time.monotonic() - self.world.last_targets_at > TARGETS_TIMEOUT_S

    def publish_final_state(self) -> None:
        """Closes window and bus and writes the record."""
        if self._window:
            self._window.close()
        if self.world.bus:
            self.world.bus.close()
        if self._record:
            try:
                self._record.save()
            except OSError as error:
                self.report("record", ReportLevel.ERROR, f"the record was not written: {error}")


class CameraOutput:
    """Publishes the images of one simulated camera; without a subscriber nothing is rendered."""

    def __init__(self, node: GuardedNode, robot: Robot, prefix: str, settings: SimulatorSettings) -> None:
        """`prefix` is that of the frame ids base_link and camera_optical_frame (z forward, x right)."""
        self._node = node
        self._period = 1.0 / settings.camera_rate
        self._last = -math.inf
        width = settings.camera_width
        height = 3 * width // 4
        self._camera = FrontCamera((width, height), self._take, self._failed)
        self._images = node.create_publisher(CompressedImage, "image_raw/compressed", DISPLAY)
        self._infos = node.create_publisher(CameraInfo, "camera_info", DISPLAY)
        focal = height / (2.0 * math.tan(math.radians(FIELD_OF_VIEW_DEG) / 2.0))
        self._lens = Lens((focal, focal), ((width - 1) / 2.0, (height - 1) / 2.0), (width, height))
        (x, y, z), pitch = front_camera_pose(robot)
        pose = BodyPose(x=x, y=y, z=z, roll=-math.pi / 2.0 - pitch, yaw=-math.pi / 2.0)
        self._frame = publish_mounting(node, prefix, "camera_optical_frame", pose)

    def publish(self, simulation: Simulation, stamp: Time) -> None:
        """Publishes an image if one is due; call it after every step of the world."""
        now = time.monotonic()
        if now - self._last >= self._period and self._images.is_received:
            self._last = now
            self._camera.capture(simulation, stamp)

    def close(self) -> None:
        """Ends the thread of the camera."""
        self._camera.close()

    def _take(self, image: bytes, stamp: Time) -> None:
        message = CompressedImage(format="jpeg", data=image)
        message.header.stamp = stamp
        message.header.frame_id = self._frame
        self._node.run_in_executor(partial(self._images.publish, message))
        info = camera_info_message(self._lens, self._frame, stamp)
        self._node.run_in_executor(partial(self._infos.publish, info))

    def _failed(self, reason: str) -> None:
        self._node.run_in_executor(partial(self._node.report, "camera", ReportLevel.ERROR, f"no images: {reason}"))


class WorldServices:
    """Offers the services on a node; `publish` publishes all topics of the world."""

    def __init__(self, node: GuardedNode, world: RunningWorld, publish: Callable[[], None]) -> None:
        self._world = world
        self._publish = publish
        node.create_service(SetBool, "~/set_pause", self._set_pause)
        node.create_service(Trigger, "~/reset_world", self._reset_world)
        node.create_service(Trigger, "~/step_simulation", self._step_simulation)
        node.create_subscription(Wrench, "~/push", self._push, COMMAND)

    def _set_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        with self._world.lock:
            if request.data:
                self._world.pause()
            else:
                self._world.resume()
        response.success = True
        response.message = "paused" if request.data else "running"
        return response

    def _step_simulation(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        with self._world.lock:
            response.success = self._world.paused
            if self._world.paused:
                self._world.step(self._world.period)
                self._publish()
                response.message = f"simulated time is {self._world.time:.3f} s"
            else:
                response.message = "the simulation runs: call set_pause with true first"
        return response

    def _reset_world(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        with self._world.lock:
            self._world.reset()
        response.success = True
        response.message = "the robot is at the origin, with its joint angles"
        return response

    def _push(self, message: Wrench) -> None:
        """Pushes the body at its center of mass for PUSH_DURATION_S, in the world frame."""
        force = np.array(messages.force(message))
        with self._world.lock:
            self._world.simulation.push(np.clip(force, -MAX_PUSH, MAX_PUSH), PUSH_DURATION_S)


def main() -> int:
    """Runs the node. Returns the exit code."""
    return run(lambda: create_exclusive_node("mujoco_sim", MujocoSimNode))


if __name__ == "__main__":
    sys.exit(main())
