# SPDX-License-Identifier: Apache-2.0
"""Capabilities on disk are those that would be computed, and only files of this user are read."""

import dataclasses
import pickle
import random
import zlib

import pytest

from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.saved_capabilities import MAX_FILES, SavedCapabilities
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.workspace.capabilities import Capabilities


@pytest.fixture(scope="module")
def computed():
    return Capabilities.of(load("quadruped").robot)


@pytest.fixture
def store(tmp_path):
    return SavedCapabilities(tmp_path / "cache")


def only_file(tmp_path):
    (file,) = (tmp_path / "cache").iterdir()
    return file


def limits(capabilities):
    rng, robot = random.Random(3), capabilities.robot
    twists = [Twist(*(rng.uniform(-1.0, 1.0) for _ in range(3))) for _ in range(20)]
    gaits = capabilities.gaits.values()
    return [capabilities.envelope.limit(gait, robot.walk.height, 1.0, twist) for gait in gaits for twist in twists]


def test_capabilities_that_are_read_equal_those_that_were_computed(store, computed):
    assert store.read(computed.robot) is None
    store.write(computed)
    found = store.read(computed.robot)
    assert limits(found) == limits(computed)
    assert (found.gaits, found.margins, found.stances.rows) == (computed.gaits, computed.margins, computed.stances.rows)
    with pytest.raises(TypeError):
        found.gaits["wave"] = None


def test_any_change_of_the_robot_makes_another_file(store, computed):
    store.write(computed)
    walk = dataclasses.replace(computed.robot.walk, height=computed.robot.walk.height + 1e-9)
    assert store.read(dataclasses.replace(computed.robot, walk=walk)) is None


@pytest.mark.parametrize(
    "content", [b"", b"not compressed", zlib.compress(b"no pickle"), zlib.compress(pickle.dumps(None))]
)
def test_a_damaged_file_is_ignored(store, computed, tmp_path, content):
    store.write(computed)
    only_file(tmp_path).write_bytes(content)
    assert store.read(computed.robot) is None
    store.write(computed)
    assert store.read(computed.robot) is not None


@pytest.mark.parametrize("place", [only_file, lambda tmp_path: tmp_path / "cache"])
def test_files_that_others_can_write_are_not_read(store, computed, tmp_path, place):
    store.write(computed)
    place(tmp_path).chmod(0o777)
    assert store.read(computed.robot) is None


def test_without_a_folder_to_write_to_nothing_is_saved(computed, tmp_path):
    (tmp_path / "file").touch()
    store = SavedCapabilities(tmp_path / "file" / "cache")
    store.write(computed)
    assert store.read(computed.robot) is None


def test_many_robots_take_little_space(store, computed, tmp_path):
    store.write(computed)
    assert only_file(tmp_path).stat().st_size * MAX_FILES < 40e6


def test_the_number_of_files_is_bounded(store, computed, tmp_path):
    store.write(computed)
    file = only_file(tmp_path)
    for k in range(MAX_FILES + 3):
        file.with_name(f"{k}.pickle").touch()
    store.write(computed)
    assert len(list(file.parent.iterdir())) == MAX_FILES and file.exists()
