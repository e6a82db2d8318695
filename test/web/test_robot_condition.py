# SPDX-License-Identifier: Apache-2.0
"""The message about the robot, its colour and the next step, from all known facts."""

import ast
import itertools
import json
import re
import string
from dataclasses import replace

import pytest
from support.paths import PACKAGE, ROOT, SOURCES, syntax_nodes

from hexapod_control.cli.main import COMMANDS
from hexapod_control.core.planner.tick_plan import ON_FEET, UPRIGHT, RobotState
from hexapod_control.web.robot_condition import (
    CONTROLS,
    DRIVABLE,
    HARDWARE_NODES,
    MAX_CHAIN_SILENCE_S,
    MAX_NODE_SILENCE_S,
    NEEDED_NODES,
    OTHER_NODES,
    STATES,
    WAYS_OUT,
    PressedStop,
    RobotFacts,
    Step,
    Tone,
    condition,
    hung_node,
)

HEALTHY = dict.fromkeys((*NEEDED_NODES, "servo_driver"), 0.5)
STANDING = RobotFacts(state="standing", torque=True, height=0.08, full_height=0.08, joints_age=0.02, node_ages=HEALTHY)
TEXTS = ROOT / "hexapod_control" / "web" / "static" / "texts"
MAIN = (TEXTS.parent / "main.js").read_text(encoding="utf-8")
IN_TERMINAL = {
    "calibrate",
    "identify",
    "import",
    "leg",
    "play",
    "servos",
    "setup",
    "sim",
    "web-cert",
}


def shown(**facts):
    found = condition(replace(STANDING, **facts))
    return found.say, found.tone, found.step


def test_a_robot_that_stands_is_green_and_its_next_step_is_to_sit():
    assert shown() == ("standing", Tone.GOOD, Step.SIT)
    assert condition(STANDING).why == ""


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"state": "sitting"}, ("sitting", Tone.CALM, Step.STAND)),
        ({"state": "walking", "speed": 0.05}, ("walking_at", Tone.GOOD, Step.SIT)),
        ({"state": "walking", "speed": 0.01, "commanded": (0.0, 0.0, -0.2)}, ("turning", Tone.GOOD, Step.SIT)),
        ({"state": "walking", "speed": 0.001, "commanded": (0.1, 0.0, 0.2)}, ("walking", Tone.GOOD, Step.SIT)),
        ({"state": "moving", "motion": "wave"}, ("motion", Tone.GOOD, Step.SIT)),
        ({"state": "fallen", "errors": {"gait_planner": "fallen"}}, ("fallen", Tone.BAD, Step.RECOVER)),
        ({"state": "carried"}, ("carried", Tone.WARN, Step.STAND)),
        ({"torque": False}, ("torque_off", Tone.WARN, Step.ARM)),
        ({"torque": False, "errors": {"servo_driver": "empty"}}, ("torque_fault", Tone.BAD, Step.RESET)),
        ({"torque": False, "errors": {"gait_planner": "odd"}}, ("torque_off", Tone.WARN, Step.ARM)),
        ({"torque": False, "unexplained": True}, ("torque_went", Tone.WARN, Step.NONE)),
        ({"torque": False, "unexplained": True, "latched": True}, ("estop", Tone.BAD, Step.RELEASE)),
        ({"low_battery": 10.2}, ("battery_low", Tone.WARN, Step.SIT)),
        ({"low_battery": 10.2, "state": "fallen"}, ("fallen", Tone.BAD, Step.RECOVER)),
        ({"stalled": 0.8}, ("stale", Tone.UNKNOWN, Step.ESTOP)),
        ({"stalled": 0.8, "restartable": True}, ("stale", Tone.UNKNOWN, Step.RESTART)),
        ({"torque": False, "latched": True}, ("estop", Tone.BAD, Step.RELEASE)),
        ({"latched": True, "stop": PressedStop("phone", 3.0)}, ("estop_by", Tone.BAD, Step.RELEASE)),
        ({"found": True, "height": 0.025}, ("low", Tone.WARN, Step.STAND)),
        ({"found": True, "height": 0.075}, ("standing", Tone.GOOD, Step.SIT)),
        ({"height": 0.025}, ("standing", Tone.GOOD, Step.SIT)),  # lowered on request
        ({"found": True, "state": "rising"}, ("found", Tone.WARN, Step.STAND)),
        ({"errors": {"servo_driver": "a servo is silent"}}, ("error", Tone.BAD, Step.SIT)),
        ({"errors": {"mujoco_sim": "a fall"}, "found": True, "state": "rising"}, ("error", Tone.BAD, Step.STAND)),
        ({"errors": {"servo_driver": "a servo is off"}, "reset": True}, ("error", Tone.BAD, Step.RESET)),
        ({"state": "fallen", "way_out": "sit"}, ("fallen_sit", Tone.BAD, Step.SIT)),
        ({"state": "carried", "way_out": "stand"}, ("carried", Tone.WARN, Step.STAND)),
        ({"state": "carried", "way_out": "sit"}, ("carried_sit", Tone.WARN, Step.SIT)),
        ({"hindrance": "it makes no way", "way_out": "stand"}, ("hindered", Tone.WARN, Step.STAND)),
        ({"hindrance": "it slips", "state": "sitting"}, ("hindered", Tone.WARN, Step.STAND)),
        ({"lost_legs": "left_front"}, ("without_legs", Tone.WARN, Step.SIT)),
        ({"torque": False, "calibrating": True}, ("calibrating", Tone.WARN, Step.CANCEL_CALIBRATION)),
        ({"latched": True, "unplugged": True}, ("estop_unsent", Tone.BAD, Step.RELEASE)),
        ({"joints_age": 5.0, "errors": {"servo_driver": "no port"}}, ("silent_fault", Tone.UNKNOWN, Step.ESTOP)),
        ({"joints_age": 5.0}, ("silent", Tone.UNKNOWN, Step.ESTOP)),
        ({"joints_age": float("inf")}, ("no_joints", Tone.UNKNOWN, Step.NONE)),
        ({"joints_age": float("inf"), "torque": None}, ("no_joints", Tone.UNKNOWN, Step.NONE)),
        ({"node_ages": {}, "torque": None, "state": ""}, ("nothing", Tone.UNKNOWN, Step.NONE)),
        ({"node_ages": {"gait_planner": 0.0}}, ("missing", Tone.UNKNOWN, Step.NONE)),
        ({"node_ages": {"gait_planner": 0.0}, "torque": None}, ("missing", Tone.UNKNOWN, Step.NONE)),
    ],
)
def test_the_message_and_the_next_step_match_the_facts(facts, expected):
    assert shown(**facts) == expected


@pytest.mark.parametrize("node", [*NEEDED_NODES, *HARDWARE_NODES])
def test_a_hung_node_is_named_with_the_age_of_its_last_status_and_nothing_is_green(node):
    found = condition(replace(STANDING, node_ages={**HEALTHY, node: MAX_CHAIN_SILENCE_S + 0.1}))
    assert (found.say, found.tone, found.values) == ("stale", Tone.UNKNOWN, {"node": node, "age": 2})
    assert found.step is Step.NONE and found.locked == CONTROLS  # whoever is about to press Stand does not press E-STOP


@pytest.mark.parametrize(
    ("restartable", "step", "why"), [(True, Step.RESTART, "why_hung"), (False, Step.ESTOP, "why_silent")]
)
def test_while_a_node_is_silent_every_control_is_locked_with_a_reason_and_there_is_a_next_step(restartable, step, why):
    ages = {**HEALTHY, "gait_planner": 9.0}
    found = condition(replace(STANDING, node_ages=ages, restartable=restartable))
    assert (found.step, found.why, found.locked) == (step, why, CONTROLS)
    assert condition(STANDING).locked == ()


@pytest.mark.parametrize(
    ("facts", "locked"),
    [
        ({"state": "sitting"}, ("drive",)),
        ({"torque": False}, ("drive", "torque")),
        ({"latched": True}, ("drive", "torque")),
        ({"joints_age": 9.0}, CONTROLS),
    ],
)
def test_the_locked_controls_are_those_that_have_no_effect(facts, locked):
    assert condition(replace(STANDING, **facts)).locked == locked


def test_no_condition_locks_a_control_without_a_reason_or_leaves_one_live_that_reaches_nobody():
    for facts in all_facts():
        found = condition(facts)
        assert bool(found.locked) == bool(found.why), facts
        assert not hung_node(facts.node_ages) or found.locked == CONTROLS, facts


@pytest.mark.parametrize("node", OTHER_NODES)
def test_a_hung_node_that_moves_no_joints_is_named_and_not_green_but_the_robot_can_be_driven(node):
    found = condition(replace(STANDING, node_ages={**HEALTHY, node: MAX_NODE_SILENCE_S + 1.0}))
    assert (found.say, found.tone, found.step, found.why) == ("stale", Tone.WARN, Step.SIT, "")
    ages = {**HEALTHY, node: MAX_NODE_SILENCE_S + 1.0}
    found = condition(replace(STANDING, node_ages=ages, restartable=True, hindrance="the map is old"))
    assert (found.say, found.step, found.locked) == ("stale", Step.RESTART, ())


def test_an_emergency_stop_can_be_released_although_another_node_is_silent():
    ages = {**HEALTHY, "gait_planner": 60.0}
    found = condition(replace(STANDING, latched=True, torque=False, node_ages=ages))
    assert (found.tone, found.step, found.why) == (Tone.UNKNOWN, Step.RELEASE, "why_estop")


def test_every_state_of_the_planner_has_a_sentence():
    assert {state.value for state in RobotState} - {"unknown"} == STATES.keys()


def test_green_needs_torque_height_and_all_nodes():
    """Over all combinations: green only with torque, no latch, a known state, no error, fresh nodes and joints."""
    for state, torque, latched, found, silent, error in itertools.product(
        ["", "unknown", *STATES], [None, True, False], *[[False, True]] * 4
    ):
        facts = replace(
            STANDING,
            state=state,
            torque=torque,
            latched=latched,
            found=found,
            height=0.025 if found else 0.08,
            joints_age=9.0 if silent else 0.0,
            errors={"servo_driver": "hot"} if error else {},
        )
        fine = torque is not False and not (latched or found or silent or error) and state in ON_FEET
        assert (condition(facts).tone is Tone.GOOD) == fine, facts
        drivable = torque is not False and not latched and state in DRIVABLE and not (found and state in ON_FEET)
        drivable = drivable and not (silent and torque is not False)
        assert (condition(facts).why == "") == drivable, facts


def texts(language):
    return json.loads((TEXTS / f"{language}.json").read_text(encoding="utf-8"))


def places(text):
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def test_every_language_has_the_same_texts_with_the_same_values():
    english, german = texts("en"), texts("de")
    assert english.keys() == german.keys()
    assert [key for key in english if places(english[key]) != places(german[key])] == []


MORE = ({"reset": True}, {"unexplained": True}, {"calibrating": True}, {"unplugged": True}, {"hindrance": "slips"})
MORE += ({"lost_legs": "left_front"},)
MORE += tuple({"way_out": request} for request in WAYS_OUT)
WAITING = {"nothing", "missing", "no_joints", "silent", "silent_fault", "stale", "unknown", "error"}
WAITING |= {"torque_went"}


def all_facts():
    facts = [
        replace(STANDING, state=state, torque=torque, latched=latched, node_ages=ages, errors=errors, stop=stop)
        for state in ("", *STATES)
        for torque in (None, True, False)
        for latched in (False, True)
        for ages in ({}, HEALTHY, {**HEALTHY, "gait_planner": 9.0})
        for errors in ({}, {"servo_driver": "hot"})
        for stop in (None, PressedStop("phone", 1.0))
    ]
    facts += [replace(STANDING, found=True, state=state, height=0.02) for state in STATES]
    facts += [replace(STANDING, joints_age=age) for age in (9.0, float("inf"))]
    facts += [
        replace(STANDING, state="walking", speed=0.1),
        replace(STANDING, state="walking", commanded=(0.0, 0.0, 0.5)),
    ]
    facts += [replace(each, **more) for each in facts for more in MORE]
    hung = replace(STANDING, node_ages={**HEALTHY, "servo_driver": 9.0}, restartable=True)
    facts += [replace(STANDING, low_battery=10.2), replace(STANDING, torque=False, errors={"servo_driver": "empty"})]
    facts += [replace(STANDING, stalled=0.8, restartable=restartable) for restartable in (True, False)]
    return [*facts, hung, replace(STANDING, motion="wave")]


def test_every_condition_has_a_text():
    english = texts("en")
    for found in map(condition, all_facts()):
        assert places(english[found.say]) | places(english.get(found.why, "")) <= found.values.keys(), found
        assert not found.why or found.why in english, found
        assert not found.step.value or f"step_{found.step.value}" in english


def test_every_state_of_the_robot_has_a_next_step_which_the_page_can_carry_out_or_says_what_it_waits_for():
    (effects,) = re.findall(r"new Header\(document, \{(.*?)\}\);", MAIN, re.S)
    for facts in all_facts():
        found = condition(facts)
        assert f"{found.step.value}:" in effects or f'"{found.step.value}":' in effects, found
        assert found.step is not Step.NONE or found.say in WAITING, found


def test_every_command_that_a_sentence_of_the_robot_names_has_a_button_or_needs_a_terminal():
    """Derived from the sentences of the nodes and of what they call."""
    (table,) = re.findall(r"const BUTTONS = (\{.*?\});", (TEXTS / "texts.js").read_text(encoding="utf-8"))
    buttons = dict(re.findall(r"(\w+): \"(\w+)\"", table))
    folders = [PACKAGE / name for name in ("core", "nodes", "servos/driver", "servos/preflight.py", "bringup", "ros")]
    sentences = [
        node.value
        for path in SOURCES
        if any(path == folder or folder in path.parents for folder in folders)
        for node in syntax_nodes(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" not in node.value
    ]
    named = {name for text in sentences for name in re.findall(r"\bhexapod ([a-z][\w-]*)", text)} & set(COMMANDS)
    assert named - buttons.keys() == IN_TERMINAL, named
    assert buttons.keys() <= set(COMMANDS)
    assert {f"step_{step}" for step in buttons.values()} <= texts("en").keys()


def test_the_key_of_the_page_that_stands_or_sits_sits_in_the_upright_states():
    (found,) = re.findall(r"^const UPRIGHT = (\[.*?\]);", (TEXTS.parent / "main.js").read_text(encoding="utf-8"), re.M)
    assert set(json.loads(found)) == UPRIGHT
