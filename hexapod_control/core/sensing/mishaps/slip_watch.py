"""Detects slipping feet: the robot then turns at another rate than its feet.

The legs in stance while the rates differ are named.
"""

from __future__ import annotations

from collections.abc import Sequence

SMOOTHING_TIME_S = 1.0  # about one gait cycle, to average its sway
SLIP_RATE_RAD_S = 0.2  # mean difference of the rates: feet slip above it
MIN_SHARE = 0.7  # of the largest stance time in slip: legs above it are named


class SlipWatch:
    """Compares the gyro with the planned rate."""

    __slots__ = ("_stood", "difference")

    def __init__(self) -> None:
        """Starts without difference."""
        self.reset()

    def reset(self) -> None:
        """Starts over."""
        self.difference = 0.0  # [rad/s] mean of measured minus planned rate
        self._stood: tuple[float, ...] = ()  # mean difference while each leg stood

    def step(self, dt: float, planned: float, measured: float | None, planted: Sequence[bool]) -> None:
        """Compares planned and measured yaw rate [rad/s], `dt` [s] after the last time; None if unknown."""
        if measured is None:
            self.reset()
            return
        if len(self._stood) != len(planted):
            self._stood = (0.0,) * len(planted)
        now, share = measured - planned, min(1.0, dt / SMOOTHING_TIME_S)
        self.difference += share * (now - self.difference)
        self._stood = tuple(
            old + share * (abs(now) * down - old) for old, down in zip(self._stood, planted, strict=True)
        )

    @property
    def slipping(self) -> tuple[int, ...]:
        """Rows of the slipping legs; empty while the feet grip."""
        if abs(self.difference) <= SLIP_RATE_RAD_S:
            return ()
        most = max(self._stood, default=0.0)
        return tuple(row for row, stood in enumerate(self._stood) if stood >= MIN_SHARE * most)
