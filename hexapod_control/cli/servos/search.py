# SPDX-License-Identifier: Apache-2.0
"""Actions of `hexapod servos` on ids: find servos by a scan or a sweep, change an id, identify the joint of a servo."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence

from hexapod_control.cli.bounded_options import InputError
from hexapod_control.cli.servos import bus_access
from hexapod_control.cli.servos.bus_access import ServoAction
from hexapod_control.cli.servos.terminal_dialog import TerminalDialog
from hexapod_control.config.errors import DONE, FAILED
from hexapod_control.config.robots.draft.questions.drawings import drawing
from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.config.section_writer import own_file
from hexapod_control.config.sentence import Sentence
from hexapod_control.servos.bus.bus_interface import NoAnswerError, PortGoneError
from hexapod_control.servos.bus.id_addressing import duplicate_ids
from hexapod_control.servos.bus.serial_port import SerialPort
from hexapod_control.servos.calibration.assign_ids import USUAL_IDS, IdAssignment
from hexapod_control.servos.calibration.calibration_state import CalibrationState
from hexapod_control.servos.calibration.dialog import Abandoned, Back
from hexapod_control.servos.calibration.steps import identify_joints
from hexapod_control.servos.line_search import sweep
from hexapod_control.servos.protocol_registry import PROTOCOLS, refused, scale
from hexapod_control.servos.settings.save_servo_section import save
from hexapod_control.servos.settings.servo_section import LOOPBACK, servo_settings

MAX_SWEEP_S = 30  # approximate, shown to the user


@dataclasses.dataclass(frozen=True, slots=True)
class SweepLimits:
    """Limits of a sweep; empty: none."""

    ids: Sequence[int]
    protocols: tuple[str, ...]
    bauds: tuple[int, ...]


def add_scan_arguments(scan: argparse.ArgumentParser) -> None:
    """Options of `scan`."""
    scan.add_argument("--ids", default="", metavar="A-B", help="ids to scan, e.g. 1-30 (default: all; swept: 0-32)")
    scan.add_argument(
        "--sweep", action="store_true", help="try all protocols and baud rates, whatever the robot file says"
    )
    scan.add_argument("--protocols", default="", metavar="P,P", help="protocols of the sweep (default: all)")
    scan.add_argument(
        "--bauds", default="", metavar="B,B", help="baud rates of the sweep (default: all that servos have)"
    )


def sweeps(args: argparse.Namespace, file: RobotFile) -> bool:
    """True if a scan has to find out protocol and baud rate first."""
    limited = bool(args.sweep or args.protocols or args.bauds)
    return limited or (not args.protocol and servo_settings(file).protocol == LOOPBACK)


def sweep_port(args: argparse.Namespace, file: RobotFile) -> int:
    """Prints what responds at the port, at any baud rate and with any protocol. Returns 1 if nothing does."""
    path = args.port or servo_settings(file).port
    if not path:
        raise InputError("--port: must be given, the robot file names none, e.g. /dev/serial/by-id/usb-...")
    limits = _limits(args)
    try:
        SerialPort(path, limits.bauds[0] if limits.bauds else PROTOCOLS["feetech_st"].baud).close()
    except PortGoneError as error:
        raise InputError(str(error)) from None
    print(f"{path}: all baud rates and protocols are tried, which takes up to {MAX_SWEEP_S} s", flush=True)
    count = 0
    found = []

    def tried(text: str) -> None:
        nonlocal count
        count += 1
        bus_access.show_progress(text)

    for finding in sweep(lambda baud: SerialPort(path, baud), limits.ids, limits.protocols, limits.bauds, tried):
        found.append(finding)
        bus_access.show_progress("")
        print(finding.text, flush=True)
    usable = [finding for finding in found if finding.protocol]
    if not found:
        print(f"nothing answers in {count} attempts: check the servos' power supply, the data line and the port")
    elif usable:
        best = max(usable, key=lambda finding: len(finding.servos))
        print(f"next: hexapod servos --protocol {best.protocol} --baud {best.baud} --port {path} scan")
    return DONE if found else FAILED


def _limits(args: argparse.Namespace) -> SweepLimits:
    protocols = tuple(name for name in args.protocols.split(",") if name) or tuple(filter(None, [args.protocol]))
    for name in protocols:
        if name not in PROTOCOLS:
            raise InputError(
                f"--protocols: is {name!r}, must be of {', '.join(PROTOCOLS)}; {refused(name)}".rstrip("; ")
            )
    try:
        bauds = tuple(int(bus_access.baud(text)) for text in args.bauds.split(",") if text)
    except argparse.ArgumentTypeError as error:
        raise InputError(f"--bauds: {error}") from None
    ids = id_range(args.ids, range(254)) if args.ids else USUAL_IDS
    return SweepLimits(ids, protocols, bauds or tuple(filter(None, [args.baud])))


def id_range(text: str, all_ids: range) -> range:
    """The ids in a text like 1-30. Raises InputError."""
    if not text:
        return all_ids
    first, dash, last = text.partition("-")
    if not (first.isdigit() and (last.isdigit() or not dash)):
        raise InputError(f"--ids: must be like 1-30, is {text!r}")
    ids = range(int(first), int(last or first) + 1)
    if not ids or ids[0] not in all_ids or ids[-1] not in all_ids:
        raise InputError(f"--ids: must be within {all_ids[0]}-{all_ids[-1]} with this protocol, is {text!r}")
    return ids


def scan(action: ServoAction) -> int:
    """Lists the servos that answer. Returns 1 if some of the robot file are missing."""
    bus, settings = action.bus, action.settings
    ids = id_range(action.args.ids, PROTOCOLS[settings.protocol].ids)
    try:
        models = bus_access.scan(bus, ids)
    except NoAnswerError as error:
        if PROTOCOLS[settings.protocol].connect is not SerialPort:
            raise  # no bus for serial protocols
        print(error)
        bus.close()
        return sweep_port(action.args, action.file)
    names = action.names
    for servo, model in sorted(models.items()):
        print(f"{servo:4d}  {model:28s} {names.get(servo, 'not in the robot file')}")
    absent = [i for i in settings.ids if i not in models and i in ids]
    duplicates = duplicate_ids(bus, absent)
    missing = [f"{names[i]} (id {i})" for i in absent if i not in duplicates]
    garbled = [f"{names[i]} (id {i})" for i in duplicates]
    parts = [f"{len(models)} servos"]
    if missing:
        parts.append(f"missing: {', '.join(missing)}")
    if garbled:
        parts.append(
            f"corrupt replies, probably two servos have this id: {', '.join(garbled)}; connect only one, set its id"
        )
    print("; ".join(parts))
    bus_access.check_models(bus, models)
    return FAILED if absent else DONE


def set_id(action: ServoAction) -> int:
    """Writes one id, or leads through all servos of the robot."""
    bus = action.bus
    settings = action.settings
    old = action.args.old
    new = action.args.new
    if not bus.features.servo_ids:
        raise InputError(f"set-id: servos of {settings.protocol} are channels of a board: plug the servo in elsewhere")
    known = PROTOCOLS[settings.protocol].ids
    if old is None:
        return _assign(action)
    if new is None or new not in known or old == new:
        raise InputError(f"set-id: NEW must be another id from {known[0]} to {known[-1]}, is {new}")
    models = bus_access.scan(action.bus, known)
    if list(models) != [old]:
        ids = ", ".join(map(str, sorted(models)))
        raise InputError(f"set-id: connect only the servo with id {old}, these answer: {ids}")
    bus_access.check_models(action.bus, models)
    with bus_access.at_work():
        bus.set_id(old, new)
    print(f"{models[old]}: id changed from {old} to {new} and stored in the servo")
    return DONE


def _assign(action: ServoAction) -> int:
    try:
        known = PROTOCOLS[action.settings.protocol].ids
        IdAssignment(action.bus, action.settings.joints, known, TerminalDialog(action.file.robot)).run()
    except Abandoned:
        print("\nthe ids so far are stored in the servos: run the same command again to continue")
        return FAILED
    print("next: hexapod calibrate, with the same options")
    return DONE


def identify(action: ServoAction) -> int:
    """Turns one servo a little, asks for its joint, and offers to write it into the robot file."""
    bus, settings, file = action.bus, action.settings, action.file
    bus_access.check_models(bus, bus.identify())
    jogger = bus_access.servo_jogger(bus, settings, file, action.args.pace)
    state = CalibrationState(file.robot, settings.joints, jogger, TerminalDialog())
    state.help = Sentence("help_wiggle")
    print(*drawing("top", file.robot), sep="\n")
    state.say(Sentence("help_wiggle"))
    try:
        with bus_access.at_work():
            identify_joints.identify(state, action.args.id)
    except Abandoned:
        print("\nnothing was saved; torque is off", flush=True)
        return FAILED
    finally:
        jogger.relax()
    changed = [b for a, b in zip(settings.joints, state.joints, strict=True) if a != b]
    if not changed:
        print("no change from the robot file")
        return DONE
    for joint in changed:
        print(f"{joint.short_name}: servo {joint.id}, direction {joint.direction:+d}")
    path = own_file(action.args.robot)
    try:
        agreed = state.agrees(Sentence("save", path=path), True)
    except (Abandoned, Back):
        agreed = False
    if not agreed:
        print("\nnothing was saved")
        return FAILED
    corrected = dataclasses.replace(settings, joints=tuple(state.joints))
    backup = save(file, corrected, scale(settings.protocol, settings.options))
    print(f"saved; backup of the old file: {backup.name}")
    return DONE
