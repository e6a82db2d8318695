# SPDX-License-Identifier: Apache-2.0
"""Services estop, arm, disarm, reset_fault and topic `armed`, for both nodes that switch torque.

`estop` is served in a thread of its own: nothing that another callback of the process waits for delays it.
"""

from __future__ import annotations

from functools import partial
from typing import Protocol

from std_msgs.msg import Bool
from std_srvs.srv import SetBool, Trigger

from hexapod_control.core.refusal import Refusal, Statement
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.qos import LATCHED
from hexapod_control.servos.driver.torque_switch import HOW_TO_ARM

TORQUE_STAYS_OFF = Statement("torque_stays_off", f"torque is off and stays off: {HOW_TO_ARM}")


class TorqueControl(Protocol):
    """Hardware whose torque can be switched: the driver of real servos, or a simulated robot. Any thread may call."""

    @property
    def latched(self) -> bool:
        """Whether an emergency stop is latched."""

    def press_estop(self) -> Refusal | None:
        """Latches and switches the torque off. Returns why torque-off could not be sent."""

    def release_estop(self) -> None:
        """Releases the button; the latch stays."""

    def reset_fault(self) -> Refusal | None:
        """Clears the latch and past faults. Returns a fault that persists."""

    def arm(self) -> Refusal | None:
        """Switches the torque on at the present joint angles. Returns why it is not on."""

    def disarm(self) -> Refusal | None:
        """Switches the torque off. Returns why torque-off could not be sent."""


class ArmedTopic:
    """The latched topic `armed`: whether the torque is on."""

    def __init__(self, node: GuardedNode) -> None:
        self._node = node
        self._publisher = node.create_publisher(Bool, "armed", LATCHED)
        self._published: bool | None = None

    def show(self, holds: bool) -> None:
        """Publishes a value that has changed."""
        if holds != self._published:
            self._published = holds
            self._publisher.publish(Bool(data=holds))
            self._node.run_in_executor(self._node.publish_status)  # with the reason


class TorqueServices:
    """Offers the services on a node."""

    def __init__(self, node: GuardedNode, torque: TorqueControl) -> None:
        self._node = node
        self._torque = torque
        node.threads.create_urgent_service(SetBool, "estop", self._estop)
        node.create_service(Trigger, "arm", self._arm)
        node.create_service(Trigger, "disarm", self._disarm)
        node.create_service(Trigger, "reset_fault", self._reset_fault)

    def _estop(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        """Called in its own thread."""
        if not request.data:
            self._torque.release_estop()
            response.message = (
                "released; run hexapod reset, then hexapod arm" if self._torque.latched else "was not pressed"
            )
            response.success = True
            return response
        failure = self._torque.press_estop()
        response.success = failure is None
        if failure:
            response.message = f"latched, but torque-off could not be sent: {failure}; cut the servos' power"
        else:
            response.message = str(TORQUE_STAYS_OFF)
        answer = response.message if failure else TORQUE_STAYS_OFF
        said = Statement("emergency_stop_sent", "emergency stop: {answer}", answer=answer)
        self._node.run_in_executor(partial(self._node.report, "torque", ReportLevel.ERROR, said))
        return response

    def _reset_fault(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        fault = self._torque.reset_fault()
        if fault is None:  # what was an error is past; one that lasts is reported again
            self._node.withdraw_errors()
        response.success = fault is None
        response.message = self._node.in_words(fault) if fault else "no fault; hexapod arm switches the torque on"
        return response

    def _arm(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        refusal = self._torque.arm()
        if refusal:
            self._node.report(
                "arm", ReportLevel.WARNING, Statement("not_armed", "not armed: {refusal}", refusal=refusal)
            )
        else:
            self._node.withdraw("torque")
        response.success = refusal is None
        response.message = self._node.in_words(refusal) if refusal else "torque is on"
        return response

    def _disarm(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        failure = self._torque.disarm()
        response.success = failure is None
        response.message = f"torque-off could not be sent: {failure}" if failure else "torque is off"
        return response
