"""Uneven ground under the feet: where a swing ends by contact, and how the body follows the heights of the feet.

base_footprint's plane stands for the ground. On uneven ground a planted foot has a height of its own above it: that
at which it touched. A swing that touches early ends there; one that does not touch sinks on, planted for the gait's
clock, down to a bound. The plane follows the planted feet, their mean height quickly and their tilt slowly, so the
body keeps its height above the ground and ends up parallel to its general slope. Without contacts all
heights fade to zero, and the walk is the one over flat ground.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hexapod_control.core.walker import Foot

Reach = Callable[[int, "Foot", float], bool]
"""(leg, foot, height [m]) -> can the foot be at that height."""

FADE = 0.3  # [s] in which the heights go to zero without contacts
STRETCH = 4.0 / 3.0  # times the nominal time a swing takes on rough ground, to have time for the search
THERE = 0.75  # progress at which it is then over its aim ...
DOWN = 0.85  # ... and down: where the ground is met at any height, the foot should not travel any more
ROUGH = 0.01  # [m] touch-downs so far from the plane are rough ground
CALM = 0.1  # by which one touch-down on the plane makes the ground less rough
RAISED, SUNK = 0.5, 0.25  # of the height at lift-off, that the lift is lower or higher for it
EARLIEST = 0.5  # progress of a swing from which a contact ends it: before, it is the lift-off, or a wall
EVEN = 0.003  # [m] a contact this near to the expected ground is the expected ground
SEARCH = 0.15  # [m/s] at which a late foot sinks
DEPTH = 0.4  # share of the walk's height that feet follow the ground below and above the plane
STOP = 10.0  # [m/s^2] at which a foot is stopped
START = 6.0  # [m/s^2] at which the search gets going
LATE, LOOSE = (
    0.03,
    0.1,
)  # [s] without contact before a foot that has just landed, or has carried, is sent down on flat ground
SPARE = 0.008  # [m] of its reach a leg keeps that stands low or high: a straight leg is a jerky one
SHORTEST_STOP = 0.02  # [s]
WAIT = 0.15  # cycles a lift-off waits at most
RETREAT = 1.0  # [s] in which feet come back to the plane where they are out of reach
CARRYING = 3  # feet that must touch when others lift off
SOON = 0.2  # swing times before its lift-off in which an unloaded foot is not sent down any more
FOLLOW = 0.3  # [s] time constant with which the plane follows the mean height of the feet
LEAN = 2.0  # [s] and their tilt
RISE, TURN = 0.1, 0.15  # [m/s, rad/s] at which the plane moves at most
HEAVE = 0.5  # [m/s^2] acceleration of the plane's height
SWAY = 2.0  # [rad/s^2] and of its tilt


def eased(t: float) -> float:
    """Share of the way from 1 to 0 that is left at t in [0, 1], at rest at both ends."""
    return 1.0 - t * t * (3.0 - 2.0 * t)


class Ground:
    """The ground as the feet find it."""

    def __init__(self, count: int, height: float) -> None:
        """For so many feet of a robot that walks at a height [m]; nothing is sensed yet."""
        self.depth = DEPTH * height  # [m] from the plane that a foot stands at most
        self.contacts: Sequence[bool] | None = None  # as sensed now; None: not known
        self.waiting = False  # does a lift-off wait for feet to touch
        self._waited = 0.0  # [s]
        self._faded = 1.0  # share of the fade that is over
        self._rates = (0.0, 0.0, 0.0)  # [1/s, 1/s, m/s] of the plane's slope along x and y and of its height
        self.sinking = [0.0] * count  # [m/s] of every planted foot
        self.rough = 0.0  # 0: flat; 1: so rough that feet should come down early
        self._down = [True] * count  # has the foot touched since it is planted
        self._loose = [0.0] * count  # [s] since a planted foot has touched
        self._fresh: frozenset[int] = frozenset()  # feet that have moved in this tick before they began to sink

    def copy(self) -> Ground:
        """An independent ground in the same state."""
        other = Ground.__new__(Ground)
        other.__dict__.update(self.__dict__)
        other.sinking, other._down, other._loose = self.sinking[:], self._down[:], self._loose[:]
        return other

    @property
    def even(self) -> bool:
        """True while the ground is taken as flat and nothing is sensed: the feet walk as if this did not exist."""
        return self.contacts is None and self._faded >= 1.0

    @property
    def haste(self) -> tuple[float, float]:
        """Progress of a swing at which the foot is over its aim, and at which it is down, if nothing stops it."""
        return 1.0 - self.rough * (1.0 - THERE), 1.0 - self.rough * (1.0 - DOWN)

    @property
    def stretch(self) -> float:
        """Times the nominal swing time a swing should take, to have time for a search at its end."""
        return 1.0 + self.rough * (STRETCH - 1.0)

    @staticmethod
    def lift(height: float, base: float) -> float:
        """Lift [m] of a swing from a height `base` [m]: the top is half of what it started above the plane lower."""
        return height - (RAISED if base > 0.0 else SUNK) * base

    def landed(self, height: float) -> None:
        """A foot has touched at a height [m]: that tells how rough the ground is."""
        now = min(max((abs(height) - EVEN) / (ROUGH - EVEN), 0.0), 1.0)
        self.rough = max(now, self.rough - CALM)

    def touches(self, leg: int) -> bool:
        """True if a foot is known to touch."""
        return self.contacts is not None and self.contacts[leg]

    def holds(self, feet: Sequence[Foot], lifted: Collection[int], dt: float, most: float) -> bool:
        """True if these lift-offs must wait: fewer than three others touch. They wait for `most` [s] at most."""
        self.waiting = False
        if self.contacts is None or not lifted:
            return False
        carrying = sum(
            touches and leg not in lifted and (foot.progress is None or foot.progress >= EARLIEST)
            for leg, (foot, touches) in enumerate(zip(feet, self.contacts, strict=True))
        )
        if carrying >= CARRYING or self._waited >= most:
            self._waited = 0.0
            return False
        self._waited += dt
        self.waiting = True
        return True

    def meets(self, leg: int, foot: Foot) -> bool:
        """True if a foot in the air has met ground that is higher than expected."""
        if not self.touches(leg) or foot.planted or (foot.progress is not None and foot.progress < EARLIEST):
            return False
        expected = foot.drop.end if foot.drop else 0.0
        return foot.z > expected + EVEN

    def sinks(self, leg: int, foot: Foot) -> bool:
        """True if a swinging foot that is over its aim and slow enough should rather sink on as a late one."""
        there, down = foot.haste
        speed = -foot.velocity[2]
        if there == 1.0 or foot.progress is None or foot.progress < max(there, 0.6 * down) or speed > SEARCH:
            return False
        self.sinking[leg], self._fresh = max(speed, 0.0), self._fresh | {leg}
        return True

    def step(self, feet: Sequence[Foot], until: Sequence[float], dt: float, reach: Reach) -> None:
        """Moves the heights of all feet on by `dt` [s].

        `until` [swing times] tells when each foot lifts off (inf: the clock stands), `reach` what heights are in reach.
        """
        if self.contacts is None:
            self._fade(feet, dt)
            return
        self._faded = 0.0
        for leg, foot in enumerate(feet):
            if leg not in self._fresh:
                self._search(leg, foot, until[leg] < SOON, dt, reach)
            down = foot.planted and self.contacts[leg]
            if down and not self._down[leg]:
                self.landed(foot.z)
            self._down[leg] = foot.planted and (down or self._down[leg])
            if foot.progress is not None and not reach(leg, foot, foot.z):
                foot.z = self._lowered(leg, foot, reach)
        self._fresh = frozenset()
        standing = [foot for foot, down in zip(feet, self.contacts, strict=True) if foot.planted and down]
        if len(standing) < CARRYING:
            standing = [foot for foot in feet if foot.planted]
        self._follow(standing, feet, dt)

    def _search(self, leg: int, foot: Foot, leaving: bool, dt: float, reach: Reach) -> None:
        """Sinks a planted foot that does not touch."""
        speed = self.sinking[leg]
        self._loose[leg] = self._loose[leg] + dt if foot.planted and not self.touches(leg) else 0.0
        if not foot.planted:
            self.sinking[leg] = 0.0
            return
        aim = 0.0
        if foot.z and not reach(leg, foot, foot.z + math.copysign(SPARE, foot.z)):
            aim = math.copysign(min(SEARCH, abs(foot.z) / dt), foot.z)
        elif (
            not self.touches(leg)
            and not leaving
            and (speed or self._loose[leg] > (1.0 - self.rough) * (LOOSE if self._down[leg] else LATE))
        ):
            left = foot.z + self.depth
            ahead = SPARE + SEARCH * (dt + SEARCH / (2.0 * STOP))
            if left > 0.0 and reach(leg, foot, foot.z - ahead):
                aim = min(SEARCH, math.sqrt(2.0 * STOP * left), left / dt)
        self.sinking[leg] = speed = min(max(aim, speed - STOP * dt), speed + (START if speed >= 0.0 else STOP) * dt)
        if speed:
            foot.z -= speed * dt

    @staticmethod
    def _lowered(leg: int, foot: Foot, reach: Reach) -> float:
        """Greatest height [m] in reach of a swinging foot."""
        low, high = 0.0, foot.z
        for _ in range(8):
            middle = (low + high) / 2.0
            low, high = (middle, high) if reach(leg, foot, middle) else (low, middle)
        return low

    def _follow(self, standing: Sequence[Foot], feet: Sequence[Foot], dt: float) -> None:
        """Moves the plane towards the planted feet, which shows in the heights of all feet."""
        lean_x, lean_y, height = _plane(standing) or (0.0, 0.0, 0.0)
        x, y, z = self._rates
        self._rates = along, across, up = (
            _near(x, _near(0.0, -lean_x / LEAN, TURN), SWAY * dt),
            _near(y, _near(0.0, -lean_y / LEAN, TURN), SWAY * dt),
            _near(z, _near(0.0, -height / FOLLOW, RISE), HEAVE * dt),
        )
        for foot in feet:
            rise = (along * foot.x + across * foot.y + up) * dt
            if foot.progress is not None:
                foot.base += rise
                continue
            foot.x, foot.y = foot.x - along * dt * foot.z, foot.y - across * dt * foot.z
            foot.z += rise
            if foot.drop is not None:
                foot.drop.end += rise

    def _fade(self, feet: Sequence[Foot], dt: float) -> None:
        before = eased(self._faded)
        self._faded = min(1.0, self._faded + dt / FADE)
        share = eased(self._faded) / before if before > 0.0 else 0.0
        self.sinking, self._rates = [0.0] * len(feet), (0.0, 0.0, 0.0)
        self._waited, self.waiting = 0.0, False
        for foot in feet:
            foot.base *= share
            if foot.drop is not None:
                foot.z -= (1.0 - share) * foot.drop.end
                foot.drop.end *= share
            elif foot.progress is None:
                foot.z *= share

    def retreat(self, feet: Sequence[Foot], dt: float) -> None:
        """Brings planted feet nearer to the plane, where they are in reach: the way out of a posture that is not."""
        for foot in feet:
            if foot.planted:
                foot.z *= max(0.0, 1.0 - dt / RETREAT)


def _near(now: float, wanted: float, most: float) -> float:
    """What comes nearest to the value wanted with a change of `most`."""
    return now + min(max(wanted - now, -most), most)


def stop_time(velocity: tuple[float, float, float]) -> float:
    """Time [s] in which a foot that has touched at this velocity [m/s] is stopped."""
    return max(SHORTEST_STOP, 4.0 * math.hypot(*velocity) / STOP)


def _plane(feet: Sequence[Foot]) -> tuple[float, float, float] | None:
    """(a, b, c) of the least-squares plane z = a x + b y + c [m] through feet; None for too few, or in line."""
    if len(feet) < CARRYING:
        return None
    n = len(feet)
    mx, my, mz = sum(f.x for f in feet) / n, sum(f.y for f in feet) / n, sum(f.z for f in feet) / n
    xx = sum((f.x - mx) ** 2 for f in feet)
    yy = sum((f.y - my) ** 2 for f in feet)
    xy = sum((f.x - mx) * (f.y - my) for f in feet)
    xz = sum((f.x - mx) * (f.z - mz) for f in feet)
    yz = sum((f.y - my) * (f.z - mz) for f in feet)
    determinant = xx * yy - xy * xy
    if determinant <= 1e-3 * xx * yy or determinant == 0.0:
        return None
    a, b = (xz * yy - yz * xy) / determinant, (yz * xx - xz * xy) / determinant
    return a, b, mz - a * mx - b * my
