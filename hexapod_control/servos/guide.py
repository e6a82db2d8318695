"""The guided calibration: questions to a person at the robot, answers and captured positions to calibrations.

Angles are those of the robot's joints: coxa + is counter-clockwise seen from above, femur and tibia + is foot up, all
zero is the leg straight out. Nothing is written here, neither to servos nor to files.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from hexapod_control.core import posture
from hexapod_control.core.kinematics import Array, forward
from hexapod_control.core.legs import JOINTS
from hexapod_control.core.robot import Robot
from hexapod_control.servos import coplanar
from hexapod_control.servos.bus import BusError
from hexapod_control.servos.calibration import Calibration
from hexapod_control.servos.manual import Manual, reach

WIGGLE = math.radians(5.0)
REST = (0.0, 0.0, math.radians(-90.0))  # coxa straight out, femur level, tibia straight down
INSIDE = math.radians(5.0)  # of the limits that captured angles keep
MARK = math.radians(45.0)  # from the rest pose
MARGIN = math.radians(3.0)  # of what a joint can do that its goals leave free
ODD = 0.3  # a measured scale is not more than this share from the maker's
JOG = (10, 50)  # [us or ticks] of one sign, of two
STEPS = ("wiggle", "rest", "marks", "limits", "verify")


class Talk(Protocol):
    """The person."""

    def say(self, text: str) -> None:
        """Tells something."""

    def ask(self, question: str, meanwhile: Callable[[], None] | None = None) -> str:
        """The answer to a question, without blanks around it; `meanwhile` is called again and again."""


class Guide:
    """One calibration. `joints` are the calibrations so far, in row order."""

    def __init__(self, robot: Robot, joints: Sequence[Calibration], hands: Manual, talk: Talk) -> None:
        self.robot, self.joints, self._hands, self._talk = robot, list(joints), hands, talk
        self._scale = hands.bus.scale
        self._rest = [self._resting(row) for row in range(len(self.joints))]

    def _resting(self, row: int) -> float:
        joint = self.joints[row]
        return min(max(REST[row % 3], joint.lower + INSIDE), joint.upper - INSIDE)

    def run(self, there: Iterable[int], steps: Sequence[str]) -> None:
        """All steps that are wanted, with the servos that are there."""
        if "wiggle" in steps:
            self.wiggle(sorted(there))
        if "rest" in steps:
            self.rest()
        if "marks" in steps or "limits" in steps:
            self.measure(steps)
        if "verify" in steps:
            self.verify()

    # --- which servo is which joint -----------------------------------------------------------------

    def wiggle(self, ids: Sequence[int]) -> None:
        """Asks of every servo which joint it turns and which way."""
        say = self._talk.say
        say(
            "\nWhich servo is which joint? Hold the robot up, its legs free. Each servo turns a little one way, then\n"
            'back over the middle. Answer with leg, joint and the FIRST way, e.g. "lf coxa +":\n'
            "  coxa   + counter-clockwise seen from above\n  femur  + foot up\n  tibia  + foot up\n"
            "Enter takes what stands in brackets, r repeats, s leaves a servo out."
        )
        if not self._hands.reads:
            say("These servos cannot tell where they are: at the first one all go to the middle, leg by leg.")
        taken: dict[int, int] = {}  # row -> id
        for servo in ids:
            row, direction = self._ask_joint(servo, taken)
            if row is not None:
                taken[row] = servo
                self.joints[row] = replace(self.joints[row], id=servo, direction=direction)
            if self._hands.reads:
                self._hands.release([servo])
        missing = [self.joints[row].joint for row in range(len(self.joints)) if row not in taken]
        if missing:
            raise BusError(f"no servo was found for {', '.join(missing)}: check cables and ids, then begin again")

    def _ask_joint(self, servo: int, taken: dict[int, int]) -> tuple[int | None, int]:
        suggested = next((r for r, j in enumerate(self.joints) if j.id == servo and r not in taken), None)
        hint = f" [{self._spelt(suggested)}]" if suggested is not None else ""
        while True:
            self._hands.wiggle(servo, WIGGLE)
            answer = self._talk.ask(f"servo {servo}: which joint, which way first?{hint} ")
            if answer == "s":
                return None, 1
            if answer == "r":
                continue
            found = self._joint(answer) if answer else (suggested, self._direction(suggested))
            if found is None or found[0] is None:
                self._talk.say('  leg, joint and sign please, e.g. "lf coxa +" or "right_rear tibia -"')
            elif found[0] in taken:
                self._talk.say(f"  that is servo {taken[found[0]]} already; Ctrl-C and begin again if that was wrong")
            else:
                return found

    def _spelt(self, row: int) -> str:
        sign = "+" if self.joints[row].direction > 0 else "-"
        return f"{self.robot.leg_names[row // 3]} {JOINTS[row % 3]} {sign}"

    def _direction(self, row: int | None) -> int:
        return 1 if row is None else self.joints[row].direction

    def _joint(self, answer: str) -> tuple[int, int] | None:
        """Row and direction that an answer means."""
        words = answer.replace("+", " +").replace("-", " -").split()
        if len(words) != 3 or words[2] not in ("+", "-"):
            return None
        legs = [k for k, name in enumerate(self.robot.leg_names) if words[0] in (name, _initials(name))]
        columns = [k for k, name in enumerate(JOINTS) if name.startswith(words[1])]
        if len(legs) != 1 or len(columns) != 1:
            return None
        return 3 * legs[0] + columns[0], 1 if words[2] == "+" else -1

    # --- the rest pose ------------------------------------------------------------------------------

    def rest(self) -> None:
        """Captures where each joint is at a known angle."""
        if self._hands.reads:
            self._hands.relax()
            self._talk.say("\nThe rest pose. Torque is off: put one leg after the other into the pose by hand.")
        else:
            self._talk.say(f"\nThe rest pose. {JOG_HELP}")
        for leg, name in enumerate(self.robot.leg_names):
            rows = range(3 * leg, 3 * leg + 3)
            pose = ", ".join(f"{JOINTS[row % 3]} {_words(row % 3, self._rest[row])}" for row in rows)
            places = self._capture(rows, f"{name}: {pose}", self._rest)
            for row in rows:
                self.joints[row] = replace(self.joints[row], center=places[row], q_center=self._rest[row], trim=0.0)
                self._warn_of_reach(row)

    def _capture(self, rows: Sequence[int], what: str, angles: Sequence[float]) -> dict[int, float]:
        """Raw places of joints that a person puts somewhere."""
        if self._hands.reads:
            self._talk.ask(f"{what}. Enter when it is there ")
            places = self._hands.positions([self.joints[row].id for row in rows])
            return {row: places[self.joints[row].id] for row in rows}
        self._talk.say(what)
        return {row: self._jogged(row, _words(row % 3, angles[row])) for row in rows}

    def _jogged(self, row: int, what: str) -> float:
        """Where a person jogs a servo to."""
        servo = self.joints[row].id
        while True:
            place = self._hands.positions([servo])[servo]
            answer = self._talk.ask(f"  {self._label(row)} to {what} ({place:.0f} {self._scale.unit}): ")
            if not answer:
                return place
            way = _jog(answer)
            if way is None:
                self._talk.say(f"  {JOG_HELP}")
            else:
                self._hands.go({servo: place + way})

    def _label(self, row: int) -> str:
        return self.joints[row].joint.removesuffix("_joint")

    def _warn_of_reach(self, row: int) -> None:
        joint = self.joints[row]
        least, most = map(math.degrees, reach(joint))
        lower, upper = math.degrees(joint.lower), math.degrees(joint.upper)
        if least > lower + 0.05 or most < upper - 0.05:
            leg, column = self.robot.leg_names[row // 3], JOINTS[row % 3]
            self._talk.say(
                f"  {self._label(row)} turns from {least:.1f} to {most:.1f} deg, the robot file has {lower:g} to "
                f"{upper:g}:\n  set the horn another tooth on, or narrow legs.{leg}.joints.{column} in the file"
            )

    # --- scale and limits ---------------------------------------------------------------------------

    def measure(self, steps: Sequence[str]) -> None:
        """Scale and limits of one leg after the other, or copied from one that is done."""
        done: list[int] = []
        for leg, name in enumerate(self.robot.leg_names):
            source = self._source(leg, done)
            if source is not None:
                other = self.robot.leg_names[source]
                if _yes(self._talk.ask(f"copy scale and limits of {other} to {name}? [Y/n] "), True):
                    self._copy(source, leg)
                    done.append(leg)
                    continue
            usual = not self._hands.reads  # the scale of smart servos is what the maker says
            if "marks" in steps and _yes(self._talk.ask(_question(f"measure the scale of {name}?", usual)), usual):
                self._marks(leg)
            if "limits" in steps and _yes(self._talk.ask(f"measure the limits of {name}? [y/N] "), False):
                self._limits(leg)
            done.append(leg)

    def _source(self, leg: int, done: Sequence[int]) -> int | None:
        """The leg to copy from: the mirrored one, else the last that is done."""
        x, y, _ = self.robot.legs[leg].hip
        mirrored = (k for k in done if math.dist(self.robot.legs[k].hip[:2], (x, -y)) < 1e-3)
        return next(mirrored, done[-1] if done else None)

    def _copy(self, source: int, leg: int) -> None:
        """Units per radian as they are, limits by their angles: what differs is centre and direction."""
        for column in range(3):
            own, other = self.joints[3 * leg + column], self.joints[3 * source + column]
            copied = replace(own, units_per_rad=other.units_per_rad, units_per_rad_neg=other.units_per_rad_neg)
            ends = [copied.raw(angle) for angle in reach(other)]
            if (other.low, other.high) != (self._scale.low, self._scale.high):
                copied = self._bounded(copied, ends)
            self.joints[3 * leg + column] = copied
            self._warn_of_reach(3 * leg + column)

    def _bounded(self, joint: Calibration, ends: Iterable[float]) -> Calibration:
        low, high = sorted(ends)
        return replace(joint, low=max(math.ceil(low), self._scale.low), high=min(math.floor(high), self._scale.high))

    def _marks(self, leg: int) -> None:
        if self._hands.reads:
            self._hands.relax()
        for row in range(3 * leg, 3 * leg + 3):
            for side in (1, -1):
                mark = self._mark(row, side)
                if mark is not None:
                    self._scaled(row, side, mark)

    def _mark(self, row: int, side: int) -> float | None:
        """The angle of the second mark on one side; None if there is no room for one."""
        joint, rest = self.joints[row], self._rest[row]
        room = (joint.upper - rest if side > 0 else rest - joint.lower) - INSIDE
        way = min(MARK, math.radians(15.0) * math.floor(room / math.radians(15.0) + 1e-9))
        return rest + side * way if way > 0.0 else None

    def _scaled(self, row: int, side: int, mark: float) -> None:
        while True:
            angles = [mark if k == row else self._rest[k] for k in range(len(self.joints))]
            what = f"{self._label(row)} at {math.degrees(mark):+.0f} deg"
            place = self._capture([row], what, angles)[row]
            joint = self.joints[row]
            units = joint.direction * (place - joint.center) / (mark - joint.q_center)
            if abs(units / self._scale.per_rad - 1.0) <= ODD:
                break
            self._talk.say(
                f"  that makes {units:.0f} {self._scale.unit}s per rad where the maker has {self._scale.per_rad:.0f}: "
                "is it the right joint, and the right way? Again, please"
            )
        alone = self._mark(row, -side) is None  # no mark on the other side: it counts for both
        self.joints[row] = replace(
            joint,
            units_per_rad=units if side > 0 or alone else joint.units_per_rad,
            units_per_rad_neg=units if side < 0 or alone else joint.units_per_rad_neg,
        )
        self._talk.say(f"  {units:.1f} {self._scale.unit}s per rad")

    def _limits(self, leg: int) -> None:
        for row in range(3 * leg, 3 * leg + 3):
            ends = self._swept(row) if self._hands.reads else self._jogged_ends(row)
            joint = self.joints[row]
            margin = MARGIN * joint.units_per_rad
            bounded = self._bounded(joint, (min(ends) + margin, max(ends) - margin))
            if not bounded.low < joint.center < bounded.high:
                self._talk.say("  the rest pose is not within that: left as it was")
                continue
            self.joints[row] = bounded
            self._warn_of_reach(row)

    def _swept(self, row: int) -> list[float]:
        servo, ends = self.joints[row].id, [math.inf, -math.inf]
        self._hands.relax()

        def look() -> None:
            place = self._hands.positions([servo])[servo]
            ends[:] = min(ends[0], place), max(ends[1], place)

        look()
        self._talk.ask(f"  turn {self._label(row)} by hand from stop to stop, then Enter ", look)
        look()
        return ends

    def _jogged_ends(self, row: int) -> list[float]:
        begin = self._hands.positions([self.joints[row].id])[self.joints[row].id]
        ends = [self._jogged(row, f"its {end} end") for end in ("one", "other")]
        self._hands.go({self.joints[row].id: begin})
        return ends

    # --- feet on one plane --------------------------------------------------------------------------

    def verify(self) -> None:
        """Looks whether all feet are on one plane, and trims the femurs until they are."""
        if not self._hands.reads:
            self._verify_by_paper()
            return
        self._hands.relax()
        self._talk.say("\nAre all feet on one plane? Torque is off.")
        self._talk.ask("Put the robot on a flat table, belly down, every foot touching the table. Enter when it is ")
        row = self._measured()
        self._tell("feet above their common plane", coplanar.residuals(forward(self.robot, row)))
        if _yes(self._talk.ask("trim the femurs so that they are on one? [Y/n] "), True):
            self.joints = coplanar.trimmed(self.joints, coplanar.trims(self.robot, row))
            self._tell("after that", coplanar.residuals(forward(self.robot, self._measured())))

    def _measured(self) -> Array:
        places = self._hands.positions([joint.id for joint in self.joints])
        return np.array([joint.angle(places[joint.id]) for joint in self.joints]).reshape(-1, 3)

    def _verify_by_paper(self) -> None:
        robot = self.robot
        row = np.array(posture.row_at(robot, [leg.foothold for leg in robot.legs], 0.0))
        self._talk.say("\nAre all feet on one plane? The robot takes the pose in which it stands: keep a hand on it.")
        self._talk.ask("Enter lets it ")
        angles = np.ravel(row).tolist()
        self._hands.go({j.id: min(max(j.raw(q), j.low), j.high) for j, q in zip(self.joints, angles, strict=True)})
        self._talk.say(f"It stands. Under every foot a sheet of paper must just be held. {JOG_HELP}")
        added = np.zeros(len(robot.legs))
        for leg in range(len(robot.legs)):
            index = 3 * leg + coplanar.FEMUR
            joint = self.joints[index]
            place = self._jogged(index, "where its foot holds the paper")
            added[leg] = angles[index] - joint.angle(place)
        lifted = row.copy()
        lifted[:, coplanar.FEMUR] += added
        self._tell("feet were above the plane", forward(robot, lifted)[:, 2] - forward(robot, row)[:, 2])
        self.joints = coplanar.trimmed(self.joints, added)

    def _tell(self, what: str, heights: Array) -> None:
        cells = [f"{name} {1000.0 * z:+.1f}" for name, z in zip(self.robot.leg_names, heights.tolist(), strict=True)]
        worst = 1000.0 * float(np.abs(heights).max())
        self._talk.say(f"{what} [mm]: {', '.join(cells)}; at most {worst:.1f}")


JOG_HELP = f"Jog with + and - ({JOG[0]} units), ++ and -- ({JOG[1]}), or a number like +7; Enter takes the place."


def _jog(answer: str) -> int | None:
    if answer in ("+", "-", "++", "--"):
        return JOG[len(answer) - 1] * (1 if answer[0] == "+" else -1)
    try:
        return int(answer)
    except ValueError:
        return None


def _initials(name: str) -> str:
    return "".join(part[0] for part in name.split("_"))


def _words(column: int, angle: float) -> str:
    usual = {(0, 0): "straight out", (1, 0): "level", (2, -90): "straight down"}
    degrees = round(math.degrees(angle), 1)
    return (
        usual.get((column, int(degrees)), f"at {degrees:+g} deg") if degrees == int(degrees) else f"at {degrees:+g} deg"
    )


def _yes(answer: str, usual: bool) -> bool:
    return usual if not answer else answer.lower().startswith("y")


def _question(text: str, usual: bool) -> str:
    return f"{text} [{'Y/n' if usual else 'y/N'}] "
