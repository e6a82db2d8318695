# SPDX-License-Identifier: Apache-2.0
"""What makes the measurements of a self-calibration useless: judged from the tour, its poses and the estimate."""

from __future__ import annotations

import math

import numpy as np

from hexapod_control.core.calibration.chain_estimate import ChainEstimate, Mask
from hexapod_control.core.calibration.pose_recording import PoseTour
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.leg_kinematics import forward
from hexapod_control.core.kinematics.whole_body import joints_in_pose
from hexapod_control.core.names import JOINTS
from hexapod_control.core.refusal import Refusal
from hexapod_control.core.robot import Robot

MIN_SHARE = 0.75  # of the poses in which the robot must have rested on its feet
MIN_RANGE = math.radians(6.0)  # [rad] planned for a joint, from which on it must be seen to move
MIN_FOLLOWED = 0.3  # of the planned motion
HELD_UP = math.radians(20.0)  # [rad] of a joint from where it usually is against its plan: play and weight take less
HELD_SHARE = 0.1  # of the poses
# The tilt by the IMU is compared with that of the plane through the feet, also while the body moves.
PART_S = 0.2  # over which both are averaged
AROUND_PARTS = 40  # before and after, from whose medians a tilt must differ
LIFTED_TILT = math.radians(4.0)  # [rad] wrong zeros, play and a foot that hangs take up to 2.6 deg
MIN_TILT = math.radians(3.0)  # [rad] standard deviation of planned roll or pitch, to judge the IMU by
MAX_TURN = math.radians(25.0)  # [rad] of the IMU about the vertical
MAX_BUMP = 0.0025  # [m] of the floor under a foot, from the plane through all
MAX_FLOOR = math.radians(1.0)  # [rad] of the floor against the horizontal
MAX_PRIORS = 6.0  # of a correction, in standard deviations before the measurement
MAX_SLIP = 0.003  # [m] deviation of the steps of the feet
MAX_STEP = 0.02  # [m] of a foot from pose to pose, if the others go less far
MIN_STEP = 0.008  # [m] the same of one that is only mentioned
USUAL_STEPS = 95.0  # [%] of the steps, which go a third as far as the longest may: play and soft servos let feet slip
MIN_STOOD = 0.6  # of the poses of a tour, in which each foot must bear load
MIN_TRUST = 0.5  # mean weight of a planted foot
MAX_SCALE = 3.0  # of the residuals, in standard deviations

NOTICED = ("foot_hung", "foot_moved", "floor_tilted")  # what these name is in the estimate, or left out of it


def tour_finding(robot: Robot, tour: PoseTour) -> Refusal | None:
    """Why the measurements of a tour are not used; None if they are."""
    return _imu(tour) or _joints(robot, tour) or _rest(tour) or _lift(robot, tour)


def _rest(tour: PoseTour) -> Refusal | None:
    if tour.lifted:
        text = "in {count} of {all} poses the feet did not bear the robot: was it lifted? Put it down and repeat"
        return Refusal("tour_lifted", text, count=tour.lifted, all=len(tour.poses))
    if len(tour.measured) >= MIN_SHARE * len(tour.poses):
        return None
    text = "the body did not come to rest in {count} of {all} poses: is the robot touched, or a servo oscillating?"
    return Refusal("tour_restless", text, count=tour.moved, all=len(tour.poses))


def _lift(robot: Robot, tour: PoseTour) -> Refusal | None:
    """Whether the body tilted against its feet for a while, as one that is lifted between two poses."""
    parts: dict[int, list[int]] = {}
    for row, (time, _, _) in enumerate(tour.tilted):
        parts.setdefault(int(time / PART_S), []).append(row)
    if len(parts) < AROUND_PARTS:
        return None
    joints = np.array([np.mean([tour.tilted[row][1] for row in rows], axis=0) for rows in parts.values()])
    tilts = np.array([np.mean([tour.tilted[row][2] for row in rows], axis=0) for rows in parts.values()])
    apart = _apart(robot, joints, tilts)
    off = [
        min(float(np.linalg.norm(apart[k] - np.median(part, axis=0))) for part in sides)
        for k in range(len(apart))
        for sides in ((apart[max(0, k - AROUND_PARTS) : k + 1], apart[k : k + AROUND_PARTS + 1]),)
    ]
    worst = int(np.argmax(off))
    if off[worst] <= LIFTED_TILT:
        return None
    text = (
        "the body tilted by {degrees:.0f} deg against its feet {seconds:.0f} s after the start: was it lifted or "
        "pushed? Put it down and repeat"
    )
    return Refusal("tour_tilted", text, degrees=math.degrees(off[worst]), seconds=PART_S * list(parts)[worst])


def _apart(robot: Robot, joints: Array, tilts: Array) -> Array:
    """Roll and pitch (m, 2) [rad] by the IMU against those of the plane through the feet, at joints (m, n, 3) [rad].

    A servo or an IMU that reports late makes a difference in proportion to the speed, which is taken off.
    """
    feet = np.array([forward(robot, angles) for angles in joints])
    from_middle = feet - feet.mean(1, keepdims=True)
    slopes = (np.linalg.pinv(from_middle[..., :2]) @ from_middle[..., 2:])[..., 0]
    planes = np.arctan(slopes[:, ::-1] * (-1.0, 1.0))
    speeds = np.gradient(planes, axis=0)
    apart: Array = tilts - planes
    apart = apart - np.median(apart, axis=0)
    return apart - speeds * ((speeds * apart).sum() / max(float((speeds**2).sum()), 1e-12))


def _imu(tour: PoseTour) -> Refusal | None:
    """Whether the IMU sees the tilts that were planned."""
    tilts = np.array([pose.tilt for pose in tour.measured if pose.tilt is not None])
    planned = np.array([(at.roll, at.pitch) for at, pose in zip(tour.planned, tour.measured, strict=True) if pose.tilt])
    if len(tilts) < 2:
        return None
    if np.median(np.cos(tilts[:, 0]) * np.cos(tilts[:, 1])) < 0.0:
        text = "the IMU is upside down: turn it over, or set io.imu.mounting_deg in the robot file"
        return Refusal("imu_upside_down", text)
    if planned.std(0).min() < MIN_TILT:
        return None
    slopes = np.linalg.lstsq(planned - planned.mean(0), tilts - tilts.mean(0), rcond=None)[0].T
    if np.linalg.det(slopes) <= 0.0:
        text = "the IMU sees the body tilt to the wrong side: check its axes, io.imu.mounting_deg of the robot file"
        return Refusal("imu_mirrored", text)
    turn = math.atan2(slopes[0, 1] - slopes[1, 0], slopes[0, 0] + slopes[1, 1])
    if abs(turn) > MAX_TURN:
        text = "the IMU is turned by {degrees:.0f} deg about the vertical: set io.imu.mounting_deg in the robot file"
        return Refusal("imu_turned", text, degrees=math.degrees(turn))
    return None


def _joints(robot: Robot, tour: PoseTour) -> Refusal | None:
    """Whether each joint follows what is planned, and nothing holds it up."""
    poses = [joints_in_pose(robot, robot.footholds, pose) for pose in tour.planned]
    rows = [k for k, joints in enumerate(poses) if joints is not None]
    if len(rows) < 2:
        return None
    planned = np.array([poses[k] for k in rows])
    measured = np.array([tour.measured[k].joints for k in rows])
    off = measured - planned
    planned = planned - planned.mean(0)
    followed = (planned * (measured - measured.mean(0))).sum(0) / np.maximum((planned**2).sum(0), 1e-12)
    followed[np.ptp(planned, axis=0) < MIN_RANGE] = 1.0
    leg, joint = np.unravel_index(int(np.argmin(followed)), followed.shape)
    if followed[leg, joint] < MIN_FOLLOWED:
        text = "{joint} does not move: check its horn, its cable and whether it is blocked"
        return Refusal("joint_still", text, joint=f"{robot.leg_names[leg]}_{JOINTS[joint]}")
    off = np.abs(off - np.median(off, axis=0))
    held = (off > HELD_UP).sum(0)
    leg, joint = np.unravel_index(int(np.argmax(held)), held.shape)
    if held[leg, joint] <= HELD_SHARE * len(rows):
        return None
    text = (
        "{joint} was held up in {count} of {all} poses, by up to {degrees:.0f} deg: does its leg touch the body, "
        "a cable or something beside it?"
    )
    values = {"count": int(held[leg, joint]), "all": len(rows), "degrees": math.degrees(off[:, leg, joint].max())}
    return Refusal("joint_held_up", text, joint=f"{robot.leg_names[leg]}_{JOINTS[joint]}", **values)


def _settled(places: Array) -> Array:
    """Places (m, n, 3) [m] without those that are left in the next pose for the one before: (m - 2, n, 3)."""
    settled: Array = np.median([places[:-2], places[1:-1], places[2:]], axis=0)
    return settled


def _steps(places: Array, stand: Mask) -> Array:
    """How far [m] feet (m, n) that stand go from pose to pose along the floor."""
    along = np.array([stand[k : len(stand) - 3 + k] for k in range(4)]).all(0)
    steps: Array = np.linalg.norm(np.diff(_settled(places)[..., :2], axis=0), axis=-1) * along
    return steps


def _slope(robot: Robot, estimate: ChainEstimate, count: int) -> float:
    """Slope [rad] of the floor in the last poses: that of its frame, and of the plane through the feet in it."""
    heights = np.median(estimate.places[-count:, :, 2], axis=0)
    plane = np.column_stack([robot.footholds, np.ones(len(robot.legs))])
    (forward, left, _), *_ = np.linalg.lstsq(plane, heights, rcond=None)
    roll, pitch = estimate.corrections.floor
    return math.hypot(roll + left, pitch - forward)


def _height(robot: Robot, places: Array, stand: Mask) -> Refusal | None:
    """Whether a foot stood higher than the others, or higher for a while; `places` (m, n, 3) [m]."""
    heights = np.where(stand[1:-1], _settled(places)[..., 2], np.nan)
    usual = [np.nanmedian(row) if not np.isnan(row).all() else 0.0 for row in heights.T]
    first = [row[~np.isnan(row)][0] if not np.isnan(row).all() else 0.0 for row in heights.T]
    apart = np.nan_to_num(heights - first)
    row, leg = np.unravel_index(int(np.argmax(np.abs(apart))), apart.shape)
    if abs(apart[row, leg]) > MAX_BUMP:
        text = (
            "the foot of {leg} stood {mm:+.0f} mm higher than before from pose {pose} of {all} on: is something under "
            "it, or is its leg held?"
        )
        pose = 2 + int(np.argmax(np.abs(apart[:, leg]) > MAX_BUMP))
        values = {"mm": 1e3 * float(apart[row, leg]), "pose": pose, "all": len(places)}
        return Refusal("foot_raised", text, leg=robot.leg_names[leg], **values)
    plane = np.column_stack([robot.footholds, np.ones(len(robot.legs))])
    uneven = np.array(usual) - plane @ np.linalg.lstsq(plane, np.array(usual), rcond=None)[0]
    high = int(np.argmax(np.abs(uneven)))
    if abs(uneven[high]) > MAX_BUMP:
        text = "the floor is not flat: {leg} stands {mm:+.0f} mm higher than the others; choose another place"
        return Refusal("floor_uneven", text, leg=robot.leg_names[high], mm=1e3 * float(uneven[high]))
    return None


def estimate_finding(
    robot: Robot, estimate: ChainEstimate, planted: Mask, max_deviation: float = math.inf
) -> Refusal | None:
    """What is wrong with an estimate, whose last poses are those of the last tour with these planted feet, or None.

    `planted` is (m, n); `max_deviation` [rad] is that of a zero. Kinds in NOTICED are no reason not to use it.
    """
    count = len(planted)
    weights = estimate.weights[-count:] * planted
    steps = _steps(estimate.places[-count:], weights > MIN_TRUST)
    longest = max(MAX_STEP, 3.0 * float(np.percentile(steps, USUAL_STEPS)))
    trust = weights.sum(0) / np.maximum(planted.sum(0), 1)
    trust[planted.sum(0) < MIN_SHARE * count] = 1.0
    leg = int(np.argmin(trust)) if trust.min() < MIN_TRUST else int(np.argmax(steps.max(0)))
    text = "the foot of {leg} slipped: put the robot on a floor with more grip, and do not touch it"
    slipped = Refusal("foot_slipped", text, leg=robot.leg_names[leg])
    if trust[leg] < MIN_TRUST or estimate.slip > MAX_SLIP:
        return slipped
    if (uneven := _height(robot, estimate.places[-count:], weights > MIN_TRUST)) is not None:
        return uneven
    if steps[:, leg].max() > longest:
        return slipped
    return _solution(robot, estimate, planted, max_deviation) or _noticed(robot, estimate, planted, steps)


def _solution(robot: Robot, estimate: ChainEstimate, planted: Mask, max_deviation: float) -> Refusal | None:
    """Whether the measurements have one, and it is known well enough."""
    if estimate.scale > MAX_SCALE:
        text = "the measurements contradict each other, by {scale:.0f} times their noise: was the robot pushed?"
        return Refusal("tour_contradictory", text, scale=estimate.scale)
    found, priors = estimate.corrections, estimate.priors
    pairs = ((found.zeros, priors.zeros), (found.lengths, priors.lengths), (found.hips, priors.hips))
    far = max(float(np.abs(value / prior).max()) for value, prior in pairs)
    if not estimate.converged or far > MAX_PRIORS:
        text = "the measurements have no clear solution: calibrate the robot by hand first (hexapod calibrate)"
        return Refusal("tour_unclear", text)
    deviations = estimate.deviations.zeros
    row, joint = np.unravel_index(int(np.argmax(deviations)), deviations.shape)
    if deviations[row, joint] <= max_deviation:
        return None
    text = (
        "the zero of {joint} is known only to {degrees:.1f} deg, its foot bore load in {share:.0%} of the poses: "
        "calibrate this leg by hand first (hexapod calibrate)"
    )
    values = {"degrees": math.degrees(deviations[row, joint]), "share": float(planted[:, row].mean())}
    return Refusal("zero_uncertain", text, joint=f"{robot.leg_names[row]}_{JOINTS[joint]}", **values)


def _noticed(robot: Robot, estimate: ChainEstimate, planted: Mask, steps: Array) -> Refusal | None:
    """What the owner should know, though the estimate has it in it or leaves it out."""
    stood = planted.mean(0)
    leg = int(np.argmin(stood))
    if stood[leg] < MIN_STOOD:
        text = "the foot of {leg} bore load only in {share:.0%} of the poses: is its leg held?"
        return Refusal("foot_hung", text, leg=robot.leg_names[leg], share=float(stood[leg]))
    row, moved = np.unravel_index(int(np.argmax(steps)), steps.shape)
    if steps[row, moved] > max(MIN_STEP, 1.5 * float(np.percentile(steps, USUAL_STEPS))):
        text = "the foot of {leg} slipped by {mm:.0f} mm before pose {pose} of {all}"
        values = {"mm": 1e3 * float(steps[row, moved]), "pose": int(row) + 3, "all": len(planted)}
        return Refusal("foot_moved", text, leg=robot.leg_names[moved], **values)
    slope = _slope(robot, estimate, len(planted))
    if slope > MAX_FLOOR:
        text = "the floor is not level: it falls by {degrees:.1f} deg"
        return Refusal("floor_tilted", text, degrees=math.degrees(slope))
    return None
