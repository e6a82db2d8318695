"""The buttons below a question are answers that the question takes."""

import pytest

from hexapod_control.servos.calibration.dialog import jog, question, yes
from hexapod_control.servos.commissioning.commissioning_session import BEGIN
from hexapod_control.servos.commissioning.usual_answers import answer_form

# question -> the answers of its buttons, and whether it takes a joint, a direction, or often something else
QUESTIONS = {
    BEGIN: (["", "skip"], ""),
    question("need ids?", True): (["y", "n"], ""),
    question("exchange them?", False): (["n", "y"], ""),
    "left_front coxa turned? [Y/n, r or what turned, such as rm femur -] ": (["y", "n", "r"], "joint sign"),
    "servo 3: which joint, which direction first? ": (["r", "s"], "joint sign"),
    "servo 3: which joint, which direction first? [left_front coxa +] ": (
        ["left_front coxa +", "r", "s"],
        "joint sign",
    ),
    "Do all legs look like the picture? Enter, or the joint that does not, such as lf femur ": ([""], "joint"),
    "Connect the servo of left_front coxa, it gets id 1. Enter when it is connected ": (["", "s"], ""),
    "turn left_front coxa by hand, forwards, by about 20 deg, then Enter ": (["", "s"], ""),
    "  left_front coxa to the mark (512 units): ": (["", "-", "+", "--", "++"], "typed"),
    "correct the file in an editor, then Enter saves again; q cancels: ": ([""], ""),
    "Enter starts the move ": ([""], ""),
    "Which port: /dev/ttyUSB0, /dev/ttyACM0? [/dev/ttyUSB0] ": (["/dev/ttyUSB0", "/dev/ttyACM0"], ""),
    "Voltage at the plug of a servo, such as 11.1 V: ": ([], "typed"),
}


@pytest.mark.parametrize("text", QUESTIONS)
def test_a_question_has_its_usual_answers_as_buttons_and_fields_for_what_else_it_takes(text):
    answers, fields = QUESTIONS[text]
    form = answer_form(text.strip() if text == BEGIN else text)
    assert [each.answer for each in form.usual] == answers
    assert [name for name in ("joint", "sign", "typed") if getattr(form, name)] == fields.split()
    assert len({each.label for each in form.usual}) == len(answers)


def test_the_button_of_the_default_answer_comes_first():
    for usual in (True, False):
        first = answer_form(question("go on?", usual)).usual[0].answer
        assert yes(first, usual) == yes("", usual)


def test_every_button_of_a_jog_is_a_jog_or_enter():
    steps = [jog(each.answer) for each in answer_form("  coxa to the mark (512 units): ").usual]
    assert steps[0] is None and steps[1] == -steps[2] and steps[3] == -steps[4] and None not in steps[1:]
