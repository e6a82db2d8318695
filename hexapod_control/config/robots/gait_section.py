# SPDX-License-Identifier: Apache-2.0
"""The optional section `gaits` of a robot file, and static stability in these gaits and in `walk.gait`."""

from __future__ import annotations

from collections.abc import Sequence

from hexapod_control.config.document import DocumentEntry
from hexapod_control.config.robots.robot_keys import GAIT, LIFT_OFF
from hexapod_control.config.schema import (
    CheckedValues,
    checked_section,
    known_keys,
    nearest_word,
    refuse_name,
    refuse_unknown,
)
from hexapod_control.config.sentence import Sentence
from hexapod_control.core.gait.gait_table import RESERVED_NAMES
from hexapod_control.core.names import enumerated
from hexapod_control.core.robot import GaitRow, Leg, Robot
from hexapod_control.core.workspace.robot_gaits import Support, gait_names, known_gaits, least_support


def read_gaits(root: DocumentEntry, legs: tuple[Leg, ...]) -> tuple[GaitRow, ...]:
    """The gaits of the section, none if there is no such section. Raises RobotFileError."""
    section = root.children.get("gaits")
    if section is None:
        return ()
    gaits = checked_section(section, "one entry per gait").children
    return tuple(_gait(name, entry, legs) for name, entry in gaits.items())


def _gait(name: str, entry: DocumentEntry, legs: tuple[Leg, ...]) -> GaitRow:
    refuse_name(entry, name, "gait", "amble")
    if name in RESERVED_NAMES:
        raise entry.error(
            Sentence("gait_taken"), Sentence("file_other_name"), Sentence("file_example", example=f"my_{name}")
        )
    phases = [LIFT_OFF.below(leg.name) for leg in legs]
    rows = (*GAIT, *phases)
    refuse_unknown(entry, known_keys(row.key for row in rows))
    values = CheckedValues.checked(entry, rows)
    return GaitRow(name, values.number("duty_factor"), tuple(values.number(row.key) % 1.0 for row in phases))


def check_gaits(robot: Robot, root: DocumentEntry, whole: CheckedValues, legs: Sequence[CheckedValues]) -> None:
    """Raises RobotFileError if the robot is statically stable in no gait, or unstable in a gait of its file."""
    supports = {name: least_support(robot, gait) for name, gait in known_gaits(robot).items()}
    for own in robot.gaits:
        if not supports[own.name].stable:
            entry = root.children["gaits"].children[own.name]
            raise entry.error(*_margin(robot, supports[own.name]), Sentence("gait_spread"))
    best = max(supports.values())
    if not best.stable:
        leg = best.lifted[0]
        x, y = robot.legs[leg].foothold
        hint = Sentence("footholds_apart")
        raise legs[leg].entries["foothold"].error(Sentence("file_pair", first=x, second=y), *_margin(robot, best), hint)
    names = gait_names(robot)
    gait = robot.walk.gait
    if gait not in names:
        bound = Sentence("bound_words", words=", ".join(names))
        raise whole.entries["walk.gait"].error(
            Sentence("file_quoted", value=gait), bound, nearest_word(gait, names) or ""
        )


def _margin(robot: Robot, support: Support) -> tuple[Sentence, Sentence]:
    """Message for a static margin that is too small, and its bound. Feet in a line, or fewer than three, have none."""
    legs = enumerated(robot.legs[leg].name for leg in support.lifted)
    size = f"{round(support.margin * 1000.0)} mm" if support.margin > float("-inf") else "none"
    return Sentence("margin_small", legs=legs, size=size), Sentence("margin_bound")
