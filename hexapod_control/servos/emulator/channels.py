"""What the emulated boards for hobby servos share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hexapod_control.servos.emulator.device import Reply
from hexapod_control.servos.emulator.world import ServoWorld


def in_turn(replies: Iterable[bytes], delay: float) -> list[Reply]:
    """Replies of one board one after the other, the first after a delay [s]."""
    said = [reply for reply in replies if reply]
    return [(delay if i == 0 else 0.0, reply) for i, reply in enumerate(said)]


class Channels:
    """Servos of a world by channel; nothing happens on a channel without one."""

    def __init__(self, world: ServoWorld, ids: Sequence[int] | None) -> None:
        """The servos are on the channels `ids`, in this order; None: on the first ones."""
        self._world = world
        self._index = {channel: i for i, channel in enumerate(range(world.count) if ids is None else ids)}

    def drive(self, channel: int, pulse: float, duration: float = 0.0) -> None:
        """Pulses [us] that go to `pulse` within `duration` [s]: a servo holds while it gets any."""
        if channel in self._index:
            self._world.goal(self._index[channel], pulse, duration)
            self._world.torque(self._index[channel], True)

    def release(self, channel: int) -> None:
        """No pulses."""
        if channel in self._index:
            self._world.torque(self._index[channel], False)
