# SPDX-License-Identifier: Apache-2.0
"""Result of an import: every value with its origin, for the robot file and the report."""

from __future__ import annotations

from dataclasses import dataclass

from hexapod_control.config.errors import FileError
from hexapod_control.config.robots.draft.robot_draft import Origin, RobotDraft
from hexapod_control.config.robots.urdf_import.body_frame import BodyFrame
from hexapod_control.config.robots.urdf_import.foot_tips import FootTip
from hexapod_control.config.robots.urdf_import.leg_chains import LegChains
from hexapod_control.config.robots.urdf_import.reading.urdf_tree import UrdfTree


@dataclass(frozen=True, slots=True)
class ImportFinding:
    """One line of the report."""

    origin: Origin
    text: str


@dataclass(frozen=True, slots=True)
class ImportedRobot(RobotDraft):
    """An imported robot, with the additional data for report and joint mapping."""

    tree: UrdfTree
    chains: LegChains
    frame: BodyFrame
    tips: dict[str, FootTip]  # by name
    fixed: dict[str, float]  # [rad] angles of joints outside the legs
    findings: tuple[ImportFinding, ...]
    unusual: tuple[FileError, ...] = ()  # values that `hexapod check` would call wrong, unless they are confirmed
