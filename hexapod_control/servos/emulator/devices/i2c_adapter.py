# SPDX-License-Identifier: Apache-2.0
"""An emulated I2C adapter with its chips, at the far end of a pseudo-terminal; see servos.i2c.adapter_frames."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from hexapod_control.servos.bus.pulse_board import SCALE
from hexapod_control.servos.emulator.chips.i2c_wire import I2cWire
from hexapod_control.servos.emulator.chips.pca9685_chip import LedPulse, Pca9685Chip
from hexapod_control.servos.emulator.device import FRAME_TIMEOUT_S, DelayedReply, EmulatedDevice
from hexapod_control.servos.emulator.devices.pulse_channels import PulseChannels
from hexapod_control.servos.emulator.servo_world import ServoWorld
from hexapod_control.servos.i2c.adapter_frames import REPLY, REQUEST, AdapterDecoder, decode_messages, frame
from hexapod_control.servos.i2c.i2c_port import I2cRead
from hexapod_control.servos.i2c.pwm_chip import CHANNELS, OSCILLATOR_MHZ
from hexapod_control.servos.protocols.pca9685 import board_addresses

MAX_PERIOD = 25_000.0  # [us] of pulses that a servo follows


class I2cAdapter(EmulatedDevice):
    """An EmulatedDevice: servos on PCA9685 boards. Other chips may be added to `wire`."""

    def __init__(
        self,
        world: ServoWorld,
        ids: Sequence[int],
        *,
        addresses: Sequence[int] = (),
        oscillator: Sequence[float] = (OSCILLATOR_MHZ,),
        frequency: float = 0.0,
    ) -> None:
        """Boards as in the options of protocol pca9685; the host sets the `frequency`."""
        self.world = world
        self._channels = PulseChannels(world, ids)
        boards = board_addresses(ids, {"addresses": addresses})
        clocks = list(oscillator) * (len(boards) if len(oscillator) == 1 else 1)
        self.wire = I2cWire(
            [
                Pca9685Chip(place, partial(self._drive, CHANNELS * n), oscillator=clocks[n])
                for n, place in enumerate(boards)
            ]
        )
        self._decoder = AdapterDecoder(REQUEST)
        self._received_at = 0.0

    def receive(self, data: bytes, now: float) -> list[DelayedReply]:
        """Executes every complete request."""
        self.world.step(now)
        if now - self._received_at > FRAME_TIMEOUT_S:
            self._decoder.forget()
        self._received_at = now
        replies: list[DelayedReply] = []
        for request in self._decoder.feed(data):
            messages = decode_messages(request.body)
            number, read = self.wire.transfer(messages)
            count = sum(each.count for each in messages if isinstance(each, I2cRead))  # replies have a fixed length
            replies.append((0.0, frame(REPLY, request.tag, bytes([number]) + read.ljust(count, b"\0"))))
        return replies

    def _drive(self, first: int, channel: int, pulse: LedPulse) -> None:
        """Moves a servo that gets valid pulses; without pulses it has no torque."""
        valid = SCALE.low / 2 <= pulse.width <= 2 * SCALE.high and 0.0 < pulse.period <= MAX_PERIOD
        if valid:
            self._channels.drive(first + channel, pulse.width)
        elif pulse.width == 0.0:
            self._channels.release(first + channel)


DEVICES = {"pca9685": I2cAdapter}
