# SPDX-License-Identifier: Apache-2.0
"""Plausibility of the sections `servos` and `io`: values within bounds that do not fit servos, boards or each other."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Any

from hexapod_control.config.robots.plausibility.finding import Finding
from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.config.robots.servo_table import permitted, usual_voltage, versions
from hexapod_control.core.names import JOINTS
from hexapod_control.core.robot import Leg
from hexapod_control.servos.i2c.pwm_chip import CHANNELS
from hexapod_control.servos.protocol_registry import PROTOCOLS, ServoProtocol
from hexapod_control.servos.settings.io_section import GPIO_DEVICE, I2C_SERVOS, IoSettings, io_settings
from hexapod_control.servos.settings.joint_calibration import SERVOS_PER_LEG, JointCalibration
from hexapod_control.servos.settings.servo_section import LOOPBACK, ServoSettings, servo_settings

PWM = "pwm"  # protocol of hobby servos in the servo table
SCALES = {True: (0.5, 2.0), False: (0.7, 1.4)}  # units per radian over the protocol's, of a board and of a bus
MAX_TRIM_RAD = math.radians(12.0)  # a horn fits within half a tooth, 7 deg, of where it should be
ODD_CENTER_RAD = math.radians(30.0)  # more than two teeth from the other servos
ODD_ANGLE_RAD = math.radians(10.0)  # q_center_deg from that of all others, which are equal
NEAR_MIDDLE_RAD = math.radians(15.0)  # q_center_deg from the middle of the joint's range
SAME_ANGLE_RAD = math.radians(0.5)
LOWEST_BATTERY = 0.6  # of the servos' supply
LOWEST_OF_SERVO = 0.85  # of the lowest supply that the maker permits
HIGHEST_BATTERY = 5.0  # of the supply of servos behind a regulator
ONE_CELL_V = (2.5, 4.3)
FULL_SCALE_V = {"ads1115": 4.096, "ina219": 32.0, "ina226": 40.96}  # at the input; of an ADS7830 its reference
TOO_WIDE = 10.0  # full scale over the battery's voltage
EIGHTH_DEG = 45.0
ALL_CALL = 0x70  # address of all PCA9685 together
FASTER_PULSES = 2.0  # times what the servo table says
ODD_SCALE = 1.25  # factor between a servo's units and those of most others, which are equal
NOT_SERIAL = ("video", "input", "gpiochip", "spidev", "null", "snd", "sd", "mem", "loop")  # devices in /dev
ADDRESSES = {
    **dict.fromkeys(("mpu6050", "mpu9250", "icm20948"), (0x68, 0x69)),
    "bno055": (0x28, 0x29),
    **dict.fromkeys(("ina219", "ina226"), (0x40, 0x4F)),
    **dict.fromkeys(("ads1115", "ads7830"), (0x48, 0x4B)),
    "mcp23017": (0x20, 0x27),
}  # first and last address of a chip
RATES = (
    9600,
    19200,
    38400,
    57600,
    76800,
    115200,
    128000,
    200000,
    250000,
    400000,
    500000,
    *range(10**6, 5 * 10**6, 10**6),
)
BITS_PER_GOAL = 40  # at least, on a serial bus
I2C_CLOCKS = (100_000, 400_000, 1_000_000)
USUAL = {  # key, as the name of the setting: lowest and highest value, what is usual, likely cause
    "servos.rate": (15.0, 200.0, "usual are {:g} to {:g} Hz", "is a digit wrong?"),
    "servos.lost_after": (0.1, 3.0, "usual are {:g} to {:g} s", "in seconds"),
    "servos.max_temperature": (45.0, 90.0, "usual are {:g} to {:g} degC", "is a digit wrong?"),
    "servos.silence_time": (0.5, 600.0, "usual are {:g} to {:g} s", "in seconds"),
    "servos.battery.time": (0.0, 20.0, "sags of a battery last up to {1:g} s", "in seconds"),
    "io.feet.bounce": (0.0, 0.1, "a switch bounces for some milliseconds", "in seconds"),
    "io.battery.shunt": (0.0, 0.5, "a shunt has up to {1:g} ohm", "R100 on it is 0.1 ohm"),
    "io.battery.reference": (2.5, 6.0, "it is 3.3 or 5 V", "the supply of the chip"),
}
HEADER_PINS = range(2, 28)  # of a Raspberry Pi; 0 and 1 are those of its EEPROM
SERIAL_PINS = (14, 15)  # of /dev/serial0 there
SERIAL_PORTS = ("/dev/serial0", "/dev/ttyAMA0", "/dev/ttyS0")
I2C_PINS = (2, 3)  # of /dev/i2c-1 there


@dataclass(frozen=True, slots=True)
class Wiring:
    """Input of the rules: a robot with its servos and sensors."""

    legs: tuple[Leg, ...]
    model: str  # of the servos
    supply: float  # [V] of the servos; 0: unknown
    servos: ServoSettings
    kind: ServoProtocol
    io: IoSettings

    def joints(self) -> Iterator[tuple[str, JointCalibration]]:
        """Every servo with its key in the file."""
        names = [f"{leg.name}.{joint}" for leg in self.legs for joint in JOINTS]
        for name, joint in zip(names, self.servos.joints, strict=True):
            yield f"servos.joints.{name}", joint

    def same_joints(self) -> Iterator[tuple[tuple[str, JointCalibration], ...]]:
        """The servos of all coxae, of all femurs, of all tibiae."""
        each = tuple(self.joints())
        yield from (each[column::SERVOS_PER_LEG] for column in range(SERVOS_PER_LEG))


def protocol(case: Wiring) -> Iterator[Finding]:
    """Servo model that the protocol does not control."""
    for row in versions(case.model):
        fits = case.kind.board_size > 0 if row.protocol == PWM else row.protocol == case.kind.name
        if not fits:
            boards = ", ".join(name for name, kind in PROTOCOLS.items() if kind.board_size)
            needed = f"a hobby servo needs {boards}" if row.protocol == PWM else f"its protocol is {row.protocol}"
            what = f"leg.servo.model is {case.model}: {needed}"
            yield Finding("servos.protocol", f"is {case.kind.name}", what, "correct one of the two")


def line(case: Wiring) -> Iterator[Finding]:
    """Port of another kind, or a rate that the line does not have."""
    wired = "i2c" in case.servos.port
    if wired != (case.kind.name == I2C_SERVOS) and case.servos.port.startswith("/dev/"):
        what = f"{case.kind.name} is {'on a serial port' if wired else 'on an I2C bus'}"
        yield Finding("servos.port", f"is {case.servos.port}", what, "e.g. /dev/i2c-1, /dev/serial/by-id/...")
    other_device = case.servos.port.startswith(tuple(f"/dev/{name}" for name in NOT_SERIAL))
    if other_device or not case.servos.port.startswith("/"):
        what = "that is not a bus" if other_device else "a path begins with /"
        yield Finding("servos.port", f"is {case.servos.port}", what, "ls /dev/serial/by-id shows it")
    searched = PROTOCOLS[case.kind.found_with or case.kind.name].searched
    rates: Sequence[int] = (
        searched if len(searched) == 1 else [rate for rate in RATES if rate <= max(searched, default=RATES[-1])]
    )
    rates = I2C_CLOCKS if case.kind.name == I2C_SERVOS else rates
    slowest = BITS_PER_GOAL * len(case.servos.joints) * case.servos.rate if case.kind.registers else 0.0
    if case.servos.baud not in {*rates, case.kind.baud}:
        what = f"the rates of {case.kind.name} are {', '.join(map(str, rates))}"
        yield Finding("servos.baud", f"is {case.servos.baud}", what, f"usual is {case.kind.baud}")
    elif case.servos.baud < slowest:
        what = f"{len(case.servos.joints)} servos at {case.servos.rate:g} Hz need {slowest:.0f} bit/s or more"
        yield Finding("servos.baud", f"is {case.servos.baud}", what, f"usual is {case.kind.baud}")
    for key, value, wanted in (("io.bus", case.io.bus, "i2c"), *_device(case.io)):
        if wanted not in value:
            yield Finding(key, f"is {value}", f"must have {wanted} in its name", f"one of /dev/{wanted}*")


def _device(io: IoSettings) -> Iterator[tuple[str, str, str]]:
    if io.feet and io.feet.chip == "gpio":
        yield "io.feet.device", io.feet.device, "gpio"


def supply(case: Wiring) -> Iterator[Finding]:
    """Supply that the maker of the servos does not permit."""
    rows = versions(case.model)
    if rows and not any(row.permits(case.supply) for row in rows):
        yield Finding(
            "leg.servo.voltage", f"is {case.supply:g}", f"{case.model} has {permitted(case.model)}", "in volts"
        )


def usual(case: Wiring) -> Iterator[Finding]:
    """Rates, times, temperatures, trims and parts beyond those in use."""
    for key, (lower, upper, what, cause) in USUAL.items():
        part, *names = key.split(".")
        value = reduce(lambda section, name: getattr(section, name, None), names, getattr(case, part))
        if value is not None and not lower <= value <= upper:
            yield Finding(key, f"is {value:g}", what.format(lower, upper), cause)
    for key, joint in case.joints():
        if abs(joint.trim) > MAX_TRIM_RAD:
            what = f"a trim is up to {math.degrees(MAX_TRIM_RAD):g} deg, less than a tooth of the horn"
            yield Finding(f"{key}.trim_deg", f"is {math.degrees(joint.trim):g}", what, "move the horn, or calibrate")


def boards(case: Wiring) -> Iterator[Finding]:
    """Ids beyond the boards whose addresses are given."""
    given: Mapping[str, Any] = dict(case.servos.options)
    for option in ("addresses", "oscillator"):
        values = given.get(option, ())
        if not isinstance(values, tuple) or not values or (option == "oscillator" and len(values) == 1):
            continue
        for key, joint in case.joints():
            if joint.id >= CHANNELS * len(values):
                what = f"servos.options.{option} has {len(values)} boards, with ids up to {CHANNELS * len(values) - 1}"
                yield Finding(f"{key}.id", f"is {joint.id}", what, "add its board there, or correct the id")

    if ALL_CALL in given.get("addresses", ()):
        what = f"at 0x{ALL_CALL:02X} all boards answer at once"
        yield Finding("servos.options.addresses", f"has 0x{ALL_CALL:02X}", what, "hexapod i2c scan shows them")


def pulses(case: Wiring) -> Iterator[Finding]:
    """More pulses a second than an analog servo takes."""
    rate = dict(case.servos.options).get("frequency")
    highest = max((row.pulse_rate for row in versions(case.model)), default=math.inf)
    if isinstance(rate, float | int) and rate > FASTER_PULSES * highest:
        what = f"{case.model} takes {highest:g} pulses a second, and heats up with more"
        yield Finding("servos.options.frequency", f"is {rate:g}", what, "only digital servos take more")


def scales(case: Wiring) -> Iterator[Finding]:
    """Units per degree, or those of another servo."""
    lower, upper = (share * case.kind.scale.per_rad for share in SCALES[case.kind.board_size > 0])
    for key, joint in case.joints():
        for name in ("units_per_rad", "units_per_rad_neg"):
            value = getattr(joint, name)
            if lower <= value <= upper:
                continue
            degrees = math.degrees(value)
            hint = f"looks like units per degree: {degrees:.4g} per rad" if lower <= degrees <= upper else "per radian"
            what = f"servos of {case.kind.name} have {lower:.3g} to {upper:.3g}"
            yield Finding(f"{key}.{name}", f"is {value:g}", what, hint)
    most = statistics.median(joint.units_per_rad for _, joint in case.joints())
    odd = [each for each in case.joints() if not most / ODD_SCALE <= each[1].units_per_rad <= most * ODD_SCALE]
    if len(odd) <= SERVOS_PER_LEG:
        for key, joint in odd:
            what = f"most others have about {most:.4g}"
            yield Finding(f"{key}.units_per_rad", f"is {joint.units_per_rad:g}", what, "correct it, or calibrate")


def centers(case: Wiring) -> Iterator[Finding]:
    """Center of one servo far from those of the same joint of the other legs."""
    for same in case.same_joints():
        usual_angle = statistics.median(joint.q_center for _, joint in same)
        equal = sum(abs(joint.q_center - usual_angle) < SAME_ANGLE_RAD for _, joint in same) >= len(same) - 1
        offsets = [(joint.center - case.kind.scale.center) / joint.units_per_rad for _, joint in same]
        usual_offset = statistics.median(map(abs, offsets))
        for (key, joint), offset in zip(same, offsets, strict=True):
            if not joint.lower <= joint.q_center <= joint.upper:
                bound = f"joints turns {math.degrees(joint.lower):g} to {math.degrees(joint.upper):g} deg"
                yield Finding(f"{key}.q_center_deg", f"is {math.degrees(joint.q_center):g}", bound, "is a sign wrong?")
            elif _in_radians(joint):
                what = f"the middle of its range is {math.degrees(joint.lower + joint.upper) / 2.0:.0f} deg"
                hint = f"looks like radians: {math.degrees(math.degrees(joint.q_center)):.0f} deg"
                yield Finding(f"{key}.q_center_deg", f"is {math.degrees(joint.q_center):g}", what, hint)
            elif equal and abs(joint.q_center - usual_angle) > ODD_ANGLE_RAD:
                what = f"the other legs have {math.degrees(usual_angle):g}"
                yield Finding(f"{key}.q_center_deg", f"is {math.degrees(joint.q_center):g}", what, "or calibrate")
            if abs(abs(offset) - usual_offset) > ODD_CENTER_RAD:
                what = f"the other legs have about {math.degrees(usual_offset):.0f} deg from the servo's middle"
                what = f"that is {math.degrees(abs(offset)):.0f} deg from the servo's middle, {what}"
                yield Finding(f"{key}.center", f"is {joint.center:g}", what, "correct it, or calibrate")


def _in_radians(joint: JointCalibration) -> bool:
    """Whether the angle at the center is mid-range as radians, but far from it in degrees."""
    middle = (joint.lower + joint.upper) / 2.0
    near = abs(math.degrees(joint.q_center) - middle) < NEAR_MIDDLE_RAD
    return near and abs(middle) > 3.0 * NEAR_MIDDLE_RAD > 3.0 * abs(joint.q_center)


def battery(case: Wiring) -> Iterator[Finding]:
    """Thresholds per cell, of another battery, or with a wrong digit."""
    warn, critical = case.servos.battery.warn, case.servos.battery.critical
    if not (case.supply and math.isfinite(warn)):
        return
    rows = versions(case.model)
    behind_regulator = case.kind.board_size > 0 or case.io.battery is not None or not rows
    highest = HIGHEST_BATTERY * case.supply if behind_regulator else max(row.voltage[1] for row in rows)
    lowest = max(LOWEST_BATTERY * case.supply, LOWEST_OF_SERVO * min((row.voltage[0] for row in rows), default=0.0))
    for key, value in (("warn", warn), ("critical", critical)):
        if lowest <= value <= highest:
            continue
        what = f"the servos have {case.supply:g} V: {lowest:.2g} to {highest:.3g} V"
        cell = ONE_CELL_V[0] <= value <= ONE_CELL_V[1] and case.supply > ONE_CELL_V[1]
        yield Finding(f"servos.battery.{key}", f"is {value:g}", what, _cells(case, value) if cell else "of the battery")


def _cells(case: Wiring, value: float) -> str:
    cells = max(2, round(case.supply / 3.7))
    return f"looks like one cell: {cells * value:.3g} V for {cells} cells"


def supply_sensor(case: Wiring) -> Iterator[Finding]:
    """Divider upside down, or with a wrong digit."""
    needed = case.servos.battery.warn if math.isfinite(case.servos.battery.warn) else case.supply
    option = dict(case.servos.options).get("divider")
    if isinstance(option, float | int):
        yield from _divider("servos.options.divider", float(option), 5.0, needed)
    if sensor := case.io.battery:
        full_scale = FULL_SCALE_V.get(sensor.chip, sensor.reference)
        yield from _divider("io.battery.divider", sensor.divider, full_scale, needed)


def _divider(key: str, divider: float, full_scale: float, needed: float) -> Iterator[Finding]:
    most = divider * full_scale
    if divider < 1.0:
        hint = f"upside down? {1.0 / divider:.3g}"
        yield Finding(key, f"is {divider:g}", "the input has less than the battery: 1 or more", hint)
    elif needed and not needed <= most <= TOO_WIDE * max(needed, full_scale):
        what = f"with it the sensor measures up to {most:.3g} V, the battery has {needed:g} V or more"
        yield Finding(key, f"is {divider:g}", what, "battery = divider * input")


def addresses(case: Wiring) -> Iterator[Finding]:
    """Address that a chip cannot have, such as a decimal one."""
    chips = {part: getattr(case.io, part).chip for part, _, _ in case.io.devices()}
    for part, address, title in case.io.devices():
        lower, upper = ADDRESSES[chips[part]]
        if not lower <= address <= upper:
            meant = int(str(address), 16)
            hint = f"looks like hexadecimal: 0x{meant:02X}" if lower <= meant <= upper else "hexapod i2c scan shows it"
            what = f"an {title} has 0x{lower:02X} to 0x{upper:02X}"
            yield Finding(f"io.{part}.address", f"is {address} (0x{address:02X})", what, hint)


def mounting(case: Wiring) -> Iterator[Finding]:
    """Mounting of the IMU in radians."""
    if case.io.imu is None:
        return
    angles = [math.degrees(angle) for angle in case.io.imu.mounting]
    quarter = math.pi / 2.0
    turns = [angle / quarter for angle in angles]
    if any(angles) and all(abs(turn) <= 2.1 and abs(turn - round(turn)) < 0.02 for turn in turns):
        hint = ", ".join(f"{90 * round(turn)}" for turn in turns)
        given = ", ".join(f"{angle:g}" for angle in angles)
        yield Finding("io.imu.mounting_deg", f"is [{given}]", "in degrees", f"looks like radians: [{hint}]")


def odd_mounting(case: Wiring) -> Iterator[Finding]:
    """IMU that is not mounted in eighths of a turn."""
    angles = [] if case.io.imu is None else [math.degrees(angle) for angle in case.io.imu.mounting]
    if any(abs(math.remainder(angle, EIGHTH_DEG)) > 2.0 for angle in angles):
        given = ", ".join(f"{angle:g}" for angle in angles)
        yield Finding(
            "io.imu.mounting_deg", f"is [{given}]", f"most are multiples of {EIGHTH_DEG:g}", "is a digit missing?"
        )


def pins(case: Wiring) -> Iterator[Finding]:
    """Pins of the foot switches that the computer does not have, or that are those of the I2C bus."""
    feet = case.io.feet
    if feet is None or feet.chip != "gpio" or feet.device != GPIO_DEVICE:
        return
    shared = any(case.io.devices()) or case.kind.name == I2C_SERVOS
    for leg, pin in zip(case.legs, feet.pins, strict=True):
        taken = {row: "the I2C bus" for row in I2C_PINS if shared}
        taken |= {row: "the serial port" for row in SERIAL_PINS if case.servos.port in SERIAL_PORTS}
        if pin not in HEADER_PINS or pin in taken:
            free = f"GPIO {HEADER_PINS[0]} to {HEADER_PINS[-1]} are free"
            what = f"GPIO {pin} is that of {taken[pin]}" if pin in taken else free
            yield Finding(
                f"io.feet.pins.{leg.name}", f"is {pin}", what, "the GPIO number, not that of the header's pin"
            )


def odd_direction(case: Wiring) -> Iterator[Finding]:
    """One direction against those of the same joint of the other legs, equal on both sides or mirrored."""
    for same in case.same_joints():
        own = [joint.direction for _, joint in same]
        sides = [1 if leg.hip[1] + leg.foothold[1] > 0.0 else -1 for leg in case.legs]
        odd = [
            [row for row, (a, b) in enumerate(zip(own, pattern, strict=True)) if a != sign * b]
            for pattern in ([1] * len(own), sides)
            for sign in (1, -1)
        ]
        fewest = min(odd, key=len)
        if len(fewest) == 1:
            key, joint = same[fewest[0]]
            what = "the same joint of all other legs turns the other way"
            yield Finding(f"{key}.direction", f"is {joint.direction}", what, "hexapod calibrate shows it")


def odd_order(case: Wiring) -> Iterator[Finding]:
    """Ids exchanged within one leg, or between two."""
    ids = _ids_of_legs(case)
    span = Counter(max(own) - min(own) for own in ids).most_common(1)[0][0]
    found = {row: tuple(i - min(own) for i in own) for row, own in enumerate(ids) if max(own) - min(own) == span}
    (order, most), *_ = Counter(found.values()).most_common(1)
    reverse = tuple(span - step for step in order)  # on mirrored sides the order may be reversed
    known = (order,) if most > 2 and most == len(found) - 1 else (order, reverse)
    odd = [row for row, order in found.items() if order not in known]
    if len(odd) == 1 and len(found) > 2:
        what = "coxa, femur and tibia are in another order than in the other legs"
        yield _exchanged(case, odd[0], what, "are two exchanged?")
    elif not odd and len(found) == len(ids):
        yield from _exchanged_legs(case, [min(own) for own in ids])


def _ids_of_legs(case: Wiring) -> list[tuple[int, ...]]:
    ids = case.servos.ids
    return [ids[row : row + SERVOS_PER_LEG] for row in range(0, len(ids), SERVOS_PER_LEG)]


def _exchanged(case: Wiring, row: int, what: str, remedy: str) -> Finding:
    ids = ", ".join(map(str, _ids_of_legs(case)[row]))
    return Finding(f"servos.joints.{case.legs[row].name}", f"has ids {ids}", what, remedy)


def _exchanged_legs(case: Wiring, first: Sequence[int]) -> Iterator[Finding]:
    """First ids of the legs that would be in order if a leg were exchanged with its mirror image or neighbour."""
    ranks = [sorted(first).index(each) for each in first]
    hips = [leg.hip for leg in case.legs]
    around = sorted(range(len(hips)), key=lambda row: math.atan2(hips[row][1], hips[row][0]))
    along = sorted(range(len(hips)), key=lambda row: -hips[row][0])
    sides = [[row for row in along if sign * hips[row][1] > 0.0] for sign in (1.0, -1.0)]
    if _in_order(ranks, around, sides):
        return
    for a, b in (*zip(*sides, strict=False), *pairwise(sides[0]), *pairwise(sides[1])):
        exchanged = {a: ranks[b], b: ranks[a]}
        if _in_order([exchanged.get(row, rank) for row, rank in enumerate(ranks)], around, sides):
            other = case.legs[b].name
            yield _exchanged(case, a, f"with those of {other} all ids would be in order", f"exchanged with {other}?")
            return


def _in_order(ranks: Sequence[int], around: Sequence[int], sides: Sequence[Sequence[int]]) -> bool:
    """Whether the ranks of the ids change in equal steps around the body, or along both sides."""
    turns = {(ranks[b] - ranks[a]) % len(ranks) for a, b in pairwise(around)}
    steps = [{ranks[b] - ranks[a] for a, b in pairwise(side)} for side in sides]
    equal = all(len(each) == 1 for each in steps) and len({abs(step) for each in steps for step in each}) == 1
    return equal or turns in ({1}, {len(ranks) - 1})


def odd_id(case: Wiring) -> Iterator[Finding]:
    """One id apart from all others, which leave a gap."""
    ids = sorted(case.servos.ids)
    for outer, others in ((ids[-1], ids[:-1]), (ids[0], ids[1:])):
        gaps = [a + 1 for a, b in pairwise(others) if b - a == 2]
        steps = [b - a for a, b in pairwise(others)]
        gaps = gaps or [others[0] - 1 if outer > others[-1] else others[-1] + 1]
        if steps.count(1) >= len(steps) - 1 and max(steps) <= 2 and abs(outer - gaps[0]) > len(ids):
            key = next(key for key, joint in case.joints() if joint.id == outer)
            what = f"all others are from {others[0]} to {others[-1]}"
            yield Finding(f"{key}.id", f"is {outer}", what, f"is it {gaps[0]}?")


def reversed_boards(case: Wiring) -> Iterator[Finding]:
    """Addresses of boards in reverse."""
    values = dict(case.servos.options).get("addresses", ())
    if isinstance(values, tuple) and len(values) > 1 and all(a > b for a, b in pairwise(values)):
        given = ", ".join(f"0x{value:02X}" for value in values)
        what = f"ids 0 to {CHANNELS - 1} are on the first board"
        yield Finding("servos.options.addresses", f"is [{given}]", what, "are they reversed?")


Rule = Callable[[Wiring], Iterator[Finding]]
RULES: Sequence[Rule] = (
    *(
        protocol,
        line,
        supply,
        usual,
        boards,
        pulses,
        scales,
        centers,
        battery,
        supply_sensor,
        addresses,
        mounting,
        pins,
    ),
)
DOUBTS: Sequence[Rule] = (odd_direction, odd_order, odd_id, odd_mounting, reversed_boards)
"""Rules whose findings are often right."""
ON_BUS = (
    protocol,
    line,
    boards,
    pulses,
    scales,
    centers,
    battery,
    odd_direction,
    odd_order,
    odd_id,
    reversed_boards,
)
"""Rules that have no meaning without a bus."""


def wiring_findings(file: RobotFile, rules: Sequence[Rule] = RULES) -> Iterator[Finding]:
    """Findings about the sections `servos` and `io`. Raises RobotFileError for unusable ones."""
    servos = servo_settings(file)
    io = io_settings(file)
    model = file.servo_model
    entry = file.document.children["leg"].children["servo"].children.get("voltage")
    voltage = float(str(entry.value)) if entry is not None else usual_voltage(model) if versions(model) else 0.0
    case = Wiring(file.robot.legs, model, voltage, servos, PROTOCOLS[servos.protocol], io)
    for rule in rules:
        if servos.protocol != LOOPBACK or rule not in ON_BUS:
            yield from rule(case)
