# SPDX-License-Identifier: Apache-2.0
"""How a person permits the motions of an assistant: the formats of `assistant_request` and `assistant_answer`.

An `assistant_request` is JSON, repeated while the assistant waits:
`{"id": "3f9a", "motion": "walk", "values": {"forward": 0.5, "left": 0.0}}`. An `assistant_answer` is `3f9a yes` or
`3f9a no`; a page or any other node may send it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

REQUEST_TOPIC = "assistant_request"
ANSWER_TOPIC = "assistant_answer"
PERIOD_S = 0.5  # between two messages of a request
MAX_AGE_S = 3.0 * PERIOD_S  # of the newest message of a request that still waits
MAX_TEXT = 60  # characters of an id and of a text value
ANSWERS = {"yes": True, "no": False}
VALUES: Mapping[str, Mapping[str, type]] = {  # of each motion: m, deg, or the name of a motion
    "walk": {"forward": float, "left": float},
    "turn": {"degrees": float},
    "pose": {"up": float, "roll": float, "pitch": float, "yaw": float},
    "stand": {},
    "sit": {},
    "play": {"name": str},
}


@dataclass(frozen=True, slots=True)
class MotionRequest:
    """A motion that waits for a person's permission."""

    id: str
    motion: str
    values: Mapping[str, float | str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The data of a message."""
        return json.dumps({"id": self.id, "motion": self.motion, "values": dict(self.values)})

    @classmethod
    def parse(cls, text: str) -> MotionRequest | None:
        """The request in the data of a message; None if it is none."""
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            return None
        if not isinstance(data, dict) or set(data) != {"id", "motion", "values"}:
            return None
        known = VALUES.get(data["motion"]) if isinstance(data["motion"], str) else None
        values = data["values"]
        if known is None or not isinstance(values, dict) or set(values) != set(known):
            return None
        if _is_text(data["id"]) and all(_fits(values[name], kind) for name, kind in known.items()):
            return cls(data["id"], data["motion"], values)
        return None

    def answer(self, text: str) -> bool | None:
        """Whether the data of an answer permits this motion; None if it does not answer this request."""
        number, _, word = text.rpartition(" ")
        return ANSWERS.get(word) if number == self.id else None


def answer_text(request: str, *, allowed: bool) -> str:
    """The data of an answer to the request with this id."""
    return f"{request} {next(word for word, meaning in ANSWERS.items() if meaning is allowed)}"


def _is_text(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MAX_TEXT and value.isprintable()


def _fits(value: object, kind: type) -> bool:
    if kind is str:
        return _is_text(value)
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
