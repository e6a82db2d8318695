# SPDX-License-Identifier: Apache-2.0
"""A builder with a box of parts: answers `hexapod new` and `hexapod first` for a build that nobody has seen before.

A build is drawn from a seed: legs, sizes, servos, their ids or the boards and channels they are plugged into, how every
servo and its horn are mounted, three slips in the questions, and three mistakes that the builder makes later. The
builder knows no calibration: he sees
how joints move and where they point, types what he sees, and turns and plugs with his hands.
"""

from __future__ import annotations

import math
import random
import time
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from support.kits.first_user import MEASURED
from support.kits.memory_wire import AT_ONCE, MemoryPort
from support.kits.operator import Operator, is_about

from hexapod_control.cli.commissioning.first import CommissioningRun
from hexapod_control.cli.main import parser
from hexapod_control.config.robots.draft.questions.interview import CONFIRMED, Interview
from hexapod_control.config.robots.draft.questions.units import AnswerError, DoubtfulAnswerError
from hexapod_control.config.robots.robot_file import load, resolve
from hexapod_control.config.sentence import Sentence
from hexapod_control.core.kinematics.whole_body import standing_joints
from hexapod_control.core.names import JOINTS
from hexapod_control.core.posture.stand_up import lying_joints
from hexapod_control.core.statics.static_stability import GRAVITY
from hexapod_control.servos.calibration.calibration_state import REST_POSE
from hexapod_control.servos.calibration.steps.horn_fit import TOOTH
from hexapod_control.servos.commissioning.commissioning_progress_file import CommissioningProgressFile
from hexapod_control.servos.commissioning.commissioning_session import CommissioningSession
from hexapod_control.servos.commissioning.stage_actions import StageActions
from hexapod_control.servos.commissioning.stages import StageError, StageMachine
from hexapod_control.servos.emulated_robot.weight import RobotWorld
from hexapod_control.servos.emulator.device_registry import emulated_device
from hexapod_control.servos.emulator.pseudo_terminal import PseudoTerminal
from hexapod_control.servos.emulator.servo_world import LagWorld
from hexapod_control.servos.i2c.i2c_bus import AdapterPort
from hexapod_control.servos.line_search import LineFinding
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.protocols.pca9685 import boards_on
from hexapod_control.servos.settings.joint_section import standard_calibrations
from hexapod_control.servos.settings.servo_section import servo_settings

SERVOS = {  # model and supply [V] by protocol
    "pca9685": ("MG996R", 6.0),
    "ssc32": ("MG996R", 6.0),
    "feetech_st": ("STS3215", 12.0),
    "dynamixel1": ("AX-12A", 11.1),
    "lx16a": ("LX-16A", 7.4),
}
LAYOUTS = ("4 rows", "6 rows", "6 circle", "8 rows")
ADDRESSES = range(0x40, 0x48)
PACE = 50.0
MAX_HAND_S = 2.0  # of a hand until the torque is off
TYPICAL = ("wrong sign", "two joints exchanged", "voltage", "garbage", "back")
MISTAKES = {
    True: (*TYPICAL, "horn", "channels"),  # with hobby servos
    False: (*TYPICAL, "unplugged", "wrong joint turned", "turned the wrong way"),
}


SLIPS = {  # in `hexapod new`: question, and what is typed there before the right answer
    "typing error": ("lengths", "5o 7o l20"),
    "number missing": ("body", "240 120"),
    "centimetres": ("body", "24 12 5"),
    "metres": ("lengths", "0.05 0.07 0.12"),
    "kilograms": ("masses", "2 0.2"),
    "impossible size": ("lengths", "50 70 4"),
    "impossible height": ("height", "900"),
    "limits swapped": ("limits", "75 -75 130 -100 10 -165"),
    "no such servo": ("servo", "MG99"),
    "supply of the battery": ("voltage", "24"),
    "wrong answer, then back": ("lengths", ""),
}


class Build:
    """The parts on the table: a robot file of `hexapod new`, and servos that are mounted somehow."""

    def __init__(self, seed, folder, kit="", protocol=""):
        """`kit` is a robot of the package, whose servos are mounted as its file says if it says so."""
        draw = self.draw = random.Random(seed)
        self.path = folder / "mine.yaml"
        drawn = draw.choice(["pca9685"] * 3 + list(SERVOS))
        self.protocol = protocol or drawn
        if kit:
            self.path.write_text(resolve(kit).read_text())
            file = load(self.path)
            self.protocol = next(name for name, (model, _) in SERVOS.items() if model == file.servo_model)
            settings = servo_settings(file, self.protocol, "/dev/hexapod")
        self.model, self.volts = SERVOS[self.protocol]
        self.layout = draw.choice(LAYOUTS)
        self.noticed = {}  # what was said to slips in `hexapod new`
        if not kit:
            self._answer_new(random.Random(f"slips {seed}").sample(list(SLIPS), 3))
        self.robot = load(self.path).robot
        row = PROTOCOLS[self.protocol]
        self.hobby = bool(row.board_size)
        self.mistakes = draw.sample(MISTAKES[self.hobby], 3)
        count = 3 * len(self.robot.legs)
        self.addresses = tuple(sorted(draw.sample(ADDRESSES, draw.randint(-(-count // 16), 4))))
        known = bool(kit) and file.servos is not None
        if known:
            self.addresses = dict(settings.options).get("addresses", ())
        self.ids = settings.ids if known else self._plugs(count, row)
        self.mounted = [self._horn(joint) for joint in (settings.joints if known else self._screwed(row))]
        self.world = self._new_world(row.scale)
        for joint in self.mounted:
            self.world.positions[self.index(joint.id)] = joint.raw(0.5 * (joint.lower + joint.upper))
        options = {"addresses": self.addresses} if self.protocol == "pca9685" else {}
        device = emulated_device(self.protocol, self.world, self.ids, tuple(options.items()))
        self.port = self._connected(device, row.baud)
        self.moves = []  # (index, raw distance) of the goals since the last question
        goal = self.world.goal
        self.world.goal = lambda index, raw, time: (self._moved(index, raw), goal(index, raw, time))

    def _new_world(self, scale):
        return LagWorld(scale, len(self.mounted), lag=0.001, speed=60.0)

    def _connected(self, device, baud):
        return MemoryPort(device, baud)

    def _answer_new(self, slips):
        """Answers `hexapod new` with slips, which are noticed at once or taken back."""
        lengths = [self.draw.randint(*ends) for ends in ((35, 55), (60, 90), (100, 140))]
        wanted = {"legs": self.layout, "servo": self.model, "voltage": f"{self.volts:g}"}
        wanted["lengths"] = " ".join(map(str, lengths))
        interview = Interview("mine", {})
        while interview.question is not None:
            key = interview.question.key
            for slip in [each for each in slips if SLIPS[each][0] == key]:
                self._slip(interview, slip)
            answer = wanted.get(key, "")
            try:
                interview.answer(answer)
            except DoubtfulAnswerError:
                interview.answer((answer or interview.default()) + CONFIRMED)
            except AnswerError:
                interview.answer("")
        assert interview.answers["lengths"] == wanted["lengths"]
        self.path.write_text(interview.text())

    def _slip(self, interview, slip):
        key, typed = SLIPS[slip]
        try:
            interview.answer(typed)
        except AnswerError as error:
            self.noticed[slip] = str(error)
        else:
            assert slip == "wrong answer, then back", f"{slip} is not noticed"
            interview.back()
        assert interview.question.key == key

    def _plugs(self, count, row):
        """Ids of the servos in a random order of joints."""
        if self.protocol == "pca9685":
            known = range(16 * len(self.addresses))
            ids = self.draw.sample(known, count)
            if {servo // 16 for servo in ids} != set(range(len(self.addresses))):
                return self._plugs(count, row)  # a board without a servo is not in the box
            return tuple(ids)
        if self.hobby:
            return tuple(self.draw.sample(range(row.board_size), count))
        return tuple(self.draw.sample(range(1, count + 1), count))

    def _screwed(self, row):
        """Calibrations whose horns fit exactly: servos are mounted in any direction, right ones as in a mirror."""
        senses = [self.draw.choice((-1, 1)) for _ in JOINTS]
        found = []
        for k, joint in enumerate(standard_calibrations(self.robot, row.scale, row.ids)):
            mirrored = -1 if k % 3 and self.robot.legs[k // 3].hip[1] < 0.0 else 1
            units = {"units_per_rad": row.scale.per_rad, "units_per_rad_neg": row.scale.per_rad}
            sense = senses[k % 3] * mirrored
            found.append(replace(joint, id=self.ids[k], direction=sense, q_center=REST_POSE[k % 3], **units))
        return found

    def _horn(self, joint):
        """A joint whose horn is on the nearest tooth, up to half a tooth off."""
        off = 0.45 * TOOTH * self.draw.uniform(-1.0, 1.0)
        return replace(joint, center=joint.center - joint.direction * off * joint.units_per_rad)

    def _moved(self, index, raw):
        if abs(raw - self.world.positions[index]) > 1.0 and self.world.torques[index]:
            self.moves.append((index, raw - self.world.positions[index]))

    def index(self, servo):
        return self.ids.index(servo)

    def row(self, joint):
        return 3 * self.robot.leg_names.index(joint[0]) + JOINTS.index(joint[1])

    def angle(self, row):
        """The true angle [rad] of a joint."""
        joint = self.mounted[row]
        return joint.angle(float(self.world.positions[self.index(joint.id)]))

    def turn_to(self, row, angle):
        """Turns a joint by hand."""
        index = self.index(self.mounted[row].id)
        assert not self.world.torques[index], "a servo with torque cannot be turned by hand"
        self.world.positions[index] = self.mounted[row].raw(angle)

    def move_horn(self, row, teeth):
        """Takes a horn off and puts it on some teeth further."""
        joint = self.mounted[row]
        self.mounted[row] = replace(joint, center=joint.center - joint.direction * teeth * TOOTH * joint.units_per_rad)

    # --- Hardware ------------------------------------------------------------------------------------------------

    @contextmanager
    def open(self, settings):
        row = PROTOCOLS[settings.protocol]
        options = {**dict(settings.options), **({"wait": AT_ONCE} if "wait" in row.options else {})}
        yield row.open(self.port, settings.ids, **options)

    def ports(self):
        return ["/dev/hexapod"]

    def boards(self, port):
        return boards_on(AdapterPort(self.port, port))

    def chips(self, bus):
        return {}

    def findings(self, port):
        if self.protocol == "pca9685":
            return [LineFinding(100_000, self.protocol, board="PCA9685 boards")]
        if self.hobby:
            return [LineFinding(self.port.baud, self.protocol, board="a board")]
        with self.open(servo_settings(load(self.path), self.protocol, port)) as bus:
            return [LineFinding(self.port.baud, self.protocol, bus.scan(range(33), 1))]

    def drive(self, settings, motion):
        """The joints of a robot that stands up and lies down go where its programs send them, within 2 deg."""
        for joints in (lying_joints(self.robot), standing_joints(self.robot)):
            for k, angle in enumerate(np.ravel(joints).tolist()):
                off = math.degrees(abs(self.mounted[k].angle(settings.joints[k].goal(angle)) - angle))
                if settings.joints[k].id != self.mounted[k].id or off > 2.0:
                    raise StageError(Sentence.of(f"{settings.joints[k].short_name} is {off:.1f} deg off"))
        return Sentence.of(f"{motion} done")


class WiredBuild(Build):
    """A build behind a pseudo terminal, whose robot bears its weight; a context manager."""

    def _new_world(self, scale):
        self.stepped = set()  # rows of the legs that were in the air while the others bore the weight
        world = RobotWorld(self.robot, self.mounted, scale, [float(scale.center)] * len(self.mounted))
        world.weighed = self._watch
        return world

    def _watch(self, dt):
        forces = self.world.support.forces
        if forces.sum() > 0.99 * self.robot.mass * GRAVITY:
            self.stepped |= {int(row) for row in np.flatnonzero(forces == 0.0)}

    def _connected(self, device, baud):
        return PseudoTerminal(device, baud, link=self.path.with_name("bus"))

    def turn_to(self, row, angle):
        """Turns a joint by hand; the last bytes to the servos may still be on the line."""
        deadline = time.monotonic() + MAX_HAND_S
        while self.world.torques[self.index(self.mounted[row].id)] and time.monotonic() < deadline:
            time.sleep(0.001)
        super().turn_to(row, angle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.port.close()


class Builder(Operator):
    """Does what is asked with the parts of a build, and makes its mistakes."""

    def __init__(self, build):
        super().__init__()
        self.build = build
        self._typed = {}  # what was typed at a question last
        for mistake in build.mistakes:
            getattr(self, "_" + mistake.replace(" ", "_"))()

    # --- mistakes: (words of a question, answer or what is done) ------------------------------------------------------

    def _some_row(self):
        return self.build.draw.randrange(len(self.build.mounted))

    def _wrong_sign(self):
        joint = self.build.mounted[self._some_row()]
        self.answers.append((f"which_joint {joint.id}", lambda: self._seen(opposite=True)))

    def _two_joints_exchanged(self):
        a, b = self.build.draw.sample(range(len(self.build.mounted)), 2)
        for one, other in ((a, b), (b, a)):
            joint = self.build.mounted[one]
            self.answers.append((f"which_joint {joint.id}", lambda other=other: self._named(other, 1)))

    def _voltage(self):
        self.answers.append(("voltage", "24"))

    def _garbage(self):
        self.answers += [("which_joint", "the big one"), ("voltage", "a lot")]

    def _back(self):
        self.answers.append((f"which_joint {self.build.mounted[self._some_row()].id}", "back"))

    def _channels(self):
        self.answers.append(("channels_of_board", "0-1"))

    def _horn(self):
        self._wrong_horn = self._some_row()
        self.build.move_horn(self._wrong_horn, 3)

    def _unplugged(self):
        servo = self.build.mounted[self._some_row()].id
        index = self.build.index(servo)
        self.answers.append((f"which_joint {servo}", lambda: self.build.world.unplug(index) or "r"))
        self.answers.append(("connected_again", lambda: self.build.world.plug(index) or ""))

    def _wrong_joint_turned(self):
        asked, turned = self.build.draw.sample(range(len(self.build.mounted)), 2)
        leg, joint = self._name(asked)
        self.answers.append((f"turn_by_hand {leg}_{joint}", lambda: self._turn(turned, 0.5) or ""))

    def _turned_the_wrong_way(self):
        row = self._some_row()
        leg, joint = self._name(row)
        self.answers.append((f"turn_by_hand {leg}_{joint}", lambda: self._turn(row, -0.35) or ""))

    # --- what a builder sees and does ---------------------------------------------------------------------------------

    def _name(self, row):
        return self.build.robot.leg_names[row // 3], JOINTS[row % 3]

    def _named(self, row, sign):
        return f"{' '.join(self._name(row))} {'+' if sign > 0 else '-'}"

    def _seen(self, opposite=False):
        """Which joint has moved, and in which direction first."""
        index, distance = self.build.moves[0]
        row = next(k for k, joint in enumerate(self.build.mounted) if self.build.index(joint.id) == index)
        sign = math.copysign(1.0, distance) * self.build.mounted[row].direction
        return self._named(row, -sign if opposite else sign)

    def _turn(self, row, by):
        self.build.turn_to(row, self.build.angle(row) + by)

    def answer_to(self, prompt, meanwhile=None):
        assert len(self.prompts) < 3000, f"asked for ever: {prompt.text}"
        answer = super().answer_to(prompt, meanwhile)
        self.build.moves.clear()
        return answer

    def on_voltage(self, prompt, meanwhile):
        return f"{self.build.volts:g}"

    def on_lowest_voltage(self, prompt, meanwhile):
        return f"{self.build.volts:g}"

    def on_channels_of_board(self, prompt, meanwhile):
        board = prompt.text.values["board"]
        names = [f"0x{address:02X}" for address in self.build.addresses]
        number = names.index(board) if board in names else 0
        size = PROTOCOLS[self.build.protocol].board_size
        return ",".join(str(servo % size) for servo in sorted(self.build.ids) if servo // size == number)

    def on_feet_free(self, prompt, meanwhile):
        self.build.world.is_held = True

    def on_on_its_belly(self, prompt, meanwhile):
        self.build.world.is_held = False
        for row, angle in enumerate(np.ravel(lying_joints(self.build.robot)).tolist()):
            self.build.turn_to(row, angle)

    def on_begin(self, prompt, meanwhile):
        if any(is_about(self.said[-1], f"introduction_stage {key}") for key in MEASURED):
            return "skip"
        lost = self.said[-2:-1] and is_about(self.said[-2], "not_yet joints_without_servo")
        return "bus" if lost else ""

    def on_which_joint(self, prompt, meanwhile):
        return self._seen() if self.build.moves else "s"

    def on_has_turned(self, prompt, meanwhile):
        seen = self._seen()
        return "" if seen == self._named(self.build.row(prompt.joint), 1) else seen

    def on_turn_by_hand(self, prompt, meanwhile):
        self._turn(self.build.row(prompt.joint), 0.35)

    def on_hold_pose(self, prompt, meanwhile):
        pose = prompt.text.values["pose"]
        first = self.build.row((*prompt.joint, "coxa")[:2])
        if len(prompt.joint) == 2:
            self.build.turn_to(first, math.radians(pose.values["degrees"]))
            return
        for k, joint in enumerate(JOINTS):
            self.build.turn_to(first + k, self._target(first + k, pose.values[joint]))

    def _target(self, row, described):
        """The angle [rad] that a sentence describes."""
        degrees = described.values.get("degrees")
        return REST_POSE[row % 3] if degrees is None else math.radians(degrees)

    def on_jog(self, prompt, meanwhile):
        row = self.build.row(prompt.joint)
        wish = self.build.mounted[row].raw(self._target(row, prompt.text.values["target"]))
        question = str(prompt.text)
        if abs(wish - prompt.text.values["position"]) < 1.0 or self._typed.get("jog") == question:
            return ""
        self._typed["jog"] = question
        return str(max(0, round(wish)))

    def on_already_named(self, prompt, meanwhile):
        return "y"

    def on_move_far(self, prompt, meanwhile):
        return "y"

    def _put_right(self, prompt):
        """Puts the wrong horn where it belongs, if that is what is told."""
        row = getattr(self, "_wrong_horn", None)
        if row is None or (prompt.joint and self.build.row(prompt.joint) != row):
            return False
        self.build.move_horn(row, -3)
        del self._wrong_horn
        return True

    def on_measure_again(self, prompt, meanwhile):
        return "y" if self._put_right(prompt) else "n"

    def on_fit_limits(self, prompt, meanwhile):
        return "h" if self._put_right(prompt) else ""


def evening(build):
    """The builder's evening with a build, in one sitting; returns the builder and the machine of the stages."""
    builder = Builder(build)
    file = CommissioningProgressFile(build.path)
    progress = file.read()
    machine = StageMachine(progress)
    acts = StageActions(lambda: load(build.path), ("", "", 0), progress, build, builder, PACE, lambda seconds: None)
    CommissioningSession(machine, acts.by_key, acts.relax, builder, file).run()
    return builder, machine


def wired_evening(build):
    """The same with `hexapod first` over the build's pseudo terminal, and the nodes of the robot in processes."""
    builder = Builder(build)
    words = ["first", str(build.path), "--port", build.port.path, "--pace", str(PACE)]
    run = CommissioningRun(parser("first").parse_args(words))
    assert run.run(builder) == 0, builder.told()
    return builder, run.machine


def worst_error(build):
    """The largest difference [deg] between the angle that a joint is sent to and the true one, over its whole range."""
    worst = 0.0
    for true, joint in zip(build.mounted, servo_settings(load(build.path)).joints, strict=True):
        assert joint.id == true.id and joint.direction == true.direction, joint.short_name
        for share in (0.0, 0.25, 0.5, 0.75, 1.0):
            angle = joint.lower + share * (joint.upper - joint.lower)
            worst = max(worst, math.degrees(abs(true.angle(joint.goal(angle)) - angle)))
    return worst
