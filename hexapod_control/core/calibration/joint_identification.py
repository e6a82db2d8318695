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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hexapod_control.core.calibration.joint_recording import REST_S, JointRecording, Step, resolution
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.robot import FRICTION_SHARE, Joint

MIN_STEPS = 6  # of a joint
NOISE = math.radians(0.01)  # [rad] of an angle at rest, besides its resolution
FAR_DEVIATIONS = 4.0  # of a rest from the model, from which on it is left out: the joint stayed within its play
PASSES = 12  # of a fit
IMPLAUSIBLE_SHARE = 4.0  # of the usual friction
HOLDING_SHARES = (0.3, 1.0, 3.0, 100.0)  # of the usual friction, with which a joint stays where it has come to rest
SWEEP_PART = 8  # readings of a sweep that are averaged
PRIOR_SLACK = math.radians(3.0)  # [rad] deviation
PRIOR_LAG_S = 0.2  # deviation of that of a joint
UNKNOWN_SHARE = 0.35  # deviation of a stiffness or a friction, as a share, from which on it counts as unknown
WIDE = math.radians(12.0)  # [rad] a longer step is for the speed
LEVEL_SHARE = 0.12  # difference between the speeds of two parts of a wide step that reached its speed
MAX_LATENCY_S = 0.15
SIMULATION_STEP_S = 0.002  # as in the physics
TIMING_S = 0.001  # deviation of the time of a reading
FIT_PASSES = 18
ROUGH_PASSES = 5  # first, with readings that count for less: the way to the best values is smoother then
ROUGH = math.radians(0.15)  # [rad]
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
    time_constants: tuple[float, float]  # damping / stiffness [s] and inertia / stiffness [s2]
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
            best = cost, _Static(values, np.linalg.inv(system.T @ system) * worse, residual)
    assert best is not None
    return best[1]


def _lag(response: _Response | None) -> Measured:
    """Time [s] by which a joint is behind a goal that moves evenly."""
    if response is None:
        return Measured(0.0, PRIOR_LAG_S)
    lag = math.exp(response.values[1])
    deviation = math.hypot(response.deviations[0], lag * response.deviations[1], TIMING_S)
    return Measured(float(response.values[0]) + lag, deviation)


def _balances(recording: JointRecording, steps: Sequence[Step], resolution: float) -> tuple[Array, ...]:
    """Error [rad], torque [N m], way, speed [rad/s] and deviation [rad] of rests and parts of sweeps (m,) each."""
    small = [step for step in steps if abs(step.change) < WIDE]
    rounding = resolution / math.sqrt(12.0)
    rows = [
        (step.goal - step.after, step.torque, math.copysign(1.0, step.change), 0.0, math.hypot(rounding, NOISE))
        for step in small
    ]
    sweeps = recording.sweeps
    for at in range(0, len(sweeps) - SWEEP_PART + 1, SWEEP_PART):
        part = np.array(sweeps[at : at + SWEEP_PART])
        if np.ptp(part[:, 3]) == 0.0:
            goal, angle, torque, speed = part.mean(axis=0).tolist()
            way = math.copysign(1.0, speed)
            rows.append((goal - angle, torque, way, speed, math.hypot(rounding / math.sqrt(SWEEP_PART / 2.0), NOISE)))
    return tuple(np.array(rows).T)


def _estimate(joint: Joint, steps: Sequence[Step], resolution: float, fit: Fit, weighed: bool) -> JointEstimate:
    log_spring, slack, stuck, latency, log_lag, log_ratio = fit.values.tolist()
    deviations = fit.deviations
    residual = fit.residual
    spring = joint.stiffness * math.exp(log_spring)
    usual = FRICTION_SHARE * joint.stall_torque
    lag = math.exp(log_lag)
    return JointEstimate(
        Measured(latency, float(deviations[3])),
        Measured(2.0 * slack, 2.0 * float(deviations[1])),
        Measured(spring, spring * float(deviations[0])) if weighed and deviations[0] < UNKNOWN_SHARE else None,
        Measured(usual * stuck, usual * float(deviations[2])) if weighed and deviations[2] < UNKNOWN_SHARE else None,
        _speed(steps),
        resolution,
        (lag, lag * lag * math.exp(log_ratio)),
        residual,
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
    """Latency and time constants, as in a fit, by the steps in the direction of those before, without play."""
    usual = _prior(joint)[3:]
    chosen = [step for step in steps if step.is_same_way and abs(step.change) < WIDE]
    chosen = [step for step in chosen if len(step.times) > 2]
    if len(chosen) < MIN_STEPS // 2:
        return None
    times = np.concatenate([step.times for step in chosen])
    change = np.concatenate([np.full(len(step.times), step.change) for step in chosen])
    # from the rests of both ends, whose noise is halved so
    moved = np.concatenate([step.angles - (step.before + step.after - step.change) / 2.0 for step in chosen])
    speed = np.concatenate([np.gradient(step.angles, step.times) for step in chosen])
    deviation = np.hypot(math.hypot(resolution / math.sqrt(12.0), NOISE), TIMING_S * speed)

    def left(values: Array) -> Array:
        latency, log_damping, log_ratio = values.tolist()
        lag = math.exp(min(max(log_damping, -8.0), -1.5))
        inertia = lag * lag * math.exp(min(max(log_ratio, -6.0), 3.0))
        fitted = (moved - change * step_response(times - latency, lag, inertia)) / deviation
        return np.concatenate([fitted, (values - usual) / PRIOR_DEVIATIONS[3:]])

    starts = [np.array([late, *usual[1:]]) for late in np.arange(0.0, MAX_LATENCY_S, 0.004)]
    values, covariance = _least_squares(left, min(starts, key=lambda each: float(np.sum(left(each) ** 2))))
    rest = left(values)[: len(moved)]
    worse = float(np.mean(rest**2))
    residual = float(np.sqrt(np.mean((rest * deviation) ** 2)))
    return _Response(values, np.sqrt(np.diag(covariance) * max(1.0, worse)), math.sqrt(worse), residual)


def _least_squares(left: Callable[[Array], Array], start: Array) -> tuple[Array, Array]:
    """Levenberg and Marquardt's method. Returns values and covariance."""
    values = start
    widths = np.array([1e-4, 1e-3, 1e-3])
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


# --- the simulator's model ---------------------------------------------------------------------------------------


class Fit(NamedTuple):
    """Values of a joint as in `ServoFit`."""

    values: Array  # (6,)
    deviations: Array  # (6,)
    residual: float  # [rad] rms


class _Segment(NamedTuple):
    """Steps of one joint without a break, from a rest on."""

    goals: Array  # (g,) [rad], the first one already reached
    sent: Array  # (g,) [s] since the begin of the segment
    torque: float  # [N m]
    start: float  # [rad] at rest
    times: Array  # (m,) [s] of the readings
    angles: Array  # (m,) [rad]


def _segments(recording: JointRecording) -> list[_Segment]:
    """The parts of a recording between breaks; each begins with the second goal, the rest before it is its start."""
    times, angles = np.array(recording.readings).reshape(-1, 2).T
    begins = sorted({0, *recording.breaks})
    found = []
    for first, after in zip(begins, (*begins[1:], len(recording.goals)), strict=True):
        rows = recording.goals[first:after]
        if len(rows) < 2:
            continue
        begin = rows[1][0]
        end = recording.goals[after][0] if after < len(recording.goals) else math.inf
        before = (times >= rows[0][0]) & (times < begin) & (times > begin - REST_S)
        inside = (times >= begin) & (times < end)
        if not before.any() or not inside.any():
            continue
        sent = np.array([-1e9, *(time - begin for time, *_ in rows[1:])])
        goals = np.array([goal for _, goal, _ in rows])
        last = rows[-1][0] + 2.0  # what follows is the move to the next pose
        inside &= times < last
        found.append(
            _Segment(goals, sent, rows[0][2], float(angles[before].mean()), times[inside] - begin, angles[inside])
        )
    return found


class ServoFit:
    """Fits the servos of several joints at once, each on its own, with the model of the simulator.

    The values of a joint are: log of the stiffness, slack [rad], friction, latency [s], log of damping / stiffness [s],
    and log of inertia stiffness / damping^2. Stiffness and friction are shares of the usual ones.
    """

    COUNT = 6
    WIDTHS = np.array([1e-3, 1e-5, 1e-2, 2e-4, 1e-3, 1e-3])
    LOW = np.array([-2.0, 0.0, 0.0, 0.0, -8.0, -6.0])
    HIGH = np.array([2.0, 0.1, 8.0, MAX_LATENCY_S, -1.5, 3.0])

    def __init__(self, recordings: Sequence[JointRecording], joints: Sequence[Joint]) -> None:
        self._joints = joints
        self._spring = np.array([joint.stiffness for joint in joints])
        self._stall = np.array([joint.stall_torque for joint in joints])
        self._segments = [_segments(recording) for recording in recordings]
        dt = SIMULATION_STEP_S
        self._lengths = [[math.ceil(float(part.times[-1]) / dt) + 2 for part in parts] for parts in self._segments]
        self._steps = max(map(sum, self._lengths))
        self._torque = np.zeros((self._steps, len(joints)))
        self._resets: dict[int, list[tuple[int, float]]] = {}
        for column, (parts, lengths) in enumerate(zip(self._segments, self._lengths, strict=True)):
            at = 0
            for part, length in zip(parts, lengths, strict=True):
                self._torque[at : at + length, column] = part.torque
                self._resets.setdefault(at, []).append((column, part.start))
                at += length
        self._deviations = [
            np.concatenate([_deviations(part, resolution(recording)) for part in parts])
            for parts, recording in zip(self._segments, recordings, strict=True)
        ]

    def _targets(self, latencies: Array) -> Array:
        """Targets (steps, joints) [rad] of the motors, for latencies (joints,) [s]."""
        dt = SIMULATION_STEP_S
        targets = np.zeros((self._steps, len(latencies)))
        for column, (parts, lengths) in enumerate(zip(self._segments, self._lengths, strict=True)):
            at = 0
            for part, length in zip(parts, lengths, strict=True):
                ends = dt * np.arange(1, length + 1)
                sent = part.sent + latencies[column]
                index = np.maximum(np.searchsorted(sent, ends, side="right") - 1, 0)
                share = np.clip((ends - sent[index]) / dt, 0.0, 1.0)  # of the step, after a goal within it
                before = part.goals[np.maximum(index - 1, 0)]
                targets[at : at + length, column] = before + share * (part.goals[index] - before)
                at += length
        return targets

    def courses(self, values: Array) -> list[Array]:
        """The angles [rad] at the readings of each joint, for values (joints, 6) or (joints, k, 6).

        Returns an array (m,) or (m, k) per joint.
        """
        sets = values.reshape(len(self._joints), -1, self.COUNT)
        count = sets.shape[1]
        dt = SIMULATION_STEP_S
        targets = np.stack([self._targets(sets[:, k, 3]) for k in range(count)], axis=2)
        spring = self._spring[:, None] * np.exp(sets[..., 0])
        slack = sets[..., 1]
        usual = FRICTION_SHARE * self._stall[:, None]
        stuck = dt * usual * sets[..., 2]
        lag = np.exp(sets[..., 4])
        inertia = spring * lag * lag * np.exp(sets[..., 5])
        whole = inertia + dt * spring * lag
        most = np.broadcast_to(self._stall[:, None], spring.shape)
        angle = np.zeros_like(spring)
        speed = np.zeros_like(spring)
        course = np.empty((self._steps, *spring.shape))
        weight = self._torque[:, :, None]
        low = targets - slack
        high = targets + slack
        for step in range(self._steps):
            for column, start in self._resets.get(step, ()):
                angle[column] = start
                speed[column] = 0.0
            force = np.maximum(angle, low[step])
            np.minimum(force, high[step], out=force)
            force -= angle
            force *= spring
            np.minimum(force, most, out=force)
            np.maximum(force, -most, out=force)
            force -= weight[step]
            force *= dt
            force += inertia * speed
            force -= np.minimum(np.maximum(force, -stuck), stuck)
            speed = force / whole
            angle = angle + dt * speed
            course[step] = angle
        return [self._read(course[:, column], column) for column in range(len(self._joints))]

    def _read(self, course: Array, column: int) -> Array:
        """What is read (m, k) of the course (steps, k) of a joint."""
        dt = SIMULATION_STEP_S
        found = []
        at = 0
        for part, length in zip(self._segments[column], self._lengths[column], strict=True):
            place = at - 1.0 + part.times / dt
            first = np.clip(np.floor(place).astype(int), at, at + length - 2)
            share = np.clip(place - first, 0.0, 1.0)[:, None]
            found.append(course[first] * (1.0 - share) + course[first + 1] * share)
            at += length
        joined: Array = np.concatenate(found)
        return joined

    def _left(self, courses: Sequence[Array], rough: float = 0.0) -> list[Array]:
        """Readings less courses (m, k), by their deviations, and a `rough` one [rad] more."""
        return [
            (np.concatenate([part.angles for part in parts])[:, None] - course) / np.hypot(deviations, rough)[:, None]
            for parts, course, deviations in zip(self._segments, courses, self._deviations, strict=True)
        ]

    def fit(self, start: Array, prior: Array, spread: Array) -> list[Fit]:
        """Levenberg and Marquardt's method from values (joints, 6), with a normal prior of values and deviations."""
        joints = len(start)
        values = np.clip(start, self.LOW, self.HIGH)
        slowed = np.full(joints, 1e-2)
        steps = np.concatenate([np.zeros((1, self.COUNT)), np.diag(self.WIDTHS)])
        normal = np.zeros((joints, self.COUNT, self.COUNT))
        for number in range(FIT_PASSES):
            rough = ROUGH if number < ROUGH_PASSES else 0.0
            lefts = self._left(self.courses(values[:, None, :] + steps), rough)
            cost = np.array([float(left[:, 0] @ left[:, 0]) for left in lefts])
            cost += (((values - prior) / spread) ** 2).sum(axis=1)
            moves = np.zeros_like(values)
            for row, left in enumerate(lefts):
                jacobian = (left[:, 1:] - left[:, :1]) / self.WIDTHS
                normal[row] = jacobian.T @ jacobian + np.diag(1.0 / spread[row] ** 2)
                slope = jacobian.T @ left[:, 0] + (values[row] - prior[row]) / spread[row] ** 2
                moves[row] = -np.linalg.solve(normal[row] + slowed[row] * np.diag(np.diag(normal[row])), slope)
            tried = np.clip(values + moves, self.LOW, self.HIGH)
            new = np.array([float(left[:, 0] @ left[:, 0]) for left in self._left(self.courses(tried), rough)])
            new += (((tried - prior) / spread) ** 2).sum(axis=1)
            better = new < cost
            values = np.where(better[:, None], tried, values)
            slowed = np.where(better, slowed / 5.0, slowed * 8.0)
            done = np.where(better, cost - new < 1e-3 * cost, slowed > 1e3)
            if number >= ROUGH_PASSES and done.all():
                break
        lefts = self._left(self.courses(values))
        found = []
        for row, (left, deviations) in enumerate(zip(lefts, self._deviations, strict=True)):
            worse = max(1.0, float(left[:, 0] @ left[:, 0]) / max(1, len(left) - self.COUNT))
            residual = float(np.sqrt(np.mean((left[:, 0] * deviations) ** 2)))
            found.append(Fit(values[row], np.sqrt(np.diag(np.linalg.inv(normal[row])) * worse), residual))
        return found


def _deviations(part: _Segment, resolution: float) -> Array:
    """Deviations (m,) [rad] of readings: of the angle, and of the time while the joint moves.

    Equal readings, one after the other, have the same error of rounding, and count as one.
    """
    still = math.hypot(resolution / math.sqrt(12.0), NOISE)
    speed = np.gradient(part.angles, part.times) if len(part.times) > 2 else np.zeros_like(part.angles)
    run = np.cumsum(np.abs(np.diff(part.angles, prepend=part.angles[0])) > 1e-9)
    found: Array = np.hypot(still * np.sqrt(np.bincount(run)[run]), TIMING_S * speed)
    return found
