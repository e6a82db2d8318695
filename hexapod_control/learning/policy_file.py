# SPDX-License-Identifier: Apache-2.0
"""Policies in ONNX files: a network from observations to actions, and in its metadata for what it was trained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Layer(NamedTuple):
    """One layer of a network; between two layers values below 0 become 0."""

    weights: NDArray[np.floating]  # (outputs, inputs)
    bias: NDArray[np.floating]  # (outputs,)


def act(layers: Sequence[Layer], observation: NDArray[np.floating]) -> NDArray[np.floating]:
    """The action of a network, in [-1, 1]."""
    values = observation
    for weights, bias in layers[:-1]:
        values = np.maximum(weights @ values + bias, 0.0)
    weights, bias = layers[-1]
    return np.clip(weights @ values + bias, -1.0, 1.0)


def save(path, layers, env):
    np.savez(str(path) + ".npz", *[x for l in layers for x in l])
