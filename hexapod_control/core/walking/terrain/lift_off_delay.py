"""Delays lift-offs until enough other feet support the robot."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.statics.static_stability import MIN_SUPPORTING_FEET
from hexapod_control.core.walking.foot import Dropping, Foot, Swing
from hexapod_control.core.walking.terrain.foot_contact import EARLIEST_TOUCH_DOWN


@dataclass
class LiftOffDelay(Copyable):
    """Whether a lift-off waits, and for how long."""

    waiting: bool = False
    waited: float = 0.0  # [s]

    def clear(self) -> None:
        """Ends the delay."""
        self.waiting, self.waited = False, 0.0

    def update(
        self,
        feet: Sequence[Foot],
        contacts: Sequence[bool] | None,
        lifted: Collection[int],
        dt: float,
        max_delay: float,
    ) -> bool:
        """Returns True if the legs (rows) in `lifted` must wait because fewer than three others touch the ground.

        They wait at most `max_delay` [s], and without a limit while a foot drops. `dt` [s] is the duration of the tick.
        """
        self.waiting = False
        if not lifted:
            return False
        if any(isinstance(foot.state, Dropping) for foot in feet):
            standing = sum(foot.state.planted and leg not in lifted for leg, foot in enumerate(feet))
            self.waiting = standing < MIN_SUPPORTING_FEET
        if contacts is None or self.waiting:
            return self.waiting
        supporting = sum(
            touches and leg not in lifted and not _early_in_swing(foot)
            for leg, (foot, touches) in enumerate(zip(feet, contacts, strict=True))
        )
        if supporting >= MIN_SUPPORTING_FEET or self.waited >= max_delay:
            self.waited = 0.0
            return False
        self.waited += dt
        self.waiting = True
        return True


def _early_in_swing(foot: Foot) -> bool:
    """True for a foot in the first part of its swing: its contact is not a touch-down."""
    return isinstance(foot.state, Swing) and foot.state.progress < EARLIEST_TOUCH_DOWN
