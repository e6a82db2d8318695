# SPDX-License-Identifier: Apache-2.0
"""The page of the robot file lists every key that robot files have, with its meaning."""

import importlib.util
import re
import sys

import pytest
from support.paths import ROOT

from hexapod_control.config.document import DocumentEntry, read
from hexapod_control.config.robots.robot_file import known_robots, load
from hexapod_control.core.names import JOINTS


@pytest.fixture(scope="module")
def lines():
    spec = importlib.util.spec_from_file_location("tables", ROOT / "docs" / "tables.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return tuple(module.robot_file_lines())


def test_every_line_says_what_the_key_is(lines):
    for line in lines:
        assert all((line.kind, line.bound, line.default, line.meaning)), line


def leaves(entry: DocumentEntry, key: str = ""):
    """Keys of all values of a file."""
    if not entry.is_section:
        yield key
    for name, child in entry.children.items():
        yield from leaves(child, f"{key}.{name}" if key else name)


@pytest.mark.parametrize("name", known_robots())
def test_every_key_of_every_robot_is_listed(lines, name):
    file = load(name)
    legs = "|".join(file.robot.leg_names)
    for key in leaves(read(file.path)):
        listed = re.sub(rf"\.({legs})\b", ".LEG", key)
        listed = re.sub(rf"^(servos\.joints\.LEG)\.({'|'.join(JOINTS)})\.", r"\1.JOINT.", listed)
        listed = re.sub(r"^gaits\.\w+", "gaits.GAIT", listed)
        listed = re.sub(r"^confirmed\..*", "confirmed.KEY", listed)
        own = re.sub(r"^legs\.LEG\.(coxa|femur|tibia|joints|servo)\b", r"leg.\1", listed)
        assert own in {line.key for line in lines}, key
