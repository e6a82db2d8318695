# SPDX-License-Identifier: Apache-2.0
"""The guided calibration finds how servos are mounted, on every bus, and saves a complete calibration or none."""

import signal
from dataclasses import replace

import numpy as np
import pytest
from support.kits.operator import is_about
from support.kits.simulated_bench import SimulatedLine
from support.phantomx import LEGS, narrow_file
from support.real_time.calibration_bench import Command, Mounted, Person, calibrate_here

from hexapod_control.cli.main import main
from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots.robot_file import load
from hexapod_control.servos.calibration.guide import STEPS, CalibrationGuide
from hexapod_control.servos.calibration.servo_jogger import ServoJogger
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.save_servo_section import save
from hexapod_control.servos.settings.servo_section import servo_settings

WIRED = [name for name in PROTOCOLS if name != "loopback"]
RELAX_S = 10.0  # until torque-off arrives, after the bytes that are still on the wire


@pytest.fixture
def mounted(tmp_path, own):
    made = []

    def make(protocol, **options):
        made.append(Mounted(protocol, own, tmp_path / "bus", **options))
        return made[-1]

    yield make
    for each in made:
        each.pty.close()


@pytest.fixture
def own(tmp_path):
    """A robot file outside the package."""
    return narrow_file(tmp_path / "mine.yaml")


def guide(mounted, person, time):
    """The guide on the servos, in simulated time."""
    row, settings = PROTOCOLS[mounted.settings.protocol], mounted.settings
    bus = row.open(SimulatedLine(mounted.device, settings.baud, time), settings.ids)
    bus.identify()
    jogger = ServoJogger(bus, dict.fromkeys(settings.ids, float(row.scale.center)), 50.0, lambda seconds: None)
    units = {"units_per_rad": row.scale.per_rad, "units_per_rad_neg": row.scale.per_rad}
    return CalibrationGuide(mounted.robot, [replace(joint, **units) for joint in settings.joints], jogger, person)


@pytest.mark.parametrize("protocol", WIRED)
def test_the_guide_finds_how_the_servos_of_every_bus_are_mounted(protocol, mounted, simulated_time):
    """Article D1: eighteen servos, each one calibrated, mirrored left and right."""
    mounted = mounted(protocol)
    person = Person(mounted, measure=() if mounted.smart else ("scale",))
    run = guide(mounted, person, simulated_time)
    try:
        run.run(mounted.settings.ids, STEPS)
    finally:
        run.jogger.relax()
        simulated_time.wait(simulated_time.now + RELAX_S, lambda: not mounted.world.torques.any())
        run.jogger.bus.close()
    coarse = 1.0 / PROTOCOLS[protocol].scale.per_rad  # [rad] of one unit
    assert max(mounted.errors(run.joints)) < 3.0 * coarse
    assert mounted.relaxed()


@pytest.mark.parametrize("protocol", ["feetech_st", "ssc32"])
def test_going_back_once_at_every_question_leads_to_the_same_calibrations(protocol, mounted, simulated_time):
    def calibrated(goes_back):
        robot_ = mounted(protocol)
        person = Person(robot_, measure=("scale",))
        seen, answer_to = set(), person.answer_to

        def hesitant(prompt, meanwhile=None):
            values = {key: str(value) for key, value in prompt.text.values.items() if key != "position"}
            asked = (prompt.kind, *values.items())
            if asked in seen or not goes_back:
                return answer_to(prompt, meanwhile)
            seen.add(asked)
            person.prompts.append(prompt)
            person.jogged = None
            return "b"

        person.answer_to = hesitant
        run = guide(robot_, person, simulated_time)
        run.run(robot_.settings.ids, STEPS)
        run.jogger.relax()
        run.jogger.bus.close()
        robot_.pty.close()
        return run.joints, len(person.asked)

    straight, count = calibrated(False)
    hesitating, more = calibrated(True)
    assert hesitating == straight
    assert more > 2 * count - 10


def test_an_impossible_reference_position_is_requested_again(mounted, simulated_time):
    mounted = mounted("feetech_st")
    person = Person(mounted, measure=("scale",))
    run = guide(mounted, person, simulated_time)
    wrong = iter([True])

    def answer_to(prompt, meanwhile=None, usual=person.answer_to):
        if prompt.kind == "hold_pose" and prompt.joint == ("left_front", "coxa") and next(wrong, False):
            mounted.put({0: 0.1})
            return ""
        return usual(prompt, meanwhile)

    person.answer_to = answer_to
    run.run(mounted.settings.ids, ["wiggle", "rest", "marks"])
    run.jogger.bus.close()
    assert person.shown("unusual_scale")
    assert max(mounted.errors(run.joints)) < np.radians(0.3)


# --- the file ---------------------------------------------------------------------------------------


def test_saving_keeps_every_other_line_and_the_comments_of_the_section(own, tmp_path):
    path = tmp_path / "mine.yaml"
    file = load(path)
    settings = servo_settings(file, "feetech_st", "/dev/ttyUSB0")
    before = path.read_text()
    backup = save(file, settings, PROTOCOLS["feetech_st"].scale)
    assert backup.read_text() == before
    after = path.read_text()
    assert after.startswith(before.rstrip("\n"))
    path.write_text(after.replace("  port:", "  battery: {warn: 10.5, critical: 9.9}  # three cells\n  port:"))
    file = load(path)
    joints = tuple(replace(joint, center=2000.0) for joint in settings.joints)
    save(file, replace(settings, joints=joints), PROTOCOLS["feetech_st"].scale)
    again = path.read_text()
    assert "# three cells" in again and again.index("battery") < again.index("port:")
    found = servo_settings(load(path))
    assert {joint.center for joint in found.joints} == {2000.0}
    assert found.battery.warn == 10.5


def test_a_calibration_that_the_driver_would_refuse_is_not_written(own, tmp_path):
    path = tmp_path / "mine.yaml"
    file, before = load(path), path.read_text()
    settings = servo_settings(file, "feetech_st", "/dev/ttyUSB0")
    twice = tuple(replace(joint, id=1) for joint in settings.joints)
    with pytest.raises(RobotFileError, match=r"mine.yaml: was not written.*must be unique"):
        save(file, replace(settings, joints=twice), PROTOCOLS["feetech_st"].scale)
    assert path.read_text() == before
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--robot", "phantomx", "--protocol", "feetech_st", "--port", "/dev/none"], "copy it first: cp "),
        (["--robot", "OWN"], "has no servo bus"),
        (["--robot", "OWN", "--protocol", "feetech_st", "--port", "/dev/none"], "there is no such port"),
        (["--robot", "OWN", "--protocol", "feetech_st", "--port", "/dev/none", "--steps", "rets"], "--steps: must be"),
    ],
)
def test_robots_that_cannot_be_calibrated_are_refused_with_the_remedy(own, arguments, message, capsys):
    assert main(["calibrate", *(str(own) if argument == "OWN" else argument for argument in arguments)]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


# --- from the view of a user ------------------------------------------------------------------------------


@pytest.mark.process
@pytest.mark.parametrize("protocol", ["feetech_st", "ssc32"])
def test_a_person_calibrates_a_robot_in_the_terminal(protocol, mounted, own):
    mounted = mounted(protocol)
    person = Person(mounted, measure=("limits",) if mounted.smart else ("scale",))
    command = Command(
        person, "--robot", str(own), "--protocol", protocol, "--port", mounted.settings.port, "--steps",
        "wiggle,rest,marks",
    )  # fmt: skip
    assert command.run() == 0, command.text
    found = servo_settings(load(own))
    assert (found.protocol, found.port) == (protocol, mounted.settings.port)
    assert max(mounted.errors(found.joints)) < np.radians(0.5)
    assert f"Use the scale and limits of {LEGS[0]} for {LEGS[3]} as well? [Y/n]" in command.text
    assert mounted.relaxed()


@pytest.mark.process
@pytest.mark.parametrize(
    ("number", "last", "answered"),
    [(signal.SIGTERM, "which_joint 5", range(1, 5)), (signal.SIGHUP, "hold_pose left_rear", range(1, 19))],
)
def test_a_calibration_that_a_signal_ends_is_offered_again_and_its_torque_is_off(
    mounted, own, number, last, answered, monkeypatch
):
    mounted = mounted("feetech_st")
    before = own.read_text()
    port = mounted.settings.port
    words = ("--robot", str(own), "--protocol", "feetech_st", "--port", port, "--steps", "wiggle,rest")
    person = Person(mounted)
    first = Command(person, *words)
    usual = person.answer_to

    def answer_to(prompt):
        if is_about(prompt.text, last):
            first.process.send_signal(number)
            first.process.wait(10.0)
            return ""
        return usual(prompt)

    person.answer_to = answer_to
    first.write = lambda answer, write=first.write: first.process.poll() is None and write(answer)
    assert first.run() == 128 + number, first.text
    assert mounted.relaxed()
    assert "nothing was saved; the answers so far are in " in first.text
    assert own.read_text() == before
    second = Person(mounted)
    assert calibrate_here(monkeypatch, second, *words) == 0
    assert second.asked[0].kind == "continue" and second.shown(last)
    assert not [servo for servo in answered if second.shown(f"which_joint {servo}")]
    assert max(mounted.errors(servo_settings(load(own)).joints)) < np.radians(0.5)
    assert not list(own.parent.glob("*.calibration"))


@pytest.mark.process
def test_an_abandoned_calibration_leaves_the_file_and_switches_the_torque_off(mounted, own):
    mounted = mounted("feetech_st")
    before = own.read_text()
    person = Person(mounted)
    command = Command(person, "--robot", str(own), "--protocol", "feetech_st", "--port", mounted.settings.port)
    person.answer_to = lambda prompt: command.process.stdin.close() or ""
    command.write = lambda answer: None
    assert command.run() == 1
    assert "nothing was saved" in command.text
    assert own.read_text() == before
    assert mounted.relaxed()
