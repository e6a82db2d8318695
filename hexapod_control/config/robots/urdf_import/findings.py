"""What an import found: every value with where it comes from, for the robot file and the report."""

from __future__ import annotations

from dataclasses import dataclass

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
    """A robot of a URDF, with what the report and the joint mapping say beside the robot file."""

    tree: UrdfTree
    chains: LegChains
    frame: BodyFrame
    tips: dict[str, FootTip]  # by name
    frozen: dict[str, float]  # [rad] joints that no leg moves, with their angles
    error: float  # [m] largest difference between the forward kinematics of the URDF and of the robot file
    findings: tuple[ImportFinding, ...]
