"""Node mujoco_sim: the robot in physics, in the place of servo_driver. Same topics, and the truth beside them.

The world runs in real time (times `sim_speed_factor`) and takes targets at the instant they come. With
`publish_clock` it makes the time instead: steps of equal length, /clock and all stamps in simulated time.
A world that falls behind is not hurried: what is more than CATCH_UP behind is dropped and counted.
With `bus` it has a wire instead of joint_targets and joint_states: a servo_driver at its other end has these.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from geometry_msgs.msg import Wrench
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

from hexapod_control.core.kinematics import Array
from hexapod_control.nodes import messages, parameters
from hexapod_control.nodes.base import COMMAND, GuardedNode, Level
from hexapod_control.nodes.joint_driver import JointDriver
from hexapod_control.nodes.layouts import JointLayout
from hexapod_control.nodes.parameters import SimulatorSettings
from hexapod_control.nodes.runner import run
from hexapod_control.nodes.sim_bus import SimBus
from hexapod_control.nodes.sim_lidar import SimLidar
from hexapod_control.nodes.sim_output import SimOutput
from hexapod_control.nodes.torque import TorqueServices
from hexapod_control.robots.load import load
from hexapod_control.robots.urdf import urdf
from hexapod_control.sim.recording import Recording
from hexapod_control.sim.settings import LidarSettings, WorldSettings
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.start import sitting

SILENT = 0.25  # [s] without targets: nobody moves the robot any more
CATCH_UP = 0.1  # [s] of simulated time in one go
PUSH = 0.2  # [s] that a push lasts
STRONGEST = 500.0  # [N] along each axis
WINDOW_PERIOD = 1 / 30  # [s]
SWITCH = 0.001  # [s] after which the thread of the bus gets its turn


def _alone(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that has the world to itself: the thread of the bus lets time pass, too."""

    @functools.wraps(method)
    def guarded(self: MujocoSim, *args: Any) -> Any:
        with self._lock:
            return method(self, *args)

    return guarded


class MujocoSim(GuardedNode):
    """One simulated robot."""

    def __init__(self, **options: Any) -> None:
        super().__init__("mujoco_sim", **options)
        self._settings = parameters.declare(self, SimulatorSettings)
        world = parameters.declare(self, WorldSettings, self._change_world)
        robot_file = load(self._settings.robot)
        self._robot = robot_file.robot
        # What happens between two targets is the driver's: here the physics is stepped more often than targets come.
        # Servos on a bus aim at something else at every instant.
        self._between = "linear" if self._settings.bus else "hold"
        self._urdf = urdf(robot_file)
        self._simulation = Simulation(self._robot, self._urdf, self._as_stepped(world))
        self._start = sitting(self._robot)
        self._simulation.reset(self._start)
        self._lock = threading.RLock()
        self._bus: SimBus | None = None
        self._driver: JointDriver | SimBus = JointDriver(self._robot, self._start, world.between_targets)
        self._record = Recording(self._settings.record, self._settings.record_rate) if self._settings.record else None
        self._period = 1.0 / self._settings.rate  # [s] of simulated time
        self._clock_offset = 0.0  # [s] of the published time at the last reset of the world
        self._paused = False
        self._reference = time.monotonic()
        self._owed = 0.0
        self._ticks = self._dropped = 0
        self._window: Any = None
        self._told_ticks, self._told_at = 0, self._reference
        self._heard = self._reference  # [s] steady time of the last targets
        if self._settings.bus:
            sys.setswitchinterval(SWITCH)
            wire = (self._settings.bus, self._settings.bus_port)
            self._driver = self._bus = SimBus(robot_file, wire, self._lock, lambda: self._simulation, self._advance)
        self._make_interfaces()

    def _as_stepped(self, world: WorldSettings) -> WorldSettings:
        return dataclasses.replace(world, between_targets=self._between)

    def _make_interfaces(self) -> None:
        self._output = SimOutput(self, self._robot, self._settings.tf_frame_prefix, joints=self._bus is None)
        lidar = parameters.declare(self, LidarSettings)
        self._lidar = SimLidar(self, self._robot, self._settings.tf_frame_prefix, lidar)
        if isinstance(self._driver, JointDriver):
            self._take_orders(self._driver)
        clock = self._settings.publish_clock
        self._clock_publisher = self.create_publisher(ClockMessage, "/clock", 10) if clock else None
        self.create_service(SetBool, "~/set_pause", self._set_pause)
        self.create_service(Trigger, "~/reset_world", self._reset_world)
        self.create_service(Trigger, "~/step_simulation", self._step_simulation)
        self.create_subscription(Wrench, "~/push", self._push, COMMAND)
        self.create_timer(self._period / self._settings.sim_speed_factor, self._tick, clock=self.steady)
        if not self._settings.headless:
            self._open_window()
            self.create_timer(WINDOW_PERIOD, self._show, clock=self.steady)

    def _take_orders(self, driver: JointDriver) -> None:
        """Without a bus: joint_targets, and the torque's services."""
        self._orders, self._targets_layout = driver, JointLayout(self._robot)
        self.create_subscription(JointState, "joint_targets", self._take_targets, COMMAND)
        self._torque = TorqueServices(
            self,
            driver,
            lambda: self._simulation.joints,
            lambda: self._simulation.engage(),
            lambda: self._simulation.release(),
        )

    # --- time -----------------------------------------------------------------------------------------

    @property
    def _time(self) -> float:
        """Time of the published clock [s]."""
        return self._clock_offset + self._simulation.time

    def _steady(self) -> float:
        """The time [s] in which the watchdog counts."""
        return self._time if self._clock_publisher else time.monotonic()

    def _stamp(self) -> Any:
        if self._clock_publisher:
            return messages.time(round(self._time * messages.NANOSECONDS))
        return self.get_clock().now().to_msg()

    @_alone
    def _tick(self) -> None:
        if self._bus:
            self._bus.open()
        if self._paused:
            return
        if self._clock_publisher:
            self._owe()
            while self._owed >= self._period and not self._paused:
                self._owed -= self._period
                self._pass(self._period)
                self._publish()
        else:
            self._catch_up()
            self._publish()
        sentence = self._driver.watch(self._steady())
        if sentence:
            self.say("silence", Level.WARNING, sentence)

    def _owe(self) -> None:
        now = time.monotonic()
        self._owed += (now - self._reference) * self._settings.sim_speed_factor
        self._reference = now
        if self._owed > CATCH_UP:
            self._dropped += 1
            self._owed = CATCH_UP

    def _catch_up(self) -> None:
        """Lets the world come to the present."""
        self._owe()
        owed, self._owed = self._owed, 0.0
        self._pass(owed)

    def _pass(self, seconds: float) -> None:
        self._simulation.step(self._driver.step(seconds), seconds)

    def _advance(self, now: float) -> None:
        """Bytes have come: the world comes to the present, unless it makes the time."""
        self._heard = now
        if not self._paused and not self._clock_publisher:
            self._catch_up()

    def _take_targets(self, message: Any) -> None:
        joints, velocities = self._targets_layout.joints(message), self._targets_layout.velocities(message)
        self._heard = time.monotonic()
        if not self._paused and not self._clock_publisher:
            self._catch_up()
        sentence = self._orders.take(joints, velocities, self._steady())
        if sentence:
            self.say("targets", Level.WARNING, sentence)

    # --- what goes out --------------------------------------------------------------------------------

    def _publish(self) -> None:
        self._ticks += 1
        stamp = self._stamp()
        if self._clock_publisher:
            self._clock_publisher.publish(ClockMessage(clock=stamp))
        reading = self._simulation.reading()
        self._output.imu(reading, stamp)
        if self._ticks % 2 == 0:
            self._output.state(reading, stamp)
        self._lidar.look(self._simulation, stamp)
        if self._record:
            self._record.take(self._simulation, stamp.sec + 1e-9 * stamp.nanosec)

    def status(self) -> Mapping[str, object]:
        """Values for /diagnostics."""
        driver, now = self._driver, time.monotonic()
        rate = (self._ticks - self._told_ticks) / max(1e-3, now - self._told_at)
        self._told_ticks, self._told_at = self._ticks, now
        return {
            "feedback": "measured",
            "loop [Hz]": f"{rate:.1f}",
            "overruns": self._dropped,
            "simulated time [s]": f"{self._time:.1f}",
            "paused": self._paused,
            **self._simulation.world.told,
            "collisions": self._lidar.collisions,
            **({"bus": self._bus.name} if self._bus else {}),
            "torque": driver.armed,
            "emergency stop": "latched" if driver.latched else "no",
        }

    def every_second(self) -> None:
        """Keeps in /diagnostics what is not as it should be."""
        if self._driver.latched:
            self.say("torque", Level.ERROR, "emergency stop: call estop with false, then reset_fault, then arm")
        elif not self._driver.armed and not self._bus:
            self.say("torque", Level.WARNING, "torque is off: call arm")

    def safe_stop(self, callback: str) -> None:
        """Holds the joints where they are."""
        self._driver.hold()

    # --- services -------------------------------------------------------------------------------------

    @_alone
    def _set_pause(self, request: Any, response: Any) -> Any:
        if request.data and not self._paused and not self._clock_publisher:
            self._catch_up()
        if self._paused and not request.data:
            self._resume()
        self._paused = request.data
        self._paused_at = time.monotonic()
        response.success, response.message = True, "paused" if self._paused else "running"
        return response

    def _resume(self) -> None:
        """Goes on from here: the time that passed meanwhile never was."""
        now = time.monotonic()
        if not self._clock_publisher:
            self._driver.excuse(now - self._paused_at)
        self._reference, self._owed = now, 0.0
        if np.abs(self._driver.target - self._driver.setpoint).max() > 0.1:
            self._driver.restart(self._driver.setpoint)

    @_alone
    def _step_simulation(self, request: Any, response: Any) -> Any:
        response.success = self._paused
        if self._paused:
            self._ticks |= 1  # the next tick is even: everything is published
            self._pass(self._period)
            self._publish()
            response.message = f"simulated time is {self._time:.3f} s"
        else:
            response.message = "the simulation runs: call set_pause with true first"
        return response

    @_alone
    def _reset_world(self, request: Any, response: Any) -> Any:
        self._clock_offset = self._time
        self._simulation.reset(self._at_origin)
        self._driver.restart(self._start)
        self._reference, self._owed = time.monotonic(), 0.0
        pose = "is, as its servos hold it," if self._bus else "sits"
        response.success, response.message = True, f"the robot {pose} at the origin"
        return response

    @property
    def _at_origin(self) -> Array:
        """Joints (n, 3) [rad] after a reset: servos on a bus stay where they are."""
        return self._simulation.joints if self._bus else self._start

    # --- the world ------------------------------------------------------------------------------------

    @_alone
    def _push(self, message: Any) -> None:
        """A push of PUSH seconds on the body, at its centre of mass, in the world's frame."""
        force = np.array(messages.force(message))
        self._simulation.push(np.clip(force, -STRONGEST, STRONGEST), PUSH)

    @_alone
    def _change_world(self, settings: WorldSettings) -> None:
        """A changed parameter of the world: load and friction under the robot as it stands, another ground anew."""
        simulation = self._simulation.changed(self._urdf, self._as_stepped(settings))
        if simulation.ground == self._simulation.ground:
            simulation.take_over(self._simulation)
        else:
            self._clock_offset = self._time
            simulation.reset(self._at_origin)
            self._driver.restart(self._start)
        if not self._driver.armed:
            simulation.release()
        self._simulation = simulation
        if self._bus:
            self._bus.world.engage()
        if self._window is not None:
            self._window.close()
            self._open_window()

    # --- window and end -------------------------------------------------------------------------------

    def _open_window(self) -> None:
        import mujoco.viewer

        try:
            self._window = mujoco.viewer.launch_passive(self._simulation.model, self._simulation.data)
        except RuntimeError as error:
            self.say("window", Level.ERROR, f"no window ({error}): set headless to true, or tell DISPLAY")

    def _show(self) -> None:
        if self._window is not None and self._window.is_running():
            self._window.sync()

    def stopped(self) -> bool:
        """True when no targets come any more: nobody walks in this world."""
        return time.monotonic() - self._heard > SILENT

    def farewell(self) -> None:
        """Writes the record and closes the window."""
        if self._window is not None:
            self._window.close()
        if self._bus:
            self._bus.close()
        if self._record:
            try:
                self._record.save()
            except OSError as error:
                self.say("record", Level.ERROR, f"the record was not written: {error}")

    def destroy_node(self) -> None:
        """Takes the wire away first."""
        if self._bus:
            self._bus.close()
        super().destroy_node()


def main() -> int:
    """Runs the node. Returns the exit code."""
    return run(MujocoSim)


if __name__ == "__main__":
    sys.exit(main())
