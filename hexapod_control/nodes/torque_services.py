"""The services of a node that has the torque: estop, arm, disarm, reset_fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from std_srvs.srv import SetBool, Trigger

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.servos.driver.setpoint_generator import SetpointGenerator


class TorqueServices:
    """Offers the services on a node; `engage` and `release` switch the torque of the real thing."""

    def __init__(
        self,
        node: GuardedNode,
        driver: SetpointGenerator,
        measured: Callable[[], Array],
        engage: Callable[[], None],
        release: Callable[[], None],
    ) -> None:
        self._node, self._driver, self._measured = node, driver, measured
        self._engage, self._release = engage, release
        node.create_service(SetBool, "estop", self._estop)
        node.create_service(Trigger, "arm", self._arm)
        node.create_service(Trigger, "disarm", self._disarm)
        node.create_service(Trigger, "reset_fault", self._reset_fault)

    def _estop(self, request: Any, response: Any) -> Any:
        if request.data:
            self._driver.press_estop()
            self._release()
            response.message = "torque is off and stays off: call estop with false, then reset_fault, then arm"
            self._node.report("torque", ReportLevel.ERROR, f"emergency stop: {response.message}")
        else:
            self._driver.release_estop()
            response.message = "released; call reset_fault, then arm" if self._driver.latched else "was not pressed"
        response.success = True
        return response

    def _reset_fault(self, request: Any, response: Any) -> Any:
        reason = self._driver.reset_fault()
        response.success, response.message = not reason, reason or "no fault; call arm to switch the torque on"
        return response

    def _arm(self, request: Any, response: Any) -> Any:
        before = self._driver.armed
        reason = self._driver.arm(self._measured())
        response.success, response.message = not reason, reason or "torque is on"
        if self._driver.armed and not before:
            self._engage()
        return response

    def _disarm(self, request: Any, response: Any) -> Any:
        self._driver.disarm()
        self._release()
        response.success, response.message = True, "torque is off"
        return response
