# SPDX-License-Identifier: Apache-2.0
"""Where the tests find the repository and their data; sources are read and parsed once for all checks of the code."""

import ast
import gc
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEST = ROOT / "test"
DATA = TEST / "data"
PACKAGE = ROOT / "hexapod_control"
SOURCES = sorted(PACKAGE.rglob("*.py"))
BENCHES = sorted((ROOT / "bench").rglob("*.py"))  # not installed


@cache
def source_text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def syntax_tree(path: Path) -> ast.Module:
    tree = ast.parse(source_text(path))
    gc.freeze()  # it lives until the end: looking for garbage among half a million nodes takes as long as parsing them
    return tree


@cache
def syntax_nodes(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of the syntax tree of a file."""
    return tuple(ast.walk(syntax_tree(path)))


@cache
def test_file(name: str) -> Path:
    """A file of tests by its name, which occurs once below test/."""
    (path,) = TEST.rglob(name)
    return path


test_file.__test__ = False  # not a test
