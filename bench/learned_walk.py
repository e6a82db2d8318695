# SPDX-License-Identifier: Apache-2.0
"""Trains residuals on the package's walk for blocks of +-4 cm, and compares it with the blind walk on other grounds.

`nice python bench/learned_walk.py policy.onnx` takes 5 minutes of one core. A small network, the same for every leg,
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
EPISODE_S = 10.0
TRAINED_S = 240.0  # of computing time
POPULATION = 20
BEST = 5  # of the population, whose mean and spread are those of the next generation
LEAST_SPREAD = 0.05
LOADS = 3.0  # of the even load of three feet: then a feature is about 1
LEANS = 10.0
FAR = 100.0  # more than any load: switches a feature off
FEATURES = 8
HELD_OUT = range(10_000, 10_020)  # seeds of the grounds of the comparison
HIGH = np.array([0.0, 0.0, 1.0, 0.0])  # of each leg: blind, with swings as high as the policy can make them


def network(genes: Array, env: HexapodEnv) -> list[Layer]:
    """The layers of a policy: features of each leg, and what all legs make of them by the same genes (8, 4)."""
    legs = env.simulation.robot.legs
    at, begin = {}, 0
    for part in observation_parts(len(legs), "walk"):
        at[part.name] = begin
        begin += part.size
    first, bias = np.zeros((FEATURES * len(legs), begin)), np.zeros(FEATURES * len(legs))
    second = np.zeros((4 * len(legs), FEATURES * len(legs)))
    for row, leg in enumerate(legs):
        side = 1.0 if leg.hip[1] > 0.0 else -1.0
        stance, load = at["stance"] + row, at["foot loads"] + row
        features = first[FEATURES * row : FEATURES * (row + 1)]
        offsets = bias[FEATURES * row : FEATURES * (row + 1)]
        features[0, stance] = 1.0  # stands
        features[1, stance], offsets[1] = -1.0, 1.0  # swings
        features[2, [load, stance]], offsets[2] = (LOADS, FAR), -FAR  # load of a foot that stands
        features[3, [load, stance]] = LOADS, -FAR  # load of a foot that swings: it has hit something
        for column, axis in ((4, 0), (6, 1)):  # leans ahead or back, towards or away from this leg
            slope = LEANS * (side if axis else 1.0)
            features[column, at["gravity"] + axis] = slope
            features[column + 1, at["gravity"] + axis] = -slope
        outputs = genes.T * np.array([[1.0], [side], [1.0], [1.0]])
        second[4 * row : 4 * (row + 1), FEATURES * row : FEATURES * (row + 1)] = outputs
    return [Layer(first, bias), Layer(second, np.zeros(4 * len(legs)))]


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


def train(env: HexapodEnv, seconds: float) -> Array:
    """The genes (8, 4) that are found in so much computing time; prints a line for each generation."""
    random = np.random.default_rng(0)
    mean, spread = np.zeros((FEATURES, 4)), np.full((FEATURES, 4), 0.5)
    generation = 0
    while time.process_time() < seconds:
        genes = mean + spread * random.standard_normal((POPULATION, FEATURES, 4))
        seeds = (2 * generation, 2 * generation + 1)
        scores = np.array([np.mean([walk(env, seed, network(each, env)) for seed in seeds]) for each in genes])
        best = genes[np.argsort(scores)[-BEST:]]
        # Half of the old spread stays, so that a lucky ground does not end the search.
        mean, spread = best.mean(axis=0), np.maximum(0.5 * spread + 0.5 * best.std(axis=0), LEAST_SPREAD)
        generation += 1
        print(
            f"generation {generation:3d}, {time.process_time():5.0f} s: mean {scores.mean():.3f}, "
            f"best {np.sort(scores)[-BEST:].mean():.3f}",
            flush=True,
        )
    return mean


def main(arguments: Sequence[str] | None = None) -> int:
    """Trains, compares, and writes the policy."""
    parser = argparse.ArgumentParser(prog="python bench/learned_walk.py", description=__doc__)
    parser.add_argument("file", type=Path, help="where to write the policy")
    parser.add_argument("--robot", default="phantomx", help="name or robot file (default: %(default)s)")
    parser.add_argument("--reality", default="typical", choices=("ideal", "typical", "worn"))
    parser.add_argument("--seconds", type=float, default=TRAINED_S, help="computing time (default: %(default)g)")
    chosen = parser.parse_args(arguments)
    env = HexapodEnv(
        chosen.robot, "blocks", chosen.reality, level="walk", episode=EPISODE_S, block_height=0.04, timestep=0.004
    )
    layers = network(train(env, chosen.seconds), env)
    save(chosen.file, layers, env.description)
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
