# SPDX-License-Identifier: Apache-2.0
"""Finds the legs of a URDF: kinematic chains from the trunk to a foot with the axes of this package's legs.

The trunk is the rigid group of links from which most chains of revolute joints start. A leg is a chain of three
revolute joints: the first axis is vertical, the other two are parallel and perpendicular to it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hexapod_control.config.robots.urdf_import.reading.urdf_tree import UrdfJoint, UrdfTree
from hexapod_control.core.gait.gait_table import MIN_LEGS
from hexapod_control.core.kinematics.arrays import Array

MAX_SKEW_RAD = math.radians(3.0)  # tolerance of parallel and perpendicular axes
MAX_NAMED = 3  # joints named in a message
MIN_VERTICAL_COSINE = 0.7  # of a yaw axis with the vertical
MAX_SPREAD = 0.5  # of hips along their yaw axes, over their spread across them


@dataclass(frozen=True, slots=True)
class JointAxis:
    """Axis of a revolute joint in the trunk, with all joints at zero."""

    joint: UrdfJoint
    point: Array  # (3,) [m]
    direction: Array  # (3,) unit


@dataclass(frozen=True, slots=True)
class JointChain:
    """The revolute joints from the trunk to the end of one branch."""

    axes: tuple[JointAxis, ...]
    links: tuple[str, ...]  # from the first joint's child on, along the chain
    passive: tuple[UrdfJoint, ...]  # sliding and mimic joints along the chain

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the joints."""
        return tuple(axis.joint.name for axis in self.axes)

    @property
    def is_planar(self) -> bool:
        """True for three joints, the last two parallel and the first perpendicular to them."""
        if len(self.axes) != 3:
            return False
        first, second, third = (axis.direction for axis in self.axes)
        return bool(abs(second @ third) > math.cos(MAX_SKEW_RAD) and abs(first @ second) < math.sin(MAX_SKEW_RAD))


@dataclass(frozen=True, slots=True)
class LegChains:
    """The legs and other moving chains of a URDF."""

    trunk: tuple[str, ...]  # links
    base: str  # link whose frame all axes refer to
    legs: tuple[JointChain, ...]
    others: tuple[JointChain, ...]  # heads, arms, wheels
    up: Array  # (3,) unit, in the base link
    up_known: bool  # False if up is not an option and not z of the base link


def find_legs(tree: UrdfTree, frozen: Mapping[str, float], up: Array | None = None) -> LegChains:
    """Finds the legs of a tree with joints frozen at angles [rad]. `up` None: from the axes. Raises UrdfError."""
    trunk = _trunk(tree, frozen)
    base = _base(tree, trunk)
    poses = tree.placements(frozen)
    to_base = np.linalg.inv(poses[base])
    chains = []
    for link in trunk:
        for joint in tree.children[link]:
            if joint.child not in trunk:
                chain = _longest(tree, joint, frozen, {name: to_base @ pose for name, pose in poses.items()})
                if chain.axes:
                    chains.append(chain)
    candidates = [chain for chain in chains if chain.is_planar]
    found = up if up is not None else _up(candidates)
    legs = tuple(c for c in candidates if found is not None and _is_yaw(c, found))
    if len(legs) < MIN_LEGS or found is None:
        raise tree.error(*_refusal(chains, candidates, found))
    others = tuple(chain for chain in chains if chain not in legs)
    longer_chains = [chain for chain in others if len(chain.axes) >= 3]
    if len(longer_chains) >= len(legs):
        raise tree.error(*_refusal(longer_chains, [], found))
    return LegChains(tuple(trunk), base, legs, others, found, bool(up is not None or found[2] > MIN_VERTICAL_COSINE))


def _rigid(joint: UrdfJoint, frozen: Mapping[str, float]) -> bool:
    return joint.kind == "fixed" or joint.name in frozen


def _trunk(tree: UrdfTree, frozen: Mapping[str, float]) -> list[str]:
    """Links of the rigid group from which most revolute joints start; ties: the nearest to the root."""
    groups: list[list[str]] = []
    starts = [tree.root]
    while starts:
        group = [starts.pop(0)]
        for link in group:  # grows during the iteration
            for joint in tree.children[link]:
                (group if _rigid(joint, frozen) else starts).append(joint.child)
        groups.append(group)

    def moving(group: Sequence[str]) -> int:
        joints = (joint for link in group for joint in tree.children[link])
        return sum(joint.turns and joint.name not in frozen for joint in joints)

    return max(groups, key=moving)


def _base(tree: UrdfTree, trunk: Sequence[str]) -> str:
    """The reference link of the trunk: base_link, else the link with most chains."""
    if "base_link" in trunk:
        return "base_link"
    return max(trunk, key=lambda link: sum(joint.turns for joint in tree.children[link]))


def _longest(tree: UrdfTree, start: UrdfJoint, frozen: Mapping[str, float], poses: Mapping[str, Array]) -> JointChain:
    """The path below a joint with most revolute joints; ties: the one that ends farthest away."""

    def paths(path: tuple[UrdfJoint, ...]) -> Iterator[tuple[UrdfJoint, ...]]:
        below = tree.children[path[-1].child]
        if not below:
            yield path
        for joint in below:
            yield from paths((*path, joint))

    def turning(path: Sequence[UrdfJoint]) -> list[UrdfJoint]:
        return [joint for joint in path if joint.turns and joint.name not in frozen]

    def rank(path: Sequence[UrdfJoint]) -> tuple[int, int, float]:
        axes = turning(path)
        from_last = poses[path[-1].child][:3, 3] - poses[(axes or path)[-1].child][:3, 3]
        followers = sum(joint.mimic is not None for joint in path)
        return len(axes), -followers, float(np.linalg.norm(from_last))

    best = max(paths((start,)), key=rank)
    passive = tuple(j for j in best if not j.turns and not _rigid(j, frozen))
    axes = tuple(
        JointAxis(joint, poses[joint.child][:3, 3], poses[joint.child][:3, :3] @ joint.axis) for joint in turning(best)
    )
    return JointChain(axes, tuple(joint.child for joint in best), passive)


def _up(candidates: Sequence[JointChain]) -> Array | None:
    """The common direction of the first axes, upwards; None if there is none that can be vertical."""
    if len(candidates) < MIN_LEGS:
        return None
    vertical = [chain for chain in candidates if abs(chain.axes[0].direction[2]) > MIN_VERTICAL_COSINE]
    if len(vertical) >= MIN_LEGS:
        return np.array([0.0, 0.0, 1.0])
    first = candidates[0].axes[0].direction
    directions = [axis.direction * np.sign(axis.direction @ first) for axis in (c.axes[0] for c in candidates)]
    mean = np.mean(directions, axis=0)
    mean /= max(1e-9, float(np.linalg.norm(mean)))
    hips = np.array([chain.axes[0].point for chain in candidates])
    hips -= hips.mean(axis=0)
    along = float(np.std(hips @ mean))
    across = float(np.linalg.norm(hips - np.outer(hips @ mean, mean), axis=1).std() + np.std(hips, axis=0).max())
    if along > MAX_SPREAD * across or float(np.min(np.array(directions) @ mean)) < MIN_VERTICAL_COSINE:
        return None  # hips spread along their axes: roll axes
    snapped = _snapped(mean)
    below = np.mean([chain.axes[2].point - chain.axes[0].point for chain in candidates], axis=0) @ snapped
    return snapped if below <= 0.0 else -snapped


def _snapped(direction: Array) -> Array:
    """The nearest axis of the base link if it is within MAX_SKEW_RAD, else the direction itself."""
    axis = np.zeros(3)
    k = int(np.argmax(np.abs(direction)))
    axis[k] = np.sign(direction[k])
    return axis if float(axis @ direction) > math.cos(MAX_SKEW_RAD) else direction


def _is_yaw(chain: JointChain, up: Array) -> bool:
    return bool(abs(chain.axes[0].direction @ up) > MIN_VERTICAL_COSINE)


def _refusal(chains: Sequence[JointChain], candidates: Sequence[JointChain], up: Array | None) -> tuple[str, ...]:
    """Message: what was found instead of legs, and the remedy."""
    wanted = "a leg needs three revolute joints: yaw, pitch, pitch"
    if not chains:
        return "has no chain of revolute joints", wanted
    if len(candidates) >= MIN_LEGS:
        what = f"{len(candidates)} legs whose first joint ({_joint_names(candidates)}) is a roll axis, not a yaw axis"
        return f"has {what}, like a dog", wanted
    count, number = Counter(len(chain.axes) for chain in chains).most_common(1)[0]
    same = [chain for chain in chains if len(chain.axes) == count]
    what = f"has {number} chain{'s' * (number > 1)} of {_joints(count)} ({_joint_names(same)})"
    if candidates and len(candidates) >= number:
        return (
            f"has only {len(candidates)} leg{'s' * (len(candidates) > 1)} ({_joint_names(candidates)})",
            f"at least {MIN_LEGS} are needed to walk",
        )
    if number < MIN_LEGS:
        return what, f"at least {MIN_LEGS} legs are needed, and {wanted}"
    if count == 3:
        return f"{what}, which are not one yaw axis and two parallel pitch axes across it", wanted
    if count == 4:
        return what, wanted, _freezing(same)
    return what, wanted


def _freezing(chains: Sequence[JointChain]) -> str:
    """The remedy for chains of four joints: the joint to freeze so that the rest is a leg."""
    axes = chains[0].axes
    for left_out in (3, 2, 1, 0):
        rest = tuple(axis for k, axis in enumerate(axes) if k != left_out)
        if JointChain(rest, (), ()).is_planar:
            return f"freeze one in each leg, e.g. --freeze {axes[left_out].joint.name}=ANGLE"
    return "no joint can be frozen so that the rest is such a leg"


def _joints(count: int) -> str:
    words = {
        1: "one joint each",
        2: "two joints",
        3: "three joints",
        4: "four joints",
        5: "five joints",
        6: "six joints",
    }
    return words.get(count, f"{count} joints")


def _joint_names(chains: Sequence[JointChain]) -> str:
    names = [", ".join(chain.names) if len(chains) == 1 else chain.names[0] for chain in chains]
    return ", ".join(names[:MAX_NAMED]) + (", ..." if len(names) > MAX_NAMED else "")
