# SPDX-License-Identifier: Apache-2.0
"""New servos get their ids one by one; wrong connections are reported, and no assignment is lost."""

import pytest
from support.kits.memory_wire import Kit
from support.kits.operator import Operator

from hexapod_control.servos.calibration.assign_ids import IdAssignment
from hexapod_control.servos.calibration.dialog import Abandoned

pytestmark = pytest.mark.usefixtures("memory_time")


class Builder(Operator):
    """Connects the requested servo in addition to the earlier ones; `mistakes` replace the action at a question."""

    def __init__(self, kit, mistakes=None, last=99):
        super().__init__()
        self.kit, self.mistakes, self.last = kit, dict(mistakes or {}), last

    def on_connect_servo(self, prompt, meanwhile):
        if len(self.asked) > self.last:
            return "quit"
        wanted = prompt.text.values["id"]
        act = self.mistakes.pop(len(self.asked), None)
        if act is None:
            self.connect(wanted)
            return ""
        return act(wanted) or ""

    def connect(self, *numbers):
        """Plugs servos in; number n becomes the servo of joint n, and has id 1 before."""
        for number in numbers:
            if not self.kit.world.answers(number - 1):
                self.kit.fault(f"plug={number}")

    def run(self):
        IdAssignment(self.kit.bus(), self.kit.settings.joints, range(254), self).run()


@pytest.fixture
def kit():
    made = Kit()
    made.renew(4)
    return made


def ids(kit):
    return [memory[5] for memory in kit.port.device.memories]


def test_new_servos_get_their_ids_while_they_are_chained_one_by_one(kit):
    builder = Builder(kit)
    builder.run()
    assert ids(kit) == list(range(1, 19))
    assert len(builder.asked) == 4
    assert [prompt.joint[1] for prompt in builder.prompts] == ["coxa", "tibia", "femur", "coxa"]


def test_two_new_servos_at_once_none_and_a_wrong_answer_are_named_and_asked_again(kit):
    builder = Builder(
        kit, {1: lambda wanted: None, 2: lambda wanted: builder.connect(wanted, 1), 3: lambda wanted: "?"}
    )
    builder.mistakes[4] = lambda wanted: kit.fault("unplug=1")
    builder.run()
    assert builder.shown("aside no_new_servo") and builder.shown("help_ids general_help")
    assert ids(kit) == list(range(1, 19))


def test_servos_with_two_different_new_ids_are_distinguished(kit):
    kit.port.device.rename(2, 20)
    builder = Builder(kit, {1: lambda wanted: builder.connect(wanted, 3), 2: lambda wanted: kit.fault("unplug=3")})
    builder.run()
    (told,) = builder.shown("aside several_new_servos")
    assert set(told.values["said"].values["ids"].split(", ")) == {"1", "20"}
    assert ids(kit) == list(range(1, 19))


def test_the_assignment_continues_where_it_was_interrupted(kit):
    first = Builder(kit, last=2)
    with pytest.raises(Abandoned):
        first.run()
    again = Builder(kit)
    again.run()
    assert again.asked[0].values["id"] == 2
    assert len(again.asked) == 2
    assert ids(kit) == list(range(1, 19))


def test_back_returns_to_the_servo_before(kit):
    builder = Builder(kit, {3: lambda wanted: "back"})
    builder.run()
    assert builder.asked[3].values["id"] == 3
    assert builder.shown("has_id STS3215 3")


@pytest.mark.parametrize("word", ["s", "skip", "Skip"])
def test_a_servo_can_be_skipped(kit, word):
    builder = Builder(kit, {1: lambda wanted: word})
    builder.run()
    assert len(builder.asked) == 4
    assert ids(kit) == [1, 2, 3, 1, *range(5, 19)]
