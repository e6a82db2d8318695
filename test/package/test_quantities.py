# SPDX-License-Identifier: Apache-2.0
"""Every number that somebody may give is refused beyond its bounds in the same words, wherever it is read."""

import argparse
import dataclasses
import json
import math
import re
from pathlib import Path

import pytest

from hexapod_control.bringup.launch_arguments import ARGUMENTS, GraphError
from hexapod_control.cli import main
from hexapod_control.cli.bounded_options import InputError, number
from hexapod_control.config import waypoint_file
from hexapod_control.config.document import DocumentEntry
from hexapod_control.config.errors import FileError
from hexapod_control.config.motion_file import FOR_HEIGHT, HEAD, KEYS
from hexapod_control.config.robots import robot_keys
from hexapod_control.config.robots.draft.questions.question_table import HEIGHT, HIP_PARTS, TABLE
from hexapod_control.config.robots.draft.questions.units import AnswerError
from hexapod_control.config.robots.urdf_import.joint_mapping import ENTRY
from hexapod_control.config.schema import NumberRow, rows_of
from hexapod_control.core.motions.motion_steps import KINDS, MotionError, si
from hexapod_control.core.quantity import Quantity, QuantityError, check_fields, quantities, spelled
from hexapod_control.nodes.gait_planner.settings import PlannerSettings
from hexapod_control.nodes.gamepad.settings import GamepadSettings
from hexapod_control.nodes.imu_driver.settings import ImuDriverSettings
from hexapod_control.nodes.link_frames.link_frames import LinkFramesSettings
from hexapod_control.nodes.mujoco_sim.settings import SimulatorSettings
from hexapod_control.nodes.odometry.settings import OdometrySettings
from hexapod_control.nodes.servo_driver.settings import DriverSettings
from hexapod_control.nodes.teleop.settings import TeleopSettings
from hexapod_control.nodes.web.settings import WebSettings
from hexapod_control.ros.parameters import ParameterError, table
from hexapod_control.servos.i2c.supply_sensor import SupplySection
from hexapod_control.servos.protocol_options import ListOption
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.joint_section import SERVO_ID
from hexapod_control.servos.settings.servo_section import BAUD, PACE, Battery, ServoSettings
from hexapod_control.sim.world_settings import DepthSettings, LidarSettings, WorldSettings
from hexapod_control.web.protocol import KINDS as MESSAGES
from hexapod_control.web.protocol import VERSION, RefusedMessageError, parse

SETTINGS = (
    *(PlannerSettings, DriverSettings, SimulatorSettings, TeleopSettings, WebSettings, OdometrySettings),
    *(GamepadSettings, ImuDriverSettings, LinkFramesSettings, WorldSettings, LidarSettings, DepthSettings),
)
PARAMETERS = [row for kind in SETTINGS for row in table(kind) if row.quantity]
OPTIONS = [getattr(each, "each", each) for kind in PROTOCOLS.values() for each in kind.settings]
ROWS = [
    *(*robot_keys.ROBOT, *robot_keys.COMMON, *robot_keys.PLACE, *robot_keys.GAIT, *robot_keys.ODOMETRY_SCALE),
    *(robot_keys.SERVO_VOLTAGE, robot_keys.FOOTHOLD, robot_keys.TILT, robot_keys.LIFT_OFF, FOR_HEIGHT),
    *robot_keys.CAMERA,
    *(*rows_of(ServoSettings), *rows_of(Battery), *rows_of(SupplySection), NumberRow("id", SERVO_ID)),
    *(*waypoint_file.SETTINGS, *waypoint_file.WAYPOINT, *ENTRY, *OPTIONS),
    *(NumberRow(name, key.quantity) for keys in (HEAD, *KEYS.values()) for name, key in keys.items() if key.quantity),
]
ROWS = [dataclasses.replace(row, count=1) for row in ROWS if isinstance(row, NumberRow)]
STEPS = [
    (kind, name, q) for kind in KINDS.values() for name, q in quantities(kind) if name not in ("offsets", "angles")
]
FIELDS = [(kind, name, q) for kind, (_, row) in MESSAGES.items() for name, q in row.items() if isinstance(q, Quantity)]
PARTS = [part for row in TABLE for part in row.question.parts] + [*HIP_PARTS, *HEIGHT.parts]
NUMERIC = [argument for argument in ARGUMENTS.values() if argument.quantity]
REFUSALS = (FileError, ParameterError, GraphError, MotionError, RefusedMessageError, argparse.ArgumentTypeError)


def beyond(quantity):
    """Numbers out of bounds, and what is no number."""
    steps = (max(1.0, abs(end)) for end in (quantity.lower, quantity.upper))
    around = (quantity.lower - next(steps), quantity.upper + next(steps))
    ends = (*around, math.inf, -math.inf)
    return [*(end for end in ends if not quantity.lower <= end <= quantity.upper), math.nan]


def in_file(row, value):
    row.value(DocumentEntry(Path("a.yaml"), row.key, 7, value))


def as_step(kind, name, quantity, value):
    kind(**{name: value * si(quantity)})


def as_field(kind, name, value):
    parse(json.dumps({"v": VERSION, "n": 1, "t": kind, name: value}))


def doors():
    """Place, quantity, what a refusal begins with, and what reads a value there."""
    for row in ROWS:
        yield f"file {row.key}", row.quantity, f"a.yaml:7: {row.key}: ", lambda value, row=row: in_file(row, value)
    for row in PARAMETERS:
        yield f"parameter {row.name}", row.quantity, f"{row.name} ", row.value
    for each in NUMERIC:
        read = lambda value, each=each: each.value(str(value))  # noqa: E731
        yield f"launch {each.name}", each.quantity, f"{each.name}: ", read
    for quantity in (*(row.quantity for row in ROWS), BAUD, PACE):
        yield f"option {quantity.meaning}", quantity, "", lambda value, q=quantity: number(q)(str(value))
    for kind, name, quantity in FIELDS:
        if kind != "drive":  # has a field that is required
            yield f"page {kind}.{name}", quantity, f"{name} ", lambda value, k=kind, n=name: as_field(k, n, value)


@pytest.mark.parametrize("place", sorted({name.partition(" ")[0] for name, *_ in doors()}))
def test_a_number_beyond_its_bounds_is_refused_in_the_same_words_everywhere(place):
    for name, quantity, key, read in doors():
        if name.startswith(place):
            for value in beyond(quantity):
                if place == "parameter" and math.isnan(value):
                    continue  # may stand for the limit of the robot
                if place == "page" and not math.isfinite(value):
                    continue  # no JSON
                with pytest.raises(REFUSALS) as refused:
                    read(value)
                begin = f"{key}must be in {quantity.bounds}, is {spelled(value)}"
                assert str(refused.value).startswith(begin), name


@pytest.mark.parametrize("place", ["file", "parameter", "page"])
@pytest.mark.parametrize("value", [True, "1", None, [1.0]])
def test_what_is_no_number_is_refused_with_the_bounds_of_the_number(place, value):
    for name, quantity, key, read in doors():
        if name.startswith(place):
            with pytest.raises(REFUSALS) as refused:
                read(value)
            begin = f"{key}must be in {quantity.bounds}, is {spelled(value)}, write the number alone"
            assert str(refused.value).startswith(begin), name


@pytest.mark.parametrize("text", ["", "one", "1 m", "1,5", "nan", "inf", "true", "0x"])
def test_a_text_that_is_no_number_is_refused_as_an_option_and_as_a_launch_argument(text):
    for name, quantity, key, read in doors():
        if name.startswith(("option", "launch")) and math.isfinite(quantity.upper):
            with pytest.raises(REFUSALS) as refused:
                read(text)
            assert str(refused.value).startswith(f"{key}must be in {quantity.bounds}, is "), name


def test_steps_of_motions_have_the_same_words():
    for kind, name, quantity in STEPS:
        for value in beyond(quantity):
            with pytest.raises(MotionError) as refused:
                as_step(kind, name, quantity, value)
            assert f"must be in {quantity.bounds}, is " in str(refused.value)


def test_answers_have_the_same_words_in_the_unit_of_the_question():
    for part in PARTS:
        ends = (float(part.dimension.shown(end)) for end in (part.row.quantity.lower, part.row.quantity.upper))
        words = "must be in [{:.10g}, {:.10g}] {}, is ".format(*ends, part.dimension.usual)
        for value in beyond(part.row.quantity):
            with pytest.raises(AnswerError) as refused:
                part.checked(value)
            assert str(refused.value).startswith(f"{part.name}: {words}")


@pytest.mark.parametrize("command", main.COMMANDS)
def test_numbers_of_commands_are_refused_with_their_bounds_and_the_option(command, capsys):
    with pytest.raises(SystemExit):
        main.parser(command).parse_args([command, "--help"])
    text = re.sub(r"\s+", " ", capsys.readouterr().out)
    for option, lower, upper in re.findall(r"(--[a-z-]+) \[?[A-Z/]+\]? (?:(?!--)[^()])*\(([-\d.]+) to ([-\d.]+)", text):
        bounds = re.escape(f"[{float(lower):.10g}, {float(upper):.10g}]")
        with pytest.raises(InputError, match=rf"{option}.* must be in {bounds}.*, is 1e\+300"):
            main.parser(command).parse_args([command, option, "1e300"])


def test_defaults_are_within_the_bounds():
    for quantity in [q for _, q, _, _ in doors()] + [q for _, _, q in STEPS]:
        if isinstance(quantity.default, float | int) and not math.isnan(quantity.default):
            quantity.checked(quantity.default)


def test_every_quantity_says_what_it_is_and_has_bounds_in_order():
    for name, quantity, _, _ in doors():
        assert quantity.meaning, name
        assert quantity.lower < quantity.upper, name


def test_a_whole_number_is_read_exactly_and_a_fraction_is_refused():
    count = Quantity("", 0, 2**53, "count", whole=True)
    assert count.read(str(2**53 - 1)) == 2**53 - 1 and isinstance(count.checked(4.0), int)
    with pytest.raises(QuantityError, match=r"is 1\.5, write a whole number"):
        count.checked(1.5)


@pytest.mark.parametrize("value", [5e-324, -1e-10, 0.0, -0.0])
def test_a_number_too_small_to_mean_anything_counts_as_zero(value):
    assert str(Quantity("m", -1.0, 1.0, "length").checked(value)) == "0.0"


def test_the_field_of_a_class_is_named():
    with pytest.raises(QuantityError, match=r"^scan_rays must be in \[8, 3600\], is 7, "):
        LidarSettings(scan_rays=7)
    check_fields(LidarSettings())


def test_the_options_of_servos_are_rows_or_lists_of_them():
    assert any(isinstance(each, ListOption) for kind in PROTOCOLS.values() for each in kind.settings)
