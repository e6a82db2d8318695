# SPDX-License-Identifier: Apache-2.0
"""The processes of launch/ros2_control.launch.py: joints, their description, controller manager and controllers.

A controller takes the place of gait_planner and inverse_kinematics (docs/ros2-control.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hexapod_control.bringup.launch_arguments import ARGUMENTS, TEXT, Argument, GraphError, argument_values, is_urdf
from hexapod_control.bringup.node_graph import STANDARD_FRAMES, NodeSpec
from hexapod_control.config import ros_names
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import EXTRA_CONTROLLER, LEG_CONTROLLER, TOPICS, controllers, urdf

MANAGER = "controller_manager"
SPAWNER = "spawner"  # ends once the controllers are active
CONTROLLERS = ("joint_state_broadcaster", LEG_CONTROLLER)
EXTRA = "extra"  # only the extra joints, whose driver and description are those of the walk
MOCK = "mock"
JOINTS = {"sim": "mujoco_sim", "real": "servo_driver", MOCK: ""}  # our node behind each hardware


def arguments() -> tuple[Argument, ...]:
    """The launch arguments."""
    what = "sim: in physics simulation; real: the servos of the robot file; mock: joints that follow at once"
    which = "all: a controller moves the legs, too; extra: extra joints, beside sim.launch.py or bringup.launch.py"
    return (
        ARGUMENTS["robot"],
        ARGUMENTS["namespace"],
        Argument("hardware", TEXT, what, "sim", choices=tuple(JOINTS)),
        Argument("joints", TEXT, which, "all", choices=("all", EXTRA)),
    )


def specs(given: Mapping[str, object], folder: Path) -> tuple[NodeSpec, ...]:
    """Returns the processes; writes the parameters of the controllers into a folder.

    Raises GraphError or FileError.
    """
    values = argument_values("ros2_control", arguments(), given)
    if is_urdf(str(values["robot"])):
        raise GraphError(f"robot: must be a robot file, is {values['robot']}; hexapod import makes one of a URDF")
    robot = load(str(values["robot"]))
    alone = values["joints"] == EXTRA
    if alone and not robot.robot.extra_joints:
        raise GraphError(f"joints: must be all, is {EXTRA}; {robot.path} has no section extra_joints")
    node = JOINTS[str(values["hardware"])]
    hardware = TOPICS if node else MOCK
    namespace = ros_names.namespace(str(values.get("namespace", "")))
    parameters = folder / "controllers.yaml"
    parameters.write_text(controllers(robot.robot, hardware), encoding="utf-8")
    description = {"robot_description": urdf(robot, ros2_control=hardware)}
    file = str(parameters)
    own = (EXTRA_CONTROLLER,) if robot.robot.extra_joints else ()
    wanted = own if alone else (*CONTROLLERS, *own)
    found = (
        NodeSpec(node, parameters={"robot": str(robot.path)}, namespace=namespace),
        NodeSpec(STANDARD_FRAMES, STANDARD_FRAMES, description, namespace=namespace),
        NodeSpec("ros2_control_node", MANAGER, namespace=namespace, params_file=file),
        NodeSpec(SPAWNER, MANAGER, arguments=(*wanted, "--param-file", file), namespace=namespace),
    )
    return found[2:] if alone else tuple(spec for spec in found if spec.executable)
