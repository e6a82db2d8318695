# SPDX-License-Identifier: Apache-2.0
"""`hexapod dots`: the sheet is in true scale and has every dot of the robot, on one page or on many."""

import re

import numpy as np
import pytest

from hexapod_control.cli.main import main
from hexapod_control.cli.robot_files.dots import PAPERS, Sheet
from hexapod_control.config.robots.robot_file import load
from hexapod_control.servos.calibration.foot_dots import dots

POINT_MM = 25.4 / 72.0
NUMBER = r"(-?[\d.]+)"


def lines(svg):
    """Straight lines of a drawing, (n, 2, 2) [mm] with y upwards."""
    found = re.findall(rf'd="M {NUMBER} {NUMBER} \nL {NUMBER} {NUMBER} \n"', svg)
    return np.array(found, dtype=float).reshape(-1, 2, 2) * (POINT_MM, -POINT_MM)


def crosses(drawn):
    """Middles [mm] that a level and an upright line have in common."""
    middles = drawn.mean(axis=1)
    level = np.isclose(drawn[:, 0, 1], drawn[:, 1, 1], atol=1e-3)
    gaps = np.linalg.norm(middles[level][:, None] - middles[~level][None], axis=2)
    return middles[level][(gaps < 1e-2).any(axis=1)]


def test_the_drawing_has_rulers_of_100_mm_and_every_dot_where_the_foot_stands(tmp_path, capsys):
    path = tmp_path / "dots.svg"
    assert main(["dots", "phantomx", "--output", str(path)]) == 0
    assert "100 %" in capsys.readouterr().out
    drawn = lines(path.read_text())
    lengths = np.abs(drawn[:, 1] - drawn[:, 0])
    for axis in (0, 1):
        assert (np.abs(lengths[:, axis] - 100.0) < 0.01).any()
    feet = dots(load("phantomx").robot)[..., :2].reshape(-1, 2) * 1e3
    expected = np.column_stack((-feet[:, 1], feet[:, 0]))  # on paper, x to the right and the front upwards
    found = crosses(drawn)
    hip = load("phantomx").robot.legs[0].hip
    for at in found:  # which cross is the hip of the first leg, follows from all others
        moved = expected + at - (-1e3 * hip[1], 1e3 * hip[0])
        if (np.linalg.norm(moved[:, None] - found[None], axis=2).min(axis=1) < 0.05).all():
            return
    pytest.fail("the crosses are not the dots")


@pytest.mark.parametrize("paper", PAPERS)
def test_every_dot_is_whole_on_a_page_of_the_paper(paper):
    for name in ("phantomx", "article", "octopod"):
        sheet = Sheet.of(load(name).robot)
        pages = sheet.pages(PAPERS[paper])
        assert {page.size for page in pages} <= {PAPERS[paper], PAPERS[paper][::-1]}
        for point in (*sheet.dots[0], *sheet.dots[1]):
            assert any(page.shows(*point) for page in pages)


def test_the_file_for_the_printer_has_pages_of_the_size_of_the_paper(tmp_path, capsys):
    path = tmp_path / "dots.pdf"
    assert main(["dots", "article", "--output", str(path), "--paper", "letter"]) == 0
    sizes = re.findall(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", path.read_bytes())
    assert f"{len(sizes)} page" in capsys.readouterr().out
    assert {tuple(sorted(round(float(each) / 72.0, 2) for each in size)) for size in sizes} == {(8.5, 11.0)}


def test_a_robot_without_room_for_two_dots_is_told_what_to_change(tmp_path, capsys):
    text = load("phantomx").path.read_text()
    stiff = re.sub(r"(coxa: \{)lower_deg: [-\d.]+, upper_deg: [\d.]+", r"\1lower_deg: -5, upper_deg: 5", text)
    assert stiff != text
    path = tmp_path / "stiff.yaml"
    path.write_text(stiff)
    assert main(["dots", str(path), "--output", str(tmp_path / "dots.pdf")]) == 1
    assert "joint limits" in capsys.readouterr().err
