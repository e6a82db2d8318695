# SPDX-License-Identifier: Apache-2.0
"""Every sentence has a text in every language, with the same values; and every text belongs to a sentence."""

import ast
import re

from support.paths import SOURCES, syntax_nodes
from support.sentences import fields, kinds

from hexapod_control.config.sentence import TEXTS, Sentence

ENGLISH = TEXTS["en"]
GERMAN = TEXTS["de"]
NO_PAGE = {"introduction_stage", "no_question", "begin", "back", "help", "quit"}  # which a page says in its own words
NO_PAGE |= {"not_running", "all_steps", "which_steps", "running", "not_started", "not_done"}  # of services
DOUBTS = r"doubt_\w+"  # whose English text is that of the rule
FOUND = {"servos_found", "board_found"}  # in English in the words of the search


def test_every_kind_has_an_english_text_and_every_text_is_said():
    unknown = [kind for kind in kinds() - {DOUBTS} if not any(re.fullmatch(kind, known) for known in ENGLISH)]
    chosen = {node.value for path in SOURCES for node in syntax_nodes(path) if isinstance(node, ast.Constant)}
    unsaid = [known for known in set(ENGLISH) - chosen if not any(re.fullmatch(kind, known) for kind in kinds())]
    assert unknown == unsaid == []


def test_every_sentence_of_the_dialogs_is_in_german_with_the_same_values():
    assert set(ENGLISH) - set(GERMAN) == NO_PAGE and set(GERMAN) <= set(ENGLISH)
    assert {kind for kind, text in GERMAN.items() if not fields(text) <= fields(ENGLISH[kind])} == FOUND


def test_a_kind_without_a_text_is_a_name_and_says_itself():
    assert str(Sentence("left_front_coxa")) == "left_front_coxa"
