# SPDX-License-Identifier: Apache-2.0
"""The cases of slow laws: all of them in `make soak`, which CI runs every night, and a slice of them in `make test`."""

import os
from itertools import product

import pytest

SOAK = bool(os.environ.get("HEXAPOD_SOAK"))


def cases(*parameters):
    """All combinations of values of the parameters, for pytest's parametrize.

    In the slice, the values of the parameter with the fewest take turns with the combinations of the others: of three
    parameters, every two values of different ones are still tested together.
    """
    values = [list(each) for each in parameters]
    turning = min(range(len(values)), key=lambda place: len(values[place]))
    return [
        _case(*(each[place] for each, place in zip(values, places, strict=True)))
        for places in product(*(range(len(each)) for each in values))
        if SOAK or places[turning] == (sum(places) - places[turning]) % len(values[turning])
    ]


def some(values, *few):
    """All values of a parameter, for pytest's parametrize; in the slice only few of them, which must be among all."""
    missing = set(few) - set(values)
    assert not missing, f"no such cases: {missing}"
    return [_case(value) for value in (values if SOAK else few)]


def _case(*values):
    return pytest.param(*values, marks=pytest.mark.soak)
