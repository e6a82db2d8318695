# SPDX-License-Identifier: Apache-2.0
"""Policies in ONNX files: the same actions as of the network, and refusals of what is not for this robot."""

from itertools import pairwise

import numpy as np
import pytest

from hexapod_control.config.errors import PolicyFileError
from hexapod_control.config.policy_file import Layer, Policy, act, describe, description, save
from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.motions.policy import LEVELS, observation_parts

ROBOT = load("phantomx").robot
SIZES = {level: sum(part.size for part in observation_parts(6, level)) for level in LEVELS}
ACTIONS = {"joints": 18, "walk": 24}
METADATA = {level: description(ROBOT, level, 0.02) for level in LEVELS}


def network(level, seed=0, hidden=7):
    rng = np.random.default_rng(seed)
    sizes = (SIZES[level], hidden, ACTIONS[level])
    return [Layer(rng.normal(0.0, 0.1, (out, into)), rng.normal(0.0, 0.1, out)) for into, out in pairwise(sizes)]


def saved(path, trained="joints", layers=None, **changes):
    metadata = {**METADATA[trained], **changes}
    save(path, layers or network(trained), {key: value for key, value in metadata.items() if value is not None})
    return path


@pytest.mark.parametrize("level", LEVELS)
def test_a_policy_that_was_saved_acts_as_its_network(tmp_path, level):
    policy = Policy(saved(tmp_path / "a.onnx", level), ROBOT)
    assert (policy.level, policy.period) == (level, 0.02)
    for seed in range(5):
        observation = np.random.default_rng(seed).uniform(-1.0, 1.0, SIZES[level]).astype(np.float32)
        assert np.clip(policy.act(observation), -1.0, 1.0) == pytest.approx(act(network(level), observation), abs=1e-5)


def test_a_file_of_another_program_can_be_described(tmp_path):
    path = saved(tmp_path / "a.onnx", robot=None)
    with pytest.raises(PolicyFileError, match=r"a\.onnx: hexapod_robot: is missing"):
        Policy(path, ROBOT)
    describe(path, METADATA["joints"])
    assert Policy(path, ROBOT).level == "joints"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"robot": "other"}, "hexapod_robot: is other, of this robot phantomx, run it on that robot"),
        ({"joints": "a, b"}, "hexapod_joints: is a, b, of this robot left_front_coxa_joint"),
        ({"level": "torques"}, "hexapod_level: 'torques' is none of joints, walk"),
        ({"period": "soon"}, 'hexapod_period: must be in .* is "soon"'),
        ({"period": "0.5"}, "hexapod_period: must be in .* is 0.5"),
        ({"observation": "all"}, "hexapod_observation: is all, of this robot command 3, gravity 3"),
        ({"normalisation": "1, 2"}, "hexapod_normalisation: is 1, 2, of this robot .* robot file has changed"),
        ({"normalisation": METADATA["walk"]["normalisation"].replace("0.1", "0.11")}, "hexapod_normalisation"),
    ],
)
def test_a_policy_for_something_else_is_refused_with_key_value_bound_and_remedy(tmp_path, changes, words):
    with pytest.raises(PolicyFileError, match=words):
        Policy(saved(tmp_path / "a.onnx", **changes), ROBOT)


@pytest.mark.parametrize(
    ("layers", "words"),
    [
        (network("walk"), "graph: does not take 69 numbers"),
        ([Layer(np.zeros((17, 69)), np.zeros(17))], "graph: returns 17 numbers, not 18"),
        ([Layer(np.full((18, 69), np.nan), np.zeros(18))], "graph: returns numbers that are not finite"),
    ],
)
def test_a_network_of_another_shape_is_refused(tmp_path, layers, words):
    with pytest.raises(PolicyFileError, match=words):
        Policy(saved(tmp_path / "a.onnx", layers=layers), ROBOT)


def test_what_is_no_onnx_file_is_refused_in_one_sentence(tmp_path, capfd):
    whole = saved(tmp_path / "whole.onnx").read_bytes()
    names = whole.replace(b"hexapod_robot", b"hexapod_\xff\xfeobot"), whole.replace(b"observation", b"observatio\xe0")
    for content in (b"no model", b"", whole[:1000], whole[: len(whole) // 2], whole[:-1], *names):
        (tmp_path / "a.onnx").write_bytes(content)
        with pytest.raises(PolicyFileError):
            Policy(tmp_path / "a.onnx", ROBOT)
    assert "".join(capfd.readouterr()) == ""
    with pytest.raises(PolicyFileError, match="cannot be read: No such file"):
        Policy(tmp_path / "none.onnx", ROBOT)
