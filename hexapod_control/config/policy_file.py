# SPDX-License-Identifier: Apache-2.0
"""Policies in ONNX files: a network from observations to actions, and in its metadata what it was trained for.

Every key of the metadata is compared with the robot before the policy moves it: a network has no names, units or limits
of its own, so that one for another robot, or with the legs in another order, would move this one at random.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexapod_control.config.errors import PolicyFileError
from hexapod_control.core.motions.policy import LEVELS, PolicyBody, observation_parts
from hexapod_control.core.names import joint_names
from hexapod_control.core.quantity import Quantity, QuantityError
from hexapod_control.core.robot import Robot

Values = NDArray[np.floating]
PREFIX = "hexapod_"  # of the keys
TOLERANCE = 1e-4  # of the numbers of the normalisation: they are rounded
PERIODS = Quantity("s", 0.005, 0.1, "from one action to the next")
LEVEL = "level"
PERIOD = "period"
NORMALISATION = "normalisation"
REMEDIES = {
    "robot": "run it on that robot, or train it for this one",
    "joints": "train it with the names and the order of this robot file",
    LEVEL: "export it with hexapod_control.config.policy_file",
    PERIOD: "set control_rate of gait_planner to fit, or train it with that period",
    "observation": "train it with this version of the package",
    NORMALISATION: "the robot file has changed since: train it again, or use that robot file",
}


class Layer(NamedTuple):
    """One layer of a network; between two layers values below 0 become 0."""

    weights: Values  # (outputs, inputs)
    bias: Values  # (outputs,)


def act(layers: Sequence[Layer], observation: Values) -> Values:
    """The action of a network, in [-1, 1]."""
    values = observation
    for weights, bias in layers[:-1]:
        values = np.maximum(weights @ values + bias, 0.0)
    weights, bias = layers[-1]
    action: Values = np.clip(weights @ values + bias, -1.0, 1.0)
    return action


def description(robot: Robot, level: str, period: float) -> dict[str, str]:
    """The metadata of a policy for a robot, a level of actions, and a time [s] from one action to the next."""
    body = PolicyBody(robot, level)
    limits = [value for leg in robot.legs for joint in leg.joints for value in (joint.lower, joint.upper)]
    numbers = [*body.standing.ravel().tolist(), *limits, *body.top_speed.tolist(), body.weight, robot.walk.height]
    return {
        "robot": robot.name,
        "joints": ", ".join(joint_names(robot.leg_names)),
        LEVEL: level,
        PERIOD: f"{period:g}",
        "observation": ", ".join(f"{part.name} {part.size}" for part in observation_parts(len(robot.legs), level)),
        NORMALISATION: ", ".join(f"{number:.6g}" for number in numbers),
    }


def save(path: Path, layers: Sequence[Layer], metadata: Mapping[str, str]) -> None:
    """Writes a network with its metadata. Needs the module onnx."""
    from onnx import TensorProto, helper, numpy_helper

    nodes = []
    constants = []
    values = "observation"
    for row, (weights, bias) in enumerate(layers):
        names = f"weights{row}", f"bias{row}"
        for name, array in zip(names, (weights, bias), strict=True):
            constants.append(numpy_helper.from_array(np.asarray(array, dtype=np.float32), name))
        nodes.append(helper.make_node("Gemm", [values, *names], [f"sum{row}"], transB=1))
        values = f"layer{row}" if row < len(layers) - 1 else "action"
        nodes.append(helper.make_node("Relu" if row < len(layers) - 1 else "Identity", [f"sum{row}"], [values]))
    sizes = layers[0].weights.shape[1], layers[-1].weights.shape[0]
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, size])
        for name, size in zip(("observation", "action"), sizes, strict=True)
    ]
    graph = helper.make_graph(nodes, "policy", ends[:1], ends[1:], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    _write(path, model, metadata)


def describe(path: Path, metadata: Mapping[str, str]) -> None:
    """Writes the metadata into an ONNX file of another program, such as torch.onnx. Needs the module onnx."""
    import onnx

    _write(path, onnx.load(str(path)), metadata)


def _write(path: Path, model: Any, metadata: Mapping[str, str]) -> None:
    from onnx import helper

    helper.set_model_props(model, {f"{PREFIX}{key}": value for key, value in metadata.items()})
    path.write_bytes(model.SerializeToString())


class Policy:
    """A policy that fits a robot: `act` gives its actions."""

    def __init__(self, path: Path, robot: Robot) -> None:
        """Needs the module onnxruntime. Raises PolicyFileError, also if the policy is for another robot."""
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # it is small, and must not disturb the nodes
        options.log_severity_level = 4
        try:
            content = path.read_bytes()
        except OSError as error:
            raise PolicyFileError(path, None, "", f"cannot be read: {error.strerror}") from None
        try:
            with redirect_stdout(None):  # it prints what it tries next
                self._session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
            found = self._session.get_modelmeta().custom_metadata_map
            ends = [[end.name for end in side] for side in (self._session.get_inputs(), self._session.get_outputs())]
        except Exception as error:  # its exceptions have no base class of their own
            reason = str(error).splitlines()[0]
            raise PolicyFileError(path, None, "", f"is not an ONNX model: {reason}", PolicyFileError.example) from None
        self.level, self.period = _fitting(path, found, robot)
        body = PolicyBody(robot, self.level)
        self._size = len(body.low)
        if [len(end) for end in ends] != [1, 1]:
            raise PolicyFileError(path, None, "graph", f"has {len(ends[0])} inputs and {len(ends[1])} outputs, not one")
        self._input = ends[0][0]
        self._path = path
        action = self.act(np.zeros(self._size))
        if len(action) != body.actions:
            raise PolicyFileError(path, None, "graph", f"returns {len(action)} numbers, not {body.actions}")
        if not np.isfinite(action).all():
            text = "returns numbers that are not finite, even for an observation of zeros: has the training diverged?"
            raise PolicyFileError(path, None, "graph", text)

    def act(self, observation: Values) -> Values:
        """The action for an observation. Raises PolicyFileError if the network cannot take it."""
        values = np.asarray(observation, dtype=np.float32).reshape(1, -1)
        try:
            return np.ravel(self._session.run(None, {self._input: values})[0])
        except Exception as error:
            reason = str(error).splitlines()[-1]
            raise PolicyFileError(
                self._path, None, "graph", f"does not take {self._size} numbers (1, {self._size}): {reason}"
            ) from None


def _fitting(path: Path, found: Mapping[str, str], robot: Robot) -> tuple[str, float]:
    """Level and period [s] of a policy whose metadata fits a robot. Raises PolicyFileError."""

    def of_file(key: str) -> str:
        if PREFIX + key not in found:
            text = "is missing: it says for what the policy was trained; export it with hexapod_control"
            raise PolicyFileError(path, None, PREFIX + key, text)
        return found[PREFIX + key]

    level = of_file(LEVEL)
    if level not in LEVELS:
        raise PolicyFileError(path, None, PREFIX + LEVEL, f"{level!r} is none of {', '.join(LEVELS)}", REMEDIES[LEVEL])
    try:
        period = PERIODS.read(of_file(PERIOD))
    except QuantityError as error:
        raise PolicyFileError(path, None, PREFIX + PERIOD, str(error), REMEDIES[PERIOD]) from None
    for key, expected in description(robot, level, period).items():
        value = of_file(key)
        if value != expected and not (key == NORMALISATION and _close(value, expected)):
            raise PolicyFileError(path, None, PREFIX + key, f"is {value}", f"of this robot {expected}", REMEDIES[key])
    return level, period


def _close(value: str, expected: str) -> bool:
    try:
        found, wanted = ([float(part) for part in text.split(",")] for text in (value, expected))
    except ValueError:
        return False
    return len(found) == len(wanted) and bool(np.allclose(found, wanted, rtol=TOLERANCE, atol=TOLERANCE))
