# SPDX-License-Identifier: Apache-2.0
"""A small model of Nav2's MPPI controller in free space: sampling, acceleration clamp and critics, as in its source.

Samples are clamped step by step to the acceleration limits, starting from the measured speed; their mean, weighted by
their costs, is the next control sequence, and its second entry the command. Obstacles are round, and so is the robot.
"""

import math

import numpy as np

INFLATION_SCALE, INFLATION_M = 5.0, 0.25  # [1/m], and [m] from contact
SAVITZKY_GOLAY = np.array((-21.0, 14.0, 39.0, 54.0, 59.0, 54.0, 39.0, 14.0, -21.0)) / 231.0


class Mppi:
    """The controller for one path; `section` are the parameters of FollowPath, with their critics."""

    def __init__(self, section, rng, batch=None, obstacles=()):
        """`batch` replaces the number of samples; `obstacles` are x, y, and distance of contact [m]."""
        self._of, self._rng, self._obstacles = section, rng, obstacles
        self._dt, self._steps = section["model_dt"], section["time_steps"]
        self._batch = batch or section["batch_size"]
        self._top = np.array([section["vx_max"], section["vy_max"], section["wz_max"]])
        self._up = self._dt * np.array([section["ax_max"], section["ay_max"], section["az_max"]])
        self._down = self._dt * np.array([-section["ax_min"], -section["ay_min"], section["az_max"]])
        self._std = np.array([section["vx_std"], section["vy_std"], section["wz_std"]])
        self._controls = np.zeros((self._steps, 3))
        self._history = np.zeros((4, 3))
        self._last = np.zeros(3)

    def command(self, pose, speed, path, goal=None):
        """The command [m/s, m/s, rad/s] for a pose, a measured speed, the next part of the path (k, 3) and the goal."""
        if self._of.get("open_loop", False):
            speed = self._last
        samples = self._controls + self._rng.standard_normal((self._batch, self._steps, 3)) * self._std
        states = self._clamped(samples, np.broadcast_to(speed, (self._batch, 3)))
        samples[:, :-1] = states[:, 1:]
        costs = self._costs(pose, states, path, path[-1] if goal is None else goal)
        for axis in range(3):
            noise = samples[:, :, axis] - self._controls[:, axis]
            costs += self._of["gamma"] / self._std[axis] ** 2 * (noise @ self._controls[:, axis])
        weights = np.exp((costs.min() - costs) / self._of["temperature"])
        controls = np.clip(np.tensordot(weights / weights.sum(), samples, 1), -self._top, self._top)
        controls = self._clamped(controls[None, :], controls[None, 0])[0]
        padded = np.concatenate((self._history, controls, np.repeat(controls[-1:], 4, axis=0)))
        smooth = [np.convolve(padded[:, axis], SAVITZKY_GOLAY, "valid") for axis in range(3)]
        controls = np.column_stack(smooth)
        self._history = np.vstack((self._history[1:], controls[1]))
        self._last = controls[1]
        self._controls = np.vstack((controls[1:], controls[-1:]))
        return self._last

    def _clamped(self, wanted, first):
        """Velocities of samples (batch, steps, 3): the first one as given, each later one within reach of the last."""
        states = np.empty_like(wanted)
        states[:, 0] = first
        for step in range(1, wanted.shape[1]):
            last = states[:, step - 1]
            above = np.where(last > 0.0, self._up, self._down)
            below = np.where(last > 0.0, self._down, self._up)
            states[:, step] = np.clip(wanted[:, step - (wanted.shape[0] > 1)], last - below, last + above)
        return states

    def _costs(self, pose, states, path, goal):
        """The sum of the critics (batch,), at a distance from the goal at which each one acts."""
        dt, of = self._dt, self._of
        yaws = pose[2] + np.cumsum(states[:, :, 2], axis=1) * dt
        before = np.concatenate((np.full((len(yaws), 1), pose[2]), yaws[:, :-1]), axis=1)
        c, s, vx, vy = np.cos(before), np.sin(before), states[:, :, 0], states[:, :, 1]
        x = pose[0] + np.cumsum(vx * c - vy * s, axis=1) * dt
        y = pose[1] + np.cumsum(vx * s + vy * c, axis=1) * dt
        costs = np.zeros(len(states))
        left = math.dist(goal[:2], pose[:2])
        reached = int(np.argmin(np.hypot(x[:, -1:] - path[:, 0], y[:, -1:] - path[:, 1]), axis=1).max())
        ahead = min(reached + of["PathFollowCritic"]["offset_from_furthest"], len(path) - 1)
        if left > of["PathFollowCritic"]["threshold_to_consider"]:
            away = np.hypot(x[:, -1] - path[ahead, 0], y[:, -1] - path[ahead, 1])
            costs += of["PathFollowCritic"]["cost_weight"] * away
        align = of["PathAlignCritic"]
        if left > align["threshold_to_consider"] and reached >= align["offset_from_furthest"]:
            stride = align["trajectory_point_step"]
            tx, ty = x[:, ::stride], y[:, ::stride]
            along = np.cumsum(np.hypot(np.diff(tx), np.diff(ty)), axis=1)
            lengths = np.concatenate(([0.0], np.cumsum(np.hypot(*np.diff(path[: reached + 1, :2], axis=0).T))))
            nearest = np.clip(np.searchsorted(lengths, along), 0, reached)
            off = np.hypot(tx[:, 1:] - path[nearest, 0], ty[:, 1:] - path[nearest, 1])
            costs += align["cost_weight"] * off.mean(axis=1)
        if left <= of["GoalCritic"]["threshold_to_consider"]:
            costs += of["GoalCritic"]["cost_weight"] * np.hypot(x - goal[0], y - goal[1]).mean(axis=1)
        if left <= of["GoalAngleCritic"]["threshold_to_consider"]:
            off = np.abs((yaws - goal[2] + math.pi) % math.tau - math.pi)
            costs += of["GoalAngleCritic"]["cost_weight"] * off.mean(axis=1)
        angle = of["PathAngleCritic"]
        point = path[min(reached + angle["offset_from_furthest"], len(path) - 1)]
        bearing = math.atan2(point[1] - pose[1], point[0] - pose[0]) - pose[2]
        turned = abs(math.remainder(bearing, math.tau))
        if left > angle["threshold_to_consider"] and turned > angle["max_angle_to_furthest"]:
            wanted = np.arctan2(point[1] - y[:, -1], point[0] - x[:, -1])
            costs += angle["cost_weight"] * np.abs((yaws[:, -1] - wanted + math.pi) % math.tau - math.pi)
        costs += of["TwirlingCritic"]["cost_weight"] * np.abs(states[:, :, 2]).mean(axis=1)
        for ox, oy, contact in self._obstacles:
            costs += self._cost_of_obstacle(
                np.hypot(x - ox, y - oy)[:, :: of["CostCritic"]["trajectory_point_step"]] - contact
            )
        over = np.hypot(vx, vy) - np.hypot(*self._top[:2])
        return costs + of["ConstraintCritic"]["cost_weight"] * np.maximum(over, 0.0).sum(axis=1) * dt

    def _cost_of_obstacle(self, gaps):
        """Costs (batch,) of the distances (batch, points) from contact, in a costmap with inflation."""
        critic = self._of["CostCritic"]
        cell = 252.0 * np.exp(-INFLATION_SCALE * np.maximum(gaps, 0.0)) * (gaps < INFLATION_M)
        return critic["cost_weight"] / 254.0 * cell.mean(axis=1) + critic["collision_cost"] * (gaps < 0.0).any(axis=1)


class Smoother:
    """The velocity smoother in open loop, with all axes scaled together."""

    def __init__(self, section):
        self._rates = [np.array(section[name]) / section["smoothing_frequency"] for name in ("max_accel", "max_decel")]
        self._top = np.array(section["max_velocity"])
        self.velocity = np.zeros(3)

    def step(self, wanted):
        """The velocity after one of its periods."""
        wanted = np.clip(wanted, -self._top, self._top)
        change = wanted - self.velocity
        speeds_up = (np.abs(wanted) >= np.abs(self.velocity)) & (wanted * self.velocity >= 0.0)
        most = np.where(speeds_up, self._rates[0], -self._rates[1])
        share = min(1.0, *(m / abs(c) if abs(c) > m else 1.0 for m, c in zip(most, change, strict=True)))
        self.velocity = self.velocity + np.clip(share * change, -most, most)
        return self.velocity
