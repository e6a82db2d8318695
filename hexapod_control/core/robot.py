# SPDX-License-Identifier: Apache-2.0
r"""The geometry of a robot as frozen, validated data, in SI units and radians.

Frames: base_link is the body's frame (x forward, y left, z up). A leg's hip frame has its origin on the
coxa axis, z up and x in the leg's mounting direction, `hip_yaw` from base_link's x. With every joint at
zero the leg is straight and horizontal along the hip frame's x. A coxa axis that is not vertical tilts its
hip frame: kinematics and rolling feet are exact then; clearances and static moments neglect the tilt.

Signs, the same for every leg: coxa + is counter-clockwise about +z, femur and tibia + lift the foot.

        side view of one leg (plane of the leg)         top view
              knee
             /\                                           y
      femur /  \ tibia                              hip o------ coxa ----- femur axis
   o-------o    \                                       |                 | lateral
   hip coxa       o foot (center of its ball)            +-> x             o----- knee ---- foot
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

Point = tuple[float, float]
"""x and y in a plane [m]."""

Vector = tuple[float, float, float]
"""x, y and z [m]."""

Matrix = tuple[Vector, Vector, Vector]
"""Rotation matrix, row by row."""

FRICTION_SHARE = 0.02  # dry friction of a servo, as a share of its stall torque
LIFT_RANGE = (0.1, 1.0)  # commanded heights of a swing, as shares of `WalkDefaults.lift_height`


def interpolated(start: Vector, end: Vector, share: float) -> Vector:
    """Interpolates linearly between two points [m], or joint angles of a leg [rad]: from `share` 0 to 1."""
    x, y, z = start
    return x + share * (end[0] - x), y + share * (end[1] - y), z + share * (end[2] - z)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def _hip_rotation(roll: float, pitch: float, cos_yaw: float, sin_yaw: float) -> Matrix:
    """Rotation by roll about x, then pitch about y, then yaw about z, as in URDF."""
    cr = math.cos(roll)
    sr = math.sin(roll)
    cp = math.cos(pitch)
    sp = math.sin(pitch)
    return (
        (cos_yaw * cp, cos_yaw * sp * sr - sin_yaw * cr, cos_yaw * sp * cr + sin_yaw * sr),
        (sin_yaw * cp, sin_yaw * sp * sr + cos_yaw * cr, sin_yaw * sp * cr - cos_yaw * sr),
        (-sp, cp * sr, cp * cr),
    )


@dataclass(frozen=True, slots=True)
class ServoTraits:
    """What a real servo has beside speed, torque and stiffness; by default an ordinary one of 55 g.

    `core.reality` draws the servos of a real robot around these values.
    """

    voltage: float = 11.1  # [V] at which speed and torque hold
    backlash: float = math.radians(1.0)  # [rad] play of the output shaft, from end to end
    dead_band: float = math.radians(0.1)  # [rad] error up to which the motor is not driven
    latency: float = 0.03  # [s] from the computer's target to the motor
    resolution: float = math.radians(0.1)  # [rad] smallest step
    friction: float = 0.03  # dry friction, as a share of the stall torque
    load_friction: float = 0.2  # more dry friction, as a share of what the gear bears
    motor_time_constant: float = 0.02  # [s] rotor inertia over the viscous coefficient of back-EMF
    stall_current: float = 1.5  # [A]
    heating: float = 0.6  # [K/s] at stall torque
    cooling: float = 0.0012  # [1/s] per K above the air
    hottest: float = 75.0  # [degC] at which it gives no torque


@dataclass(frozen=True, slots=True)
class Joint:
    """One joint with the servo that drives it."""

    lower: float  # [rad]
    upper: float  # [rad]
    no_load_speed: float  # [rad/s] of the servo
    stall_torque: float  # [N m] of the servo
    stiffness: float  # [N m/rad] of the servo's position loop
    traits: ServoTraits = ServoTraits()
    measured: tuple[tuple[str, float], ...] = ()  # errors of this servo that were measured, as in `core.reality`

    def __post_init__(self) -> None:
        _require(math.isfinite(self.lower) and math.isfinite(self.upper), "joint limits must be finite")
        _require(-math.pi <= self.lower < self.upper <= math.pi, "joint limits must satisfy -pi <= lower < upper <= pi")
        for name in ("no_load_speed", "stall_torque", "stiffness"):
            value = getattr(self, name)
            _require(math.isfinite(value) and value > 0.0, f"{name} must be finite and > 0, is {value}")


@dataclass(frozen=True, slots=True)
class Segment:
    """A link between two joints (or the last joint and the foot), a capsule along its length."""

    length: float  # [m]
    mass: float  # [kg], centered halfway
    radius: float  # [m] of the collision capsule

    def __post_init__(self) -> None:
        for name in ("length", "mass", "radius"):
            value = getattr(self, name)
            _require(math.isfinite(value) and value > 0.0, f"{name} must be finite and > 0, is {value}")


@dataclass(frozen=True, slots=True)
class Leg:
    """One leg: its mounting, segments, joints and neutral foothold."""

    name: str
    hip: Vector  # [m] origin of the hip frame in base_link
    hip_yaw: float  # [rad] direction of the straight leg in base_link
    coxa: Segment
    femur: Segment
    tibia: Segment
    femur_lateral: float  # [m] offset of the leg's plane from the coxa axis, + to the left of the leg
    femur_vertical: float  # [m] height of the femur axis above the hip frame's origin
    coxa_joint: Joint
    femur_joint: Joint
    tibia_joint: Joint
    foothold: Point  # [m] neutral contact point in base_footprint at the nominal height
    tilt: Point = (0.0, 0.0)  # [rad] roll and pitch of the hip frame before it is turned by hip_yaw
    hip_direction: Point = field(init=False, repr=False, compare=False)  # (cos, sin) of hip_yaw
    rotation: Matrix | None = field(init=False, repr=False, compare=False)  # hip frame to base_link; None: not tilted
    ik_constants: tuple[float, ...] = field(init=False, repr=False, compare=False)
    """Constants of the inverse kinematics; one tuple is faster to read than many attributes.

    In order: cosine and sine of hip_yaw; hip (x, y, z), lateral offset, coxa length, vertical offset [m]; lengths of
    femur and tibia [m], their squares and twice their product [m^2].
    """
    moments: tuple[float, ...] = field(init=False, repr=False, compare=False)
    """Mass of the leg [kg] and its static moments about the hip [kg m].

    In order: mass; the constant parts of the moment along, across and above the leg; the magnitudes of its part along
    the femur and of its part along the tibia.
    """

    def __post_init__(self) -> None:
        object.__setattr__(self, "hip_direction", (math.cos(self.hip_yaw), math.sin(self.hip_yaw)))
        object.__setattr__(self, "rotation", _hip_rotation(*self.tilt, *self.hip_direction) if any(self.tilt) else None)
        a = self.femur.length
        b = self.tibia.length
        offsets = self.femur_lateral, self.coxa.length, self.femur_vertical
        constants = (*self.hip_direction, *self.hip, *offsets, a, b, a * a, b * b, 2.0 * a * b)
        object.__setattr__(self, "ik_constants", constants)
        m1 = self.coxa.mass
        m2 = self.femur.mass
        m3 = self.tibia.mass
        # Every mass is halfway along its segment.
        moments = (
            m1 + m2 + m3,
            self.coxa.length * (m1 / 2 + m2 + m3),
            self.femur_lateral * (m2 + m3),
            self.femur_vertical * (m2 + m3),
            self.femur.length * (m2 / 2 + m3),
            self.tibia.length * m3 / 2,
        )
        object.__setattr__(self, "moments", moments)

    @property
    def length(self) -> float:
        """Length [m] of the straight leg."""
        return self.coxa.length + self.femur.length + self.tibia.length

    @property
    def reach(self) -> float:
        """Maximum distance [m] of the foot from the femur axis."""
        return self.femur.length + self.tibia.length

    @property
    def joints(self) -> tuple[Joint, Joint, Joint]:
        """Coxa, femur and tibia joint."""
        return (self.coxa_joint, self.femur_joint, self.tibia_joint)


@dataclass(frozen=True, slots=True)
class Body:
    """The trunk, a box."""

    size: Vector  # [m] along x, y, z
    center: Vector  # [m] of the box in base_link
    mass: float  # [kg]
    center_of_mass: Vector  # [m] in base_link

    @property
    def top(self) -> float:
        """Height [m] of the box's upper side in base_link."""
        return self.center[2] + self.size[2] / 2.0


class GaitRow(NamedTuple):
    """A gait of the robot file, in addition to those derived from the hip positions."""

    name: str
    duty_factor: float  # share of the cycle in stance, in [0.5, 1)
    lift_off: tuple[float, ...]  # phase in [0, 1) of each leg's lift-off, in leg order


@dataclass(frozen=True, slots=True)
class WalkDefaults:
    """Default settings of the walk."""

    gait: str  # name of the gait
    height: float  # [m] base_link above the ground in the neutral stance
    swing_time: float  # [s] from lift-off to touch-down
    lift_height: float  # [m] of the swing's top above the ground
    preload: float  # [m] by which planted feet are commanded below the ground, to compensate for compliance
    tempo: float = 1.0  # factor on the swing time that is preferred where the speed allows it


@dataclass(frozen=True, slots=True)
class Camera:
    """A depth camera that is fixed to the body."""

    name: str
    position: Vector  # [m] of the lens in base_link
    rpy: Vector  # [rad] roll, pitch and yaw; at zero it looks along x, + pitch looks down
    fov: Point = (math.radians(87.0), math.radians(58.0))  # [rad] from side to side, from top to bottom
    range: Point = (0.1, 3.0)  # [m] shortest and longest
    resolution: tuple[int, int] = (64, 48)  # columns and rows of a simulated image
    rate: float = 10.0  # [Hz] of simulated images

    @property
    def optical_frame(self) -> str:
        """The frame of its data (REP 103): z is the direction of view, x right, y down."""
        return f"{self.name}_depth_optical_frame"

    @property
    def image_topic(self) -> str:
        """The topic of its depth image, with the default names of the RealSense driver."""
        return f"{self.name}/depth/image_rect_raw"

    @property
    def focal(self) -> Point:
        """Focal lengths (fx, fy) of a simulated image [pixels]."""
        fx, fy = (n / (2.0 * math.tan(angle / 2.0)) for n, angle in zip(self.resolution, self.fov, strict=True))
        return fx, fy

    @property
    def center(self) -> Point:
        """Middle (cx, cy) of a simulated image [pixels]; the middle of a pixel is a whole number."""
        columns, rows = self.resolution
        return (columns - 1) / 2.0, (rows - 1) / 2.0


@dataclass(frozen=True, slots=True)
class ExtraJoint:
    """A joint that is no part of a leg, such as one of a camera head or a gripper, with the link that it moves.

    It turns about its axis [rad], or slides along it [m], by ratio * angle of its servo + offset. At zero the frame of
    its link is the frame of the joint; the link is a box. Its mass is part of `Body.mass`.
    """

    name: str  # of the joint without its suffix, and of the link
    parent: str  # link to which it is mounted: base_link, or that of an extra joint before it
    position: Vector  # [m] of a point on the axis, in the frame of the parent
    rpy: Vector  # [rad] roll, pitch and yaw of the joint's frame in that of the parent
    axis: Vector  # unit vector in the frame of the joint; + turns counter-clockwise about it, or slides along it
    joint: Joint  # the servo with the range of its angle
    size: Vector  # [m] of the box, along x, y, z
    center: Vector  # [m] of the box in the frame of the link
    mass: float  # [kg] of the box, centered in it
    slides: bool = False
    ratio: float = 1.0  # [rad] or [m] of this joint per [rad] of the servo
    offset: float = 0.0  # [rad] or [m] of this joint where the servo is at zero
    mimics: str = ""  # the extra joint whose servo moves this one, too; empty for one with a servo of its own

    def __post_init__(self) -> None:
        _require(math.isfinite(self.ratio) and self.ratio != 0.0, f"ratio must be finite and not 0, is {self.ratio}")

    @property
    def rest(self) -> float:
        """The angle [rad] of its servo where it is not measured: of zero, or the limit next to it."""
        return min(max(-self.offset / self.ratio, self.joint.lower), self.joint.upper)

    def at(self, angle: float) -> float:
        """Where the joint is [rad] or [m] at an angle [rad] of its servo."""
        return self.ratio * angle + self.offset

    def following(self, other: ExtraJoint) -> tuple[float, float]:
        """Multiplier and offset [rad] or [m] of its motion in that of the joint that it mimics, as in a URDF."""
        multiplier = self.ratio / other.ratio
        return multiplier, self.offset - multiplier * other.offset

    @property
    def limits(self) -> tuple[float, float]:
        """Lower and upper end of its range [rad] or [m]."""
        ends = self.at(self.joint.lower), self.at(self.joint.upper)
        return min(ends), max(ends)

    @property
    def top_speed(self) -> float:
        """[rad/s] or [m/s] with no load."""
        return abs(self.ratio) * self.joint.no_load_speed

    @property
    def top_effort(self) -> float:
        """[N m] or [N] of the servo at its stall torque."""
        return self.joint.stall_torque / abs(self.ratio)


class ExtraJointState(NamedTuple):
    """What is measured of the servos of the extra joints, or else commanded; one value per servo."""

    angles: tuple[float, ...]  # [rad]
    velocities: tuple[float, ...]  # [rad/s]
    torques: tuple[float, ...]  # [N m]; 0 where unknown


@dataclass(frozen=True, slots=True)
class Robot:
    """One robot, as described by its file."""

    name: str
    body: Body
    legs: tuple[Leg, ...]
    foot_radius: float  # [m] of the ball at the end of the tibia; 0 is a point foot
    imu: Vector  # [m] position of the IMU in base_link, axes parallel to it
    walk: WalkDefaults
    gaits: tuple[GaitRow, ...] = ()  # of the robot file
    cameras: tuple[Camera, ...] = ()  # of the robot file
    extra_joints: tuple[ExtraJoint, ...] = ()  # of the robot file; parents before their children
    mass: float = field(init=False, repr=False, compare=False)  # [kg] of the whole robot

    def __post_init__(self) -> None:
        legs = sum(leg.coxa.mass + leg.femur.mass + leg.tibia.mass for leg in self.legs)
        object.__setattr__(self, "mass", self.body.mass + legs)

    @property
    def extra_servos(self) -> tuple[ExtraJoint, ...]:
        """The extra joints that have a servo of their own."""
        return tuple(extra for extra in self.extra_joints if not extra.mimics)

    @property
    def leg_names(self) -> tuple[str, ...]:
        """Names of the legs in row order."""
        return tuple(leg.name for leg in self.legs)

    @property
    def footholds(self) -> tuple[Point, ...]:
        """Neutral contact points [m] of all feet in base_footprint, at the nominal height."""
        return tuple(leg.foothold for leg in self.legs)

    @property
    def foothold_radius(self) -> float:
        """Mean distance [m] of the neutral footholds from the center of base_footprint."""
        return sum(math.hypot(*leg.foothold) for leg in self.legs) / len(self.legs)

    def neutral_ball(self, leg: Leg) -> Vector:
        """Center of the foot ball of a leg [m] in base_link, in the neutral stance."""
        return (*leg.foothold, self.foot_radius - self.walk.height)
