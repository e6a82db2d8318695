# SPDX-License-Identifier: Apache-2.0
"""`hexapod servos`: finds servos, shows their readings, changes an id, moves one joint. Needs no ROS."""

from __future__ import annotations

import argparse
import contextlib
import math
import signal
import sys
import time
from collections.abc import Iterable, Sequence

from hexapod_control.bringup.process_supervisor import stop_requests
from hexapod_control.cli.bounded_options import CommandFailedError, InputError, add_everywhere, add_number, number
from hexapod_control.cli.servos import bus_access, repair, search
from hexapod_control.cli.servos.bus_access import Interrupted, ServoAction, interruptions
from hexapod_control.cli.servos.terminal_dialog import TerminalDialog
from hexapod_control.config.errors import DONE
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.servo_table import KG_CM, RPM, CatalogServo, servo_table
from hexapod_control.core.names import JOINTS, joint_name
from hexapod_control.core.quantity import Quantity, QuantityError
from hexapod_control.core.refusal import Refusal
from hexapod_control.servos.bus.bus_interface import Bus, ServoFault, ServoQuantity, ServoReading
from hexapod_control.servos.calibration.dialog import Abandoned, agreed, yes_or_no
from hexapod_control.servos.calibration.joint_moves import is_far, move_question
from hexapod_control.servos.calibration.move_check import move_failure, torque_missing
from hexapod_control.servos.calibration.servo_jogger import ServoJogger
from hexapod_control.servos.settings.joint_calibration import JointCalibration
from hexapod_control.servos.settings.servo_section import ServoSettings

HEAD = ("model", "protocol", "V", "rad/s", "rpm", "N m", "kg cm", "range deg", "g", "source")
REFRESH_PERIOD_S = 0.2
MAX_TABLES = 1_000_000  # of `watch`
SENT_OFF = "torque is off, as far as can be known: these servos report nothing"
STILL_ON = "still has torque: repeat with hexapod servos off, or switch the power of the servos off"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    parent = add_everywhere(parser, lambda each: bus_access.add_arguments(each, "phantomx"))
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    def add(name: str, text: str) -> argparse.ArgumentParser:
        return actions.add_parser(name, parents=[parent], help=text)

    scan = add("scan", "find servos and list their ids, models and joints")
    search.add_scan_arguments(scan)
    ping = add("ping", "ping servos and show their models and response times")
    ping.add_argument("ids", nargs="*", type=bus_access.servo_id, metavar="ID", help="default: those of the robot file")
    watch = add("watch", "live table of the servos' readings, until Ctrl-C; only reads")
    add_number(watch, "--count", Quantity("", 0, MAX_TABLES, "end after this many tables; 0: never", 0, whole=True))
    change = add("set-id", "write another id into the only servo on the bus; without ids: lead through all new servos")
    change.add_argument("old", nargs="?", type=bus_access.servo_id)
    change.add_argument("new", nargs="?", type=bus_access.servo_id)
    turned = add("identify", "turn one servo a little and ask which joint that was")
    turned.add_argument("id", type=bus_access.servo_id, metavar="ID")
    move = add("move", "move one joint slowly to an angle, then switch its torque off")
    move.add_argument("leg", metavar="LEG")
    move.add_argument("joint", choices=JOINTS)
    move.add_argument("degrees", type=_absolute_angle, help="angle of the joint [deg]; -20 is an angle, no distance")
    move.add_argument("--yes", action="store_true", help="move far without asking")
    move.add_argument("--hold", action="store_true", help="leave the torque on")
    restore = add("repair", "show registers that do not fit the robot, and restore them")
    restore.add_argument("--yes", action="store_true", help="restore them without asking")
    restore.add_argument("--limits", action="store_true", help="also narrow the servos' angle limits to the joints'")
    add("off", "switch the torque of all servos off")
    actions.add_parser(
        "models",
        parents=[parent],
        help="list the servos that a robot file may name, with their figures; needs no servos",
    )


def _absolute_angle(text: str) -> float:
    """The type of DEGREES. A plus looks like a distance."""
    if text.lstrip().startswith("+"):
        raise argparse.ArgumentTypeError(f"is the angle of the joint, not a distance: write it without +, is {text!r}")
    return number(Quantity("deg", -360.0, 360.0, "angle of the joint"))(text)


def run(args: argparse.Namespace) -> int:
    """Runs the subcommand. Returns 0 done, 1 failed or servos are missing, 2 bad input, 128 + number of a signal."""
    if args.action == "models":
        return show()
    file = load(args.robot)
    if args.action == "scan" and search.sweeps(args, file):
        return search.sweep_port(args, file)
    settings = bus_access.bus_settings(args, file)
    with stop_requests() as stop, bus_access.open_bus(settings, force_model=args.force_model) as bus:
        action = ServoAction(args, bus, settings, file, stop)
        if args.action not in ASKING:
            return ACTIONS[args.action](action)
        try:
            with interruptions():  # also while a question is open
                return ACTIONS[args.action](action)
        except Interrupted as end:
            with contextlib.suppress(OSError):  # the terminal may be gone
                print(f"\n{ASKING[args.action]}", file=sys.stderr, flush=True)
            return end.exit_code


def _ping(action: ServoAction) -> int:
    bus, settings = action.bus, action.settings
    if not bus.features.servo_ids:
        print("the board answers; its servos cannot report" if bus.identify() else "no answer")
        return DONE
    silent = 0
    names = action.names
    for servo in action.args.ids or settings.ids:
        begin = time.monotonic()
        model = bus.ping(servo)
        silent += model is None
        took = f"{1000.0 * (time.monotonic() - begin):6.1f} ms  {model}" if model else "no answer"
        print(f"{servo:4d}  {names.get(servo, ''):22s} {took}")
    return int(bool(silent))


def _watch(action: ServoAction) -> int:
    action.bus.identify()
    screen = TelemetryScreen()
    answering = 1
    while not action.stop.is_set():
        lines, answering = telemetry_table(action.bus, action.settings)
        screen.show(lines)
        if action.args.count and screen.shown >= action.args.count:
            break
        action.stop.wait(REFRESH_PERIOD_S)
    if action.bus.can_read and not answering:
        raise CommandFailedError("no servo answered in the end: check their power and cables")
    return DONE


def _off(action: ServoAction) -> int:
    if not action.args.force_model:
        action.bus.identify()  # torque-off in a wrong protocol writes into other registers
    action.bus.relax()
    wrong = torque_missing(action.bus, action.settings.ids, False)
    names = action.names
    if wrong:
        holding = [f"{names[i]} (id {i})" for i, state in wrong.items() if state]
        silent = [f"{names[i]} (id {i})" for i, state in wrong.items() if state is None]
        texts = [f"{', '.join(holding)} still has torque"] if holding else []
        texts += [f"{', '.join(silent)} does not answer, so that its torque is unknown"] if silent else []
        raise CommandFailedError(f"{'; '.join(texts)}: repeat the command, or switch the power of the servos off")
    print("torque is off" if action.bus.features.torque else SENT_OFF)
    return DONE


def _repair(action: ServoAction) -> int:
    return repair.run(
        action.bus, action.settings, action.args.robot, confirmed=action.args.yes, limits=action.args.limits
    )


def _move(action: ServoAction) -> int:
    args, bus, settings, file = action.args, action.bus, action.settings, action.file
    if args.leg not in file.robot.leg_names:
        raise InputError(f"LEG: must be one of {', '.join(file.robot.leg_names)}, is {args.leg!r}")
    joint = next(j for j in settings.joints if j.joint == joint_name(args.leg, args.joint))
    lower, upper = math.degrees(joint.lower), math.degrees(joint.upper)
    try:
        Quantity("deg", lower, upper, "angle of the joint", hint="the joint's limits").checked(args.degrees)
    except QuantityError as error:
        raise InputError(f"DEGREES: {error}") from None
    goal = joint.goal(math.radians(args.degrees))  # never clamped: a robot file whose joint cannot go there is refused
    bus_access.check_models(bus, bus.identify())
    repair.check_before_torque(bus, joint)
    jogger = bus_access.servo_jogger(bus, settings, file, args.pace)
    if not jogger.reports_position:
        print("these servos report no positions: the robot is assumed to lie on its belly", file=sys.stderr)
    try:
        with interruptions(), bus_access.at_work():
            if action.stop.is_set():
                raise Interrupted(signal.SIGINT)
            begin = jogger.positions([joint.id])[joint.id]
            if not _agreed(joint, begin, goal, args, bus.scale.unit):
                raise CommandFailedError("nothing has moved: the move was not confirmed")
            failure = _move_to(jogger, joint, goal, joint.angle(begin))
            if failure is not None:
                raise CommandFailedError(f"{failure}; torque-off is sent")
            if not args.hold:
                jogger.release(settings.ids)
                if torque_missing(bus, [joint.id], False):
                    raise CommandFailedError(f"{joint.short_name} (id {joint.id}) {STILL_ON}")
    except BaseException as error:
        jogger.relax()  # torque off, wherever the joint is
        if not isinstance(error, Interrupted):
            raise
        with contextlib.suppress(OSError):  # the terminal may be gone
            print("stopped, torque is off", file=sys.stderr)
        return error.exit_code
    return DONE


def _agreed(joint: JointCalibration, begin: float, goal: int, args: argparse.Namespace, unit: str) -> bool:
    """Asks before a far move [raw], if the terminal can answer."""
    if args.yes or not sys.stdin.isatty() or not is_far(goal - begin, joint.units_per_rad, unit):
        return True
    try:
        return agreed(TerminalDialog().ask_again(yes_or_no(move_question(joint, begin, goal, unit), False)))
    except Abandoned:
        return False


def _move_to(jogger: ServoJogger, joint: JointCalibration, goal: int, begin: float) -> Refusal | None:
    """Moves a joint from an angle [rad] to a goal [raw] and prints its angle. Returns why it is not there."""
    jogger.go({joint.id: goal})
    jogger.settle()
    failure = move_failure(jogger.bus, joint, joint.angle(goal), begin)
    if failure is None:
        raw = jogger.positions([joint.id])[joint.id]
        verb = "is at" if jogger.reports_position else "was sent to"
        print(f"{joint.joint} (id {joint.id}) {verb} {math.degrees(joint.angle(raw)):.1f} deg")
    return failure


ACTIONS = {
    "scan": search.scan,
    "ping": _ping,
    "watch": _watch,
    "set-id": search.set_id,
    "identify": search.identify,
    "move": _move,
    "off": _off,
    "repair": _repair,
}
ASKING = {  # actions with questions, and what is left after a signal
    "set-id": "ended: the ids that were reported so far are stored in the servos",
    "identify": "ended: nothing was saved, torque is off",
    "repair": "ended: the registers that were reported as restored stay so; run the same command again",
}


def show() -> int:
    """Prints a row per listed supply of every servo, as CSV."""
    print(",".join(HEAD))
    for servo in servo_table():
        for row in _rows(servo):
            print(",".join(row))
    return DONE


def _rows(servo: CatalogServo) -> list[tuple[str, ...]]:
    return [
        (
            servo.model,
            servo.protocol,
            f"{each.voltage:g}",
            f"{each.no_load_speed:.2f}",
            f"{each.no_load_speed / RPM:.0f}",
            f"{each.stall_torque:.3f}",
            f"{each.stall_torque / KG_CM:.1f}",
            f"{servo.turn:g}",
            f"{1000.0 * servo.mass:g}",
            servo.source,
        )
        for each in servo.figures
    ]


class TelemetryScreen:
    """Prints tables: on a terminal each over the previous one, else one after the other."""

    def __init__(self) -> None:
        self.shown = 0

    def show(self, lines: Sequence[str]) -> None:
        """Shows a table."""
        if self.shown and sys.stdout.isatty():  # over the last table
            print(f"\x1b[{len(lines)}A" + "\n".join(f"{line}\x1b[K" for line in lines))
        else:
            print("\n".join(lines))
        sys.stdout.flush()
        self.shown += 1


def telemetry_table(bus: Bus, settings: ServoSettings) -> tuple[list[str], int]:
    """Reads all servos once. Returns the table of their readings, one string per line, and how many have answered."""
    answers = bus.read(settings.ids, bus.can_read or ServoQuantity.POSITION)
    head = f"{'joint':22s} {'id':>3s} {'raw':>6s} {'deg':>7s} {'load':>5s} {'V':>5s} {'degC':>4s}  faults"
    volts, amperes = bus.supply()
    rows = [_row(joint, answers.get(joint.id)) for joint in settings.joints]
    counters = bus.counters
    foot = [f"{len(answers)} of {len(rows)} answer", f"{counters.bad} bad frames", f"{counters.timeouts} timeouts"]
    if volts is not None:
        foot.append(f"board {volts:.1f} V" + (f" {amperes:.2f} A" if amperes is not None else ""))
    if not bus.can_read & ServoQuantity.POSITION:
        foot.append("raw is the last goal: these servos report no position")
    return [head, *rows, ", ".join(foot)], len(answers)


def _row(joint: JointCalibration, reading: ServoReading | None) -> str:
    """The row of one servo; a dash stands for a value that it does not report."""
    name = joint.short_name
    if reading is None:
        return f"{name:22s} {joint.id:3d}      -"
    raw = reading.position
    cells = (
        _cell("6d", raw),
        _cell("7.1f", None if raw is None else math.degrees(joint.angle(raw))),
        _cell("5.2f", reading.load),
        _cell("5.1f", reading.voltage),
        _cell("4.0f", reading.temperature),
    )
    return f"{name:22s} {joint.id:3d} {' '.join(cells)}  {_faults(reading.fault)}".rstrip()


def _cell(form: str, value: float | None) -> str:
    return "-".rjust(int(form.split(".")[0].rstrip("d"))) if value is None else format(value, form)


def _faults(fault: ServoFault) -> str:
    names: Iterable[str] = (item.name.lower() for item in ServoFault if item in fault and item.name)
    return " ".join(names)
