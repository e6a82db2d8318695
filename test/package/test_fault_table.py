# SPDX-License-Identifier: Apache-2.0
"""docs/faults.md agrees with tests and code: each row names a test and the message that it asserts.

A message is quoted in backticks, with ... for what varies. It has to occur in the package and, in part, in the test, so
that it cannot change without a change of the table. Of a sentence the test may name the kind instead.
"""

import ast
import re
from difflib import SequenceMatcher
from functools import cache

import pytest
from support.paths import ROOT, SOURCES, syntax_nodes, syntax_tree, test_file

from hexapod_control.config.sentence import TEXTS

PAGE = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")
COLUMNS = ["fault", "within", "robot does", "reported", "test"]
NO_MESSAGE = ("nothing", "as ")  # with which the column `reported` begins where a row has no message of its own
MIN_ASSERTED = 12  # characters of the message in a row that the test asserts
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


LINES = [cells(line) for line in PAGE.splitlines() if line.startswith("| ")]
ROWS = [dict(zip(COLUMNS, line, strict=False)) for line in LINES if line != COLUMNS]
NAMES = [row["fault"][:60] for row in ROWS]


def texts(nodes):
    """Texts in code without docstrings, with ... for the values of f-strings; regular expressions as plain text."""
    docstrings = {node.value for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(p.value) if isinstance(p, ast.Constant) else "..." for p in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings:
            yield re.sub(r"\\(?=\W)", "", node.value)


@cache
def messages():
    """All texts of the package, one per line."""
    written = [text for path in SOURCES for text in texts(syntax_nodes(path))]
    return "\n".join(text.replace("\n", " ") for text in (*written, *TEXTS["en"].values()))


@cache
def parts(file):
    """The texts of the tests of a file by name, and of all that they share."""
    body = syntax_tree(test_file(file)).body
    tests = {node.name: node for node in body if isinstance(node, FUNCTIONS) and node.name.startswith("test_")}
    shared = [node for node in body if node not in tests.values()]
    found = {name: set(texts(list(ast.walk(node)))) for name, node in tests.items()}
    return found, {text for node in shared for text in texts(list(ast.walk(node)))}


def pattern(message):
    """A regular expression for a message of the table."""
    return re.compile(".*".join(map(re.escape, message.split("..."))))


def asserted(message, named):
    """Whether the message or a distinctive part of it occurs in a test, or in what the tests of its file share."""
    candidates = set()
    for file, test in named:
        tests, shared = parts(file)
        candidates |= tests[test] | shared
    if any(pattern(message).search(text) for text in candidates):
        return True
    kinds = {kind for kind, text in TEXTS["en"].items() if pattern(message).search(text.replace("\n", " "))}
    if any(kinds & set(text.split()) for text in candidates):
        return True
    matcher = SequenceMatcher(None, "", message, autojunk=False)
    for text in candidates:
        matcher.set_seq1(text)
        if matcher.find_longest_match().size >= MIN_ASSERTED:
            return True
    return False


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_the_test_of_a_fault_exists_and_asserts_the_message_of_the_package(row):
    named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", row["test"])
    assert named and all(row.values())
    for file, test in named:
        assert test in parts(file)[0], f"{file} has no {test}"
    if row["reported"].startswith(NO_MESSAGE):
        return
    quoted = re.findall(r"`([^`]+)`", row["reported"])
    assert quoted
    for message in quoted:
        assert pattern(message).search(messages()), f"no message of the package: {message}"
        assert asserted(message, named), f"no test of the row asserts: {message}"


def test_every_line_of_the_tables_is_complete_and_every_fault_is_listed_once():
    assert [len(line) for line in LINES] == [len(COLUMNS)] * len(LINES)
    assert len(set(NAMES)) == len(ROWS) > 100
