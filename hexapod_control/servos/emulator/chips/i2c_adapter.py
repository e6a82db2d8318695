"""An emulated I2C adapter with its chips, as the far end of a terminal; see servos.i2c.adapter_frames."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from hexapod_control.servos.bus.pulse_board import SCALE
from hexapod_control.servos.emulator.chips.i2c_wire import I2cWire
from hexapod_control.servos.emulator.chips.pca9685_chip import LedPulse, Pca9685Chip
from hexapod_control.servos.emulator.device import FRAME_TIMEOUT_S, DelayedReply
from hexapod_control.servos.emulator.devices.pulse_channels import PulseChannels
from hexapod_control.servos.emulator.servo_world import ServoWorld
from hexapod_control.servos.i2c.adapter_frames import REPLY, REQUEST, AdapterDecoder, decoded, frame
from hexapod_control.servos.i2c.i2c_port import I2cRead
from hexapod_control.servos.i2c.pwm_chip import CHANNELS, OSCILLATOR
from hexapod_control.servos.protocols.pca9685 import places

MAX_PERIOD = 25_000.0  # [us] of pulses that a servo follows


class I2cAdapter:
    """Servos on PCA9685 boards, an EmulatedDevice. Other chips may be added to `wire`."""

    def __init__(
        self,
        world: ServoWorld,
        ids: Sequence[int],
        *,
        addresses: Sequence[int] = (),
        oscillator: Sequence[float] = (OSCILLATOR,),
        frequency: float = 0.0,
    ) -> None:
        """Boards as in the options of protocol pca9685; the host sets the `frequency`."""
        self.world = world
        self._channels = PulseChannels(world, ids)
        boards = places(ids, {"addresses": addresses})
        clocks = list(oscillator) * (len(boards) if len(oscillator) == 1 else 1)
        self.wire = I2cWire(
            [
                Pca9685Chip(place, partial(self._drive, CHANNELS * n), oscillator=clocks[n])
                for n, place in enumerate(boards)
            ]
        )
        self._decoder, self._received_at = AdapterDecoder(REQUEST), 0.0

    def receive(self, data: bytes, now: float) -> list[DelayedReply]:
        """Executes every complete request."""
        self.world.step(now)
        if now - self._received_at > FRAME_TIMEOUT_S:
            self._decoder.forget()
        self._received_at = now
        replies: list[DelayedReply] = []
        for request in self._decoder.feed(data):
            messages = decoded(request.body)
            number, read = self.wire.transfer(messages)
            asked = sum(each.count for each in messages if isinstance(each, I2cRead))  # replies have a fixed length
            replies.append((0.0, frame(REPLY, request.tag, bytes([number]) + read.ljust(asked, b"\0"))))
        return replies

    def _drive(self, first: int, channel: int, pulse: LedPulse) -> None:
        """A servo follows valid pulses, and has no torque without them."""
        understood = SCALE.low / 2 <= pulse.width <= 2 * SCALE.high and 0.0 < pulse.period <= MAX_PERIOD
        if understood:
            self._channels.drive(first + channel, pulse.width)
        elif pulse.width == 0.0:
            self._channels.release(first + channel)
