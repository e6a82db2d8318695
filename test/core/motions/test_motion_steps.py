# SPDX-License-Identifier: Apache-2.0
"""The steps of motion files as data: their fields, bounds and defaults, and their size on other robots."""

import dataclasses
import math
import re

import pytest

from hexapod_control.core.motions.motion_steps import (
    KINDS,
    NAMES,
    ArcStep,
    Choreography,
    FeetStep,
    JointsStep,
    LegStep,
    MotionError,
    PoseStep,
    RepeatStep,
    RotateStep,
    TogetherStep,
    WaitStep,
    WalkStep,
)

BOUNDS = """
walk       x          0     -2      2      m/s
walk       y          0     -2      2      m/s
walk       yaw        0     -360    360    deg/s
walk       lift       1     0.1     1
walk       tempo      1     0.8     2
walk       duration   0     0       600    s
walk       distance   0     0       100    m
walk       angle      0     0       3600   deg
arc        travel     0.03  -0.5    0.5    m
arc        curvature  0     -1.999  1.999
arc        duration   2     0       600    s
rotate     angle      90    -3600   3600   deg
rotate     rate       20    1       180    deg/s
rotate     times      1     1       100
pose       x          0     -0.3    0.3    m
pose       y          0     -0.3    0.3    m
pose       z          0     -0.3    0.3    m
pose       roll       0     -60     60     deg
pose       pitch      0     -60     60     deg
pose       yaw        0     -60     60     deg
pose       duration   0     0       600    s
height     z          0     -0.3    0.3    m
height     duration   0     0       600    s
sway       x          0     -0.3    0.3    m
sway       y          0     -0.3    0.3    m
sway       z          0     -0.3    0.3    m
sway       roll       0     -60     60     deg
sway       pitch      0     -60     60     deg
sway       yaw        0     -60     60     deg
sway       period     2     0.2     60     s
sway       rounds     1     0.25    1000
wait       duration   1     0       600    s
leg        x          0     -0.5    0.5    m
leg        out        0     -0.5    0.5    m
leg        z          0     0       0.5    m
feet       duration   0     0       600    s
joints     duration   0     0       600    s
repeat     times      2     1       1000
motion     loops      1     0       1000
motion     total_time inf   0       inf    s
"""
ROWS = [tuple(line.split()) for line in BOUNDS.strip().splitlines()]
CLASSES = {**KINDS, "motion": Choreography}


def bounded_fields(kind):
    """Name, bounds and default of the bounded fields of a step, in the units of motion files."""
    for item in dataclasses.fields(CLASSES[kind]):
        quantity = item.metadata.get("quantity")
        if quantity is not None and "columns" not in item.metadata:
            turn = math.degrees(1.0) if "deg" in quantity.unit else 1.0
            numbers = (f"{value:.6g}" for value in (turn * item.default, quantity.lower, quantity.upper))
            yield (kind, item.name, *numbers, *quantity.unit.split())


def test_defaults_and_bounds_of_every_field_are_those_of_the_table():
    written = dict.fromkeys(row[0] for row in ROWS)
    assert [row for kind in CLASSES if kind in written for row in bounded_fields(kind)] == ROWS


@pytest.mark.parametrize("row", [row for row in ROWS if row[0] not in ("walk", "motion")], ids=" ".join)
def test_values_up_to_the_bounds_are_accepted_and_others_refused_in_the_units_of_files(row):
    kind, name, _, lower, upper, unit = (*row, "")[:6]
    turn, key = (math.radians(1.0), f"{name}_deg") if "deg" in unit else (1.0, name)
    for bound, sign in ((float(lower), -1.0), (float(upper), 1.0)):
        inside = turn * (bound if turn == 1.0 else 0.999 * bound + 0.001 * (float(lower) + float(upper)) / 2)
        assert getattr(KINDS[kind](**{name: inside}), name) == inside
        beyond = bound + sign
        text = f"{key} must be in [{float(lower):g}, {float(upper):g}]{unit and ' '}{unit}, is {beyond:g}"
        with pytest.raises(MotionError, match=re.escape(text)):
            KINDS[kind](**{name: turn * beyond})


def test_fields_have_the_choices_names_units_and_columns_of_the_table():
    fields = {(kind, item.name): item for kind in CLASSES for item in dataclasses.fields(CLASSES[kind])}
    assert fields["rotate", "axis"].default == "z" and fields["rotate", "axis"].metadata["choices"] == ("x", "y", "z")
    assert fields["gait", "name"].metadata["names"] == "gaits" and fields["leg", "name"].metadata["names"] == "legs"
    assert fields["motion", "start"].default == "standing"
    assert fields["motion", "start"].metadata["choices"] == ("standing", "sitting")
    feet, joints = fields["feet", "offsets"].metadata, fields["joints", "angles"].metadata
    assert feet["quantity"].bounds == "[-0.5, 0.5] m" and feet["columns"] == ("forward", "to the left", "up")
    assert joints["quantity"].bounds == "[-180, 180] deg" and joints["columns"] == ("coxa", "femur", "tibia")
    assert {NAMES[kind] for kind in KINDS.values()} == set(KINDS)


def test_steps_of_a_place_are_equal_to_those_of_another_one():
    assert WaitStep(1.0, place="a.yaml:1") == WaitStep(1.0, place="b.yaml:2") and "a.yaml" not in repr(
        WaitStep(place="a.yaml")
    )


def test_lengths_and_speeds_scale_with_the_robot_and_times_and_angles_do_not():
    steps = (
        (WalkStep(0.1, 0.2, 0.3, distance=0.4), WalkStep(0.2, 0.4, 0.3, distance=0.8)),
        (ArcStep(0.03, 0.5, 1.0), ArcStep(0.06, 0.5, 1.0)),
        (RotateStep("z", 0.5, 0.3), RotateStep("z", 0.5, 0.3)),
        (PoseStep(0.01, 0.02, 0.03, 0.1, 0.2, 0.3, 1.0), PoseStep(0.02, 0.04, 0.06, 0.1, 0.2, 0.3, 1.0)),
        (WaitStep(1.0), WaitStep(1.0)),
        (LegStep("a", 0.01, 0.02, 0.03), LegStep("a", 0.02, 0.04, 0.06)),
        (FeetStep({"a": (0.01, 0.02, 0.03)}, 1.0), FeetStep({"a": (0.02, 0.04, 0.06)}, 1.0)),
        (JointsStep({"a": (0.1, 0.2, 0.3)}, 1.0), JointsStep({"a": (0.1, 0.2, 0.3)}, 1.0)),
        (RepeatStep(3, (PoseStep(0.01),)), RepeatStep(3, (PoseStep(0.02),))),
        (TogetherStep((PoseStep(0.01), WaitStep(1.0))), TogetherStep((PoseStep(0.02), WaitStep(1.0)))),
    )
    for step, twice in steps:
        assert step.scaled(2.0) == twice
    motion = Choreography("a", "b", tuple(step for step, _ in steps), "sitting", 2, 10.0)
    assert motion.scaled(2.0) == dataclasses.replace(motion, steps=tuple(twice for _, twice in steps))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"x": 0.1}, "needs exactly one of duration, distance, angle_deg"),
        ({"x": 0.1, "duration": 1.0, "angle": 1.0}, "needs exactly one of duration, distance, angle_deg"),
        ({"yaw": 0.1, "distance": 1.0}, "distance needs a speed: give x or y"),
        ({"x": 0.1, "angle": 1.0}, "angle_deg needs a rate of turn: give yaw_deg"),
    ],
)
def test_a_walk_has_one_end_and_moves_towards_it(values, message):
    with pytest.raises(MotionError, match=message):
        WalkStep(**values)
    for good in (
        {"duration": 1.0},
        {"x": 0.1, "distance": 1.0},
        {"y": 0.1, "distance": 1.0},
        {"yaw": -0.1, "angle": 1.0},
    ):
        WalkStep(**good)
