"""The front camera of mujoco_sim: `image_raw/compressed`, and its frame on /tf_static."""

from __future__ import annotations

import math
import time
from functools import partial

from builtin_interfaces.msg import Time
from sensor_msgs.msg import CompressedImage

from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.robot import Robot
from hexapod_control.nodes.mujoco_sim.settings import SimulatorSettings
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.qos import DISPLAY
from hexapod_control.ros.static_frames import publish_mounting
from hexapod_control.sim.mujoco_model import front_camera_pose
from hexapod_control.sim.rendering.front_camera import FrontCamera
from hexapod_control.sim.simulation import Simulation


class CameraOutput:
    """Publishes the images of one simulated camera; without a subscriber nothing is rendered."""

    def __init__(self, node: GuardedNode, robot: Robot, prefix: str, settings: SimulatorSettings) -> None:
        """`prefix` is that of the frame ids base_link and camera_optical_frame (z forward, x right)."""
        self._node, self._period, self._last = node, 1.0 / settings.camera_rate, -math.inf
        width = settings.camera_width
        self._camera = FrontCamera((width, 3 * width // 4), self._take, self._failed)
        self._images = node.create_publisher(CompressedImage, "image_raw/compressed", DISPLAY)
        (x, y, z), pitch = front_camera_pose(robot)
        pose = BodyPose(x=x, y=y, z=z, roll=-math.pi / 2.0 - pitch, yaw=-math.pi / 2.0)
        self._frame = publish_mounting(node, prefix, "camera_optical_frame", pose)

    def publish(self, simulation: Simulation, stamp: Time) -> None:
        """Publishes an image if one is due; call it after every step of the world."""
        now = time.monotonic()
        if now - self._last >= self._period and self._images.is_received:
            self._last = now
            self._camera.shoot(simulation, stamp)

    def close(self) -> None:
        """Ends the thread of the camera."""
        self._camera.close()

    def _take(self, image: bytes, stamp: Time) -> None:
        message = CompressedImage(format="jpeg", data=image)
        message.header.stamp, message.header.frame_id = stamp, self._frame
        self._node.run_in_executor(partial(self._images.publish, message))

    def _failed(self, reason: str) -> None:
        self._node.run_in_executor(partial(self._node.report, "camera", ReportLevel.ERROR, f"no images: {reason}"))
