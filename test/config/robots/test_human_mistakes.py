# SPDX-License-Identifier: Apache-2.0
"""Of robot files with one human mistake each, every one is refused or reported as implausible, at the right key."""

from __future__ import annotations

import copy
import json
import math
import random
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support.suite.soak import SOAK

from hexapod_control.config.document import plain, read
from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots.robot_file import implausible, known_robots, load, resolve

Data = dict[str, Any]
Mutation = tuple[str, Callable[[Data], None], tuple[str, ...]]
"""What is wrong, how it gets into the data of a file, and the ends of keys of which one must be named."""

# Robots on which all mistakes are tried, and the number of mistakes tried on each other robot.
ALL_MISTAKES, SAMPLE = (("article", "phantomx"), 15) if SOAK else (("phantomx",), 8)
LENGTHS = ("coxa.length", "femur.length", "tibia.length")
MASSES = ("coxa.mass", "femur.mass", "tibia.mass")
SCALED = {  # key: factors of a mistake
    "body.mass": (10.0, 0.1),
    **{f"leg.{key}": (10.0, 0.1) for key in MASSES},
    **{f"leg.{key}": (1000.0, 100.0, 10.0, 0.1) for key in LENGTHS},
    "leg.coxa.radius": (1000.0, 0.1),
    "leg.femur.radius": (1000.0, 10.0),
    "leg.tibia.radius": (1000.0, 10.0),
    "foot.radius": (1000.0, 10.0),
    "leg.servo.stall_torque": (1.0 / 0.0980665, 1.0 / 0.00706155),
    "leg.servo.no_load_speed": (60.0 / math.tau, 180.0 / math.pi),
    "leg.servo.stiffness": (math.pi / 180.0,),
    "walk.swing_time": (10.0, 0.1, 1000.0),
    "walk.height": (1000.0, 10.0, 0.1),
    "walk.lift_height": (1000.0, 10.0, 0.1),
    "body.size": (1000.0, 10.0, 0.1),
    "imu.position": (100.0, 1000.0),
}


def place(data: Data, key: str) -> tuple[Any, str]:
    *sections, last = key.split(".")
    for name in sections:
        data = data[name]
    return data, last


def scaled(key: str, factor: float) -> Callable[[Data], None]:
    def change(data: Data) -> None:
        section, name = place(data, key)
        value = section[name]
        section[name] = [factor * each for each in value] if isinstance(value, list) else factor * value

    return change


def put(key: str, make: Callable[[Any], Any]) -> Callable[[Data], None]:
    def change(data: Data) -> None:
        section, name = place(data, key)
        section[name] = make(section.get(name))

    return change


def swap(one: str, other: str) -> Callable[[Data], None]:
    def change(data: Data) -> None:
        (a, x), (b, y) = place(data, one), place(data, other)
        a[x], b[y] = b[y], a[x]

    return change


def every_leg(change: Callable[[Data], None]) -> Callable[[Data], None]:
    return lambda data: [change({"leg": leg}) for leg in data["legs"].values()] and None


def renamed(words: dict[str, str], only: str = "") -> Callable[[Data], None]:
    """Legs under other names: words of a name exchanged."""

    def change(data: Data) -> None:
        def name(old: str) -> str:
            return "_".join(words.get(word, word) for word in old.split("_")) if only in old else old

        data["legs"] = {name(old): leg for old, leg in data["legs"].items()}

    return change


def shifted(axis: int, by: float) -> Callable[[list[float]], list[float]]:
    return lambda value: [each + by * (k == axis) for k, each in enumerate(value)]


def negative(axis: int) -> Callable[[list[float]], list[float]]:
    return lambda value: [-each if k == axis else each for k, each in enumerate(value)]


def mistakes(data: Data, legs: Sequence[str]) -> Iterator[Mutation]:
    """All single mistakes for one robot, those of single legs only for some of its legs."""
    for key, factors in SCALED.items():
        for factor in factors:
            yield f"{key} x{factor:.4g}", scaled(key, factor), (key.removeprefix("leg."),)
    yield from servo_mistakes(data)
    for axis in range(3):
        size = data["body"]["size"][axis]
        for by in (2.0 * size, -2.0 * size):
            yield f"center of mass {axis} {by:+.2f}", put("body.center_of_mass", shifted(axis, by)), ("center_of_mass",)
        for factor in (10.0, 0.1):
            change = put("body.size", lambda v, a=axis, f=factor: [f * e if k == a else e for k, e in enumerate(v)])
            yield f"body.size[{axis}] x{factor:g}", change, ("body.size",)
    for joint in ("coxa", "femur", "tibia"):
        limits = f"leg.joints.{joint}"
        degrees = put(limits, lambda v: {key: math.radians(each) for key, each in v.items()})
        yield f"{joint} limits in radians", degrees, (f"joints.{joint}.lower_deg",)
        yield f"{joint} limits swapped", swap(f"{limits}.lower_deg", f"{limits}.upper_deg"), (f"{joint}.lower_deg",)
        yield f"{joint} without minus", put(f"{limits}.lower_deg", abs), (f"{joint}.lower_deg",)
    yield (
        "joints of femur and tibia swapped",
        swap("leg.joints.femur", "leg.joints.tibia"),
        ("femur.lower_deg", "tibia.lower_deg"),
    )
    yield (
        "lengths of femur and tibia swapped",
        swap("leg.femur.length", "leg.tibia.length"),
        ("femur.length", "tibia.length"),
    )
    yield "all legs: left and right", renamed({"left": "right", "right": "left"}), ("hip",)
    yield "all legs: front and rear", renamed({"front": "rear", "rear": "front"}), ("hip",)
    yield from drawn_differently(data)
    for name in legs:
        yield from leg_mistakes(data, name)
    yield "all yaws in radians", every_leg(put("leg.yaw_deg", math.radians)), ("yaw_deg",)
    yield "all yaws +30", every_leg(put("leg.yaw_deg", lambda v: v + 30.0)), ("yaw_deg",)
    yield "all yaws without minus", every_leg(put("leg.yaw_deg", abs)), ("yaw_deg",)
    yield "all hips 0.1 up", every_leg(put("leg.hip", shifted(2, 0.1))), ("hip",)


def drawn_differently(data: Data) -> Iterator[Mutation]:
    """A drawing with other axes, directions or reference points."""
    for key in ("lateral_offset", "vertical_offset"):
        offset = 0.75 * data["leg"]["femur"]["length"]
        yield f"{key} of a femur", put(f"leg.femur.{key}", lambda _, by=offset: by), (f"femur.{key}",)
    lower, upper = data["leg"]["joints"]["femur"].values()
    if upper > max(-lower + 25.0, -1.2 * lower):
        yield "femur turned the other way", put("leg.joints.femur", negated), ("joints.femur.lower_deg",)
    first = next(iter(data["legs"]))
    one = put(f"legs.{first}.joints", lambda _: {"femur": negated(data["leg"]["joints"]["femur"])})
    yield "one femur turned the other way", one, ("femur.lower_deg", "femur.upper_deg")
    spans = [max(at) - min(at) for at in zip(*(leg["hip"][:2] for leg in data["legs"].values()), strict=True)]
    if spans[0] > 1.1 * spans[1] and data["body"]["size"][0] > 1.2 * data["body"]["size"][1]:  # else it fits both ways
        yield "x and y of the body", put("body.size", lambda v: [v[1], v[0], v[2]]), ("body.size",)
    chosen = every_leg(lambda data: data["leg"].pop("foothold"))
    clockwise = every_leg(put("leg.yaw_deg", lambda v: -v))
    yield "yaws clockwise, without footholds", both(chosen, clockwise), ("yaw_deg",)
    tilted = every_leg(lambda data: data["leg"].update(tilt_deg=[15.0, 0.0]))
    yield "tilted to the same side", both(chosen, tilted), ("tilt_deg",)


def both(one: Callable[[Data], None], other: Callable[[Data], None]) -> Callable[[Data], None]:
    def change(data: Data) -> None:
        one(data)
        other(data)

    return change


def negated(limits: dict[str, float]) -> dict[str, float]:
    return {"lower_deg": -limits["upper_deg"], "upper_deg": -limits["lower_deg"]}


def servo_mistakes(data: Data) -> Iterator[Mutation]:
    seconds = put("leg.servo.no_load_speed", lambda v: math.radians(60.0) / v)
    yield "speed in s/60 deg", seconds, ("no_load_speed",)
    unknown = "home made"
    for key, factor in (("stall_torque", 10.2), ("stall_torque", 141.6), ("no_load_speed", 9.549)):

        def change(data: Data, key: str = key, factor: float = factor) -> None:
            data["leg"]["servo"]["model"] = unknown
            scaled(f"leg.servo.{key}", factor)(data)

        yield f"{key} x{factor:g} of an unknown servo", change, (key,)
    yield "model", put("leg.servo.model", lambda v: v[:-1]), ("servo.model",)


def leg_mistakes(data: Data, name: str) -> Iterator[Mutation]:
    at, legs = f"legs.{name}", data["legs"]
    yield f"{name}: yaw in radians", put(f"{at}.yaw_deg", math.radians), (f"{name}.yaw_deg",)
    for by in (30.0, -30.0):
        yield f"{name}: yaw {by:+g}", put(f"{at}.yaw_deg", lambda v, by=by: v + by), (f"{name}.yaw_deg",)
    yield f"{name}: yaw without minus", put(f"{at}.yaw_deg", lambda v: -v), (f"{name}.yaw_deg",)
    for key in ("hip", "foothold"):
        for axis in (0, 1):
            if abs(legs[name][key][axis]) > 0.03:
                yield f"{name}: {key} sign {axis}", put(f"{at}.{key}", negative(axis)), (f"{name}.{key}",)
        yield f"{name}: {key} in mm", scaled(f"{at}.{key}", 1000.0), (f"{name}.{key}",)
    for by in (0.05, -0.008):
        yield f"{name}: hip height {by:+g}", put(f"{at}.hip", shifted(2, by)), (f"{name}.hip",)
    for other in legs:
        if other > name:
            pair = (f"{name}.hip", f"{other}.hip", f"{name}.yaw_deg", f"{other}.yaw_deg")
            yield f"{name} and {other} swapped", swap(at, f"legs.{other}"), pair


@cache
def original(robot: str) -> Data:
    data = plain(read(resolve(robot)))
    assert isinstance(data, dict)
    return data


@cache
def explicit(robot: str) -> Data:
    """A file that gives the figures of its servo itself."""
    data, joint = copy.deepcopy(original(robot)), load(robot).robot.legs[0].coxa_joint
    figures = {key: getattr(joint, key) for key in ("no_load_speed", "stall_torque", "stiffness")}
    data["leg"]["servo"] |= {**figures, "source": "the servo table"}
    return data


def cases() -> Iterator[tuple[str, str, Callable[[Data], None], tuple[str, ...]]]:
    """All mistakes on some robots, in the slice only of every third leg, and a seeded sample of them on the others."""
    draw = random.Random(1)
    for robot in known_robots():
        data, tries_all = explicit(robot), robot in ALL_MISTAKES
        every = list(mistakes(data, list(data["legs"])[:: 3 if tries_all and not SOAK else 1]))
        chosen = every if tries_all else draw.sample(every, SAMPLE)
        yield from ((robot, *mistake) for mistake in chosen)


def reported_keys(path: Path) -> tuple[str, ...]:
    """The keys that loading or checking a file names, without the place of a number in a list."""
    try:
        return tuple(error.key.partition("[")[0] for error in implausible(load(path)))
    except RobotFileError as error:
        return (error.key.partition("[")[0],)


def test_soak_of_human_mistakes_which_are_all_refused_or_reported_at_their_keys(tmp_path: Path) -> None:
    path, missed, count = tmp_path / "robot.yaml", [], 0
    for robot, what, change, keys in cases():
        changed = copy.deepcopy(explicit(robot))
        change(changed)
        if changed == explicit(robot):
            continue  # such as a factor on zero
        count += 1
        path.write_text(json.dumps(changed))
        found = reported_keys(path)
        if not any(key.endswith(keys) for key in found[:2]):
            missed.append(f"{robot}: {what}: {', '.join(found) or 'accepted'}")
    assert count >= (300 if SOAK else 150)
    assert not missed, f"{len(missed)} of {count}:\n" + "\n".join(missed)


@pytest.mark.parametrize("side", ["left", "right"])
def test_swapped_middle_legs_are_reported_and_not_their_mirror_images(tmp_path: Path, side: str) -> None:
    data = copy.deepcopy(explicit("octopod"))
    front, rear = f"legs.{side}_middle_front", f"legs.{side}_middle_rear"
    swap(front, rear)(data)
    path = tmp_path / "robot.yaml"
    path.write_text(json.dumps(data))
    assert reported_keys(path)[0] in (f"{front}.hip", f"{rear}.hip")


@pytest.mark.parametrize("robot", known_robots())
def test_no_shipped_robot_is_implausible(robot: str) -> None:
    assert list(map(str, implausible(load(robot)))) == []


def test_a_coxa_far_from_mid_range_is_reported_with_the_angle_from_there(tmp_path: Path) -> None:
    data = copy.deepcopy(explicit("phantomx"))
    put("leg.joints.coxa", lambda v: {"lower_deg": -20.0, "upper_deg": 80.0})(data)
    path = tmp_path / "robot.yaml"
    path.write_text(json.dumps(data))
    messages = [str(error) for error in implausible(load(path))]
    assert any("the coxa is -30 deg from mid-range, usual are up to 20 deg" in message for message in messages)
