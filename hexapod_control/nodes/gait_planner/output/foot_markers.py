"""RViz markers of a plan: feet, support polygon and neutral footholds, all in base_link."""

from __future__ import annotations

from collections.abc import Sequence

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point as PointMessage
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from hexapod_control.core.kinematics.body_pose import Placement
from hexapod_control.core.planner.tick_plan import TickPlan
from hexapod_control.core.robot import Robot, Vector
from hexapod_control.core.statics.static_stability import convex_hull
from hexapod_control.core.workspace.stance_regions import StanceRegionTable

PLANTED = ColorRGBA(r=0.15, g=0.65, b=0.25, a=1.0)
SWINGING = ColorRGBA(r=0.95, g=0.6, b=0.1, a=1.0)
POLYGON = ColorRGBA(r=0.2, g=0.45, b=0.9, a=0.9)
FOOTHOLD = ColorRGBA(r=0.6, g=0.6, b=0.6, a=0.7)
LINE_WIDTH_M = 0.004
MARKER_LIFETIME_S = 0.5  # after which markers disappear if the planner stops publishing


def foot_markers(robot: Robot, stances: StanceRegionTable, plan: TickPlan, frame: str, stamp: Time) -> MarkerArray:
    """Markers of a plan; empty for a plan without feet."""
    if plan.feet is None:
        return MarkerArray()
    placement = Placement(plan.pose, robot.walk.height)
    stance = stances.at(robot.walk.height + plan.pose.z)
    planted = [tuple(xy) for xy, down in zip(plan.contacts.tolist(), plan.planted, strict=True) if down]
    corners = [placement.to_base(x, y, 0.0) for x, y in convex_hull(planted)]
    feet = _marker("feet", Marker.SPHERE_LIST, 2 * robot.foot_radius, plan.feet.tolist())
    feet.colors = [PLANTED if down else SWINGING for down in plan.planted]
    feet.color = PLANTED
    polygon = _marker("support", Marker.LINE_STRIP, LINE_WIDTH_M, [*corners, *corners[:1]])
    polygon.color = POLYGON
    footholds = [placement.to_base(x, y, 0.0) for x, y in stance.footholds]
    neutral = _marker("footholds", Marker.SPHERE_LIST, robot.foot_radius, footholds)
    neutral.color = FOOTHOLD
    for marker in (feet, polygon, neutral):
        marker.header.frame_id, marker.header.stamp = frame, stamp
    return MarkerArray(markers=[feet, polygon, neutral] if len(corners) > 1 else [feet, neutral])


def _marker(namespace: str, kind: int, size: float, points: Sequence[Vector]) -> Marker:
    marker = Marker(ns=namespace, type=kind, action=Marker.ADD)
    marker.scale.x = marker.scale.y = marker.scale.z = size
    marker.lifetime.nanosec = int(MARKER_LIFETIME_S * 1e9)
    marker.points = [PointMessage(x=x, y=y, z=z) for x, y, z in points]
    return marker
