# SPDX-License-Identifier: Apache-2.0
"""What the robot carries: weighed while it stands, best while its body moves; from then on part of its body."""

from __future__ import annotations

import math
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

from hexapod_control.core.kinematics.body_pose import NEUTRAL
from hexapod_control.core.planner.planner import Planner, PlannerView
from hexapod_control.core.posture.walking_legs import WalkingLegs
from hexapod_control.core.refusal import Statement
from hexapod_control.core.sensing.payload import NO_PAYLOAD, Payload, Scale
from hexapod_control.nodes.joint_state_input import MeasuredSample
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel

SAMPLE_S = 0.05  # between two samples that count
MAX_TILT = 0.05  # [rad] of the body, where an IMU is: a robot on a slope does not weigh itself


class PayloadInput:
    """Weighs one robot, and gives its planner tables with the payload. Lives as long as its node.

    The tables change only while the robot rests in its neutral stance, where that moves neither feet nor body. Margin,
    speed limits and gaits then are those of the loaded robot.
    """

    def __init__(self, node: GuardedNode, planner: Planner) -> None:
        """The thread starts with the first payload."""
        self._node = node
        self._planner = planner
        self._unloaded = planner.robot.body
        self._scale = Scale(planner.robot)
        self._used = NO_PAYLOAD
        self._torques_known = False
        self._sampled_at = -math.inf  # [s]
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="payload")
        self._computing: Future[WalkingLegs] | None = None

    def take(self, sample: MeasuredSample, now: float) -> None:
        """Takes measured joints at a time [s] of the control clock."""
        if abs(now - self._sampled_at) < SAMPLE_S:
            return
        self._sampled_at = now
        self._torques_known = sample.torques is not None
        view = self._planner.view
        if sample.torques is None or not self._is_on_all_feet(view):
            self._scale.interrupt()
        else:
            moves = self._planner.plays_motion or not view.at_rest
            self._scale.take(sample.joints, sample.torques, now, moves=moves)

    def _is_on_all_feet(self, view: PlannerView) -> bool:
        """Whether all feet are down and stay, and the body is level."""
        tilt = *(self._planner.sensors.imu.tilt or ()), view.body_pose.roll, view.body_pose.pitch
        planted = view.walk is not None and view.walk.at_rest and not view.lost_legs
        return planted and max(map(abs, tilt)) < MAX_TILT

    def _is_neutral(self) -> bool:
        """Whether the robot rests in its neutral stance."""
        view = self._planner.view
        neutral = view.in_neutral_stance and view.body_pose == NEUTRAL and not view.lost_legs
        return neutral and not self._planner.plays_motion

    def watch(self) -> None:
        """Begins to compute tables for a new payload, and passes them on when they are ready; call it every tick."""
        payload = self._scale.payload
        if self._computing is not None:
            if self._computing.done() and self._is_neutral():
                self._pass_on(self._computing)
        elif payload is not None:
            counted = payload if payload.is_significant else NO_PAYLOAD._replace(mass_deviation=payload.mass_deviation)
            if counted.differs_from(self._used):
                self._used = counted
                self._computing = self._pool.submit(self._tables, counted)

    def _tables(self, payload: Payload) -> WalkingLegs:
        robot = replace(self._planner.robot, body=self._unloaded)
        return WalkingLegs.without(payload.on(robot) if payload.mass else robot, frozenset())

    def _pass_on(self, tables: Future[WalkingLegs]) -> None:
        used = self._used
        try:
            refused = self._planner.change_gaits(tables.result()) is not None
        except ValueError as error:  # no gait is stable
            text = (
                "the robot carries {load}, with which it cannot walk safely: {error}; move the load to the middle, or "
                "take it off"
            )
            said = Statement("load_too_heavy", text, load=str(used), error=Statement.of(error))
            self._node.report("payload", ReportLevel.WARNING, said)
            refused = False
        else:
            text = f"carries {used}: margin and speed limits are those with it" if used.mass else "carries no load now"
            self._node.report("payload", ReportLevel.OK, f"the robot {text}")
        self._computing = self._computing if refused else None

    def status(self) -> Mapping[str, object]:
        """Values for /diagnostics."""
        if self._scale.payload is not None:
            return {"payload": self._scale.payload}
        waits = "weighed when it has stood still for 5 s" if self._torques_known else "needs servos that report load"
        return {"payload": f"unknown: {waits}"}
