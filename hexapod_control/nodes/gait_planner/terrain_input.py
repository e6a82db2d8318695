# SPDX-License-Identifier: Apache-2.0
"""The map terrain_map, or a GridMap, for the planner, with the newest pose of base_link in its frame, from /tf."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from rclpy.subscription import Subscription
from sensor_msgs.msg import PointCloud2

from hexapod_control.core.kinematics.frame_tree import FramePose, FrameTree, UnknownPoseError
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.refusal import Statement
from hexapod_control.core.terrain.height_map import TerrainGrid
from hexapod_control.core.terrain.traversability import MAX_SLOPE_DEG, ClimbLimits, highest_step, speed_share
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.message_types import TFMessage
from hexapod_control.ros.qos import COMMAND, SAMPLES
from hexapod_control.ros.terrain_messages import GRID_MAP, grid_of_map, large_decoder, terrain_grid

RATED = 1.5  # [distance of the farthest foothold] of the ground that sets the speed: that of the next steps
SHARE_STEP = 0.05  # of the speed, by which it may be raised with each map; it is lowered at once


class TerrainInput:
    """Subscribes to the map while it is to be used, and to /tf once there is a map.

    `speed_share` is that of the ground around the robot; 1 without a map.
    """

    def __init__(self, node: GuardedNode, planner: Planner, base: str, grid_map: str = "") -> None:
        """`base` is the frame id of base_link, `grid_map` the topic of a GridMap that is used instead of terrain_map.

        Creates no subscriptions yet; see `use`.
        """
        self._topic = grid_map or "terrain_map"
        self._kind: Any = GRID_MAP if grid_map else PointCloud2
        self._convert: Callable[[Any], TerrainGrid] = grid_of_map if grid_map else terrain_grid
        self._node = node
        self._planner = planner
        self._base = base
        self._subscriptions: list[Subscription] = []
        robot = planner.robot
        self._limits = ClimbLimits(highest_step(robot), math.tan(math.radians(MAX_SLOPE_DEG)), 0.0)
        self._reach = RATED * max(math.hypot(*foothold) for foothold in robot.footholds)  # [m]
        self._forget()

    def _forget(self) -> None:
        self._grid: TerrainGrid | None = None
        self._frame = ""  # of the map
        self._frames = FrameTree()  # with the newest pose of each
        self._rated = -math.inf  # [s] time of the map that `speed_share` is of
        self.speed_share = 1.0
        self._planner.see(None, None)

    def use(self, wanted: bool) -> None:
        """Subscribes to the map, or forgets it."""
        if wanted and not self._subscriptions:
            decode = large_decoder(self._kind)
            self._subscriptions = [
                self._node.create_subscription(
                    self._kind, self._topic, self.on_map, COMMAND, polled=True, decode=decode
                )
            ]
        elif not wanted and self._subscriptions:
            for subscription in self._subscriptions:
                self._node.destroy_subscription(subscription)
            self._subscriptions = []
            self._forget()

    def on_map(self, message: Any) -> None:
        """Takes a newer map. Raises MessageError."""
        self._grid = self._convert(message)
        self._frame = message.header.frame_id
        if len(self._subscriptions) < 2:
            frames = self._node.create_subscription(TFMessage, "/tf", self.on_frames, SAMPLES, polled=True)
            self._subscriptions.append(frames)

    def on_frames(self, message: TFMessage) -> None:
        """Takes the newest poses of frames. Raises MessageError."""
        for frame, parent, position, quaternion, _ in messages.frame_transforms(message.transforms):
            self._frames.place(frame, parent, position, quaternion, None)

    def show(self) -> None:
        """Passes map and pose on to the planner, before a tick."""
        if self._grid is not None:
            base = self._pose()
            self._planner.see(self._grid if base is not None else None, base)
            if base is not None and self._rated != self._grid.time:
                self._rated = self._grid.time
                self._rate(self._grid, base)

    def _rate(self, grid: TerrainGrid, base: FramePose) -> None:
        x, y, _ = base.position.tolist()
        share = math.ceil(speed_share(grid, (x, y), self._reach, self._limits) / SHARE_STEP - 1e-9) * SHARE_STEP
        self.speed_share = round(min(share, self.speed_share + SHARE_STEP), 2)

    def watch(self) -> None:
        """Reports a map that cannot be used."""
        if self._grid is not None and self._pose() is None:
            text = "no transform leads from {base} to {frame}, the frame of {topic}: the map is not used; is odometry "
            text += "running?"
            values = {"base": self._base, "frame": self._frame, "topic": self._topic}
            self._node.report("terrain frame", ReportLevel.WARNING, Statement("map_no_frame", text, **values))

    def status(self) -> dict[str, object]:
        """Values for /diagnostics."""
        used = self._planner.view.sight.value if self._subscriptions else "off"
        return {"terrain_map": used, "speed share of the ground": f"{self.speed_share:.2f}"}

    def _pose(self) -> FramePose | None:
        """The pose of base_link in the frame of the map; None: unknown."""
        try:
            return self._frames.find(self._base, self._frame, 0.0)
        except UnknownPoseError:
            return None
