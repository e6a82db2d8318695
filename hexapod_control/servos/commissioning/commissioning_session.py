# SPDX-License-Identifier: Apache-2.0
"""The commissioning dialog: introduces each stage, carries it out, and saves its result at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.sentence import Sentence
from hexapod_control.servos.bus.bus_interface import BusError
from hexapod_control.servos.calibration.dialog import BACK, QUIT, Abandoned, Back, Choice, Dialog, Prompt, TorqueStop
from hexapod_control.servos.commissioning.commissioning_progress_file import CommissioningProgressFile
from hexapod_control.servos.commissioning.stages import BY_KEY, SKIPPED, Stage, StageError, StageMachine

FAULTS = (StageError, BusError, RobotFileError, OSError)  # reported; the stage is then offered again
START = Choice(("",), Sentence("begin_stage"))
SKIP_STAGE = Choice(("skip", "s"), Sentence("skip_stage"))
BEGIN = Prompt(Sentence("begin"), (START, SKIP_STAGE))
HELP = Sentence("help_stages", names=", ".join(BY_KEY))


class CommissioningSession:
    """Runs the stages that are not finished yet. Life cycle: `run` once."""

    def __init__(
        self,
        machine: StageMachine,
        acts: Mapping[str, Callable[[], Sentence]],
        relax: Callable[[], Sentence],
        dialog: Dialog,
        file: CommissioningProgressFile,
    ) -> None:
        """`acts` carry out the stages, by key, and return their results for the report.

        `relax` switches the torque off and returns a description.
        """
        self.machine = machine
        self._acts = acts
        self._relax = relax
        self._dialog = dialog
        self._file = file

    def run(self) -> None:
        """Runs until all stages are finished. Raises Abandoned if the operator quits to continue later."""
        say = self._dialog.say
        say(Sentence("introduction_stages", count=len(BY_KEY), help=HELP))
        while (stage := self.machine.current) is not None:
            self._dialog.introduce(self._introduction(stage), stage.picture)
            try:
                if not self._begins():
                    continue
                result = self._acts[stage.key]()
                self.machine.finish(result)
                say(Sentence("stage_done", result=result))
            except Back:
                pass  # the stage is offered again
            except TorqueStop:
                say(Sentence("stopped", result=self._relax()))
                self._dialog.relaxed()
            except FAULTS as error:
                reason = Sentence.of(error)
                say(Sentence("not_yet", reason=reason, otherwise=stage.otherwise))
            finally:
                self._file.write(self.machine.progress)

    def _introduction(self, stage: Stage) -> Sentence:
        number, count = self.machine.number
        return Sentence(
            "introduction_stage",
            number=number,
            count=count,
            title=stage.title,
            minutes=stage.minutes,
            key=stage.key,
            text=stage.text,
        )

    def _begins(self) -> bool:
        """Whether the stage begins; any other answer selects another stage or shows the help."""
        answer = BEGIN.read(self._dialog.answer_to(BEGIN))
        if answer is START:
            return True
        if answer is QUIT:
            raise Abandoned
        if answer is BACK:
            self.machine.back()
        elif answer is SKIP_STAGE:
            self.machine.finish(SKIPPED)
        elif isinstance(answer, str) and answer.lower() in BY_KEY:
            self.machine.repeat(answer.lower())
        else:
            self._dialog.say(HELP)
        return False
