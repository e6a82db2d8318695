"""How often a robot has run into the walls, boxes and pillars of its world: truth, of which the robot knows nothing."""

from __future__ import annotations

from hexapod_control.sim.simulation import Simulation


class CollisionCounter:
    """Counts touches; call `look` after every step. A part that stays in touch with an obstacle counts once."""

    def __init__(self) -> None:
        self.count = 0
        self._touching: frozenset[tuple[int, int]] = frozenset()

    def look(self, simulation: Simulation) -> None:
        """Takes the contacts of now."""
        world, geoms = simulation.world, simulation.data.contact.geom.reshape(-1, 2)
        met = geoms[world.geom_obstacle[geoms].any(axis=1)]
        touching = frozenset((min(pair), max(pair)) for pair in simulation.model.geom_bodyid[met].tolist())
        self.count += len(touching - self._touching)
        self._touching = touching
