# SPDX-License-Identifier: Apache-2.0
"""The Gymnasium environment `Hexapod-v0`: any robot file follows a commanded velocity.

docs/learning.md, "What goes in and out" has the tables. Arrays (n, 3) have one row per leg, columns coxa, femur, tibia.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from hexapod_control.config.policy_file import description
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.motions.policy import JOINTS_LEVEL, LEVELS, PolicyBody, Sensed
from hexapod_control.core.quantity import check_fields, number
from hexapod_control.core.reality import IDEAL
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.world_settings import ONLY_IN, WorldSettings

TIMESTEP_S = 0.004  # of the physics: twice that of `hexapod sim`, for nearly twice the speed
MAX_TILT_RAD = math.radians(60.0)  # beyond it the robot has fallen
SHARPNESS = 4.0  # of the reward for a velocity: e^-4 at an error of the top speed
WEIGHTS: Mapping[str, float] = {  # of the terms of the reward
    "velocity": 1.0,
    "turning": 0.5,
    "tilt": -1.0,
    "bounce": -0.1,
    "effort": -0.1,
    "change": -0.05,
    "fall": -10.0,
}
Vector32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class EpisodeSettings:
    """Times of an episode."""

    period: float = number(0.02, "s", 0.005, 0.2, "from one action to the next")
    episode: float = number(10.0, "s", 0.2, 3600.0, "length of an episode, after which it is truncated")

    def __post_init__(self) -> None:
        check_fields(self)


class HexapodEnv(gymnasium.Env[Vector32, Vector32]):
    """A robot in its simulated world, and a velocity that it is to follow."""

    def __init__(
        self,
        robot: str = "phantomx",
        world: str = "flat",
        reality: str = IDEAL,
        *,
        level: str = JOINTS_LEVEL,
        period: float = 0.02,
        episode: float = 10.0,
        weights: Mapping[str, float] | None = None,
        **settings: Any,
    ) -> None:
        """`robot` is a name that comes with the package, or a file; `level` is that of the actions, one of LEVELS.

        `weights` replace some of WEIGHTS, `period` and `episode` are in [s], `settings` those of `WorldSettings`, such
        as `block_height`. Without `seed` and `reality_seed` among them, every episode has another ground and another
        robot. Raises RobotFileError, or ValueError for a wrong value.
        """
        _check("settings", settings, [each.name for each in fields(WorldSettings)])
        _check("weights", weights or {}, WEIGHTS)
        _check("levels", [level], LEVELS)
        times = EpisodeSettings(period, episode)
        file = load(robot)
        self._urdf = urdf(file)
        self._period = times.period
        self._steps_of_episode = round(times.episode / times.period)
        self._weights = {**WEIGHTS, **(weights or {})}
        given = {"timestep": TIMESTEP_S, "world": world, "reality": reality, **settings}
        self._settings = WorldSettings(**given)
        in_world = world in ONLY_IN["seed"] and "seed" not in settings
        in_robot = reality != IDEAL and "reality_seed" not in settings
        self._drawn_seeds = [name for name, drawn in (("seed", in_world), ("reality_seed", in_robot)) if drawn]
        self._simulation = Simulation(file.robot, self._urdf, self._settings)
        self.body = PolicyBody(file.robot, level)
        self.top_speed = self.body.top_speed  # (3,) [m/s, m/s, rad/s]
        self._policy_level = level
        self._command: Array = np.zeros(3)  # [m/s, m/s, rad/s]
        self._steps = 0
        self.observation_space = gymnasium.spaces.Box(self.body.low, self.body.high)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (self.body.actions,))

    @property
    def simulation(self) -> Simulation:
        """The simulation of the present episode."""
        return self._simulation

    @property
    def description(self) -> dict[str, str]:
        """For what a policy of this environment is trained, for `save` and `describe` of config/policy_file.py."""
        return description(self.simulation.robot, self._policy_level, self._period)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Vector32, dict[str, Any]]:
        """Begins an episode standing, with a velocity drawn at random, or `options["command"]` (vx, vy, wz).

        Its unit is [m/s, m/s, rad/s]. Raises ValueError if it is beyond the top speed of an axis.
        """
        super().reset(seed=seed)
        world_seed, robot_seed = self.np_random.integers(2**31, size=2).tolist()
        shares = self.np_random.uniform(-1.0, 1.0, 3)
        shares /= max(1.0, float(np.linalg.norm(shares)))  # no axis is at its top speed together with another
        if options and "command" in options:
            command = np.asarray(options["command"], dtype=float)
            if command.shape != (3,) or not (np.abs(command) <= self.top_speed).all():
                top = ", ".join(f"{value:.3g}" for value in self.top_speed)
                raise ValueError(f"command must be (vx, vy, wz) within the top speed ({top}) [m/s, m/s, rad/s]")
            shares = command / self.top_speed
        self._command = shares * self.top_speed
        if self._drawn_seeds:
            drawn = {"seed": world_seed, "reality_seed": robot_seed}
            settings = replace(self._settings, **{name: drawn[name] for name in self._drawn_seeds})
            self._simulation = self._simulation.changed(self._urdf, settings)
        self._simulation.reset(self.body.standing)
        self.body.restart()
        self._steps = 0
        used = self._simulation.world.settings
        info = {"command": self._command.copy(), "seed": used.seed, "reality_seed": used.reality_seed}
        return self._observation(), info

    def step(self, action: Vector32) -> tuple[Vector32, float, bool, bool, dict[str, Any]]:
        """Moves the joints towards an action for one period. Raises ValueError if it is not finite."""
        before = self.body.action
        self._simulation.step(self.body.targets(action, self._command, self._period), self._period)
        self._steps += 1
        fell = self._has_fallen()
        terms = self._terms(self.body.action - before, fell=fell)
        reward = sum(self._weights[name] * value for name, value in terms.items())
        return self._observation(), reward, fell, self._steps >= self._steps_of_episode, {"terms": terms}

    def _has_fallen(self) -> bool:
        """Whether the robot has tipped over, or its body touches the ground."""
        simulation = self._simulation
        world, data = simulation.world, simulation.data
        if data.xmat[world.base][8] < math.cos(MAX_TILT_RAD):
            return True
        geoms = data.contact.geom
        of_body = (simulation.model.geom_bodyid[geoms] == world.base).any(axis=1)
        return bool((of_body & world.geom_ground[geoms].any(axis=1)).any())

    def _terms(self, change: Array, *, fell: bool) -> dict[str, float]:
        """The terms of the reward before they are weighted, from the true motion; all in [0, 1] but `change`."""
        simulation = self._simulation
        data = simulation.data
        rotation = data.xmat[simulation.world.base].reshape(3, 3)
        vx, vy, vz = (data.qvel[:3] @ rotation).tolist()
        error = (np.array([vx, vy, data.qvel[5]]) - self._command) / self.top_speed
        squares = (error * error).tolist()
        efforts = simulation.efforts.ravel()
        return {
            "velocity": math.exp(-SHARPNESS * (squares[0] + squares[1])),
            "turning": math.exp(-SHARPNESS * squares[2]),
            "tilt": max(0.0, 1.0 - float(rotation[2, 2]) ** 2),
            "bounce": min(1.0, (vz / float(self.body.top_speed[0])) ** 2),
            "effort": float(efforts @ efforts) / efforts.size,
            "change": float(change @ change) / change.size,
            "fall": float(fell),
        }

    def _observation(self) -> Vector32:
        simulation = self._simulation
        imu = simulation.inertial()
        sensed = Sensed(
            imu.orientation,
            imu.angular_velocity,
            simulation.joints,
            simulation.joint_velocity,
            simulation.sensed_foot_forces(),
        )
        return self.body.observation(sensed, self._command)


def _check(what: str, given: Iterable[str], known: Any) -> None:
    for name in given:
        if name not in known:
            raise ValueError(f"{name} is none of the {what}: {', '.join(known)}")
