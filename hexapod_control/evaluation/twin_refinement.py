# SPDX-License-Identifier: Apache-2.0
"""Finds the errors with which the twin of a robot is nearest to a recorded run.

Least squares by damped Gauss-Newton steps on simulated runs, about the errors that were known before. A zero acts on
the whole body, so each has a run of its own with a small change. Latency, play and stiffness of a joint act on its own
angle; they are changed in all joints together, one run each. These derivatives serve as long as steps with them improve
the fit, each step corrects them (C. G. Broyden, 1965, in the scale of the priors), and then they are computed again.

The values belong together: zeros also take up what wrong lengths, hips and friction do to a walk, so that the twin
walks like the robot with zeros that are not those of the robot.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from hexapod_control.bags.run_comparison import RunComparison, aligned
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.names import short_joint_name
from hexapod_control.core.reality import Reality
from hexapod_control.evaluation.twin import Twin

PASSES = 6  # with derivatives of their own
STEPS = 8  # of a pass, at most
EVERY = 5  # of the compared samples: neighbours tell the same
INDEPENDENT = 20  # samples that a signal counts for: the errors of the model return with every stride
ENOUGH = 0.01  # share by which a pass must improve the fit to be followed by another
DAMPINGS = (0.0, 0.3, 3.0, 30.0)  # of a step, which are tried until it improves the fit (K. Levenberg, 1944)
# Deviations of what the model leaves.
ANGLE = math.radians(0.4)
TILT = math.radians(0.3)
PLACE_M = 0.004
HEADING = math.radians(0.5)


class _Kind(NamedTuple):
    """A kind of errors that is found."""

    name: str  # in Reality
    label: str
    scale: float  # from the unit of Reality to that of the label
    change: float  # for a derivative
    prior: float  # standard deviation about the known value
    least: float


KINDS = (
    _Kind("zero_offset", "zero deg", math.degrees(1.0), math.radians(0.5), math.radians(2.0), -math.inf),
    _Kind("latency", "latency ms", 1e3, 0.008, 0.01, 0.0),
    _Kind("backlash", "play deg", math.degrees(1.0), math.radians(0.3), math.radians(0.4), 0.0),
    _Kind("stiffness", "stiffness", 1.0, 0.1, 0.2, 0.2),
)


@dataclass(frozen=True, slots=True)
class Refinement:
    """What was found, and the standard deviations of the fit (kinds, 3 n) in the units of Reality."""

    before: Reality
    errors: Reality
    deviations: Array

    def table(self, names: tuple[str, ...]) -> list[str]:
        """Lines with the new value, its deviation and the change of each kind for each joint."""
        columns = []
        for kind, deviations in zip(KINDS, self.deviations, strict=True):
            old, new = (kind.scale * getattr(errors, kind.name).ravel() for errors in (self.before, self.errors))
            columns.append(
                [
                    f"{value:.2f} +-{kind.scale * deviation:.2f} ({value - known:+.2f})"
                    for value, deviation, known in zip(new, deviations, old, strict=True)
                ]
            )
        rows = zip((short_joint_name(name) for name in names), *columns, strict=True)
        return aligned([("joint", *(kind.label for kind in KINDS)), *rows])


def refine(twin: Twin, known: Reality, say: Callable[[str], None], passes: int = PASSES) -> Refinement:
    """Finds the errors from the known ones on; `say` gets the progress."""
    errors = known
    prior = np.concatenate([np.full(3 * known.legs, kind.prior) for kind in KINDS])
    comparison = twin.compare(errors)
    residual = _residuals(comparison)
    samples = len(comparison.joint_difference[::EVERY])
    information = np.eye(len(prior))  # of the values over their priors
    for number in range(1, passes + 1):
        say(f"pass {number} of at most {passes}: misfit {_misfit(residual, samples):.3f}")
        slopes = prior * _slopes(twin, errors, residual, samples)
        start = residual @ residual + _squared((_values(errors) - _values(known)) / prior)
        cost = start
        for _ in range(STEPS):
            before = cost
            away = (_values(errors) - _values(known)) / prior
            information = slopes.T @ slopes + np.eye(len(prior))
            for damping in DAMPINGS:
                damped = information + damping * np.diag(np.diag(information))
                step = -np.linalg.solve(damped, slopes.T @ residual + away)
                tried = _with(errors, _values(errors) + prior * step)
                left = _residuals(twin.compare(tried))
                if (now := left @ left + _squared((_values(tried) - _values(known)) / prior)) < cost:
                    moved = (_values(tried) - _values(errors)) / prior
                    slopes += np.outer(left - residual - slopes @ moved, moved) / _squared(moved)
                    errors = tried
                    residual = left
                    cost = now
                    break
            if cost > (1.0 - ENOUGH) * before:
                break
        if cost > (1.0 - ENOUGH) * start:
            break
    # More is left than the deviations of the model say: those of the values grow likewise.
    deviations = np.sqrt(np.diag(np.linalg.inv(information))) * max(1.0, _misfit(residual, samples))
    return Refinement(known, errors, (prior * np.minimum(deviations, 1.0)).reshape(len(KINDS), -1))


def _squared(values: Array) -> float:
    return float(values @ values)


def _values(errors: Reality) -> Array:
    return np.concatenate([getattr(errors, kind.name).ravel() for kind in KINDS])


def _with(errors: Reality, values: Array) -> Reality:
    parts = zip(KINDS, values.reshape(len(KINDS), -1), strict=True)
    found: dict[str, Any] = {kind.name: np.maximum(part, kind.least).reshape(-1, 3) for kind, part in parts}
    return replace(errors, **found)


def _residuals(comparison: RunComparison) -> Array:
    """Differences over their deviations: first those of the angles, sample by sample, then those of the body.

    The mean of roll and pitch is left out: it is also that of an IMU that is mounted askew.
    """
    true = len(comparison.truth_difference) > 0
    way = comparison.truth_difference if true else comparison.odometry_difference
    tilt = comparison.tilt_difference
    parts = (
        comparison.joint_difference / ANGLE,
        (tilt - tilt.mean(axis=0) if len(tilt) else tilt) / TILT,
        way / np.array([PLACE_M, PLACE_M, HEADING]),
    )
    weight = math.sqrt(INDEPENDENT / max(1, len(range(0, len(comparison.times), EVERY))))
    return weight * np.concatenate([part[::EVERY].ravel() for part in parts])


def _slopes(twin: Twin, errors: Reality, residual: Array, samples: int) -> Array:
    """Derivatives (residuals, values); the first residuals are those of all joints in so many samples."""
    joints = 3 * errors.legs
    angles = joints * samples
    columns = []
    for kind in KINDS:
        old = getattr(errors, kind.name)
        if kind.name == "zero_offset":
            for joint in range(joints):
                changed = old.copy()
                changed.flat[joint] += kind.change
                found = _residuals(twin.compare(replace(errors, **{kind.name: changed})))
                columns.append((found - residual) / kind.change)
            continue
        found = _residuals(twin.compare(replace(errors, **{kind.name: old + kind.change})))
        slope = (found - residual) / kind.change
        for joint in range(joints):
            own = np.zeros(len(slope))
            own[joint:angles:joints] = slope[joint:angles:joints]
            columns.append(own)
    return np.stack(columns, axis=1)


def _misfit(residual: Array, samples: int) -> float:
    """Root mean square of the differences over their deviations."""
    return math.sqrt(float(np.mean(residual**2)) * samples / INDEPENDENT)
