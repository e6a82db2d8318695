"""The MuJoCo viewer window, which shows the world of mujoco_sim."""

from __future__ import annotations

from typing import Any

from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.sim.simulation import Simulation

PERIOD_S = 1 / 30


class ViewerWindow:
    """A window that shows the world; without a display the node reports that there is none.

    `Any`: MuJoCo's viewer is not typed.
    """

    def __init__(self, node: GuardedNode, simulation: Simulation) -> None:
        self._node = node
        self._window: Any = None
        self.open(simulation)
        node.create_timer(PERIOD_S, self._show, clock=node.steady)

    def open(self, simulation: Simulation) -> None:
        """Shows a world instead of the previous one."""
        import mujoco.viewer

        self.close()
        try:
            self._window = mujoco.viewer.launch_passive(simulation.model, simulation.data)
        except RuntimeError as error:
            text = f"no window ({error}): set headless to true, or set DISPLAY"
            self._node.report("window", ReportLevel.ERROR, text)

    def _show(self) -> None:
        if self._window is not None and self._window.is_running():
            self._window.sync()

    def close(self) -> None:
        """Closes the window."""
        if self._window is not None:
            self._window.close()
            self._window = None
