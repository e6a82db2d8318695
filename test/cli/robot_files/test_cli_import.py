# SPDX-License-Identifier: Apache-2.0
"""`hexapod import`: the files that it writes, its report and its refusals."""

import pytest
from support.robots.urdf_robots import MASS, UrdfPeculiarity, scaled, urdf_text

from hexapod_control.cli.main import main
from hexapod_control.config.robots.robot_file import load


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    limit = '<limit lower="0" upper="0" effort="0" velocity="0"/>'
    row = UrdfPeculiarity(limit=limit, mass=MASS.replace("{0}", "0.0"), foot="visual")
    (tmp_path / "plain.urdf").write_text(urdf_text(UrdfPeculiarity()))
    (tmp_path / "poor.urdf").write_text(urdf_text(row))
    return tmp_path


def test_a_robot_file_a_mapping_and_a_report_with_views_are_written(folder, capsys):
    assert main(["import", "plain.urdf", "--out", "mine.yaml", "--servo", "AX-12A", "--voltage", "11.1"]) == 0
    file = load(folder / "mine.yaml")
    assert file.servo_model == "AX-12A" and len(file.robot.legs) == 6
    assert (folder / "mine.joints.yaml").read_text().count("name: l") == 9
    report = (folder / "mine.report.html").read_text()
    assert "from above" in report and "from the right" in report and report.count("<polyline") >= 12
    assert "hexapod sim --robot ./mine.yaml" in capsys.readouterr().out


def test_values_missing_from_the_urdf_are_listed_in_report_and_file(folder, capsys):
    """No masses, limits 0 0, no effort and velocity, no foot frame."""
    assert main(["import", "poor.urdf", "--out", "poor.yaml", "--mass", "2.0"]) == 0
    printed = capsys.readouterr().out
    for text in ("limits of 18 joints", "foot tip: end of the visual shapes", "velocity 0 is unusable", "--mass"):
        assert text in printed
    file = (folder / "poor.yaml").read_text()
    assert file.count("ASSUMED: no limits in the URDF, measure") == 3
    assert "ASSUMED: the URDF's effort 0 is unusable" in file and "ASSUMED: the URDF gives no mass" in file
    assert load(folder / "poor.yaml").robot.mass == pytest.approx(2.0, abs=1e-3)


def test_a_file_that_exists_is_replaced_only_on_request(folder, capsys):
    (folder / "small_robot.yaml").write_text("mine")
    assert main(["import", "plain.urdf"]) == 2
    assert "small_robot.yaml: exists already" in capsys.readouterr().err
    assert (folder / "small_robot.yaml").read_text() == "mine"
    assert main(["import", "plain.urdf", "--force"]) == 0
    assert load(folder / "small_robot.yaml").robot.name == "small_robot"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--servo", "AX-12"], "--servo: unknown model 'AX-12'; nearest: AX-12A"),
        (["--servo", "AX-12A"], "--voltage: is missing, must be 9 to 12 V for AX-12A"),
        (
            ["--servo", "STS3215", "--voltage", "8.7"],
            "is 8.7, must be 4 to 8.4 V or 9 to 12.6 V for STS3215",
        ),
        (["--voltage", "11.1"], "--voltage: is the supply of --servo MODEL, which is missing"),
        (
            ["--forward=-z"],
            "along the yaw axes of the legs, which --forward cannot be, must be one of x, -x",
        ),
        (["--freeze", "lf_coxa_joint"], "--freeze: must be NAME=VALUE, is 'lf_coxa_joint'"),
        (["--freeze", "lf_coxa_joint=wide"], "must be an angle in rad, e.g. 0.5 or 30deg, is 'wide'"),
        (["--out", "robot.txt"], "must end in .yaml"),
        (["--forward=-x", "--up", "x"], "--forward: must be another axis than --up"),
        (["--foot", "0", "0"], "--foot: must be [LINK] X Y Z, is '0 0'"),
        (["--foot", "lf_tibia", "0", "0", "9"], "is 'lf_tibia 0 0 9': each must be in [-3, 3] m"),
        (["--foot", "shin", "0", "0", "0.1"], "has no leg with the last link 'shin'"),
        (["--mass", "150"], "gives a robot file with body.mass, which must be in [0.001, 100] kg"),
        (["--scale", "20"], "if it is drawn too large, give --scale 0.1"),
    ],
)
def test_options_that_cannot_be_used_are_refused(folder, capsys, options, reason):
    assert main(["import", "plain.urdf", *options]) == 2
    assert reason in capsys.readouterr().err
    assert not [*folder.glob("*.yaml"), *folder.glob("*.html")]


def test_an_unusual_robot_passes_the_check_with_what_is_unusual_in_report_and_file(folder, capsys):
    """A femur longer than the tibia: what the URDF says is confirmed, and the human is asked to compare it."""
    (folder / "unusual.urdf").write_text(scaled(urdf_text(UrdfPeculiarity()), 0.4, "_foot_joint"))
    assert main(["import", "unusual.urdf", "--out", "unusual.yaml"]) == 0
    assert "unusual, compare it with the robot: leg.femur.length is 0.066, is longer" in capsys.readouterr().out
    assert main(["check", "./unusual.yaml"]) == 0
    printed = capsys.readouterr().out
    assert "all values are plausible" in printed and "; confirmed: imported from unusual.urdf" in printed
