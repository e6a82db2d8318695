# SPDX-License-Identifier: Apache-2.0
"""Measures walks on flat ground and compares their figures with limits.

`python bench/flat_ground.py` runs planner and physics in lock step, so that every run
prints the same figures. walk_quality.py defines them.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from odometry_drift import MIXED, OdometryDrift, drift
from walk_quality import Course, WalkQuality, walk

from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots.robot_file import RobotFile, load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.robot import Robot
from hexapod_control.evaluation.lockstep import WalkError, standing_lockstep
from hexapod_control.sim.servo_models import with_servo
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.world_settings import WorldSettings

TWISTS = (
    Twist(0.1, 0.0, 0.0),
    Twist(0.0, 0.1, 0.0),
    Twist(0.07, 0.07, 0.0),
    Twist(0.0, 0.0, 0.5),
    Twist(0.09, 0.0, 0.4),
)
FAST = (Twist(0.24, 0.0, 0.0), Twist(0.0, 0.16, 0.0), Twist(0.0, 0.0, 0.75))
OTHER_SERVOS = ("ax12", "xl430", "mg996r")
UNLIMITED = float("inf")
MAX_DRIFT_SHARE = 0.02  # of the distance
MAX_HEADING_DRIFT_RAD_M = math.radians(2.0)


@dataclass(frozen=True, slots=True)
class WalkLimits:
    """Limits of a walk; infinity stands for no limit."""

    least_ratio: float
    most_ratio: float
    slip: float = UNLIMITED  # [m/m] mean of the feet
    worst_slip: float = UNLIMITED  # [m/m]
    tilt: float = UNLIMITED  # [deg] RMS of roll and of pitch
    height_variation: float = UNLIMITED  # [m]
    ripple: float = UNLIMITED  # [m/s]
    saturation: float = 0.10

    def broken_by(self, quality: WalkQuality) -> tuple[str, ...]:
        """Returns the names of the figures that are beyond their limits."""
        verdicts = {
            "ratio": all(self.least_ratio <= ratio <= self.most_ratio for ratio in quality.ratios),
            "slip": quality.slip <= self.slip,
            "worst slip": quality.worst_slip <= self.worst_slip,
            "roll": quality.roll <= self.tilt,
            "pitch": quality.pitch <= self.tilt,
            "height": quality.height_variation <= self.height_variation,
            "ripple": quality.ripple <= self.ripple,
            "saturation": quality.saturation <= self.saturation,
            "contact": not quality.unwanted_contacts,
            "reach": quality.unreachable == 0,
        }
        return tuple(name for name, kept in verdicts.items() if not kept)


TRIPOD = WalkLimits(0.98, 1.02, 0.005, 0.008, 0.1, 0.0015, 0.01)
TOP_SPEED = WalkLimits(0.98, 1.02, 0.006, saturation=0.04)
SLOW_GAIT = WalkLimits(0.98, UNLIMITED, 0.006)
OTHER_SERVO = WalkLimits(0.97, 1.03, tilt=0.15, ripple=0.015)


@dataclass(frozen=True, slots=True)
class WalkCase:
    """One walk of the table."""

    course: Course
    limits: WalkLimits
    servo: str = ""  # name in servo_models.py; empty: the robot file's

    @property
    def name(self) -> str:
        """Gait, twist and servo in one line."""
        twist = " ".join(f"{value:4g}" for value in self.course.twist)
        return f"{self.course.gait:8s} {twist:14s} {self.servo or 'robot file'}"


CASES = (
    *(WalkCase(Course("tripod", twist), TRIPOD) for twist in TWISTS),
    *(WalkCase(Course("tripod", twist), TOP_SPEED) for twist in FAST),
    WalkCase(Course("ripple", Twist(0.06, 0.0, 0.0)), SLOW_GAIT),
    WalkCase(Course("tetrapod", Twist(0.06, 0.0, 0.0)), SLOW_GAIT),
    WalkCase(Course("wave", Twist(0.03, 0.0, 0.0)), SLOW_GAIT),
    *(WalkCase(Course("tripod", twist), OTHER_SERVO, servo) for servo in OTHER_SERVOS for twist in TWISTS),
)


def measure_case(robot: Robot, urdf_text: str, case: WalkCase) -> WalkQuality:
    """Walks one case on flat ground. Raises WalkError."""
    robot = with_servo(robot, case.servo) if case.servo else robot
    return walk(Simulation(robot, urdf_text, WorldSettings(servo_model=case.servo)), case.course)


def rows(
    robot_file: RobotFile, cases: Sequence[WalkCase] = CASES
) -> Iterator[tuple[WalkCase, WalkQuality | WalkError]]:
    """Yields every case with its figures, or with the error that ended it."""
    text = urdf(robot_file)
    for case in cases:
        try:
            yield case, measure_case(robot_file.robot, text, case)
        except WalkError as error:
            yield case, error


def measure_drift(robot: Robot, text: str) -> OdometryDrift:
    """Measures odometry against ground truth over one minute on flat ground; `text` is the URDF of the robot."""
    return drift(standing_lockstep(robot, text, WorldSettings()), MIXED, ("planned",))["planned"]


HEAD = (
    f"{'gait     vx m/s  vy  wz rad/s  servo':36s} {'ratio':>13s} {'slip':>6s} {'worst':>6s} {'roll':>5s} {'pitch':>5s}"
    f" {'height':>6s} {'ripple':>6s} {'joint':>5s} {'satur':>5s} {'duty':>5s} {'other':>5s}  limits\n"
    f"{'':36s} {'':>13s} {'m/m':>6s} {'m/m':>6s} {'deg':>5s} {'deg':>5s}"
    f" {'mm':>6s} {'mm/s':>6s} {'rad/s':>5s} {'%':>5s} {'':>5s} {'touch':>5s}"
)


def line(case: WalkCase, found: WalkQuality | WalkError) -> str:
    """Returns one row of the table."""
    if isinstance(found, WalkError):
        return f"{case.name:36s} {found}"
    broken = case.limits.broken_by(found)
    ratios = " ".join(f"{ratio:.4f}" for ratio in found.ratios)
    return (
        f"{case.name:36s} {ratios:>13s} {found.slip:6.4f} {found.worst_slip:6.4f} {found.roll:5.3f} {found.pitch:5.3f}"
        f" {1e3 * found.height_variation:6.2f} {1e3 * found.ripple:6.2f} {found.peak_joint_speed:5.2f}"
        f" {100.0 * found.saturation:5.2f} {sum(found.duty) / len(found.duty):5.3f} {len(found.unwanted_contacts):5d}"
        f"  {'kept' if not broken else 'BROKEN: ' + ', '.join(broken)}"
    )


def legend() -> str:
    """Returns the limits as text."""
    groups = (
        ("tripod", TRIPOD),
        ("near its top speed", TOP_SPEED),
        ("other gaits", SLOW_GAIT),
        ("other servos", OTHER_SERVO),
    )
    return "\n".join(f"limits, {name}: {_spelled(limits)}" for name, limits in groups)


def _spelled(limits: WalkLimits) -> str:
    top = f" - {limits.most_ratio:g}" if limits.most_ratio < UNLIMITED else " or more"
    parts = [f"ratio {limits.least_ratio:g}{top}"]
    for name, value, scale in (
        ("slip", limits.slip, 1.0),
        ("worst slip", limits.worst_slip, 1.0),
        ("roll and pitch", limits.tilt, 1.0),
        ("height", limits.height_variation, 1e3),
        ("ripple", limits.ripple, 1e3),
        ("saturation", limits.saturation, 100.0),
    ):
        if value < UNLIMITED:
            parts.append(f"{name} <= {value * scale:g}")
    return ", ".join((*parts, "no contact but feet on the ground, no target out of reach"))


def measure(robot_file: RobotFile, progress: Callable[[str], None]) -> dict[str, object]:
    """Returns `physics`, a list of cases."""
    cases = []
    for case, found in rows(robot_file):
        progress(f"physics: {case.name}")
        entry: dict[str, object] = {
            "gait": case.course.gait,
            "twist": list(case.course.twist),
            "servo": case.servo or "robot file",
        }
        if isinstance(found, Exception):
            entry["failed"] = str(found)
        else:
            broken = case.limits.broken_by(found)
            entry |= {name: _plain(value) for name, value in asdict(found).items()}
            entry |= {"ratios": list(found.ratios), "limits_kept": not broken, "limits_broken": list(broken)}
        cases.append(entry)
    return {"physics": cases}


def _plain(value: Any) -> Any:
    """Converts a value for JSON: pairs of body names joined, numbers rounded."""
    if isinstance(value, dict):
        return {" - ".join(key): count for key, count in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table. Exit code 0 if every limit is kept, 1 if not, 2 for a bad robot file."""
    parser = argparse.ArgumentParser(prog="python bench/flat_ground.py", description=__doc__)
    parser.add_argument("--robot", default="phantomx", help="name or robot file (default: %(default)s)")
    try:
        robot_file = load(parser.parse_args(arguments).robot)
    except RobotFileError as error:
        print(error, file=sys.stderr)
        return 2
    kept = True
    print(f"{robot_file.robot.name}: planner in lock step with the physics, flat, friction 0.8, 50 Hz\n{HEAD}")
    for case, found in rows(robot_file):
        kept = kept and isinstance(found, WalkQuality) and not case.limits.broken_by(found)
        print(line(case, found), flush=True)
    print(legend())
    found_drift = measure_drift(robot_file.robot, urdf(robot_file))
    kept = kept and found_drift.share <= MAX_DRIFT_SHARE and found_drift.heading_per_metre <= MAX_HEADING_DRIFT_RAD_M
    seconds = sum(time for _, time in MIXED)
    print(
        f"odometry of legs alone over {seconds:g} s with turns, {found_drift.distance:.2f} m: position error"
        f" {100 * found_drift.share:.2f} % of the distance (limit {100 * MAX_DRIFT_SHARE:g} %),"
        f" heading {math.degrees(found_drift.heading_per_metre):.2f} deg/m"
        f" (limit {math.degrees(MAX_HEADING_DRIFT_RAD_M):g})"
    )
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
