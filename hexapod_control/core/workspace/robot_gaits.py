# SPDX-License-Identifier: Apache-2.0
"""The gaits that a robot can walk: those in which the legs on the ground always support it.

The static margin is evaluated over a cycle with all feet at their neutral footholds.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from hexapod_control.core.gait.gait_table import AUTO, Gait, derived_gaits, own_gaits
from hexapod_control.core.robot import Point, Robot
from hexapod_control.core.statics.moving_mass import neutral_center
from hexapod_control.core.statics.static_stability import static_margin
from hexapod_control.core.workspace.crawl import crawl
from hexapod_control.core.workspace.gait_search import fastest_gait

MIN_MARGIN = 1e-6  # [m] static margin; a smaller one may be a rounding error
CRAWL_LEGS = 4  # with one of four legs in swing, a robot tips unless its body sways


class Support(NamedTuple):
    """The static margin with some legs in swing."""

    margin: float  # [m] static
    lifted: tuple[int, ...]  # rows of the legs in swing

    @property
    def stable(self) -> bool:
        """True if the robot does not tip."""
        return self.margin > MIN_MARGIN


@lru_cache(maxsize=8)
def gaits(robot: Robot) -> Mapping[str, Gait]:
    """The gaits of a robot by name. Raises ValueError if it has none."""
    known = known_gaits(robot)
    supports = {name: least_support(robot, gait) for name, gait in known.items()}
    usable = {name: gait for name, gait in known.items() if supports[name].stable}
    if not usable:
        margin, lifted = max(supports.values())
        legs = " and ".join(robot.legs[leg].name for leg in lifted)
        raise ValueError(f"no gait is stable: with {legs} in the air the static margin is {margin:.4f} m")
    fastest = fastest_gait(robot, neutral_center(robot), min(gait.duty_factor for gait in usable.values()))
    return MappingProxyType(usable if fastest is None else {**usable, fastest.name: fastest})


def gait_names(robot: Robot) -> tuple[str, ...]:
    """The names that can be selected as gait. Raises ValueError if the robot has no gait."""
    return (*gaits(robot), AUTO)


def known_gaits(robot: Robot) -> dict[str, Gait]:
    """The derived gaits, the crawl and those of the robot file, by name; not all of them need to be stable."""
    crawling = crawl(robot) if len(robot.legs) == CRAWL_LEGS else None
    crawls = {} if crawling is None else {crawling.name: crawling}
    return {**derived_gaits(robot), **crawls, **own_gaits(robot)}


def least_support(robot: Robot, gait: Gait) -> Support:
    """The support with the smallest static margin over a cycle, with the feet at their neutral footholds."""
    phases = gait.lift_off if gait.sway is None else gait.critical_phases
    return min(_support(robot, gait.legs_in_swing(phase), neutral_center(robot, gait.shift(phase))) for phase in phases)


def _support(robot: Robot, lifted: tuple[int, ...], center: Point) -> Support:
    planted = [leg.foothold for row, leg in enumerate(robot.legs) if row not in lifted]
    return Support(static_margin(planted, center), lifted)
