"""Counts collisions with walls, boxes and pillars. This is ground truth, which no node of the robot uses."""

from __future__ import annotations

from hexapod_control.sim.simulation import Simulation


class CollisionCounter:
    """Counts contacts; call `update` after every step. A lasting contact counts once."""

    def __init__(self) -> None:
        self.count = 0
        self._touching: frozenset[tuple[int, int]] = frozenset()

    def update(self, simulation: Simulation) -> None:
        """Counts the contacts that are new since the last call."""
        world = simulation.world
        if not world.has_obstacles:
            return
        geoms = simulation.data.contact.geom.reshape(-1, 2)
        collisions = geoms[world.geom_obstacle[geoms].any(axis=1)]
        touching = frozenset((min(pair), max(pair)) for pair in simulation.model.geom_bodyid[collisions].tolist())
        self.count += len(touching - self._touching)
        self._touching = touching
