# SPDX-License-Identifier: Apache-2.0
"""A URDF as a tree of links and joints with forward kinematics; the subset that an import needs.

xml.etree is used because the usual URDF parsers print to the console, refuse files that RViz shows, or need compiled
libraries.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

import numpy as np

from hexapod_control.config.robots.draft.rotations import rotation_about, rotation_from_angles
from hexapod_control.config.robots.urdf_import.reading.urdf_text import UrdfError
from hexapod_control.core.kinematics.arrays import Array

TURNING = ("revolute", "continuous")
KINDS = (*TURNING, "prismatic", "fixed", "floating", "planar")
ENDS = ("parent", "child")
LIMITS = ("lower", "upper", "effort", "velocity")
MAX_XML_DEPTH = 60
MAX_LINKS = 2000
MAX_VALUE = 1e6  # of any number


@dataclass(frozen=True, slots=True)
class UrdfShape:
    """A geometry of a link."""

    kind: str  # box, cylinder, sphere, capsule or mesh
    size: tuple[float, ...]  # [m] edges of a box; radius and length; scale of a mesh
    pose: Array  # (4, 4) in the link
    file: str = ""  # of a mesh


@dataclass(frozen=True, slots=True)
class UrdfLink:
    """A link."""

    name: str
    mass: float | None  # [kg], None if the URDF gives none
    center: Array  # (3,) [m] center of mass
    collisions: tuple[UrdfShape, ...]
    visuals: tuple[UrdfShape, ...]


@dataclass(frozen=True, slots=True)
class UrdfJoint:
    """A joint; a limit is None if the URDF gives none."""

    name: str
    kind: str
    parent: str
    child: str
    origin: Array  # (4, 4) in the parent
    axis: Array  # (3,) in the joint
    lower: float | None  # [rad], [m] of a prismatic joint
    upper: float | None  # likewise
    effort: float | None  # [N m], [N] of a prismatic joint
    velocity: float | None  # [rad/s], [m/s] of a prismatic joint
    mimic: str | None  # the joint that it follows
    mimic_coefficients: tuple[float, float] = (1.0, 0.0)  # multiplier and offset

    @property
    def turns(self) -> bool:
        """True for a revolute or continuous joint that is not a mimic joint."""
        return self.kind in TURNING and self.mimic is None


@dataclass(frozen=True, slots=True)
class UrdfTree:
    """Links and joints of one robot."""

    path: Path
    name: str
    links: dict[str, UrdfLink]
    joints: dict[str, UrdfJoint]
    root: str
    children: dict[str, tuple[UrdfJoint, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        below: dict[str, list[UrdfJoint]] = {name: [] for name in self.links}
        for joint in self.joints.values():
            below[joint.parent].append(joint)
        object.__setattr__(self, "children", {name: tuple(joints) for name, joints in below.items()})

    def error(self, *parts: str) -> UrdfError:
        """An error of this file, to raise."""
        return UrdfError(self.path, None, "", *parts)

    def subtree(self, link: str, *, followers: bool = True) -> list[str]:
        """A link and all links below it; without `followers`, links below mimic joints are omitted."""
        links = [link]
        for each in links:  # grows during the iteration
            links += [joint.child for joint in self.children[each] if followers or joint.mimic is None]
        return links

    def placements(self, angles: Mapping[str, float]) -> dict[str, Array]:
        """Pose (4, 4) of every link in the root for joint angles [rad]; missing joints are at zero."""
        poses: dict[str, Array] = {self.root: np.eye(4)}
        open_links = [self.root]
        while open_links:
            link = open_links.pop()
            for joint in self.children[link]:
                poses[joint.child] = poses[link] @ self.local(joint, angles)
                open_links.append(joint.child)
        return poses

    def local(self, joint: UrdfJoint, angles: Mapping[str, float]) -> Array:
        """Pose (4, 4) of the child of a joint in its parent; angles [rad] as for `placements`."""
        return np.asarray(joint.origin @ _motion(joint, self._value(joint, angles)))

    def _value(self, joint: UrdfJoint, angles: Mapping[str, float]) -> float:
        if joint.mimic is None:
            return angles.get(joint.name, 0.0)
        factor, offset = joint.mimic_coefficients
        return factor * angles.get(joint.mimic, 0.0) + offset


def _motion(joint: UrdfJoint, value: float) -> Array:
    """Transform (4, 4) of a joint at an angle [rad] or a distance [m]."""
    pose = np.eye(4)
    if joint.kind in TURNING:
        pose[:3, :3] = rotation_about(joint.axis, value)
    elif joint.kind == "prismatic":
        pose[:3, 3] = joint.axis * value
    return pose


def parse_tree(path: Path, text: str, scale: float = 1.0) -> UrdfTree:
    """Parses the text of a URDF; `path` is used in messages, `scale` is a factor on all lengths. Raises UrdfError."""
    reader = _UrdfReader(path, scale)
    robot = reader.root(text)
    links = {link.name: link for link in map(reader.link, robot.iterfind("link"))}
    joints = {joint.name: joint for joint in map(reader.joint, robot.iterfind("joint"))}
    reader.refuse_duplicates("link", [str(e.get("name")) for e in robot.iterfind("link")])
    reader.refuse_duplicates("joint", [str(e.get("name")) for e in robot.iterfind("joint")])
    if len(links) > MAX_LINKS:
        raise reader.error(f"has {len(links)} links", f"at most {MAX_LINKS} are read")
    for joint in joints.values():
        for link in (joint.parent, joint.child):
            if link not in links:
                raise reader.error(f"joint {joint.name} names link {link!r}, which does not exist")
    reader.refuse_duplicates("child of a joint", [joint.child for joint in joints.values()])
    return UrdfTree(path, robot.get("name") or path.stem, links, joints, _root(reader, links, joints))


def _root(reader: _UrdfReader, links: Mapping[str, UrdfLink], joints: Mapping[str, UrdfJoint]) -> str:
    """The root of the largest tree. Raises UrdfError for a loop."""
    above = {joint.child: joint.parent for joint in joints.values()}
    sizes: Counter[str] = Counter()
    for link in links:
        top = link
        steps = 0
        while top in above:
            top = above[top]
            steps = steps + 1
            if steps > len(links):
                raise reader.error(f"link {link!r} is its own ancestor", "the joints of a URDF form a tree")
        sizes[top] += 1
    if not sizes:
        raise reader.error("has no links", UrdfError.example)
    return sizes.most_common(1)[0][0]


class _UrdfReader:
    """Reads XML elements; errors have the name of the file."""

    def __init__(self, path: Path, scale: float) -> None:
        self._path = path
        self._scale = scale

    def error(self, *parts: str) -> UrdfError:
        return UrdfError(self._path, None, "", *parts)

    def root(self, text: str) -> ElementTree.Element:
        """The element `robot` of a text with bounded nesting."""
        try:
            depth = 0
            for event, _ in ElementTree.iterparse(StringIO(text), ("start", "end")):
                depth += 1 if event == "start" else -1
                if depth > MAX_XML_DEPTH:
                    raise self.error(f"has more than {MAX_XML_DEPTH} elements within each other")
            found = ElementTree.fromstring(text)
        except ElementTree.ParseError as error:
            raise self.error(f"is not valid XML: {error}") from error
        if found.tag != "robot":
            raise self.error(f"begins with <{found.tag}>, a URDF begins with <robot>", UrdfError.example)
        return found

    def refuse_duplicates(self, what: str, names: Sequence[str]) -> None:
        """Raises UrdfError for duplicate names."""
        name, count = Counter(names).most_common(1)[0] if names else ("", 0)
        if count > 1:
            raise self.error(f"{what} {name!r} occurs {count} times", "names are unique")

    def link(self, element: ElementTree.Element) -> UrdfLink:
        """A link."""
        name = element.get("name", "")
        inertial = element.find("inertial")
        mass = None
        center = np.zeros(3)
        if inertial is not None:
            mass = self._number(inertial.find("mass"), "value", f"mass of link {name}")
            center = self._pose(inertial.find("origin"), f"link {name}")[:3, 3]
        shapes = [tuple(self._shapes(name, element.iterfind(kind))) for kind in ("collision", "visual")]
        return UrdfLink(name, mass, center, *shapes)

    def _shapes(self, link: str, elements: Iterator[ElementTree.Element]) -> Iterator[UrdfShape]:
        for element in elements:
            geometry = element.find("geometry")
            pose = self._pose(element.find("origin"), f"link {link}")
            for shape in geometry if geometry is not None else ():
                what = f"{shape.tag} of link {link}"
                if shape.tag in ("box", "mesh"):
                    key, default = ("size", "0 0 0") if shape.tag == "box" else ("scale", "1 1 1")
                    size: tuple[float, ...] = self._triple(shape.get(key), what, default)
                elif shape.tag in ("sphere", "cylinder", "capsule"):
                    keys = ("radius",) if shape.tag == "sphere" else ("radius", "length")
                    size = tuple(self._number(shape, key, what) or 0.0 for key in keys)
                else:
                    continue
                scaled = tuple(self._scale * value for value in size)
                yield UrdfShape(shape.tag, scaled, pose, shape.get("filename", ""))

    def joint(self, element: ElementTree.Element) -> UrdfJoint:
        """A joint."""
        name, kind = element.get("name", ""), element.get("type", "")
        if kind not in KINDS:
            raise self.error(f"joint {name} has the type {kind!r}", f"must be one of {', '.join(KINDS)}")
        parent, child = (_link_name(element.find(tag)) for tag in ENDS)
        axis_element, limit, mimic = element.find("axis"), element.find("limit"), element.find("mimic")
        text = axis_element.get("xyz") if axis_element is not None else None
        axis = np.array(self._triple(text, f"axis of joint {name}", "1 0 0"))
        size = float(np.linalg.norm(axis))
        if kind in (*TURNING, "prismatic") and size < 1e-6:
            raise self.error(f"joint {name} has the axis 0 0 0", "an axis has a direction")
        lower, upper, effort, velocity = (self._number(limit, key, f"{key} of joint {name}") for key in LIMITS)
        follows = mimic.get("joint") if mimic is not None else None
        line = [self._number(mimic, key, f"mimic of joint {name}") for key in ("multiplier", "offset")]
        factor = line[0] if line[0] is not None else 1.0
        offset = line[1] or 0.0
        pose = self._pose(element.find("origin"), f"joint {name}")
        axis /= max(size, 1e-6)
        mimic_coefficients = (factor, offset)
        return UrdfJoint(
            name, kind, parent, child, pose, axis, lower, upper, effort, velocity, follows, mimic_coefficients
        )

    def _pose(self, element: ElementTree.Element | None, what: str) -> Array:
        pose = np.eye(4)
        if element is not None:
            pose[:3, 3] = self._scale * np.array(self._triple(element.get("xyz"), f"origin of {what}", "0 0 0"))
            pose[:3, :3] = rotation_from_angles(*self._triple(element.get("rpy"), f"origin of {what}", "0 0 0"))
        return pose

    def _triple(self, text: str | None, what: str, default: str) -> tuple[float, float, float]:
        words = (text if text is not None and text.strip() else default).split()
        if len(words) != 3:
            raise self.error(f"{what} has {len(words)} numbers", "must have 3")
        x, y, z = (self._float(word, what) for word in words)
        return x, y, z

    def _number(self, element: ElementTree.Element | None, key: str, what: str) -> float | None:
        text = element.get(key) if element is not None else None
        return self._float(text, what) if text is not None and text.strip() else None

    def _float(self, text: str, what: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise self.error(f"{what} is {text!r}", "must be a number") from None
        if not abs(value) <= MAX_VALUE:
            raise self.error(f"{what} is {text}", f"must be at most {MAX_VALUE:g}")
        return value


def _link_name(end: ElementTree.Element | None) -> str:
    """The link of the element `parent` or `child` of a joint."""
    return end.get("link", "") if end is not None else ""
