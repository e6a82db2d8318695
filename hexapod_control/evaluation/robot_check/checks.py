# SPDX-License-Identifier: Apache-2.0
"""The checks of a robot: each yields remarks with figures and remedies."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from hexapod_control.config.robots.robot_file import changed
from hexapod_control.config.robots.robot_keys import ECONOMY
from hexapod_control.config.robots.servo_table import versions
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.leg_clearance import LegCapsule, LegNeighbours, capsules
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.names import JOINTS, enumerated
from hexapod_control.core.robot import Robot
from hexapod_control.core.statics.leg_compliance import MIN_SWAY_PERIODS, sway_period
from hexapod_control.core.statics.leg_loads import LoadedLeg
from hexapod_control.core.statics.moving_mass import neutral_center
from hexapod_control.core.statics.static_stability import GRAVITY
from hexapod_control.core.workspace.crawl import MARGINS
from hexapod_control.core.workspace.robot_gaits import least_support
from hexapod_control.core.workspace.stride_stability import MIN_STRIDE_MARGIN, stable_share
from hexapod_control.core.workspace.strides.leg_centers import distance_from_body
from hexapod_control.core.workspace.twist_limits import MIN_COMMAND
from hexapod_control.evaluation.robot_check.joint_torques import of_servos, standing_torques, walking_torques
from hexapod_control.evaluation.robot_check.steady_walk import PlannedCycle, steady_walk
from hexapod_control.evaluation.robot_check.subject import Remark, Seriousness, Subject
from hexapod_control.servos.bus.bus_interface import Bus, BusError, ServoQuantity
from hexapod_control.servos.bus.bus_timing import budget
from hexapod_control.servos.driver.servo_readings import MOTION
from hexapod_control.servos.protocol_registry import PROTOCOLS, ServoProtocol
from hexapod_control.servos.settings.servo_section import LOOPBACK, servo_settings

USUAL_RATE_HZ = 50.0  # of a robot file
NEAR_LIMIT_DEG = 8.0  # of a joint in the neutral stance
SMALL_STEP_SHARE = 0.25  # radius of a stance region over the leg's reach; smaller ones make the robot slow
NARROW_GAP_M = 0.005  # between neighbouring legs in the neutral stance
FAR_M = 10.0  # largest gap that is measured
SAG_SHARE = 0.15  # of the lift height; robots that sag more walk 3 % or more below their command
LINK_POINTS = 25  # on a link, for its distance from the body
CONTINUOUS_SHARES = (0.2, 1.0 / 3.0)  # of the stall torque: lowest and highest continuous torque of servos
FULL_SHARE = 0.9  # of the stall torque: above it there is no reserve
SMALL_MARGIN_M = 0.010
MIN_GAIN = 1.1  # factor on the speed from which other footholds or another gait are suggested
EQUAL_MARGIN_M = 1e-4  # difference up to which gaits count as equally stable
SPEED_UNITS = {"forward": "m/s forwards", "left": "m/s sideways", "turn": "rad/s turning"}
# A motor with resistive losses only draws stall torque times no-load speed at stall. Makers state
# stall currents of 1.2 to 2.3 times that: AX-12A 1.9, MG996R 1.9, STS3215 2.3, XM430-W350 1.4, MX-64 1.2.
STALL_POWER_FACTOR = 2.0  # power at stall over stall torque times no-load speed
IDLE_W = 0.5  # electronics of each servo


class IdlePort(NamedTuple):
    """A port without traffic."""

    baud: int


def idle_bus(row: ServoProtocol, baud: int, ids: Sequence[int]) -> Bus:
    """A bus that is only used for its timing."""
    return row.open(IdlePort(baud), ids)


def wire(subject: Subject) -> Iterator[Remark]:
    """Goals and reads per cycle on the line, with the section `servos` or the usual protocol of the servo."""
    count = 3 * len(subject.robot.legs)
    if subject.file.servos is not None:
        settings = servo_settings(subject.file)
        name, baud, rate = settings.protocol, settings.baud, settings.rate
    else:
        known = versions(subject.file.servo_model)
        name = known[0].protocol if known else ""
        baud = 0
        rate = USUAL_RATE_HZ
    if name not in PROTOCOLS or name == LOOPBACK:
        return
    row = PROTOCOLS[name]
    baud = baud or row.baud
    ids = [each for each in row.ids if each or row.ids.stop > count][:count]
    where = f"With {name} at {baud} baud"
    figures: dict[str, object] = {"protocol": name, "baud": baud}
    try:
        bus = idle_bus(row, baud, ids)
        reads = bool(bus.can_read & ServoQuantity.POSITION)
        found = budget(partial(bus.timing, quantities=bus.can_read & MOTION), count, rate, reads)
    except BusError as error:
        yield Remark(Seriousness.PROBLEM, "wire", f"{where} {error}", "a higher baud, or two buses", figures)
        return
    read = f", and {found.reads} of {count} positions are read each time" if reads else ""
    text = f"{where} goals are sent {found.rate:.0f} times a second{read}"
    figures |= {"rate_hz": round(found.rate, 1), "reads": found.reads}
    change = "a higher baud, or a smaller servos.rate" if found.limitation else ""
    seriousness = Seriousness.NOTE if found.limitation else Seriousness.FIGURE
    yield Remark(seriousness, "wire", text, change, figures)


def reach(subject: Subject) -> Iterator[Remark]:
    """Distance of the joints from their limits in the neutral stance, and size of the stance regions."""
    nearest = math.inf
    for leg, row in zip(subject.robot.legs, subject.standing, strict=True):
        for name, angle, joint in zip(JOINTS, row, leg.joints, strict=True):
            room = math.degrees(min(angle - joint.lower, joint.upper - angle))
            nearest = min(nearest, room)
            if room < NEAR_LIMIT_DEG:
                text = f"Standing, the {name} of {leg.name} is {room:.1f} deg from its limit"
                change = (
                    f"widen joints.{name} by {NEAR_LIMIT_DEG - room:.0f} deg, or change walk.height or the foothold"
                )
                yield Remark(Seriousness.PROBLEM, "reach", text, change)
    stance = subject.capabilities.neutral_stance
    radius = min(stance.radii)
    leg = subject.robot.legs[stance.radii.index(radius)]
    share = radius / leg.reach
    figures = {"joint_margin_deg": round(nearest, 2), "step_radius_m": round(radius, 4)}
    steps = f"Every foot can step {1e3 * radius:.0f} mm about its foothold"
    text = f"{steps}; standing, joints keep {nearest:.0f} deg to their limits"
    poor = share < SMALL_STEP_SHARE
    change = f"move the foothold of {leg.name} to where its joints are mid-range, or away from its neighbour"
    yield Remark(Seriousness.NOTE if poor else Seriousness.FIGURE, "reach", text, change if poor else "", figures)


def neighbours(subject: Subject) -> Iterator[Remark]:
    """The gap between neighbouring legs."""
    gap = LegNeighbours.of(subject.robot).gap(subject.standing, FAR_M)
    text = f"Standing, neighbouring legs are {1e3 * gap.distance:.0f} mm apart"
    poor = gap.distance < NARROW_GAP_M
    change = "move their footholds apart" if poor else ""
    seriousness = Seriousness.PROBLEM if poor else Seriousness.FIGURE
    yield Remark(seriousness, "neighbours", text, change, {"gap_m": round(gap.distance, 4)})


def body(subject: Subject) -> Iterator[Remark]:
    """Legs whose shapes overlap that of the body."""
    robot = subject.robot
    for row, (leg, joints) in enumerate(zip(robot.legs, subject.standing, strict=True)):
        gaps = [_gap_to_body(robot, capsule) for capsule in capsules(robot, row, joints)]
        if (gap := min(gaps)) < 0.0:
            part = ("tibia", "femur")[gaps.index(gap)]
            text = f"Standing, the {part} of {leg.name} is {-1e3 * gap:.0f} mm inside the body; they never collide"
            change = f"if they do not touch on the robot, make body.size smaller or move the hip of {leg.name}"
            yield Remark(Seriousness.NOTE, "body", text, change, {"leg": leg.name, "gap_m": round(gap, 4)})


def _gap_to_body(robot: Robot, capsule: LegCapsule) -> float:
    """Gap [m] between a capsule and the box of the body, negative where they overlap."""
    points = np.linspace(capsule.start, capsule.end, LINK_POINTS)
    return float(distance_from_body(robot, points).min()) - capsule.radius


def standing(subject: Subject) -> Iterator[Remark]:
    """Load of the servos while the robot stands on all legs."""
    held = np.abs(standing_torques(subject.robot, subject.standing, [True] * len(subject.robot.legs))).max(axis=0)
    yield from _held(subject, "standing", "Standing", held, {"torque_nm": _by_joint(held)})


def walking(subject: Subject) -> Iterator[Remark]:
    """Load of the servos while the robot walks."""
    found = subject.torques
    walk = subject.walk
    stall = _stall(subject)
    speed = max(map(abs, walk.twist))
    what = f"Walking at {speed:.3f} m/s in {walk.gait}"
    figures: dict[str, object] = {
        "gait": walk.gait,
        "speed_m_s": round(speed, 5),
        "rms_nm": _by_joint(found.rms),
        "peak_nm": _by_joint(found.peak),
        "held_nm": _by_joint(found.held),
    }
    yield from _held(subject, "walking", what, found.held, figures)
    full = found.peak / stall
    worst = int(np.argmax(full))
    if full[worst] > FULL_SHARE:
        text = f"{what}, the {JOINTS[worst]} needs up to {found.peak[worst]:.2g} N m of {stall[worst]:.2g} N m"
        change = f"a servo of {found.peak[worst] / 0.7:.2g} N m, or a longer walk.swing_time"
        yield Remark(Seriousness.PROBLEM, "walking", text, change)


def _held(subject: Subject, topic: str, what: str, held: Array, figures: dict[str, object]) -> Iterator[Remark]:
    """Holding torques of the joints compared with the continuous torque of the servos."""
    stall = _stall(subject)
    shares = held / stall
    worst = int(np.argmax(shares))
    share, low, high = float(shares[worst]), *CONTINUOUS_SHARES
    text = f"{what}, each {JOINTS[worst]} holds {held[worst]:.2g} N m, {100.0 * share:.0f} % of its stall torque"
    figures = {**figures, "share_of_stall": _by_joint(shares)}
    if share <= low:
        yield Remark(Seriousness.FIGURE, topic, text, "", figures)
        return
    lighter = subject.robot.mass * (1.0 - low / share)
    change = f"servos of {held[worst] / low:.2g} N m, {lighter:.2g} kg less, or footholds nearer to the body"
    hot = "servos hold a fifth to a third continuously"
    seriousness = Seriousness.PROBLEM if share > high else Seriousness.NOTE
    yield Remark(seriousness, topic, f"{text}; {hot}", change, figures)


def sagging(subject: Subject) -> Iterator[Remark]:
    """Sag of the body by the compliance of the servos while the robot walks: swing feet then touch down early."""
    robot = subject.robot
    gait = subject.capabilities.gaits[subject.walk.gait]
    load = robot.mass * GRAVITY / (len(robot.legs) * gait.duty_factor)
    footholds = [np.array(complex(*leg.foothold)) for leg in robot.legs]
    sags = [LoadedLeg.at(robot, leg, foot).sag().item() for leg, foot in zip(robot.legs, footholds, strict=True)]
    sink = load * max(sags)
    share = sink / robot.walk.lift_height
    text = f"Walking in {gait.name}, the body sags by {1e3 * sink:.1f} mm, {100.0 * share:.0f} % of the lift height"
    figures = {"sag_m": round(sink, 5), "share_of_lift": round(share, 4)}
    if share <= SAG_SHARE:
        yield Remark(Seriousness.FIGURE, "sagging", text, "", figures)
        return
    change = f"walk.lift_height of {sink / SAG_SHARE:.3f} m, or stiffer servos"
    early = "feet touch down early and brake the body by some percent"
    yield Remark(Seriousness.NOTE, "sagging", f"{text}: {early}", change, figures)


def swaying(subject: Subject) -> Iterator[Remark]:
    """Swings so short that changes of the supporting legs make the body sway on its servos."""
    period = sway_period(subject.robot)
    swing = subject.robot.walk.swing_time
    figures = {"sway_period_s": round(period, 4), "periods_in_swing": round(swing / period, 3)}
    text = f"The body sways with a period of {period:.2f} s on its servos, a swing lasts {swing / period:.1f} periods"
    if swing >= MIN_SWAY_PERIODS * period:
        yield Remark(Seriousness.FIGURE, "swaying", text, "", figures)
        return
    change = f"walk.swing_time of {MIN_SWAY_PERIODS * period:.2f} s, or stiffer servos"
    yield Remark(Seriousness.NOTE, "swaying", f"{text}: it walks faster or slower than commanded", change, figures)


def _stall(subject: Subject) -> Array:
    return of_servos(subject.robot, "stall_torque").min(axis=0)


def _by_joint(values: Array) -> dict[str, float]:
    return {name: round(float(value), 5) for name, value in zip(JOINTS, values, strict=True)}


def speeds(subject: Subject) -> Iterator[Remark]:
    """Top speeds of every gait, and the limiting factor."""
    for gait in subject.capabilities.gaits:
        forward, left, turn = (subject.top_speed(gait, axis) for axis in ("forward", "left", "turn"))
        limit = _limit(subject, gait, forward)
        most = f"{forward:.3f} m/s forwards, {left:.3f} m/s sideways, {turn:.2f} rad/s turning"
        text = f"{gait}: at most {most}; {limit} limits it"
        figures = {"gait": gait, "forward_m_s": forward, "left_m_s": left, "turn_rad_s": turn, "limit": limit}
        stuck = forward < MIN_COMMAND.vx
        change = "faster servos, or a longer walk.swing_time" if stuck else ""
        yield Remark(Seriousness.PROBLEM if stuck else Seriousness.FIGURE, "speed", text, change, figures)


def gait_choice(subject: Subject) -> Iterator[Remark]:
    """A gait that is faster than walk.gait, and as stable in its longest strides."""
    capabilities = subject.capabilities
    selection = capabilities.selection()
    own_margin = capabilities.margin(selection.fastest.name)
    others = [name for name in capabilities.gaits if capabilities.margin(name) >= own_margin - EQUAL_MARGIN_M]
    for axis, unit in SPEED_UNITS.items():
        own = max(subject.top_speed(gait.name, axis) for gait in selection.gaits)
        best = max(others, key=lambda name: subject.top_speed(name, axis))
        if (speed := subject.top_speed(best, axis)) > MIN_GAIN * own:
            text = f"{selection.name} reaches {own:.3f} {unit}, {best} {speed:.3f} {unit} with the same static margin"
            figures = {"gait": selection.name, "faster": best, "axis": axis, "own": own, "speed": speed}
            yield Remark(Seriousness.NOTE, "gait", text, f"walk.gait {best}", figures)
            return


def _limit(subject: Subject, gait: str, forward: float) -> str:
    """Text: what limits the forward speed, stance regions or the speed of a joint in the swing."""
    capabilities = subject.capabilities
    height = subject.robot.walk.height
    row = capabilities.gaits[gait]
    share = capabilities.envelope.stride_shares.get(gait, 1.0)
    wide = capabilities.envelope.with_stride_shares({gait: 1.5 * share})
    wider = wide.limit(row, height, capabilities.region_share(row), Twist(100.0 * forward, 0.0, 0.0)).twist.vx
    if wider > 1.05 * forward:
        if share == 1.0:
            return "the step radius"
        return "the static margin of its strides" if _tips(subject, gait) else "the torque of the servos"
    fastest = np.array([[joint.no_load_speed for joint in leg.joints] for leg in subject.robot.legs])
    shares = (np.abs(subject.walk.velocity) / fastest).max(axis=(0, 1))
    return f"the speed of the {JOINTS[int(np.argmax(shares))]} servos"


def _tips(subject: Subject, gait: str) -> bool:
    """True if it is the static margin that shortens the strides of a gait, not the torque of its servos."""
    robot = subject.robot
    row = subject.capabilities.gaits[gait]
    share = subject.capabilities.envelope.stride_shares.get(gait, 1.0)
    return stable_share(row, subject.capabilities.neutral_stance, neutral_center(robot)) <= share


def margins(subject: Subject) -> Iterator[Remark]:
    """Static margins of the gaits."""
    for name, gait in subject.capabilities.gaits.items():
        margin = least_support(subject.robot, gait).margin
        text = f"{name}: the center of mass stays {1e3 * margin:.0f} mm inside the feet on the ground"
        usual = SMALL_MARGIN_M if gait.sway is None else MARGINS[0]  # the body sways no farther than it must
        poor = margin < usual
        change = f"move the center of mass or the footholds by {1e3 * (usual - margin):.0f} mm" if poor else ""
        seriousness = Seriousness.NOTE if poor else Seriousness.FIGURE
        yield Remark(seriousness, "margin", text, change, {"gait": name, "margin_m": round(margin, 5)})
    shares = subject.capabilities.envelope.stride_shares
    short = [name for name, share in shares.items() if share < 1.0]
    tipping = [name for name in short if _tips(subject, name)]
    weak = [name for name in short if name not in tipping]
    for names, would, change in (
        (tipping, "tip the robot", "move the center of mass to the middle of the feet, or the footholds around it"),
        (weak, "overload its servos", "stronger servos, less mass, or footholds nearer to the body"),
    ):
        if names:
            text = f"Long strides in {enumerated(names)} would {would}: they are shortened, which limits the speed"
            shortened = {name: shares[name] for name in names}
            yield Remark(Seriousness.NOTE, "margin", text, change, {"stride_shares": shortened})
    walk = subject.walk
    text = f"Walking at {max(map(abs, walk.twist)):.3f} m/s in {walk.gait} the margin is {1e3 * walk.margin:.0f} mm"
    figures = {"gait": walk.gait, "walking_margin_m": round(walk.margin, 5)}
    tips = walk.margin < MIN_STRIDE_MARGIN
    change = (
        f"another gait, or move the center of mass or the footholds by {1e3 * (SMALL_MARGIN_M - walk.margin):.0f} mm"
    )
    seriousness = Seriousness.PROBLEM if tips else Seriousness.FIGURE
    worse = f"{text}: it easily tips" if tips else text
    yield Remark(seriousness, "margin", worse, change if tips else "", figures)


def footholds(subject: Subject) -> Iterator[Remark]:
    """Footholds, moved along the motion, that would make the robot faster."""
    own = max(subject.top_speed(gait, "forward") for gait in subject.capabilities.gaits)
    found = subject.fastest_stride
    if found.speed < MIN_GAIN * own:
        return
    moved = {
        leg.name: [round(center.real, 3), round(center.imag, 3)]
        for leg, center in zip(subject.robot.legs, found.centers, strict=True)
        if abs(center - complex(*leg.foothold)) > 0.002
    }
    text = f"Other footholds allow {found.speed:.3f} m/s forwards instead of {own:.3f} m/s, in {found.gait}"
    places = ", ".join(f"{name}.foothold {place}" for name, place in moved.items())
    figures = {"speed_m_s": round(found.speed, 4), "gait": found.gait, "footholds": moved}
    yield Remark(Seriousness.NOTE, "footholds", text, places, figures)


def servo_power(robot: Robot, torque: Array, velocity: Array) -> Array:
    """Power [W] of each servo for torques [N m] and velocities [rad/s], both (..., n, 3); nothing is fed back.

    The current is proportional to the torque; the voltage includes the back-EMF.
    """
    stall, speed = of_servos(robot, "stall_torque"), of_servos(robot, "no_load_speed")
    drawn = torque * (torque * speed / stall + velocity)
    return STALL_POWER_FACTOR * np.maximum(drawn, 0.0) + IDLE_W


def power(subject: Subject) -> Iterator[Remark]:
    """Average power standing and walking, and battery life."""
    robot = subject.robot
    held = standing_torques(subject.robot, subject.standing, [True] * len(subject.robot.legs))
    standing = float(servo_power(robot, held, np.zeros_like(held)).sum())
    walking = walking_power(robot, subject.walk)
    capacity = subject.battery
    servos = held.size
    minutes = [60.0 * capacity / watts for watts in (standing, walking)]
    measured = sum(bool(joint.measured) for leg in robot.legs for joint in leg.joints)
    text = (
        f"An estimate: the {servos} servos take {standing:.0f} W standing and {walking:.0f} W walking, a battery of "
        f"{capacity:g} Wh lasts {minutes[0]:.0f} min and {minutes[1]:.0f} min without other consumers, if a servo at "
        f"stall draws {STALL_POWER_FACTOR:g} times its stall torque times its no-load speed, and {IDLE_W:g} W at rest. "
        f"No current was measured; hexapod identify has measured {measured} of the servos, for simulation and twin"
    )
    figures = {
        "standing_w": round(standing, 2),
        "walking_w": round(walking, 2),
        "idle_w": IDLE_W * servos,
        "measured_servos": measured,
        "battery_wh": capacity,
        "standing_min": round(minutes[0], 1),
        "walking_min": round(minutes[1], 1),
    }
    yield Remark(Seriousness.FIGURE, "power", text, "", figures)


def economy(subject: Subject) -> Iterator[Remark]:
    """What the economical stance and slow steps save at equal speed."""
    robot, walk = subject.robot, subject.walk
    used = ECONOMY.flag(subject.file.document)
    other = replace(subject, file=changed(subject.file, {ECONOMY.key: not used})).robot
    both = (robot, walking_power(robot, walk)), (other, walking_power(other, steady_walk(other, walk.gait, walk.twist)))
    (economical, watts), (usual, usual_watts) = both if used else reversed(both)
    higher = 1e3 * (economical.walk.height - usual.walk.height)
    nearer = 1e3 * (usual.foothold_radius - economical.foothold_radius)
    text = (
        f"By this estimate `economy: true` {'saves' if used else 'would save'} "
        f"{100.0 * (1.0 - watts / usual_watts):.0f} % of the power of this walk: body {higher:.0f} mm higher, "
        f"feet {nearer:.0f} mm nearer to its middle, slow steps. Not measured on a robot; in the simulation "
        "it saved 10 to 29 % on ten robots"
    )
    figures = {"economical_w": round(watts, 2), "usual_w": round(usual_watts, 2)}
    yield Remark(Seriousness.FIGURE, "economy", text, "", figures)


def walking_power(robot: Robot, walk: PlannedCycle) -> float:
    """Average power [W] of all servos of a robot in a walk."""
    return float(servo_power(robot, walking_torques(robot, walk).motor, walk.velocity).sum(axis=(1, 2)).mean())


CHECKS: Mapping[str, Callable[[Subject], Iterator[Remark]]] = {
    "reach": reach,
    "neighbours": neighbours,
    "body": body,
    "standing": standing,
    "speed": speeds,
    "gait": gait_choice,
    "walking": walking,
    "sagging": sagging,
    "swaying": swaying,
    "margin": margins,
    "power": power,
    "economy": economy,
    "wire": wire,
    "footholds": footholds,
}


def remarks(subject: Subject, progress: Callable[[str], None]) -> list[Remark]:
    """All remarks, worst first. Raises ValueError if the robot cannot walk."""
    found: list[Remark] = []
    for name, check in CHECKS.items():
        progress(name)
        found += check(subject)
    return sorted(found, key=lambda remark: -remark.seriousness)


def verdict(subject: Subject, found: Sequence[Remark]) -> str:
    """Whether the robot walks, how fast, how long on a battery, and how much to change, in one line."""
    gait = subject.capabilities.selection().fastest.name
    speed = subject.top_speed(gait, "forward")
    (minutes,) = (str(remark.figures["walking_min"]) for remark in found if remark.topic == "power")
    count = sum(remark.seriousness >= Seriousness.PROBLEM for remark in found)
    walks = "It will not walk well" if count else "It walks"
    change = f"{count} to change, marked `wrong` or `problem`" if count else "nothing has to be changed"
    range_text = f"up to {speed:.2g} m/s in {gait}, about {float(minutes):.0f} min on {subject.battery:g} Wh"
    return f"{walks}: {range_text}; {change}."
