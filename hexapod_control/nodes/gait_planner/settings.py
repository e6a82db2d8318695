# SPDX-License-Identifier: Apache-2.0
"""Parameters of gait_planner."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

from hexapod_control.config.ros_names import frame_prefix, topic
from hexapod_control.core.quantity import choice, number
from hexapod_control.core.robot import LIFT_RANGE
from hexapod_control.core.sensing.sensor_inputs import Adaptation, MishapDetection
from hexapod_control.core.walking.walk_settings import TEMPO_RANGE
from hexapod_control.core.workspace.twist_limits import MIN_COMMAND, AxisLimits, TwistLimits
from hexapod_control.ros.distribution import stamped_by_default
from hexapod_control.ros.parameters import FROM_ROBOT, LIVE, ParameterError, RobotSettings
from hexapod_control.ros.terrain_messages import without_grid_map

VELOCITY = {**FROM_ROBOT, "least": max(MIN_COMMAND)}  # metadata of the limit of a velocity: a smaller one is not walked


@dataclass(frozen=True, slots=True)
class LinearAxis:
    """Limits of a linear axis."""

    max_velocity: float = number(math.nan, "m/s", 0.0, 10.0, "maximum speed forward or left", **VELOCITY)
    min_velocity: float = number(
        math.nan, "m/s", -10.0, 0.0, "maximum speed in the opposite direction, negative", **VELOCITY
    )
    max_acceleration: float = number(math.nan, "m/s^2", 0.01, 100.0, "maximum increase of the speed", **FROM_ROBOT)
    max_deceleration: float = number(math.nan, "m/s^2", 0.01, 100.0, "maximum decrease of the speed", **FROM_ROBOT)


@dataclass(frozen=True, slots=True)
class AngularAxis:
    """Limits of the rotation."""

    max_velocity: float = number(math.nan, "rad/s", 0.0, 20.0, "maximum rate counter-clockwise", **VELOCITY)
    min_velocity: float = number(math.nan, "rad/s", -20.0, 0.0, "maximum rate clockwise, negative", **VELOCITY)
    max_acceleration: float = number(math.nan, "rad/s^2", 0.01, 200.0, "maximum increase of the rate", **FROM_ROBOT)
    max_deceleration: float = number(math.nan, "rad/s^2", 0.01, 200.0, "maximum decrease of the rate", **FROM_ROBOT)


@dataclass(frozen=True, slots=True)
class PlannerSettings(RobotSettings):
    """Parameters of gait_planner."""

    gait: str = choice("", "gait to start with, auto: by speed; empty: the robot file's")
    control_rate: float = number(50.0, "Hz", 10.0, 500.0, "ticks of the planner")
    cmd_vel_timeout: float = number(0.5, "s", 0.05, 10.0, "a velocity command is good for this long", **LIVE)
    enable_stamped_cmd_vel: bool = choice(stamped_by_default(), "cmd_vel is TwistStamped, not Twist")
    publish_limited_velocity: bool = choice(False, "publish the executed velocity on cmd_vel_out")
    stand_on_start: bool = choice(False, "stand up as soon as the pose is known")
    sit_on_exit: bool = choice(False, "sit down before the process ends; else only set the feet down")
    lift_scale: float = number(1.0, "", *LIFT_RANGE, "height of the steps as a share of walk.lift_height", **LIVE)
    swing_time_scale: float = number(
        math.nan,
        "",
        *TEMPO_RANGE,
        "preferred time of a swing, and so of a cycle, as a share of walk.swing_time; .nan: 1, or 2 with economy",
        **FROM_ROBOT,
    )
    stability_margin_min: float = number(
        0.01,
        "m",
        0.0,
        0.2,
        "static margin below which a walk slows, shifts the body or changes its gait; 0: never",
        **LIVE,
    )
    adaptive_touch_down: bool = choice(
        False,
        "use the contacts in foot_states: a swing ends at an early contact, a foot without one searches downwards",
        **LIVE,
    )
    map_footholds: bool = choice(
        False,
        "step where terrain_map, if it is published, shows a place to stand, and stop where there is none",
        **LIVE,
    )
    explore_by_feet: bool = choice(
        False,
        "step on ground that the map does not show, too, in gaits with one leg in the air at a time: a foot feels for "
        "it, and the others wait",
        **LIVE,
    )
    grid_map: str = choice(
        "",
        "topic of grid_map_msgs/GridMap with a layer `elevation`, which is used in place of terrain_map",
        check=lambda text: text and topic(text),
    )
    imu_levelling: bool = choice(False, "keep the body level by imu/data, as far as the legs reach", **LIVE)
    course_correction_max: float = number(
        0.15,
        "",
        0.0,
        0.3,
        "largest correction of the walk to the commanded course, by the heading in imu/data and by joint_states, "
        "as a share of the speed; 0: none",
        **LIVE,
    )
    foot_trim_max: float = number(
        0.12,
        "",
        0.0,
        0.3,
        "largest change of the height of a foot so that all bear load, by foot_states or joint_states, "
        "as a share of walk.height; 0: none",
        **LIVE,
    )
    fall_detection: bool = choice(
        True, "hold the joints after a fall (imu/data) or while no foot bears load (foot_states), see recover", **LIVE
    )
    stuck_detection: bool = choice(
        True, "walk slowly or stop when a leg does not follow (joint_states) or feet slip (imu/data)", **LIVE
    )
    tf_frame_prefix: str = choice("", "put before the frame ids of foot_markers", check=frame_prefix)
    linear_x: LinearAxis = dataclasses.field(default_factory=LinearAxis, metadata={"name": "linear.x"})
    linear_y: LinearAxis = dataclasses.field(default_factory=LinearAxis, metadata={"name": "linear.y"})
    angular_z: AngularAxis = dataclasses.field(default_factory=AngularAxis, metadata={"name": "angular.z"})

    def __post_init__(self) -> None:
        if self.grid_map and without_grid_map():
            raise ParameterError(f"grid_map {without_grid_map()}")

    @property
    def axes(self) -> tuple[LinearAxis, LinearAxis, AngularAxis]:
        """The limits of x, y and yaw."""
        return self.linear_x, self.linear_y, self.angular_z

    @property
    def limits(self) -> TwistLimits:
        """The velocity and acceleration limits for the core."""
        return TwistLimits(*(AxisLimits(*dataclasses.astuple(axis)) for axis in self.axes))

    @property
    def adaptation(self) -> Adaptation:
        """Enabled adaptations to the sensors."""
        return Adaptation(
            self.adaptive_touch_down,
            self.imu_levelling,
            self.course_correction_max,
            self.foot_trim_max,
            self.explore_by_feet,
        )

    @property
    def mishap_detection(self) -> MishapDetection:
        """Enabled detection of mishaps."""
        return MishapDetection(self.fall_detection, self.stuck_detection)
