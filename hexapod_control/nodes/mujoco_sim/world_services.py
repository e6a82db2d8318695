"""Services of mujoco_sim: pause, step and reset the world, push the robot."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from geometry_msgs.msg import Wrench
from std_srvs.srv import SetBool, Trigger

from hexapod_control.nodes.mujoco_sim.running_world import RunningWorld
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.qos import COMMAND

PUSH_DURATION_S = 0.2
MAX_PUSH = 500.0  # [N] along each axis


class WorldServices:
    """Offers the services on a node; `publish` publishes all topics of the world."""

    def __init__(self, node: GuardedNode, world: RunningWorld, publish: Callable[[], None]) -> None:
        self._world, self._publish = world, publish
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
        response.success, response.message = True, "paused" if request.data else "running"
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
        response.success, response.message = True, "the robot is at the origin, with its joint angles"
        return response

    def _push(self, message: Wrench) -> None:
        """Pushes the body at its center of mass for PUSH_DURATION_S, in the world frame."""
        force = np.array(messages.force(message))
        with self._world.lock:
            self._world.simulation.push(np.clip(force, -MAX_PUSH, MAX_PUSH), PUSH_DURATION_S)
