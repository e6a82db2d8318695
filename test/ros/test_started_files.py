# SPDX-License-Identifier: Apache-2.0
"""Files with which a graph was started: its nodes read the text of that time, and an edit is reported once."""

import pytest

from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots.robot_file import load
from hexapod_control.ros.monitoring.graph_identity import VARIABLE, new_graph, remove_state, started_graph
from hexapod_control.ros.started_files import StartedFile, keep_section, started_mapping, started_robot
from hexapod_control.servos.settings.io_section import io_settings


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A robot file whose edits are a graph's own."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "state"))
    (tmp_path / "state").mkdir()
    monkeypatch.setenv(VARIABLE, new_graph())
    path = tmp_path / "mine.yaml"
    path.write_text(load("phantomx").path.read_text())
    return path


def edit(path, number):
    path.write_text(f"{path.read_text()}# edit {number}\n")


def ended(started):
    """What is reported of an edit that has ended: the file did not change between two looks."""
    return [text for text in (started.edit(), started.edit(), started.edit()) if text]


def test_nodes_of_a_graph_read_the_robot_as_it_was_at_the_start_even_if_the_file_is_gone(file, monkeypatch):
    before = started_robot(str(file))
    file.write_text("nonsense: [")
    again = started_robot(str(file))
    assert again == before and again.path == file and io_settings(again) == io_settings(before)
    file.unlink()
    assert started_robot(str(file)) == before
    remove_state(started_graph())
    with pytest.raises(RobotFileError, match="there is no such file"):
        started_robot(str(file))


def test_a_node_that_is_started_alone_reads_the_file_itself(file, monkeypatch):
    monkeypatch.delenv(VARIABLE)
    started_robot(str(file))
    file.write_text("nonsense: [")
    with pytest.raises(RobotFileError):
        started_robot(str(file))


def test_without_a_folder_for_the_copy_the_file_itself_is_read(file, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/proc/nowhere")
    assert started_robot(str(file)).robot == load(file).robot


def test_a_joint_mapping_is_kept_as_well(file, tmp_path):
    assert started_mapping("", load(file).robot) is None
    robot, mapping = load(file).robot, tmp_path / "mapping.yaml"
    legs = [f"{leg}_{joint}_joint" for leg in robot.leg_names for joint in ("coxa", "femur", "tibia")]
    mapping.write_text("joints:\n" + "".join(f"  {name}: {{name: {name}, sign: 1, offset: 0.0}}\n" for name in legs))
    names = started_mapping(str(mapping), robot).names
    mapping.write_text("nonsense")
    assert started_mapping(str(mapping), robot).names == names == tuple(legs)


def test_a_calibration_is_kept_but_no_other_edit(file):
    height = started_robot(str(file)).robot.walk.height
    text = file.read_text()
    assert f"height: {height}" in text
    file.write_text(
        text.replace(f"height: {height}", f"height: {height + 0.01}") + "odometry_scale: {distance: 1.1, turn: 1.0}\n"
    )
    keep_section(str(file), "odometry_scale")
    kept = started_robot(str(file))
    assert kept.robot.walk.height == height
    assert kept.document.children["odometry_scale"].children["distance"].value == pytest.approx(1.1)


@pytest.mark.parametrize("graph", [True, False])
def test_an_edit_is_reported_once_by_whichever_node_looks(file, monkeypatch, graph):
    if not graph:
        monkeypatch.delenv(VARIABLE)
    started_robot(str(file))
    started = StartedFile(file)
    assert not ended(started)
    for number in (1, 2):
        edit(file, number)
        (text,) = ended(started)
        assert text == (
            f"{file} was changed: this robot keeps the one with which it was started; to use the new one, "
            "restart the robot"
        )
    assert not (graph and ended(StartedFile(file)))  # that of a node that was restarted
    file.write_text(load("phantomx").path.read_text())
    assert not ended(started)
