# SPDX-License-Identifier: Apache-2.0
"""Which servos are there: the check before any torque, then answers and misses, in servo time.

Servo time is steady time without the scheduling delays of this computer: such a pause makes no servo silent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from hexapod_control.servos.bus.bus_interface import Bus, BusCounters, BusError
from hexapod_control.servos.bus.id_addressing import duplicate_ids
from hexapod_control.servos.settings.joint_calibration import JointCalibration

ALLOWED_CYCLES = 2.0  # cycle periods between two calls that are not a delay, without waits for replies


class ServoClock:
    """A clock that stops while the driver is not scheduled: such a pause does not make a servo silent."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """`clock` is steady time [s]."""
        self.excluded = 0.0  # [s] total delay of the driver by the computer since the start
        self._clock = clock
        self._last = clock()
        self._counters = BusCounters()
        self._waited = 0.0
        self._allowed = 0.0
        self._received = 0  # replies
        self._heard = 0.0  # [s] time of the last reply

    def follow(self, counters: BusCounters, period: float) -> None:
        """Follows a newly opened bus with this cycle period [s]."""
        self._counters = counters
        self._waited = counters.waited
        self._received = counters.received
        self._allowed, self._last = ALLOWED_CYCLES * period, self._clock()
        self._heard = self()

    def __call__(self) -> float:
        """Servo time [s]. A pause since the last call counts only up to ALLOWED_CYCLES, plus the waits for replies."""
        now = self._clock()
        waited = self._counters.waited
        pause = now - self._last - (waited - self._waited)
        if pause > self._allowed:
            self.excluded += pause - self._allowed
        self._last = now
        self._waited = waited
        return now - self.excluded

    def silence(self) -> float:
        """Time [s] since the last answer of any servo."""
        now = self()
        if self._counters.received != self._received:
            self._received = self._counters.received
            self._heard = now
        return now - self._heard


QUARANTINE_MISSES = 3  # consecutive ones, after which the servo is only pinged
PING_PERIOD_S = 1.0
FIRST_PING_S = 0.2 * PING_PERIOD_S  # after a restart, during which a servo is silent


class Presence:
    """Tracks the answers and misses of every servo."""

    def __init__(self, count: int, lost_after: float, now: float) -> None:
        """All servos count as present at `now`; one is lost after `lost_after` [s] without an answer."""
        self.misses = [0] * count  # consecutive
        self.total = [0] * count  # misses since the start
        self.last_answer = [now] * count
        self._lost_after = lost_after
        self._pinged = [-math.inf] * count

    def answered(self, index: int, now: float) -> None:
        """Records an answer, which ends a quarantine."""
        self.misses[index] = 0
        self.last_answer[index] = now

    def missed(self, index: int) -> None:
        """Counts a miss; too many in a row quarantine the servo."""
        self.misses[index] += 1
        self.total[index] += 1

    def quarantine(self, index: int, now: float) -> None:
        """Quarantines a servo that is known to restart; it is pinged after FIRST_PING_S."""
        self.misses[index] = max(self.misses[index], QUARANTINE_MISSES)
        self._pinged[index] = now - (PING_PERIOD_S - FIRST_PING_S)

    def quarantined(self, index: int) -> bool:
        """Whether a servo is excluded from the cycle."""
        return self.misses[index] >= QUARANTINE_MISSES

    def lost(self, index: int, now: float) -> bool:
        """Whether a servo has been silent for too long."""
        return self.quarantined(index) and now - self.last_answer[index] >= self._lost_after

    def due_ping(self, now: float) -> int | None:
        """The quarantined servo whose ping is due, if any; it counts as pinged."""
        for index in range(len(self.misses)):
            if self.quarantined(index) and now - self._pinged[index] >= PING_PERIOD_S:
                self._pinged[index] = now
                return index
        return None


def check_presence(bus: Bus, joints: Sequence[JointCalibration]) -> dict[int, str]:
    """Pings the servos of all joints. Returns their models by id.

    Raises BusError that names missing servos and probable duplicate ids.
    """
    present = dict(bus.identify())
    if any(joint.id not in present for joint in joints):  # one corrupt reply does not mean a missing servo
        present.update(bus.identify())
    absent = [joint for joint in joints if joint.id not in present]
    duplicates = duplicate_ids(bus, [joint.id for joint in absent])
    reasons = []
    if duplicates:
        names = describe(joint for joint in absent if joint.id in duplicates)
        reasons.append(f"{names} gives corrupt replies, probably two servos have this id: connect only one, set its id")
    missing = [joint for joint in absent if joint.id not in duplicates]
    if missing:
        found = ", ".join(map(str, sorted(present))) or "none"
        reasons.append(
            f"no answer from {len(missing)} of {len(joints)} servos: {describe(missing)}; ids found: {found}; "
            "check cables, power and the ids in servos.joints"
        )
    if reasons:
        raise BusError("; ".join(reasons))
    return present


def describe(joints: Iterable[JointCalibration]) -> str:
    """Joints by name and servo id."""
    return ", ".join(f"{joint.joint} (id {joint.id})" for joint in joints)
