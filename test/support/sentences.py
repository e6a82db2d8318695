# SPDX-License-Identifier: Apache-2.0
"""The kinds of all sentences in source files, found in their syntax trees."""

import ast
import re
from functools import cache
from pathlib import Path

import hexapod_control

PACKAGE = Path(hexapod_control.__file__).parent
KINDS = ("Sentence", "refuse")


@cache
def kinds():
    """The kinds of the sentences in the package, as regular expressions; names are left out."""
    found = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in KINDS:
                found |= set(map(_pattern, _alternatives(node.args[0])))
    return frozenset(found - {""})


def _alternatives(kind):
    return [kind.body, kind.orelse] if isinstance(kind, ast.IfExp) else [kind]


def _pattern(kind):
    parts = kind.values if isinstance(kind, ast.JoinedStr) else [kind]
    fixed = [re.escape(each.value) if isinstance(each, ast.Constant) else r"\w+" for each in parts]
    return "" if fixed == [r"\w+"] else "".join(fixed)


def fields(text):
    """The names in braces of a text."""
    return set(re.findall(r"\{(\w+)", text))
