"""The commissioning dialog: introduces each stage, carries it out, and saves its result at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots.draft.questions.units import AnswerError
from hexapod_control.servos.bus.bus_interface import BusError
from hexapod_control.servos.calibration import dialog as words
from hexapod_control.servos.calibration.dialog import Abandoned, Back, TorqueStop
from hexapod_control.servos.commissioning.commissioning_progress_file import CommissioningProgressFile
from hexapod_control.servos.commissioning.pictured_dialog import PicturedDialog
from hexapod_control.servos.commissioning.stages import BY_KEY, SKIPPED, StageError, StageMachine

FAULTS = (
    StageError,
    BusError,
    RobotFileError,
    AnswerError,
    OSError,
)  # reported; the stage is then offered again
BEGIN = "Enter begins "  # the question before each stage
HELP = (
    "Enter begins the stage, back returns to the one before, skip leaves it out.\n"
    "After quit, Ctrl-C or a power cut, run the same command again to continue.\n"
    f"A name goes to that stage: {', '.join(BY_KEY)}."
)


class CommissioningSession:
    """Runs the stages that are not finished yet. Life cycle: `run` once."""

    def __init__(
        self,
        machine: StageMachine,
        acts: Mapping[str, Callable[[], str]],
        relax: Callable[[], str],
        dialog: PicturedDialog,
        file: CommissioningProgressFile,
    ) -> None:
        """`acts` carry out the stages, by key, and return their results for the report.

        `relax` switches the torque off and returns a description.
        """
        self.machine, self._acts, self._relax = machine, acts, relax
        self._dialog, self._file = dialog, file

    def run(self) -> None:
        """Runs until all stages are finished. Raises Abandoned if the operator quits to continue later."""
        say = self._dialog.say
        say(f"{len(BY_KEY)} stages lead from the box to a slow walk. {HELP}")
        while (stage := self.machine.current) is not None:
            self._dialog.introduce(stage, *self.machine.number)
            try:
                if not self._begins(self._dialog.ask(BEGIN)):
                    continue
                result = self._acts[stage.key]()
                self.machine.finish(result)
                say(f"\nDone: {result}.")
            except Back:
                pass  # the stage is offered again
            except TorqueStop:
                say(f"\nSTOP: {self._relax()}.")
                self._dialog.relaxed()
            except FAULTS as error:
                say(f"\nNot yet: {error}.\n{stage.otherwise}")
            finally:
                self._file.write(self.machine.progress)

    def _begins(self, answer: str) -> bool:
        """Whether the stage begins; any other answer selects another stage or shows the help."""
        word, command = answer.lower(), words.command(answer)
        if not word:
            return True
        if command == words.QUIT:
            raise Abandoned
        if command == words.BACK:
            self.machine.back()
        elif word in BY_KEY:
            self.machine.repeat(word)
        elif word in ("s", "skip"):
            self.machine.finish(SKIPPED)
        else:
            self._dialog.say(HELP)
        return False
