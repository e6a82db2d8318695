"""Parses joint names in free text: "LF coxa +", "left front coxa plus", "coxa of front left +"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hexapod_control.core.names import JOINTS, quoted

SIGNS = {"+": 1, "plus": 1, "-": -1, "minus": -1, "\u2212": -1, "\u2013": -1}  # also the dashes of word processors
SYNONYMS = {"back": "rear", "hind": "rear", "mid": "middle", "center": "middle", "centre": "middle"}
FILLERS = ("of", "the", "leg", "joint", "servo")
_SEPARATORS = r"[\s_.,;:/-]+"


class JointWordsError(ValueError):
    """A text names no joint, several joints or no direction; the message has the remedy."""


def initials(name: str) -> str:
    """The initials of a name's parts: left_front -> lf."""
    return "".join(part[0] for part in name.split("_"))


def joint_row(text: str, legs: Sequence[str]) -> int:
    """The row of the joint that a text names. Raises JointWordsError."""
    words = [word for word in re.split(_SEPARATORS, text.strip().lower()) if word and word not in FILLERS]
    found = set(_matches(words, legs))
    if len(found) == 1:
        return found.pop()
    first = legs[0]
    known = ", ".join(f"{leg} ({initials(leg)})" for leg in legs)
    raise JointWordsError(
        f"{quoted(text)} names {'no joint' if not found else 'more than one joint'}: give leg and joint, such as "
        f'"{initials(first)} {JOINTS[0]}"; legs: {known}; joints: {", ".join(JOINTS)}'
    )


def leg_row(text: str, legs: Sequence[str]) -> int | None:
    """The row of the leg that a text names, None if it names no leg or more than one."""
    words = [word for word in re.split(_SEPARATORS, text.strip().lower()) if word and word not in FILLERS]
    found = _legs(words, legs)
    return found[0] if len(found) == 1 else None


def joint_and_sign(text: str, legs: Sequence[str]) -> tuple[int, int]:
    """Row and direction that a text names. Raises JointWordsError."""
    plain = text.strip().lower()
    sign = next((word for word in SIGNS if plain.endswith(word)), None)
    row = joint_row(plain.removesuffix(sign or "").rstrip(), legs)
    if sign is None:
        raise JointWordsError(f"{quoted(text)} has no direction: add + or - for the one in which it turned first")
    return row, SIGNS[sign]


def _matches(words: Sequence[str], legs: Sequence[str]) -> Iterator[int]:
    """Rows of the joints that words may mean; one of the words is the joint, the others are the leg."""
    for i, word in enumerate(words):
        columns = [k for k, name in enumerate(JOINTS) if name.startswith(word)]
        rows = _legs([*words[:i], *words[i + 1 :]], legs)
        if len(columns) == 1 and len(rows) == 1:
            yield 3 * rows[0] + columns[0]


def _legs(words: Sequence[str], legs: Sequence[str]) -> list[int]:
    """Rows of the legs with this name or these initials, else of those whose parts begin with these words."""
    known = [part for leg in legs for part in leg.split("_")]
    spelled = [SYNONYMS.get(word, word) if word not in known else word for word in words]
    exact = [k for k, leg in enumerate(legs) if "_".join(spelled) in (leg, initials(leg))]
    if exact:
        return exact
    if len(spelled) == 1 and len(spelled[0]) > 1:
        spelled = list(spelled[0]) if len(spelled[0]) == len(legs[0].split("_")) else spelled
    return [k for k, leg in enumerate(legs) if _begin(spelled, leg.split("_"))]


def _begin(words: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether each word begins another one of the parts, in any order, and no part is left."""
    left = list(parts)
    for word in words:
        part = next((part for part in left if part.startswith(word)), None)
        if part is None:
            return False
        left.remove(part)
    return not left
