# SPDX-License-Identifier: Apache-2.0
"""A typed position moves a servo only where the operator wants it: confirmed if far, told if out of reach, else not."""

import pytest
from support.kits.calibrating_user import User
from support.kits.memory_wire import Kit
from support.phantomx import robot

from hexapod_control.servos.calibration.calibration_state import CalibrationState
from hexapod_control.servos.calibration.dialog import describe_angle
from hexapod_control.servos.protocol_registry import PROTOCOLS

pytestmark = pytest.mark.usefixtures("memory_time")

PULSES = [name for name, row in PROTOCOLS.items() if row.scale.unit == "us" and name != "pca9685"]  # has no port here
ROW = 4  # left_middle_femur
LEVEL = describe_angle(1, 0.0)


class Jogger(User):
    """Types some answers at the prompt of a jog, then Enter; `consent` answers all other questions."""

    def __init__(self, kit, typed, consent="y"):
        super().__init__(kit)
        self.typed, self.consent = list(typed), consent

    def on_jog(self, prompt, meanwhile):
        return self.typed.pop(0) if self.typed else ""

    def on_move_far(self, prompt, meanwhile):
        return self.consent


def jogged(protocol, *typed, consent="y", begin=1500.0, ends=None):
    """The position [us] after typed answers, the user, and the kit; torque is on before."""
    kit = Kit(protocol)
    jogger, user = kit.jogger(kit.bus()), Jogger(kit, typed, consent)
    state = CalibrationState(robot(), kit.settings.joints, jogger, user)
    servo = state.joints[ROW].id
    jogger.go({servo: begin})
    return state.jog(ROW, LEVEL, ends), user, kit


@pytest.mark.parametrize("protocol", PULSES)
@pytest.mark.parametrize(
    ("typed", "place"),
    [("1520", 1520.0), ("+20", 1520.0), ("-20", 1480.0), ("\u221220", 1480.0), ("++", 1550.0), ("1400", 1400.0)],
)
def test_a_number_is_a_position_and_with_a_sign_a_distance(protocol, typed, place):
    where, user, kit = jogged(protocol, typed)
    assert where == place
    assert kit.world.goals[kit.index(kit.settings.joints[ROW].id)] == place
    assert not user.shown("move_far") and not user.shown("aside")


UNCLEAR = [
    "nan",
    "inf",
    "1e308",
    "1520us",
    "1520 us",
    "12 deg",
    "1,520",
    "1520.5",
    "+20,5",
    "1_520",
    "--20",
    "\u0661",
    "x",
]


@pytest.mark.parametrize("typed", [*UNCLEAR, "9" * 400])
def test_what_is_no_whole_number_moves_nothing_and_says_what_is_accepted(typed):
    where, user, _ = jogged("ssc32", typed)
    assert where == 1500.0
    (told,) = user.shown("no_jog us jog_help")
    assert len(str(told)) < 400 and not user.shown("move_far")


@pytest.mark.parametrize("protocol", PULSES)
@pytest.mark.parametrize(("consent", "place"), [("y", 1601.0), ("n", 1500.0), ("", 1500.0)])
def test_a_far_move_needs_consent_to_joint_begin_and_end(protocol, consent, place):
    where, user, _ = jogged(protocol, "1601", consent=consent)
    assert where == place
    (question,) = user.shown("move_far")
    assert str(question) == "Move left_middle_femur from 1500 to 1601 us, by 12 deg?"
    assert bool(user.shown("nothing_moved")) == (consent != "y")


@pytest.mark.parametrize(
    ("typed", "begin", "ends", "place", "why"),
    [
        ("+60", 2470.0, None, 2500.0, "out_of_range 2530.0 2500.0 500 2500"),
        ("2600", 2450.0, None, 2500.0, "out_of_range 2600.0 2500.0 500 2500"),
        ("0", 1500.0, None, 1500.0, "out_of_range 0.0 500.0 500 2500"),
        ("+50", 1500.0, (1400, 1520), 1520.0, "out_of_limits 1550.0 1520.0 1400 1520"),
    ],
)
def test_a_position_out_of_reach_is_told_with_the_one_that_is_used(typed, begin, ends, place, why):
    where, user, _ = jogged("ssc32", typed, consent="n", begin=begin, ends=ends)
    assert where == place
    assert user.shown(f"aside left_middle_femur {why}")


def test_servos_that_report_no_position_get_their_torque_only_after_a_question():
    kit = Kit("ssc32")
    user = Jogger(kit, ["+20"])
    state = CalibrationState(robot(), kit.settings.joints, kit.jogger(kit.bus()), user)
    before = []
    answer_to = user.answer_to
    user.answer_to = lambda *asked: before.append(kit.world.torques.any()) or answer_to(*asked)
    assert state.jog(ROW, LEVEL) == 1520.0
    assert user.shown("all_will_move to_the_middle")
    assert [question.kind for question, on in zip(user.asked, before, strict=True) if not on] == ["hands_off"]
    assert kit.world.torques.all()
