# SPDX-License-Identifier: Apache-2.0
"""Option types and common options for argparse: numbers within bounds, output files, the robot; errors of commands.

A value that does not fit is reported in one line with the option, the value, the bound and the remedy (exit code 2).
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn, Protocol

from hexapod_control.config.schema import did_you_mean
from hexapod_control.core.quantity import Quantity, QuantityError


class InputError(ValueError):
    """Input that cannot be used: one line on standard error, exit code 2."""


class CommandFailedError(Exception):
    """A command did not do what was asked; the text says what happened and what to do. Exit code 1."""


class OneLineParser(argparse.ArgumentParser):
    """A parser that raises InputError instead of printing its usage and exiting."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As in argparse. Raises InputError for words that this parser does not know, with the most similar option.

        `Any`: the signature of argparse has overloads.
        """
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}{self._meant(unknown)}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """Raises InputError with the message of argparse and the remedy."""
        raise InputError(f"{message.removeprefix('argument ')}; see {self.prog} --help")

    def _meant(self, unknown: Sequence[str]) -> str:
        """A hint with the option most similar to the first unknown one."""
        typed = next((word.partition("=")[0] for word in unknown if word.startswith("--")), "")
        known = [name for action in self._actions for name in action.option_strings]
        hint = did_you_mean(typed, known) if typed else ""
        return f"; {hint}" if hint else ""


def number(quantity: Quantity) -> Callable[[str], float]:
    """Returns the type of an option for a quantity."""

    def convert(text: str) -> float:
        try:
            return quantity.read(text)
        except QuantityError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return convert


def add_number(parser: HasArguments, name: str, quantity: Quantity, **more: Any) -> None:
    """Adds an option for a quantity, which gives its type, default and help."""
    default = quantity.default
    stated = "" if default is None else f", default: {default if isinstance(default, str) else f'{default:g}'}"
    bounds = f"{quantity.lower:.10g} to {quantity.upper:.10g} {quantity.unit}".rstrip()
    settings: dict[str, Any] = {
        "type": number(quantity),
        "default": default if isinstance(default, float | int) else None,
        "metavar": quantity.unit.upper() or ("N" if quantity.whole else "X"),
        "help": f"{quantity.meaning} ({bounds}{stated})",
    }
    parser.add_argument(name, **{**settings, **more})


def output_file(kind: str, suffixes: Sequence[str]) -> Callable[[str], Path]:
    """Returns the type of an option that is a file to write, e.g. kind "a film", suffixes (".gif", ".png")."""

    def convert(text: str) -> Path:
        path = Path(text)
        if path.suffix.lower() not in suffixes:
            raise argparse.ArgumentTypeError(f"{path}: the name of {kind} must end in {' or '.join(suffixes)}")
        if not os.access(path.parent, os.W_OK):
            raise argparse.ArgumentTypeError(
                f"{path}: its folder does not exist or is not writable, choose another one"
            )
        return path

    return convert


class HasArguments(Protocol):
    """A parser or a group of its arguments."""

    def add_argument(self, *names: str, **options: Any) -> Any:
        """As in argparse (`Any`: its options have many types)."""


def add_robot(parser: HasArguments, purpose: str = "robot") -> None:
    """Adds `--robot NAME|FILE`."""
    text = f"{purpose}: a name that comes with the package, or a robot file (default: %(default)s)"
    parser.add_argument("--robot", default="phantomx", metavar="NAME|FILE", help=text)


class OptionsWithoutDefaults(argparse.ArgumentParser):
    """A parent for the parsers of actions: an option there does not reset the value given before the action."""

    def add_argument(self, *names: str, **options: Any) -> argparse.Action:
        """As in argparse (`Any`: its options have many types)."""
        return super().add_argument(*names, **{**options, "default": argparse.SUPPRESS})


def add_everywhere(parser: argparse.ArgumentParser, add: Callable[[HasArguments], None]) -> argparse.ArgumentParser:
    """Adds options to a parser. Returns a parent for the parsers of its actions, which accept them there, too."""
    parent = OptionsWithoutDefaults(add_help=False)
    for each in (parser, parent):
        add(each)
    return parent
