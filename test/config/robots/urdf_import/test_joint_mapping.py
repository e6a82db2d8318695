# SPDX-License-Identifier: Apache-2.0
"""Joint mappings: valid ones are read, mistakes are refused with file, line and key."""

import pytest
from support.phantomx import robot

from hexapod_control.config.robots.urdf_import.joint_mapping import JointMappingError, load_mapping
from hexapod_control.core.names import joint_names

NAMES = joint_names(robot().leg_names)
ROWS = "".join(f"  {name}: {{name: u{k}, sign: -1, offset: 0.5}}\n" for k, name in enumerate(NAMES))
TEXT = f"joints:\n{ROWS}fixed:\n  head: 0.1\n"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "mapping.yaml"


def test_a_mapping_is_read_in_the_order_of_the_robots_joints(path):
    path.write_text(TEXT)
    mapping = load_mapping(str(path), robot())
    assert mapping.names == tuple(f"u{k}" for k in range(18)) and mapping.fixed == {"head": 0.1}
    assert (mapping.signs == -1.0).all() and (mapping.offsets == 0.5).all() and mapping.signs.shape == (6, 3)


def test_without_a_path_there_is_no_mapping():
    assert load_mapping("", robot()) is None


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (f"  {NAMES[3]}: {{name: u3, sign: -1, offset: 0.5}}\n", "", f"joints.{NAMES[3]}: is missing"),
        ("name: u3", "name: u2", f"joints.{NAMES[3]}: names 'u2', which another entry names already"),
        ("name: u3", "name: head", "names 'head', which another entry names already"),
        ("name: u3, sign: -1", "name: u3, sign: 0.5", f"joints.{NAMES[3]}.sign: must be in [-1, 1], is 0.5"),
        ("name: u3, sign: -1, offset: 0.5", "name: u3, sign: -1", f"joints.{NAMES[3]}.offset: is missing"),
        (NAMES[3], "tail_joint", "joints.tail_joint: is unknown"),
        ("fixed:", "rest:", "rest: is unknown"),
    ],
)
def test_a_mistake_in_a_mapping_is_refused_with_its_location(path, old, new, reason):
    path.write_text(TEXT.replace(old, new, 1))
    with pytest.raises(JointMappingError) as caught:
        load_mapping(str(path), robot())
    assert reason in str(caught.value) and str(caught.value).startswith(str(path))
