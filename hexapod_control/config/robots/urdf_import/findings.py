"""What an import found: every value with where it comes from, for the robot file and the report."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from hexapod_control.config.robots.urdf_import.body_frame import BodyFrame
from hexapod_control.config.robots.urdf_import.foot_tips import FootTip
from hexapod_control.config.robots.urdf_import.leg_chains import LegChains
from hexapod_control.config.robots.urdf_import.leg_geometry import LegGeometry
from hexapod_control.config.robots.urdf_import.reading.urdf_tree import UrdfTree
from hexapod_control.core.robot import Point, Vector


class Origin(Enum):
    """Where a value comes from."""

    READ = "read"
    GIVEN = "given"
    ASSUMED = "ASSUMED"
    MEASURE = "MEASURE"


@dataclass(frozen=True, slots=True)
class NotedValue:
    """A number with its origin; the note says why."""

    value: float
    origin: Origin
    note: str = ""

    @property
    def comment(self) -> str:
        """For the robot file."""
        return ": ".join(filter(None, (self.origin.value, self.note)))


@dataclass(frozen=True, slots=True)
class ImportFinding:
    """One line of the report."""

    origin: Origin
    text: str


@dataclass(frozen=True, slots=True)
class ImportedServo:
    """The servo of all legs: a model of the servo table, or figures."""

    model: str
    voltage: float | None  # [V] of a model of the table
    speed: NotedValue  # [rad/s]
    torque: NotedValue  # [N m]
    stiffness: NotedValue  # [N m/rad]


@dataclass(frozen=True, slots=True)
class ImportedBody:
    """The trunk."""

    size: Vector  # [m]
    center: Vector  # [m]
    mass: NotedValue  # [kg]
    center_of_mass: Vector  # [m]
    size_origin: Origin
    center_origin: Origin  # of the centre of mass


@dataclass(frozen=True, slots=True)
class ImportedStance:
    """How the robot stands."""

    height: float  # [m]
    lift: float  # [m]
    swing_time: float  # [s]
    footholds: dict[str, Point]  # [m] by leg
    gait: str


@dataclass(frozen=True, slots=True)
class ImportedRobot:
    """Everything that goes into the robot file."""

    tree: UrdfTree
    name: str
    chains: LegChains
    frame: BodyFrame
    legs: dict[str, LegGeometry]  # by name, in the order of the robot file
    tips: dict[str, FootTip]  # by name
    body: ImportedBody
    masses: dict[str, NotedValue]  # [kg] of coxa, femur, tibia
    radii: dict[str, NotedValue]  # [m] of coxa, femur, tibia, foot
    servo: ImportedServo
    stance: ImportedStance
    frozen: dict[str, float]  # [rad] joints that no leg moves, with their angles
    error: float  # [m] largest difference between the forward kinematics of the URDF and of the robot file
    findings: tuple[ImportFinding, ...]
