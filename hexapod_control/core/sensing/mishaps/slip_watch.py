"""Detects slipping feet: the measured yaw rate then differs from the planned one.

The legs that were in stance while the rates differed count as slipping.
"""

from __future__ import annotations

from collections.abc import Sequence

from hexapod_control.core.copyable import Copyable

SMOOTHING_TIME_S = 1.0  # of the averages: about one gait cycle, in which the yaw rate oscillates
SLIP_RATE_RAD_S = 0.2  # mean difference of the rates above which feet slip
MIN_SHARE = 0.7  # of the largest value of a leg, from which a leg counts as slipping


class SlipWatch(Copyable):
    """Compares the yaw rate of the gyro with the planned one."""

    def __init__(self) -> None:
        """Starts without difference."""
        self.reset()

    def reset(self) -> None:
        """Clears the averages."""
        self.difference = 0.0  # [rad/s] mean of measured minus planned rate
        self._leg_differences: tuple[
            float, ...
        ] = ()  # [rad/s] by leg: mean difference, counted only while it is in stance

    def step(self, dt: float, planned: float, measured: float | None, planted: Sequence[bool]) -> None:
        """Compares planned and measured yaw rate [rad/s], `dt` [s] after the last time; None if unknown."""
        if measured is None:
            self.reset()
            return
        if len(self._leg_differences) != len(planted):
            self._leg_differences = (0.0,) * len(planted)
        now, share = measured - planned, min(1.0, dt / SMOOTHING_TIME_S)
        self.difference += share * (now - self.difference)
        self._leg_differences = tuple(
            old + share * (abs(now) * down - old) for old, down in zip(self._leg_differences, planted, strict=True)
        )

    @property
    def slipping(self) -> tuple[int, ...]:
        """Rows of the slipping legs; empty while the feet grip."""
        if abs(self.difference) <= SLIP_RATE_RAD_S:
            return ()
        largest = max(self._leg_differences, default=0.0)
        return tuple(row for row, mean in enumerate(self._leg_differences) if mean >= MIN_SHARE * largest)
