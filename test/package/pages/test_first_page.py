# SPDX-License-Identifier: Apache-2.0
"""The page of the first evening has every stage of the package."""

import re

import pytest
from support.paths import ROOT

from hexapod_control.cli.main import parser
from hexapod_control.servos.commissioning.stages import STAGES
from hexapod_control.servos.emulated_robot.robot_emulator import parse_fault

PAGE = (ROOT / "docs" / "first-robot.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.key)
def test_every_stage_stands_on_the_page_with_its_title_and_its_time(stage):
    assert f"| `{stage.key}` | {stage.minutes} | {stage.title}" in PAGE


def test_the_commands_and_the_words_for_the_emulator_are_understood():
    commands = re.findall(r"^hexapod (.+)$", PAGE, re.M)
    assert len(commands) >= 4
    for command in commands:
        parser(command.split()[0]).parse_args(command.split())
    words = re.findall(r"`((?:alone|plug|turn)=[^`]+)`", PAGE)
    assert len(words) == 4
    for word in words:
        parse_fault(word)
