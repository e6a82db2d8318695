# SPDX-License-Identifier: Apache-2.0
"""YAML of any file or text is read in bounded time or refused in one short line."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from support.phantomx import robot

from hexapod_control.cli.main import main
from hexapod_control.config.bounded_yaml import (
    MAX_FILE_BYTES,
    MAX_NESTING,
    UnusableFileError,
    parse,
    parser,
    read_text,
)
from hexapod_control.config.document import from_text, read
from hexapod_control.config.errors import FileError, MotionFileError
from hexapod_control.config.motion_file import load_motion_text
from hexapod_control.config.shipped_files import share

FILES = {
    "pipe": (os.mkfifo, "a pipe or a device"),
    "200 MB": (lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), 200_000_000), "larger than 1 MB"),
    "folder": (os.mkdir, "it is a folder"),
    "missing": (lambda path: None, "there is no such file"),
    "binary": (lambda path: path.write_bytes(b"\xff\xfe"), "is not text in UTF-8"),
}
HEAD = "name: a\ndescription: b\nsteps:\n"
BOMB = "".join(f"a{i}: &a{i} {{x: *a{i - 1}, y: *a{i - 1}}}\n" for i in range(1, 40))
HOSTILE = {
    "brackets": "[" * 100_000,
    "braces": "{a: " * 30_000,
    "dashes": "- " * 50_000,
    "question marks": "? " * 50_000,
    "indentation": "".join(f"{' ' * i}a:\n" for i in range(400)),
    "aliases of aliases": f"a0: &a0 1\n{BOMB}",
    "an alias of itself": "a: &a [*a]\n",
    "a long key": f"{HEAD}  - wait: {{{'a' * 900}: 1}}\n",
    "a long name": f"name: {'a ' * 30_000}\ndescription: b\nsteps: [wait]\n",
    "a long word": f"{HEAD}  - {'a' * 60_000}\n",
    "a long list": f"{HEAD}  - wait: {{duration: [{'1,' * 5000}]}}\n",
    "a number of 4000 digits": f"{HEAD}  - wait: {{duration: 1{'0' * 4000}}}\n",
    "a hexadecimal number of 50000 digits": f"{HEAD}  - wait: {{duration: 0x1{'0' * 50_000}}}\n",
}
REASONS = (
    "is not valid YAML: more than ",
    "is unknown, known here: ",
    "must be a name of letters, digits and _",
    "must be a step: ",
    "must be in [",
)


@pytest.mark.waits
@pytest.mark.parametrize("kind", FILES)
def test_an_unusable_file_is_refused_at_once(tmp_path, kind):
    path = tmp_path / "file.yaml"
    make, reason = FILES[kind]
    make(path)
    start = time.monotonic()
    with pytest.raises(UnusableFileError, match=reason):
        read_text(path)
    with pytest.raises(FileError, match=reason):
        read(path)
    assert time.monotonic() - start < 1.0


def test_an_endless_device_file_is_refused():
    with pytest.raises(UnusableFileError, match="a pipe or a device"):
        read_text(Path("/dev/zero"))


def test_a_file_of_the_maximum_size_is_read(tmp_path):
    path = tmp_path / "file.yaml"
    path.write_text("#" * MAX_FILE_BYTES)
    assert len(read_text(path)) == MAX_FILE_BYTES
    path.write_text("#" * (MAX_FILE_BYTES + 1))
    with pytest.raises(UnusableFileError, match="larger than 1 MB"):
        read_text(path)


@pytest.mark.parametrize("command", [["urdf", "--robot"], ["play", "--check"], ["patrol", "--waypoints"]])
@pytest.mark.parametrize("kind", ["pipe", "200 MB"])
def test_a_command_refuses_such_a_file_in_one_line(tmp_path, capsys, command, kind):
    path = tmp_path / "file.yaml"
    make, reason = FILES[kind]
    make(path)
    assert main([*command, str(path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"{path}: ")
    assert reason in error
    assert error.count("\n") == 1


ESCAPES = "\\x1b]0;x\\x07\\x1b[31m\\u202e"  # as YAML writes them
FOREIGN = {  # places of a robot file for a foreign text
    "name": ("name: phantomx", 'name: "{}"'),
    "leg": ("  left_front:", '  "{}":'),
    "key": ("walk:", '"{}": 1\nwalk:'),
    "gait": ("gait: ", 'gait: "{}" # '),
    "model": ("model: ", 'model: "{}" # '),
    "number": ("mass: ", 'mass: "{}" # '),
}


@pytest.mark.parametrize("text", [ESCAPES, "x" * 100_000, "é" * 401], ids=["escapes", "long", "letters"])
@pytest.mark.parametrize("place", FOREIGN)
def test_a_foreign_text_of_a_robot_file_reaches_the_terminal_quoted_and_short(tmp_path, capsys, place, text):
    usual, changed = FOREIGN[place]
    source = share("config", "robots", "phantomx.yaml").read_text(encoding="utf-8")
    assert usual in source
    path = tmp_path / "robot\x1b[31m.yaml"
    path.write_text(source.replace(usual, changed.format(text), 1), encoding="utf-8")
    assert main(["check", str(path)]) == 2
    output = capsys.readouterr()
    assert output.out == "" and output.err.endswith("\n")
    assert output.err[:-1].isprintable() and len(output.err) < 800


@pytest.mark.parametrize("words", [["\x1b[31m"], ["sim", "--\x1b[31m"], ["replay", "/nowhere/\x1b[31m"]])
def test_a_foreign_text_of_a_command_line_is_quoted(capsys, words):
    assert main(words) == 2
    assert capsys.readouterr().err[:-1].isprintable()


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_texts_are_refused_within_bounded_time_in_one_short_line(kind):
    start = time.process_time()
    with pytest.raises(MotionFileError) as caught:
        load_motion_text("motion", HOSTILE[kind], robot())
    assert time.process_time() - start < 3.0
    assert len(str(caught.value)) < 2000
    assert any(reason in str(caught.value) for reason in REASONS)
    assert "\n" not in str(caught.value)


def nested(levels, innermost):
    return "{a: " * levels + innermost + "}" * levels


def test_sections_nest_up_to_the_documented_limit_with_and_without_aliases():
    """The outermost section is the file; a scalar counts as a level of the text."""
    path, half = Path("file.yaml"), MAX_NESTING // 2
    assert from_text(path, nested(MAX_NESTING - 1, "1")).is_section
    anchored = f"b: &b {nested(half, '1')}\n"
    assert from_text(path, f"{anchored}c: {nested(half, '*b')}\n").is_section
    with pytest.raises(FileError, match=f"more than {MAX_NESTING} sections within each other"):
        from_text(path, f"{anchored}c: {nested(half + 1, '*b')}\n")


def test_an_anchor_that_is_defined_again_causes_no_warning_of_the_parser(recwarn):
    assert parse("a: &x 1\nb: &x 2\nc: *x\n", parser("safe")) == {"a": 1, "b": 2, "c": 2}
    assert not recwarn.list
