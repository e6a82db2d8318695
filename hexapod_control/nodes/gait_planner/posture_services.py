"""The services `stand` and `sit`: accepted or refused at once, begun as soon as nothing moves the whole row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from std_srvs.srv import Trigger

from hexapod_control.core.planner.planner import Planner
from hexapod_control.ros.guarded_node import GuardedNode


class PostureServices:
    """Standing up and sitting down; both end a motion that is played."""

    def __init__(self, node: GuardedNode, planner: Planner, end: Callable[[], None], block: Callable[[], None]) -> None:
        """`end` ends a motion, `block` makes velocity commands wait for a zero."""
        self._planner, self._end, self._block = planner, end, block
        self.sitting_down = False  # asked for, and nothing else since
        self._then: Callable[[], str] | None = None  # what follows when a move of the whole row has come to rest
        node.create_service(Trigger, "stand", self.on_stand)
        node.create_service(Trigger, "sit", self.on_sit)

    def on_stand(self, request: Any, response: Any) -> Any:
        """Stands up."""
        return answer(response, self.stand(), "standing up, gait_state tells when it is done")

    def on_sit(self, request: Any, response: Any) -> Any:
        """Sits down."""
        return answer(response, self.sit(), "sitting down, gait_state tells when it is done")

    def stand(self) -> str:
        """Stands up. Returns why not, or nothing if it is accepted."""
        refusal = self._begin(self._planner.stand)
        self.sitting_down = self.sitting_down and bool(refusal)
        return refusal

    def sit(self) -> str:
        """Sits down. Returns why not, or nothing if it is accepted."""
        refusal = self._begin(self._planner.sit)
        if not refusal:
            self.sitting_down = True
            self._block()
        return refusal

    def forget(self) -> None:
        """Something else has been asked for."""
        self.sitting_down, self._then = False, None

    def step(self) -> None:
        """Begins what had to wait; called before every tick."""
        if self._then is not None and not self._planner.row_moves:
            then, self._then = self._then, None
            then()

    def _begin(self, posture: Callable[[], str]) -> str:
        self._end()
        self._then = None
        if not self._planner.row_moves:
            return posture()
        self._planner.halt()
        self._then = posture
        return ""


def answer(response: Any, refusal: str, accepted: str) -> Any:
    """The response of a Trigger."""
    response.success, response.message = not refusal, refusal or accepted
    return response
