# SPDX-License-Identifier: Apache-2.0
"""`hexapod i2c scan`: devices on the I2C bus of a robot, compared with its robot file."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from hexapod_control.cli.bounded_options import HasArguments, InputError, add_everywhere
from hexapod_control.config.errors import DONE, FAILED
from hexapod_control.config.robots.robot_file import RobotFile, load
from hexapod_control.servos.bus.bus_interface import BusError, PortGoneError
from hexapod_control.servos.i2c.foot_switches import SWITCH_CHIPS
from hexapod_control.servos.i2c.i2c_bus import open_i2c
from hexapod_control.servos.i2c.i2c_port import I2cPort, TransferError, listed, scan
from hexapod_control.servos.i2c.imu_chips import IMU_CHIPS, check_imu
from hexapod_control.servos.i2c.pwm_chip import ALL_CALL, FIRST_ADDRESS
from hexapod_control.servos.i2c.supply_sensor import SUPPLY_CHIPS, check_supply
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.protocols.pca9685 import board_addresses
from hexapod_control.servos.settings.io_section import I2C_SERVOS, IoSettings, io_settings
from hexapod_control.servos.settings.servo_section import servo_settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    parent = add_everywhere(parser, _add_options)
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    text = "list what answers, what is expected and what is missing; changes nothing"
    actions.add_parser("scan", parents=[parent], help=text)


def _add_options(parser: HasArguments) -> None:
    parser.add_argument("--robot", default="phantomx", metavar="NAME|FILE", help="robot (default: phantomx)")
    parser.add_argument("--bus", default="", metavar="PATH", help="I2C bus (default: the robot file's)")


def run(args: argparse.Namespace) -> int:
    """Prints the table. Returns 1 if an expected device is missing, or is another chip."""
    file = load(args.robot)
    bus = args.bus or io_settings(file).bus
    wanted = expected(file, bus if not args.bus else "")
    try:
        port = open_i2c(bus, PROTOCOLS[I2C_SERVOS].baud)
        try:
            found = scan(port)
            wrong = wrong_chips(port, io_settings(file), found)
        finally:
            port.close()
    except (PortGoneError, BusError) as error:
        raise InputError(str(error)) from None
    for line in report(bus, found, wanted, wrong):
        print(line)
    return FAILED if wrong or set(wanted) - set(found) else DONE


def expected(file: RobotFile, bus: str) -> dict[int, str]:
    """Titles of the devices of a robot file by address; boards of the servos if they are on the bus (empty: any)."""
    servos = servo_settings(file)
    boards = servos.protocol == I2C_SERVOS and bus in ("", servos.port)
    titles = {
        address: f"PCA9685, servo ids {16 * n} to {16 * n + 15}"
        for n, address in enumerate(board_addresses(servos.ids, dict(servos.options)) if boards else ())
    }
    return titles | {address: f"{title}, io.{key}" for key, address, title in io_settings(file).devices()}


def wrong_chips(port: I2cPort, io: IoSettings, found: Iterable[int]) -> dict[int, str]:
    """By address: why a sensor that responds is not the one in the robot file."""
    checks: dict[int, Callable[[], None]] = {}
    if io.imu:
        checks[io.imu.address] = partial(check_imu, port, IMU_CHIPS[io.imu.chip], io.imu.address)
    if io.battery:
        checks[io.battery.address] = partial(check_supply, port, io.battery)
    wrong = {}
    for address in set(checks) & set(found):
        try:
            checks[address]()
        except TransferError as error:
            wrong[address] = str(error)
    return wrong


def report(bus: str, found: Iterable[int], wanted: Mapping[int, str], wrong: Mapping[int, str]) -> list[str]:
    """The table of all addresses, and a summary."""
    present = set(found)
    lines = []
    for address in sorted(present | set(wanted)):
        if address in wrong:
            state = "WRONG"
        elif address not in wanted:
            state = "unknown"
        else:
            state = "found" if address in present else "MISSING"
        lines.append(f"0x{address:02X}  {state:8s} {wanted.get(address) or possible_chips(address, wanted)}")
    lines += wrong.values()
    missing = sorted(set(wanted) - present)
    remedy = "check their power, cables and address jumpers; two boards with one address answer as one"
    gaps = f"{listed(missing)}: {remedy}" if missing else "none"
    return [*lines, f"{bus}: {len(present)} devices answer, {len(wanted)} are expected, missing: {gaps}"]


def possible_chips(address: int, wanted: Mapping[int, str]) -> str:
    """Guess of a device that is not in the robot file."""
    if address == ALL_CALL and any("PCA9685" in title for title in wanted.values()):
        return "the common address of all PCA9685 until the driver starts"
    usual = [chip.title for chip in IMU_CHIPS.values() if address - chip.address in (0, 1)]
    usual += [chip.title for chip in SUPPLY_CHIPS.values() if address == chip.address]
    usual += ["PCA9685"] if FIRST_ADDRESS <= address < FIRST_ADDRESS + 4 else []
    usual += [chip.title for chip in SWITCH_CHIPS.values() if address == chip.address]
    return "not in the robot file" + (f"; perhaps {', '.join(usual)}" if usual else "")
