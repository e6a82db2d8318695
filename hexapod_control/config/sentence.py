# SPDX-License-Identifier: Apache-2.0
"""Sentences of dialogs: the code names the kind, its text stands in `sentences/` for each language."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from hexapod_control.core.refusal import Refusal, Statement

TEXTS: Mapping[str, Mapping[str, str]] = {  # by language and kind; values in braces, as for str.format
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in (Path(__file__).parent / "sentences").iterdir()
}


class Sentence(Statement):
    """A sentence of a dialog; a kind without a text is a name, and says itself."""

    def __init__(self, kind: str, text: str | None = None, /, **values: object) -> None:
        """`text` is that of a sentence which has come from elsewhere."""
        super().__init__(kind, TEXTS["en"].get(kind, kind) if text is None else text, **values)


def refuse(kind: str, /, **values: object) -> Refusal:
    """The refusal of this kind."""
    return Refusal.of(Sentence(kind, **values))
