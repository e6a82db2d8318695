"""The controllers of config/ros2_control.yaml for the joints of a robot."""

from __future__ import annotations

import io

from hexapod_control.config.bounded_yaml import parse, parser, read_text
from hexapod_control.config.shipped_files import share
from hexapod_control.core.names import joint_names
from hexapod_control.core.robot import Robot


def controllers(robot: Robot) -> str:
    """The parameter file of ros2_control for this robot; comments and all other values are preserved."""
    yaml = parser()
    yaml.width = 120
    yaml.indent(mapping=2, sequence=4, offset=2)
    document = parse(read_text(share("config", "ros2_control.yaml")), yaml)
    controller = document["/**/joint_trajectory_controller"]["ros__parameters"]
    controller["joints"][:] = joint_names(robot.leg_names)
    stream = io.StringIO()
    yaml.dump(document, stream)
    return stream.getvalue()
