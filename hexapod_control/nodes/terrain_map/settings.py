# SPDX-License-Identifier: Apache-2.0
"""Parameters of terrain_map."""

from __future__ import annotations

from dataclasses import dataclass

from hexapod_control.config.ros_names import frame, frame_prefix, topic
from hexapod_control.core.quantity import choice, number
from hexapod_control.core.robot import Robot
from hexapod_control.core.sensing.cameras import USUAL_CAMERAS
from hexapod_control.core.terrain.traversability import MAX_SLOPE_DEG
from hexapod_control.ros.parameters import FROM_ROBOT, ParameterError, RobotSettings
from hexapod_control.ros.terrain_messages import without_grid_map


def _topics(text: str) -> None:
    for name in text.split():
        topic(name)


@dataclass(frozen=True, slots=True)
class TerrainMapSettings(RobotSettings):
    """Parameters of terrain_map."""

    depth_images: str = choice(
        "",
        "topics of rectified depth images, with spaces between; beside each one its camera_info; empty: of the cameras "
        "of the robot file, or of one named camera; none if there are point_clouds",
        check=_topics,
    )
    point_clouds: str = choice("", "topics of PointCloud2, with spaces between", check=_topics)
    rate: float = number(5.0, "Hz", 0.5, 20.0, "maps, at most")
    scan_rate: float = number(10.0, "Hz", 0.5, 30.0, "scans of each sensor that are used, at most")
    max_step: float = number(
        float("nan"), "m", 0.005, 1.0, "step that counts as free in traversability", **{**FROM_ROBOT, "live": False}
    )
    max_slope_deg: float = number(MAX_SLOPE_DEG, "deg", 1.0, 60.0, "slope that counts as free in traversability")
    publish_grid_map: bool = choice(False, "publish the map as grid_map_msgs/GridMap on grid_map, too")
    odom_frame_id: str = choice("odom", "frame of the map", check=frame)
    tf_frame_prefix: str = choice("", "put before odom_frame_id and base_link", check=frame_prefix)

    def __post_init__(self) -> None:
        if self.publish_grid_map and without_grid_map():
            raise ParameterError(f"publish_grid_map {without_grid_map()}")
        topics = (*self.depth_images.split(), *self.point_clouds.split())
        if len(set(topics)) < len(topics):
            raise ParameterError(f"depth_images and point_clouds name a topic twice: {' '.join(topics)}")

    def images(self, robot: Robot) -> tuple[str, ...]:
        """The topics of depth images."""
        if self.depth_images or self.point_clouds:
            return tuple(self.depth_images.split())
        return tuple(camera.image_topic for camera in robot.cameras or (USUAL_CAMERAS["mast"](robot),))
