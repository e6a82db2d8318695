# SPDX-License-Identifier: Apache-2.0
"""Options of the commands that build a simulated world."""

from __future__ import annotations

import argparse
from dataclasses import replace

from hexapod_control.cli.bounded_options import HasArguments, InputError, add_number
from hexapod_control.core.quantity import quantities
from hexapod_control.core.reality import IDEAL, REALITIES
from hexapod_control.core.simulated_world import WORLDS
from hexapod_control.sim.world_settings import WorldSettings

WORLD = (
    *("world", "seed", "slope_deg", "block_height", "stair_rise", "gap_width"),
    *("friction", "payload", "servo_model", "reality", "reality_seed"),
)


def add_world(parser: HasArguments, reality: str = IDEAL) -> None:
    """Adds the options; one that is not given leaves the default of the settings, except the `reality`."""
    parser.add_argument("--world", help=", ".join(WORLDS))
    for name, quantity in quantities(WorldSettings):
        if name in WORLD:
            add_number(parser, f"--{name.replace('_', '-')}", replace(quantity, default=f"{quantity.default:g}"))
    parser.add_argument(
        "--reality",
        choices=tuple(REALITIES),
        default=reality,
        help="errors of servos, legs and sensors (default: %(default)s)",
    )
    parser.add_argument("--servo-model", metavar="NAME", help="servo of all joints (default: the robot file's)")


def given_options(args: argparse.Namespace) -> dict[str, float | str]:
    """The options that were given, by the names of the settings."""
    return {name: getattr(args, name) for name in WORLD if getattr(args, name) is not None}


def world_settings(args: argparse.Namespace) -> WorldSettings:
    """The settings of the options. Raises InputError."""
    try:
        return WorldSettings(**given_options(args))  # type: ignore[arg-type]
    except ValueError as error:
        name, _, text = str(error).partition(" ")
        raise InputError(f"--{name.replace('_', '-')} {text}") from None
