# SPDX-License-Identifier: Apache-2.0
"""The guided calibration, and the identification of the servos, as services of servo_driver for front ends.

`~/calibration/start` begins the calibration and `~/calibration/identify` the identification; `accept`, `back` and the
topic `~/calibration/answer` (a text, as typed in the terminal) answer the question on `~/calibration/prompt`; `save`
confirms the last question; `cancel` ends it without changing the file.
The prompt is JSON: `state` (idle, working, asking, saved, ended), `number` of the question, `step`, `progress` (share
of a measurement that is done), `question` (its text), `prompt` (its kind, values, choices and joint, for programs)
and `said` (texts since the last answer).
"""

from __future__ import annotations

import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence

from std_msgs.msg import String
from std_srvs.srv import Trigger

from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots.robot_file import RobotFile, load
from hexapod_control.config.section_writer import own_file
from hexapod_control.config.sentence import Sentence, refuse
from hexapod_control.core.names import quoted
from hexapod_control.core.refusal import Refusal
from hexapod_control.nodes.servo_driver.settings import DriverSettings
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.qos import EVENTS, LATCHED
from hexapod_control.ros.started_files import keep_section
from hexapod_control.servos.bus.bus_interface import BusError
from hexapod_control.servos.calibration.dialog import BACK, YES, Abandoned, Choice, Prompt, Typed
from hexapod_control.servos.calibration.guide import STEPS
from hexapod_control.servos.calibration.identification import (
    NOTHING_WRITTEN,
    TO_WRITE,
    IdentificationDialog,
    NotIdentifiedError,
    StandRecorder,
    require_reported,
)
from hexapod_control.servos.calibration.remote_dialog import DialogState, RemoteDialog
from hexapod_control.servos.calibration.servo_jogger import ServoJogger
from hexapod_control.servos.calibration.session import SAVE, CalibrationSession, parse_steps
from hexapod_control.servos.driver.bus_lease import BusLease
from hexapod_control.servos.driver.driver import Driver
from hexapod_control.servos.settings.save_servo_section import NAME as SERVOS
from hexapod_control.servos.settings.servo_section import LOOPBACK, ServoSettings, servo_settings

END_TIMEOUT_S = 3.0  # for a calibration that was cancelled
IDLE_PROMPT = {"state": "idle"}
NOT_RUNNING = refuse("not_running")
ALL_STEPS = Choice((",".join(STEPS),), Sentence("all_steps"))
WHICH_STEPS = Prompt(Sentence("which_steps"), (ALL_STEPS,), Typed.TEXT, hint=ALL_STEPS.word)


class BusDialog(ABC):
    """A dialog about the servos in a thread of its own, since it may take an hour; starts when it is created."""

    def __init__(self, driver: Driver, settings: DriverSettings) -> None:
        """Borrows the bus and starts the thread. Raises RobotFileError, ValueError or BusError, each with a remedy."""
        self._driver = driver
        self._settings = settings
        file = load(own_file(settings.robot))
        servos = servo_settings(file, settings.protocol, settings.port)
        if servos.protocol == LOOPBACK:
            raise ValueError("the robot has no servo bus: set protocol and port")
        self.dialog = RemoteDialog()
        self.progress = 0.0  # share of a measurement that is done
        self._lease: BusLease = driver.lend()
        try:
            self._begin(file, servos, self._lease)
        except BaseException:
            driver.give_back(self._lease)
            raise
        self.outcome: dict[str, object] = {}
        self._thread = threading.Thread(target=self._run, name="calibration", daemon=True)
        self._thread.start()

    @abstractmethod
    def _begin(self, file: RobotFile, servos: ServoSettings, bus: BusLease) -> None:
        """Prepares `_lead`. Raises ValueError or BusError."""

    @abstractmethod
    def _lead(self) -> Sequence[str]:
        """Leads through the dialog and writes the file. Returns what else there is to say; raises Abandoned."""

    @property
    @abstractmethod
    def step(self) -> str:
        """Name of the present step."""

    def _run(self) -> None:
        try:
            more = self._lead()
            outcome = "saved"
            said = [*(str(each) for each in self.dialog.state.said), *more]
        except Abandoned:
            outcome = "ended"
            said = [f"nothing was saved: {self._lease.over or 'cancelled'}"]
        except (BusError, NotIdentifiedError, RobotFileError, OSError) as error:
            outcome = "ended"
            said = [f"nothing was saved: {error}"]
        except Exception as error:
            outcome = "ended"
            said = [f"nothing was saved: {type(error).__name__}: {error}; report it"]
        finally:
            self._driver.give_back(self._lease)
        self.outcome = {"state": outcome, "said": said}

    @property
    def running(self) -> bool:
        """Whether the dialog is still running."""
        return not self.outcome

    def prompt(self) -> Mapping[str, object]:
        """Content of calibration/prompt."""
        dialog: DialogState = self.dialog.state
        shown = {"number": dialog.number, "step": self.step, "progress": self.progress}
        if not self.running:
            return {**self.outcome, **shown}
        prompt = dialog.prompt
        return {
            "state": "working" if prompt is None else "asking",
            "question": "" if prompt is None else prompt.line.strip(),
            "prompt": None if prompt is None else prompt.as_json(),
            "said": [str(text) for text in dialog.said],
            **shown,
        }

    def check(self) -> None:
        """Ends the dialog if the driver has taken the bus back."""
        if self._lease.over:
            self.dialog.cancel()

    def end(self) -> None:
        """Cancels the dialog and waits for its thread."""
        self.dialog.cancel()
        self._thread.join(END_TIMEOUT_S)


class CalibrationRun(BusDialog):
    """One guided calibration."""

    def _begin(self, file: RobotFile, servos: ServoSettings, bus: BusLease) -> None:
        """Checks the servos."""
        pace = self._settings.calibration_pace
        self._session = CalibrationSession(bus, bus.identify(), servos, file, self.dialog, pace)

    def _lead(self) -> Sequence[str]:
        """Calibrates; the driver uses the result at once."""
        self._session.run(self._steps())
        refusal = self._recalibrate()
        return [f"restart the driver: {refusal}"] if refusal else []

    def _recalibrate(self) -> Refusal | None:
        """Passes the saved calibrations to the driver. Returns why it refuses them."""
        try:
            settings = self._settings
            keep_section(settings.robot, SERVOS)
            return self._driver.recalibrate(servo_settings(load(settings.robot), settings.protocol, settings.port))
        except (BusError, RobotFileError, OSError) as error:
            return Refusal.of(error)

    def _steps(self) -> list[str]:
        while True:
            try:
                answer = self.dialog.ask_again(WHICH_STEPS)
                return parse_steps(answer if isinstance(answer, str) else answer.word)
            except ValueError as error:
                self.dialog.say(Sentence.of(error))

    @property
    def step(self) -> str:
        """Name of the present step."""
        return self._session.step


class IdentificationRun(BusDialog):
    """One identification of the servos, as `hexapod identify`: the robot is on its stand."""

    def _begin(self, file: RobotFile, servos: ServoSettings, bus: BusLease) -> None:
        """Asks the servos where they are."""
        require_reported(servos)
        jogger = ServoJogger(bus, {}, self._settings.calibration_pace)
        recorder = StandRecorder(
            bus,
            jogger,
            file.robot,
            servos.joints,
            sleep=self.dialog.wait,
            progress=self._note,
            begun=lambda asked: bus.begun,
        )
        self._identification = IdentificationDialog(file, servos, recorder, self.dialog)

    def _note(self, share: float) -> None:
        self.progress = round(share, 2)

    def _lead(self) -> Sequence[str]:
        """Measures and writes."""
        result = self._identification.run()
        if result.kind == NOTHING_WRITTEN:
            raise Abandoned
        self.progress = 1.0
        return [str(result)]

    @property
    def step(self) -> str:
        """Name of the present step."""
        prompt = self.dialog.state.prompt
        return SAVE if prompt is not None and prompt.kind == TO_WRITE else "identify"


class CalibrationServices:
    """Offers the services on the driver's node; call `tick` periodically."""

    def __init__(self, node: GuardedNode, driver: Driver, settings: DriverSettings) -> None:
        self._node = node
        self._driver = driver
        self._settings = settings
        self._run: BusDialog | None = None
        self._ran = False  # as /diagnostics shows it
        self._prompt = node.create_publisher(String, "~/calibration/prompt", LATCHED)
        self._published = ""
        node.create_subscription(String, "~/calibration/answer", self.on_answer, EVENTS)
        for name in ("start", "identify", "accept", "back", "save", "cancel"):
            node.create_service(Trigger, f"~/calibration/{name}", getattr(self, f"on_{name}"))
        self._show(IDLE_PROMPT)

    def tick(self) -> None:
        """Publishes the prompt if it has changed."""
        if self._run is not None:
            self._run.check()
            self._show(self._run.prompt())
        if self.runs != self._ran:
            self._ran = self.runs
            self._node.publish_status()

    def _show(self, prompt: Mapping[str, object]) -> None:
        text = json.dumps(prompt, ensure_ascii=False)
        if text != self._published:
            self._published = text
            self._prompt.publish(messages.text(text))

    def close(self) -> None:
        """Ends a running calibration."""
        if self._run is not None:
            self._run.end()

    def on_start(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Starts a calibration, unless the torque is on."""
        return _answer(response, self._begin(CalibrationRun))

    def on_identify(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Starts an identification of the servos, unless the torque is on."""
        return _answer(response, self._begin(IdentificationRun))

    def _begin(self, kind: Callable[[Driver, DriverSettings], BusDialog]) -> Refusal | None:
        if self._current is not None:
            return refuse("running")
        try:
            self._run = kind(self._driver, self._settings)
        except (RobotFileError, ValueError, BusError, NotIdentifiedError, OSError) as error:
            return refuse("not_started", error=error)
        return None

    def on_accept(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Like Enter in the terminal: agrees, or accepts the default in brackets."""
        return _answer(response, self._answer_question(""))

    def on_back(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Goes back to the previous question."""
        return _answer(response, self._answer_question(BACK.word))

    def on_answer(self, message: String) -> None:
        """Answers the question with a text."""
        refusal = self._answer_question(message.data)
        if refusal is not None:
            self._node.report(
                "calibration", ReportLevel.WARNING, f"calibration/answer {quoted(message.data)} ignored: {refusal}"
            )

    def on_save(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Writes the robot file, once all steps are done."""
        if self._current is not None and self._current.step != SAVE:
            return _answer(response, refuse("not_done"))
        return _answer(response, self._answer_question(YES.word))

    def on_cancel(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Ends the calibration without changing the file, and switches the torque off."""
        if self._current is None:
            return _answer(response, NOT_RUNNING)
        self._current.dialog.cancel()
        return _answer(response, None)

    @property
    def _current(self) -> BusDialog | None:
        return self._run if self._run is not None and self._run.running else None

    @property
    def runs(self) -> bool:
        """Whether a calibration has the bus, so that arming is refused."""
        return self._current is not None

    def _answer_question(self, text: str) -> Refusal | None:
        return NOT_RUNNING if self._current is None else self._current.dialog.answer(text)


def _answer(response: Trigger.Response, refusal: Refusal | None) -> Trigger.Response:
    response.success = refusal is None
    response.message = str(refusal or "calibration/prompt shows what comes next")
    return response
