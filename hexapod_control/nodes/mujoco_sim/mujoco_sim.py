"""Node mujoco_sim: the robot in physics, in the place of servo_driver. Same topics, and the truth beside them.

With `publish_clock` the world makes the time: /clock and all stamps are simulated time. With `bus` it has a wire
instead of joint_targets and joint_states: a servo_driver at its other end has these.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any

from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import JointState

from hexapod_control.config.robots.robot_file import load
from hexapod_control.nodes.mujoco_sim.lidar_output import LidarOutput
from hexapod_control.nodes.mujoco_sim.running_world import RunningWorld
from hexapod_control.nodes.mujoco_sim.settings import SimulatorSettings
from hexapod_control.nodes.mujoco_sim.simulation_output import SimulationOutput
from hexapod_control.nodes.mujoco_sim.viewer_window import ViewerWindow
from hexapod_control.nodes.mujoco_sim.world_services import WorldServices
from hexapod_control.nodes.torque_services import TorqueServices
from hexapod_control.ros import messages, parameters
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.node_process import run
from hexapod_control.ros.qos import COMMAND, EVENTS
from hexapod_control.ros.row_messages import JointLayout
from hexapod_control.servos.driver.setpoints.target_follower import TargetFollower
from hexapod_control.sim.rendering.state_recording import StateRecording
from hexapod_control.sim.world_settings import LidarSettings, WorldSettings

TARGETS_TIMEOUT_S = 0.25  # [s] without targets: nobody moves the robot any more


class MujocoSim(GuardedNode):
    """One simulated robot."""

    def __init__(self, **options: Any) -> None:
        super().__init__("mujoco_sim", **options)
        settings = parameters.declare(self, SimulatorSettings)
        world_settings = parameters.declare(self, WorldSettings, self._change_world)
        lidar = parameters.declare(self, LidarSettings)
        self.world = world = RunningWorld(load(settings.robot), settings, world_settings)
        self._record = StateRecording(settings.record, settings.record_rate) if settings.record else None
        self._ticks = self._told_ticks = 0
        self._told_at = time.monotonic()
        self._output = SimulationOutput(self, world.robot, settings.tf_frame_prefix, servos=world.bus is None)
        self._lidar = LidarOutput(self, world.robot, settings.tf_frame_prefix, lidar)
        if isinstance(world.driver, TargetFollower):
            self._take_orders(world.driver)
        self._clock_publisher = self.create_publisher(ClockMessage, "/clock", EVENTS) if world.makes_time else None
        self._world_services = WorldServices(self, world, lambda: self._publish(everything=True))
        self.create_timer(world.period / settings.sim_speed_factor, self._tick, clock=self.steady)
        self._window = None if settings.headless else ViewerWindow(self, world.simulation)

    def _take_orders(self, driver: TargetFollower) -> None:
        """Without a bus: joint_targets, and the torque's services."""
        world = self.world
        self._orders, self._layout = driver, JointLayout(world.robot)
        self.create_subscription(JointState, "joint_targets", self._take_targets, COMMAND)
        self._torque = TorqueServices(self, world.torque)

    def _tick(self) -> None:
        world = self.world
        with world.lock:
            if world.bus:
                world.bus.open()
            if world.paused:
                return
            for _ in world.go_on():
                self._publish()
            sentence = world.driver.watch(world.steady)
        if sentence:
            self.report("silence", ReportLevel.WARNING, sentence)

    def _take_targets(self, message: Any) -> None:
        joints, velocities = self._layout.joints(message), self._layout.velocities(message)
        self.world.followed(messages.nanoseconds(message.header.stamp) / messages.NANOSECONDS)
        sentence = self._orders.take(joints, velocities, self.world.steady)
        if sentence:
            self.report("targets", ReportLevel.WARNING, sentence)

    def _change_world(self, settings: WorldSettings) -> None:
        with self.world.lock:
            self.world.change(settings)
        if self._window:
            self._window.open(self.world.simulation)

    # --- what goes out --------------------------------------------------------------------------------

    def _stamp(self) -> Any:
        if self._clock_publisher:
            return messages.time(round(self.world.time * messages.NANOSECONDS))
        return self.get_clock().now().to_msg()

    def _publish(self, *, everything: bool = False) -> None:
        """After a step of the world; joints and feet after every other one."""
        self._ticks += 1
        stamp, simulation = self._stamp(), self.world.simulation
        if self._clock_publisher:
            self._clock_publisher.publish(ClockMessage(clock=stamp))
        reading = simulation.reading()
        self._output.imu(reading, stamp)
        if everything or self._ticks % 2 == 0:
            self._output.state(reading, stamp)
        self._lidar.look(simulation, stamp)
        if self._record:
            self._record.take(simulation, stamp.sec + 1e-9 * stamp.nanosec)

    def status(self) -> Mapping[str, object]:
        """Values for /diagnostics."""
        world, now = self.world, time.monotonic()
        rate = (self._ticks - self._told_ticks) / max(1e-3, now - self._told_at)
        self._told_ticks, self._told_at = self._ticks, now
        return {
            "feedback": "measured",
            "loop [Hz]": f"{rate:.1f}",
            "overruns": world.dropped,
            "simulated time [s]": f"{world.time:.1f}",
            "paused": world.paused,
            **world.simulation.world.told,
            "collisions": self._lidar.collisions,
            **({"bus": world.bus.name} if world.bus else {}),
            "torque": world.armed,
            "emergency stop": "latched" if world.torque.latched else "no",
        }

    def every_second(self) -> None:
        """Keeps in /diagnostics what is not as it should be."""
        if self.world.torque.latched:
            self.report(
                "torque", ReportLevel.ERROR, "emergency stop: call estop with false, then reset_fault, then arm"
            )
        elif not self.world.armed and not self.world.bus:
            self.report("torque", ReportLevel.WARNING, "torque is off: call arm")

    # --- the end --------------------------------------------------------------------------------------

    def safe_stop(self, callback: str) -> None:
        """Holds the joints where they are."""
        self.world.driver.hold()

    def stopped(self) -> bool:
        """True when no targets come any more: nobody walks in this world."""
        return time.monotonic() - self.world.heard > TARGETS_TIMEOUT_S

    def publish_final_state(self) -> None:
        """Writes the record and closes the window."""
        if self._window:
            self._window.close()
        if self.world.bus:
            self.world.bus.close()
        if self._record:
            try:
                self._record.save()
            except OSError as error:
                self.report("record", ReportLevel.ERROR, f"the record was not written: {error}")

    def destroy_node(self) -> None:
        """Takes the wire away first."""
        if self.world.bus:
            self.world.bus.close()
        super().destroy_node()


def main() -> int:
    """Runs the node. Returns the exit code."""
    return run(MujocoSim)


if __name__ == "__main__":
    sys.exit(main())
