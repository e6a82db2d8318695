"""The guided calibration as services of servo_driver, for front ends that are no terminal.

`~/calibration/start` begins it, `accept`, `back` and `~/calibration/answer` (a text, as typed in the terminal) answer
the question on `~/calibration/prompt`, `save` agrees to the last one, `cancel` ends it and leaves the file alone.
The prompt is JSON: `state` (idle, working, asking, saved, ended), `number` of the question, `step`, `question`, `said`
(texts since the last answer) and `residuals_mm` (how far each foot is above the plane of all).
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from typing import Any

from std_msgs.msg import String
from std_srvs.srv import Trigger

from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.section_writer import own_file
from hexapod_control.nodes.servo_driver.settings import DriverSettings
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.qos import EVENTS, LATCHED
from hexapod_control.servos.bus.bus_interface import BusError
from hexapod_control.servos.calibration.dialog import BACK, Abandoned
from hexapod_control.servos.calibration.guide import STEPS
from hexapod_control.servos.calibration.remote_dialog import OpenQuestion, RemoteDialog
from hexapod_control.servos.calibration.session import SAVE, CalibrationSession, check_ranges, chosen
from hexapod_control.servos.driver.bus_lease import BusLease
from hexapod_control.servos.driver.driver_thread import Driver
from hexapod_control.servos.settings.servo_section import LOOPBACK, servo_settings

ENDING = 3.0  # [s] for a calibration that was cancelled
IDLE = {"state": "idle"}
NONE = "no calibration is under way: call calibration/start"


class CalibrationRun:
    """One calibration in a thread of its own: the person may take an hour."""

    def __init__(self, driver: Driver, settings: DriverSettings) -> None:
        """Raises RobotFileError, ValueError or BusError, each with a cure, if it cannot be begun."""
        self._driver, self._settings = driver, settings
        file = load(own_file(settings.robot))
        servos = servo_settings(file, settings.protocol, settings.port)
        if servos.protocol == LOOPBACK:
            raise ValueError("the robot has no servos with a wire: say which protocol and port")
        check_ranges(servos)
        self.remote = RemoteDialog()
        self._loan: BusLease = driver.lend()
        try:
            pace = settings.calibration_pace
            self._work = CalibrationSession(self._loan, self._loan.identify(), servos, file, self.remote, pace)
        except BaseException:
            driver.give_back(self._loan)
            raise
        self.outcome: dict[str, object] = {}
        self._thread = threading.Thread(target=self._run, name="calibration", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._work.run(self._steps())
            late = self._adopted()
            outcome, said = "saved", [*self.remote.asked.said, *([f"restart the driver: {late}"] if late else [])]
        except Abandoned:
            outcome, said = "ended", [f"nothing was saved: {self._loan.over or 'cancelled'}"]
        except (BusError, RobotFileError, OSError) as error:
            outcome, said = "ended", [f"nothing was saved: {error}"]
        except Exception as error:
            outcome, said = "ended", [f"nothing was saved: {type(error).__name__}: {error}; report it"]
        finally:
            self._driver.give_back(self._loan)
        self.outcome = {"state": outcome, "said": said}

    def _adopted(self) -> str:
        """Lets the driver know what was saved. Returns why not, or nothing."""
        try:
            settings = self._settings
            return self._driver.adopt(servo_settings(load(settings.robot), settings.protocol, settings.port))
        except (BusError, RobotFileError, OSError) as error:
            return str(error)

    def _steps(self) -> list[str]:
        while True:
            try:
                return chosen(self.remote.ask(f"which steps? [{','.join(STEPS)}]") or ",".join(STEPS))
            except ValueError as error:
                self.remote.say(str(error))

    @property
    def going_on(self) -> bool:
        """Whether it has not ended."""
        return not self.outcome

    @property
    def step(self) -> str:
        """What is being done."""
        return self._work.step

    def prompt(self) -> Mapping[str, object]:
        """The present."""
        asked: OpenQuestion = self.remote.asked
        shown = {"number": asked.number, "step": self.step, "residuals_mm": self._residuals()}
        if not self.going_on:
            return {**self.outcome, **shown}
        state = "asking" if asked.question else "working"
        return {"state": state, "question": asked.question, "said": list(asked.said), **shown}

    def _residuals(self) -> dict[str, float]:
        return {leg: round(1000.0 * height, 2) for leg, height in self._work.guide.residuals.items()}

    def check(self) -> None:
        """Ends it if its bus was taken away."""
        if self._loan.over:
            self.remote.cancel()

    def end(self) -> None:
        """Cancels, and waits for that."""
        self.remote.cancel()
        self._thread.join(ENDING)


class CalibrationServices:
    """Offers the services on the driver's node; `tick` shows what is new."""

    def __init__(self, node: GuardedNode, driver: Driver, settings: DriverSettings) -> None:
        self._node, self._driver, self._settings = node, driver, settings
        self._sitting: CalibrationRun | None = None
        self._prompt = node.create_publisher(String, "~/calibration/prompt", LATCHED)
        self._shown = ""
        node.create_subscription(String, "~/calibration/answer", self.on_answer, EVENTS)
        for name in ("start", "accept", "back", "save", "cancel"):
            node.create_service(Trigger, f"~/calibration/{name}", getattr(self, f"on_{name}"))
        self.tick()

    def tick(self) -> None:
        """Publishes the prompt if it is a new one."""
        if self._sitting is not None:
            self._sitting.check()
        text = json.dumps(IDLE if self._sitting is None else self._sitting.prompt(), ensure_ascii=False)
        if text != self._shown:
            self._shown = text
            self._prompt.publish(messages.text(text))

    def close(self) -> None:
        """Ends what is under way."""
        if self._sitting is not None:
            self._sitting.end()

    def on_start(self, request: Any, response: Any) -> Any:
        """Begins, unless the servos hold."""
        if self._going_on is not None:
            return _answer(response, "a calibration is under way: cancel it first")
        try:
            self._sitting = CalibrationRun(self._driver, self._settings)
        except (RobotFileError, ValueError, BusError, OSError) as error:
            return _answer(response, str(error))
        return _answer(response, "")

    def on_accept(self, request: Any, response: Any) -> Any:
        """What Enter is in the terminal: it is there, or what stands in brackets."""
        return _answer(response, self._answered(""))

    def on_back(self, request: Any, response: Any) -> Any:
        """The question before."""
        return _answer(response, self._answered(BACK))

    def on_answer(self, message: Any) -> None:
        """A text to the question."""
        refusal = self._answered(message.data)
        if refusal:
            self._node.report(
                "calibration", ReportLevel.WARNING, f"calibration/answer {message.data!r} ignored: {refusal}"
            )

    def on_save(self, request: Any, response: Any) -> Any:
        """Writes the robot file, once all steps are done."""
        if self._going_on is not None and self._going_on.step != SAVE:
            return _answer(response, "not all steps are done: answer their questions, or cancel and choose fewer")
        return _answer(response, self._answered("y"))

    def on_cancel(self, request: Any, response: Any) -> Any:
        """Ends it; the file stays as it is, the torque goes."""
        if self._going_on is None:
            return _answer(response, NONE)
        self._going_on.remote.cancel()
        return _answer(response, "")

    @property
    def _going_on(self) -> CalibrationRun | None:
        return self._sitting if self._sitting is not None and self._sitting.going_on else None

    def _answered(self, text: str) -> str:
        return NONE if self._going_on is None else self._going_on.remote.answer(text)


def _answer(response: Any, refusal: str) -> Any:
    response.success, response.message = not refusal, refusal or "calibration/prompt tells what comes next"
    return response
