# SPDX-License-Identifier: Apache-2.0
"""Composing a dance on the page in Chromium, on a phone: poses of the robot, steps in a row, played and kept."""

import json

import pytest
from support.phantomx import robot
from support.real_time.web.page_checks import PAGE_SIZE, SMALL

from hexapod_control.config.motion_file import load_motion_text
from hexapod_control.core.motions.motion_steps import PoseStep, WalkStep

pytestmark = [pytest.mark.browser, pytest.mark.heavy]

KINDS = "hexapod.dances.steps.map((step) => Object.keys(step)[0])"


@pytest.fixture
def phone(told):
    told.page.resize(390, 844, touch=True)
    yield told.page
    told.page.js("hexapod.sheets.show('')")
    told.page.resize(1280, 720)


def press(page, selector):
    page.js(f"document.querySelector('{selector}').click()")


def test_a_dance_of_poses_and_walks_is_composed_played_and_kept(told, phone):
    phone.click("[data-sheet=moves]")
    phone.click("#dance-open")
    phone.js("hexapod.body.set({ z: 0.02, roll: 0.1 })")
    phone.click("#add-pose")
    phone.click("#add-walk")
    phone.click("#add-pose")
    told.poses.clear()
    phone.js(
        "const slider = document.querySelectorAll('#dance-values input')[1]; slider.value = -0.01; slider.oninput(); 0"
    )
    told.until(lambda: told.poses and told.poses[-1].position.z == pytest.approx(-0.01), what="the robot follows")
    assert phone.js(KINDS) == ["pose", "walk", "pose"]
    assert phone.js(PAGE_SIZE) == [390, 844] and phone.js(SMALL) == []
    press(phone, "#step-earlier")
    assert phone.js(KINDS) == ["pose", "pose", "walk"]
    phone.js("const e = document.querySelector('#dance-values input'); e.value = 2.5; e.oninput(); 0")
    press(phone, "#dance-play")
    told.until(lambda: told.motions, what="a motion")
    request = json.loads(told.motions[-1].data)
    motion = load_motion_text(request["file"], request["text"], robot())
    assert [type(step) for step in motion.steps] == [PoseStep, PoseStep, WalkStep]
    assert (motion.steps[0].z, motion.steps[1].duration) == (pytest.approx(0.02), 2.5)
    press(phone, "#dance-save")
    told.until(lambda: phone.js("hexapod.dances.saved.map(({name}) => name)") == ["Dance 1"])
    press(phone, "#step-remove")
    assert len(phone.js(KINDS)) == 2
    press(phone, "#dance-new")
    assert phone.js(KINDS) == []
    phone.click("[data-sheet=moves]")
    press(phone, "[data-act=dance_edit]")
    assert phone.js(KINDS) == ["pose", "pose", "walk"]
    told.motions.clear()
    press(phone, "#dances [data-act=play]")
    told.until(lambda: told.motions, what="the kept dance")
    for _ in range(2):
        press(phone, "#dances [data-act=record_delete]")
    told.until(lambda: phone.js("hexapod.dances.saved") == [])
