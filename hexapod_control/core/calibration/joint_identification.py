# SPDX-License-Identifier: Apache-2.0
r"""What one joint's servo is like, from goals and measured angles on the stand: least squares in the simulator's model.

A servo is a spring of stiffness k between its target, which comes after the latency, and its joint; it pulls only
beyond its slack s, half of the play (`core.reality`). At rest, after a move in the direction d = +-1, the spring
balances the torque that holds the weight of the leg and dry friction F:

    goal - angle = (weight + d F) / k + s sign(weight + d F)

which is linear in 1/k, s and F/k. During a slow sweep at constant speed the same holds, with the speed times latency
and lag more; there the readings pass all steps of the encoder, whose rounding is averaged so. Goals and angles are of
the same encoder, so that the zero of the joint is not in it.
After a further step in the same direction the play stays on its side, and the joint follows as a spring with damping
and inertia, which gives the latency and two time constants. The speed is that of a wide step, where it levels off.

Play and dead band have the same effect: what is called play here has the dead band in it.
Angles [rad], torques [N m], times [s].
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hexapod_control.core.calibration.joint_recording import JointRecording, Step, resolution
from hexapod_control.core.calibration.servo_fit import MAX_LATENCY_S, NOISE, TIMING_S, Fit, ServoFit
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.robot import FRICTION_SHARE, Joint

MIN_STEPS = 6  # of a joint
FAR_DEVIATIONS = 4.0  # of a rest from the model, from which on it is left out: the joint stayed within its play
PASSES = 12  # of a fit
IMPLAUSIBLE_SHARE = 4.0  # of the usual friction
HOLDING_SHARES = (0.3, 1.0, 3.0, 100.0)  # of the usual friction, with which a joint stays where it has come to rest
SWEEP_PART = 8  # readings of a sweep that are averaged
PRIOR_SLACK = math.radians(3.0)  # [rad] deviation
PRIOR_LAG_S = 0.2  # deviation of that of a joint
TORQUE_SHARE = 0.03  # deviation of the torques by the weight of a leg, whose other joints give way, as a share
UNKNOWN_SHARE = 0.35  # deviation of a stiffness or a friction, as a share, from which on it counts as unknown
WIDE = math.radians(12.0)  # [rad] a longer step is for the speed
LEVEL_SHARE = 0.12  # difference between the speeds of two parts of a wide step that reached its speed
SAMPLING_S = 0.0005  # deviation of the time at which a servo samples its angle
LEAST_JITTER_S = 0.0001  # the same, by the readings
JITTER_PASSES = 3
LOST_SHARE = 0.1  # of a step
MODEL_SHARE = 0.02  # of the way of a joint, to which the model of its motion is true
LEAST_RATIO = -6.0  # log of inertia stiffness / damping^2: a joint has as little inertia as its readings permit,
RATIO_DEVIATION = 1.5  # since a little of it looks like latency
WEIGHED_SHARE = 0.005  # of the stall torque: with less weight on it, a joint does not tell its stiffness
SWINGS = 2.5  # misfit of the steps by their deviation, from which on a joint is simulated
FIXED = 0.01  # deviation of the prior of the log of such a stiffness
PRIOR_DEVIATIONS = np.array([0.7, math.radians(3.0), 1.0, 0.1, 1.0, 1.0])  # of the values of a fit


class Measured(NamedTuple):
    """A value and its standard deviation."""

    value: float
    deviation: float


@dataclass(frozen=True, slots=True)
class JointEstimate:
    """What was found about a servo; None where the recording does not tell."""

    latency: Measured  # [s]
    backlash: Measured  # [rad] play from end to end, with the dead band
    stiffness: Measured | None  # [N m/rad]
    friction: Measured | None  # [N m]
    no_load_speed: Measured | None  # [rad/s]
    resolution: float  # [rad] smallest change of its angle
    residual: float  # [rad] rms of what the model leaves


class _Response(NamedTuple):
    """How a joint follows steps with its play on one side: values as the last three of a fit."""

    values: Array  # (3,)
    deviations: Array  # (3,)
    misfit: float  # rms of what is left, by its deviation
    residual: float  # [rad]


class _Static(NamedTuple):
    """1 / k [rad/(N m)], slack, F / k [rad], and latency and lag together [s]."""

    values: Array  # (4,)
    covariance: Array  # (4, 4)
    residual: float  # [rad]


def identify(recordings: Sequence[JointRecording], joints: Sequence[Joint]) -> list[JointEstimate]:
    """Estimates the servos of joints from their recordings.

    Where friction and play cannot be told apart, as in joints that bear no weight, the friction of the others counts.
    Raises ValueError for a recording with too few steps.
    """
    steps = [recording.steps() for recording in recordings]
    if any(len(each) < MIN_STEPS for each in steps):
        raise ValueError("a joint has too few steps")
    finest = [resolution(recording) for recording in recordings]
    usual = [_usual(joint) for joint in joints]
    responses = [_response(*each) for each in zip(steps, finest, joints, strict=True)]
    known = (recordings, steps, finest, joints, responses)
    alone = [_static(*each) for each in zip(*known, usual, strict=True)]
    frictions = [_friction_of_others(alone, usual, row) for row in range(len(joints))]
    together = [_static(*each) for each in zip(*known, frictions, strict=True)]
    weighed = [_is_weighed(*each) for each in zip(steps, joints, strict=True)]
    fits = [_simple_fit(*each) for each in zip(joints, together, responses, strict=True)]
    swinging = [row for row, response in enumerate(responses) if response is None or response.misfit > SWINGS]
    if swinging:
        prior = np.array([_prior(joints[row]) for row in swinging])
        spread = np.tile(PRIOR_DEVIATIONS, (len(swinging), 1))
        spread[[not weighed[row] for row in swinging], 0] = FIXED
        whole = ServoFit([recordings[row] for row in swinging], [joints[row] for row in swinging])
        better = whole.fit(np.array([fits[row].values for row in swinging]), prior, spread)
        for row, fit in zip(swinging, better, strict=True):
            fits[row] = min(fits[row], fit, key=lambda each: each.residual)
    return [_estimate(*each) for each in zip(joints, steps, finest, fits, weighed, strict=True)]


def _is_weighed(steps: Sequence[Step], joint: Joint) -> bool:
    return max(abs(step.torque) for step in steps) > WEIGHED_SHARE * joint.stall_torque


def _prior(joint: Joint) -> Array:
    """Values of a fit by the data sheet."""
    damping = joint.stall_torque / joint.no_load_speed / joint.stiffness
    ratio = joint.traits.motor_time_constant / damping
    return np.array([0.0, joint.traits.backlash / 2.0, 1.0, joint.traits.latency, math.log(damping), math.log(ratio)])


def _simple_fit(joint: Joint, static: _Static, response: _Response | None) -> Fit:
    """What rests, sweeps and steps tell without a simulation."""
    soft, slack, stuck, _ = static.values.tolist()
    off = np.sqrt(np.diag(static.covariance))
    likely = _usual(joint).value
    if stuck > IMPLAUSIBLE_SHARE * likely:  # the joint stayed on one side wherever it came to rest: play looks the same
        slack += stuck - likely
        stuck = likely
        off[1:3] = likely, math.inf
    share = max(soft * joint.stiffness, 0.3)
    usual = _usual(joint).value * joint.stiffness
    spring = joint.stiffness / share
    friction = max(stuck, 0.0) * spring
    values = _prior(joint)
    values[:3] = -math.log(share), max(slack, 0.0), friction / usual
    deviations = PRIOR_DEVIATIONS.copy()
    deviations[:3] = off[0] / soft if soft > 0.0 else math.inf, off[1], off[2] * spring / usual
    residual = static.residual
    if response is not None:
        values[3:] = response.values
        deviations[3:] = response.deviations
        residual = math.hypot(residual, response.residual) / math.sqrt(2.0)
    return Fit(values, deviations, residual)


def _usual(joint: Joint) -> Measured:
    """F / k [rad] by the data sheet."""
    usual = FRICTION_SHARE * joint.stall_torque / joint.stiffness
    return Measured(usual, usual)


def _friction_of_others(alone: Sequence[_Static], usual: Sequence[Measured], row: int) -> Measured:
    """F / k [rad] of a joint by those whose own recording tells it: their mean and spread."""
    shares = [
        (each.values[2] / own.value, math.sqrt(each.covariance[2, 2]) / own.value)
        for each, own in zip(alone, usual, strict=True)
    ]
    known = [share for share, deviation in shares if deviation < 0.5]
    if len(known) < 3:
        return usual[row]
    spread = math.hypot(float(np.std(known)), 0.05)
    return Measured(float(np.median(known)) * usual[row].value, spread * usual[row].value)


def _static(
    recording: JointRecording,
    steps: Sequence[Step],
    resolution: float,
    joint: Joint,
    response: _Response | None,
    friction: Measured,
) -> _Static:
    """Fits rests and sweeps of a joint. Each belongs to the side of the play that explains it better."""
    error, torque, way, speed, deviation = _balances(recording, steps, resolution)
    rounding = resolution / math.sqrt(12.0)
    soft = 1.0 / joint.stiffness
    lag = _lag(response)
    prior = np.diag([1.0 / soft, 1.0 / PRIOR_SLACK, 1.0 / friction.deviation, 1.0 / lag.deviation])
    usual_slack = joint.traits.backlash / 2.0 / PRIOR_SLACK
    aim = np.array([1.0, usual_slack, friction.value / friction.deviation, lag.value / lag.deviation])
    best: tuple[float, _Static] | None = None
    for holding in HOLDING_SHARES:  # sides from which the passes begin, as they may end in a poor one
        side = np.sign(torque + way * holding * FRICTION_SHARE * joint.stall_torque)
        used = np.ones(len(error), dtype=bool)
        for _ in range(PASSES):
            rows = np.column_stack([torque, side, way, speed]) / deviation[:, None]
            system = np.vstack([rows[used], prior])
            values = np.linalg.lstsq(system, np.concatenate([(error / deviation)[used], aim]), rcond=None)[0]
            plain = error - np.column_stack([torque, way, speed]) @ values[[0, 2, 3]]
            new_side = np.where(np.abs(plain - values[1]) < np.abs(plain + values[1]), 1.0, -1.0)
            left = (plain - new_side * values[1]) / deviation
            new_used = np.abs(left) < FAR_DEVIATIONS * max(1.0, 1.5 * float(np.median(np.abs(left))))
            if (new_side == side).all() and (new_used == used).all():
                break
            side = new_side
            used = new_used
        cost = float(np.minimum(np.abs(left), FAR_DEVIATIONS) @ np.minimum(np.abs(left), FAR_DEVIATIONS))
        cost += float(np.sum((prior @ values - aim) ** 2))
        left = left[used]
        worse = max(1.0, float(left @ left) / max(1, len(left) - 4))
        residual = float(np.sqrt(np.mean((left * deviation[used]) ** 2)))
        if best is None or cost < best[0]:
            # All readings on a side of the play may be rounded alike, as steps and sweeps often meet the same angles.
            alike = np.diag([rounding / 2.0 / max(float(np.ptp(torque)), 1e-9), rounding / 2.0, 0.0, 0.0]) ** 2
            best = cost, _Static(values, np.linalg.inv(system.T @ system) * worse + alike, residual)
    assert best is not None
    return best[1]


def _lag(response: _Response | None) -> Measured:
    """Time [s] by which a joint is behind a goal that moves evenly."""
    if response is None:
        return Measured(0.0, PRIOR_LAG_S)
    lag = math.exp(response.values[1])
    deviation = math.hypot(response.deviations[0], lag * response.deviations[1], SAMPLING_S)
    return Measured(float(response.values[0]) + lag, deviation)


def _balances(recording: JointRecording, steps: Sequence[Step], resolution: float) -> tuple[Array, ...]:
    """Error [rad], torque [N m], way, speed [rad/s] and deviation [rad] of rests and parts of sweeps (m,) each.

    Rests with the same error in the same direction have the same error of rounding, and count as one.
    """
    small = [step for step in steps if abs(step.change) < WIDE]
    rounding = resolution / math.sqrt(12.0)
    rests = [(step.goal - step.after, step.torque, math.copysign(1.0, step.change)) for step in small]
    kinds = [(round(error / max(resolution, NOISE)), way) for error, _, way in rests]
    alike = Counter(kinds)
    rows = [
        (*rest, 0.0, math.hypot(rounding * math.sqrt(alike[kind]), NOISE))
        for rest, kind in zip(rests, kinds, strict=True)
    ]
    sweeps = recording.sweeps
    for at in range(0, len(sweeps) - SWEEP_PART + 1, SWEEP_PART):
        part = np.array(sweeps[at : at + SWEEP_PART])
        if np.ptp(part[:, 3]) == 0.0:
            goal, angle, torque, speed = part.mean(axis=0).tolist()
            way = math.copysign(1.0, speed)
            rows.append((goal - angle, torque, way, speed, math.hypot(rounding / math.sqrt(SWEEP_PART / 4.0), NOISE)))
    return tuple(np.array(rows).T)


def _estimate(joint: Joint, steps: Sequence[Step], resolution: float, fit: Fit, weighed: bool) -> JointEstimate:
    log_spring, slack, stuck, latency = fit.values[:4].tolist()
    deviations = fit.deviations
    spring = joint.stiffness * math.exp(log_spring)
    usual = FRICTION_SHARE * joint.stall_torque
    soft = math.hypot(float(deviations[0]), TORQUE_SHARE)
    rough = math.hypot(float(deviations[2]), TORQUE_SHARE * stuck)
    return JointEstimate(
        Measured(latency, math.hypot(float(deviations[3]), SAMPLING_S)),
        Measured(2.0 * slack, 2.0 * float(deviations[1])),
        Measured(spring, spring * soft) if weighed and soft < UNKNOWN_SHARE else None,
        Measured(usual * stuck, usual * rough) if weighed and rough < UNKNOWN_SHARE else None,
        _speed(steps),
        resolution,
        fit.residual,
    )


def step_response(times: Array, damping: float, inertia: float) -> Array:
    """Response of inertia s^2 + damping s + 1 (both by stiffness, [s2] and [s]) to a step at 0, over times (m,) [s]."""
    root = np.sqrt(complex(damping**2 - 4.0 * inertia))
    if abs(root) < 1e-4 * damping:
        root = complex(1e-4 * damping)
    first = (-damping + root) / (2.0 * inertia)
    second = (-damping - root) / (2.0 * inertia)
    since = np.maximum(times, 0.0)
    response = 1.0 + (second * np.exp(first * since) - first * np.exp(second * since)) / (first - second)
    found: Array = np.where(times > 0.0, response.real, 0.0)
    return found


def _response(steps: Sequence[Step], resolution: float, joint: Joint) -> _Response | None:
    """Latency and time constants, as in a fit, by the steps in the direction of those before, without play.

    All rests in one direction may have the same error of rounding, by which the readings of a motion are off, but not
    those at rest: it is a value of its own. The jitter of the times of readings follows from what is left of them.
    """
    rounding = math.hypot(resolution / math.sqrt(12.0), NOISE)
    by_sheet = _prior(joint)
    usual = np.array([by_sheet[3], by_sheet[4], LEAST_RATIO, 0.0])
    spread = np.array([*PRIOR_DEVIATIONS[3:5], RATIO_DEVIATION, rounding])
    chosen = [step for step in steps if _is_plain(step, resolution)]
    if len(chosen) < MIN_STEPS // 2:
        return None
    times = np.concatenate([step.times for step in chosen])
    change = np.concatenate([np.full(len(step.times), step.change) for step in chosen])
    # from the rests of both ends, whose noise is halved so
    moved = np.concatenate([step.angles - (step.before + step.after - step.change) / 2.0 for step in chosen])
    still = rounding * np.concatenate([_settled(step.angles) for step in chosen])

    def course(values: Array, times: Array = times) -> Array:
        latency, log_damping, log_ratio, edge = values.tolist()
        lag = math.exp(min(max(log_damping, -8.0), -1.5))
        inertia = lag * lag * math.exp(min(max(log_ratio, LEAST_RATIO), 3.0))
        share = step_response(times - latency, lag, inertia)
        way = np.minimum(np.abs(share), np.abs(1.0 - share)) * np.abs(change)  # from the nearer rest
        found: Array = change * share + np.sign(change) * edge * np.minimum(1.0, way / rounding)
        return found

    def left(values: Array) -> Array:
        return np.concatenate([(moved - course(values)) / deviation, (values - usual) / spread])

    speed = np.concatenate([np.gradient(step.angles, step.times) for step in chosen])
    deviation = np.hypot(np.hypot(still, TIMING_S * speed), MODEL_SHARE * moved)
    latest = np.arange(0.0, MAX_LATENCY_S, 0.004)
    starts = [np.array([late, usual[1], ratio, 0.0]) for late in latest for ratio in (LEAST_RATIO, by_sheet[5])]
    values = min(starts, key=lambda each: float(np.sum(left(each) ** 2)))
    values, covariance = _least_squares(left, values)
    misfit = math.sqrt(float(np.mean((moved - course(values)) ** 2 / (rounding**2 + (TIMING_S * speed) ** 2))))
    if misfit > SWINGS:  # the joint swings in its play, which only a simulation tells, from a likely start
        usual = np.array([*by_sheet[3:], 0.0])
        spread = np.array([*PRIOR_DEVIATIONS[3:], rounding])
        values, covariance = _least_squares(left, min(starts, key=lambda each: float(np.sum(left(each) ** 2))))
    for _ in range(JITTER_PASSES):
        speed = (course(values, times + LEAST_JITTER_S) - course(values, times - LEAST_JITTER_S)) / 2.0 / LEAST_JITTER_S
        moving = TIMING_S * np.abs(speed) > still
        more = float(np.sum(((moved - course(values)) ** 2 - still**2)[moving]))
        jitter = math.sqrt(max(more / max(float(np.sum(speed[moving] ** 2)), 1e-12), LEAST_JITTER_S**2))
        deviation = np.hypot(np.hypot(still, jitter * speed), MODEL_SHARE * course(values))
        values, covariance = _least_squares(left, values)
    rest = moved - course(values)
    worse = max(1.0, float(np.mean((rest / deviation) ** 2)))
    residual = float(np.sqrt(np.mean(rest**2)))
    deviations = np.sqrt(np.diag(covariance)[:3] * worse)
    shift = rounding * math.exp(values[1]) / float(np.mean(np.abs(change)))  # by rests rounded alike
    deviations[0] = math.hypot(float(deviations[0]), shift)
    return _Response(values[:3], deviations, misfit, residual)


def _is_plain(step: Step, resolution: float) -> bool:
    """Whether a joint made a short step without losing a part of it in the play, as after a step that was too short."""
    lost = abs(step.after - step.before - step.change)
    is_short = abs(step.change) < WIDE and len(step.times) > 2
    return step.is_same_way and is_short and lost < LOST_SHARE * abs(step.change) + resolution


def _settled(angles: Array) -> Array:
    """Factors (m,) on the deviation of readings: those equal to the last one count as one, as their rounding is one."""
    moving = np.flatnonzero(np.abs(angles - angles[-1]) > 1e-9)
    settled = int(moving[-1]) + 1 if len(moving) else 0
    return np.where(np.arange(len(angles)) < settled, 1.0, math.sqrt(len(angles) - settled))


def _least_squares(left: Callable[[Array], Array], start: Array) -> tuple[Array, Array]:
    """Levenberg and Marquardt's method. Returns values and covariance."""
    values = start
    widths = np.array([1e-4, 1e-3, 1e-3, 1e-5])
    slowed = 1e-3
    now = left(values)
    for _ in range(40):
        jacobian = np.column_stack([(left(values + step) - now) / step.sum() for step in np.diag(widths)])
        normal = jacobian.T @ jacobian
        move = -np.linalg.solve(normal + slowed * np.diag(np.diag(normal)), jacobian.T @ now)
        new = left(values + move)
        if new @ new < now @ now:
            gained = now @ now - new @ new
            values = values + move
            now = new
            slowed = max(1e-9, slowed / 5.0)
            if gained < 1e-9 * (now @ now) + 1e-12:
                break
        else:
            slowed *= 8.0
            if slowed > 1e9:
                break
    return values, np.linalg.inv(normal)


def _speed(steps: Sequence[Step]) -> Measured | None:
    """The speed [rad/s] at which wide steps level off; None if none does."""
    found = []
    for step in steps:
        if abs(step.change) < WIDE:
            continue
        share = (step.angles - step.before) / step.change
        reached = int(np.argmax(share > 0.9)) if (share > 0.9).any() else len(share)
        parts = []
        for low, high in ((0.2, 0.45), (0.4, 0.65)):
            inside = np.flatnonzero((share[:reached] >= low) & (share[:reached] <= high))
            if len(inside) >= 2:
                span = [inside[0], inside[-1]]
                parts.append(float(np.ptp(share[span]) / np.ptp(step.times[span])))
        if len(parts) == 2 and abs(parts[0] - parts[1]) < LEVEL_SHARE * max(parts):
            found.append(abs(step.change) * float(np.mean(parts)))
    if len(found) < 2:
        return None
    return Measured(float(np.mean(found)), float(np.std(found, ddof=1)) / math.sqrt(len(found)))
