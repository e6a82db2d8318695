# SPDX-License-Identifier: Apache-2.0
"""Every text of the program behind `hexapod new --page` has a German translation: questions, drawings and refusals.

So has every statement of the nodes that the page of the robot shows.
"""

import ast
import json
import re
import string
from pathlib import Path

import pytest
from support.page_messages import not_in_german
from support.paths import PACKAGE, SOURCES, syntax_nodes
from support.phantomx import robot

from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots.draft.questions.drawings import DRAWINGS, svg_drawing
from hexapod_control.config.robots.draft.questions.interview import Interview
from hexapod_control.config.robots.draft.questions.layouts import LAYOUTS
from hexapod_control.config.robots.draft.questions.question import OTHER_SERVO, YES, Answers
from hexapod_control.config.robots.draft.questions.question_table import questions
from hexapod_control.config.robots.draft.questions.units import AnswerError
from hexapod_control.config.robots.draft.views import views_svg
from hexapod_control.config.robots.plausibility.check_values import RULES
from hexapod_control.config.robots.robot_file import from_text, resolve
from hexapod_control.config.sentence import TEXTS, Sentence
from hexapod_control.core import names
from hexapod_control.core.kinematics.leg_kinematics import UnreachableReason
from hexapod_control.core.sensing.mishap_watch import MishapKind
from hexapod_control.core.sensing.sensor_inputs import SensorFault
from hexapod_control.servos.settings.servo_section import servo_settings
from hexapod_control.web.dialog_pages.request_server import PAGES

GIVEN = {"offsets": YES, "servo": OTHER_SERVO}
LABELS = re.compile(r"<(?:text|title)[^>]*>([^<]*[a-z][^<]*)<")
TERMINAL = re.compile(r"Ctrl-C|Strg-C|\bEnter\b|Eingabetaste|\b(?:then )?type \w+|\bq cancels")
IN_A_TERMINAL = {"introduction_self", "on_flat_floor", "introduction_identify", "on_stand"}  # programs without a page
WRONG = {"body": ["1,5 2 3", "x", "2", "240 W 120 50", "90000 120 50"], "limits": ["10 -10 0 10 0 10"]}
DOUBTFUL = ["52 133 66", "220 66 133"]  # lengths


def all_questions(name):
    """All questions about a robot of one layout, with their usual answers but those of GIVEN."""
    answered, found = Answers(), []
    for question in questions(answered):
        found.append(question)
        if question.key == "height":
            return found
        answered.add(question, {**GIVEN, "legs": name}.get(question.key) or question.default(answered))
    raise AssertionError("no last question")


@pytest.mark.parametrize("name", LAYOUTS)
def test_all_questions_are_in_german(name):
    found = all_questions(name)
    texts = [said for each in found for said in (each.label, each.prompt, *(part.name for part in each.parts))]
    texts += [word for each in found if each.key != "servo" for word in each.choices]
    assert not_in_german("new", texts) == []


def test_all_drawings_are_in_german():
    drawn = [svg_drawing(kind, robot(), (), "hip") for kind in DRAWINGS]
    labels = LABELS.findall(" ".join((*drawn, views_svg(robot()))))
    assert "femur servo" in labels
    assert not_in_german("new", [text for text in labels if text not in ("phantomx", "200 mm")]) == []


def test_refusals_are_in_german():
    said = []
    for question in all_questions("6 rows"):
        for text in WRONG.get(question.key, ()):
            answered = Answers()
            with pytest.raises(AnswerError) as error:
                answered.add(question, text)
                question.rule(answered)
            said.append(Sentence.of(error.value))
    assert len(said) == sum(map(len, WRONG.values()))
    assert not_in_german("new", said) == []


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("mass: ", "mass: 90000 # "),
        ("mass: ", "mass: '2' # "),
        ("mass: ", "mass: 007 # "),
        ("mass: ", "mass: 1,5 # "),
        ("mass: ", "mas: "),
        ("mass: ", "mass: [1, 2] # "),
        ("body:", "body: 3\nother:"),
        ("name: ", "name: [1] # "),
        ("name: ", "name: 1x # "),
        ("    source: ", "    source: 3 # "),
        ("body:", "servos: {protocol: xl320}\nbody:"),
        ("body:", "measured: {date: then}\nbody:"),
    ],
)
def test_refusals_of_robot_files_are_in_german(right, wrong):
    text = resolve("phantomx").read_text()
    assert right in text
    with pytest.raises(RobotFileError) as error:
        servo_settings(from_text(Path("mine.yaml"), text.replace(right, wrong, 1)))
    said = error.value.said
    assert str(said) in str(error.value).replace("mine.yaml:", "line ")
    names = {"body.mass", "body.mas", "mass", "mas"}
    assert [kind for kind in not_in_german("start", [said]) if kind not in names] == []


def test_the_page_of_the_first_evening_never_speaks_of_keys_of_a_terminal():
    for language in ("en", "de"):
        page = json.loads((PAGES / "first" / "texts" / f"{language}.json").read_text())
        told = {**TEXTS[language], **page}
        assert [kind for kind, text in told.items() if kind not in IN_A_TERMINAL and TERMINAL.search(text)] == []


def test_doubts_are_in_german():
    assert not_in_german("new", [f"doubt_{rule.__name__}" for rule in RULES]) == []
    interview = Interview("mine", {})
    while interview.question.key != "lengths":
        interview.answer("")
    for text in DOUBTFUL:
        with pytest.raises(AnswerError) as error:
            interview.check(text)
        assert Sentence.of(error.value).kind == "doubt_proportions"


SPEAKING = ("core/planner", "core/sensing", "core/walking", "core/motions", "core/kinematics", "servos/driver")
SPEAKING += ("servos/preflight.py",)
SPEAKING += tuple(
    f"nodes/{each}" for each in ("gait_planner", "inverse_kinematics", "odometry", "servo_driver", "terrain_map")
)
STATEMENTS = ("Statement", "Refusal", "joined", "_refused")
KIND = re.compile(r"[a-z]\w*( \w+)*")
ROBOT_DE = json.loads((PACKAGE / "web" / "static" / "texts" / "robot_de.json").read_text(encoding="utf-8"))


def spoken():
    """Kind of each statement in the sources of the nodes, with its English text and values where they are literal."""
    for path in SOURCES:
        if not any(PACKAGE / each in (path, *path.parents) for each in SPEAKING):
            continue
        nodes = list(syntax_nodes(path))
        named = {"WALKS_WITHOUT": names.WALKS_WITHOUT}
        pairs = [each.elts for each in nodes if isinstance(each, ast.Tuple) and len(each.elts) == 2]
        chosen = {
            first.value
            for first, second in pairs
            if isinstance(first, ast.Constant) and isinstance(second, (ast.Constant, ast.JoinedStr))
            if isinstance(first.value, str) and KIND.fullmatch(first.value) and _is_text(second)
        }
        for call in nodes:
            name = isinstance(call, ast.Call) and getattr(call.func, "id", getattr(call.func, "attr", ""))
            if name not in STATEMENTS or len(call.args) < 2:
                continue
            kind, text = call.args[:2]
            values = {each.arg for each in call.keywords}
            if isinstance(kind, ast.Constant):
                literal = isinstance(text, ast.Constant) and None not in values and name != "joined"
                yield kind.value, values if literal else None
            elif isinstance(kind, ast.Name) and kind.id in named:
                yield named[kind.id], values
            elif isinstance(kind, ast.Name):
                yield from ((each, None) for each in chosen)


def _is_text(node):
    return isinstance(node, ast.JoinedStr) or (isinstance(node.value, str) and (" " in node.value or not node.value))


def test_every_statement_of_the_nodes_that_the_page_shows_is_in_german_with_the_same_values():
    """Derived from the sources; so is the law that no translation is left over."""
    kinds = [(f"reach_{each.name.lower()}", set()) for each in UnreachableReason]
    kinds += [(f"sensor_{each.value}", {"topic", "effect", "remedy"}) for each in SensorFault]
    kinds += [(each.value, {"mishap"}) for each in MishapKind]
    found = [*spoken(), *kinds]
    assert len(found) > 150
    assert {f"said_{kind}" for kind, _ in found} - ROBOT_DE.keys() == set()
    assert ROBOT_DE.keys() - {f"said_{kind}" for kind, _ in found} == set()
    wrong = [
        kind
        for kind, values in found
        if values is not None
        and not {name for _, name, _, _ in string.Formatter().parse(ROBOT_DE[f"said_{kind}"]) if name} <= values
    ]
    assert wrong == []
