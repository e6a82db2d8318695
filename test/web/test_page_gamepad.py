# SPDX-License-Identifier: Apache-2.0
"""A gamepad does the same on the page as with the node teleop."""

import re

import pytest
from support.paths import ROOT

from hexapod_control.core.steering import gamepad_teleop
from hexapod_control.core.steering.gamepad_map import AXES, BUTTONS, PULLED, TRIGGERS
from hexapod_control.core.steering.gamepad_teleop import GamepadScaling

SCRIPT = (ROOT / "hexapod_control/web/static/controls/inputs.js").read_text(encoding="utf-8")
STANDARD_MAPPING = {  # button by label, in the Gamepad API of browsers
    **{"A": 0, "B": 1, "X": 2, "Y": 3, "L1": 4, "R1": 5, "LT": 6, "RT": 7, "Back": 8, "Start": 9},
    **{"D-pad up": 12, "D-pad down": 13, "D-pad left": 14, "D-pad right": 15},
}


def name_on_the_page(parameter):
    first, *others = parameter.removesuffix("_button").removeprefix("axis_").split("_")
    return first + "".join(map(str.capitalize, others))


def test_every_button_and_trigger_has_the_function_that_it_has_with_the_node():
    table = re.search(r"const BUTTON = \{(.*?)\};", SCRIPT, re.S)
    assert table
    controls = [*BUTTONS.values(), *(AXES[name] for name in TRIGGERS)]
    wanted = {name_on_the_page(control.parameter): STANDARD_MAPPING[control.label] for control in controls}
    assert {name: int(number) for name, number in re.findall(r"(\w+): (\d+)", table[1])} == wanted


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PULLED", -PULLED),
        ("HEIGHT_STEP", GamepadScaling().height_step),
        ("LIFT_SHARE_STEP", gamepad_teleop.LIFT_SHARE_STEP),
        ("NORMAL_SHARE", gamepad_teleop.NORMAL_SHARE),
        ("CENTER", gamepad_teleop.CENTER),
        ("CENTER_TIME", round(1e3 * gamepad_teleop.CENTER_TIME_S)),
        ("REST_TIME", round(1e3 * gamepad_teleop.REST_TIME_S)),
    ],
)
def test_steps_and_shares_are_those_of_the_node(name, value):
    assert re.findall(rf"const {name} = ([\d.]+);", SCRIPT) == [str(value)]
