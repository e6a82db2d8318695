# SPDX-License-Identifier: Apache-2.0
"""Table of servo protocols. A new one needs a bus in protocols/, a row here, and a device in emulator/devices/."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from hexapod_control.servos.bus import ff_frames, pulse_board
from hexapod_control.servos.bus.bus_interface import Bus, RawScale, ServoQuantity
from hexapod_control.servos.bus.registers import RegisterTable
from hexapod_control.servos.bus.serial_port import Port, SerialPort
from hexapod_control.servos.i2c import pwm_chip
from hexapod_control.servos.i2c.i2c_bus import open_i2c
from hexapod_control.servos.i2c.i2c_port import I2cPort
from hexapod_control.servos.protocol_options import SWITCH, ChoiceOption, ListOption, ProtocolOption, number_option
from hexapod_control.servos.protocols import (
    dynamixel1,
    dynamixel2,
    feetech_sc,
    feetech_st,
    loopback,
    lx16a,
    maestro,
    pca9685,
    servo2040,
    ssc32,
)
from hexapod_control.servos.protocols.servo2040 import Servo2040Dialect
from hexapod_control.servos.protocols.ssc32 import ANALOG_INPUTS

EVERYTHING = ~ServoQuantity.NONE


@dataclass(frozen=True, slots=True)
class ServoProtocol:
    """A servo protocol: its bus, raw units and options."""

    name: str  # in the robot file
    title: str  # for messages and documentation
    open: Callable[..., Bus]  # (port, ids, **options) -> an open bus
    scale: RawScale  # of the usual model
    baud: int  # the usual one
    ids: range  # that a servo can have
    can_read: ServoQuantity  # from the servos; NONE: no position feedback
    registers: RegisterTable | None = None  # of its servos
    searched: tuple[int, ...] = ()  # baud rates at which a port is searched for its servos, the usual ones first
    likely: tuple[int, ...] = ()  # those of a quick search, the likeliest first
    probe: Callable[[Port], str] | None = None  # of a board, in place of a scan for ids: a text if it answers
    found_with: str = ""  # protocol whose search finds its servos too, as their frames are the same
    options: tuple[str, ...] = ()  # keyword arguments of `open`
    settings: tuple[ProtocolOption, ...] = ()  # that `servos.options` of a robot file may set
    scale_with: Callable[..., RawScale] | None = None  # (**settings) -> raw units, where they depend on them
    connect: Callable[[str, int], Port | I2cPort] = SerialPort  # (path, baud) -> the port for `open`
    board_size: int = 0  # channels of a board for servos without ids
    measures_supply: bool = False  # by its board

    def with_options(self, options: Mapping[str, object]) -> ServoProtocol:
        """This protocol with the raw units for these options."""
        return self if self.scale_with is None or not options else replace(self, scale=self.scale_with(**options))


_ROWS = (
    ServoProtocol(
        name="feetech_st",
        searched=(1_000_000, 500_000, 250_000, 128_000, 115_200, 76_800, 57_600, 38_400),
        likely=(1_000_000, 115_200, 500_000, 57_600),
        registers=feetech_st.TABLE,
        title="Feetech ST (STS3215)",
        open=feetech_st.open_bus,
        scale=feetech_st.SCALE,
        baud=feetech_st.BAUD,
        ids=range(ff_frames.LAST_ID + 1),
        can_read=EVERYTHING,
        options=("wait", "acceleration", "force_model"),
        settings=(
            number_option("acceleration", "", 0, 254, "value of register 41, written with every goal", whole=True),
        ),
    ),
    ServoProtocol(
        name="feetech_sc",
        found_with="feetech_st",
        registers=feetech_sc.TABLE,
        title="Feetech SC (SC15, SCS0009)",
        open=feetech_sc.open_bus,
        scale=feetech_sc.scale(feetech_sc.DEGREES),
        baud=feetech_sc.BAUD,
        ids=range(ff_frames.LAST_ID + 1),
        can_read=EVERYTHING,
        options=("wait", "degrees", "force_model"),
        settings=(number_option("degrees", "deg", 90.0, 360.0, "range of the model's 1024 steps"),),
        scale_with=feetech_sc.scale,
    ),
    ServoProtocol(
        name="dynamixel1",
        found_with="feetech_st",
        registers=dynamixel1.TABLE,
        title="Dynamixel protocol 1 (AX-12A, AX-18A)",
        open=dynamixel1.open_bus,
        scale=dynamixel1.SCALE,
        baud=dynamixel1.BAUD,
        ids=range(ff_frames.LAST_ID + 1),
        can_read=EVERYTHING,
        options=("wait", "force_model"),
    ),
    ServoProtocol(
        name="dynamixel2",
        searched=(57_600, 1_000_000, 115_200, 2_000_000, 3_000_000, 4_000_000, 9_600),
        likely=(1_000_000, 57_600, 115_200),
        registers=dynamixel2.TABLE,
        title="Dynamixel protocol 2 (X series)",
        open=dynamixel2.open_bus,
        scale=dynamixel2.SCALE,
        baud=dynamixel2.BAUD,
        ids=range(dynamixel2.LAST_ID + 1),
        can_read=EVERYTHING,
        options=("wait", "read", "force_model"),
        settings=(
            ChoiceOption("read", {"sync": "sync", "fast": "fast"}, "fast: one reply of all, by recent firmware"),
        ),
    ),
    ServoProtocol(
        name="lx16a",
        searched=(lx16a.BAUD,),
        likely=(lx16a.BAUD,),
        registers=lx16a.TABLE,
        title="LewanSoul/Hiwonder LX-16A, LX-224",
        open=lx16a.open_bus,
        scale=lx16a.SCALE,
        baud=lx16a.BAUD,
        ids=range(lx16a.LAST_ID + 1),
        can_read=lx16a.Lx16aBus.can_read,
        options=("wait",),
    ),
    ServoProtocol(
        name="servo2040",
        probe=servo2040.probe,
        searched=(115_200,),
        title="Pimoroni Servo2040 with the Chica firmware or its fork (hobby servos)",
        open=servo2040.Servo2040Bus,
        scale=pulse_board.SCALE,
        baud=115_200,
        ids=range(servo2040.LAST_CHANNEL + 1),
        board_size=servo2040.LAST_CHANNEL + 1,
        can_read=ServoQuantity.NONE,
        options=("dialect", "touch"),
        settings=(
            ChoiceOption("dialect", {d.value: d for d in Servo2040Dialect}, "firmware variant; detected if omitted"),
        ),
        measures_supply=True,
    ),
    ServoProtocol(
        name="ssc32",
        probe=ssc32.probe,
        searched=(115_200, 9_600),
        title="SSC-32, SSC-32U, firmware/ssc32_mega (hobby servos)",
        open=ssc32.Ssc32Bus,
        scale=pulse_board.SCALE,
        baud=115_200,
        ids=range(ssc32.LAST_CHANNEL + 1),
        board_size=ssc32.LAST_CHANNEL + 1,
        can_read=ServoQuantity.NONE,
        options=("battery", "divider"),
        settings=(
            ChoiceOption(
                "battery", {name: name for name in ANALOG_INPUTS}, "analog input to which the battery is wired"
            ),
            number_option("divider", "", 0.01, 100.0, "battery = divider * input"),
        ),
    ),
    ServoProtocol(
        name="maestro",
        probe=maestro.probe,
        searched=(115_200,),
        title="Pololu Mini Maestro 18 and 24 (hobby servos)",
        open=maestro.MaestroBus,
        scale=pulse_board.SCALE,
        baud=115_200,
        ids=range(maestro.LAST_CHANNEL + 1),
        board_size=maestro.LAST_CHANNEL + 1,
        can_read=maestro.MaestroBus.can_read,
        options=("device", "crc"),
        settings=(
            number_option("device", "", 0, 127, "device number of the board, if several share the line", whole=True),
            ChoiceOption("crc", SWITCH, "as set in the Control Center"),
        ),
    ),
    ServoProtocol(
        name="pca9685",
        title="PCA9685 boards on I2C (hobby servos)",
        open=pca9685.open_bus,
        scale=pulse_board.SCALE,
        baud=pca9685.BAUD,
        ids=range(pca9685.MAX_BOARDS * pwm_chip.CHANNELS),
        board_size=pwm_chip.CHANNELS,
        can_read=ServoQuantity.NONE,
        options=("addresses", "oscillator", "frequency"),
        settings=(
            ListOption(
                number_option(
                    "addresses",
                    "",
                    pwm_chip.FIRST_ADDRESS,
                    pwm_chip.LAST_ADDRESS,
                    "I2C addresses of the boards; the first has ids 0 to 15, the second 16 to 31",
                    whole=True,
                ),
                pca9685.MAX_BOARDS,
                unique=True,
            ),
            ListOption(
                number_option("oscillator", "MHz", 20.0, 30.0, "of all boards or of each; 25 unless measured"),
                pca9685.MAX_BOARDS,
                unique=False,
            ),
            number_option("frequency", "Hz", 50.0, 330.0, "of the pulses; analog servos take 50"),
        ),
        connect=open_i2c,
    ),
    ServoProtocol(
        name="loopback",
        title="no hardware: servos that follow their goals exactly",
        open=loopback.open_bus,
        scale=loopback.SCALE,
        baud=1_000_000,
        ids=range(254),
        can_read=loopback.LoopbackBus.can_read,
        options=("positions", "speed", "clock"),
    ),
)

PROTOCOLS: Mapping[str, ServoProtocol] = {row.name: row for row in _ROWS}

REFUSED = {  # prefixes of names, without punctuation
    "xl320": "XL-320 servos have other registers and units than the X series, and no protocol here controls them",
    "herkulex": "HerkuleX servos (DRS-0101, DRS-0201) have frames of their own, and no protocol here speaks them",
}
REFUSED["drs0"] = REFUSED["herkulex"]


def refused(protocol: str) -> str:
    """Why a known servo type is not supported; empty for any other name."""
    plain = "".join(sign for sign in protocol.lower() if sign.isalnum())
    return next((text for name, text in REFUSED.items() if plain.startswith(name)), "")


def scale(protocol: str, options: Sequence[tuple[str, object]] = ()) -> RawScale:
    """Raw units of a protocol with these options of a robot file."""
    return PROTOCOLS[protocol].with_options(dict(options)).scale
