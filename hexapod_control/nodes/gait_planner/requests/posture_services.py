"""The services `stand`, `sit` and `recover`: accepted or refused at once; `gait_state` shows when they are done."""

from __future__ import annotations

from collections.abc import Callable

from std_srvs.srv import Trigger

from hexapod_control.core.motions.operator_commands import OperatorCommands
from hexapod_control.ros.guarded_node import GuardedNode


class PostureServices:
    """Serves standing up, sitting down and recovery. Lives as long as its node."""

    def __init__(
        self,
        node: GuardedNode,
        commands: OperatorCommands,
        block: Callable[[], None],
        accepted: Callable[[str], None] = lambda request: None,
    ) -> None:
        """`block` makes the node ignore velocity commands until a zero or a silence; `accepted` gets every request."""
        self._commands, self._block, self._accepted = commands, block, accepted
        node.create_service(Trigger, "stand", self.on_stand)
        node.create_service(Trigger, "sit", self.on_sit)
        node.create_service(Trigger, "recover", self.on_recover)

    def on_stand(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Stands up, or sets down the feet that are in the air."""
        return self._answer(response, "stand", self._commands.stand(), "standing up")

    def on_sit(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Sits down; velocity commands are accepted again after a zero or a silence."""
        refusal = self._commands.sit()
        if not refusal:
            self._block()
        return self._answer(response, "sit", refusal, "sitting down")

    def on_recover(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Stands up after a fall, or continues after the robot was lifted."""
        return self._answer(response, "recover", self._commands.stand(after_fall=True), "recovering")

    def _answer(self, response: Trigger.Response, request: str, refusal: str, doing: str) -> Trigger.Response:
        if not refusal:
            self._accepted(request)
        return answer(response, refusal, f"{doing}, gait_state reports when it is done")


def answer(response: Trigger.Response, refusal: str, accepted: str) -> Trigger.Response:
    """Fills the response of a Trigger service; an empty `refusal` is success."""
    response.success, response.message = not refusal, refusal or accepted
    return response
