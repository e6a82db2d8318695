# SPDX-License-Identifier: Apache-2.0
"""Channels, pulse ramps and reply timing, shared by the emulated boards for hobby servos."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hexapod_control.servos.emulator.device import DelayedReply
from hexapod_control.servos.emulator.servo_world import ServoWorld


def in_turn(replies: Iterable[bytes], delay: float) -> list[DelayedReply]:
    """Replies of one board in sequence, the first after a delay [s]; empty ones are left out."""
    present = [reply for reply in replies if reply]
    return [(delay if i == 0 else 0.0, reply) for i, reply in enumerate(present)]


class PulseChannels:
    """Servos of a world by channel; channels without a servo do nothing."""

    def __init__(self, world: ServoWorld, ids: Sequence[int] | None) -> None:
        """The servos are on the channels `ids`, in this order; None: on the first ones."""
        self._world = world
        self._index = {channel: i for i, channel in enumerate(range(world.count) if ids is None else ids)}

    def drive(self, channel: int, pulse: float, duration: float = 0.0) -> None:
        """Moves a servo to `pulse` [us] within `duration` [s]; it has torque while it gets pulses."""
        if channel in self._index:
            self._world.goal(self._index[channel], pulse, duration)
            self._world.torque(self._index[channel], True)

    def release(self, channel: int) -> None:
        """Stops the pulses."""
        if channel in self._index:
            self._world.torque(self._index[channel], False)


@dataclass(frozen=True, slots=True)
class PulseRamp:
    """A linear ramp from one pulse width [us] to another; 0 is no pulse."""

    begin: float = 0.0
    end: float = 0.0
    start: float = 0.0  # [s]
    duration: float = 0.0  # [s]

    def at(self, now: float) -> float:
        """The pulse at a time [s]."""
        if not self.moving(now):
            return self.end
        return self.begin + (self.end - self.begin) * max(now - self.start, 0.0) / self.duration

    def moving(self, now: float) -> bool:
        """Whether the ramp has not ended at a time [s]."""
        return now < self.start + self.duration
