# SPDX-License-Identifier: Apache-2.0
"""Masses, box, radii and servo of an imported robot: from the URDF if plausible, else given or assumed.

Assumed figures are in proportion to a hexapod of the PhantomX class, and marked as assumed wherever they appear.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hexapod_control.config.robots.draft.assumptions import LEG_SHARES, table_servo, unlisted_servo
from hexapod_control.config.robots.draft.leg_draft import LegGeometry
from hexapod_control.config.robots.draft.robot_draft import DraftBody, DraftServo, Origin, SourcedValue
from hexapod_control.config.robots.plausibility.servo_rules import SPEED
from hexapod_control.config.robots.robot_keys import MIN_MASS_KG
from hexapod_control.config.robots.urdf_import.body_frame import BodyFrame
from hexapod_control.config.robots.urdf_import.foot_tips import FootFinder
from hexapod_control.config.robots.urdf_import.leg_chains import LegChains
from hexapod_control.config.robots.urdf_import.reading.urdf_tree import UrdfTree
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.names import JOINTS
from hexapod_control.core.robot import Vector

# [kg/m3] mass over the cube of the leg's length
BODY_DENSITY = 68.0
LEG_DENSITY = 10.75
ASSUMED_SPEED = 6.0  # [rad/s]
PLAUSIBLE_TORQUES = (1.3, 30.0)  # stall torque over the torque when standing on half of the legs
ASSUMED_TORQUE = 5.0  # likewise, a factor
HEIGHT_SHARE = 0.3  # assumed height of the box over its shorter side


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Options of the user in addition to the URDF."""

    mass: float | None = None  # [kg] of the whole robot
    servo: str = ""  # model of the servo table
    voltage: float | None = None  # [V]
    foot_radius: float | None = None  # [m]


def expected_mass(length: float, legs: int) -> float:
    """Mass [kg] of a usual robot with legs of this length [m]."""
    return (BODY_DENSITY + legs * LEG_DENSITY) * length**3


class BodyReader:
    """Reads masses, trunk and servo figures of one URDF."""

    def __init__(self, tree: UrdfTree, chains: LegChains, frame: BodyFrame, poses: Mapping[str, Array]) -> None:
        self._tree = tree
        self._chains = chains
        to_body = np.linalg.inv(poses[chains.base] @ frame.pose)
        self._poses = {name: to_body @ pose for name, pose in poses.items()}

    def _mass(self, links: Sequence[str]) -> float:
        return sum(self._tree.links[link].mass or 0.0 for link in links)

    def segment_masses(self, length: float, options: ImportOptions) -> dict[str, SourcedValue]:
        """Mass [kg] of coxa, femur and tibia, the mean of all legs of this length [m]."""
        sums = np.zeros(len(JOINTS))
        for chain in self._chains.legs:
            below = [self._mass(self._tree.subtree(axis.joint.child)) for axis in chain.axes] + [0.0]
            sums -= np.diff(below)
        found = dict(zip(JOINTS, (sums / len(self._chains.legs)).tolist(), strict=True))
        leg = LEG_DENSITY * length**3
        if options.mass is not None:
            leg = 0.5 * options.mass / len(self._chains.legs)
        return {
            name: SourcedValue(found[name], Origin.READ)
            if found[name] > MIN_MASS_KG
            else SourcedValue(
                max(MIN_MASS_KG, LEG_SHARES[name] * leg), Origin.ASSUMED, "the URDF gives no mass: weigh it"
            )
            for name in JOINTS
        }

    def body(
        self,
        legs: Sequence[LegGeometry],
        finder: FootFinder,
        masses: Mapping[str, SourcedValue],
        options: ImportOptions,
    ) -> DraftBody:
        """The trunk, including everything on it that is not a leg."""
        moving = {link for chain in self._chains.legs for link in self._tree.subtree(chain.links[0])}
        links = [link for link in self._tree.subtree(self._tree.root) if link not in moving]
        mass = self._mass(links)
        limbs = sum(value.value for value in masses.values()) * len(legs)
        length = legs[0].length
        if options.mass is not None:
            noted = SourcedValue(max(MIN_MASS_KG, options.mass - limbs), Origin.GIVEN, "the rest of --mass")
        elif mass > 10.0 * MIN_MASS_KG:
            noted = SourcedValue(mass, Origin.READ)
        else:
            note = "the URDF gives no mass: weigh the robot, or give --mass"
            noted = SourcedValue(BODY_DENSITY * length**3, Origin.ASSUMED, note)
        size, center, origin = self._box(legs, finder)
        place = self._center_of_mass(links) if mass > 10.0 * MIN_MASS_KG else center
        hips = np.array([leg.hip[:2] for leg in legs])
        inside = bool((hips.min(axis=0) <= place[:2]).all() and (place[:2] <= hips.max(axis=0)).all())
        read = Origin.READ if inside and place is not center else Origin.ASSUMED
        return DraftBody(size, center, noted, place if inside else center, origin, read)

    def _center_of_mass(self, links: Sequence[str]) -> Vector:
        heavy = [self._tree.links[link] for link in links if self._tree.links[link].mass]
        total = sum(link.mass or 0.0 for link in heavy)
        places = [(self._poses[link.name] @ np.append(link.center, 1.0))[:3] * (link.mass or 0.0) for link in heavy]
        return _vector(np.sum(places, axis=0) / total)

    def _box(self, legs: Sequence[LegGeometry], finder: FootFinder) -> tuple[Vector, Vector, Origin]:
        """Size and center of the body box: the trunk's shapes, cropped to the hips so that no leg touches it."""
        hips = np.array([leg.hip for leg in legs])
        low, high = hips.min(axis=0), hips.max(axis=0)
        points = finder.extents(self._chains.trunk)
        if points is None:
            height = HEIGHT_SHARE * float(min((high - low)[:2]))
            low[2], high[2] = hips[:, 2].mean() - height / 2.0, hips[:, 2].mean() + height / 2.0
            return _vector(high - low), _vector((low + high) / 2.0), Origin.ASSUMED
        pose = self._poses[self._chains.trunk[0]]
        points = points @ pose[:3, :3].T + pose[:3, 3]
        bottom, top = points.min(axis=0), points.max(axis=0)
        reach = max(leg.femur for leg in legs)
        low = np.maximum(np.array([*low[:2], hips[:, 2].mean() - reach]), bottom)
        high = np.minimum(np.array([*high[:2], hips[:, 2].mean() + reach]), top)
        size = np.maximum(high - low, 0.002)
        return _vector(size), _vector((low + high) / 2.0), Origin.READ

    def servo(self, load: float, options: ImportOptions) -> DraftServo:
        """The servo; `load` [N m] is the femur torque when standing on half of the legs."""
        if options.voltage is not None:
            return table_servo(options.servo, options.voltage)
        joints = [axis.joint for chain in self._chains.legs for axis in chain.axes]
        speed = _smallest_or_assumed("velocity", [joint.velocity for joint in joints], SPEED, ASSUMED_SPEED, "rad/s")
        bounds = (PLAUSIBLE_TORQUES[0] * load, PLAUSIBLE_TORQUES[1] * load)
        torque = _smallest_or_assumed(
            "effort", [joint.effort for joint in joints], bounds, ASSUMED_TORQUE * load, "N m"
        )
        return unlisted_servo(speed, torque)


def _smallest_or_assumed(
    what: str, values: Sequence[float | None], bounds: tuple[float, float], assumed: float, unit: str
) -> SourcedValue:
    """The smallest value of all joints if plausible, else the assumed value."""
    known = [value for value in values if value is not None]
    remedy = "see the servo's data sheet, or give --servo MODEL"
    if len(known) < len(values) or not known:
        return SourcedValue(assumed, Origin.ASSUMED, f"the URDF gives no {what}: {remedy}")
    least, most = min(known), max(known)
    if not bounds[0] <= least <= bounds[1]:
        plausible = f"{bounds[0]:.2g} to {bounds[1]:.2g} {unit} would be plausible"
        return SourcedValue(assumed, Origin.ASSUMED, f"the URDF's {what} {least:g} is unusable, {plausible}: {remedy}")
    differ = f"the smallest of {least:g} to {most:g} {unit}" if most > least else ""
    return SourcedValue(least, Origin.READ, differ)


def foot_radius(leg: LegGeometry, tip_radius: float | None, options: ImportOptions) -> SourcedValue | None:
    """Radius [m] of the feet: given, or that of the URDF if plausible; else None."""
    if options.foot_radius is not None:
        return SourcedValue(options.foot_radius, Origin.GIVEN)
    if tip_radius is not None and 0.0005 <= tip_radius <= 0.4 * leg.tibia:
        return SourcedValue(tip_radius, Origin.READ)
    return None


def _vector(values: Array) -> Vector:
    x, y, z = values.tolist()
    return x, y, z
