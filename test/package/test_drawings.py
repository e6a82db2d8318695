# SPDX-License-Identifier: Apache-2.0
"""Every picture of the documentation is made by one command.

The drawings of docs/your-own-robot.md are those of the code, and name every length and angle of a robot file.
"""

import importlib.util
import re
import sys
from functools import cache
from pathlib import Path

import pytest
from support.paths import ROOT

from hexapod_control.config.robots import robot_keys
from hexapod_control.config.schema import NumberRow

FIGURES = ROOT / "docs" / "figures"
ALL_IMAGES = ROOT / "docs" / "images"
IMAGES = ALL_IMAGES / "own-robot"
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
PAGE = (ROOT / "docs" / "your-own-robot.md").read_text(encoding="utf-8")
NOT_MEASURED = {"walk.lift_height", "walk.preload", "coxa.radius", "femur.radius", "tibia.radius"}


def script(name):
    spec = importlib.util.spec_from_file_location(Path(name).name, FIGURES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look there
    spec.loader.exec_module(module)
    return module


@cache
def drawings():
    return script("drawings/own_robot").drawings()


def texts(svg):
    return " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", svg))


def shown(page):
    """The pictures of a page, as paths in docs/images."""
    found = re.findall(r"[\"(]((?:\.\./|docs/)?images/[^\")]+)", page.read_text(encoding="utf-8"))
    return {str((page.parent / path).resolve().relative_to(ALL_IMAGES)) for path in found}


def test_one_command_makes_every_picture_that_a_page_shows_and_no_other_is_stored():
    pictures = script("images").PICTURES
    made = [name for names in pictures.values() for name in names]
    assert all((FIGURES / f"{name}.py").is_file() for name in pictures)
    assert len(made) == len(set(made))
    assert set(made) == {str(path.relative_to(ALL_IMAGES)) for path in ALL_IMAGES.rglob("*.*")}
    assert set(made) == set().union(*map(shown, PAGES))


def test_the_drawings_are_current_and_shown():
    assert {path.name for path in IMAGES.iterdir()} == set(drawings())
    for name, svg in drawings().items():
        assert (IMAGES / name).read_text(encoding="utf-8") == svg, "make drawings"
        assert f"(images/own-robot/{name})" in PAGE


def measured_keys():
    rows = (*robot_keys.ROBOT, *robot_keys.COMMON, *robot_keys.PLACE, robot_keys.FOOTHOLD, robot_keys.TILT)
    keys = [row.key for row in rows if isinstance(row, NumberRow) and row.quantity.unit in ("m", "deg")]
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
