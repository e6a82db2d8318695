# SPDX-License-Identifier: Apache-2.0
"""URDFs of legged robots with the peculiarities of published URDFs, each built from a table row."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from hexapod_control.config.robots.draft.rotations import angles_of_rotation, rotation_from_angles

COXA, FEMUR, TIBIA = 0.052, 0.066, 0.133  # [m]
HEXAPOD = {"lf": (0.12, 0.06, 45), "lm": (0.0, 0.1, 90), "lr": (-0.12, 0.06, 135)}  # [m], [m], [deg]
QUADRUPED = {"lf": (0.1, 0.08, 45), "lr": (-0.1, 0.08, 135)}
OCTOPOD = {"lf": (0.2, 0.1, 60), "l2": (0.07, 0.1, 85), "l3": (-0.07, 0.1, 95), "lr": (-0.2, 0.1, 120)}
MASS = '<inertial><mass value="{0}"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>'
LIMIT = '<limit lower="{0}" upper="{1}" effort="1.5" velocity="6"/>'
RANGES = {"coxa": (-1.2, 1.2), "femur": (-1.6, 1.9), "tibia": (-2.7, 0.2), "tarsus": (-1.0, 1.0)}  # [rad] our angles


@dataclass(frozen=True)
class UrdfPeculiarity:
    """How a URDF differs from a plain one."""

    places: dict = field(default_factory=lambda: HEXAPOD)
    joint: str = "{leg}_{part}_joint"  # names of the joints
    link: str = "{leg}_{part}"
    base: str = "base_link"
    coxa_sign: int = 1
    pitch_sign: int = 1  # of femur and tibia on the left; the other way round on the right
    zero: tuple = (0.0, 0.0)  # [rad] our femur and tibia at the URDF's zero
    lateral: tuple = (0.0, 0.0, 0.0)  # [m] of femur, tibia and foot along the pitch axes
    vertical: float = 0.0  # [m] of the femur axis
    coxa: float = COXA  # [m]
    tilt: tuple = (0.0, 0.0)  # [rad] of the coxa axis
    body: tuple = (0.0, 0.0, 0.0, 0.0)  # [m, m, m, rad] place of the robot in the base link
    skew: bool = False  # joint frames turned at random
    kind: str = "revolute"
    limit: str = LIMIT  # with the range
    foot: str = "frame"  # frame, sphere, prismatic, collision or visual
    mass: str = MASS
    above: str = ""  # elements above the base link
    others: str = ""  # further elements
    parts: tuple = ("coxa", "femur", "tibia")


def urdf_text(row: UrdfPeculiarity) -> str:
    """The URDF of a row."""
    random = np.random.default_rng(3)
    parts = [f'<robot name="small robot"><mujoco><compiler fusestatic="false"/></mujoco>{row.above}']
    parts.append(f'<link name="{row.base}">{row.mass.format(1.0)}</link>{row.others}')
    for name, (x, y, degrees) in row.places.items():
        parts += _leg(row, name, (x, y, math.radians(degrees)), 1, random)
        parts += _leg(row, f"r{name[1:]}", (x, -y, -math.radians(degrees)), -1, random)
    return "\n".join((*parts, "</robot>"))


def scaled(text: str, factor: float, joints: str = "") -> str:
    """A URDF with the origins of the joints whose names end so multiplied by a factor."""

    def larger(match: re.Match) -> str:
        return match[1] + " ".join(repr(factor * float(word)) for word in match[2].split()) + '"'

    return re.sub(rf'(<joint name="[^"]*{joints}"[^>]*>(?:(?!</joint>).)*<origin xyz=")([^"]*)"', larger, text)


def _leg(row: UrdfPeculiarity, leg: str, place: tuple, side: int, random: np.random.Generator) -> Iterator[str]:
    frames = _frames(row, place, side)
    above, link = _pose(*row.body[:3], (0.0, 0.0, row.body[3])), row.base
    above = np.eye(4)
    for part, frame in zip(row.parts, frames, strict=False):
        turned = np.eye(4)
        if row.skew:
            turned[:3, :3] = rotation_from_angles(*random.uniform(-3.0, 3.0, 3))
        world = _pose(*row.body[:3], (0.0, 0.0, row.body[3])) @ frame
        sign = row.coxa_sign if part == "coxa" else -side * row.pitch_sign
        axis = turned[:3, :3].T @ np.array([0.0, 0.0, sign] if part == "coxa" else [0.0, sign, 0.0])
        child = row.link.format(leg=leg, part=part)
        limit = row.limit.format(*_range(row, part, side))
        yield _joint(
            row.joint.format(leg=leg, part=part),
            row.kind,
            link,
            child,
            np.linalg.inv(above) @ world @ turned,
            axis,
            limit,
        )
        above, link = world @ turned, child
        foot = np.linalg.inv(above) @ _pose(*row.body[:3], (0.0, 0.0, row.body[3])) @ frames[-1]
        yield f'<link name="{child}">{row.mass.format(0.05)}{_shape(row, foot) if part == row.parts[-1] else ""}</link>'
    if row.foot in ("frame", "sphere", "prismatic"):
        kind = "prismatic" if row.foot == "prismatic" else "fixed"
        limit = '<limit lower="-0.01" upper="0.01" effort="1" velocity="1"/>' if kind == "prismatic" else ""
        ball = '<collision><geometry><sphere radius="0.009"/></geometry></collision>' if row.foot == "sphere" else ""
        yield _joint(f"{leg}_foot_joint", kind, link, f"{leg}_foot", foot, np.array([0.0, 0.0, 1.0]), limit)
        yield f'<link name="{leg}_foot">{row.mass.format(0.01)}{ball}</link>'


def _frames(row: UrdfPeculiarity, place: tuple, side: int) -> list:
    """Frames of coxa, femur, tibia and foot in the robot, at the URDF's zero."""
    x, y, yaw = place
    hip = _pose(x, y, 0.0, (row.tilt[0], row.tilt[1], yaw))
    femur, total = row.zero[0], row.zero[0] + row.zero[1]
    across = [side * value for value in np.cumsum(row.lateral)]
    knee = (row.coxa + FEMUR * math.cos(femur), row.vertical + FEMUR * math.sin(femur))
    end = (knee[0] + TIBIA * math.cos(total), knee[1] + TIBIA * math.sin(total))
    points = [
        (0.0, 0.0, 0.0),
        (row.coxa, across[0], row.vertical),
        (knee[0], across[1], knee[1]),
        (end[0], across[2], end[1]),
    ]
    if len(row.parts) == 4:  # the tarsus starts in the middle of the tibia
        middle = tuple((a + b) / 2.0 for a, b in zip(points[2], points[3], strict=True))
        points.insert(3, middle)
    return [hip @ _pose(*point, (0.0, 0.0, 0.0)) for point in points]


def _range(row: UrdfPeculiarity, part: str, side: int) -> tuple:
    """The range in the URDF's angles."""
    zero = {"femur": row.zero[0], "tibia": row.zero[1]}.get(part, 0.0)
    sign = row.coxa_sign if part == "coxa" else side * row.pitch_sign
    return tuple(sorted(sign * (end - zero) for end in RANGES[part]))


def _shape(row: UrdfPeculiarity, foot: np.ndarray) -> str:
    """A rod from the last joint to the foot."""
    if row.foot not in ("collision", "visual"):
        return ""
    point = foot[:3, 3]
    length = float(np.linalg.norm(point))
    across = np.cross([0.0, 0.0, 1.0], point / length)
    angle = math.atan2(float(np.linalg.norm(across)), point[2] / length)
    x, y, z = across / max(1e-12, float(np.linalg.norm(across)))
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    rotation = np.eye(3) + math.sin(angle) * skew + (1.0 - math.cos(angle)) * skew @ skew
    rod = f'<geometry><cylinder radius="0.005" length="{length!r}"/></geometry>'
    return f"<{row.foot}>{_origin(point / 2.0, rotation)}{rod}</{row.foot}>"


def _joint(name: str, kind: str, parent: str, child: str, pose: np.ndarray, axis: np.ndarray, limit: str) -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    direction = " ".join(map(repr, axis.tolist()))
    inside = f'{ends}{_origin(pose[:3, 3], pose[:3, :3])}<axis xyz="{direction}"/>{limit}'
    return f'<joint name="{name}" type="{kind}">{inside}</joint>'


def _origin(point: np.ndarray, rotation: np.ndarray) -> str:
    rpy = " ".join(map(repr, angles_of_rotation(rotation)))
    return f'<origin xyz="{" ".join(map(repr, point.tolist()))}" rpy="{rpy}"/>'


def _pose(x: float, y: float, z: float, angles: tuple) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rotation_from_angles(*angles), (x, y, z)
    return pose
