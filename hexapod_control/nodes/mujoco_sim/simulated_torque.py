"""The torque of a simulated robot without a bus: the counterpart of the servo driver for real servos."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.servos.driver.target_follower import TargetFollower
from hexapod_control.servos.driver.torque_switch import ESTOP_LATCHED, EmergencyStop


class SimulatedServos(Protocol):
    """The part of the simulation that switches the torque."""

    @property
    def joints(self) -> Array:
        """Joint angles (n, 3) [rad]."""

    def engage(self) -> None:
        """Torque on."""

    def release(self) -> None:
        """Torque off."""


class SimulatedTorque:
    """Torque and emergency stop of a simulated robot, which starts with the torque on. Any thread may call."""

    def __init__(
        self,
        follower: TargetFollower,
        servos: Callable[[], SimulatedServos],
        lock: AbstractContextManager[object],
    ) -> None:
        """`servos` returns the present simulation: a reset of the world replaces it. `lock` is that of the world."""
        self._follower = follower
        self._servos = servos
        self._lock = lock
        self._estop = EmergencyStop()
        self._armed = True

    @property
    def armed(self) -> bool:
        """Whether the torque is on."""
        return self._armed

    @property
    def latched(self) -> bool:
        """Whether an emergency stop is latched."""
        return self._estop.latched

    def press_estop(self) -> str:
        """Latches and switches the torque off. Returns an empty text, as it cannot fail."""
        self._estop.press()
        return self.disarm()

    def release_estop(self) -> None:
        """Releases the button; the latch stays."""
        self._estop.release()

    def reset_fault(self) -> str:
        """Clears the latch. Returns why it cannot be cleared, or an empty text."""
        return self._estop.reset()

    def arm(self) -> str:
        """Switches the torque on at the present joint angles. Returns why it is not on, or an empty text."""
        if self._estop.latched:
            return ESTOP_LATCHED
        with self._lock:
            if not self._armed:
                servos = self._servos()
                self._follower.start(servos.joints)
                self._armed = True
                servos.engage()
        return ""

    def disarm(self) -> str:
        """Switches the torque off. Returns an empty text, as it cannot fail."""
        with self._lock:
            self._armed = False
            self._servos().release()
        return ""
