# SPDX-License-Identifier: Apache-2.0
"""Sentences of dialogs: the code names the kind, its text stands in `sentences/` for each language."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hexapod_control.core.refusal import Refusal, Statement

TEXTS: Mapping[str, Mapping[str, str]] = {  # by language and kind; values in braces, as for str.format
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in (Path(__file__).parent / "sentences").iterdir()
}


VALUE = re.compile(r"\{(\w+)[^{}]*\}")


class Sentence(Statement):
    """A sentence of a dialog; a kind without a text is a name, and says itself."""

    def __init__(self, kind: str, text: str | None = None, /, **values: object) -> None:
        """`text` is that of a sentence which has come from elsewhere."""
        super().__init__(kind, TEXTS["en"].get(kind, kind) if text is None else text, **values)


def in_language(language: str, said: Any) -> str:
    """What `Statement.as_json` describes, in a language; in English if there is no text."""
    if not isinstance(said, dict):
        return str(said)
    text = TEXTS[language].get(said["kind"])
    if text is None or language == "en":
        return str(said["text"])
    return VALUE.sub(lambda found: in_language(language, said["values"].get(found[1], "")), text).strip()


def refuse(kind: str, /, **values: object) -> Refusal:
    """The refusal of this kind."""
    return Refusal.of(Sentence(kind, **values))
