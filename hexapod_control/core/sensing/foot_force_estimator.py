"""What each foot carries, from the torques of its leg's servos.

A servo moves its leg as well as the robot: of what it tells go off what it needs for its speed (the torque-speed line
of a direct-current motor, or nothing, if it tells its current), to accelerate its rotor, against its dry friction, and
for the weight of the leg. The rest at femur and tibia is the force on the foot by the leg's Jacobian, transposed.

Nobody publishes those needs, and a guess that is wrong by a fifth makes feet touch in the air. So they are learned: a
foot that goes up or down quickly under the body is in the air, and what its servos then tell is what they need.
The inertia of the leg, small against that of the rotors behind their gears, goes with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.robot import Joint, Robot
from hexapod_control.core.statics.static_stability import GRAVITY

TOUCHES = 0.5  # of an even share of the weight: a foot that carries more touches the ground ...
LEAVES = 0.4  # ... until it carries less than this; and it takes more to touch by ...
DOUBT = 0.1  # ... this share of the force that would need as much torque as the motion of the leg
STRAIGHT = 0.1  # least sine of the tibia's angle: in a straight leg femur and tibia tell the same
IN_FLIGHT = 0.12  # [m/s] up or down under the body: a foot so fast does not stand ...
STANDING = 0.05  # [m/s] ... while others, that are slower than this, do
SUPPORT = 3  # of them at least
LONGEST = 0.05  # [s] between two samples: from longer ones no acceleration can be told
TIME_CONSTANT = 0.02  # [s] mechanical, of small motors: 10 to 30 ms
FRICTION = 0.02  # dry, of the stall torque
CREEP = 0.1  # [rad/s] at which friction is nearly all there
UNCERTAIN = 1.0  # times the first guess by which it may be wrong
ENOUGH = 60.0  # samples of feet that go up in the air: about one step of each
CLEAR = 0.25  # share of them that may seem to touch: one in eight runs against an edge, on blocks of 20 mm
NOISE = 0.06  # of the stall torque, what is told beside what is needed
FORGET = 0.9995  # of what was learned, with every sample that something is learned from: a minute of walking


class ServoTorqueModel:
    """What the servos of femurs and tibias need to move: torques per speed, acceleration and direction.

    Linear least squares with the guess as one more measurement; columns are femur and tibia, the same in all legs.
    """

    def __init__(self, joints: tuple[Joint, Joint]) -> None:
        """As guessed from stall torque and no-load speed."""
        guess = []
        for joint in joints:
            damping = joint.stall_torque / joint.no_load_speed
            guess.append((damping, TIME_CONSTANT * damping, FRICTION * joint.stall_torque))
        self.found: Array = np.array(guess)  # (2, 3) [N m s/rad, N m s^2/rad, N m]
        self._guess = np.einsum("ij,jk->ijk", (UNCERTAIN * self.found) ** -2, np.eye(3))  # information
        self._guessed = np.einsum("ijk,ik->ij", self._guess, self.found)
        self._noise = np.array([NOISE * joint.stall_torque for joint in joints])
        self._known, self._learned = np.zeros((2, 3, 3)), np.zeros((2, 3))

    def learn(self, motion: Array, torques: Array) -> None:
        """Takes torques (k, 2) [N m] that did nothing but what `motion` (k, 2, 3) needs."""
        scaled = motion / self._noise[:, None]
        self._known = FORGET * self._known + np.einsum("kij,kil->ijl", scaled, scaled)
        self._learned = FORGET * self._learned + np.einsum("kij,ki->ij", scaled, torques / self._noise)
        right = (self._guessed + self._learned)[:, :, None]
        self.found = np.linalg.solve(self._guess + self._known, right)[:, :, 0]

    def torques(self, motion: Array) -> Array:
        """Torques (n, 2) [N m] that `motion` (n, 2, 3) needs."""
        needed: Array = np.einsum("nij,ij->ni", motion, self.found)
        return needed


class TorqueSample(NamedTuple):
    """What the servos of femurs and tibias have told; all (n, 2)."""

    times: Array  # [s]
    speeds: Array  # [rad/s]
    torques: Array  # [N m] beside what the weight of the leg takes
    changes: Array  # [rad/s^2] of the speeds since the sample before


class FootForceEstimator:
    """The loads of one robot's feet, sample by sample. Rows are legs, columns femur and tibia."""

    def __init__(self, robot: Robot) -> None:
        """Nothing is known yet: no foot carries."""
        legs, count = robot.legs, len(robot.legs)
        self._lengths = np.array([(leg.femur.length, leg.tibia.length) for leg in legs])
        self._moments = np.array([leg.moments[-2:] for leg in legs])  # [kg m]
        self._even = robot.mass * GRAVITY / count
        self.needs = ServoTorqueModel((legs[0].femur_joint, legs[0].tibia_joint))
        nothing = np.zeros((count, 2))
        self._last = TorqueSample(np.full((count, 2), -np.inf), nothing, nothing, nothing)
        self._flying = np.zeros(count, dtype=bool)
        self._forces = np.zeros(count)
        self._count = self._wrong = 0.0  # samples of feet that go up in the air, and how many of these found a force

    @property
    def learning(self) -> bool:
        """True until enough was seen of feet in the air: for the first steps."""
        return self._count < ENOUGH

    @property
    def error(self) -> float:
        """Share of the samples of feet that go up in the air in which they seem to touch, or to pull as much."""
        return self._wrong / self._count if self._count else 0.0

    @property
    def clear(self) -> bool:
        """True if what is found can be believed."""
        return not self.learning and self.error <= CLEAR

    def update(self, joints: Array, speeds: Array, torques: Array, times: Array) -> Array | None:
        """Vertical forces (n,) [N] on the feet, 0 for one in the air; None while learning, or if that does not help.

        Joints (n, 3) [rad], their speeds [rad/s], the torques [N m] that their servos tell, and when [s] they told it.
        A leg of which nothing new is told keeps its load. The body is taken to be level.
        """
        out, up, weights = self._geometry(joints)
        last = self._last
        elapsed = times[:, 1:] - last.times
        new: NDArray[np.bool_] = np.all(elapsed > 0.0, axis=1)
        follows: NDArray[np.bool_] = new & np.all(elapsed < LONGEST, axis=1)
        changes = np.where(follows[:, None], speeds[:, 1:] - last.speeds, 0.0) / np.where(elapsed > 0.0, elapsed, 1.0)
        sample = TorqueSample(times[:, 1:], speeds[:, 1:], torques[:, 1:] - weights, changes)
        self._last = now = TorqueSample(*(np.where(new[:, None], *pair) for pair in zip(sample, last, strict=True)))
        rising = (up * now.speeds).sum(axis=1)
        sure = self._learn(last, now, follows, np.abs(rising))
        # A change is that of the middle between two samples: the next half of it leads to the second one.
        needed = self.needs.torques(_motion(now.speeds, 1.5 * now.changes - 0.5 * last.changes))
        levers = _levers(out, up)
        forces = (levers * (needed - now.torques)).sum(axis=1)
        doubts = DOUBT * np.abs(levers * needed).sum(axis=1)
        touches = TOUCHES * self._even + doubts
        sure &= rising > 0.0  # on the way down the ground is near
        self._check(np.abs(forces)[sure] > touches[sure])
        least = np.where(self._forces > 0.0, LEAVES * self._even, touches)
        self._forces = np.where(follows, np.where(forces > least, forces, 0.0), self._forces)
        return self._forces if self.clear else None

    def _geometry(self, joints: Array) -> tuple[Array, Array, Array]:
        """How far [m/rad] feet go out and up with femurs and tibias, and the torques [N m] of the legs' weight."""
        angles = np.cumsum(joints[:, 1:], axis=1)
        along, high = self._lengths * np.cos(angles), self._lengths * np.sin(angles)
        weights = GRAVITY * self._moments * np.cos(angles)
        out, up, weights = (np.cumsum(part[:, ::-1], axis=1)[:, ::-1] for part in (-high, along, weights))
        return out, up, weights

    def _learn(
        self, last: TorqueSample, now: TorqueSample, follows: NDArray[np.bool_], rising: Array
    ) -> NDArray[np.bool_]:
        """Learns from feet that were in the air at both samples, and says which; `rising` [m/s], up or down."""
        was, self._flying = self._flying, rising > IN_FLIGHT
        sure = self._flying & was & follows
        if np.count_nonzero(rising < STANDING) < SUPPORT:
            sure[:] = False
        if sure.any():
            motion = _motion(0.5 * (now.speeds + last.speeds), now.changes)
            self.needs.learn(motion[sure], 0.5 * (now.torques + last.torques)[sure])
        return sure

    def _check(self, wrong: NDArray[np.bool_]) -> None:
        """Takes down which of feet in the air would count as touching."""
        for one in wrong.tolist():
            self._count, self._wrong = FORGET * self._count + 1.0, FORGET * self._wrong + one


def _motion(speeds: Array, accelerations: Array) -> Array:
    """What torque is needed for (n, 2, 3), from speeds [rad/s] and accelerations [rad/s^2] (n, 2)."""
    return np.stack((speeds, accelerations, np.tanh(speeds / CREEP)), axis=2)


def _levers(out: Array, up: Array) -> Array:
    """Vertical force on a foot per torque (n, 2) [1/m], from the ways of `_geometry`: the Jacobian's inverse."""
    bent = out[:, 0] * up[:, 1] - out[:, 1] * up[:, 0]
    least = STRAIGHT * np.hypot(out[:, 0] - out[:, 1], up[:, 0] - up[:, 1]) * np.hypot(out[:, 1], up[:, 1])
    bent = np.where(np.abs(bent) < least, np.copysign(least, bent), bent)
    levers: Array = np.stack((-out[:, 1], out[:, 0]), axis=1) / bent[:, None]
    return levers
