# SPDX-License-Identifier: Apache-2.0
"""The questions of `hexapod new`: the robot of the answers, interruptions, going back, refusals and drawings."""

import json
import math
from xml.etree import ElementTree

import numpy as np
import pytest
from support.robots.robot_answers import answers_of
from support.robots.sensible_answers import answered, sensible_answers
from support.suite.soak import SOAK, some

from hexapod_control.cli.robot_files.new_page import question_view, typed_view
from hexapod_control.config.robots.draft.questions.answers_file import read_answers, write_answers
from hexapod_control.config.robots.draft.questions.canvas import WIDTH
from hexapod_control.config.robots.draft.questions.drawings import drawing, svg_drawing
from hexapod_control.config.robots.draft.questions.interview import Interview
from hexapod_control.config.robots.draft.questions.layouts import LAYOUTS
from hexapod_control.config.robots.draft.questions.units import AnswerError
from hexapod_control.config.robots.draft.views import body_outline, views_svg
from hexapod_control.config.robots.robot_file import implausible, known_robots, load
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.names import JOINTS
from hexapod_control.evaluation.robot_check.checks import CHECKS
from hexapod_control.evaluation.robot_check.steady_walk import standing_start
from hexapod_control.evaluation.robot_check.subject import Seriousness, Subject

TOLERANCE = 1e-6  # [m], [rad] and [kg]: answers have six digits
FEW_LAYOUTS = ("6 rows", "4 circle", "8 free")  # each number of legs, and each shape
QUICK_CHECKS = ("reach", "neighbours", "standing", "speed", "walking", "margin")


def interview_with(answers, name="mine"):
    """The interview with these answers, typed one after the other; the others are defaults."""
    interview = Interview(name, {})
    while interview.question is not None:
        interview.answer(answers.get(interview.question.key, ""))
    return interview


def written(interview, path):
    path.write_text(interview.text())
    return load(path)


def interview_at(key, answers=None):
    """An interview whose current question has this key."""
    interview = Interview("mine", {})
    while interview.question.key != key:
        interview.answer((answers or {}).get(interview.question.key, ""))
    return interview


@pytest.mark.parametrize("name", some(known_robots(), "article_offset", "octopod", "quadruped"))
def test_answers_with_the_dimensions_of_a_robot_reproduce_that_robot(name, tmp_path):
    own = load(name)
    file = written(interview_with(answers_of(own), name), tmp_path / "robot.yaml")
    robot, rise = file.robot, own.robot.body.center[2]  # the origin is in the middle of the body
    assert (robot.name, robot.leg_names, file.models) == (name, own.robot.leg_names, own.models)
    assert robot.body.size == pytest.approx(own.robot.body.size, abs=TOLERANCE)
    assert robot.mass == pytest.approx(own.robot.mass, abs=1e-4)
    assert robot.walk.height - own.robot.walk.height == pytest.approx(rise, abs=1e-4)
    for ours, theirs in zip(robot.legs, own.robot.legs, strict=True):
        assert (*ours.hip[:2], ours.hip[2] + rise) == pytest.approx(theirs.hip, abs=TOLERANCE)
        assert ours.hip_yaw == pytest.approx(theirs.hip_yaw, abs=TOLERANCE)
        assert (ours.femur_lateral, ours.femur_vertical) == (theirs.femur_lateral, theirs.femur_vertical)
        for part, mine, other in zip(JOINTS, ours.joints, theirs.joints, strict=True):
            assert getattr(ours, part).length == pytest.approx(getattr(theirs, part).length, abs=TOLERANCE)
            assert (mine.lower, mine.upper) == pytest.approx((other.lower, other.upper), abs=TOLERANCE)
    assert not implausible(file)


@pytest.mark.parametrize("name", some((*LAYOUTS, *known_robots()), *FEW_LAYOUTS))
def test_a_robot_of_default_answers_or_with_the_dimensions_of_another_walks_and_its_check_finds_no_problem(
    name, tmp_path
):
    answers = {"legs": name} if name in LAYOUTS else answers_of(load(name))
    file = written(interview_with(answers), tmp_path / "robot.yaml")
    assert not implausible(file)
    assert name not in LAYOUTS or len(file.robot.legs) == LAYOUTS[name].legs
    subject = Subject(file, 0.0)
    found = [remark for check in QUICK_CHECKS for remark in CHECKS[check](subject)]
    assert found and max(remark.seriousness for remark in found) < Seriousness.PROBLEM
    planner, _ = standing_start(file.robot)
    speed = 0.5 * planner.view.maxima().vx
    planner.command(Twist(speed, 0.0, 0.0))
    plans = [planner.step(0.02) for _ in range(250)]
    assert speed > 0.01 and plans[-1].twist.vx == pytest.approx(speed, rel=0.02)
    assert {leg for plan in plans for leg, stands in enumerate(plan.planted) if not stands} == set(
        range(len(file.robot.legs))
    )


def test_a_robot_with_mirrored_legs_takes_eight_to_twelve_questions():
    assert all(8 <= Interview("mine", {"legs": f"{legs} rows"}).number[1] <= 12 for legs in (4, 6))


def test_an_interruption_at_any_question_loses_no_answer(tmp_path):
    answers, path = answers_of(load("freenove")), tmp_path / "mine.answers.json"
    interview, asked = Interview("mine", read_answers(path)), []
    while interview.question is not None:
        asked.append(interview.question.key)
        interview.answer(answers[asked[-1]])
        write_answers(path, interview.answers)
        interview = Interview("mine", read_answers(path)) if interview.question is not None else interview
    assert len(asked) == len(set(asked)) == interview.number[1]
    assert interview.text() == interview_with(answers).text()
    assert Interview("mine", read_answers(path)).number[0] == 1  # all answered: again, with these defaults


@pytest.mark.parametrize("steps", [1, 3, 7])
def test_back_and_another_answer_change_exactly_this_answer(steps):
    interview = interview_at("masses")
    before = dict(interview.answers)
    for _ in range(steps):
        interview.back()
    key = interview.question.key
    changed = {"limits": "-70 70 -100 130 -165 10", "servo": "AX-18A", "hip left_middle": "0 95 90"}[key]
    interview.answer(changed)
    while interview.question.key != "masses":
        interview.answer("")
    assert interview.answers == before | {key: changed}


def test_back_from_the_first_question_stays_there():
    interview = Interview("mine", {})
    interview.back()
    assert interview.question.key == "legs" and interview.number[0] == 1


def test_outdated_answers_are_requested_again_with_a_valid_default():
    kept = interview_at("limits").answers | {"servo": "MG90S"}
    interview = Interview("mine", kept)
    assert (interview.question.key, kept["voltage"], interview.default()) == ("voltage", "12", "6")


def test_free_hip_positions_come_from_the_answers_on_both_sides(tmp_path):
    file = written(interview_with({"legs": "6 free", "hip right_middle": "-20 -95 -92"}), tmp_path / "robot.yaml")
    legs = {leg.name: leg for leg in file.robot.legs}
    assert legs["right_middle"].hip == pytest.approx((-0.02, -0.095, 0.0))
    assert legs["left_middle"].hip == pytest.approx((0.0, 0.09, 0.0))
    assert math.degrees(legs["right_middle"].hip_yaw) == pytest.approx(-92.0)


def test_a_servo_that_no_table_lists_is_described_by_speed_and_torque(tmp_path):
    answers = {"servo": "other", "figures": "0.16 s/60°, 20 kg·cm"}
    file = written(interview_with(answers), tmp_path / "robot.yaml")
    joint = file.robot.legs[0].femur_joint
    assert joint.no_load_speed == pytest.approx(math.radians(60.0) / 0.16, rel=1e-3)
    assert joint.stall_torque == pytest.approx(1.961, rel=1e-3)


@pytest.mark.parametrize(
    ("key", "text", "parts"),
    [
        ("legs", "5", ["'5'", "6 rows"]),
        ("body", "24 12", ["'24 12'", "3 numbers", "width [mm]"]),
        ("body", "24 12 5 parsec", ["24 parsec", "mm, cm, m, in"]),
        ("body", "9 m, 12 cm, 5 cm", ["length: must be in [1, 2000] mm, is 9000, write the unit"]),
        ("body", "1 m 100 50", ["body.size", "1"]),
        ("hip left_front", "0 0 45", ["hip", "must differ"]),
        ("lengths", "52 133 66", ["femur.length", "swapped?"]),
        ("servo", "AX12A", ["'AX12A'", "nearest: AX-12A"]),
        ("voltage", "24", ["is 24 V", "9 to 12 V for AX-12A"]),
        ("voltage", "11,1", ["'11,1'", "decimal point"]),
        ("limits", "75 -75 -100 130 -165 10", ["coxa: is 75 to -75 deg", "lower limit"]),
        ("limits", "-75 75 100 130 -165 10", ["limits", "sign"]),
        ("masses", "2 kg 1 kg", ["is 2000 g", "6 legs of 1000 g"]),
        ("masses", "80 kg 175", ["body.mass", "too heavy"]),
        ("masses", "1394 17.5", ["one leg: is 17.5 g", "one servo of 54.6 g"]),
        ("body", "24 12 5", ["shorter side is 12 mm", "at least 30 mm", "write the unit"]),
        ("hip left_front", "12 6 45", ["body.size", "span 0.024 m"]),
        ("hip left_front", "1200 600 45", ["body.size", "span 2.4 m"]),
        ("height", "20", ["is 20 mm", "best is 118 mm"]),
    ],
)
def test_an_implausible_answer_is_refused_at_once_with_value_bound_and_remedy(key, text, parts):
    interview = interview_at(key)
    before = dict(interview.answers)
    with pytest.raises(AnswerError) as error:
        interview.answer(text)
    assert all(part in str(error.value) for part in parts), str(error.value)
    assert (interview.question.key, interview.answers) == (key, before)


@pytest.mark.parametrize("layout", ["6 rows", "4 rows"])
def test_a_confirmed_implausible_answer_is_kept(layout, tmp_path):
    file = written(interview_with({"legs": layout, "lengths": "52 100 80 !"}), tmp_path / "robot.yaml")
    assert file.robot.legs[0].femur.length == pytest.approx(0.1)


@pytest.mark.parametrize("layout", some(LAYOUTS, *FEW_LAYOUTS))
def test_every_question_has_a_drawing_for_the_terminal_and_one_for_the_page_with_an_answer_that_fits(layout):
    interview, pictures = Interview("mine", {"legs": layout}), {}
    while interview.question is not None:
        question = interview.question
        lines = drawing(question.drawing, interview.robot(), question.legs)
        assert max(map(len, lines)) <= WIDTH and all(line.isascii() for line in lines)
        pictures[question.drawing] = "\n".join(lines)
        shown = question_view(interview)
        svg = ElementTree.fromstring(shown["drawing"])
        left, top, width, height = map(float, svg.get("viewBox").split())
        for text in svg.iter("{http://www.w3.org/2000/svg}text"):
            assert left < float(text.get("x")) < left + width and top < float(text.get("y")) < top + height
        fields = " ".join(f"{each['value']} {each['unit']}" for each in shown["fields"])
        assert not typed_view(interview, fields or shown["proposal"])["refusal"]
        interview.answer(fields)
    assert "key" not in question_view(interview)
    assert all(word in pictures["lengths"] for word in ("coxa", "femur", "tibia"))
    assert "hip height" in pictures["height"] and pictures["radius" if "circle" in layout else "hips"].count("O") >= 1
    assert all(word in pictures["body"] for word in ("length", "width"))


def test_the_drawing_of_a_leg_has_the_proportions_of_the_answers():
    short, long = (interview_at("offsets", {"lengths": f"52 66 {tibia}"}) for tibia in (90, 200))
    ground = ["".join(drawing("offsets", each.robot())).count("_") for each in (short, long)]
    assert ground[0] > ground[1]


@pytest.mark.parametrize("text", ["[]", '{"legs": 6}', "{", "\udcff"])
def test_a_file_of_another_kind_is_not_taken_for_answers(text, tmp_path):
    path = tmp_path / "mine.answers.json"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(AnswerError, match=r"mine\.answers\.json: .*remove it"):
        read_answers(path)


def test_random_answers_are_refused_in_a_sentence_or_kept():
    random = np.random.default_rng(4)
    signs = [*"0123456789.,-+ x!cmkgdeg°\u2212\x00yno", "rpm", "1e9", "AX-12A", "nan", "inf"]
    interview, refused = Interview("mine", {}), 0
    for _ in range(12):
        try:
            interview.answer("".join(random.choice(signs, random.integers(1, 12))))
        except AnswerError as error:
            refused += 1
            assert len(str(error)) > 20 and "\n" not in str(error)
            interview.answer("")
    assert refused > 6 and json.loads(json.dumps(interview.answers)) == interview.answers


def test_undo_restores_answers_and_question_one_answer_at_a_time():
    interview, states = Interview("mine", {}), []
    for text in ("4 rows", "200 150 50", "70 70 40"):
        states.append((interview.question.key, dict(interview.answers)))
        interview.answer(text)
    interview.back()
    interview.answer("71 71 41")
    states.append(("hip left_front", interview.answers | {"hip left_front": "70 70 40"}))
    for key, answers in reversed(states):
        interview.undo()
        assert (interview.question.key, interview.answers) == (key, answers)
    interview.undo()
    assert interview.number[0] == 1 and not interview.can_undo


def test_a_jump_ends_at_the_first_question_without_an_answer():
    interview = interview_at("lengths")
    number = interview.number[0]
    for wanted, reached in ((2, 2), (number, number), (number + 3, number), (-1, 1)):
        interview.go(wanted)
        assert interview.number[0] == reached


def test_a_page_shows_numbers_and_units_as_they_were_typed():
    interview = interview_at("offsets", {"lengths": "5.2 cm 66 mm 0.133 m"})
    interview.back()
    fields = question_view(interview)["fields"]
    assert [(each["value"], each["unit"]) for each in fields] == [("5.2", "cm"), ("66", "mm"), ("0.133", "m")]


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if "circle" in name])
def test_a_circle_has_one_question_for_its_radius_and_all_hips_on_it_in_even_directions(layout, tmp_path):
    interview = interview_with({"legs": layout, "body": "170 170 50", "radius": "8.5 cm", "lengths": "30 60 100"})
    assert [each.key for each, _ in interview.overview if each.parts and "hip" in each.findings] == ["radius"]
    legs = written(interview, tmp_path / "robot.yaml").robot.legs
    assert [math.hypot(*leg.hip[:2]) for leg in legs] == pytest.approx([0.085] * len(legs))
    turns = np.sort([math.degrees(leg.hip_yaw) % 360.0 for leg in legs])
    assert np.diff(turns) == pytest.approx(360.0 / len(legs))
    assert all(math.atan2(leg.hip[1], leg.hip[0]) == pytest.approx(leg.hip_yaw) for leg in legs)


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if "circle" in name])
def test_the_radius_of_a_circle_is_proposed_with_all_hips_in_the_body(layout):
    interview = interview_at("radius", {"legs": layout, "body": "170 170 50"})
    reach = 1000.0 * np.abs([leg.hip[:2] for leg in interview.robot().legs]).max()
    assert reach == pytest.approx(85.0, abs=0.01)
    with pytest.raises(AnswerError, match="must be in"):
        interview.answer("-85")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_body_is_drawn_as_the_polygon_of_hips_on_a_circle_and_else_as_its_box(layout):
    robot = interview_at("lengths", {"legs": layout}).robot()
    outline = np.array(body_outline(robot))
    corners = LAYOUTS[layout].legs if "circle" in layout else 4
    assert outline.shape == (corners, 2)
    assert np.ptp(outline, axis=0) == pytest.approx(robot.body.size[:2])
    if "circle" in layout:
        hips = np.array([leg.hip[:2] for leg in robot.legs])
        assert all(np.linalg.norm(outline - hip, axis=1).min() < 0.001 for hip in hips)
    svg = ElementTree.fromstring(views_svg(robot))
    drawn = [each.get("points").split() for each in svg.iter("{http://www.w3.org/2000/svg}polygon")]
    assert [len(points) for points in drawn] == [corners, 4]
    page = ElementTree.fromstring(svg_drawing("top", robot, (), "from above"))
    lines = [line for line in page.iter("{http://www.w3.org/2000/svg}line") if line.get("class") == "body"]
    assert len(lines) == corners


@pytest.mark.parametrize(
    ("answers", "key", "reason"),
    [
        ({"lengths": "52 100 80 ! measured twice"}, "leg.femur.length", "measured twice"),
        ({"lengths": "52 100 80!"}, "leg.femur.length", "kept in hexapod new"),
        ({"masses": "11 kg, 175 g ! of lead"}, "body.mass", "of lead"),
        ({"body": "100 300 50 !"}, "body.size", "kept in hexapod new"),
    ],
)
def test_a_value_that_was_kept_against_a_warning_is_confirmed_in_the_robot_file_with_its_reason(
    answers, key, reason, tmp_path
):
    file = written(interview_with(answers), tmp_path / "robot.yaml")
    assert key in file.confirmed and reason in file.confirmed[key]
    assert not implausible(file)


@pytest.mark.parametrize("seed", some(range(200), 3, 5, 7))
def test_a_robot_of_sensible_answers_is_not_refused_and_the_check_finds_nothing_wrong(seed, tmp_path):
    interview, refused = answered(sensible_answers(seed))
    file = written(interview, tmp_path / "robot.yaml")
    assert not refused and not implausible(file)
    if not SOAK:
        return
    subject = Subject(file, 0.0)
    found = [remark for check in QUICK_CHECKS for remark in CHECKS[check](subject)]
    assert max(remark.seriousness for remark in found) < Seriousness.PROBLEM, [*map(str, found)]
