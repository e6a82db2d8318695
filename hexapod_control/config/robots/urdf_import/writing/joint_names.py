# SPDX-License-Identifier: Apache-2.0
"""The joint mapping of an imported robot, and the comments of its robot file."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from hexapod_control.config.robots.draft.robot_draft import Origin
from hexapod_control.config.robots.draft.robot_text import FileNotes, exact
from hexapod_control.config.robots.draft.rotations import angles_of_rotation
from hexapod_control.config.robots.urdf_import.findings import ImportedRobot
from hexapod_control.core.names import JOINTS, joint_name


def import_notes(robot: ImportedRobot) -> FileNotes:
    """The comments of its robot file."""
    return FileNotes(
        head=tuple(_head(robot)),
        geometry=Origin.READ,
        body=": no larger than the hips are apart",
        limits="no limits in the URDF, measure",
        servo="give --servo MODEL --voltage V: hexapod servos models lists them",
        servo_source=f"velocity and effort of {robot.tree.path.name}",
        height="chosen with the footholds: there the feet can step farthest",
        confirmed=dict.fromkeys((error.key for error in robot.unusual), f"imported from {robot.tree.path.name}"),
    )


def mapping_text(robot: ImportedRobot) -> str:
    """The joint mapping."""
    lines = [
        f"# Joints of {robot.tree.path.name} for the parameter joint_mapping of all nodes: topics have these names,",
        "# signs and zeros. The angle in the URDF is sign * (angle of the robot file) + offset [rad].",
        "joints:",
    ]
    for leg, geometry in robot.legs.items():
        for part, joint in zip(JOINTS, geometry.joints, strict=True):
            entry = f"name: {_quoted(joint.name)}, sign: {joint.sign}, offset: {exact(joint.offset)}"
            lines.append(f"  {joint_name(leg, part)}: {{{entry}}}")
    if robot.fixed:
        lines += [
            "# Joints that no leg moves [rad]: published at these angles, ignored in commands. Remove the lines of",
            "# joints that another node publishes.",
        ]
        lines.append("fixed:")
        lines += [f"  {_quoted(name)}: {exact(angle)}" for name, angle in robot.fixed.items()]
    return "\n".join((*lines, ""))


def transform_command(robot: ImportedRobot) -> str:
    """The command that publishes the pose of the URDF's root, frame urdf/..., in base_link of the robot file."""
    to_root = robot.tree.placements({})[robot.chains.base] @ robot.frame.pose
    pose = np.asarray(np.linalg.inv(to_root), dtype=np.float64)
    values = zip(
        ("x", "y", "z", "roll", "pitch", "yaw"), (*pose[:3, 3], *angles_of_rotation(pose[:3, :3])), strict=True
    )
    options = " ".join(f"--{name} {value:.6f}" for name, value in values)
    ends = f"--frame-id base_link --child-frame-id urdf/{robot.tree.root}"
    return f"ros2 run tf2_ros static_transform_publisher {options} {ends}"


def _quoted(name: str) -> str:
    return name if name.replace("_", "").isalnum() and not name[0].isdigit() else json.dumps(name)  # JSON is YAML


def _head(robot: ImportedRobot) -> Iterator[str]:
    yield f"Imported from {robot.tree.path.name} by hexapod import. Keys and units are explained in phantomx.yaml."
    yield "read: from the URDF; ASSUMED: the URDF does not say, correct it; given: an option of hexapod import."
    if not robot.frame.same:
        x, y, z = robot.frame.pose[:3, 3]
        yield f"base_link is not that of the URDF: x is its {robot.frame.forward}, the origin is at"
        yield f"[{x:.4f}, {y:.4f}, {z:.4f}] m in link {robot.chains.base}. To show the URDF in its place:"
        yield f"  {transform_command(robot)}"
