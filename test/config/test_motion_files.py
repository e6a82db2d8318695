# SPDX-License-Identifier: Apache-2.0
"""Motion files: those that come with the package are possible on every robot, and violations are reported."""

import json
import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.drives import ROBOTS as SUITE_ROBOTS
from support.paths import ROOT
from support.suite.soak import SOAK, cases

from hexapod_control.config.motion_file import ALL_LEGS, MotionFileError, keys, known_motions, load_motion, request
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.shipped_files import share
from hexapod_control.core.motions.motion_player import MotionPlayer, RehearsedMotion
from hexapod_control.core.motions.motion_rehearsal import MotionRehearsal
from hexapod_control.core.motions.motion_steps import (
    KINDS,
    Choreography,
    LegStep,
    MotionError,
    StandStep,
    WaitStep,
)
from hexapod_control.core.planner.planner import Planner

ROBOTS = {name: load(name).robot for name in SUITE_ROBOTS}
PHANTOMX = ROBOTS["phantomx"]
TICK_S = 0.02
HEAD = "name: test\ndescription: For a test.\n"


def written(folder, text, name="test"):
    path = folder / f"{name}.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def steps(*lines):
    return HEAD + "steps:\n" + "".join(f"  - {line}\n" for line in lines)


# --- those that come with the package -----------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "robot"), cases(known_motions(), ROBOTS))
def test_every_shipped_motion_passes_its_rehearsal_on_every_robot(name, robot):
    motion = load_motion(name, ROBOTS[robot])
    assert motion.name == name
    assert motion.description.endswith(".")
    assert MotionRehearsal(ROBOTS[robot], motion).finish().duration > 0.5


def test_the_standard_motions_are_shipped():
    wanted = {"wave", "bow", "dance", "stretch", "sit_and_look_around", "calibration_pose", "pack", "unpack"}
    assert wanted <= set(known_motions())


@pytest.mark.parametrize("name", known_motions())
def test_every_shipped_motion_is_in_the_gallery_with_a_film(name):
    page = (ROOT / "docs" / "motions.md").read_text(encoding="utf-8")
    assert f"![{name}](images/motions/{name}.gif)" in page
    assert (ROOT / "docs" / "images" / "motions" / f"{name}.gif").stat().st_size > 10_000


def test_the_example_of_the_documentation_is_a_valid_motion(tmp_path):
    page = (ROOT / "docs" / "motions.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```yaml\n(.*?)```", page, re.S)
    motion = load_motion(written(tmp_path, example, "nod"), PHANTOMX)
    assert motion.name == "nod"
    assert MotionRehearsal(PHANTOMX, motion).finish().duration > 5.0


def test_the_violation_of_the_documentation_is_the_one_that_is_reported(tmp_path):
    page = (ROOT / "docs" / "motions.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```yaml\n(.*?)```", page, re.S)
    (message,) = re.findall(r"^nod.yaml:\d+: .*$", page, re.M)
    path = written(tmp_path, example.replace("out: 0.03", "x: 0.3"), "nod")
    with pytest.raises(MotionError) as caught:
        MotionRehearsal(PHANTOMX, load_motion(path, PHANTOMX)).finish()
    assert str(caught.value) == str(tmp_path / message)


# --- the content of a file -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Choreography, *KINDS.values()], ids=lambda kind: kind.__name__.lower())
def test_every_key_is_described_in_the_reference(kind):
    reference = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    for key in keys(kind).values():
        assert key.item.metadata["meaning"]
        assert re.search(
            rf"^\| (?: \| )?`{key.name}` \|.*\| {re.escape(key.item.metadata['meaning'])} \|$", reference, re.M
        ), key.name


def test_lengths_are_scaled_to_the_robot_and_angles_and_times_are_not(tmp_path):
    text = steps(
        "pose: {x: 0.02, pitch_deg: 5, duration: 1.5}",
        "leg: {name: left_front, out: 0.01, z: 0.05}",
        "feet: {offsets: {all: [0.01, 0.02, 0.03]}, duration: 2}",
        "repeat: {times: 2, steps: [walk: {x: 0.05, distance: 0.1}]}",
    )
    plain = load_motion(written(tmp_path, text), PHANTOMX).steps
    scaled = load_motion(written(tmp_path, f"for_height: 0.2\n{text}"), PHANTOMX).steps
    factor = PHANTOMX.walk.height / 0.2
    assert scaled[0].x == pytest.approx(factor * plain[0].x)
    assert (scaled[0].pitch, scaled[0].duration) == (pytest.approx(math.radians(5.0)), 1.5)
    assert (scaled[1].out, scaled[1].z) == pytest.approx((factor * 0.01, factor * 0.05))
    assert scaled[2].offsets[ALL_LEGS] == pytest.approx((factor * 0.01, factor * 0.02, factor * 0.03))
    assert (scaled[3].steps[0].x, scaled[3].steps[0].distance) == pytest.approx((factor * 0.05, factor * 0.1))


def test_every_step_has_its_line_in_the_file(tmp_path):
    text = steps("wait:", "stand", "repeat:\n      steps:\n        - sit:\n        - wait: {duration: 2}")
    path = written(tmp_path, text)
    first, second, third = load_motion(path, PHANTOMX).steps
    assert [step.place for step in (first, second, third, *third.steps)] == [
        f"{path}:{line}" for line in (4, 5, 6, 8, 9)
    ]


# --- what is wrong with a file ------------------------------------------------------------------------------------

WRONG = {
    "an unknown key": (steps("pose: {pich_deg: 3}"), r":4: steps\[0\].pose.pich_deg: is unknown, .*mean pitch_deg"),
    "an unknown key at the top": (HEAD + "stps: []\n", r":3: stps: is unknown, .*did you mean steps"),
    "degrees without saying so": (steps("pose: {roll: 3}"), r"pose.roll: is unknown, .*did you mean roll_deg"),
    "no steps": (HEAD, r":1: steps: is missing, must be a list of steps"),
    "an empty list": (HEAD + "steps: []\n", r":3: steps: is an empty list"),
    "no name": ("description: x.\nsteps: [wait: {}]\n", r":1: name: is missing, must be a text"),
    "a name with a blank": ("name: a b\ndescription: x\nsteps: [wait: {}]\n", r":1: name: .*letters, digits and _"),
    "a required key": (steps("leg: {z: 0.1}"), r":4: steps\[0\].leg.name: is missing, must be one of left_front"),
    "a text for a number": (
        steps("wait: {duration: 2s}"),
        r"wait.duration: must be in \[0, 600\] s, is \"2s\", .*no unit",
    ),
    "a list for a number": (
        steps("wait: {duration: [1]}"),
        r"wait.duration: must be in \[0, 600\] s, is \[1\], write the number",
    ),
    "a number for a section": (steps("wait: 3"), r"wait: is 3, must be a section with duration"),
    "a bool": (steps("height: {z: true}"), r"height.z: must be in \[-0.3, 0.3\] m, is true"),
    "not a number": (steps("height: {z: .nan}"), r"height.z: must be in \[-0.3, 0.3\] m, is nan$"),
    "infinite": (steps("wait: {duration: .inf}"), r"wait.duration: must be in \[0, 600\] s, is inf$"),
    "millimetres": (steps("pose: {x: 20}"), r"pose.x: must be in \[-0.3, 0.3\] m, is 20, metres, not millimetres"),
    "out of bounds": (steps("pose: {pitch_deg: 90}"), r"pitch_deg: must be in \[-60, 60\] deg, is 90, degrees"),
    "half a time": (
        steps("repeat: {times: 1.5, steps: [wait: ]}"),
        r"repeat.times: must be in \[1, 1000\], is 1.5, write a whole number",
    ),
    "an unknown leg": (steps("leg: {name: left_frnt}"), r"must be one of left_front.*did you mean left_front"),
    "an unknown gait": (steps("gait: {name: trot}"), r"gait.name: is \"trot\", must be one of tripod, ripple"),
    "an unknown axis": (steps("rotate: {axis: w}"), r"rotate.axis: is \"w\", must be one of x, y, z"),
    "an unknown start": (HEAD + "start: lying\nsteps: [wait: ]\n", r":3: start: .*must be one of standing, sitting"),
    "an unknown step": (steps("wlak: {x: 1}"), r"is \"wlak\", must be a step: walk, .*did you mean walk"),
    "two steps in one": (steps("wait:\n    sit:"), r":4: steps\[0\]: has 2 keys, must be one step"),
    "a number for a step": (steps("3"), r":4: steps\[0\]: is 3, must be one step"),
    "a row of two": (steps("joints: {angles_deg: {all: [1, 2]}}"), r"all: is \[1, 2\], .*list of 3 numbers"),
    "an offset for an unknown leg": (
        steps("feet: {offsets: {tail: [0, 0, 0]}}"),
        r"offsets.tail: is unknown, known here: left",
    ),
    "a walk without end": (steps("walk: {x: 0.1}"), r":4: steps\[0\].walk: needs exactly one of duration, distance"),
    "a walk with two ends": (steps("walk: {x: 0.1, duration: 1, distance: 1}"), r"walk: needs exactly one of"),
    "a way without speed": (steps("walk: {distance: 1}"), r"walk: distance needs a speed: give x or y"),
    "too large for this robot": (
        "for_height: 0.02\n" + steps("pose: {x: 0.2}"),
        r":5: steps\[0\].pose: x must be in \[-0.3, 0.3\] m, is 1, for this robot's size \(5.00 of the file's\)",
    ),
    "two walks at once": (
        steps("together:\n      steps:\n        - walk: {x: 0.05, duration: 1}\n        - arc: {}"),
        r":7: .*steps\[1\]: walk and arc both take the feet, .*one follow the other",
    ),
    "two poses at once": (steps("together: {steps: [pose: {}, height: {}]}"), r"pose and height both take the body"),
    "sitting while posing": (steps("together: {steps: [sit: , pose: {}]}"), r"sit and pose both take the body"),
    "walking on a led leg": (
        steps("together: {steps: [leg: {name: left_front, z: 0.05}, walk: {duration: 1}]}"),
        r"leg and walk both take the feet",
    ),
    "two walks within repeats": (
        steps("together: {steps: [repeat: {steps: [arc: ]}, repeat: {steps: [rotate: ]}]}"),
        r"repeat and repeat both take the feet",
    ),
    "too many steps": (
        steps("repeat: {times: 1000, steps: [repeat: {times: 1000, steps: [wait: ]}]}"),
        r"makes 1001\d+ steps in one pass, must be at most 5000",
    ),
    "joints beyond their limits": (
        steps("joints: {angles_deg: {left_rear: [0, 0, 0], all: [0, 170, 0]}}"),
        r":4: steps\[0\].joints.angles_deg.all: has 170 deg for the femur of left_front, its limits are -100 and 130",
    ),
    "steps within steps": (
        HEAD + "steps: " + 9 * "[repeat: {steps: " + "[wait: ]" + 9 * "}]" + "\n",
        r"has more than 8 steps within each other",
    ),
    "a section within itself": ("&a\nname: *a\n", r"more than 50000 values: does an alias name itself"),
    "no YAML": (HEAD + "steps: [}\n", r":3: is not valid YAML"),
    "a list": ("- wait:\n", r"must be a mapping of keys at the top, copy config/motions/wave.yaml"),
    "nothing": ("", r"is empty, copy config/motions/wave.yaml and edit it"),
    "the same key twice": (steps("wait: {duration: 1, duration: 2}"), r":4: is not valid YAML: found duplicate key"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_violations_are_reported_with_file_line_key_and_remedy(tmp_path, wrong):
    text, message = WRONG[wrong]
    path = written(tmp_path, text)
    with pytest.raises(MotionFileError) as caught:
        load_motion(path, PHANTOMX)
    assert str(caught.value).startswith(path)
    assert "\n" not in str(caught.value)
    assert re.search(message, str(caught.value)), str(caught.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("wafe", "wafe: is not a known motion, known: bow, .*did you mean wave"),
        ("./nowhere.yaml", "/nowhere.yaml: there is no such file"),
        ("/", "cannot be read"),
        ("a\0b/c.yaml", "cannot be read"),
        ("~no_such_user/x.yaml", "cannot be found"),
        ("", ": is not a known motion"),
    ],
)
def test_a_missing_motion_is_reported(name, message):
    for find in (lambda: load_motion(name, PHANTOMX), lambda: request(name)):
        with pytest.raises(MotionFileError, match=message):
            find()


IMPOSSIBLE = {
    "a foot too far out": (
        ("leg: {name: left_front, x: 0.3, z: 0.1}",),
        r":4: leg: left_front: .*out of reach \(0.00 s",
    ),
    "a body too far off": (("wait: {duration: 1}", "pose: {x: 0.2}"), r":5: pose: out of reach.* \(1.0\d s after"),
    "three legs of one side in the air": (
        tuple(f"leg: {{name: left_{leg}, z: 0.05}}" for leg in ("front", "middle", "rear")),
        r":6: leg: left_rear: the other feet on the ground would not support the robot",
    ),
    "joints too fast": (
        ("wait: {duration: 0.5}", "feet: {offsets: {all: [0.03, 0, 0]}, duration: 0.05}"),
        r":5: feet: a joint would be too fast: give it more time \(0.5\d s after",
    ),
    "feet too far off": (("feet: {offsets: {all: [0.3, 0, 0]}, duration: 2}",), r":4: feet: the foot of left_front"),
    "a pose of a robot that sits": (("sit:", "pose: {x: 0.01}"), r":5: pose: ignored while sitting: stand up first"),
    "an hour": (
        (
            "sit:",
            "repeat: {times: 7, steps: [wait: {duration: 100}]}",
        ),
        r"takes longer than 600 s",
    ),
}


@pytest.mark.parametrize("impossible", IMPOSSIBLE)
def test_an_infeasible_motion_is_reported_with_line_and_time_before_the_robot_moves(tmp_path, impossible):
    lines, message = IMPOSSIBLE[impossible]
    path = written(tmp_path, steps(*lines))
    with pytest.raises(MotionError) as caught:
        MotionRehearsal(PHANTOMX, load_motion(path, PHANTOMX)).finish()
    assert str(caught.value).startswith(path)
    assert re.search(message, str(caught.value)), str(caught.value)


# --- arbitrary files ----------------------------------------------------------------------------------------------

WORDS = st.sampled_from([*KINDS, *(name for kind in KINDS.values() for name in keys(kind)), "name", "loops", "start"])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    WORDS,
    st.sampled_from(PHANTOMX.leg_names),
)
TREES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4), max_leaves=12
)
STEPS = st.lists(st.dictionaries(st.sampled_from([*KINDS]), TREES, min_size=1, max_size=1), max_size=4)
SHIPPED = [share("config", "motions", f"{name}.yaml").read_text() for name in known_motions()]


@st.composite
def files(draw):
    """Texts: random trees of known keys, a shipped motion with one change, or any text."""
    if draw(st.booleans()):
        root = {"name": "test", "description": "x", "steps": draw(st.one_of(STEPS, TREES))}
        root |= draw(st.dictionaries(WORDS, TREES, max_size=2))
        return json.dumps(root)
    text = draw(st.sampled_from(SHIPPED))
    begin = draw(st.integers(0, len(text)))
    return text[:begin] + draw(st.text(max_size=12)) + text[begin + draw(st.integers(0, 20)) :]


@settings(max_examples=200 if SOAK else 50, derandomize=True)
@given(text=files())
def test_any_text_of_a_file_is_a_motion_or_is_refused_with_a_reason(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "fuzz.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        motion = load_motion(str(path), PHANTOMX)
    except MotionFileError as error:
        assert str(error).startswith(str(path))
    else:
        assert motion.steps


# --- assumptions of the player ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [(), (WaitStep(0.0),)])
def test_a_loop_without_duration_does_not_repeat_for_ever(seconds):
    player = MotionPlayer(Planner(PHANTOMX))
    player.planner.set_measured_joints(player.planner.view.lying_joints)
    player.execute(RehearsedMotion(Choreography("test", "", (StandStep(), *seconds), loops=0), 1.0))
    for _ in range(500):
        player.step(TICK_S)
    assert player.name == ""
    assert player.planner.state.value == "standing"


def test_a_leg_step_lasts_until_the_foot_is_at_its_goal():
    wave = load_motion("wave", PHANTOMX)
    wanted = [step.z for step in _legs(wave.steps)]
    player = MotionPlayer(Planner(PHANTOMX))
    player.planner.set_measured_joints(player.planner.view.lying_joints)
    player.execute(RehearsedMotion(wave, 1.0))
    reached, led, height = [], None, 0.0
    while player.step(TICK_S) and player.name:
        if led is not None and player.place != led:
            reached.append(height)
        led = player.place if player.phase == "leg" else None
        walk = player.planner.view.walk
        height = walk.motion.feet[0].z if walk is not None else 0.0
    assert reached == pytest.approx(wanted, abs=1e-3)


def _legs(steps):
    for step in steps:
        if isinstance(step, LegStep):
            yield step
        for _ in range(getattr(step, "times", 1)):
            yield from _legs(getattr(step, "steps", ()))
