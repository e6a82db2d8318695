# SPDX-License-Identifier: Apache-2.0
"""The gait_planner whose latency is measured, started with `python bench/timed_planner.py`."""

from __future__ import annotations

import sys
from typing import Any

from std_msgs.msg import Float64

from hexapod_control.core.planner.tick_plan import TickPlan
from hexapod_control.nodes.gait_planner.gait_planner import GaitPlannerNode
from hexapod_control.ros import messages, node_process
from hexapod_control.ros.qos import COMMAND


class TimedPlanner(GaitPlannerNode):
    """A gait_planner that stamps foot targets with the start of their tick and publishes the planning time."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._began = 0  # [ns]
        self._publish_row = self.output.publish
        self.output.publish = self._timed  # type: ignore[method-assign]
        self._planning = self.create_publisher(Float64, "planning_time", COMMAND)

    def tick(self) -> None:
        """Runs one tick and records its start."""
        self._began = self.get_clock().now().nanoseconds
        super().tick()

    def _timed(self, plan: TickPlan, stamp: Any, motion: str = "") -> None:
        took = 1e-9 * (messages.nanoseconds(stamp) - self._began)
        self._publish_row(plan, messages.time(self._began), motion)
        self._planning.publish(Float64(data=took))


def main() -> int:
    """Runs the node. Returns the exit code."""
    return node_process.run(TimedPlanner)


if __name__ == "__main__":
    sys.exit(main())
