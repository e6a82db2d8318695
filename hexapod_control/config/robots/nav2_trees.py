"""Behaviour trees of Nav2 with the speeds of a robot: the trees that Nav2 ships, with time for recoveries.

Nav2 gives a recovery 10 s, enough for half a metre per second. A slow gait is still turning or backing up then, the
recovery counts as failed, and the robot gives up where it would have come free.
"""

from __future__ import annotations

from xml.etree import ElementTree

from hexapod_control.config.robots.nav2_parameters import Nav2Robot

TREES = {  # by the parameter of bt_navigator, as in the folder behavior_trees of nav2_bt_navigator
    "default_nav_to_pose_bt_xml": "navigate_to_pose_w_replanning_and_recovery.xml",
    "default_nav_through_poses_bt_xml": "navigate_through_poses_w_replanning_and_recovery.xml",
}
NAV2_ALLOWANCE_S = 10.0  # of its recoveries, where a tree does not set one
TIME_FACTOR = 2.0  # of the time at the limits: the legs slip, the speed is lower along several axes, and near the end
START_S = 5.0  # for the first stride, and for settling
TURN = ("Spin", "spin_dist", 1.57)  # node, port and its default, as in Nav2
DRIVES = (  # node, ports of distance and speed and their defaults
    ("BackUp", "backup_dist", 0.15, "backup_speed", 0.025),
    ("DriveOnHeading", "dist_to_travel", 0.15, "speed", 0.025),
)


class TreeError(ValueError):
    """A behaviour tree that cannot be read."""


def turning_time(robot: Nav2Robot, angle: float) -> float:
    """Time [s] that the behaviour `spin` may take for a turn [rad]."""
    rate = robot.velocity.wz
    up = robot.acceleration.wz
    down = robot.deceleration.wz
    return _allowance(abs(angle) / rate + rate / up + rate / down)


def driving_time(robot: Nav2Robot, distance: float, speed: float) -> float:
    """Time [s] that the behaviours `backup` and `drive_on_heading` may take for a distance [m] at a speed [m/s]."""
    speed = min(abs(speed), robot.velocity.vx)
    return _allowance(abs(distance) / speed + speed / robot.acceleration.vx + speed / robot.deceleration.vx)


def _allowance(nominal: float) -> float:
    return max(NAV2_ALLOWANCE_S, round(TIME_FACTOR * nominal + START_S, 1))


def fill_tree(text: str, robot: Nav2Robot) -> str:
    """Returns a tree in which the recoveries have the robot's time and speed. Raises TreeError.

    A distance or speed that is read from the blackboard ({name}) stays; its recovery gets the time for the default.
    """
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise TreeError(f"is not XML: {error}") from None
    for node in root.iter():
        if node.tag == TURN[0]:
            node.set("time_allowance", f"{turning_time(robot, _number(node, *TURN[1:])):g}")
        for tag, distance, dist, speed, rate in DRIVES:
            if node.tag == tag:
                wanted = _number(node, speed, rate)
                if not node.get(speed, "").startswith("{"):
                    node.set(speed, f"{min(wanted, robot.velocity.vx):g}")
                time = driving_time(robot, _number(node, distance, dist), wanted)
                node.set("time_allowance", f"{time:g}")
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _number(node: ElementTree.Element, port: str, default: float) -> float:
    """The number in a port; the default if the port is not set or reads the blackboard."""
    try:
        return float(node.get(port, default))
    except ValueError:
        return default
