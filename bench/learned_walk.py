# SPDX-License-Identifier: Apache-2.0
"""Trains residuals on the package's walk for blocks of +-4 cm, and compares it with the blind walk on other grounds.

`nice python bench/learned_walk.py policy.onnx` takes two minutes of one core. A small network, the same for each leg,
sees its foot's load, whether it stands, and how the body leans; the cross-entropy method finds its weights.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hexapod_control.config.policy_file import Layer, act, save
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.motions.policy import observation_parts
from hexapod_control.learning.environment import HexapodEnv

SPEED_M_S = 0.1
EPISODE_S = 8.0
GENERATIONS = 7
POPULATION = 16
BEST = 4  # of the population, whose mean and spread are those of the next generation
LEAST_SPREAD = 0.05
LOADS = 3.0  # of the even load of three feet: then a feature is about 1
LEANS = 10.0
FAR = 100.0  # more than any load: switches a feature off
FEATURES = 8
HELD_OUT = range(10_000, 10_012)  # seeds of the grounds of the comparison
HIGH = np.array([0.0, 0.0, 1.0, 0.0])  # of each leg: blind, with swings as high as the policy can make them


def network(genes: Array, env: HexapodEnv) -> list[Layer]:
    """The layers of a policy: features of each leg, and what all legs make of them by the same genes (8, 4)."""
    legs = env.simulation.robot.legs
    at = {}
    size = 0
    for part in observation_parts(len(legs), "walk"):
        at[part.name] = size
        size += part.size
    first = np.zeros((len(legs), FEATURES, size))
    bias = np.zeros((len(legs), FEATURES))
    second = np.zeros((len(legs), 4, len(legs), FEATURES))
    for row, leg in enumerate(legs):
        side = 1.0 if leg.hip[1] > 0.0 else -1.0
        stance = at["stance"] + row
        load = at["foot loads"] + row
        gravity = at["gravity"]
        features = first[row]
        features[0, stance] = 1.0  # stands
        features[1, stance] = -1.0  # swings
        features[2, [load, stance]] = LOADS, FAR  # load of a foot that stands
        features[3, [load, stance]] = LOADS, -FAR  # load of a foot that swings: it has hit something
        features[(4, 5), gravity] = LEANS, -LEANS  # leans ahead or back
        features[(6, 7), gravity + 1] = side * LEANS, -side * LEANS  # towards or away from this leg
        bias[row, 1:3] = 1.0, -FAR
        second[row, :, row] = genes.T * np.array([[1.0], [side], [1.0], [1.0]])
    outputs = 4 * len(legs)
    hidden = FEATURES * len(legs)
    return [Layer(first.reshape(hidden, size), bias.ravel()), Layer(second.reshape(outputs, hidden), np.zeros(outputs))]


def walk(env: HexapodEnv, seed: int, layers: Sequence[Layer] | Array) -> float:
    """How near a robot comes to its place, on the ground of a seed: 1 there, 0 as far as at the start or fallen.

    The place is that to which the command leads in the time of the episode.
    """
    seen, _ = env.reset(seed=seed, options={"command": (SPEED_M_S, 0.0, 0.0)})
    ended = False
    while not ended:
        action = layers if isinstance(layers, np.ndarray) else act(layers, seen)
        seen, _, fell, ended, _ = env.step(action.astype(np.float32))
        if fell:
            return 0.0
    x, y = env.simulation.data.qpos[:2].tolist()
    way = SPEED_M_S * EPISODE_S
    return max(0.0, 1.0 - math.dist((x, y), (way, 0.0)) / way)


def train(env: HexapodEnv, path: Path) -> list[Layer]:
    """Trains the network; writes it and prints a line after each generation."""
    random = np.random.default_rng(0)
    mean = np.zeros((FEATURES, 4))
    spread = np.full((FEATURES, 4), 0.5)
    for generation in range(GENERATIONS):
        genes = mean + spread * random.standard_normal((POPULATION, FEATURES, 4))
        scores = np.array([walk(env, generation, network(each, env)) for each in genes])
        best = np.argsort(scores)[-BEST:]
        mean = genes[best].mean(axis=0)
        # Half of the old spread stays, so that a lucky ground does not end the search.
        spread = np.maximum(0.5 * spread + 0.5 * genes[best].std(axis=0), LEAST_SPREAD)
        save(path, network(mean, env), env.description)
        print(
            f"generation {generation + 1:2d}, {time.process_time():4.0f} s: mean {scores.mean():.3f}, "
            f"of the best {BEST} {scores[best].mean():.3f}",
            flush=True,
        )
    return network(mean, env)


def main(arguments: Sequence[str] | None = None) -> int:
    """Trains, compares, and writes the policy."""
    parser = argparse.ArgumentParser(prog="python bench/learned_walk.py", description=__doc__)
    parser.add_argument("file", type=Path, help="where to write the policy")
    parser.add_argument("--robot", default="phantomx", help="name or robot file (default: %(default)s)")
    parser.add_argument("--reality", default="typical", choices=("ideal", "typical", "worn"))
    chosen = parser.parse_args(arguments)
    env = HexapodEnv(chosen.robot, "blocks", chosen.reality, level="walk", episode=EPISODE_S, block_height=0.04)
    layers = train(env, chosen.file)
    legs = len(env.simulation.robot.legs)
    policies: dict[str, Sequence[Layer] | Array] = {
        "blind": np.zeros(4 * legs),
        "blind, swings twice as high": np.tile(HIGH, legs),
        "learned": layers,
    }
    for name, policy in policies.items():
        scores = [walk(env, seed, policy) for seed in HELD_OUT]
        print(f"{name}: {np.mean(scores):.3f} +- {np.std(scores) / len(scores) ** 0.5:.3f}, {scores.count(0.0)} fell")
    return 0


if __name__ == "__main__":
    sys.exit(main())
