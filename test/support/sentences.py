"""All sentences in source files, found in their syntax trees."""

import ast
import re
from functools import cache
from pathlib import Path

import hexapod_control

PACKAGE = Path(hexapod_control.__file__).parent
KINDS = ("Sentence", "Refusal")


@cache
def sentences(*folders):
    """The texts of all sentences in folders of the package, by kind; sentences without a kind are left out."""
    found: dict[str, str] = {}
    for path in (path for folder in folders for path in sorted((PACKAGE / folder).rglob("*.py"))):
        constants = {}
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
                constants[ast.unparse(node.targets[0])] = node.value.value
            if isinstance(node, ast.Call) and ast.unparse(node.func) in KINDS and len(node.args) == 2:
                kind, text = node.args
                text = constants.get(ast.unparse(text), text.value if isinstance(text, ast.Constant) else None)
                if isinstance(kind, ast.Constant) and kind.value and text is not None:
                    assert found.setdefault(kind.value, text) == text, f"{path}: {kind.value} is another sentence"
    return found


def fields(text):
    """The names in braces of a text."""
    return set(re.findall(r"\{(\w+)", text))
