# SPDX-License-Identifier: Apache-2.0
"""Every sentence has a text in every language, with the same values; and every text belongs to a sentence."""

import ast
import importlib.util
import re

from support.paths import PACKAGE, ROOT, SOURCES, syntax_nodes
from support.sentences import fields, kinds

from hexapod_control.config.sentence import TEXTS, Sentence
from hexapod_control.core.quantity import UNIT_HINTS
from hexapod_control.servos.protocol_registry import REFUSED

ENGLISH = TEXTS["en"]
GERMAN = TEXTS["de"]
NO_PAGE = {"introduction_stage", "no_question", "begin", "back", "help", "quit"}  # which a page says in its own words
NO_PAGE |= {"not_running", "all_steps", "which_steps", "running", "not_started", "not_done"}  # of services
DOUBTS = r"doubt_\w+"  # whose English text is that of the rule
FOUND = {"servos_found", "board_found"}  # in English in the words of the search


def listed():
    """What refusals say of the rows of the tables of keys: hints, meanings without a hint, and what is allowed."""
    spec = importlib.util.spec_from_file_location("tables", ROOT / "docs" / "tables.py")
    tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tables)
    found = {*UNIT_HINTS.values(), *REFUSED.values()}
    for line in tables.robot_file_lines():
        without_protocol = re.sub(r"^with \S+: ", "", line.meaning)
        found |= {line.hint or without_protocol} if "number" in line.kind else {line.hint}
        found |= {line.bound} if line.kind == "text" else set()
    return found - {""}


def test_every_kind_has_an_english_text_and_every_text_is_said():
    unknown = [kind for kind in kinds() - {DOUBTS} if not any(re.fullmatch(kind, known) for known in ENGLISH)]
    chosen = {node.value for path in SOURCES for node in syntax_nodes(path) if isinstance(node, ast.Constant)}
    unsaid = [known for known in set(ENGLISH) - chosen if not any(re.fullmatch(kind, known) for kind in kinds())]
    assert unknown == unsaid == []


def test_every_sentence_of_the_dialogs_is_in_german_with_the_same_values():
    assert set(ENGLISH) - set(GERMAN) == NO_PAGE and set(GERMAN) - set(ENGLISH) == listed()
    shared = set(GERMAN) & set(ENGLISH)
    assert {kind for kind in shared if not fields(GERMAN[kind]) <= fields(ENGLISH[kind])} == FOUND


def test_a_kind_without_a_text_is_a_name_and_says_itself():
    assert str(Sentence("left_front_coxa")) == "left_front_coxa"


# --- refusals of robot files -------------------------------------------------------------------------------------

READERS = ("config/robots/", "config/schema.py", "config/document.py", "servos/settings/", "servos/protocol_options.py")
OTHERS = ("urdf_import/", "draft/")  # other files than those of robots


def reads_robot_files(path):
    name = str(path.relative_to(PACKAGE))
    return name.startswith(READERS) and not any(other in name for other in OTHERS)


def is_written_out(node):
    """Whether an expression is, or may be, a text that stands in the code."""
    if isinstance(node, ast.IfExp):
        return is_written_out(node.body) or is_written_out(node.orelse)
    if isinstance(node, ast.BoolOp | ast.Tuple):
        return any(map(is_written_out, getattr(node, "values", None) or node.elts))
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and bool(str(node.value or "")))


def texts_of_refusals(function):
    """The texts in the code of a function that its refusals say, directly or by a variable."""
    nodes = list(ast.walk(function))
    calls = [node for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".error")]
    said = [part.value if isinstance(part, ast.Starred) else part for call in calls for part in call.args]
    names = {part.id for part in said if isinstance(part, ast.Name)}
    called = {ast.unparse(part.func) for part in said if isinstance(part, ast.Call)}
    said += [node.value for node in nodes if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in names]
    return [ast.unparse(part) for part in said if is_written_out(part)], called


def test_what_refusals_of_robot_files_say_stands_in_the_table_and_thus_in_every_language():
    found, seen = [], 0
    for path in filter(reads_robot_files, SOURCES):
        functions = {node.name: node for node in syntax_nodes(path) if isinstance(node, ast.FunctionDef)}
        seen += len(functions)
        for function in functions.values():
            texts, called = texts_of_refusals(function)
            parts = [functions[name] for name in called if name in functions]
            returned = [node.value for part in parts for node in ast.walk(part) if isinstance(node, ast.Return)]
            texts += [ast.unparse(value) for value in returned if value is not None and is_written_out(value)]
            found += [f"{path.name}: {text}" for text in texts]
    assert seen > 100
    assert found == []
