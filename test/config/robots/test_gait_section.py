# SPDX-License-Identifier: Apache-2.0
"""Gaits of a robot file: the robot walks them; a bad one is refused with file, line, key, value, bound and remedy."""

import re

import pytest
from support.drives import DIRECTIONS, drive, fitting, standing_planner
from support.robots.other_robots import reordered

from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.shipped_files import share
from hexapod_control.core.names import STANDARD
from hexapod_control.core.workspace.robot_gaits import gaits

PHASES = (0.0, 0.667, 0.333, 0.5, 0.167, 0.833)  # of the gait that phantomx.yaml has in a comment
TEXT = share("config", "robots", "phantomx.yaml").read_text()
HEAD, COMMENT = TEXT.split("# gaits:")
WITH_GAIT = f"{HEAD}gaits:" + COMMENT.replace("\n# ", "\n")
FOOTHOLD = re.compile(r",\s*foothold: \[[^\]]*\]")
BAD = {  # text of the file, what it is replaced by, the key, and the message
    "a leg is missing": (
        ", right_rear: 0.833",
        "",
        "amble.lift_off.right_rear: is missing, must be in [0, 1], every key is required",
    ),
    "a leg is unknown": (
        "right_rear: 0.833",
        "right_raer: 0.833",
        "amble.lift_off.right_raer: is unknown, known here: " + ", ".join(STANDARD) + ", did you mean right_rear?",
    ),
    "a phase beyond the cycle": (
        "right_rear: 0.833",
        "right_rear: 1.2",
        "amble.lift_off.right_rear: must be in [0, 1], is 1.2, "
        "phase of the cycle at which this leg lifts off; every leg has a line",
    ),
    "more in the air than on the ground": (
        "duty_factor: 0.75",
        "duty_factor: 0.4",
        "amble.duty_factor: must be in [0.5, 0.95], is 0.4, "
        "share of the cycle on the ground; the higher, the slower and steadier",
    ),
    "the name of another gait": ("  amble:", "  wave:", "wave: is a gait already, must be another name, e.g. my_wave"),
    "no name": (
        "  amble:",
        "  Amble:",
        "Amble: is not a valid gait name, must be lower-case letters, digits and _, starting with a letter, e.g. amble",
    ),
    "unstable": (
        "right_front: 0.5",
        "right_front: 0.0",
        "amble: with left_front, right_front and right_middle in the air the static margin is -122 mm, "
        "must be above 0 mm, spread the lift-offs",
    ),
}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "robot.yaml"
    path.write_text(WITH_GAIT)
    return path


@pytest.mark.parametrize("case", BAD)
def test_a_bad_gait_is_refused_with_line_key_bound_and_hint(case, file):
    old, new, sentence = BAD[case]
    assert WITH_GAIT.count(old) == 1
    file.write_text(WITH_GAIT.replace(old, new))
    with pytest.raises(RobotFileError) as refused:
        load(file)
    place, _, rest = str(refused.value).partition(": gaits.")
    named = new if new and case != "unstable" else "  amble:" if case == "unstable" else "    lift_off:"
    line = next(k for k, text in enumerate(file.read_text().splitlines(), 1) if named in text)
    assert (place, rest) == (f"{file}:{line}", sentence)


def test_a_gait_of_the_file_is_listed_and_may_be_the_one_to_start_with(file):
    assert list(gaits(load(file).robot)) == [*gaits(load("phantomx").robot), "amble"]
    file.write_text(WITH_GAIT.replace("gait: tripod", "gait: amble"))
    assert load(file).robot.walk.gait == "amble"
    file.write_text(WITH_GAIT.replace("gait: tripod", "gait: ambel"))
    with pytest.raises(RobotFileError, match=r"wave, amble, auto, did you mean amble\?$"):
        load(file)


def test_on_chosen_footholds_every_leg_of_a_walk_lifts_off_at_its_phase_whatever_its_row(file):
    text, count = FOOTHOLD.subn("", WITH_GAIT)
    assert count == 6
    file.write_text(text)
    order = (4, 0, 5, 2, 1, 3)
    planner, phases = standing_planner(reordered(load(file).robot, order), "amble"), [PHASES[old] for old in order]
    before, seen, twist = [True] * 6, [], fitting(planner, DIRECTIONS["arc"], 0.8, "amble")
    for plan in drive(planner, twist, 4.0):
        assert plan.margin > 0.0 and plan.unreached is None
        for leg, planted in enumerate(plan.planted):
            if before[leg] and not planted:
                late = (planner.view.gait_phase - phases[leg]) % 1.0
                assert late < 0.03  # within one tick
                seen.append(leg)
        before = list(plan.planted)
    assert set(seen) == set(range(6))
    assert plan.twist.vx == pytest.approx(twist.vx) and twist.vx > 0.02
