"""`hexapod servos`: finds servos, shows their readings, changes an id, moves one joint. Needs no ROS."""

from __future__ import annotations

import argparse
import contextlib
import math
import signal
import sys
import time

from hexapod_control.bringup.process_supervisor import stop_requests
from hexapod_control.cli.bounded_options import add_everywhere, number, whole_number
from hexapod_control.cli.input_error import InputError
from hexapod_control.cli.servos import bus_access, models, repair, search
from hexapod_control.cli.servos.interruption import Interrupted, interruptions
from hexapod_control.cli.servos.servo_action import ServoAction
from hexapod_control.cli.servos.telemetry_table import TelemetryScreen, telemetry_table
from hexapod_control.config.errors import DONE
from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.names import JOINTS, joint_name
from hexapod_control.servos.calibration.servo_jogger import ServoJogger
from hexapod_control.servos.settings.joint_calibration import JointCalibration

REFRESH_PERIOD_S = 0.2
MAX_TABLES = 1_000_000  # of `watch`


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
    watch.add_argument(
        "--count", type=whole_number(0, MAX_TABLES), default=0, metavar="N", help="end after N tables (default: never)"
    )
    change = add("set-id", "write another id into the only servo on the bus; without ids: lead through all new servos")
    change.add_argument("old", nargs="?", type=bus_access.servo_id)
    change.add_argument("new", nargs="?", type=bus_access.servo_id)
    turned = add("identify", "turn one servo a little and ask which joint that was")
    turned.add_argument("id", type=bus_access.servo_id, metavar="ID")
    move = add("move", "move one joint slowly to an angle, then switch its torque off")
    move.add_argument("leg", metavar="LEG")
    move.add_argument("joint", choices=JOINTS)
    move.add_argument("degrees", type=number(-360.0, 360.0, "deg"))
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


def run(args: argparse.Namespace) -> int:
    """Runs the subcommand. Returns 0 done, 1 servos are missing, 2 bad input, 128 + number of a signal."""
    if args.action == "models":
        return models.show()
    file = load(args.robot)
    if args.action == "scan" and search.sweeps(args, file):
        return search.sweep_port(args, file)
    settings = bus_access.bus_settings(args, file)
    with stop_requests() as stop, bus_access.open_bus(settings, force_model=args.force_model) as bus:
        return ACTIONS[args.action](ServoAction(args, bus, settings, file, stop))


def _ping(action: ServoAction) -> int:
    bus, settings = action.bus, action.settings
    if not isinstance(bus, bus_access.FoundServos):
        print("the board answers; its servos cannot report" if bus.identify() else "no answer")
        return DONE
    silent, names = 0, action.names
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
    while not action.stop.is_set():
        screen.show(telemetry_table(action.bus, action.settings))
        if action.args.count and screen.shown >= action.args.count:
            break
        action.stop.wait(REFRESH_PERIOD_S)
    return DONE


def _off(action: ServoAction) -> int:
    if not action.args.force_model:
        action.bus.identify()  # torque-off in a wrong protocol writes into other registers
    action.bus.relax()
    print("torque is off")
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
    if not lower <= args.degrees <= upper:
        raise InputError(f"DEGREES: must be in [{lower:g}, {upper:g}], the joint's limits, is {args.degrees:g}")
    bus_access.check_models(bus, bus.identify())
    repair.check_before_torque(bus, settings.protocol, joint)
    jogger = bus_access.servo_jogger(bus, settings, file, args.pace)
    if not jogger.reports_position:
        print("these servos report no positions: the robot is assumed to lie on its belly", file=sys.stderr)
    goal = joint.goal(math.radians(args.degrees))
    try:
        with interruptions():
            if action.stop.is_set():
                raise Interrupted(signal.SIGINT)
            _move_to(jogger, joint, goal)
            if not args.hold:
                jogger.release(settings.ids)
    except BaseException as error:
        jogger.relax()  # torque off, wherever the joint is
        if not isinstance(error, Interrupted):
            raise
        with contextlib.suppress(OSError):  # the terminal may be gone
            print("stopped, torque is off", file=sys.stderr)
        return error.exit_code
    return DONE


def _move_to(jogger: ServoJogger, joint: JointCalibration, goal: int) -> None:
    """Moves a joint to a goal [raw] and prints its angle."""
    jogger.go({joint.id: goal})
    jogger.settle()
    raw = jogger.positions([joint.id])[joint.id]
    verb = "is at" if jogger.reports_position else "was sent to"
    print(f"{joint.joint} (id {joint.id}) {verb} {math.degrees(joint.angle(raw)):.1f} deg")


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
