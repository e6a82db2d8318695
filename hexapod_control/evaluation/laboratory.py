# SPDX-License-Identifier: Apache-2.0
"""The gait laboratory: plans one cycle of a walk with other values than those of the robot file, and saves gaits.

`python -m hexapod_control.evaluation.laboratory ROBOT NICENESS` reads requests, one JSON object per line, and writes
one line per answer: the page that asked, a space, and a JSON object. It is a process of its own, so that planning does
not disturb the robot. Of every page only the newest request counts. The stride search of a robot with other dimensions
takes seconds: the walk with strides that do not adapt to the speed is answered before.
"""

from __future__ import annotations

import itertools
import json
import math
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from multiprocessing import connection
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml.comments import CommentedSeq

from hexapod_control.config.bounded_yaml import read_text
from hexapod_control.config.document import plain, read
from hexapod_control.config.errors import DONE, FileError, RobotFileError
from hexapod_control.config.robots import saved_capabilities
from hexapod_control.config.robots.robot_file import RobotFile, changed, from_text, known_robots, load
from hexapod_control.config.robots.robot_keys import COMMON, FOOTHOLD, GAIT, LIFT_OFF, ROBOT
from hexapod_control.config.schema import NumberRow
from hexapod_control.config.section_writer import own_copy, own_file, save_section, with_section
from hexapod_control.core.gait.gait_table import AUTO, unknown_gait
from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose
from hexapod_control.core.motions.motion_steps import PoseStep
from hexapod_control.core.names import quoted
from hexapod_control.core.planner.planner import MAX_TICK_S, Planner
from hexapod_control.core.planner.tick_plan import TickPlan
from hexapod_control.core.quantity import Quantity, QuantityError, quantities
from hexapod_control.core.refusal import Refusal
from hexapod_control.core.robot import Robot
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.robot_gaits import gaits
from hexapod_control.evaluation.robot_check.steady_walk import TICK_S, stand, steady_cycle
from hexapod_control.evaluation.robot_check.subject import AXES
from hexapod_control.web.page_state import DrawnState, drawing, shape

LOW_PRIORITY = 10  # added to the niceness of the process for thorough answers
IDLE_S = 300.0  # without a request, after which the process ends
FRAMES = 48  # of a cycle, at most
MAX_POSE_TICKS = 100  # until the body is in its pose
NO_ROOM = Refusal("no_room", "the feet have no room to step: change the pose, the stance or the lengths")
OWN = "laboratory"  # name of a gait that is not saved yet
SPEED = Quantity("", 0.05, 1.0, "share of the top speed", 0.7)
OUTWARD = Quantity("m", -0.3, 0.3, "footholds away from their hips", 0.0)
POSE = dict(quantities(PoseStep))
LENGTHS = tuple(f"leg.{part}.length" for part in ("coxa", "femur", "tibia"))
MIN_LENGTH_M = 0.001  # of a part of a leg whose length can be changed
_ROWS = {
    f"leg.{row.key}" if row in COMMON else row.key: row
    for row in (*ROBOT, *COMMON, *GAIT)
    if isinstance(row, NumberRow)
}


class Control(NamedTuple):
    """A value that can be changed, as the page shows it: `low` and `high` are the ends of a slider."""

    key: str
    unit: str
    value: float
    low: float
    high: float
    step: float


def controls(file: RobotFile) -> Iterator[Control]:
    """Yields what can be changed of a robot, with its present values; the gait is that of the file."""
    robot = file.robot
    gait = next(iter(gaits(robot).values()))
    duty = _ROWS["duty_factor"].quantity
    yield Control("duty_factor", "", gait.duty_factor, duty.lower, duty.upper, 0.01)
    for leg, phase in zip(robot.legs, gait.lift_off, strict=True):
        yield Control(f"lift_off.{leg.name}", "", phase, LIFT_OFF.quantity.lower, LIFT_OFF.quantity.upper, 0.01)
    yield Control("speed", "", float(SPEED.default or 0.0), SPEED.lower, SPEED.upper, 0.05)
    yield _about("walk.lift_height", robot.walk.lift_height, 0.3, 2.0)
    span = round(0.2 * robot.legs[0].length, 3)
    yield Control("outward", "m", 0.0, -span, span, 0.001)
    yield _about("walk.height", robot.walk.height, 0.5, 1.6)
    yield Control("pose.x", "m", 0.0, -0.5 * span, 0.5 * span, 0.001)
    for name in ("roll", "pitch"):
        yield Control(f"pose.{name}", "deg", 0.0, -15.0, 15.0, 0.5)
    for key in LENGTHS:
        if (length := _length(robot, key)) > MIN_LENGTH_M:
            yield _about(key, length, 0.6, 1.6)


def _about(key: str, value: float, low: float, high: float) -> Control:
    return Control(key, "m", value, round(low * value, 3), round(high * value, 3), 0.001)


def _length(robot: Robot, key: str) -> float:
    """Length [m] of a part of the first leg."""
    return float(getattr(robot.legs[0], key.split(".")[1]).length)


class Walk(NamedTuple):
    """A walk to plan: robot, gait, pose of the body, axis and share of the top speed."""

    robot: Robot
    gait: str
    pose: BodyPose
    axis: str
    speed: float


def walk_of(file: RobotFile, gait: str, axis: str, values: Mapping[str, float]) -> Walk:
    """The walk with other values (keys of `controls`) than those of the file, in a gait of the robot.

    A duty factor and phases among the values are the gait. Raises RobotFileError, QuantityError, ValueError.
    """
    pose = BodyPose(
        x=_checked(values, "pose.x", POSE["x"]),
        roll=math.radians(_checked(values, "pose.roll", POSE["roll"])),
        pitch=math.radians(_checked(values, "pose.pitch", POSE["pitch"])),
    )
    changes = dict(_dimensions(file, values))
    if "duty_factor" in values:
        changes |= {f"gaits.{OWN}.{key}": values[key] for key in _gait_keys(file.robot)}
        gait = OWN
    robot = changed(file, {"walk.gait": AUTO, "gaits": {}, **changes}).robot if changes else file.robot
    if refusal := unknown_gait(gait, gaits(robot)):
        raise ValueError(refusal)
    if axis not in AXES:
        raise ValueError(f"{quoted(axis)} is not one of {', '.join(AXES)}")
    return Walk(robot, gait, pose, axis, _checked(values, "speed", SPEED))


def _gait_keys(robot: Robot) -> list[str]:
    return ["duty_factor", *(f"lift_off.{leg}" for leg in robot.leg_names)]


def _checked(values: Mapping[str, float], key: str, quantity: Quantity) -> float:
    try:
        return quantity.checked(values.get(key, quantity.default))
    except QuantityError as error:
        raise RobotFileError(Path(), None, key, str(error)) from None


def _dimensions(file: RobotFile, values: Mapping[str, float]) -> Iterator[tuple[str, object]]:
    """Yields the keys of a robot file that differ from it, with their values."""
    robot = file.robot
    walk = {"walk.lift_height": robot.walk.lift_height, "walk.height": robot.walk.height}
    for key, present in walk.items():
        if values.get(key, present) != present:
            yield key, values[key]
    if distance := _checked(values, "outward", OUTWARD):
        for leg in robot.legs:
            foot = complex(*leg.foothold)
            outward = foot - complex(*leg.hip[:2])
            moved = foot + distance * outward / abs(outward)
            yield f"legs.{leg.name}.foothold", CommentedSeq([moved.real, moved.imag])
    for key in LENGTHS:
        present = _length(robot, key)
        if values.get(key, present) == present:
            continue
        _checked(values, key, _ROWS[key].quantity)
        for leg in robot.legs:  # legs may have lengths of their own
            part = key.removeprefix("leg.")
            length = float(getattr(leg, part.split(".")[0]).length)
            yield f"legs.{leg.name}.{part}", length * values[key] / present


def planned(walk: Walk, capabilities: Capabilities) -> dict[str, Any]:
    """The answer for a walk: its frames, as the page draws them, and the top speed. Raises ValueError."""
    robot = walk.robot
    planner = Planner(robot, walk.gait, capabilities=capabilities)
    stand(planner)
    _take(planner, walk.pose)
    top = planner.view.maxima()
    axis = AXES[walk.axis]
    twist = axis.scaled(walk.speed * sum(a * b for a, b in zip(axis, top, strict=True)))
    if twist.is_zero:
        raise ValueError(NO_ROOM)
    gait = capabilities.gaits[walk.gait]
    tick = max(TICK_S, gait.cycle * robot.walk.swing_time / FRAMES)
    plans = steady_cycle(planner, twist, tick)
    return {
        "gait": {"duty_factor": gait.duty_factor, "lift_off": gait.lift_off},
        "frames": list(map(_frame, itertools.repeat(robot), plans)),
        "period": tick * len(plans),
        "twist": twist,
        "top": top,
        "margin": min(plan.margin for plan in plans),
        "shape": shape(robot),
    }


def _take(planner: Planner, pose: BodyPose) -> None:
    """Moves the body of a standing robot to a pose. Raises ValueError if that is out of reach."""
    if pose == NEUTRAL:
        return
    if refusal := planner.request_pose(pose):
        raise ValueError(refusal)
    for _ in range(MAX_POSE_TICKS):
        planner.step(MAX_TICK_S)
        if planner.view.in_neutral_stance:
            return


def _frame(robot: Robot, plan: TickPlan) -> dict[str, Any]:
    """A tick of the walk as the page draws it."""
    drawn = DrawnState(joints=plan.joint_angles, support=plan.support, margin=plan.margin)
    drawn.locate_body(robot)
    return {name: value for name, value in drawing(robot, drawn).items() if value is not None}


class Laboratory:
    """Answers the requests about one robot."""

    def __init__(self, robot: str) -> None:
        """`robot` is the name of a robot of the package or the path of a robot file."""
        self._name = robot
        self._file: RobotFile | None = None

    @property
    def file(self) -> RobotFile:
        """The robot file, read when it is first needed. Raises RobotFileError."""
        if self._file is None:
            self._file = load(self._name)
        return self._file

    def opened(self) -> dict[str, Any]:
        """The answer to a page that was opened: what can be changed, and the gaits."""
        self._file = None  # it may have been edited
        robot = self.file.robot
        known = {
            name: dict(zip(_gait_keys(robot), (gait.duty_factor, *gait.lift_off), strict=True))
            for name, gait in gaits(robot).items()
        }
        own = [row.name for row in robot.gaits]
        return {
            "controls": [control._asdict() for control in controls(self.file)],
            "gaits": known,
            "own": own,
            "shape": shape(robot),
        }

    def plan(self, request: Mapping[str, Any], *, thorough: bool) -> dict[str, Any]:
        """The answer about a walk; `final` unless it needs a stride search, which only a thorough answer has."""
        walk = walk_of(self.file, request["gait"], request["axis"], request["values"])
        rows = gaits(walk.robot)
        fastest = min(rows.values(), key=lambda gait: gait.stance_time).name
        final = thorough or walk.robot == self.file.robot or walk.gait != fastest
        searched = final and walk.gait == fastest
        capabilities = Capabilities.of(walk.robot) if searched else Capabilities.unadapted(walk.robot, walk.gait)
        return {**planned(walk, capabilities), "final": final}

    def save(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Writes the gait into the robot file, or into a copy of one of the package. Raises RobotFileError, OSError."""
        shipped = self._name in known_robots()
        path = own_copy(self._name, Path.cwd()) if shipped else own_file(self._name)
        name, values = request["name"], request["values"]
        duty, *phases = (round(values[key], 4) for key in _gait_keys(self.file.robot))
        gait = {"duty_factor": duty, "lift_off": dict(zip(self.file.robot.leg_names, phases, strict=True))}
        old = plain(read(path).children.get("gaits"))
        section = {**(old if isinstance(old, dict) else {}), name: gait}
        file = from_text(path, with_section(read_text(path, newline=""), "gaits", section))  # its errors name the line
        if not shipped:
            Capabilities.of(file.robot)  # stored now: the robot finds them when it takes the gait over
        backup = save_section(path, "gaits", section)
        return {"copied" if shipped else "saved": name, "path": str(path), "backup": backup.name}

    def answer(self, request: Mapping[str, Any], *, thorough: bool = False) -> dict[str, Any]:
        """The answer to a request; a refusal has the key of the value, and the reason as `Statement.as_json`."""
        try:
            if request["act"] == "open":
                return self.opened()
            return self.save(request) if request["act"] == "save" else self.plan(request, thorough=thorough)
        except FileError as error:
            key = error.key.removeprefix(f"gaits.{OWN}").removeprefix(".")
            return {"key": key, "refusal": _in_the_file(error, key, request.get("values", {})).as_json()}
        except (ValueError, OSError) as error:
            return {"key": "", "refusal": Refusal.of(error).as_json()}
        except KeyError as error:
            return {"key": "", "refusal": Refusal.of(f"the value {error} is missing").as_json()}


def _in_the_file(error: FileError, key: str, values: Mapping[str, float]) -> Refusal:
    """What the robot file refuses: a number out of bounds, a foot out of reach, or a gait in which the robot tips."""
    quantity = _quantity(key)
    value = values.get(key)
    if quantity is not None and value is not None and not quantity.lower <= value <= quantity.upper:
        return Refusal("out_of_bounds", "{text}", text=error.text, bounds=quantity.bounds, value=f"{value:g}")
    if key.endswith(f".{FOOTHOLD.key}"):
        return Refusal("foot_out_of_reach", "{text}", text=error.text, leg=key.split(".")[1])
    if error.key == f"gaits.{OWN}":
        return Refusal("tips", "{text}", text=error.text)
    return Refusal.of(error.text)


def _quantity(key: str) -> Quantity | None:
    """The bounds of a control."""
    part, _, name = key.partition(".")
    if part == "pose":
        return POSE[name]
    if part == LIFT_OFF.key.partition(".")[0]:
        return LIFT_OFF.quantity
    return {"speed": SPEED, "outward": OUTWARD}.get(key) or (_ROWS[key].quantity if key in _ROWS else None)


class ThoroughAnswer:
    """An answer that takes seconds, computed by a copy of this process."""

    def __init__(self, page: int, compute: Callable[[], dict[str, Any]]) -> None:
        """Starts to compute the answer for a page."""
        context = multiprocessing.get_context("fork")
        self.page = page
        self.result, theirs = context.Pipe(duplex=False)

        def run() -> None:
            os.nice(LOW_PRIORITY)
            Capabilities.use_store(None)  # it is for robots that walk again
            theirs.send(compute())

        self._process = context.Process(target=run, daemon=True)
        self._process.start()
        theirs.close()

    def end(self) -> None:
        """Ends the computation, whether it is complete or not."""
        self._process.kill()
        self._process.join()
        self.result.close()


def serve(laboratory: Laboratory, source: int) -> None:
    """Answers the requests that are read from a file descriptor, until it is closed or silent."""
    requests: dict[int, dict[str, Any]] = {}  # the newest of each page
    unfinished: dict[int, dict[str, Any]] = {}  # that wait for their thorough answer
    computing: ThoroughAnswer | None = None
    received = b""
    while True:
        if computing is None and unfinished:
            page = next(iter(unfinished))
            computing = ThoroughAnswer(page, partial(laboratory.answer, unfinished.pop(page), thorough=True))
        sources: list[Any] = [source, computing.result] if computing else [source]
        ready = connection.wait(sources, 0.0 if requests else IDLE_S)
        if source in ready:
            data = os.read(source, 1 << 16)
            received += data
            *lines, received = received.split(b"\n")
            for line in lines:
                request = json.loads(line)
                requests[request["page"]] = request
            if not data:
                break
        elif computing is not None and computing.result in ready:
            with suppress(EOFError):
                _write(computing.page, computing.result.recv())
            computing.end()
            computing = None
        elif not requests:
            break
        if requests:
            page, request = requests.popitem()
            unfinished.pop(page, None)
            if computing is not None and computing.page == page:
                computing.end()
                computing = None
            answer = laboratory.answer(request)
            _write(page, answer)
            if not answer.get("final", True):
                unfinished[page] = request
    if computing is not None:
        computing.end()


def _write(page: int, answer: Mapping[str, Any]) -> None:
    print(page, json.dumps(answer, separators=(",", ":")), flush=True)


def main() -> int:
    """Runs the program. Returns the exit code."""
    os.nice(int(sys.argv[2]))
    saved_capabilities.enable()
    serve(Laboratory(sys.argv[1]), sys.stdin.fileno())
    return DONE


if __name__ == "__main__":
    sys.exit(main())
