# SPDX-License-Identifier: Apache-2.0
"""Sections written into a robot file, whole or not at all; calibration of simulated odometry."""

import functools
import math
import os
import shutil
import stat

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.drives import ROBOTS

from hexapod_control.cli.main import main
from hexapod_control.cli.robot_files import odom_calibrate
from hexapod_control.config import section_writer
from hexapod_control.config.document import plain, read
from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots.robot_file import load, odometry_scale
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.config.section_writer import own_file, save_section, with_section
from hexapod_control.evaluation import odometry_calibration
from hexapod_control.evaluation.odometry_calibration import measure
from hexapod_control.sim.world_settings import WorldSettings

SCALE = {"distance": 1.25, "turn": 0.75}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.yaml"
    shutil.copy(load("phantomx").path, path)
    return path


def text(path):
    with path.open(encoding="utf-8", newline="") as opened:
        return opened.read()


@pytest.mark.parametrize("name", ROBOTS)
def test_a_new_section_is_appended_and_all_other_bytes_stay_the_same(name):
    before = text(load(name).path)
    after = with_section(before, "odometry_scale", SCALE)
    assert after == before + "\nodometry_scale:\n  distance: 1.25\n  turn: 0.75\n"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "section",
    [
        "odometry_scale: {distance: 1.0, turn: 1.0}",
        "odometry_scale:\n  # found on the carpet\n  turn: 1.0    # a week ago\n  distance: 1.0",
        "'odometry_scale':\n    distance: 1.0\n    turn: 1.0",
    ],
)
def test_a_section_in_the_middle_is_replaced_with_its_comments_and_all_else_is_the_same(section, end):
    before = text(load("phantomx").path).replace("\n", end)
    head, tail = before.split(f"walk:  {''}", 1)
    section = section.replace("\n", end)
    after = with_section(f"{head}{section}{end}{end}# how it walks{end}walk:  {tail}", "odometry_scale", SCALE)
    assert after.startswith(head) and after.endswith(f"{end}{end}# how it walks{end}walk:  {tail}")
    own = after.removeprefix(head).removesuffix(f"{end}{end}# how it walks{end}walk:  {tail}")
    assert "1.25" in own and "0.75" in own
    assert ("found on the carpet" in own) == ("carpet" in section) and ("a week ago" in own) == ("week" in section)
    assert with_section(after, "odometry_scale", SCALE) == after


def test_unchanged_keys_of_a_section_keep_their_spelling_order_and_comments():
    section = "servos:\n  protocol: lx16a\n  port: '/dev/a' # left\n  joints:\n    b: {id: 0x02, center: 500.0}\n"
    data = {"protocol": "lx16a", "port": "/dev/a", "joints": {"b": {"id": 2, "center": 512.5}, "a": {"id": 1}}}
    after = with_section(section, "servos", data)
    assert after == section.replace("500.0", "512.5") + "    a: {id: 1}\n"
    assert with_section(after, "servos", {"protocol": "lx16a"}) == "servos:\n  protocol: lx16a\n"


@settings(max_examples=25)
@given(
    st.recursive(
        st.floats(-1e6, 1e6) | st.integers(-(10**6), 10**6) | st.booleans() | st.text("abc: #'-é", max_size=6),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=3),
        max_leaves=12,
    )
)
def test_any_written_value_is_read_again(tmp_path_factory, value):
    file, before = tmp_path_factory.mktemp("robots") / "mine.yaml", "name: mine  # my robot\nfoot: {radius: 0.01}\n"
    file.write_text(with_section(before, "servos", {"x": value, "y": 1}), encoding="utf-8")
    assert plain(read(file).children["servos"]) == {"x": value, "y": 1}
    file.write_text(with_section(text(file), "servos", {"x": 1, "y": value}), encoding="utf-8")
    assert plain(read(file).children["servos"]) == {"x": 1, "y": value}


def test_the_old_file_is_kept_with_its_date_and_mode(file):
    file.chmod(0o640)
    before = text(file)
    first = save_section(file, "odometry_scale", SCALE)
    second = save_section(file, "odometry_scale", {"distance": 1.0, "turn": 1.0})
    assert text(first) == before and "1.25" in text(second) and first != second
    assert first.name.startswith("mine.yaml.2") and first.suffix == ".bak"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert odometry_scale(load(file).document) == (1.0, 1.0)
    assert sorted(file.parent.iterdir()) == sorted((file, first, second))


def test_a_symbolic_link_is_preserved(file, tmp_path):
    link = tmp_path / "link.yaml"
    link.symlink_to(file)
    save_section(link, "odometry_scale", SCALE)
    assert link.is_symlink() and odometry_scale(load(file).document) == (1.25, 0.75)


@pytest.mark.parametrize("fails", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_unchanged(file, monkeypatch, fails):
    def full(*_):
        raise OSError(28, "No space left on device")

    before = text(file)
    monkeypatch.setattr(os, fails, full)
    with pytest.raises(OSError, match="No space left"):
        save_section(file, "odometry_scale", SCALE)
    assert text(file) == before
    assert not list(file.parent.glob(".*"))


def test_a_file_that_would_not_be_a_robot_any_more_is_not_written(file, monkeypatch):
    before = text(file)
    monkeypatch.setattr(section_writer, "with_section", lambda *_: "name: unknown\n")
    with pytest.raises(RobotFileError, match=r"mine.yaml: odometry_scale: was not written: "):
        save_section(file, "odometry_scale", SCALE)
    assert text(file) == before and list(file.parent.iterdir()) == [file]


def test_a_shipped_robot_file_is_refused_with_the_command_that_copies_it(capsys):
    assert main(["odom-calibrate", "--robot", "phantomx", "--simulate"]) == 2
    message = capsys.readouterr().err
    assert "comes with the package" in message and f"cp {load('phantomx').path} ./my_phantomx.yaml" in message
    assert message.count("\n") == 1


def test_a_file_that_is_missing_or_read_only_is_refused(file, monkeypatch):
    with pytest.raises(RobotFileError, match="there is no such file"):
        own_file(file.with_name("other.yaml"))
    assert own_file(file) == file
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(RobotFileError, match="cannot be written to, it or its folder is read-only"):
        own_file(file)


# --- hexapod odom-calibrate -----------------------------------------------------------------------------------


@pytest.mark.physics
def test_the_factors_of_the_simulation_make_odometry_better_and_a_dry_run_writes_nothing(file, capsys, monkeypatch):
    before, words = text(file), ["--robot", str(file), "--simulate", "--distance", "0.2", "--turn", "45"]
    monkeypatch.setattr(odometry_calibration, "measure", functools.cache(measure))  # the same drives in both runs
    assert main(["odom-calibrate", *words, "--dry-run"]) == 0
    dry = capsys.readouterr().out
    assert "walked" in dry and "odometry_scale: distance" in dry
    assert text(file) == before and list(file.parent.iterdir()) == [file]
    assert main(["odom-calibrate", *words]) == 0
    message = capsys.readouterr().out
    assert message.startswith(dry) and "written to" in message
    way, turn = measure(load(file).robot, urdf(load(file)), WorldSettings(seed=1), 0.3, math.radians(60.0))
    for factor, found in zip(odometry_scale(load(file).document), (way, turn), strict=True):
        assert 0.95 < factor < 1.05
        assert abs(factor * found.estimate - found.truth) < max(
            0.5 * abs(found.estimate - found.truth), 0.003 * found.truth
        )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--distance", "0"],
            "--distance: must be in [0.2, 20] m, is 0, metres, not millimetres?; see hexapod odom-calibrate --help",
        ),
        (["--turn", "nan"], "--turn: must be in [45, 3600] deg, is nan; see hexapod odom-calibrate --help"),
        ([], "--measured-distance: must be given, as there is no terminal to ask on"),
    ],
)
def test_bad_input_is_refused_before_the_robot_moves(file, capsys, words, message):
    assert main(["odom-calibrate", "--robot", str(file), *words]) == 2
    assert capsys.readouterr().err == f"hexapod: {message}\n"
    assert np.array(odometry_scale(load(file).document)).tolist() == [1.0, 1.0]


def test_the_measured_value_is_asked_for_until_it_is_a_positive_number(monkeypatch, capsys):
    answers = iter(["about a metre", "-1", "1,03"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(answers))
    assert odom_calibrate.ask_measured("distance", 1.0, None) == 1.03
    assert 'must be in [0.001, 1000] m, is "about a metre"' in capsys.readouterr().out
    assert odom_calibrate.ask_measured("distance", 1.0, 0.9) == 0.9
