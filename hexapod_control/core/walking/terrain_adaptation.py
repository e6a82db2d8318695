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

from hexapod_control.core.gait.swing_trajectory import SMOOTH, SwingTiming
from hexapod_control.core.kinematics.plane_fit import fit_plane

if TYPE_CHECKING:
    from hexapod_control.core.walking.foot_motion import Foot

HeightReachable = Callable[[int, "Foot", float], bool]
"""(leg, foot, height [m]) -> can the foot be at that height."""

FADE = 0.3  # [s] in which the heights go to zero without contacts
STRETCH = 4.0 / 3.0  # times the nominal time a swing takes on rough ground, to have time for the search
# Of a swing on rough ground: up before it travels, as edges are in its way, and at its aim before it is down: where
# the ground is met, the foot should not travel any more.
STEEP = SwingTiming(off=0.1, there=0.75, up=0.45, down=0.95)
ROUGH = 0.01  # [m] touch-downs so far from the plane are rough ground
CALM = 0.1  # by which one touch-down on the plane makes the ground less rough
RAISED, SUNK = 0.5, 0.25  # of the height at lift-off, that the lift is lower or higher for it
EARLIEST = 0.5  # progress of a swing from which a contact may end it: before, it is the lift-off, or an edge
CLIMB = 0.2  # [m/s] at which a foot goes up an edge it has run against, instead of on ...
HIGHER = 0.03  # [m] ... and as much higher than its step
CLIMB_START, CLIMB_STOP = 6.0, 3.0  # [m/s^2]
EVEN = 0.003  # [m] a contact this near to the expected ground is the expected ground
SEARCH = 0.15  # [m/s] at which a late foot sinks
DEPTH = 0.4  # share of the walk's height that feet follow the ground below and above the plane
STOP = 10.0  # [m/s^2] at which a foot is stopped
START = 6.0  # [m/s^2] at which the search gets going
LATE, LOOSE = 0.03, 0.1  # [s] without contact before a foot that has just landed, or has carried, is sent down if flat
SPARE = 0.008  # [m] of its reach a leg keeps that stands low or high: a straight leg is a jerky one
EDGE = 0.001  # [m] of their reach that feet in the air keep, and ...
GIVE_UP = 3.0  # [m/s^2] ... at which they are slowed on the way up to it
SHORTEST_STOP = 0.02  # [s]
WAIT = 0.15  # cycles a lift-off waits at most
CARRYING = 3  # feet that must touch when others lift off
RETREAT = 1.0  # [s] in which feet come back to the plane where they are out of reach
SOON = 0.2  # swing times before its lift-off in which an unloaded foot is not sent down any more
FOLLOW = 0.3  # [s] time constant with which the plane follows the mean height of the feet
LEAN = 2.0  # [s] and their tilt
RISE, TURN = 0.1, 0.15  # [m/s, rad/s] at which the plane moves at most
HEAVE = 0.5  # [m/s^2] acceleration of the plane's height
SWAY = 2.0  # [rad/s^2] and of its tilt


def eased(t: float) -> float:
    """Share of the way from 1 to 0 that is left at t in [0, 1], at rest at both ends."""
    return 1.0 - t * t * (3.0 - 2.0 * t)


class TerrainAdaptation:
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
        self.climbing = [0.0] * count  # [m/s] of every swinging foot
        self._rising = [0.0] * count  # [m/s] of every foot in the air
        self._free = [False] * count  # has the foot left the ground since its lift-off
        self.rough = 0.0  # 0: flat; 1: so rough that feet should come down early
        self._down = [True] * count  # has the foot touched since it is planted
        self._loose = [0.0] * count  # [s] since a planted foot has touched
        self._fresh: frozenset[int] = frozenset()  # feet that have moved in this tick before they began to sink

    def copy(self) -> TerrainAdaptation:
        """An independent ground in the same state."""
        other = TerrainAdaptation.__new__(TerrainAdaptation)
        other.__dict__.update(self.__dict__)
        other.sinking, other._down, other._loose = self.sinking[:], self._down[:], self._loose[:]
        other.climbing, other._free, other._rising = self.climbing[:], self._free[:], self._rising[:]
        return other

    @property
    def even(self) -> bool:
        """True while the ground is taken as flat and nothing is sensed: the feet walk as if this did not exist."""
        return self.contacts is None and self._faded >= 1.0

    @property
    def timing(self) -> SwingTiming:
        """Of a swing that begins now, if nothing stops it."""
        return SMOOTH.towards(STEEP, self.rough)

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
        """True if these lift-offs must wait: fewer than three others touch. They wait for `most` [s] at most.

        For a foot that has touched and is just being stopped they wait in any case, if fewer than three others stand.
        """
        self.waiting = False
        if not lifted:
            return False
        if any(foot.drop for foot in feet):
            self.waiting = sum(foot.planted and leg not in lifted for leg, foot in enumerate(feet)) < CARRYING
        if self.contacts is None or self.waiting:
            return self.waiting
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
        if not self.touches(leg) or foot.planted or _rises(foot) or foot.z > self.depth:
            return False
        if foot.drop is not None and foot.drop.touched:
            return False
        return foot.z > (foot.drop.end if foot.drop else 0.0) + EVEN

    def climb(self, leg: int, foot: Foot, lift: float, dt: float) -> None:
        """Raises a swing of a `lift` [m] while its foot touches on the way up: it has met an edge, not its foothold."""
        speed, touches = self.climbing[leg], self.touches(leg)
        if foot.progress is None:
            self._free[leg], speed, foot.late = False, 0.0, 0.0
        else:
            self._free[leg] = self._free[leg] or not touches
            met = touches and self._free[leg] and _rises(foot) and foot.lift < lift + HIGHER
            speed = min(speed + CLIMB_START * dt, CLIMB) if met else max(speed - CLIMB_STOP * dt, 0.0)
        self.climbing[leg] = speed
        foot.lift += max(0.0, speed - max(0.0, foot.velocity[2])) * dt  # while it rises by itself, waiting will do
        foot.pace = 1.0 - speed / CLIMB

    def sinks(self, leg: int, foot: Foot) -> bool:
        """True if a swinging foot that is over its aim and slow enough should rather sink on as a late one."""
        there, speed = foot.timing.there, -foot.velocity[2]
        if there == 1.0 or foot.progress is None or foot.progress - foot.late < there or speed > SEARCH:
            return False
        self.sinking[leg], self._fresh = max(speed, 0.0), self._fresh | {leg}
        return True

    def step(self, feet: Sequence[Foot], until: Sequence[float], dt: float, reach: HeightReachable) -> None:
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
        self._fresh = frozenset()
        standing = [foot for foot, down in zip(feet, self.contacts, strict=True) if foot.planted and down]
        if len(standing) < CARRYING:
            standing = [foot for foot in feet if foot.planted]
        self._follow(standing, feet, dt)
        for leg, foot in enumerate(feet):
            if foot.progress is not None or foot.drop is not None:
                self._keep_in_reach(leg, foot, dt, reach)

    def _search(self, leg: int, foot: Foot, leaving: bool, dt: float, reach: HeightReachable) -> None:
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

    def _keep_in_reach(self, leg: int, foot: Foot, dt: float, reach: HeightReachable) -> None:
        """Slows a foot in the air that rises to the end of its reach."""
        vx, vy, speed = foot.velocity
        before = self._rising[leg]
        if speed > 0.0:
            start = foot.z - speed * dt
            if not reach(leg, foot, foot.z + EDGE + speed * speed / (2.0 * GIVE_UP)):
                speed = min(speed, max(before - GIVE_UP * dt, 0.0))
            speed = min(speed, max(before, 0.0) + STOP * dt)
            foot.z, foot.velocity = start + speed * dt, (vx, vy, speed)
        self._rising[leg] = speed
        if not reach(leg, foot, foot.z + EDGE):
            foot.z = self._lowered(leg, foot, reach)
            if foot.drop is not None:
                foot.drop.end = min(foot.drop.end, foot.z)

    @staticmethod
    def _lowered(leg: int, foot: Foot, reach: HeightReachable) -> float:
        """Greatest height [m] in reach of a foot in the air."""
        low, high = 0.0, foot.z
        for _ in range(8):
            middle = (low + high) / 2.0
            low, high = (middle, high) if reach(leg, foot, middle + EDGE) else (low, middle)
        return low

    def _follow(self, standing: Sequence[Foot], feet: Sequence[Foot], dt: float) -> None:
        """Moves the plane towards the planted feet, which shows in the heights of all feet."""
        lean_x, lean_y, height = fit_plane(standing) or (0.0, 0.0, 0.0)
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


def _rises(foot: Foot) -> bool:
    """True if a foot swings and is not on its way down yet."""
    return foot.progress is not None and (foot.progress < EARLIEST or foot.velocity[2] > 0.0)


def _near(now: float, wanted: float, most: float) -> float:
    """What comes nearest to the value wanted with a change of `most`."""
    return now + min(max(wanted - now, -most), most)


def stop_time(velocity: tuple[float, float, float]) -> float:
    """Time [s] in which a foot that has touched at this velocity [m/s] is stopped."""
    return max(SHORTEST_STOP, 4.0 * math.hypot(*velocity) / STOP)
