# SPDX-License-Identifier: Apache-2.0
"""Parameters of mujoco_sim, except those of the world and the lidar (sim.world_settings)."""

from __future__ import annotations

from dataclasses import dataclass

from hexapod_control.config.ros_names import frame_prefix
from hexapod_control.core.names import quoted
from hexapod_control.core.quantity import choice, number
from hexapod_control.core.robot import Camera, Robot
from hexapod_control.core.sensing.cameras import USUAL_CAMERAS
from hexapod_control.core.simulated_world import SPEED_FACTOR
from hexapod_control.ros.parameters import ParameterError, RobotSettings

_WITH_SIM_TIME = {"meaning": "simulated seconds per second; not 1 needs use_sim_time"}


@dataclass(frozen=True, slots=True)
class SimulatorSettings(RobotSettings):
    """Parameters of mujoco_sim, except those of the world and the lidar."""

    rate: float = number(100.0, "Hz", 50.0, 500.0, "steps of the world and imu/data; joint_states at half of it")
    sim_speed_factor: float = SPEED_FACTOR.field(**_WITH_SIM_TIME)
    publish_clock: bool = choice(False, "publish the simulated time on /clock and stamp with it")
    headless: bool = choice(True, "run without a window; false opens MuJoCo's viewer")
    record: str = choice("", "file (.npz) for the states of the run, written at the end; empty: none")
    record_rate: float = number(25.0, "Hz", 1.0, 100.0, "states per simulated second in the record")
    tf_frame_prefix: str = choice("", "put before the frame ids base_link and imu_link", check=frame_prefix)
    camera_rate: float = number(
        0.0, "Hz", 0.0, 30.0, "images of a camera at the front, at most, while there is a subscriber; 0: no camera"
    )
    camera_width: int = number(320, "", 64, 1280, "width of these images in pixels; the height is 3/4 of it")
    depth_camera: str = choice(
        "", f"a depth camera at this place instead of those of the robot file: {', '.join(USUAL_CAMERAS)}"
    )
    bus: str = choice("", "protocol of the servo bus to emulate instead of joint_targets; empty: none")
    bus_port: str = choice("", "symbolic link to create to the bus, the port for servo_driver")

    def __post_init__(self) -> None:
        if self.depth_camera and self.depth_camera not in USUAL_CAMERAS:
            places = ", ".join(USUAL_CAMERAS)
            raise ParameterError(f"depth_camera must be one of {places}, is {quoted(self.depth_camera)}")

    def cameras(self, robot: Robot) -> tuple[Camera, ...]:
        """The depth cameras to simulate."""
        return (USUAL_CAMERAS[self.depth_camera](robot),) if self.depth_camera else robot.cameras
