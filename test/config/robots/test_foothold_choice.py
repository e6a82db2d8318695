# SPDX-License-Identifier: Apache-2.0
"""Footholds that a robot file leaves out are chosen: the robot can stand and step there, whatever its legs.

That it walks there: test_gait_section.py.
"""

import re

import pytest
from support.suite.soak import some

from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots.foothold_choice import best_stance
from hexapod_control.config.robots.robot_file import from_text, known_robots, resolve
from hexapod_control.core.gait.gait_table import AUTO
from hexapod_control.core.workspace.robot_gaits import gaits

FOOTHOLD = re.compile(r",\s*foothold: \[[^\]]*\]|\n\s+foothold: \[[^\]]*\]")


def without_footholds(name, *changes, count=0):
    """The robot of a shipped file without its footholds, or without the first `count` of them."""
    path = resolve(name)
    text = FOOTHOLD.sub("", path.read_text(), count=count)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return from_text(path, text).robot


def from_file(name):
    path = resolve(name)
    return from_text(path, path.read_text()).robot


@pytest.mark.parametrize("name", some(known_robots(), "article", "inline", "octopod", "quadruped"))
def test_chosen_footholds_suit_the_gait_of_the_file_and_are_mirrored_like_the_hips(name):
    robot = without_footholds(name)
    assert robot.walk == from_file(name).walk and robot.walk.gait in (*gaits(robot), AUTO)
    places = {(round(leg.hip[0], 4), round(leg.hip[1], 4)): leg.foothold for leg in robot.legs}
    for (x, y), (foot_x, foot_y) in places.items():
        mirrored = places.get((x, -y))
        assert mirrored is None or mirrored == pytest.approx((foot_x, -foot_y), abs=2e-4)


def test_given_footholds_stay_and_the_others_are_chosen():
    given, robot = from_file("phantomx"), without_footholds("phantomx", count=2)
    assert [leg.foothold for leg in robot.legs[2:]] == [leg.foothold for leg in given.legs[2:]]
    assert [leg.foothold for leg in robot.legs[:2]] != [leg.foothold for leg in given.legs[:2]]


def test_of_several_stances_the_best_acceptable_one_is_taken():
    chosen, given = without_footholds("inline"), from_file("inline")
    size = 0.2
    best = best_stance((given, chosen), size)
    assert best.robot == chosen
    assert best_stance((given, chosen), size, lambda robot: robot is given).robot == given
    assert best_stance((), size) is None


def test_without_any_stance_the_message_names_the_cause_and_a_leg():
    with pytest.raises(
        RobotFileError, match=r"walk\.height: is 0\.25, .* so that legs\.left_front\.foothold .* in reach of"
    ):
        without_footholds("phantomx", ("height: 0.10 ", "height: 0.25 "))
