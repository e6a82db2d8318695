"""MuJoCo's own window on the world of mujoco_sim."""

from __future__ import annotations

from typing import Any

from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.sim.simulation import Simulation

PERIOD = 1 / 30  # [s]


class ViewerWindow:
    """A window that follows the world; on a machine without a screen there is none, and the node says so."""

    def __init__(self, node: GuardedNode, simulation: Simulation) -> None:
        self._node = node
        self._window: Any = None
        self.open(simulation)
        node.create_timer(PERIOD, self._show, clock=node.steady)

    def open(self, simulation: Simulation) -> None:
        """Shows this world, and no longer the last one."""
        import mujoco.viewer

        self.close()
        try:
            self._window = mujoco.viewer.launch_passive(simulation.model, simulation.data)
        except RuntimeError as error:
            text = f"no window ({error}): set headless to true, or tell DISPLAY"
            self._node.report("window", ReportLevel.ERROR, text)

    def _show(self) -> None:
        if self._window is not None and self._window.is_running():
            self._window.sync()

    def close(self) -> None:
        """Closes it."""
        if self._window is not None:
            self._window.close()
            self._window = None
