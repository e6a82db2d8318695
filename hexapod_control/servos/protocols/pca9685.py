# SPDX-License-Identifier: Apache-2.0
"""Hobby servos on one to four PCA9685 boards over I2C. Id = 16 * number of the board + channel.

A lost board is queried ten times a second while the others continue. If only the bus is interrupted, it still sends its
last pulses; after a loss of power it sends none.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from hexapod_control.servos.bus.bus_interface import (
    RELAX_REPEATS,
    Bus,
    BusCounters,
    BusError,
    BusFeatures,
    BusTiming,
    NoAnswerError,
    ServoQuantity,
    ServoReading,
)
from hexapod_control.servos.bus.pulse_board import SCALE, PulseStaging, checked_channels
from hexapod_control.servos.bus.serial_port import Port
from hexapod_control.servos.i2c.i2c_bus import AdapterPort
from hexapod_control.servos.i2c.i2c_port import I2cPort, NoAcknowledgeError, TransferError, listed, scan
from hexapod_control.servos.i2c.pwm_chip import (
    ALL_CALL,
    CHANNELS,
    FIRST_ADDRESS,
    FREQUENCY_HZ,
    LAST_ADDRESS,
    OSCILLATOR_MHZ,
    Pca9685,
)

BAUD = 100_000  # [bit/s] of the bus of a Raspberry Pi, unless its configuration says otherwise
MAX_BOARDS = 4
MAX_MISSES = 3  # consecutive failed transfers, after which a board is lost
TRIES = 3  # of the first requests
BITS_PER_I2C_BYTE = 9  # with the acknowledge


@dataclass(slots=True)
class PulseBoard:
    """One PCA9685 board and its state."""

    chip: Pca9685
    ids: tuple[int, ...]  # of its servos
    misses: int = 0  # consecutive
    lost: bool = False
    error: str = ""  # of the last failure
    channels: dict[int, int] = field(init=False)  # servo id -> channel

    def __post_init__(self) -> None:
        self.channels = {i: i % CHANNELS for i in self.ids}

    @property
    def name(self) -> str:
        """Name of the board in messages."""
        return f"PCA9685 at 0x{self.chip.address:02X}"


class Pca9685Bus(Bus):
    """Servos on PCA9685 boards; they report nothing, and `read` gives the pulses that are sent.

    No servo gets a pulse before all have a goal and all boards are configured. `duration` is not sent.
    """

    scale = SCALE
    features = BusFeatures(board=True, single_boards=True)
    can_read = ServoQuantity.NONE

    def __init__(
        self,
        port: I2cPort,
        ids: Sequence[int],
        *,
        addresses: Sequence[int] = (),
        oscillator: Sequence[float] = (OSCILLATOR_MHZ,),
        frequency: float = FREQUENCY_HZ,
    ) -> None:
        """`addresses` of the boards, by default 0x40 and following; `oscillator` [MHz] of each board or of all."""
        self.ids = checked_channels(ids, MAX_BOARDS * CHANNELS - 1, "bus of PCA9685 boards")
        used = sorted({i // CHANNELS for i in self.ids})
        found = board_addresses(self.ids, {"addresses": addresses})
        clocks = list(oscillator) * (len(found) if len(oscillator) == 1 else 1)
        if len(clocks) != len(found) or used[-1] >= len(found):
            raise ValueError(
                f"servo ids up to {max(self.ids)} with {len(found)} addresses and {len(clocks)} oscillators: each "
                f"board has {CHANNELS} ids, and needs an address and an oscillator"
            )
        self._port = port
        self._boards = [
            PulseBoard(Pca9685(port, found[n], clocks[n], frequency), tuple(i for i in self.ids if i // CHANNELS == n))
            for n in used
        ]
        self._staging = PulseStaging(self.ids)
        self.counters = BusCounters()
        self.urgent = threading.Event()

    def identify(self) -> Mapping[int, str]:
        """Checks that every board answers and is a PCA9685; changes nothing."""
        for board in self._boards:
            for _ in range(TRIES):
                if self._try(board, board.chip.check):
                    break
            else:
                raise self._refusal(board)
            board.lost = False
        return {i: f"hobby servo on the {board.name}" for board in self._boards for i in board.ids}

    def place(self, servo: int) -> tuple[str, int]:
        """Address of its board, and channel."""
        board = next(each for each in self._boards if servo in each.ids)
        return f"0x{board.chip.address:02X}", servo % CHANNELS

    def _refusal(self, board: PulseBoard) -> BusError:
        try:
            board.chip.check()
        except NoAcknowledgeError:
            found = listed(scan(self._port)) or "none"
            return NoAnswerError(
                f"{self._port.path}: no PCA9685 answers at address 0x{board.chip.address:02X}; found: {found}: check "
                "its power and cable, and that its address jumpers differ from those of the other boards"
            )
        except TransferError as error:
            return BusError(str(error))
        return BusError(board.error)

    # --- goals and torque ---------------------------------------------------------------------------

    def write_goals(self, goals: Mapping[int, int], duration: float) -> None:
        """Sends the goals of servos with torque; stages the others."""
        staged = self._staging.stage(goals)
        self._send({i: pulse for i, pulse in staged.items() if i in self._staging.on})

    def _send(self, pulses: Mapping[int, int]) -> None:
        for board in self._boards:
            own = {channel: pulses[i] for i, channel in board.channels.items() if i in pulses}
            if own and not board.lost:
                self._try(board, partial(board.chip.send, own))

    def torque(self, ids: Sequence[int], on: bool) -> None:
        """Starts the staged pulses of these servos, or stops them. Raises BusError if any servo has no goal."""
        if not on:
            self._staging.on.difference_update(ids)
            self._send(dict.fromkeys(ids, 0))
            return
        self._staging.check(self.ids)
        if not self._staging.on:
            self._prepare()
        self._staging.on.update(ids)
        self._send({i: self._staging.goals[i] for i in ids})

    def _prepare(self) -> None:
        """Configures all boards. Raises BusError if one cannot be, before any servo has a pulse."""
        for board in self._boards:
            if not any(self._try(board, partial(_configure, board.chip)) for _ in range(TRIES)):
                raise BusError(board.error)
            board.lost = False

    def relax(self) -> None:
        """Stops the pulses on all channels of all boards; sent three times."""
        self._staging.clear()
        for _ in range(RELAX_REPEATS):
            for board in self._boards:
                self._try(board, board.chip.all_off)

    # --- presence -----------------------------------------------------------------------------------

    def _try(self, board: PulseBoard, act: Callable[[], object]) -> bool:
        """Performs an operation on a board. Returns whether it succeeded; failures are counted."""
        begin = time.monotonic()
        try:
            act()
        except TransferError as error:
            self._missed(board, error)
            return False
        finally:
            self.counters.waited += time.monotonic() - begin
        self.counters.sent += 1
        self.counters.received += 1
        board.misses = 0
        return True

    def _missed(self, board: PulseBoard, error: TransferError) -> None:
        board.error = str(error)
        board.misses += 1
        if board.lost or isinstance(error, NoAcknowledgeError):
            self.counters.timeouts += 1
        else:
            self.counters.bad += 1
        for i in board.ids:
            self.counters.misses[i] = board.misses
        if board.misses >= MAX_MISSES:
            self._lose(board)

    def _lose(self, board: PulseBoard) -> None:
        board.lost = True
        self._staging.on.difference_update(board.ids)

    def answers(self) -> bool | None:
        """Queries every board. Returns whether any answers; None if they cannot be queried now."""
        if self.urgent.is_set():
            return None
        for board in self._boards:
            self._ask(board)
        return not all(board.lost for board in self._boards)

    def _ask(self, board: PulseBoard) -> None:
        """Marks a restarted board as lost, and readmits a lost board that responds again."""
        running: list[bool] = []
        if not self._try(board, lambda: running.append(board.chip.runs())):
            return
        if board.lost:
            pulsing = running[0] and self._staging.goals  # it still sends its last pulses, unless torque-off was sent
            board.lost = not (pulsing or self._try(board, board.chip.configure))
        elif self._staging.on.intersection(board.ids) and not running[0]:
            board.error = f"{self._port.path}: the {board.name} has restarted"
            self._lose(board)

    def lost_boards(self) -> Mapping[str, tuple[int, ...]]:
        """Boards that do not answer, by name, with the ids of their servos."""
        return {board.name: board.ids for board in self._boards if board.lost}

    # --- readings -----------------------------------------------------------------------------------

    def read(self, ids: Sequence[int], quantities: ServoQuantity) -> dict[int, ServoReading]:
        """The pulses that are sent [us]; servos without a pulse are missing."""
        if ServoQuantity.POSITION not in quantities or self.urgent.is_set():
            return {}
        found: dict[int, ServoReading] = {}
        for board in self._boards:
            own = {channel: i for i, channel in board.channels.items() if i in ids}
            sent: dict[int, int] = {}
            if own and not board.lost:
                self._try(board, partial(_read_into, sent, board.chip, list(own)))
            found |= {own[channel]: ServoReading(position=pulse) for channel, pulse in sent.items() if pulse}
        return found

    def torques(self, ids: Sequence[int]) -> dict[int, bool]:
        """Whether these servos get pulses; those on boards that do not answer are missing from the result."""
        found: dict[int, bool] = {}
        for board in self._boards:
            sent: dict[int, int] = {}
            if not board.lost and self._try(
                board, partial(_read_into, sent, board.chip, list(board.channels.values()))
            ):
                found |= {i: bool(sent[channel]) for i, channel in board.channels.items() if i in ids}
        return found

    def timing(self, count: int, quantities: ServoQuantity = ServoQuantity.POSITION) -> BusTiming:
        """Time of `count` goals on the bus."""
        share = count / len(self.ids)
        frames = [m for b in self._boards for m in b.chip.messages(dict.fromkeys(b.channels.values(), SCALE.center))]
        size = sum(1 + len(each.data) for each in frames)
        return BusTiming(share * size * BITS_PER_I2C_BYTE / self._port.baud, 0.0, 0)

    def close(self) -> None:
        """Closes the bus."""
        self._port.close()


def _read_into(found: dict[int, int], chip: Pca9685, channels: Sequence[int]) -> None:
    found.update(chip.pulses(channels))


def _configure(chip: Pca9685) -> None:
    """Configures a chip unless it is already running, which would interrupt its pulses."""
    if not chip.runs():
        chip.configure()


def board_addresses(ids: Sequence[int], options: Mapping[str, object]) -> list[int]:
    """The I2C addresses of the boards of these ids, in order: those of the options, or 0x40 and following."""
    configured = options.get("addresses")
    usual = range(FIRST_ADDRESS, FIRST_ADDRESS + max(ids, default=-1) // CHANNELS + 1)
    return list(configured) if configured and isinstance(configured, Sequence) else list(usual)


def boards_on(port: I2cPort) -> list[int]:
    """Addresses of all PCA9685 on an I2C bus; changes nothing. Raises PortGoneError or BusStuckError."""
    found = []
    for address in scan(port):
        if FIRST_ADDRESS <= address <= LAST_ADDRESS and address != ALL_CALL:
            with contextlib.suppress(TransferError):
                Pca9685(port, address, OSCILLATOR_MHZ, FREQUENCY_HZ).check()
                found.append(address)
    return found


def open_bus(port: Port | I2cPort, ids: Sequence[int], **options: object) -> Pca9685Bus:
    """The boards on an I2C bus, or on an emulated one at the other end of a port."""
    return Pca9685Bus(port if isinstance(port, I2cPort) else AdapterPort(port, "the wire"), ids, **options)  # type: ignore[arg-type]
