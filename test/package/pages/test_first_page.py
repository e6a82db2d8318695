"""The page of the first evening has every stage of the package with its texts and its picture."""

import re

import pytest
from support.paths import ROOT

from hexapod_control.cli.main import parser
from hexapod_control.config.robots.draft.questions.drawings import drawing
from hexapod_control.config.robots.robot_file import load
from hexapod_control.servos.commissioning.stages import STAGES
from hexapod_control.servos.emulated_robot.fault_injection import parse_fault

PAGE = (ROOT / "docs" / "first-robot.md").read_text(encoding="utf-8")
PLAIN = " ".join(PAGE.split())


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.key)
def test_every_stage_stands_on_the_page_with_its_texts_and_its_picture(stage):
    number = STAGES.index(stage) + 1
    assert f"### {number}. {stage.title}\n\n`{stage.key}`, about {stage.minutes} minutes." in PAGE
    assert " ".join(stage.text.split()) in PLAIN and " ".join(stage.otherwise.split()) in PLAIN
    assert "\n".join(drawing(stage.picture, load("phantomx").robot)) in PAGE


def test_the_commands_and_the_words_for_the_emulator_are_understood():
    commands = re.findall(r"^hexapod (.+)$", PAGE, re.M)
    assert len(commands) == 5
    for command in commands:
        parser(command.split()[0]).parse_args(command.split())
    words = re.findall(r"`((?:alone|plug|turn)=[^`]+)`", PAGE)
    assert len(words) == 4
    for word in words:
        parse_fault(word)
