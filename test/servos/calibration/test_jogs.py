"""A typed position moves a servo only where the operator wants it: confirmed if far, told if out of reach, else not."""

import pytest
from support.kits.calibrating_user import User
from support.kits.memory_wire import Kit
from support.phantomx import robot

from hexapod_control.servos.calibration.calibration_state import CalibrationState
from hexapod_control.servos.protocol_registry import PROTOCOLS

pytestmark = pytest.mark.usefixtures("memory_time")

PULSES = [name for name, row in PROTOCOLS.items() if row.scale.unit == "us" and name != "pca9685"]  # has no port here
ROW = 4  # left_middle_femur


class Jogger(User):
    """Types some answers at the prompt of a jog, then Enter; `consent` answers all other questions."""

    def __init__(self, kit, typed, consent="y"):
        super().__init__(kit)
        self.typed, self.consent = list(typed), consent

    def ask(self, question, meanwhile=None):
        self.asked.append(question)
        if question.startswith("  left_middle_femur to level"):
            return self.typed.pop(0) if self.typed else ""
        return self.consent if question.endswith("[y/N] ") else ""


def jogged(protocol, *typed, consent="y", begin=1500.0, ends=None):
    """The position [us] after typed answers, the user, and the kit; torque is on before."""
    kit = Kit(protocol)
    jogger, user = kit.jogger(kit.bus()), Jogger(kit, typed, consent)
    state = CalibrationState(robot(), kit.settings.joints, jogger, user)
    servo = state.joints[ROW].id
    jogger.go({servo: begin})
    return state.jog(ROW, "level", ends), user, kit


@pytest.mark.parametrize("protocol", PULSES)
@pytest.mark.parametrize(
    ("typed", "place"),
    [("1520", 1520.0), ("+20", 1520.0), ("-20", 1480.0), ("\u221220", 1480.0), ("++", 1550.0), ("1400", 1400.0)],
)
def test_a_number_is_a_position_and_with_a_sign_a_distance(protocol, typed, place):
    where, user, kit = jogged(protocol, typed)
    assert where == place
    assert kit.world.goals[kit.index(kit.settings.joints[ROW].id)] == place
    assert not user.shown("move ") and not user.shown("cannot go")


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
    (told,) = user.shown("is not a whole number of us, without its unit: nothing moves. Jog with + and -")
    assert len(told) < 400 and not user.shown("move ")


@pytest.mark.parametrize("protocol", PULSES)
@pytest.mark.parametrize(("consent", "place"), [("y", 1601.0), ("n", 1500.0), ("", 1500.0)])
def test_a_far_move_needs_consent_to_joint_begin_and_end(protocol, consent, place):
    where, user, _ = jogged(protocol, "1601", consent=consent)
    assert where == place
    assert user.shown("  move left_middle_femur from 1500 to 1601 us, by 12 deg? [y/N] ")
    assert bool(user.shown("nothing has moved")) == (consent != "y")


@pytest.mark.parametrize(
    ("typed", "begin", "ends", "place", "why"),
    [
        ("+60", 2470.0, None, 2500.0, "cannot go to 2530: 2500 is used instead, its servo turns from 500 to 2500"),
        ("2600", 2450.0, None, 2500.0, "cannot go to 2600: 2500 is used instead, its servo turns from 500 to 2500"),
        ("0", 1500.0, None, 1500.0, "cannot go to 0: 500 is used instead, its servo turns from 500 to 2500"),
        ("+50", 1500.0, (1400, 1520), 1520.0, "its limits in the calibration are 1400 to 1520"),
    ],
)
def test_a_position_out_of_reach_is_told_with_the_one_that_is_used(typed, begin, ends, place, why):
    where, user, _ = jogged("ssc32", typed, consent="n", begin=begin, ends=ends)
    assert where == place
    assert user.shown(f"left_middle_femur {why}" if why.startswith("cannot") else why)


def test_servos_that_report_no_position_get_their_torque_only_after_a_question():
    kit = Kit("ssc32")
    user = Jogger(kit, ["+20"])
    state = CalibrationState(robot(), kit.settings.joints, kit.jogger(kit.bus()), user)
    before = []
    ask = user.ask
    user.ask = lambda question, meanwhile=None: before.append(kit.world.torques.any()) or ask(question, meanwhile)
    assert state.jog(ROW, "level") == 1520.0
    assert user.shown("before the first one turns, all move to the middle, leg by leg")
    assert [question for question, on in zip(user.asked, before, strict=True) if not on] == [
        "  left_middle_femur to level (1500 us): ",
        "Hands off the legs, feet free. Enter moves them ",
    ]
    assert kit.world.torques.all()
