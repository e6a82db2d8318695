# SPDX-License-Identifier: Apache-2.0
"""The steps of the calibration notice mistakes: exchanged servos, wrong signs, horns a tooth off, Enter alone."""

import math
from dataclasses import replace

import pytest
from support.kits.calibrating_user import User, run
from support.kits.memory_wire import Kit
from support.phantomx import LEGS, robot

from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.sentence import Sentence
from hexapod_control.core.names import JOINTS
from hexapod_control.servos.bus.bus_interface import BusError
from hexapod_control.servos.calibration.calibration_state import REST_POSE, CalibrationState
from hexapod_control.servos.calibration.dialog import BACK, HELP, QUIT, Abandoned, Prompt
from hexapod_control.servos.calibration.guide import CalibrationGuide
from hexapod_control.servos.calibration.session import CalibrationSession
from hexapod_control.servos.calibration.steps.identify_joints import identify
from hexapod_control.servos.calibration.steps.rest_pose import horns_off
from hexapod_control.servos.settings.servo_section import standard

pytestmark = pytest.mark.usefixtures("memory_time")

NAMES = [f"{leg} {joint}" for leg in LEGS for joint in JOINTS]
TOOTH = math.radians(360.0 / 25.0)


def mounts(joints):
    return [(joint.id, joint.direction) for joint in joints]


def exchanged(joints, a, b):
    rows = list(joints)
    rows[a], rows[b] = replace(rows[a], id=rows[b].id), replace(rows[b], id=rows[a].id)
    return rows


def test_a_correct_assignment_is_confirmed_with_one_turn_of_each_joint():
    kit = Kit()
    user = User(kit)
    assert mounts(run(kit, user, ["check"])) == mounts(kit.mounted)
    assert len(user.asked) == 18


@pytest.mark.parametrize(
    ("protocol", "step", "sentences"),
    [
        ("feetech_st", "check", ["introduction_check_by_hand"]),
        ("ssc32", "check", ["introduction_check_by_eye"]),
        ("feetech_st", "rest", ["introduction_rest_by_hand"]),
        ("ssc32", "rest", ["introduction_rest_by_jogging jog_help"]),
        ("feetech_st", "wiggle", ["help_wiggle"]),
        ("ssc32", "wiggle", ["help_wiggle", "all_will_move to_the_middle"]),
    ],
)
def test_every_step_begins_with_what_is_to_be_done_and_ends_with_what_was_found(protocol, step, sentences):
    user = User(Kit(protocol, start=[REST_POSE[row % 3] for row in range(18)]))
    user.answers = [(f"which_joint {user.kit.mounted[row].id}", f"{legs} +") for row, legs in enumerate(NAMES)]
    run(user.kit, user, [step])
    assert [each for each in sentences if len(user.shown(each)) != 1] == []


def test_a_wrong_sign_is_found_and_corrected():
    kit = Kit(changes=[(4, {"direction": -1})])
    user = User(kit)
    assert mounts(run(kit, user, ["check"])) == mounts(kit.mounted)
    assert user.shown("change_sign servo_of_id 5 left_middle_femur")


def test_confused_femur_and_tibia_are_swapped():
    kit = Kit()
    user = User(kit)
    assert mounts(run(kit, user, ["check"], exchanged(kit.mounted, 7, 8))) == mounts(kit.mounted)
    assert user.shown("exchange_servos other_has_turned 8 left_rear_tibia left_rear_femur")
    assert len(user.shown("turn_by_hand left_rear_femur")) == 2  # at first the operator may be wrong


def test_two_confused_legs_are_swapped():
    kit = Kit()
    wrong = kit.mounted
    for column in range(3):
        wrong = exchanged(wrong, column, 9 + column)
    assert mounts(run(kit, User(kit), ["check"], wrong)) == mounts(kit.mounted)


def test_a_joint_that_the_operator_does_not_confirm_is_asked_again():
    kit = Kit(changes=[(0, {"direction": -1})])
    user = User(kit, [("change_sign", "n")])
    assert mounts(run(kit, user, ["check"])) == mounts(kit.mounted)
    assert len(user.shown("turn_by_hand left_front_coxa")) == 2


def test_a_joint_that_was_turned_the_wrong_way_or_in_place_of_another_is_asked_again_and_stays_as_it_is():
    kit = Kit()
    answers = [("turn_by_hand left_front_femur", lambda: kit.turn(1, -0.7))]
    answers.append(("turn_by_hand left_rear_coxa", lambda: kit.turn(0, 0.9)))
    user = User(kit, answers)
    assert mounts(run(kit, user, ["check"])) == mounts(kit.mounted)
    assert user.shown("change_sign left_front_femur") and user.shown("exchange_servos other_has_turned left_front_coxa")


def test_a_joint_that_has_not_turned_is_asked_again():
    kit = Kit()
    user = User(kit, [("turn_by_hand left_front_femur", lambda: kit.turn(1, -0.35))])
    run(kit, user, ["check"])
    assert user.shown("no_servo_turned left_front_femur")
    assert len(user.shown("turn_by_hand left_front_femur")) == 2


def test_a_servo_that_falls_silent_is_named_and_the_joint_is_asked_again():
    kit = Kit()
    user = User(
        kit,
        [
            ("turn_by_hand left_front_femur", lambda: kit.fault("unplug=5")),
            ("connected_again", lambda: kit.fault("plug=5")),
        ],
    )
    assert mounts(run(kit, user, ["check"])) == mounts(kit.mounted)
    assert "servo 5 does not answer: check its cable" in user.told()


def test_servos_without_positions_turn_by_themselves_and_the_operator_says_what_turned():
    kit = Kit("ssc32")
    answers = [("has_turned left_front_coxa", "lf coxa -"), ("has_turned left_front_femur", "LEFT FRONT TIBIA +")]
    joints = run(kit, User(kit, answers), ["check"])
    assert mounts(joints[:4]) == [(0, -1), (2, 1), (1, 1), (3, 1)]


def test_enter_alone_keeps_the_scale_of_a_hobby_servo():
    kit = Kit("ssc32")
    user = User(kit)
    joints = run(kit, user, ["rest", "marks"])
    assert user.shown("scale_kept left_front_coxa")
    asked = user.shown("jog")[:18]
    assert {question.values["position"] for question in asked} == {1500.0}
    targets = [question.values["target"].kind for question in asked]
    assert targets == ["straight_out", "level", "straight_down"] * 6
    assert user.shown("joint_at_angle left_front_femur") and user.shown("jog left_front_femur at_angle 45.0")
    assert [joint.units_per_rad for joint in joints] == [joint.units_per_rad for joint in kit.settings.joints]


@pytest.mark.parametrize("row", [0, 4, 17])
def test_a_horn_that_sits_one_tooth_off_is_found(row):
    joints = [replace(joint, q_center=REST_POSE[k % 3]) for k, joint in enumerate(Kit().mounted)]
    assert horns_off(robot(), joints, Kit().mounted, Kit().world.scale) == []
    joints[row] = replace(joints[row], q_center=joints[row].q_center + TOOTH)
    found = horns_off(robot(), joints, Kit().mounted, Kit().world.scale)
    assert [(k, pytest.approx(-TOOTH)) for k, _ in found] == [(row, pytest.approx(found[0][1]))]


def test_of_two_joints_that_differ_without_a_third_to_compare_neither_is_reported():
    joints = [replace(joint, q_center=REST_POSE[k % 3]) for k, joint in enumerate(Kit().mounted)]
    row = 3 * LEGS.index("left_middle")  # only the other middle coxa is mounted at the same angle to the body
    joints[row] = replace(joints[row], q_center=joints[row].q_center + TOOTH)
    assert horns_off(robot(), joints, Kit().mounted, Kit().world.scale) == []


def test_horns_that_all_sit_mirrored_at_another_angle_are_no_mistake():
    joints = [replace(joint, q_center=REST_POSE[k % 3]) for k, joint in enumerate(Kit().mounted)]
    for leg, side in (("left_front", 1.0), ("left_rear", -1.0), ("right_front", -1.0), ("right_rear", 1.0)):
        row = 3 * LEGS.index(leg)
        joints[row] = replace(joints[row], q_center=joints[row].q_center + side * TOOTH)
    assert horns_off(robot(), joints, Kit().mounted, Kit().world.scale) == []


@pytest.mark.parametrize(("answer", "found"), [("n", TOOTH), ("", TOOTH), ("y", 0.0)])
def test_a_horn_one_tooth_off_is_reported_after_the_rest_pose(answer, found):
    start = [REST_POSE[k % 3] for k in range(18)]
    start[4] += TOOTH
    kit = Kit(start=start)
    user = User(kit, [("measure_again left_middle_femur", lambda: (answer == "y" and kit.turn(4, -TOOTH)) or answer)])
    joints = run(kit, user, ["rest"])
    assert joints[4].angle(kit.mounted[4].raw(REST_POSE[1])) == pytest.approx(-found, abs=0.01)
    assert user.shown("horn_off one_tooth left_middle_femur")


@pytest.mark.parametrize(
    ("turn", "words"), [(0.9, "one_tooth"), (1.4, "one_tooth"), (1.6, "teeth 2"), (3.0, "teeth 3")]
)
def test_the_teeth_by_which_a_horn_is_off_are_counted(turn, words):
    start = [REST_POSE[k % 3] for k in range(18)]
    start[4] -= turn * TOOTH
    user = User(Kit(start=start))
    run(user.kit, user, ["rest"])
    (told,) = user.shown(f"horn_off left_middle_femur {words}")
    assert told.values["degrees"] == pytest.approx(-math.degrees(turn * TOOTH), abs=0.5)


@pytest.mark.parametrize("word", ["?", "help", "Help"])
def test_help_explains_the_step_and_asks_again(word):
    kit = Kit()
    user = User(kit, [("turn_by_hand left_front_coxa", word)])
    run(kit, user, ["check"])
    assert user.shown("help_check general_help")


@pytest.mark.parametrize("word", ["q", "quit", "Quit"])
def test_quit_ends_the_dialog_anywhere(word):
    kit = Kit()
    with pytest.raises(Abandoned):
        run(kit, User(kit, [("turn_by_hand left_rear_coxa", word)]), ["check"])


def test_back_returns_to_the_question_before():
    kit = Kit()
    user = User(kit, [("turn_by_hand left_front_tibia", "back")])
    run(kit, user, ["check"])
    assert len(user.shown("turn_by_hand left_front_femur")) == 2


def test_words_are_commands_in_any_case_and_answers_are_not():
    read = Prompt(Sentence("any", "any")).read
    assert [read(word) for word in ("b", "BACK", "exit", "?")] == [BACK, BACK, QUIT, HELP]
    assert [read(word) for word in ("lf coxa +", "")] == ["lf coxa +", ""]


def test_natural_spellings_name_the_joint_that_wiggles():
    kit = Kit()
    user = User(
        kit,
        [
            ("which_joint 1", "Left Front Coxa plus"),
            ("which_joint 2", "LF FEMUR +"),
            ("which_joint 3", "lf knee +"),
        ],
    )
    assert mounts(run(kit, user, ["wiggle"])) == mounts(kit.mounted)
    assert "'lf knee' names no joint" in user.told()


def test_a_servo_that_is_silent_in_the_wiggle_is_named_until_it_is_plugged_in_again():
    kit = Kit()
    kit.fault("unplug=1")
    user = User(kit, [("connected_again", None), ("connected_again", lambda: kit.fault("plug=1"))])
    assert mounts(run(kit, user, ["wiggle"])) == mounts(kit.mounted)
    assert user.told().count("servo 1 does not answer: check its cable") == 2


@pytest.mark.parametrize("protocol", ["feetech_st", "dynamixel2", "lx16a"])
def test_new_servos_share_one_id_and_their_replies_collide(protocol):
    kit = Kit(protocol)
    kit.fault("new")
    bus = kit.bus()
    assert bus.scan(range(1, 20), 1) == {}
    assert bus.counters.bad
    kit.fault("alone=7")
    assert list(bus.scan(range(1, 20), 1)) == [1]
    kit.fault("unplug=7")
    kit.fault("alone=7")  # it is plugged in again
    assert [kit.world.answers(index) for index in range(18)] == [0] * 6 + [1] + [0] * 11


def test_channels_of_a_board_have_no_ids_to_lose():
    with pytest.raises(ValueError, match="needs servos with ids: these are channels of a board"):
        Kit("ssc32").fault("new")


def test_emulated_joints_are_turned_by_hand():
    kit = Kit()
    kit.fault("turn=left front femur,25")
    kit.fault("turn=rr,10,-20,-70")
    assert math.degrees(kit.angle(1)) == pytest.approx(25.0)
    assert [math.degrees(kit.angle(row)) for row in (15, 16, 17)] == pytest.approx([10.0, -20.0, -70.0])
    kit.world.torques[0] = True
    for text, reason in (
        ("turn=lf coxa,5", "left_front_coxa_joint has torque"),
        ("turn=lf knee,5", "names no joint"),
        ("turn=lf femur,200", "must be from -180 to 180"),
        ("turn=lf femur,nan", "must be from -180 to 180"),
        ("turn=lf,1,2", "a joint and its angle, or a leg and three angles"),
    ):
        with pytest.raises(ValueError, match=reason):
            kit.fault(text)


def test_the_standard_ids_are_those_of_the_kit():
    assert Kit().settings == standard(robot(), "feetech_st", "/dev/hexapod")


def test_a_hobby_servo_turns_again_until_the_operator_says_what_has_turned():
    kit = Kit("ssc32")
    answers = [("has_turned left_front_coxa", word) for word in ("r", "n", "lf knee +", "lf femur +")]
    user = User(kit, [*answers, ("exchange_servos", "n"), ("has_turned left_front_coxa", "lf coxa -")])
    joints = run(kit, user, ["check"])
    assert len(user.shown("has_turned left_front_coxa")) == 6
    assert len(user.shown("say_what_turned")) == 1
    assert "'lf knee' names no joint" in user.told() and "'r' names no joint" not in user.told()
    assert user.shown("exchange_servos servo_turns_joint servo_of_channel 0 left_front_femur left_front_coxa")
    assert mounts(joints[:2]) == [(0, -1), (1, 1)]


def test_an_exchange_that_is_not_wanted_leaves_everything_as_it_is():
    kit = Kit()
    wrong = exchanged(kit.mounted, 7, 8)
    user = User(kit, [("exchange_servos left_rear_femur", "n"), ("turn_by_hand left_rear_femur", "s")])
    user.answers.append(("turn_by_hand left_rear_tibia", "s"))
    user.answers[1:1] = [("turn_by_hand left_rear_femur", "")]
    assert mounts(run(kit, user, ["check"], wrong)) == mounts(wrong)
    assert len(user.shown("turn_by_hand left_rear_femur")) == 2  # again, as it is not right yet


def test_a_servo_is_named_once_and_every_joint_needs_one():
    kit = Kit()
    user = User(kit, [("which_joint 1", "r"), ("which_joint 2", "lf coxa +"), ("which_joint 2", "lf femur +")])
    assert mounts(run(kit, user, ["wiggle"])) == mounts(kit.mounted)
    assert len(user.shown("which_joint 1")) == len(user.shown("which_joint 2")) == 2
    assert user.shown("already_named 1")
    with pytest.raises(BusError, match="no servo was found for left_front_tibia_joint, right_rear_coxa_joint: check"):
        run(kit, User(kit, [("which_joint 3", "s"), ("which_joint 16", "skip")]), ["wiggle"])


def test_every_finished_servo_joint_and_leg_is_noted_and_what_is_asked_within_a_leg_is_not():
    kit = Kit()
    guide = CalibrationGuide(robot(), kit.settings.joints, kit.jogger(kit.bus()), User(kit, [("measure_limits", "y")]))
    noted = []
    guide.on_progress = lambda progress: noted.append((progress.step, progress.done))
    guide.run(kit.settings.ids, ["check", "rest", "limits"])
    expected = [("check", 18), ("rest", 6), ("limits", 6)]
    assert noted == [(step, done) for step, count in expected for done in range(1, count + 1)]


def test_a_servo_that_is_identified_alone_takes_the_joint_and_gives_its_own_in_exchange():
    kit = Kit()
    for servo, answer, expected in (
        (5, "lf coxa -", {0: (5, -1), 4: (1, 1)}),
        (5, "lm femur +", {}),  # has it already
        (5, "s", {}),
    ):
        state = CalibrationState(
            robot(), kit.settings.joints, kit.jogger(kit.bus()), User(kit, [("which_joint 5", answer)])
        )
        identify(state, servo)
        changed = {k: pair for k, pair in enumerate(mounts(state.joints)) if pair != mounts(kit.settings.joints)[k]}
        assert changed == expected


@pytest.mark.parametrize(
    ("section", "kept"), [(None, False), ({"protocol": "dynamixel2"}, False), ({"protocol": "feetech_st"}, True)]
)
def test_a_calibration_begins_with_the_nominal_scale_unless_the_file_has_one_of_the_same_protocol(section, kept):
    kit, file = Kit(), load("phantomx")
    scaled = tuple(replace(joint, units_per_rad=600.0, units_per_rad_neg=610.0) for joint in kit.settings.joints)
    settings, file = replace(kit.settings, joints=scaled), replace(file, servos=section)
    begun = CalibrationSession(kit.bus(), {1: "STS3215"}, settings, file, User(kit), 50.0).settings.joints
    nominal = kit.settings.joints[0].units_per_rad
    expected = (600.0, 610.0) if kept else (nominal, nominal)
    assert {(joint.units_per_rad, joint.units_per_rad_neg) for joint in begun} == {expected}
