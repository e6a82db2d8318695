# SPDX-License-Identifier: Apache-2.0
"""No program reads a sentence for people: what it has to know is a kind or a value."""

import ast
import re

from support.paths import PACKAGE, SOURCES, syntax_nodes

WORDS = re.compile(r"[A-Za-z]{2,}[,:;]? [A-Za-z]{2,}")
READING = ("replace", "startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition", "split")
READING += ("find", "index", "count")
TEXTS = ("text", "message", "refusal", "question", "said", "reason", "remedy", "hint", "description", "finding")
ERRORS = ("str(error)", "str(refusal)")
KNOWN = {  # a name of RViz, an option in an error, the address that another program prints
    "bringup/node_graph.py: 'TF Prefix' in display",
    "cli/sim/world_options.py: str(error).partition(' ')",
    "cli/robot/start_page.py: re.compile('the page(?:, an invitation for one person)?: (http://\\\\S+)')",
}


def is_sentence(node):
    """Whether a node is a sentence: a constant of several words, or what an attribute or an error says."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and bool(WORDS.search(node.value))
    return (isinstance(node, ast.Attribute) and node.attr in TEXTS) or ast.unparse(node) in ERRORS


def reads_a_sentence(node):
    """Whether a node looks into a sentence: by a method of texts, a regular expression or a comparison."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        of_text = node.func.attr in READING and node.args and is_sentence(node.func.value)
        of_expression = ast.unparse(node.func.value) == "re"
        return bool(of_text) or ((node.func.attr in READING or of_expression) and any(map(is_sentence, node.args)))
    if isinstance(node, ast.Compare):
        compares = any(isinstance(each, ast.In | ast.NotIn | ast.Eq | ast.NotEq) for each in node.ops)
        constants = [each for each in (node.left, *node.comparators) if isinstance(each, ast.Constant)]
        return compares and any(map(is_sentence, constants))
    return False


def test_nothing_in_the_package_reads_a_sentence_meant_for_people():
    found = {
        f"{path.relative_to(PACKAGE)}: {ast.unparse(node)}"
        for path in SOURCES
        for node in syntax_nodes(path)
        if isinstance(node, ast.Call | ast.Compare) and reads_a_sentence(node)
    }
    assert found == KNOWN
