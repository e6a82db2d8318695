"""The drawings of docs/your-own-robot.md are those of the code, and name every length and angle of a robot file."""

import importlib.util
import re
import sys
from functools import cache

import pytest
from support.paths import ROOT

from hexapod_control.config.robots import robot_keys
from hexapod_control.config.schema import NumberRow

IMAGES = ROOT / "docs" / "images" / "own-robot"
PAGE = (ROOT / "docs" / "your-own-robot.md").read_text(encoding="utf-8")
NOT_MEASURED = {"walk.lift_height", "walk.preload", "coxa.radius", "femur.radius", "tibia.radius"}


@cache
def drawings():
    spec = importlib.util.spec_from_file_location("own_robot", ROOT / "docs" / "figures" / "own_robot.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look there
    spec.loader.exec_module(module)
    return module.drawings()


def texts(svg):
    return " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", svg))


def test_the_drawings_are_current_and_shown():
    assert {path.name for path in IMAGES.iterdir()} == set(drawings())
    for name, svg in drawings().items():
        assert (IMAGES / name).read_text(encoding="utf-8") == svg, "make drawings"
        assert f"(images/own-robot/{name})" in PAGE


def measured_keys():
    rows = (*robot_keys.ROBOT, *robot_keys.COMMON, *robot_keys.PLACE, robot_keys.TILT)
    keys = [row.key for row in rows if isinstance(row, NumberRow) and row.unit in ("m", "deg")]
    return sorted({key.removesuffix(".lower_deg").removesuffix(".upper_deg") for key in keys} - NOT_MEASURED)


@pytest.mark.parametrize("key", measured_keys())
def test_the_page_says_how_every_length_and_angle_is_measured(key):
    assert f"`{key}`" in PAGE


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("leg-side.svg", "coxa.length femur.length tibia.length foot.radius walk height vertical_offset lifts"),
        ("body-above.svg", "hip foothold yaw_deg body.size base_link x y left"),
        ("hip-above.svg", "femur.lateral_offset joints.coxa.lower_deg joints.coxa.upper_deg clockwise left"),
    ],
)
def test_lengths_angles_and_signs_are_in_the_drawings(name, words):
    assert set(words.split()) <= set(re.findall(r"[\w.]*\w", texts(drawings()[name])))
